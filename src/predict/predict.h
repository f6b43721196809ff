/*
 * predict: tokens/s, TTFT, ITL, bound and memory of a model on a profiled machine. Independent of the measuring side. Formulas:
 * doc/methods.md.
 */
#ifndef PREDICT_PREDICT_H
#define PREDICT_PREDICT_H

#include "timing/step.h"

/* All ops of a role as one step: role, math (MATH_COUNT: none, or several), cost, seconds, bound. Of the last prediction that got it as
 * option. */
struct predict_roles {
    struct step prefill[ROLE_COUNT], decode[ROLE_COUNT], total[ROLE_COUNT]; /* total: of a request */
};

struct prediction {
    struct cost cost; /* of one device; prefill: all passes of the prompt; decode: one mean step */
    double seconds, tok_s;
    double sd_s, sd_fast_s; /* spread of the seconds: the 90 % interval is seconds * exp(-z sd_fast_s / seconds) to seconds * exp(z sd_s
                               / seconds), z PREDICT_Z90; NaN: a bound, or unknown. (62) */
    double least_s; /* seconds at the roofs, the lower bound of seconds and interval (27) */
    struct error_parts parts;
    double memory_s, compute_s, link_s; /* sums of the sides; of one device */
    double bound_s[BOUND_COUNT]; /* seconds spent under each bound, of one device */
    enum bound bound;           /* the one under which most seconds are spent */
    double bandwidth_bytes_s, peak_flop_s; /* of the largest op, after efficiency */
    char bandwidth_source[192], peak_source[192];
    char math[8];
    bool host_roofs; /* with offload: those are the host's, not the GPU's */
    bool derived; /* a peak of another type was used (source says which) */
    struct step *role; /* [ROLE_COUNT] of predict_options.roles; NULL: not wanted, or no prediction */
};

struct predict_result {
    const char *stack;  /* whose constants: "llama.cpp-cuda"; NULL: none */
    const char *basis;  /* provenance of the constants: "machine" "class" "priors" "kernels" (timing.h); NULL: no constants */
    struct prediction prefill, decode; /* .seconds NaN when n_prompt / n_gen is 0 */
    double ttft_s, itl_s;
    uint32_t n_devices;
    /* of the fullest device */
    double weight_total_bytes, kv_total_bytes, act_peak_bytes, runtime_bytes; /* runtime: of the driver's context, of communication, of graphs */
    double need_bytes, mem_bytes; /* the sum of the four; the profile's */
    double usable_bytes;          /* of mem_bytes: without the driver's reserve; with a server its fraction */
    bool server;                  /* predict_options.server */
    int fits; /* in usable_bytes: 1 yes, 0 no, -1 unknown: the profile has no memory size. (25) */
    struct predict_device *device; /* [DEVICE_COUNT] of predict_options.devices with offload (offload.h), whose memory figures above are the GPU's;
                                      NULL: none */
};

/* A phase that is not wanted or cannot be predicted: NaN. */
struct prediction prediction_none(void);
/* 90 % interval as factors: seconds up to `slower` times, tokens/s up to `faster` times; NaN without an interval. */
struct prediction_factors {
    double slower, faster;
};

struct prediction_factors prediction_factors(double seconds, double sd_s, double sd_fast_s);
int predict(struct predict_result *r, const struct model *m, const struct hwprofile *h,
            const struct predict_options *o, struct error *err);
/* Weights, KV cache and activations against the machine's memory. methods.md (25) */
int memory_fit(struct predict_result *res, const struct op_classes *l, const struct hwprofile *h, const struct roofs *r,
               const struct predict_options *o, struct error *err);
/* predict() for a compiled op list. */
int predict_classes(struct predict_result *r, const struct op_classes *classes, const struct hwprofile *h,
                    const struct predict_options *o, struct error *err);
enum solve_metric { SOLVE_FITS, SOLVE_TOK_S, SOLVE_ITL, SOLVE_TTFT };

#endif
