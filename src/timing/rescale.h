/* rescale.h: a stored profile as probes adjacent to a run say the machine is now. */
#ifndef TIMING_RESCALE_H
#define TIMING_RESCALE_H

#include "timing/roofs.h"

/* A copy that shares with h what no change touches; free with whatif_profile_free. */
int whatif_profile(struct hwprofile *copy, const struct hwprofile *h, struct error *err);
void whatif_profile_free(struct hwprofile *copy);

/* What small products, one by tiles too, do on the cores beside a run over what they did on average beside the profile's samples; NaN: not
 * known. (80) */
struct cores {
    double core, tiles;
    double exchange[COHERENCE_COUNT]; /* likewise what cores pass to each other; 0: not known. (33) */
};

/* Such a copy with the measured roofs as probes beside a run say they are then: memory is what the probe read over what h has of it. NaN:
 * not probed, 1. (82) */
int profile_beside(struct hwprofile *copy, const struct hwprofile *h, double memory, struct cores cores, struct error *err);
/* From what those products do on n threads, FLOP/s of all of them (NaN: not probed): over the profile's of as many, or of the nearest
 * number that h has. */
struct cores profile_cores_now(const struct hwprofile *h, int n_threads, double product_flop_s, double tile_flop_s);
/* From what n threads exchange (NaN: not probed), over what as many did in h. */
void profile_exchange_now(struct cores *to, const struct hwprofile *h, int n_threads, const double now[COHERENCE_COUNT]);

#endif
