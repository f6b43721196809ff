/*
 * roofcast/cost.h: bytes and FLOP of ops and passes. No machine is involved; counts are exact by construction, (5)-(24), and tested
 * against what the engine counts in its loops.
 *
 * Threads  every function reads its model only; any number of threads may call them.
 */
#ifndef ROOFCAST_COST_H
#define ROOFCAST_COST_H

#include <roofcast/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Owned by the caller; this layout does not change. Whole numbers are exact below 2^53. */
struct roofcast_cost {
    double weight_bytes; /* weights read */
    double act_bytes;    /* activations read and written */
    double kv_bytes;     /* KV cache and recurrent states read and written */
    double flop;
    double link_bytes;   /* sent to other devices; 0 on one device */
};

/* weight_bytes + act_bytes + kv_bytes. */
ROOFCAST_API double roofcast_cost_bytes(const struct roofcast_cost *c);
/* Arithmetic intensity, FLOP per byte of those; NaN without bytes. */
ROOFCAST_API double roofcast_cost_ai(const struct roofcast_cost *c);

/* One forward pass. Owned by the caller; this layout does not change. */
struct roofcast_pass {
    uint32_t n_tok;  /* new tokens, of all sequences together */
    uint32_t n_past; /* tokens in the cache of each sequence */
    uint32_t n_seq;  /* sequences; n_tok is a multiple of it */
    uint32_t n_out;  /* tokens whose logits are wanted: 0 to n_tok */
};

/* What decides the cost of a pass in addition to the model. */
struct roofcast_cost_options {
    size_t size;            /* of the struct, set by init */
    const char *type_k, *type_v; /* of the KV cache: "F16", "Q8_0", "FP8", ...; NULL (default): roofcast_model_info.kv_type */
    double act_elem_bytes;  /* bytes of an activation: 4 (default), as in the engine; 2 is usual on GPUs */
    double routing_zipf;    /* popularity of the i-th expert ~ i^-routing_zipf; 0 (default): uniform (16) */
    int materialized;       /* attention's scores pass through memory; 0 (default): they stay on the chip (11) */
};
ROOFCAST_API void roofcast_cost_options_init(struct roofcast_cost_options *o, size_t size);

/*
 * Cost of one op, and of all ops, in a pass. o may be NULL: defaults.
 *
 * op       index of roofcast_model_op(). An op that the pass does not run costs 0: the output head of a pass without logits, and
 *          one of the two forms of latent attention (17)
 * errors   ROOFCAST_ERROR_USAGE  op past the end; an impossible pass; a KV type that does not divide the model's heads
 */
ROOFCAST_API int roofcast_cost_op(const struct roofcast_model *m, size_t op, const struct roofcast_pass *p,
                                  const struct roofcast_cost_options *o, struct roofcast_cost *out, struct roofcast_error *err);
ROOFCAST_API int roofcast_cost_pass(const struct roofcast_model *m, const struct roofcast_pass *p,
                                    const struct roofcast_cost_options *o, struct roofcast_cost *out, struct roofcast_error *err);

/* A scenario. Owned by the caller; this layout does not change. */
struct roofcast_scenario {
    uint32_t n_prompt; /* tokens of the prompt, of each sequence */
    uint32_t n_gen;    /* tokens generated, of each sequence */
    uint32_t n_depth;  /* tokens in the cache before */
    uint32_t n_batch;  /* sequences, at least 1 */
    uint32_t n_ubatch; /* prompt tokens of a pass, of all sequences, at least 1; INT32_MAX: the whole prompt */
};

/*
 * All passes of the prompt (n_prompt >= 1), and the mean of n_gen decode steps (n_gen >= 1), which begin behind n_depth tokens. (21)
 *
 * errors   ROOFCAST_ERROR_USAGE  numbers that make no sense together
 */
ROOFCAST_API int roofcast_cost_prefill(const struct roofcast_model *m, const struct roofcast_scenario *s,
                                       const struct roofcast_cost_options *o, struct roofcast_cost *out, struct roofcast_error *err);
ROOFCAST_API int roofcast_cost_decode(const struct roofcast_model *m, const struct roofcast_scenario *s,
                                      const struct roofcast_cost_options *o, struct roofcast_cost *out, struct roofcast_error *err);

/*
 * Bytes of the KV cache and recurrent states of one sequence of n_ctx positions. Windowed layers keep their window and a pass. (22)
 *
 * n_ubatch prompt tokens of a pass
 */
ROOFCAST_API int roofcast_cost_kv_bytes(const struct roofcast_model *m, uint64_t n_ctx, uint32_t n_ubatch,
                                        const struct roofcast_cost_options *o, double *bytes, struct roofcast_error *err);

#ifdef __cplusplus
}
#endif
#endif
