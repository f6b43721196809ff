/*
 * engine: the real forward pass: walks the op list over real weights with a thread team, a KV
 * cache and the kernels of an ISA; each op timed and counted.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/base.h"
#include "counters/counters.h"
#include "counters/markers.h"
#include "kernels/kernels.h"
#include "model/op.h"

struct engine_options {
    uint32_t n_ctx;   /* positions of the KV cache of a sequence */
    uint32_t n_seq;   /* sequences with a cache each; 0: 1 */
    uint32_t n_ubatch; /* most tokens a pass */
    uint32_t n_out_max; /* most logits rows a pass (1; n_ubatch for all) */
    int n_threads;
    const struct cpulist *cpus; /* NULL: do not pin */
    unsigned cpu_flags;         /* rungs allowed */
    struct counters_options counters; /* backend NULL: "null"; src and n_threads are the engine's */
    bool no_repack;             /* products read the file's layout: no copy of the weights, and slower */
    const struct marker_tool *markers; /* an outside tool that is open, and outlives the engine; NULL: none */
    enum dtype type_k, type_v;  /* of the KV cache: any that can be quantized (usual: DTYPE_F16) */
    bool pow2_scales;           /* passes of many tokens may scale quantized activations by powers of two: faster, less exact. methods.md (89) */
};

/* What scales quantized activations have. methods.md (89) */
enum act_scales {
    ACT_SCALES_NONE,  /* no product quantizes activations: F32, F16, BF16, and ref's kernels */
    ACT_SCALES_EXACT, /* max|x| / 127 */
    ACT_SCALES_POW2,  /* rounded up to powers of two */
};

/* One op over a set of passes. */
struct op_sample {
    uint64_t n;          /* passes summed */
    double seconds;      /* wall, barrier to barrier */
    struct work work;    /* the engine's own count */
    uint64_t n_pass;     /* ROUTE: passes, and the distinct experts they touched, also without profile */
    uint64_t n_expert;
    struct counter_sample counters; /* all threads */
};

struct engine;

/* m outlives the engine. Fails on weights without data, types without kernels, not enough memory. */
struct engine *engine_new(const struct model *m, const struct engine_options *o, struct error *err);
void engine_free(struct engine *e);

const struct op_list *engine_ops(const struct engine *e);
const struct kernels *engine_kernels(const struct engine *e);
const struct counters *engine_counters(const struct engine *e);

/* Bytes of packed weights, and the seconds that packing them took; 0: none are packed. */
size_t engine_packed_bytes(const struct engine *e, double *seconds);
/* Those weights, as they lie one behind the other: for reading alone, as long as e lives; NULL: none are packed. */
const void *engine_packed(const struct engine *e, size_t *bytes);

/* Of passes of so many tokens, 0: as many as there can be: POW2 where they were asked for, and a kernel here gains by them. */
enum act_scales engine_act_scales(const struct engine *e, size_t n_tok);
/* "exact", "pow2"; "": none. */
const char *act_scales_name(enum act_scales s);

/* Bytes of memory of the KV cache: windowed layers keep a window and a pass of positions. */
size_t engine_kv_bytes(const struct engine *e);
/* That memory, for reading alone, as long as e lives: pages that nothing was stored in are not there yet. */
const void *engine_kv(const struct engine *e, size_t *bytes);

/*
 * Run n tokens of sequence 0 (any n >= 1; split into passes of n_ubatch) after the n_past already in
 * the cache, and leave the logits of the last n_out tokens (n_out <= n_out_max) at *logits
 * [n_out, n_vocab], valid until the next call; for n_out > 1, n <= n_ubatch. Token ids and context are checked,
 * and that windowed layers still hold the positions before n_past that they need (going back further than
 * n_ubatch needs a new start at 0).
 */
int engine_eval(struct engine *e, const int32_t *tokens, uint32_t n, uint32_t n_past, uint32_t n_out,
                const float **logits, struct error *err);
/* Tokens that come next in a sequence. */
struct engine_run {
    uint32_t seq;    /* below n_seq; no two runs of a pass have the same */
    uint32_t n_past; /* positions already in its cache */
    uint32_t n_tok;
};
/*
 * One pass over the weights for several sequences: tokens has those of all runs, one run after the other, at most
 * n_ubatch in all. The logits of each run's last token are left at *logits [n_run, n_vocab], n_run <= n_out_max; logits
 * NULL: none are computed. Checked as engine_eval checks.
 */
