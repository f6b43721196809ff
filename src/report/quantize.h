/* quantize.h: how a quantized file is described. */
#ifndef REPORT_QUANTIZE_H
#define REPORT_QUANTIZE_H

#include "model/quantize.h"
#include "report/output.h"

extern const struct table_fields quantize_fields;

struct quantize_print {
    const char *in, *out, *type; /* files; the type asked for */
    bool by_tensor;              /* a row a tensor; else a row a role */
    enum report_format format;
};
/* To standard output: the table, and where the file is not of the type asked for. */
int quantize_print(const struct quantized *q, const struct quantize_print *o, struct error *err);
/* Weights far from 1 do not fit scales, which are halves: a warning a tensor that loses half of its weights' magnitude. */
void quantize_warn(const struct quantized *q);

#endif
