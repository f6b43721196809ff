/* anchors.h: the software of a prediction: its constants, narrowed by what was measured on the machine (calibration points). */
#ifndef LEARN_ANCHORS_H
#define LEARN_ANCHORS_H

#include "base/lists.h"
#include "dataset/measure.h"
#include "learn/software.h"
#include "predict/limits.h"

struct software_options {
    const char *stack, *anchor, *slo; /* NULL: by machine; none; none */
    const char *server;               /* stack NULL: the stack of machines without measured kernels, in place of their default; NULL: the default */
    struct measured_options of_anchor;
    struct limits limits;             /* --slo */
};
/* The scenario of a prediction; also the defaults of fields that an anchor's file does not state. */
struct software_query {
    bool roof, materialized;
    const struct str_list *hw;
    const char *model, *type; /* NULL: several; type NULL: not given */
    int tp;                   /* 0: several */
};
/* *out NULL: --stack none; with --roof only its batch sizes are used. errors: an unknown stack; an anchor file without usable rows */
int software_load(struct software **out, const struct software_options *o, const struct software_query *query, struct error *err);
/* Effects not modelled in a row: arrivals of several sequences; weights that the stack cannot load. "": none. */
const char *software_note(char *buf, size_t size, const struct model *m, const char *stack, uint32_t n_batch);
/* For predict_options.time; NULL for NULL. */
const struct time_source *software_time(const struct software *s);

#endif