int engine_eval_runs(struct engine *e, const int32_t *tokens, const struct engine_run *run, uint32_t n_run,
                     const float **logits, struct error *err);
/* Go on at n_past whatever windowed layers have kept of it: for measurements, where values do not matter. */
void engine_assume_kv(struct engine *e);
/* KV rows up to n_past hold zeros-with-noise instead of a real prefill: depth for -d without paying the
 * prefill. Values are finite; same cost to read. */
void engine_fill_kv(struct engine *e, uint32_t n_past);

/*
 * Regions for an outside tool (options.markers), on every thread of the team; without one these do nothing. Not in a region of
 * the same name, and not while a pass runs. roles: while ops are profiled, each op is in the region PHASE_ROLE
 * ("decode_ffn_down"); phase NULL: no longer.
 */
void engine_region_start(struct engine *e, const char *region);
void engine_region_stop(struct engine *e, const char *region);
void engine_region_roles(struct engine *e, const char *phase);

/* Per-op samples, engine_ops()->n of them, summed since the last reset. Timing every op costs a
 * clock read an op; profile(false) (default) leaves only the totals. */
void engine_profile(struct engine *e, bool per_op);
void engine_reset(struct engine *e);
const struct op_sample *engine_samples(const struct engine *e);
/* How many tokens used each expert [n_expert] that this ROUTE op chose among, since the reset; NULL: another op. Counted
 * even without profile. */
const uint64_t *engine_expert_uses(const struct engine *e, size_t op);
/*
 * Counters at the beginning and the end of every pass on every thread, or (default) none: passes then are not slower for
 * them. set: of counters_n_set. With profile they are read at the boundaries of every op, too.
 */
void engine_count(struct engine *e, bool count, int set);
/* Counts of whole passes since the reset, all threads; nothing is valid without engine_count. */
void engine_counts(const struct engine *e, struct counter_sample *out);
/* Work of all ops since the reset, counted even without profile. */
struct work engine_work(const struct engine *e);

/* False when one of n logits is a NaN or infinite: damaged weights. */
bool logits_finite(const float *logits, size_t n);

/* ---- sampler ------------------------------------------------------------------ */
/* What is applied in this order, methods.md (97): penalty, top-k, top-p, min-p, temperature, draw. */
struct sampler_options {
    double temperature;    /* [0, 100]; 0: the largest logit, and only the penalty counts */
    double top_p;          /* (0, 1]; 1: off */
    double min_p;          /* [0, 1]; 0: off */
    double repeat_penalty; /* [0.01, 100]; 1: off */
    uint32_t top_k;        /* 0: off */
    int32_t repeat_last_n; /* tokens that the penalty looks back on; 0: off; -1: all */
    uint64_t seed;
};
/* Greedy, nothing on; looks back on 64 tokens once a penalty is set. */
extern const struct sampler_options sampler_default;

struct sampler {
    struct sampler_options opt;
    uint32_t n_vocab;
    struct rng rng;
    struct scored *token; /* [n_vocab] */
    uint32_t *count;      /* [n_vocab] how often a token stands among the last ones; NULL without penalty */
    int32_t *last;        /* [repeat_last_n] ring of them; NULL: none is ever forgotten */
    uint32_t n_last, at;
};
/* Impossible values: the error names the command-line option, what was found and what was expected. */
int sampler_check(const struct sampler_options *o, struct error *err);
/* Checks, and takes all the memory there will be. */
int sampler_init(struct sampler *s, const struct sampler_options *o, uint32_t n_vocab, struct error *err);
void sampler_free(struct sampler *s);
/* A token of the text, prompt included: what the penalty looks back on. */
void sampler_accept(struct sampler *s, int32_t id);
/* The next token by logits [n_vocab]; the same for the same seed and history on every machine with the same logits.
 * cost: O(n_vocab), and O(log n_vocab) a token that top-k and top-p keep; no memory is taken. */
int32_t sampler_pick(struct sampler *s, const float *logits);

#endif
