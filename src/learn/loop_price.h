/* loop_price.h: prices of a server's steps from the passes of a row's model, with constants of a fit. methods.md (52), doc/notes/servers.md */
#ifndef LEARN_LOOP_PRICE_H
#define LEARN_LOOP_PRICE_H

#include "learn/closed_loop.h"
#include "serving/step_price.h"

/* What steps are of: sequences of one group of devices, and their requests' tokens. */
struct loop_shape {
    uint32_t n_user, n_in, n_out;
};

/* out: from step_price_alloc(). errors: as of workload_of_pass() */
int loop_price(struct step_price *out, const struct stack_traits *x, const struct loop_shape *shape, const struct closed_loop_constants *k,
               struct error *err);

#endif
