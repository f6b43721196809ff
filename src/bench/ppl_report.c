/* What `roofcast ppl` prints: a row a file; for people two tables, speed beside quality and how the KL is spread. */
#include "bench/ppl.h"
#include <math.h>
#include <string.h>

static json_t *row_json(const struct ppl_file *f)
{
    const struct quality *q = &f->q;
    const struct {
        const char *key;
        double v;
    } number[] = {
        { "file_bytes", f->file_bytes }, { "bits_weight", f->bits_weight }, { "step_weight_bytes", f->step_weight_bytes },
        { "ppl", q->ppl }, { "ppl_se", q->ppl_se }, { "nll", q->nll }, { "nll_se", q->nll_se },
        { "kl", q->kl }, { "kl_se", q->kl_se }, { "kl_median", q->kl_median }, { "kl_p99", q->kl_p99 },
        { "kl_p999", q->kl_p999 }, { "kl_max", q->kl_max }, { "dp_rms", q->dp_rms },
        { "same_top", q->same_top }, { "same_top_se", q->same_top_se },
        { "ppl_base", q->ppl_base }, { "ppl_base_se", q->ppl_base_se },
        { "ln_ppl_ratio", q->ln_ratio }, { "ln_ppl_ratio_se", q->ln_ratio_se },
    };
    json_t *j = json_pack("{s:o, s:o, s:s, s:b, s:s*, s:I}", "path", json_text(f->path), "model", json_text(f->model), "type",
                          f->type, "base", (int)f->base, "act_scales", *f->act_scales ? f->act_scales : NULL, "n_tokens",
                          (json_int_t)q->n_tokens);
    for (size_t i = 0; j && i < ARRAY_LEN(number); i++)
        if (json_object_set_new(j, number[i].key, json_num(number[i].v)) != 0) {
            json_decref(j);
            return NULL;
        }
    return j;
}

/* ---- for people: value and standard error in one cell ---------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* "5.962 +- 0.034": two digits of the error, two decimals at least; null for what is not there. */
static json_t *with_error(double v, double se)
{
    char s[64];
    if (isnan(v))
        return json_null();
    const double digits = se > 0 ? fmin(fmax(1 - floor(log10(se)), 2), 9) : 4;
    if (isnan(se))
        snprintf(s, sizeof s, "%.*f", (int)digits, v);
    else
        snprintf(s, sizeof s, "%.*f +- %.*f", (int)digits, v, (int)digits, se);
    return json_string(s);
}

/* Three digits however small it is. */
static json_t *digits3(double v)
{
    char s[32];
    snprintf(s, sizeof s, "%.3g", v);
    return isnan(v) ? json_null() : json_string(s);
}

static json_t *shown_json(const struct ppl_file *f)
{
    const struct quality *q = &f->q;
    json_t *j = row_json(f);
    if (!j)
        return NULL;
    int bad = json_object_set_new(j, "file", json_text(base_name(f->path)));
    bad |= json_object_set_new(j, "ppl", with_error(q->ppl, q->ppl_se));
    bad |= json_object_set_new(j, "kl", with_error(q->kl, q->kl_se));
    bad |= json_object_set_new(j, "ln_ppl_ratio", with_error(q->ln_ratio, q->ln_ratio_se));
    bad |= json_object_set_new(j, "same_top", with_error(100 * q->same_top, 100 * q->same_top_se));
    bad |= json_object_set_new(j, "dp_rms", digits3(100 * q->dp_rms));
    bad |= json_object_set_new(j, "kl_median", digits3(q->kl_median));
    bad |= json_object_set_new(j, "kl_p99", digits3(q->kl_p99));
    bad |= json_object_set_new(j, "kl_p999", digits3(q->kl_p999));
    bad |= json_object_set_new(j, "kl_max", digits3(q->kl_max));
    if (!bad)
        return j;
    json_decref(j);
    return NULL;
}

