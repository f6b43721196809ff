/* limits.h: limits of latency and rate, and the probability that a prediction is within them. methods.md (63) */
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

/* "50ms", "1s": positive seconds, unit required (itl<=50 is ambiguous). what: option for messages, "--slo". 0, or ERROR_USAGE. */
int limit_seconds(const char *text, const char *what, double *out, struct error *err);
int limits_parse(struct limits *l, const char *text, struct error *err); /* "tok_s>=30,itl<=50ms,ttft<=1s" */

/* Prediction of a phase; NaN: none. */
struct limit_phase {
    double seconds, tok_s, sd_s, sd_fast_s;
    struct error_parts parts; /* for several limits; zeros: fully correlated */
};

enum limit_met { LIMIT_UNKNOWN, LIMIT_MISSED, LIMIT_UNSURE, LIMIT_MET }; /* unsure: the limit is inside the 90 % interval */
const char *limit_met_name(enum limit_met m); /* "?" "no" "unsure" "yes" */

struct limit_answer {
    enum limit_met met;
    double chance; /* probability within the limit; NaN without an interval */
    double z;      /* standard deviations from the prediction to the limit, below 0 where it is missed; NaN likewise */
};

struct limit_answer limit_answer(const struct limit *l, const struct limit_phase *p);

/* All limits together; for any error correlation of the phases the probability is between least and most. (65) */
struct limits_answer {
    enum limit_met met;
    double chance, least, most;
    double correlation; /* of the phases' errors; NaN: limits of one */
};

struct limits_answer limits_answer(const struct limits *l, const struct limit_phase *prefill, const struct limit_phase *decode);

#endif
