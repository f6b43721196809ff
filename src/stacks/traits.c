/* Traits by which interval half-widths differ. */
#include "stacks/traits.h"
#include <string.h>

const char *const trait_names[TRAIT_COUNT] = { "situation", "class", "phase", "origin", "guess", "kind",
                                                      "stack", "source", "bits", "batch", "doubt", "side" };

bool spread_traits(const char *by, unsigned *traits)
{
    *traits = 0;
    for (const char *at = by; *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        int i = 0;
        while (i < TRAIT_COUNT && !(strlen(trait_names[i]) == n && strncmp(trait_names[i], at, n) == 0))
            i++;
        if (i == TRAIT_COUNT)
            return false;
        *traits |= 1u << i;
        at += n;
    }
    return *traits & 1u << TRAIT_SITUATION;
}
