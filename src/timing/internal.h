/* What the files of timing share. */
#ifndef TIMING_INTERNAL_H
#define TIMING_INTERNAL_H

#include "timing/rescale.h"
#include "timing/step.h"

/* Ceilings of kind "kernel" and their team's latencies, for the threads of *o; none with --roof (a bound) and for profiles that are not
 * a CPU's. errors: out of memory. (78) */
int kernel_roofs_init(struct kernel_roofs *k, const struct hwprofile *h, const struct predict_options *o, struct error *err);
/* Time by the op's measured kernel: *x has the seconds by bandwidth and peak and gets the kernel's. False: no measurement, *x is
 * unchanged. (29) */
bool kernel_roofs_time(const struct roofs *r, struct step *x, const struct pass *p);

/* attention_roofs.c: cost per call beyond its keys, for all attention roofs in k; and kernel_roofs_time() of attention. (31) */
static inline bool kernel_op_attends(enum kernel_op o)
{
    return o >= KERNEL_ATTENTION && o <= KERNEL_ATTENTION_ROUNDED_AGAIN;
}

/* Number of tiles of nearly equal size into which the engine cuts these tokens of a sequence, per key head. (31) */
double attention_tiles(const struct op *op, double tokens);
/* The engine rounds the attention of a prompt, at op, to BF16 on this machine. (95) */
bool attention_roofs_rounded(const struct roofs *r, const struct op *op);
void attention_roofs_load(struct kernel_roofs *k, const struct hwprofile *h);
bool attention_roofs_time(const struct roofs *r, struct step *x, const struct pass *p);
/* attainable.c: seconds of a collective with steps of hop seconds; *bytes: in: sent per device on a ring, out: sent per device by the
 * algorithm chosen. */
double link_collective_s(const struct roofs *r, const struct step *x, double *bytes, double hop);
int threads_or_all(const struct predict_options *o);
/* Sets x's seconds and bound from its sides; launch_s is added to the longer one. */
void step_set_seconds(struct step *x, double memory_s, double compute_s, double launch_s);
/* bound.c: sets x's seconds to those of its bound. */
void roofs_bound(const struct roofs *r, struct step *x);
/* bound.c: fastest units and LLC capacity across passes; requires the peaks. */
void bound_init(struct roofs *r, const struct hwprofile *h, const struct predict_options *o);
/* kernel_roofs.c: seconds of coherence traffic for rows of n_tok tokens: read after other cores wrote them, or written while other cores
 * hold the lines; 0: not measured, or one token. (33) */
double kernel_roofs_read_s(const struct kernel_roofs *k, double bytes, double n_tok);
double kernel_roofs_taken_s(const struct kernel_roofs *k, double bytes, double n_tok);
/* Seconds of a call by so many rows without keys, on one thread; 0: not measured. */
double kernel_roof_call_s(const struct kernel_roof *k, double rows);
/* rescale.c: a kernel's ceiling at the profile's mean memory and core speed; ceilings of one profile are measured at different times.
 * (79), (80) */
double kernel_at_once(const struct hwprofile *h, const struct ceiling *c);
/* rescale.c: exponent with which the rate of a product by a small batch follows memory bandwidth; near 1 where the rate equals one
 * sequential scan of the weights. (82) */
double kernel_memory_part(const struct hwprofile *h, const struct ceiling *c);

#endif
