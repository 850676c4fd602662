/* dlsym and dlvsym as the program sees them, and the trampolines of unlisted driver functions.
 *
 * dlsym must be able to leave no trace: with RTLD_NEXT and RTLD_DEFAULT glibc takes the caller from the return address,
 * so a C function in between would change the answer (H25). Each stub asks gs_lookup_* whether the question is ours; if
 * not, it restores the arguments and jumps, so that libc sees the program as its caller.
 *
 * A trampoline tells gs_lookup_unlisted its number, gets the real function back, restores every argument register and
 * jumps: the signature need not be known. */
	.text

/* Entry: rdi, rsi, rdx as for dlsym(handle, name) or dlvsym(handle, name, version). Three pushes make the stack
 * 16-aligned for the call. The fourth argument of the helper is the program's return address. */
	.macro	DOOR name, helper, real
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	endbr64
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	movq	24(%rsp), %rcx
	call	\helper
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	testq	%rax, %rax
	jnz	1f
	jmp	*\real(%rip)
1:	ret
	.cfi_endproc
	.size	\name, .-\name
	.endm

/* A sanitizer looks up what it wraps while it starts, and cannot do so through our dlsym in a program that it has
 * instrumented: unit tests under a sanitizer carry the doors under other names. */
#ifdef GS_DOORS_UNNAMED
#define dlsym gs_door_dlsym
#define dlvsym gs_door_dlvsym
#endif
	DOOR	dlsym, gs_lookup_dlsym, gs_lookup_real_dlsym
	DOOR	dlvsym, gs_lookup_dlvsym, gs_lookup_real_dlvsym

/* GS_TRAMPOLINES of shim/api/lookup.c stubs of 16 bytes each. */
	.globl	gs_trampoline_first
	.hidden	gs_trampoline_first
	.balign	16
gs_trampoline_first:
	.set	number, 0
	.rept	1024
	.balign	16
	movl	$number, %eax
	jmp	trampoline_body
	.set	number, number + 1
	.endr

	.type	trampoline_body, @function
trampoline_body:
	.cfi_startproc
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register rbp
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%r8
	pushq	%r9
	subq	$128, %rsp
	movups	%xmm0, (%rsp)
	movups	%xmm1, 16(%rsp)
	movups	%xmm2, 32(%rsp)
	movups	%xmm3, 48(%rsp)
	movups	%xmm4, 64(%rsp)
	movups	%xmm5, 80(%rsp)
	movups	%xmm6, 96(%rsp)
	movups	%xmm7, 112(%rsp)
	movl	%eax, %edi
	call	gs_lookup_unlisted
	movq	%rax, %r11
	movups	(%rsp), %xmm0
	movups	16(%rsp), %xmm1
	movups	32(%rsp), %xmm2
	movups	48(%rsp), %xmm3
	movups	64(%rsp), %xmm4
	movups	80(%rsp), %xmm5
	movups	96(%rsp), %xmm6
	movups	112(%rsp), %xmm7
	addq	$128, %rsp
	popq	%r9
	popq	%r8
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
	popq	%rbp
	.cfi_def_cfa rsp, 8
	jmp	*%r11
	.cfi_endproc
	.size	trampoline_body, .-trampoline_body

	.section .note.GNU-stack, "", @progbits
