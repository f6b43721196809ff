/*
 * ask.h: questions around a prediction: what one request takes in all, what it costs, where the number comes from, what a
 * change of the machine or the scenario would do, and which value reaches a target.
 */
#ifndef ROOFLINE_ASK_H
#define ROOFLINE_ASK_H

#include "roofline/step.h"

/* ---- a request: a prompt and everything generated after it (47) ---------------------------- */

struct request {
    uint32_t n_in, n_out; /* tokens of the prompt, and generated; each at least 1 */
};
struct request_result {
    struct predict_result r; /* the prompt, and the mean of the n_out - 1 decode steps behind it; .decode.seconds NaN when there are none */
    struct prediction total; /* first byte to last token; tok_s: generated tokens over it, of all sequences */
};
/* o: as for predict(), whose n_prompt and n_gen are not used. */
int predict_request(struct request_result *q, const struct model *m, const struct hwprofile *h,
                    const struct predict_options *o, const struct request *request, struct error *err);

/* ---- energy and money (47) -------------------------------------------------------------------- */

/* What a device takes while it is used; NaN and "" where nobody knows. */
struct running {
    double power_w, price_usd_h;
    char power_source[256], price_source[192];
};
/* power_w, price_usd_h: in place of the profile's, NaN: the profile's. */
struct running running_of(const struct hwprofile *h, double power_w, double price_usd_h);
double running_j(const struct running *w, uint32_t n_devices, double seconds);
double running_usd(const struct running *w, uint32_t n_devices, double seconds);

/* ---- where a number comes from ------------------------------------------------------------------- */

enum { EXPLAIN_TEXT = 160 };

/* Equal ops over all passes of a phase; of a request's steps, over one that is their mean. The texts are formulas with their numbers, "" where a side is 0. */
struct explain_class {
    struct op op;
    double count;                 /* ops a pass on a device */
    double n_pass;                /* passes that run it */
    enum phase phase;
    double times;                 /* such phases: of a request its steps, else 1 */
    struct cost cost;             /* of all of them: count x passes */
    double seconds, memory_s, compute_s, link_s, launch_s;
    double bound_s[BOUND_COUNT];
    enum bound bound;             /* under which most seconds are spent */
    enum math math;
    enum roof_class roof_class;   /* of its operands (156) */
    bool act_in_cache;            /* its activations stay in the cache, in its largest pass */
    const char *alone;            /* the kernel of software that runs it (155); NULL: none is known */
    char roof[96];                /* the engine's kernel it was priced with, in the last pass; "": bandwidth and peak (62) */
    char weight[EXPLAIN_TEXT], act[EXPLAIN_TEXT], kv[EXPLAIN_TEXT], flop[EXPLAIN_TEXT], link[EXPLAIN_TEXT];
};

/* A number the seconds rest on. */
struct explain_constant {
    char name[48];
    double value;
    const char *unit; /* "B/s", "FLOP/s", "s", "B", "" */
    char source[224];
    const char *formula; /* number in methods.md */
    double spread;       /* factor by which it may be off either way, one standard deviation; NaN: not known, or none */
    double share;        /* of the variance of the logarithm of the seconds; NaN: no say in it */
};

struct explain {
    struct explain_class *c;
    size_t n;
    struct explain_constant *k;
    size_t n_k;
    double n_pass;
    double sum_s;    /* of the classes, one after another, each its times */
    double pipeline; /* what a pipeline, and with constants what passes cost beside their ops, makes of them: seconds =
                        sum_s x pipeline; 1: nothing */
    double seconds;  /* as predict() says */
};
int explain_init(struct explain *e, const struct model *m, const struct hwprofile *h, const struct predict_options *o,
                 enum phase phase, struct error *err);
/* The same of a whole request, as predict_request() prices it: its prompt's classes and its mean step's, and the constants' shares of
 * the request's interval. */
int explain_request(struct explain *e, const struct model *m, const struct hwprofile *h, const struct predict_options *o,
                    const struct request *request, struct error *err);
