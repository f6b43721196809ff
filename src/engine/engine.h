/*
 * engine: the forward pass: executes the op list on real weights with a thread team, a KV cache and an ISA's kernels; ops are timed and
 * counted.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/base.h"
#include "counters/counters.h"
#include "counters/markers.h"
#include "kernels/kernels.h"
#include "model/kv_groups.h"

struct engine_options {
    uint32_t n_ctx;     /* KV positions per sequence */
    uint32_t n_seq;     /* sequences with separate caches, of a paged cache those of a pass; 0: 1 */
    uint32_t n_block;   /* paged KV cache: blocks of the pool; 0: a contiguous cache for each sequence */
    uint32_t block_size; /* paged: positions of a block, a power of two of 8 to 128 */
    struct kv_groups groups; /* paged: layer groups that share the pool; n 0: one */
    uint32_t n_ubatch;  /* most tokens per pass */
    uint32_t n_out_max; /* most logits rows per pass (1; n_ubatch for all) */
    int n_threads;
    const struct cpulist *cpus;        /* NULL: no pinning */
    const struct engine *team_of;      /* runs on the threads of this engine, as many, which outlives it; they compute in turn. NULL: own threads */
    unsigned cpu_flags;                /* allowed ISA features */
    struct counters_options counters;  /* backend NULL: "null"; src and n_threads are set by the engine */
    struct engine *shared;             /* of the same model, lives longer: its threads, ISA features and packed weights are used; NULL: own ones */
    bool no_repack;                    /* read weights in the file's layout: no packed copy, slower */
    const struct marker_tool *markers; /* an open tool that outlives the engine; NULL: none */
    enum dtype type_k, type_v;         /* of the KV cache; usual: DTYPE_F16 */
    /* A token's logits are the same bits whatever else is in its pass, and however its sequence was cut into passes: products in groups of a few tokens on
     * weights in the file's layout, attention token by token, MLA absorbed. Prompts are computed slower. methods.md (102) */
    bool batch_invariant;
    bool hidden; /* passes give out hidden states, too: engine_hidden() */
    bool nextn;  /* runs the model's layer of multi-token prediction, not the model (model/nextn.h): runs come with hidden states */
    bool pow2_scales; /* allow power-of-two scales of quantized activations in passes of many tokens: faster, less exact. methods.md (89) */
};

/* Scales of quantized activations. methods.md (89) */
enum act_scales {
    ACT_SCALES_NONE,  /* activations are not quantized: F32, F16, BF16, and ref kernels */
    ACT_SCALES_EXACT, /* max|x| / 127 */
    ACT_SCALES_POW2,  /* rounded up to powers of two */
};

/* One op, summed over passes. */
struct op_sample {
    uint64_t n;       /* passes */
    double seconds;   /* wall, barrier to barrier */
    struct work work; /* counted by the engine */
    uint64_t n_pass;  /* ROUTE: passes, and distinct experts touched; filled without profile too */
    uint64_t n_expert;
    struct counter_sample counters; /* all threads */
};

struct engine;

/* m outlives the engine. Errors: weights without data, types without kernels, out of memory. */
struct engine *engine_new(const struct model *m, const struct engine_options *o, struct error *err);
void engine_free(struct engine *e);

const struct op_list *engine_ops(const struct engine *e);
/* As they were given, groups and n_seq filled in. */
const struct engine_options *engine_options(const struct engine *e);
uint32_t engine_n_vocab(const struct engine *e);
const struct kernels *engine_kernels(const struct engine *e);
const struct counters *engine_counters(const struct engine *e);

/* fn on the calling thread, that of engine_new(), unpinned: for threads that it starts. */
void engine_unpinned(struct engine *e, void (*fn)(void *arg), void *arg);

/* Bytes of packed weights, and seconds spent packing; 0: none. */
size_t engine_packed_bytes(const struct engine *e, double *seconds);
/* The packed weights, contiguous and read-only, valid while e lives; NULL: none. */
const void *engine_packed(const struct engine *e, size_t *bytes);

/* Scales of passes of n_tok tokens (0: the largest pass): POW2 if enabled and faster with these kernels. */
enum act_scales engine_act_scales(const struct engine *e, size_t n_tok);
/* "exact", "pow2"; "": not quantized */
const char *act_scales_name(enum act_scales s);

/* Bytes of the KV cache; windowed layers keep a window plus a pass. */
size_t engine_kv_bytes(const struct engine *e);
/* That memory, read-only, valid while e lives; unused pages are not resident. */
const void *engine_kv(const struct engine *e, size_t *bytes);

/*
 * Run n >= 1 tokens of sequence 0 after the n_past in the cache, in passes of n_ubatch.
 *
 * *logits  [n_out, n_vocab] of the last n_out <= n_out_max tokens, valid until the next call; n_out > 1 requires n <= n_ubatch
 * errors   token id or context out of range; n_past that windowed layers no longer hold (more than n_ubatch back: restart at 0)
 */
int engine_eval(struct engine *e, const int32_t *tokens, uint32_t n, uint32_t n_past, uint32_t n_out,
                const float **logits, struct error *err);
