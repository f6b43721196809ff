/*
 * roofline: the analytical side: bytes and FLOP of each op of a pass, arithmetic intensity, and seconds
 * on a profiled machine. Never includes the measuring side: predictions cannot peek.
 * Formulas: doc/methods.md.
 */
#ifndef ROOFLINE_ROOFLINE_H
#define ROOFLINE_ROOFLINE_H

#include "base/base.h"
#include "hwprofile/hwprofile.h"
#include "model/op.h"

struct cost {
    double weight_bytes, act_bytes, kv_bytes, flop; /* doubles: sums of 1e15 stay exact below 2^53 */
};

struct cost_options {
    double act_elem_bytes; /* 4: the engine's f32 activations; 2 on GPUs */
    enum dtype kv_type;    /* DTYPE_F16 */
};

/* Cost of one op in a pass. methods.md (4)-(12). */
struct cost cost_op(const struct op *op, const struct pass *p, const struct cost_options *o);
struct cost cost_add(struct cost a, struct cost b);
double cost_bytes(const struct cost *c); /* weight + act + kv */
/* FLOP per byte; NaN when there are no bytes. */
double cost_ai(const struct cost *c);
/* Bytes of KV cache a token: both K and V, all layers. (12) */
double cost_kv_bytes_token(const struct model *m, enum dtype kv_type);
/* Elements of the attention score vector of the newest token: n_past + 1. */
uint64_t cost_score_len(const struct op *op, const struct pass *p);

/* The passes of a prompt of n tokens at depth d in steps of n_ubatch; fn is called for each. */
typedef void pass_fn(void *ctx, const struct pass *p);
void prefill_passes(uint32_t n, uint32_t depth, uint32_t n_ubatch, uint32_t n_seq, pass_fn *fn, void *ctx);
/* The mean decode step of n tokens from depth d: n_past = d + n/2 (methods.md (14)). */
struct pass decode_pass(uint32_t depth, uint32_t n_gen, uint32_t n_seq);

enum bound { BOUND_MEMORY, BOUND_COMPUTE, BOUND_LAUNCH };
const char *bound_name(enum bound b);

/* attainable FLOP/s at an intensity: min(peak, ai * bandwidth). (13) */
double attainable_flop_s(double ai, double peak_flop_s, double bytes_s);

struct predict_options {
    bool roof;               /* no efficiency factors, no launch cost */
    bool weights_only;       /* price weight bytes and weight FLOP alone (set with weights_gb) */
    double weights_bytes;    /* --weights-gb: overrides counted weight bytes; weight FLOP = weights/2 bytes * 2; NaN: off */
    int n_threads;           /* CPU profiles: which measured ceilings */
    uint32_t n_prompt, n_gen, n_depth, n_batch, n_ubatch;
    enum dtype kv_type;
};

struct predict_role {
    enum op_role role;
    struct cost cost;
    double seconds;
    enum bound bound;
};

struct prediction {
    struct cost cost;      /* prefill: all passes of the prompt; decode: one mean step */
    double seconds, tok_s;
    double memory_s, compute_s; /* sums of the two sides */
    enum bound bound;
    double bandwidth_bytes_s, peak_flop_s; /* what was used for the largest op, after efficiency */
    char bandwidth_source[192], peak_source[192];
    char math[8];
    bool derived; /* a peak of another type was used (source says which) */
    struct predict_role role[ROLE_COUNT];
};

struct predict_result {
    struct prediction prefill, decode; /* .seconds NaN when n_prompt / n_gen is 0 */
    double ttft_s, itl_s;
    double weight_total_bytes, kv_total_bytes, act_peak_bytes, need_bytes, mem_bytes;
    int fits; /* 1 yes, 0 no, -1 unknown: the profile has no memory size */
};

int predict(struct predict_result *r, const struct model *m, const struct hwprofile *h,
            const struct predict_options *o, struct error *err);

#endif
