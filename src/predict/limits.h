/* limits.h: limits of latency and rate, and the chance that a prediction meets them. methods.md (63) */
#ifndef PREDICT_LIMITS_H
#define PREDICT_LIMITS_H

#include "predict/predict.h"

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

/* Of all of them; with whatever the phases' errors have in common the chance lies between least and most. (65) */
struct limits_answer {
    enum limit_met met;
    double chance, least, most;
    double correlation; /* of the phases' errors; NaN: limits of one */
};

struct limits_answer limits_answer(const struct limits *l, const struct limit_phase *prefill, const struct limit_phase *decode);

#endif
