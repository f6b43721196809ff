/* roofcast list fields: the tables of columns of doc/formats.md (tests/report/fields.sh). */
#include "bench/bench.h"
#include "bench/ppl.h"
#include "bench/profiles.h"
#include "bench/validate.h"
#include "cli/fields.h"
#include "report/choose.h"
#include "report/analyze.h"
#include "report/capacity_report.h"
#include "report/comparison.h"
#include "report/list.h"
#include "report/measured.h"
#include "report/quantize.h"
#include "report/folds.h"
#include "report/score.h"
#include "report/memory_report.h"
#include "report/predict_report.h"
#include "report/serving_compare.h"
#include "report/serving_policies.h"
#include <string.h>

static void print_list(const char *section, const struct list *l)
{
    table_fields_print(stdout, &(struct table_fields){ section, l->cols, l->n_cols });
}

/* Columns of a prediction: of a phase, then those of roles only; of a sweep, in its order. */
static void print_predictions(void)
{
    struct column cols[2 * PREDICT_MAX_COLUMNS];
    const struct column *in_order[PREDICT_MAX_COLUMNS];
    const size_t n = predict_columns(cols, false), n_role = predict_columns(cols + n, true);
    for (size_t i = n; i < n + n_role; i++) /* share, role_math: columns of roles only */
        cols[i].type = cols[i].style == COL_TEXT ? "string or null, optional" : "number or null, optional";
    table_fields_print(stdout, &(struct table_fields){ "predict.row", cols, n + n_role });
    const size_t n_sweep = table_columns(&(struct table){ .cols = cols, .n_cols = sweep_columns(cols), .order = sweep_order }, in_order);
    struct column sweep[PREDICT_MAX_COLUMNS];
    for (size_t i = 0; i < n_sweep; i++)
        sweep[i] = *in_order[i];
    table_fields_print(stdout, &(struct table_fields){ "sweep.row", sweep, n_sweep });
}

void list_fields(void)
{
    static const struct table_fields *const all[] = {
        &run_row_fields, &run_op_fields, &bench_batch_fields, &analyze_fields, &predict_device_fields, &predict_class_fields, &predict_constant_fields, &predict_role_fields,
        &memory_fields, &predict_solve_fields, &score_group_fields, &folds_fields, &score_fields, &validate_fields, &validate_group_fields, &report_fields, &ppl_fields,
        &quantize_fields, &compare_fields, &crosscheck_fields, &doctor_fields,
        &serving_fields, &serving_step_fields, &serving_request_fields, &serving_compare_fields, &serving_compare_step_fields, &comparison_fields, &comparison_op_fields, &serving_policy_fields, &capacity_fields, &choose_fields,
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        table_fields_print(stdout, all[i]);
    print_predictions();
    print_list("list.model", &list_models);
    print_list("list.hw", &list_hw);
    print_list("list.stack", &list_stacks);
    print_list("list.type", &list_types);
    print_list("list.isa", &list_isa);
    print_list("list.counter", &list_counters);
    print_list("list.arch", &list_archs);
    print_list("list.chat", &list_chat);
}
