/* solve.h: which bandwidth, peak, context, batch, number of devices or machine reaches a target. */
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
