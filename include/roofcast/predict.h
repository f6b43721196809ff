/*
 * roofcast/predict.h: tokens/s, time to first token, time between tokens, bound and memory of a model on a machine.
 *
 * An op takes about the longer of FLOP / peak and bytes / bandwidth, and what starting it costs; a phase is the sum of its ops (26).
 * How much of peak and bandwidth software reaches are fitted constants of a stack (57), whose spread gives the interval (62).
 *
 * Threads  model and machine are only read: any number of threads may predict at once, also with the same ones. A prediction does
 *          not change: any number of threads may read it.
 */
#ifndef ROOFCAST_PREDICT_H
#define ROOFCAST_PREDICT_H

#include <roofcast/cost.h>
#include <roofcast/machine.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Constants of software, read once for many predictions, whatever the model and the machine.
 *
 * stack    "llama.cpp-cuda", "vllm", ...; NULL: on each machine what machines of its class run
 * materialized  attention's scores pass through memory, as without FlashAttention
 * errors   ROOFCAST_ERROR_USAGE  an unknown stack: the message has the nearest; a server's with materialized
 *          ROOFCAST_ERROR_INPUT  no data directory has the constants
 * cost     some 50 ms and 10 MB
 * threads  any number of predictions may use it at once
 */
struct roofcast_software;
ROOFCAST_API struct roofcast_software *roofcast_software_load(const char *stack, int materialized, struct roofcast_error *err);
ROOFCAST_API void roofcast_software_free(struct roofcast_software *s);

struct roofcast_predict_options {
    size_t size;          /* of the struct, set by init */
    uint32_t n_prompt;    /* tokens of the prompt: 512; 0: no prefill */
    uint32_t n_gen;       /* tokens generated, of which decode is the mean step: 128; 0: no decode */
    uint32_t n_depth;     /* tokens in the KV cache before: 0 */
    uint32_t n_batch;     /* sequences together: 1 */
    uint32_t n_ubatch;    /* prompt tokens of a pass; 0 (default): what the stack takes */
    uint32_t n_threads;   /* of a CPU; 0 (default): all */
    uint32_t tp, pp, dp, ep; /* devices of tensor, pipeline, data and expert parallelism: 1 each (24) */
    const struct roofcast_software *software; /* in place of stack, anchor_path and materialized; NULL (default): these are loaded for
                             the call */
    const char *stack;    /* "llama.cpp-cuda", "vllm", ...; NULL (default): what machines of that class run; "none": the profile's
                             efficiency factors, without intervals */
    int roof;             /* the bound alone, which no prediction exceeds: no constants, no interval. Default 0 (27) */
    const char *type_k, *type_v; /* of the KV cache; NULL (default): roofcast_model_info.kv_type */
    double routing_zipf;  /* as in roofcast_cost_options: 0 */
    int materialized;     /* as in roofcast_cost_options: 0 */
    const char *anchor_path; /* file of measurements on this machine that narrow the constants (llama-bench's output, a saved run,
                             CSV); NULL (default): none */
};
ROOFCAST_API void roofcast_predict_options_init(struct roofcast_predict_options *o, size_t size);

enum roofcast_bound { ROOFCAST_BOUND_MEMORY, ROOFCAST_BOUND_COMPUTE, ROOFCAST_BOUND_LAUNCH, ROOFCAST_BOUND_LINK };
ROOFCAST_API const char *roofcast_bound_name(int bound); /* "memory" "compute" "launch" "link". A constant */

/* A phase: the whole prompt, or one mean decode step. */
struct roofcast_phase {
    double seconds;          /* of the phase */
    double seconds_low, seconds_high; /* 90 % interval; NaN: none (roof, stack "none") */
    double tok_s;            /* tokens of all sequences a second */
    double tok_s_low, tok_s_high;
    double memory_s, compute_s, link_s; /* seconds that each side alone would take */
    double bound_s[4];       /* seconds spent under each bound, by enum roofcast_bound */
    int bound;               /* under which most are spent */
    struct roofcast_cost cost; /* of one device */
    double bandwidth_bytes_s, peak_flop_s; /* of the largest op, as software reaches them */
    const char *bandwidth_source, *peak_source; /* where these are from */
    const char *math;        /* arithmetic of the largest op: "int8"; "": none */
};

