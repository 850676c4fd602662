/* How a frame is left: what the call frame information (.eh_frame) of a module says about one return address.
 *
 * Only what compilers write for ordinary functions is understood: the frame ends at rsp or rbp plus a constant, or where
 * a word beside rbp says (a stack that was realigned); its return address is the last word; the caller's rbp is kept or
 * saved beside either. Of everything else (signal frames, code that has none) it is said that it is not known. */
#ifndef GS_STACK_CFI_H
#define GS_STACK_CFI_H

#include <stdint.h>

enum gs_cfi_end {
	GS_CFI_UNKNOWN,
	GS_CFI_OUTERMOST, /* nothing called this function */
	GS_CFI_SP,	  /* rsp + offset */
	GS_CFI_BP,	  /* rbp + offset */
	GS_CFI_AT_BP	  /* the word at rbp + offset */
};

enum gs_cfi_saved {
	GS_CFI_KEPT,
	GS_CFI_BELOW_END, /* the word at the end of the frame + bp_offset */
	GS_CFI_BESIDE_BP  /* the word at rbp + bp_offset */
};

struct gs_cfi {
	uint8_t end; /* of the frame, where the caller's begins: enum gs_cfi_end */
	uint8_t bp;  /* the caller's rbp: enum gs_cfi_saved */
	int16_t bp_offset;
	int32_t offset;
};

/* For the frame that a call which returns to this address was made from. Takes the loader's lock. */
struct gs_cfi gs_cfi_at(uint64_t address);

#endif
