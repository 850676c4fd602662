/* The compiled kernels.cu as bytes inside the program: `kernels_image` is what cuModuleLoadData takes. */
#ifndef GPU_KERNELS_H
#define GPU_KERNELS_H

__asm__(".pushsection .rodata\n"
	".balign 16\n"
	".global kernels_image\n"
	"kernels_image:\n"
	".incbin \"" KERNELS_FATBIN "\"\n"
	".popsection\n");
extern const unsigned char kernels_image[];

#endif
