/* rescale.h: adapts a stored profile to the machine's present speed, by probes adjacent to a run. methods.md (79)-(82), (33) */
#ifndef TIMING_RESCALE_H
#define TIMING_RESCALE_H

#include "timing/roofs.h"

/* A copy that shares with h everything but ceilings and links; free with whatif_profile_free(). errors: out of memory. */
int whatif_profile(struct hwprofile *copy, const struct hwprofile *h, struct error *err);
void whatif_profile_free(struct hwprofile *copy);

/* Core speed now relative to profiling time (vector and tile probe); NaN: unknown. (80) */
struct cores {
    double core, tiles;
    double coherence[COHERENCE_COUNT]; /* likewise coherence traffic; 0: unknown. (33) */
};

/* Such a copy with its measured roofs rescaled: memory: bandwidth of the probe over the profile's; NaN: not probed, 1. errors: out of
 * memory. (82) */
int rescale_profile(struct hwprofile *copy, const struct hwprofile *h, double memory, struct cores cores, struct error *err);
/* Core speed from the probes on n threads, FLOP/s of all of them (NaN: not probed), relative to the profile's at that number of threads,
 * or at the nearest measured one. */
struct cores profile_cores_now(const struct hwprofile *h, int n_threads, double product_flop_s, double tile_flop_s);
/* Coherence bandwidth of n threads (NaN: not probed), relative to the profile's at that number of threads. */
void profile_coherence_now(struct cores *to, const struct hwprofile *h, int n_threads, const double now[COHERENCE_COUNT]);

#endif
