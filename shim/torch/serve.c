/* torch:serve. See torch.h. */
#include <stdlib.h>
#include <string.h>

#include "shim/base/log.h"
#include "shim/base/text.h"
#include "shim/torch/torch.h"

#define BACKEND "backend:cudaMallocAsync"
#define SETTING_BYTES 4096

/* PyTorch reads PYTORCH_ALLOC_CONF, and the older name if that is not set; what the user wrote stays in force, with the
 * backend in front of it. */
void gs_torch_serve(void)
{
	static const char *const names[] = {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"};
	const char *name = names[0], *setting = NULL;
	char merged[SETTING_BYTES];
	struct gsb_text text;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && setting == NULL; i++)
		if ((setting = getenv(names[i])) != NULL)
			name = names[i];
	if (setting != NULL && strstr(setting, "backend:") != NULL)
		return;
	gsb_text_init(&text, merged, sizeof(merged));
	gsb_text_add(&text, setting != NULL && setting[0] != '\0' ? BACKEND ",%s" : BACKEND "%s",
		     setting != NULL ? setting : "");
	if (text.cut) {
		gsb_log(GSB_LOG_WARN, "%s is too long; torch:serve has no effect", name);
		return;
	}
	setenv(name, merged, 1);
}
