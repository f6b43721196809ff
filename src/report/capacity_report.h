/* capacity_report.h: rows of `roofcast capacity`: the rate that a deployment sustains within an objective. */
#ifndef REPORT_CAPACITY_REPORT_H
#define REPORT_CAPACITY_REPORT_H

#include "report/report.h"
#include "report/table.h"
#include "serving/capacity.h"

/* One deployment. Texts are copied. */
struct capacity_row {
    const char *model, *hw, *type, *layout, *policy, *reason; /* reason: why there is no rate; NULL */
    const char *launch;      /* the command that starts it */
    uint32_t n_devices, tp, pp, dp, ep, max_num_seqs, max_num_batched_tokens, num_speculative_tokens;
    uint64_t n_block;
    struct capacity c;
    double price_usd_h;      /* of a device; NaN: unknown */
    size_t cell;             /* its number, of which rows with equal figures are in order */
    /* by capacity_rank(): */
    bool front;              /* no other row gives a user and a device more */
    double rate_90, rate_50, rate_10, device_tok_s, device_good_tok_s, usd_mtok;
};
extern const struct table_fields capacity_fields;
/* A row of zeros whose numbers are NaN. */
struct capacity_row *capacity_add_row(struct table_rows *rows);
/* Derives figures, marks the front, and brings rows into order: by output tokens/s of a device, rows without a rate last. */
void capacity_rank(struct table_rows *rows);
struct capacity_texts {
    const struct serve_slo *slo;
    const char *workload;
    const char *constants;   /* constants_digest(); NULL: unknown */
    size_t most;             /* rows of a table for people, and the front; 0: all */
};
/* Of ranked rows. */
int capacity_print(const char *path, enum report_format format, const struct table_rows *rows, const struct capacity_texts *x, struct error *err);

#endif
