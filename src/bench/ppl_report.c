/* Output of `roofcast ppl`: one row per file; as text two tables, speed and quality, and the distribution of the KL divergence. */
#include "bench/ppl.h"
#include <math.h>
#include <string.h>

#define AT(m) COLUMN_AT(struct ppl_file, m)
static const struct column ppl_columns[] = {
    { "path", NULL, COL_TEXT, NULL, COL_MAJOR, AT(path), EMPTY_VALUE, "string or null", "null: it is not UTF-8, as is `model`" },
    { "model", NULL, COL_TEXT, NULL, COL_MAJOR, AT(model), EMPTY_VALUE, "string or null", NULL },
    { "type", NULL, COL_TEXT, NULL, COL_MAJOR, AT(type), EMPTY_VALUE, NULL, "tensor type or mixture" },
    { "base", NULL, COL_BOOL, NULL, COL_MAJOR, AT(base), EMPTY_VALUE, NULL, "this is the file compared with; what compares is null in its row" },
    { "act_scales", NULL, COL_TEXT, NULL, COL_JSON, AT(act_scales), EMPTY_ABSENT, "`\"exact\"` or `\"pow2\"` or null, optional",
      "as in `run.row`, in passes of `-ub` tokens; absent: no product quantizes activations, or the row is the base's, which has exact ones" },
    { "n_tokens", NULL, COL_INT, "tokens", COL_MAJOR, AT(q.n_tokens), EMPTY_VALUE, NULL, "scored, over all chunks" },
    { "file_bytes", NULL, COL_SI, "B", COL_MAJOR, AT(file_bytes), EMPTY_VALUE, NULL, "size of the file, of all its parts where it is split" },
    { "bits_weight", NULL, COL_FLOAT, "bit", COL_MAJOR, AT(bits_weight), EMPTY_VALUE, NULL, "all tensor bytes over all parameters" },
    { "step_weight_bytes", NULL, COL_SI, "B", COL_MAJOR, AT(step_weight_bytes), EMPTY_VALUE, NULL, "weights read by a decode step, as in `roofcast.analyze`" },
    { "ppl", NULL, COL_FLOAT, NULL, COL_MAJOR, AT(q.ppl), EMPTY_VALUE, NULL, "perplexity" },
    { "ppl_se", NULL, COL_FLOAT, NULL, COL_MAJOR, AT(q.ppl_se), EMPTY_NULL, NULL, "its standard error; `_se` is null for a single token" },
    { "nll", NULL, COL_FLOAT, "nat", COL_MAJOR, AT(q.nll), EMPTY_VALUE, NULL, "mean -ln p of the token that came" },
    { "nll_se", NULL, COL_FLOAT, "nat", COL_MAJOR, AT(q.nll_se), EMPTY_NULL, NULL, NULL },
    { "kl", NULL, COL_FLOAT, "nat", COL_MAJOR, AT(q.kl), EMPTY_NULL, NULL, "mean KL(base \\|\\| file); null without a base, as are all that follow" },
    { "kl_se", NULL, COL_FLOAT, "nat", COL_MAJOR, AT(q.kl_se), EMPTY_NULL, NULL, NULL },
    { "kl_median", NULL, COL_FLOAT, "nat", COL_MAJOR, AT(q.kl_median), EMPTY_NULL, NULL, NULL },
    { "kl_p99", NULL, COL_FLOAT, "nat", COL_MAJOR, AT(q.kl_p99), EMPTY_NULL, NULL, "99 % of the tokens have less" },
    { "kl_p999", NULL, COL_FLOAT, "nat", COL_MAJOR, AT(q.kl_p999), EMPTY_NULL, NULL, "99.9 %" },
    { "kl_max", NULL, COL_FLOAT, "nat", COL_MAJOR, AT(q.kl_max), EMPTY_NULL, NULL, NULL },
    { "dp_rms", NULL, COL_FLOAT, "fraction", COL_MAJOR, AT(q.dp_rms), EMPTY_NULL, NULL, "root mean square of p - p_base of the token that came" },
    { "same_top", NULL, COL_FLOAT, "fraction", COL_MAJOR, AT(q.same_top), EMPTY_NULL, NULL, "of positions where both have the same most likely token" },
    { "same_top_se", NULL, COL_FLOAT, "fraction", COL_MAJOR, AT(q.same_top_se), EMPTY_NULL, NULL, NULL },
    { "ppl_base", NULL, COL_FLOAT, NULL, COL_MAJOR, AT(q.ppl_base), EMPTY_NULL, NULL, "the base's" },
    { "ppl_base_se", NULL, COL_FLOAT, NULL, COL_MAJOR, AT(q.ppl_base_se), EMPTY_NULL, NULL, NULL },
    { "ln_ppl_ratio", NULL, COL_FLOAT, "nat", COL_MAJOR, AT(q.ln_ratio), EMPTY_NULL, NULL, "ln(ppl / ppl_base)" },
    { "ln_ppl_ratio_se", NULL, COL_FLOAT, "nat", COL_MAJOR, AT(q.ln_ratio_se), EMPTY_NULL, NULL, "paired" },
};
#undef AT
const struct table_fields ppl_fields = { "ppl.row", ppl_columns, ARRAY_LEN(ppl_columns) };