struct roofcast_prediction {
    const char *stack;       /* whose constants were used; "": none */
    const char *basis;       /* behind them: "machine" "class" "priors" "kernels"; "": none */
    const struct roofcast_phase *prefill, *decode; /* NULL: n_prompt or n_gen is 0 */
    double ttft_s;           /* time to the first token; NaN without a prompt */
    double itl_s;            /* time between tokens of a sequence; NaN without generation */
    uint32_t n_devices;
    uint32_t n_ubatch;       /* prompt tokens of a pass, as used */
    /* Memory of the fullest device (25). */
    double weight_bytes, kv_bytes, act_bytes, runtime_bytes;
    double need_bytes;       /* the sum of these */
    double memory_bytes, usable_bytes; /* the machine's, and what driver and server leave of it; NaN: not stated */
    int fits;                /* 1 yes, 0 no, -1 unknown */
    const char *note;        /* what is not in the numbers; "": nothing */
};

/*
 * o        NULL: defaults
 * return   roofcast_prediction_free(); it needs neither model nor machine
 * errors   ROOFCAST_ERROR_USAGE  numbers or a layout that make no sense, an unknown stack or KV type
 *          ROOFCAST_ERROR_INPUT  "cannot predict: ...": the profile lacks a bandwidth, a peak or a link
 * cost     with o->software about 1 ms; without it the constants are read for the call, 50 ms
 * source   (21)-(27), (57), (62)
 */
ROOFCAST_API struct roofcast_prediction *roofcast_predict(const struct roofcast_model *m, const struct roofcast_machine *h,
                                                          const struct roofcast_predict_options *o, struct roofcast_error *err);
ROOFCAST_API void roofcast_prediction_free(struct roofcast_prediction *p);

/* ---- where the number comes from ------------------------------------------------------------------------------------------- */

enum roofcast_phase_kind { ROOFCAST_PREFILL, ROOFCAST_DECODE };

struct roofcast_explanation;
/*
 * The derivation of one phase of a prediction, op by op.
 *
 * o        NULL: defaults
 * phase    enum roofcast_phase_kind
 * return   roofcast_explanation_free(); it needs neither model nor machine
 * errors   as roofcast_predict(); ROOFCAST_ERROR_USAGE also for a phase of no tokens (n_prompt or n_gen 0)
 * cost     as roofcast_predict()
 * source   (21)-(27), (35), (57), (62)
 */
ROOFCAST_API struct roofcast_explanation *roofcast_explain(const struct roofcast_model *m, const struct roofcast_machine *h,
                                                           const struct roofcast_predict_options *o, int phase,
                                                           struct roofcast_error *err);
ROOFCAST_API void roofcast_explanation_free(struct roofcast_explanation *x);

/* Equal ops, over all passes of the phase. Texts are formulas with their numbers; "": that side is 0. */
struct roofcast_explained_op {
    const char *kind, *role;
    double count;          /* ops of a pass on one device */
    double n_pass;         /* passes that run them */
    struct roofcast_cost cost; /* of all of them */
    double seconds, memory_s, compute_s, link_s, launch_s;
    int bound;             /* enum roofcast_bound */
    const char *math;      /* arithmetic: "int8" */
    const char *roof;      /* the measured kernel it was priced with; "": bandwidth and peak */
    const char *weight, *act, *kv, *flop, *link; /* formulas of the cost */
};
ROOFCAST_API size_t roofcast_explanation_n_op(const struct roofcast_explanation *x);
ROOFCAST_API const struct roofcast_explained_op *roofcast_explanation_op(const struct roofcast_explanation *x, size_t i); /* NULL past the end */

/* A number that the seconds rest on. */
struct roofcast_explained_constant {
    const char *name;
    double value;
    const char *unit;    /* "B/s", "FLOP/s", "s", "B", "" */
    const char *source;
    const char *formula; /* its number in doc/methods.md */
    double spread;       /* factor by which it may be off, one standard deviation; NaN: not known */
    double share;        /* of the variance of the logarithm of the seconds; NaN: no part in it */
};
ROOFCAST_API size_t roofcast_explanation_n_constant(const struct roofcast_explanation *x);
/* NULL past the end. */
ROOFCAST_API const struct roofcast_explained_constant *roofcast_explanation_constant(const struct roofcast_explanation *x, size_t i);

/* Seconds of the phase, as roofcast_predict() has them. */
ROOFCAST_API double roofcast_explanation_seconds(const struct roofcast_explanation *x);

#ifdef __cplusplus
}
#endif
#endif
