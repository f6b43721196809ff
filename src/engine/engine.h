/*
 * engine: the real forward pass: walks the op list over real weights with a thread team, a KV
 * cache and the kernels of an ISA; each op timed and counted.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/base.h"
#include "counters/counters.h"
#include "kernels/kernels.h"
#include "model/op.h"

struct engine_options {
    uint32_t n_ctx;   /* positions of the KV cache */
    uint32_t n_ubatch; /* most tokens a pass */
    uint32_t n_out_max; /* most logits rows a pass (1; n_ubatch for all) */
    int n_threads;
    const struct cpulist *cpus; /* NULL: do not pin */
    unsigned cpu_flags;         /* rungs allowed */
    const char *counters;       /* backend name; NULL: "null" */
};

/* One op over a set of passes. */
struct op_sample {
    uint64_t n;          /* passes summed */
    double seconds;      /* wall, barrier to barrier */
    struct work work;    /* the engine's own count */
    struct counter_sample counters; /* all threads */
};

struct engine;

/* m outlives the engine. Fails on weights without data, types without kernels, not enough memory. */
struct engine *engine_new(const struct model *m, const struct engine_options *o, struct error *err);
void engine_free(struct engine *e);

const struct op_list *engine_ops(const struct engine *e);
const struct kernels *engine_kernels(const struct engine *e);
const struct counters *engine_counters(const struct engine *e);

/*
 * Run n tokens (any n >= 1; split into passes of n_ubatch) after the n_past already in
 * the cache, and leave the logits of the last n_out tokens (n_out <= n_out_max) at *logits
 * [n_out, n_vocab], valid until the next call; for n_out > 1, n <= n_ubatch. Token ids and context are checked.
 */
int engine_eval(struct engine *e, const int32_t *tokens, uint32_t n, uint32_t n_past, uint32_t n_out,
                const float **logits, struct error *err);
/* KV rows up to n_past hold zeros-with-noise instead of a real prefill: depth for -d without paying the
 * prefill. Values are finite; same cost to read. */
void engine_fill_kv(struct engine *e, uint32_t n_past);

/* Per-op samples, engine_ops()->n of them, summed since the last reset. Timing every op costs a
 * clock read an op; profile(false) (default) leaves only the totals. */
void engine_profile(struct engine *e, bool per_op);
void engine_reset(struct engine *e);
const struct op_sample *engine_samples(const struct engine *e);
/* Work of all ops since the reset, counted even without profile. */
struct work engine_work(const struct engine *e);

/* False when one of n logits is a NaN or infinite: damaged weights. */
bool logits_finite(const float *logits, size_t n);

/* ---- sampler ------------------------------------------------------------------ */
struct sampler {
    double temperature; /* 0: greedy */
    struct rng rng;
};
void sampler_init(struct sampler *s, double temperature, uint64_t seed);
int32_t sampler_pick(struct sampler *s, const float *logits, uint32_t n_vocab);

#endif