static const char order[] =
    "path model type base file_bytes bits_weight step_weight_bytes n_tokens ppl ppl_se nll nll_se kl kl_se kl_median kl_p99 kl_p999 kl_max "
    "dp_rms same_top same_top_se ppl_base ppl_base_se ln_ppl_ratio ln_ppl_ratio_se";

/* ---- for people: value and standard error in one cell ---------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* "5.962 +- 0.034": two digits of the error, at least two decimals; null for NaN. */
static struct cell with_error(struct table_rows *rows, double v, double se)
{
    char s[64];
    if (isnan(v))
        return (struct cell){ 0 };
    const double digits = se > 0 ? fmin(fmax(1 - floor(log10(se)), 2), 9) : 4;
    if (isnan(se))
        snprintf(s, sizeof s, "%.*f", (int)digits, v);
    else
        snprintf(s, sizeof s, "%.*f +- %.*f", (int)digits, v, (int)digits, se);
    return cell_text(table_text(rows, s));
}

/* Three significant digits. */
static struct cell digits3(struct table_rows *rows, double v)
{
    char s[32];
    snprintf(s, sizeof s, "%.3g", v);
    return isnan(v) ? (struct cell){ 0 } : cell_text(table_text(rows, s));
}

struct shown_row {
    struct ppl_file f;
    const char *file;
    struct cell ppl, kl, ln_ppl_ratio, same_top, dp_rms, kl_median, kl_p99, kl_p999, kl_max;
};

static void put_shown(struct table_rows *rows, const struct ppl_file *f)
{
    const struct quality *q = &f->q;
    *(struct shown_row *)table_add(rows) = (struct shown_row){
        .f = *f, .file = table_text(rows, base_name(f->path)), .ppl = with_error(rows, q->ppl, q->ppl_se), .kl = with_error(rows, q->kl, q->kl_se),
        .ln_ppl_ratio = with_error(rows, q->ln_ratio, q->ln_ratio_se), .same_top = with_error(rows, 100 * q->same_top, 100 * q->same_top_se),
        .dp_rms = digits3(rows, 100 * q->dp_rms), .kl_median = digits3(rows, q->kl_median), .kl_p99 = digits3(rows, q->kl_p99),
        .kl_p999 = digits3(rows, q->kl_p999), .kl_max = digits3(rows, q->kl_max),
    };
}

#define AT(m) COLUMN_AT(struct shown_row, m)
static const struct column main_columns[] = {
    { "file", "file", COL_TEXT, NULL, COL_MAJOR, AT(file), EMPTY_VALUE, NULL, NULL },
    { "type", "type", COL_TEXT, NULL, COL_MAJOR, AT(f.type), EMPTY_VALUE, NULL, NULL },
    { "file_bytes", "size (B)", COL_SI, "B", COL_MAJOR, AT(f.file_bytes), EMPTY_VALUE, NULL, NULL },
    { "bits_weight", "bits/weight", COL_FLOAT, NULL, COL_MAJOR, AT(f.bits_weight), EMPTY_VALUE, NULL, NULL },
    { "step_weight_bytes", "read per token (B)", COL_SI, "B", COL_MAJOR, AT(f.step_weight_bytes), EMPTY_VALUE, NULL, NULL },
    { "ppl", "PPL", COL_FLOAT, NULL, COL_MAJOR, AT(ppl), EMPTY_VALUE, NULL, NULL },
    { "kl", "KL (nats)", COL_FLOAT, NULL, COL_MAJOR, AT(kl), EMPTY_VALUE, NULL, NULL },
    { "same_top", "same top (%)", COL_FLOAT, NULL, COL_MAJOR, AT(same_top), EMPTY_VALUE, NULL, NULL },
};
#undef AT
enum { N_MAIN_ALONE = 6 };

