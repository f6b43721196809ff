/* traits.h: traits by which interval half-widths differ, by name. methods.md (59) */
#ifndef STACKS_TRAITS_H
#define STACKS_TRAITS_H

#include <stdbool.h>

enum trait {
    TRAIT_SITUATION,
    TRAIT_CLASS,
    TRAIT_PHASE,
    TRAIT_ORIGIN,
    TRAIT_GUESS,
    TRAIT_KIND,
    TRAIT_STACK,
    TRAIT_SOURCE,
    TRAIT_BITS,
    TRAIT_BATCH,
    TRAIT_DOUBT,
    TRAIT_SIDE,
    TRAIT_COUNT
};
extern const char *const trait_names[TRAIT_COUNT];

/* "situation class": the traits of those names, as bits; false: one is unknown, or the situation is not among them. */
bool spread_traits(const char *by, unsigned *traits);

#endif