static const struct column csv_columns[] = {
    { "path", NULL, COL_TEXT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "model", NULL, COL_TEXT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "type", NULL, COL_TEXT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "base", NULL, COL_BOOL, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "file_bytes", NULL, COL_SI, "B", COL_MAJOR, COLUMN_BY_KEY },
    { "bits_weight", NULL, COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "step_weight_bytes", NULL, COL_SI, "B", COL_MAJOR, COLUMN_BY_KEY },
    { "n_tokens", NULL, COL_INT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "ppl", NULL, COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "ppl_se", NULL, COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "nll", NULL, COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "nll_se", NULL, COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "kl", NULL, COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "kl_se", NULL, COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "kl_median", NULL, COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "kl_p99", NULL, COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "kl_p999", NULL, COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "kl_max", NULL, COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "dp_rms", NULL, COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "same_top", NULL, COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "same_top_se", NULL, COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "ppl_base", NULL, COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "ppl_base_se", NULL, COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "ln_ppl_ratio", NULL, COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "ln_ppl_ratio_se", NULL, COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
};

static const struct column main_columns[] = {
    { "file", "file", COL_TEXT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "type", "type", COL_TEXT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "file_bytes", "size (B)", COL_SI, "B", COL_MAJOR, COLUMN_BY_KEY },
    { "bits_weight", "bits/weight", COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "step_weight_bytes", "read a token (B)", COL_SI, "B", COL_MAJOR, COLUMN_BY_KEY },
    { "ppl", "PPL", COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "kl", "KL (nats)", COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY }, /* from here on with a base */
    { "same_top", "same top (%)", COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
};
enum { N_MAIN_ALONE = 6 };

static const struct column spread_columns[] = {
    { "file", "file", COL_TEXT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "kl_median", "KL median (nats)", COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "kl_p99", "KL 99 %", COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "kl_p999", "KL 99.9 %", COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "kl_max", "KL max", COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "dp_rms", "RMS of dp (%)", COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "ln_ppl_ratio", "ln(PPL / PPL base)", COL_FLOAT, NULL, COL_MAJOR, COLUMN_BY_KEY },
};

static void print_notes(const struct ppl_chunks *c, const struct ppl_file *file, const char *base)
{
    printf("\n%zu tokens scored: %zu chunk%s of %u tokens, the last %u of each. +-: one standard error.\n",
           file[0].q.n_tokens, c->n, c->n == 1 ? "" : "s", c->n_ctx, c->n_ctx - 1 - c->first);
    printf("read a token: weight bytes of a decode step; decode is at best bandwidth / that (roofcast predict).\n");
    if (strcmp(file[0].act_scales, "pow2") == 0)
        printf("Activations were scaled by powers of two (--act-scales pow2)%s.\n", base ? ", the base's exactly" : "");
    if (base)
        printf("KL(base || file), base %s. dp: difference in the probability of the token that came.\n",
               base_name(base));
}

static int print_tables(enum report_format format, json_t *shown, const struct ppl_file *file,
                        const struct ppl_chunks *c, const char *base, struct error *err)
{
    const struct table d = { "roofcast.ppl", 1, NULL, shown, main_columns,
                                  base ? ARRAY_LEN(main_columns) : N_MAIN_ALONE, NULL, NULL };
    int rc = report_write(NULL, format, &d, err);
    if (rc == 0 && base) {
        json_t *others = json_copy(shown); /* the base, last, has no distance */
        json_array_remove(others, json_array_size(others) - 1);
        const struct table spread = { "roofcast.ppl", 1, NULL, others, spread_columns, ARRAY_LEN(spread_columns), NULL, NULL };
        printf("\n");
        rc = others ? report_write(NULL, format, &spread, err) : error_oom(err, 0, "the report");
        json_decref(others);
    }
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
    json_t *rows = json_array(), *meta = meta_json(c, base, prov);
    int rc = rows && meta ? 0 : -1;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = json_array_append_new(rows, people ? shown_json(&file[i]) : row_json(&file[i]));
    const struct table d = { "roofcast.ppl", 1, meta, rows, csv_columns, ARRAY_LEN(csv_columns), NULL, NULL };
    if (rc != 0)
        error_oom(err, 0, "the report");
    else
        rc = people ? print_tables(format, rows, file, c, base, err) : report_write(NULL, format, &d, err);
    json_decref(rows);
    json_decref(meta);
    return rc;
}
