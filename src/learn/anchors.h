/* anchors.h: the software of a prediction: its constants, narrowed by what was measured on the machine (calibration points). */
#ifndef LEARN_ANCHORS_H
#define LEARN_ANCHORS_H

#include "base/lists.h"
#include "dataset/measure.h"
#include "learn/software.h"
#include "predict/limits.h"

struct software_options {
    const char *stack, *anchor, *slo; /* NULL: by machine; none; none */
    struct measured_options of_anchor;
    struct limits limits;             /* --slo */
};
/* What is asked about, and is what an anchor's file is of as far as it does not say. */
struct software_asked {
    bool roof, materialized;
    const struct str_list *hw;
    const char *model, *type; /* NULL: several; or, type, nobody says */
    int tp;                   /* 0: several */
};
/* *out NULL: --stack none; with --roof its constants are not asked for, what it takes in a pass is. */
int software_load(struct software **out, const struct software_options *o, const struct software_asked *asked, struct error *err);
/* What is not in a row's price: of several sequences how they arrive; of a stack that loads no such weights that it does not. "": nothing. */
const char *software_note(char *buf, size_t size, const struct model *m, const char *stack, uint32_t n_batch);
/* For predict_options.time; NULL of NULL. */
const struct time_source *software_time(const struct software *s);

#endif
