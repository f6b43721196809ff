/*
 * collective_price.h: collectives of a server's layers: the family's formula (stacks/family_collective.h) with the constants of
 * hwprofiles/stacks/kernels.json. methods.md (47)
 */
#ifndef STACKS_COLLECTIVE_PRICE_H
#define STACKS_COLLECTIVE_PRICE_H

#include <stdbool.h>

struct stack_traits;
struct step;

/* Of an engine on a machine; logarithms of the parameters of a library's rings and of the engine's own kernels. */
enum { COLLECTIVE_PARAMETERS = 10 };
struct collective_price {
    bool known;
    bool adds; /* the switch between the devices adds floating-point numbers */
    double clock_hz, ring[COLLECTIVE_PARAMETERS], own[COLLECTIVE_PARAMETERS];
};

/* Not known: other engines and makers, whose collectives no row of the family has. */
void collective_price_init(struct collective_price *k, const struct stack_traits *x);
/* Seconds of a collective among the devices of one board; 0: not known, or they are on several. */
double collective_price_s(const struct stack_traits *x, const struct step *c);

#endif
