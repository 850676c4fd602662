/* cuGetProcAddress and cuGetExportTable: the driver's own doors. */
#include <string.h>

#include "shim/api/driver.h"
#include "shim/api/handler.h"
#include "shim/api/lookup.h"
#include "shim/base/elf.h"
#include "shim/base/err.h"
#include "shim/base/log.h"
#include "shim/core/order.h"
#include "shim/submit/submit.h"

static void substitute(const char *symbol, void **pfn, cuuint64_t flags, const void *caller)
{
	if (symbol != NULL && pfn != NULL && *pfn != NULL)
		*pfn = gs_lookup_substitute(symbol, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0, *pfn,
					    caller);
}

CUresult gs_on_cuGetProcAddress(struct gs_call *call, PFN_cuGetProcAddress_v11030 real, const char *symbol, void **pfn,
				int driverVersion, cuuint64_t flags)
{
	CUresult result = real(symbol, pfn, driverVersion, flags);

	if (result == CUDA_SUCCESS)
		substitute(symbol, pfn, flags, call->caller);
	return result;
}

CUresult gs_on_cuGetProcAddress_v2(struct gs_call *call, PFN_cuGetProcAddress_v12000 real, const char *symbol,
				   void **pfn, int driverVersion, cuuint64_t flags,
				   CUdriverProcAddressQueryResult *symbolFound)
{
	CUresult result = real(symbol, pfn, driverVersion, flags, symbolFound);

	if (result == CUDA_SUCCESS)
		substitute(symbol, pfn, flags, call->caller);
	return result;
}

/* Private tables. Who asks for one of these was not seen to submit work through it; who asks for others may submit work that
 * nobody sees (H1). The first eight bytes of the identifiers, as seen on a driver 580. scripts/gpu-check's rows "counts" hold
 * the kernels that the device ran, though not its copies and memsets, against those that were launched. */
static const unsigned char harmless_tables[][8] = {
    /* The runtime of CUDA 13.0: work still passes the public functions. */
    {0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e},
    {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a},
    {0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74},
    {0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47},
    {0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11},
    {0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43},
    {0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b},
    /* libcublasLt.so.13: the first tells the device and number of a context; what the second is for is not known. */
    {0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48},
    {0x17, 0x34, 0xdc, 0x26, 0x80, 0x0d, 0x47, 0x45},
    /* libcufft.so.12: the functions of a module. */
    {0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d},
    /* libnvrtc.so.13, which compiles. */
    {0xda, 0x91, 0x51, 0xd3, 0x3a, 0xe6, 0xcc, 0x41},
};

static unsigned id_byte(const CUuuid *id, size_t index)
{
	return ((const unsigned char *)id)[index];
}

/* For the log. */
static const char *asker(const void *caller)
{
	struct gsb_elf elf;

	return gsb_elf_at(caller, &elf) == GS_OK ? gsb_base_name(elf.path) : "somebody";
}

CUresult gs_on_cuGetExportTable(struct gs_call *call, PFN_cuGetExportTable_v3000 real, const void **ppExportTable,
				const CUuuid *pExportTableId)
{
	bool known = pExportTableId == NULL || gs_lookup_is_exempt(call->caller);

	for (size_t i = 0; !known && i < sizeof(harmless_tables) / sizeof(harmless_tables[0]); i++)
		known = memcmp(pExportTableId, harmless_tables[i], sizeof(harmless_tables[i])) == 0;
	if (!known) {
		gsb_log(GSB_LOG_DEBUG, "private table %02x%02x%02x%02x%02x%02x%02x%02x... for %s", id_byte(pExportTableId, 0),
			id_byte(pExportTableId, 1), id_byte(pExportTableId, 2), id_byte(pExportTableId, 3),
			id_byte(pExportTableId, 4), id_byte(pExportTableId, 5), id_byte(pExportTableId, 6),
			id_byte(pExportTableId, 7), asker(call->caller));
		gs_order_lost_sight("a private table of the driver is used");
		gs_submit_flush();
	}
	return real(ppExportTable, pExportTableId);
}
