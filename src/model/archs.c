/* The architectures: one row each, in arch_<name>.c. */
#include "model/op.h"
#include <string.h>

extern const struct arch arch_llama;

static const struct arch *const archs[] = {
    &arch_llama,
};

const struct arch *arch_find(const char *name, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(archs); i++)
        if (strlen(archs[i]->name) == len && memcmp(archs[i]->name, name, len) == 0)
            return archs[i];
    return NULL;
}

/* For messages; a test compares it with the table. */
const char *arch_names(void)
{
    return "llama";
}
