/* Loaded, unloaded, and replaced by lib_second.c at the same addresses: through_library(callback, user) calls
 * callback(user) and returns to the same address in both, from a frame of 8 bytes here and of 200 there. What was
 * remembered of the one is wrong for the other. */
__asm__(".text\n"
	".globl through_library\n"
	".type through_library, @function\n"
	"through_library:\n"
	"	.cfi_startproc\n"
	"	sub $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	nopl (%rax)\n" /* the other's sub is three bytes longer */
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	call *%rax\n"
	"	add $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size through_library, . - through_library\n"
	".section .note.GNU-stack, \"\", @progbits\n");