void explain_free(struct explain *e);

/* ---- what if ------------------------------------------------------------------------------------------ */

enum whatif_key {
    WHATIF_BANDWIDTH,
    WHATIF_COMPUTE, /* all peaks */
    WHATIF_MATH,    /* one, .math */
    WHATIF_MEMORY,
    WHATIF_LINK,
    WHATIF_LATENCY, /* of links */
    WHATIF_LAUNCH,
    WHATIF_E_COMPUTE,
    WHATIF_E_BANDWIDTH,
    WHATIF_TYPE,    /* of the model, which the caller loads again */
    WHATIF_KV_TYPE,
    WHATIF_BATCH,
    WHATIF_DEPTH,
    WHATIF_UBATCH,
    WHATIF_TP,
    WHATIF_PP,
    WHATIF_DP,
    WHATIF_EP,
};

struct whatif_change {
    enum whatif_key key;
    enum math math;
    bool times; /* value multiplies what is there */
    double value;
    enum dtype dtype;
    char text[64]; /* TYPE */
};

enum { WHATIF_MAX = 8 };
struct whatif {
    struct whatif_change c[WHATIF_MAX];
    size_t n;
};
/* "bandwidth=x1.5,b=8". Unknown names suggest the nearest; impossible values are refused. */
int whatif_parse(struct whatif *w, const char *text, struct error *err);
/* The type a model is to be loaded with; NULL: as it is. */
const char *whatif_type(const struct whatif *w);
/* It changes the machine alone: the same passes run. */
bool whatif_of_machine(const struct whatif *w);
/* Changes h and o in place. What multiplies takes the roof that *o would have used. */
int whatif_apply(const struct whatif *w, struct hwprofile *h, struct predict_options *o, struct error *err);
/* A copy that shares with h what no change touches; free with whatif_profile_free. */
int whatif_profile(struct hwprofile *copy, const struct hwprofile *h, struct error *err);
void whatif_profile_free(struct hwprofile *copy);
/* What small products, one by tiles too, do on the cores beside a run over what they did on average beside the profile's samples; NaN: not
 * known. (108) */
struct cores {
    double core, tiles;
    double exchange[EXCHANGE_COUNT]; /* likewise what cores pass to each other; 0: not known. (114) */
};
/* Such a copy with the measured roofs as probes beside a run say they are then: memory is what the probe read over what h has of it. NaN:
 * not probed, 1. (89) */
int profile_beside(struct hwprofile *copy, const struct hwprofile *h, double memory, struct cores cores, struct error *err);
/* From what those products do on n threads, FLOP/s of all of them (NaN: not probed): over the profile's of as many, or of the nearest
 * number that h has. */
struct cores profile_cores_now(const struct hwprofile *h, int n_threads, double product_flop_s, double tile_flop_s);
/* From what n threads exchange (NaN: not probed), over what as many did in h. */
void profile_exchange_now(struct cores *to, const struct hwprofile *h, int n_threads, const double now[EXCHANGE_COUNT]);

/* ---- which value ----------------------------------------------------------------------------------------- */

enum solve_unknown { SOLVE_BANDWIDTH, SOLVE_COMPUTE, SOLVE_CONTEXT, SOLVE_BATCH, SOLVE_TP, SOLVE_MACHINE, SOLVE_COUNT };
enum solve_metric { SOLVE_FITS, SOLVE_TOK_S, SOLVE_ITL, SOLVE_TTFT };

struct question {
    char text[64];
    enum solve_unknown unknown;
    enum solve_metric metric;
    enum phase phase; /* of the metric */
    double target;    /* tokens/s at least, seconds at most */
};
/* UNKNOWN[:PHASE]=fits, or tok_s>=X, itl<=T, ttft<=T: "bandwidth=tok_s>=30", "batch=itl<=50ms". */
int question_parse(struct question *q, const char *text, struct error *err);

/* ---- limits (88) ---------------------------------------------------------------------------------------- */