#define AT(m) COLUMN_AT(struct shown_row, m)
static const struct column spread_columns[] = {
    { "file", "file", COL_TEXT, NULL, COL_MAJOR, AT(file), EMPTY_VALUE, NULL, NULL },
    { "kl_median", "KL median (nats)", COL_FLOAT, NULL, COL_MAJOR, AT(kl_median), EMPTY_VALUE, NULL, NULL },
    { "kl_p99", "KL 99 %", COL_FLOAT, NULL, COL_MAJOR, AT(kl_p99), EMPTY_VALUE, NULL, NULL },
    { "kl_p999", "KL 99.9 %", COL_FLOAT, NULL, COL_MAJOR, AT(kl_p999), EMPTY_VALUE, NULL, NULL },
    { "kl_max", "KL max", COL_FLOAT, NULL, COL_MAJOR, AT(kl_max), EMPTY_VALUE, NULL, NULL },
    { "dp_rms", "RMS of dp (%)", COL_FLOAT, NULL, COL_MAJOR, AT(dp_rms), EMPTY_VALUE, NULL, NULL },
    { "ln_ppl_ratio", "ln(PPL / PPL base)", COL_FLOAT, NULL, COL_MAJOR, AT(ln_ppl_ratio), EMPTY_VALUE, NULL, NULL },
};
#undef AT

static void print_notes(const struct ppl_chunks *c, const struct ppl_file *file, const char *base)
{
    printf("\n%zu tokens scored: %zu chunk%s of %u tokens, the last %u of each. +-: one standard error.\n",
           file[0].q.n_tokens, c->n, c->n == 1 ? "" : "s", c->n_ctx, c->n_ctx - 1 - c->first);
    printf("read per token: weight bytes of a decode step; the upper bound of decode is bandwidth / that (roofcast predict).\n");
    if (strcmp(file[0].act_scales, "pow2") == 0)
        printf("Scales of activations: powers of two (--act-scales pow2)%s.\n", base ? ", exact for the base" : "");
    if (base)
        printf("KL(base || file), base %s. dp: difference in the probability of the token that came.\n",
               base_name(base));
}

static int print_tables(enum report_format format, const struct ppl_file *file, size_t n, const struct ppl_chunks *c, const char *base,
                        struct error *err)
{
    struct table_rows rows = { .size = sizeof(struct shown_row) };
    for (size_t i = 0; i < n; i++)
        put_shown(&rows, &file[i]);
    struct table t = { "roofcast.ppl", 1, NULL, main_columns, base ? ARRAY_LEN(main_columns) : N_MAIN_ALONE, &rows, NULL };
    int rc = report_write(NULL, format, &t, err);
    if (rc == 0 && base) {
        t.cols = spread_columns;
        t.n_cols = ARRAY_LEN(spread_columns);
        rows.n--; /* without the base (last), which has no divergence */
        printf("\n");
        rc = report_write(NULL, format, &t, err);
    }
    table_rows_free(&rows);
    if (rc == 0)
        print_notes(c, file, base);
    return rc;
}

static json_t *meta_json(const struct ppl_chunks *c, const char *base, const struct provenance *prov)
{
    json_t *j = json_pack("{s:o, s:I, s:I, s:I, s:I}", "base", base ? json_text(base) : json_null(), "n_ctx",
                          (json_int_t)c->n_ctx, "stride", (json_int_t)c->stride, "n_chunks", (json_int_t)c->n,
                          "n_scored", (json_int_t)(c->n_ctx - 1 - c->first));
    if (j && json_object_set_new(j, "provenance", run_provenance_json(prov)) == 0)
        return j;
    json_decref(j);
    return NULL;
}

int ppl_print(enum report_format format, const struct ppl_file *file, size_t n, const struct ppl_chunks *c,
              const char *base, const struct provenance *prov, struct error *err)
{
    const bool people = format == REPORT_TABLE || format == REPORT_MD;
    json_t *meta = meta_json(c, base, prov);
    const struct table_rows rows = { .size = sizeof *file, .n = n, .v = (void *)file };
    const struct table t = { "roofcast.ppl", 1, meta, ppl_columns, ARRAY_LEN(ppl_columns), &rows, order };
    int rc = meta ? 0 : error_oom(err, 0, "the report");
    if (rc == 0)
        rc = people ? print_tables(format, file, n, c, base, err) : report_write(NULL, format, &t, err);
    json_decref(meta);
    return rc;
}
