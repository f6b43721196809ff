/* cli internals: what the files of `roofcast predict` share. */
#ifndef CLI_PREDICT_H
#define CLI_PREDICT_H

#include "cli/pricing.h"

struct predict_cli {
    const char *model, *hw, *save;
    const char *n_prompt, *n_gen, *n_depth, *n_batch; /* lists */
    int64_t n_ubatch, threads;
    bool roof, weights_only, weights_all, by_role;
    double weights_gb; /* NaN: counted */
    struct pricing_options price;
    enum report_format format;
};

/* One row's subject: a machine, a scenario, and which phase of it. */
struct subject {
    const struct model *m;
    const struct hwprofile *h;
    struct predict_options o;
    struct predict_result r;
    enum phase phase;
    const struct predict_cli *cli;
};

/* predict_rows.c: the rows of one phase; a row a role with --by role. */
int predict_add_rows(json_t *rows, const struct subject *s, struct error *err);
/* predict_print.c: all rows, to --save and to the terminal. */
int predict_print(const json_t *rows, const struct predict_cli *o, const struct model *m, struct error *err);
/* What was asked for instead of the model's own work, as fields of j: a figure priced so is nominal. */
int predict_put_nominal(json_t *j, const struct predict_cli *o);

#endif