struct limit {
    enum solve_metric metric; /* not SOLVE_FITS; tokens/s are those of decode */
    double value;             /* tokens/s at least, seconds at most */
};
enum { LIMITS_MAX = 8 };
struct limits {
    struct limit l[LIMITS_MAX];
    size_t n;
};
/* "50ms", "1s": seconds of more than 0, with their unit: who writes itl<=50 means milliseconds. what: for the message, as "--slo". 0, or
 * ERROR_USAGE. */
int limit_seconds(const char *text, const char *what, double *out, struct error *err);
int limits_parse(struct limits *l, const char *text, struct error *err); /* "tok_s>=30,itl<=50ms,ttft<=1s" */

/* What is predicted of a phase; NaN: nothing. */
struct limit_phase {
    double seconds, tok_s, sd_s, sd_fast_s;
    struct error_parts parts; /* of several limits; zeros: as if all erred together */
};
enum limit_met { LIMIT_UNKNOWN, LIMIT_MISSED, LIMIT_UNSURE, LIMIT_MET }; /* unsure: the 90 % interval has both */
const char *limit_met_name(enum limit_met m); /* "?" "no" "unsure" "yes" */
struct limit_answer {
    enum limit_met met;
    double chance; /* that it is met; NaN without an interval */
    double z;      /* spreads from what is predicted to the limit, below 0 where it is missed; NaN likewise */
};
struct limit_answer limit_answer(const struct limit *l, const struct limit_phase *p);
/* Of all of them; with whatever the phases' errors have in common the chance lies between least and most. (143) */
struct limits_answer {
    enum limit_met met;
    double chance, least, most;
    double correlation; /* of the phases' errors; NaN: limits of one */
};
struct limits_answer limits_answer(const struct limits *l, const struct limit_phase *prefill, const struct limit_phase *decode);

/* ---- errors of two predictions (142)-(144) ---------------------------------------------------------------- */

/* Covariance of the logarithms of their seconds; left_together: the correlation of what is left over. */
double error_covariance(const struct error_parts *a, const struct error_parts *b, double left_together);
/* Of a prompt's and its steps' on one machine and stack; NaN: nothing is known of one. */
double error_correlation(const struct error_parts *a, const struct error_parts *b);
/* Chance that normals of that correlation are at most h and k. */
double normal_both(double h, double k, double correlation);
/* How much of the errors a change leaves as they are: 1 of the machine's alone, 0 of another stack. */
double predictions_alike(const struct predict_result *base, const struct predict_result *changed, const struct whatif *w);
/* Tokens/s of a changed prediction over the base's; 90 % are between lo and hi, NaN: no interval. */
struct ratio {
    double value, lo, hi;
};
struct ratio prediction_ratio(const struct prediction *base, const struct prediction *changed, double alike);

struct solution {
    bool found;
    bool always;     /* any value up to the last one tried will do */
    double value;    /* B/s, factor of the peaks, tokens, sequences, devices; NaN: none, or a machine */
    /* The same where the seconds are those of either end of their 90 % interval: value_good of the fast one, with a chance of 5 %,
     * value_safe of the slow one, with 95 %. NaN: none does, or there is no interval. */
    double value_good, value_safe;
    double value_nearest; /* nothing found: the count with the best chance */
    double chance;   /* that the target is reached at value, or where it comes nearest; NaN: no interval, or whether it fits */
    const char *unit;
    char machine[64], machine_good[64], machine_safe[64], machine_nearest[64]; /* as the values; "": none */
    int n_tried, n_reach; /* machines with known memory; of them those that do */
    struct predict_result r; /* there; where nothing is found, at the value that comes nearest */
    char reason[128]; /* why no more could be tried */
    char text[384];  /* the answer in words */
};
/* h is not used for machines: those of hwprofile_list() are tried. */
int solve(struct solution *s, const struct question *q, const struct model *m, const struct hwprofile *h,
          const struct predict_options *o, struct error *err);

#endif
