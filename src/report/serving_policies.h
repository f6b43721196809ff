/* serving_policies.h: what each idea of a scheduler buys, on the same requests. */
#ifndef REPORT_SERVING_POLICIES_H
#define REPORT_SERVING_POLICIES_H

#include "report/report.h"
#include "report/table.h"
#include "serving/metrics.h"

struct serving_policy_row {
    const char *name, *adds, *reason; /* adds: to the row before; reason: why it cannot be simulated, NULL */
    double out_tok_s, request_s, ttft_mean_s, ttft_p99_s, itl_mean_s, itl_p99_s, e2e_mean_s, batch, kv, hit, goodput_request_s;
    double preemptions;
    double gain; /* output tokens/s over those of the first row */
    const char *verdict;
};
extern const struct table_fields serving_policy_fields;
/* s NULL: not simulated, all numbers NaN. */
void serving_policy_fill(struct serving_policy_row *r, const struct serve_study *s);
int serving_policies_print(const char *path, enum report_format format, const struct table_rows *rows, const char *workload, struct error *err);

#endif
