/* roofcast calibrate --cross-validate: how well each fit predicts the rows that were left out of it. */
#include "report/folds.h"

struct fold_row {
    const char *fit, *left_out;
    uint64_t rows;
    double median_ape, mean_ln, coverage90;
};

#define AT(m) COLUMN_AT(struct fold_row, m)
static const struct column folds_columns[] = {
    { "fit", "fit", COL_TEXT, NULL, COL_KEY, AT(fit), EMPTY_VALUE, NULL, "`rate`, `decode`, `prompt`, `op`, `tpot`, `ttft`" },
    { "left_out", "left out", COL_TEXT, NULL, COL_KEY, AT(left_out), EMPTY_VALUE, NULL, "each `source`, `hardware`, `generation`, `class`, `engine`, or `work` (model) in turn; "
      "`hardware, anchored`: all but a row a phase" },
    { "rows", "rows", COL_INT, NULL, COL_KEY, AT(rows), EMPTY_VALUE, NULL, "predicted" },
    { "median_ape", "median", COL_FRACTION, NULL, COL_KEY, AT(median_ape), EMPTY_VALUE, NULL, "of the absolute value of predicted / measured - 1" },
    { "mean_ln", "mean |ln|", COL_FLOAT, NULL, COL_KEY, AT(mean_ln), EMPTY_VALUE, NULL, "of the absolute value of ln predicted - ln measured" },
    { "coverage90", "in 90 % interval", COL_FRACTION, NULL, COL_MAJOR, AT(coverage90), EMPTY_VALUE, NULL, "by the half-widths of the same fit" },
};
#undef AT
const struct table_fields folds_fields = { "calibrate.fold", folds_columns, ARRAY_LEN(folds_columns) };

int folds_print(const struct constants_file *f, enum report_format format, struct error *err)
{
    struct table_rows rows = { .size = sizeof(struct fold_row) };
    for (int k = 0; k < FITTED_KIND_COUNT; k++)
        for (int fold = 0; fold < FOLD_COUNT; fold++) {
            const struct fold_figure *g = &f->kind[k].fold[fold];
            if (g->n > 0)
                *(struct fold_row *)table_add(&rows) =
                    (struct fold_row){ fitted_kind_names[k], fold_names[fold], g->n, g->median_ape, g->mean_ln, g->coverage90 };
        }
    const struct table t = { "roofcast.folds", 1, NULL, folds_columns, ARRAY_LEN(folds_columns), &rows, NULL };
    const int rc = report_write(NULL, format, &t, err);
    table_rows_free(&rows);
    return rc;
}
