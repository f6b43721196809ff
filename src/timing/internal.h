/* What the files of timing share. */
#ifndef TIMING_INTERNAL_H
#define TIMING_INTERNAL_H

#include "timing/rescale.h"
#include "timing/step.h"

/* The profile's ceilings of kind "kernel" and their team's latencies, for the threads of *o; none with --roof, which asks for a
 * bound, nor for what is not a CPU. (78) */
int kernel_roofs_init(struct kernel_roofs *k, const struct hwprofile *h, const struct predict_options *o, struct error *err);
/* Where a kernel of this op was measured: *x, which comes with the seconds by bandwidth and peak, gets those by the kernel.
 * False: it was not, and *x stays. (29) */
bool kernel_roofs_time(const struct roofs *r, struct step *x, const struct pass *p);

/* attention_roofs.c: what a call costs beyond its keys, of all roofs of attention in k; and kernel_roofs_time() of attention. (31) */
static inline bool kernel_op_attends(enum kernel_op o)
{
    return o >= KERNEL_ATTENTION && o <= KERNEL_ATTENTION_ROUNDED_AGAIN;
}

/* Tiles of one size, nearly, that the engine cuts so many tokens of a sequence into for a key head. (31) */
double attention_tiles(const struct op *op, double tokens);
/* The engine here rounds a prompt's attention, at op, to BF16. (95) */
bool attention_roofs_rounded(const struct roofs *r, const struct op *op);
void attention_roofs_load(struct kernel_roofs *k, const struct hwprofile *h);
bool attention_roofs_time(const struct roofs *r, struct step *x, const struct pass *p);
/* attainable.c: seconds of an exchange whose steps take hop seconds each; *bytes: what a device sends on a ring, then what it does send. */
double link_exchange_s(const struct roofs *r, const struct step *x, double *bytes, double hop);
int threads_or_all(const struct predict_options *o);
/* Seconds of the sides become x's, and what bounds them; launch_s is on top of the longer one. */
void step_set_seconds(struct step *x, double memory_s, double compute_s, double launch_s);
/* bound.c: x's seconds are those of its bound. */
void roofs_bound(const struct roofs *r, struct step *x);
/* bound.c: the fastest units, and what the last cache keeps; after peaks. */
void bound_init(struct roofs *r, const struct hwprofile *h, const struct predict_options *o);
/* kernel_roofs.c: seconds that bytes of rows of so many tokens take because others wrote them, or have the lines to be written; 0 where
 * that was not measured, and of one token. (33) */
double kernel_roofs_read_s(const struct kernel_roofs *k, double bytes, double n_tok);
double kernel_roofs_taken_s(const struct kernel_roofs *k, double bytes, double n_tok);
/* Seconds of a call by so many rows that saw no keys, on one thread; 0 where that was not measured. */
double kernel_roof_call_s(const struct kernel_roof *k, double rows);
/* rescale.c: a kernel's ceiling if memory and cores had been as they were for the profile's plain loads and on average: ceilings of one
 * profile are of moments apart. (79), (80) */
double kernel_at_once(const struct hwprofile *h, const struct ceiling *c);
/* Which part of a product by a few tokens is memory's: it is near 1 where the rate is what one walk over the weights allows, as memory
 * was then. (82) */
double kernel_memory_part(const struct hwprofile *h, const struct ceiling *c);

#endif
