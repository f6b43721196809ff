/* solve.h: the bandwidth, peak, context, batch, number of devices or machine that attains a target. */
#ifndef PREDICT_SOLVE_H
#define PREDICT_SOLVE_H

#include "predict/predict.h"

enum solve_unknown { SOLVE_BANDWIDTH, SOLVE_COMPUTE, SOLVE_CONTEXT, SOLVE_BATCH, SOLVE_TP, SOLVE_MACHINE, SOLVE_COUNT };

struct question {
    char text[64];
    enum solve_unknown unknown;
    enum solve_metric metric;
    enum phase phase; /* of the metric */
    double target;    /* tokens/s at least, seconds at most */
};

/* UNKNOWN[:PHASE]=fits, or tok_s>=X, itl<=T, ttft<=T: "bandwidth=tok_s>=30", "batch=itl<=50ms". */
int question_parse(struct question *q, const char *text, struct error *err);

struct solution {
    bool found;
    bool always;     /* any value up to the last one tried attains it */
    double value;    /* B/s, factor of the peaks, tokens, sequences, devices; NaN: none, or a machine */
    /* The same at both ends of the 90 % interval of the seconds: value_optimistic at the fast end (probability 5 %), value_conservative
     * at the slow end (95 %). NaN: none, or no interval. */
    double value_optimistic, value_conservative;
    double value_nearest; /* not found: the count with the highest probability */
    double chance;   /* probability of the target at value, or at the nearest one; NaN: no interval, or whether it fits */
    const char *unit;
    char machine[64], machine_optimistic[64], machine_conservative[64], machine_nearest[64]; /* as the values; "": none */
    int n_tried, n_reach; /* machines with known memory; of them those that attain the target */
    struct predict_result r; /* at value; not found: at the nearest */
    char reason[128]; /* why the search ended */
    char text[384];  /* the result as text */
};

/* h is not used for machines: those of hwprofile_list() are tried. */
int solve(struct solution *s, const struct question *q, const struct model *m, const struct hwprofile *h,
          const struct predict_options *o, struct error *err);

#endif