/* Next tokens of one sequence. */
struct engine_run {
    uint32_t seq;    /* < n_seq; unique within a pass. Paged: not used */
    uint32_t n_past; /* positions in its cache */
    uint32_t n_tok;
    uint32_t n_out;  /* logits rows: of its last tokens */
    const uint32_t *const *table; /* paged: [groups.n] tables of blocks, by position / block_size; blocks whole before the window are not read */
    const float *hidden; /* options.nextn: [n_tok, n_embd] hidden states */
};
/*
 * One pass for several sequences. tokens: those of all runs, concatenated, at most n_ubatch. Paged: a block that is written belongs to one
 * run; what runs share is only read.
 *
 * *logits  [sum of n_out <= n_out_max, n_vocab], run by run, valid until the next call; NULL where no run wants some
 * errors   as engine_eval; a block outside the pool
 */
int engine_eval_runs(struct engine *e, const int32_t *tokens, const struct engine_run *run, uint32_t n_run,
                     const float **logits, struct error *err);
/* Hidden states [rows, n_embd] of the newest pass, row r at r * *stride, valid until the next: with options.hidden of its tokens, with options.nextn of its
 * rows of logits. NULL: neither. */
const float *engine_hidden(const struct engine *e, size_t *stride);
/* Continue at n_past although windowed layers may have lost positions: for measurements, where values do not matter. */
void engine_assume_kv(struct engine *e);
/* Fill KV positions below n_past with small noise instead of a prefill: same read cost, finite values (-d). Paged: all blocks. */
void engine_fill_kv(struct engine *e, uint32_t n_past);

/*
 * Regions for a marker tool (options.markers), on every thread; no-ops without one. Call outside passes, and not nested in a region of the
 * same name. roles: while ops are profiled, each op is a region PHASE_ROLE ("decode_ffn_down"); phase NULL: off.
 */
void engine_region_start(struct engine *e, const char *region);
void engine_region_stop(struct engine *e, const char *region);
void engine_region_roles(struct engine *e, const char *phase);

/* Samples per op [engine_ops()->n], summed since the reset. profile(true) times every op (two barriers and a clock read each);
 * default: totals only. */
void engine_profile(struct engine *e, bool per_op);
void engine_reset(struct engine *e);
const struct op_sample *engine_samples(const struct engine *e);
/* Tokens per expert [n_expert] of a ROUTE op since the reset, without profile too; NULL: another op. */
const uint64_t *engine_expert_uses(const struct engine *e, size_t op);
/*
 * Read counters at the start and end of every pass on every thread (default: no), with profile also at op boundaries. set: of
 * counters_n_set.
 */
void engine_count(struct engine *e, bool count, int set);
/* Counts of whole passes since the reset, all threads; invalid without engine_count. */
void engine_counts(const struct engine *e, struct counter_sample *out);
/* Work of all ops since the reset, without profile too. */
struct work engine_work(const struct engine *e);

/* False if one of n logits is NaN or infinite: damaged weights. */
bool logits_finite(const float *logits, size_t n);
/* Index of the largest of n logits, the first of equal ones; NaN are passed over, 0 if all are. */
int32_t logits_largest(const float *logits, uint32_t n);

/* ---- sampler ------------------------------------------------------------------ */
/* Applied in this order, methods.md (97): penalty, top-k, top-p, min-p, temperature, draw. */
struct sampler_options {
    double temperature;    /* [0, 100]; 0: greedy; the penalty still applies */
    double top_p;          /* (0, 1]; 1: off */
    double min_p;          /* [0, 1]; 0: off */
    double repeat_penalty; /* [0.01, 100]; 1: off */
    uint32_t top_k;        /* 0: off */
    int32_t repeat_last_n; /* history length of the penalty, in tokens; 0: off; -1: all */
    uint64_t seed;
};
/* Greedy without filters; repeat_last_n 64. */
extern const struct sampler_options sampler_default;

struct sampler {
    struct sampler_options opt;
    uint32_t n_vocab;
    struct rng rng;
    struct scored *token; /* [n_vocab] */
    bool shares;          /* token is the caller's */
    uint32_t *count;      /* [n_vocab] occurrences in the history; NULL: no penalty */
    int32_t *last;        /* [repeat_last_n] ring buffer of the history; NULL: unbounded */
    uint32_t n_last, at;
};
/* Range check; the error names the command-line option, found and expected. */
int sampler_check(const struct sampler_options *o, struct error *err);
/* Checks o and allocates all memory. */
int sampler_init(struct sampler *s, const struct sampler_options *o, uint32_t n_vocab, struct error *err);
/* With memory that samplers of one thread share: sampler_scratch(), which outlives them. */
struct scored *sampler_scratch(uint32_t n_vocab); /* free(); NULL: out of memory */
int sampler_init_shared(struct sampler *s, const struct sampler_options *o, uint32_t n_vocab, struct scored *scratch, struct error *err);
void sampler_free(struct sampler *s);
/* Append a token, of the prompt too, to the penalty's history. */
void sampler_accept(struct sampler *s, int32_t id);
/* Next token by logits [n_vocab], deterministic in seed, history and logits. O(n_vocab) plus O(log n_vocab) per token that top-k
 * and top-p keep; no allocation. */
int32_t sampler_pick(struct sampler *s, const float *logits);

#endif
