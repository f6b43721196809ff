/* roofcast quantize: what a file's new types cost in accuracy, as a table, and what its reader must know. */
#include "report/quantize.h"
#include "base/notify.h"
#include <math.h>
#include <string.h>
#include <strings.h>

/* A row: a tensor, the tensors of a role, or all. */
struct row {
    char role[64], name[64]; /* name "": several tensors */
    size_t n_tensors;
    size_t n_from[DTYPE_COUNT], n_to[DTYPE_COUNT];
    uint64_t n_elems, in_bytes, out_bytes;
    bool matrix;
    double sum_sq, err_sq, max_err;
    /* derived from these when all tensors are added */
    char from[256], to[256];
    double bits_weight, snr_db;
    struct cell rmse, max_error;
};

static void add_tensor(struct row *r, const struct quantized_tensor *t)
{
    r->n_tensors++;
    r->n_from[t->from]++;
    r->n_to[t->to]++;
    r->n_elems += t->n_elems;
    r->in_bytes += t->in_bytes;
    r->out_bytes += t->out_bytes;
    r->matrix |= t->matrix;
    if (!t->matrix)
        return; /* copied */
    r->sum_sq += t->sum_sq;
    r->err_sq += t->err_sq;
    r->max_err = fmax(r->max_err, t->max_err);
}

/* "Q4_K", "Q4_K 21 + Q6_K 11" */
static const char *types_text(char *buf, size_t size, const size_t *n, size_t n_tensors)
{
    size_t len = 0;
    buf[0] = 0;
    for (size_t t = 0; t < DTYPE_COUNT && len < size; t++) {
        if (n[t] == n_tensors)
            snprintf(buf, size, "%s", dtype_name((enum dtype)t));
        else if (n[t])
            len += (size_t)snprintf(buf + len, size - len, "%s%s %zu", len ? " + " : "", dtype_name((enum dtype)t),
                                    n[t]);
    }
    return buf;
}

#define AT(m) COLUMN_AT(struct row, m)
static const struct column quantize_columns[] = {
    { "role", "role", COL_TEXT, NULL, COL_MAJOR, AT(role), EMPTY_VALUE, NULL, "the tensors' name without block and `.weight`: `attn_q`; the last row: `total`" },
    { "name", "tensor", COL_TEXT, NULL, COL_DATA, AT(name), EMPTY_NULL, NULL, "of the tensor; null: a row of several tensors" },
    { "n_tensors", "tensors", COL_INT, NULL, COL_MAJOR, AT(n_tensors), EMPTY_VALUE, NULL, NULL },
    { "from", "from", COL_TEXT, NULL, COL_MAJOR, AT(from), EMPTY_VALUE, NULL, "type in the source; several types with their counts: `F32 5 + F16 16`" },
    { "type", "type", COL_TEXT, NULL, COL_MAJOR, AT(to), EMPTY_VALUE, NULL, "type written" },
    { "n_weights", "weights", COL_SI_BARE, NULL, COL_MAJOR, AT(n_elems), EMPTY_VALUE, NULL, NULL },
    { "bits_weight", "bits/weight", COL_FLOAT, "bit", COL_MAJOR, AT(bits_weight), EMPTY_NULL, NULL, "`out_bytes` over `n_weights`" },
    { "in_bytes", "in", COL_SI, "B", COL_MAJOR, AT(in_bytes), EMPTY_VALUE, NULL, NULL },
    { "out_bytes", "out", COL_SI, "B", COL_MAJOR, AT(out_bytes), EMPTY_VALUE, NULL, NULL },
    { "rmse", "relative RMSE", COL_FLOAT, "fraction", COL_MAJOR, AT(rmse), EMPTY_VALUE, "number or null", "relative RMSE; 0: copied, or exactly representable" },
    { "max_error", "max error", COL_FLOAT, NULL, COL_MAJOR, AT(max_error), EMPTY_VALUE, "number or null", "largest absolute difference of a weight" },
    { "snr_db", "SNR dB", COL_FLOAT, "dB", COL_MAJOR, AT(snr_db), EMPTY_NULL, NULL, "signal-to-noise ratio; null: no error" },
};
#undef AT
const struct table_fields quantize_fields = { "quantize.row", quantize_columns, ARRAY_LEN(quantize_columns) };

/* Errors span decades: three significant digits in tables. */
static struct cell error_cell(struct table_rows *rows, double v, bool for_people)
{
    char s[32];
    if (!for_people || !isfinite(v))
        return cell_real(v);
    snprintf(s, sizeof s, "%.3g", v);
    return cell_text(table_text(rows, s));
}

static void finish_row(struct table_rows *rows, struct row *r, bool for_people)
{
    types_text(r->from, sizeof r->from, r->n_from, r->n_tensors);
    types_text(r->to, sizeof r->to, r->n_to, r->n_tensors);
    r->bits_weight = r->n_elems ? 8.0 * (double)r->out_bytes / (double)r->n_elems : NAN;
    r->rmse = error_cell(rows, quantize_rmse(r->err_sq, r->sum_sq), for_people);
    r->max_error = error_cell(rows, r->max_err, for_people);
    r->snr_db = quantize_snr_db(r->err_sq, r->sum_sq);
}

/* For terminals and JSON: non-printable characters become "?". */
static void printable(char *to, size_t n, const char *name)
{
    snprintf(to, n, "%s", name);
    for (; *to; to++)
        if (*to < ' ' || *to > '~')
            *to = '?';
}

/* The row of t: its own, or that of its role, added if missing. */
static struct row *row_of(struct table_rows *rows, const struct quantized_tensor *t, bool by_tensor)
{
    char name[64], role[64];
    printable(name, sizeof name, t->name);
    quantize_role(role, sizeof role, name);
    for (size_t i = 0; !by_tensor && i < rows->n; i++)
        if (strcmp(((struct row *)table_row(rows, i))->role, role) == 0)
            return table_row(rows, i);
    struct row *r = table_add(rows);
    memcpy(r->role, role, sizeof role);
    if (by_tensor)
        memcpy(r->name, name, sizeof name);
    return r;
}

static struct table_rows rows_of(const struct quantized *q, bool by_tensor, bool for_people)
{
    struct row total = { .role = "total" };
    struct table_rows rows = { .size = sizeof total };
    if (by_tensor)
        snprintf(total.name, sizeof total.name, "total");
    for (size_t i = 0; i < q->n_tensors; i++) {
        add_tensor(row_of(&rows, &q->tensor[i], by_tensor), &q->tensor[i]);
        add_tensor(&total, &q->tensor[i]);
    }
    memcpy(table_add(&rows), &total, sizeof total);
    for (size_t i = 0; i < rows.n; i++)
        finish_row(&rows, table_row(&rows, i), for_people);
    return rows;
}

/* A line under the table; a warning with other formats. */
static void note(const struct quantize_print *o, const char *text)
{
    if (o->format == REPORT_TABLE)
        printf("%s\n", text);
    else
        notify_warn("%s", text);
}

/* Tensors with a fallback type: a line per role and type. */
static void note_fallbacks(const struct quantize_print *o, const struct quantized *q)
{
    for (size_t i = 0; i < q->n_tensors; i++) {
        const struct quantized_tensor *t = &q->tensor[i];
        char role[64], other[64], text[256];
        bool said = t->wanted == t->to;
        quantize_role(role, sizeof role, t->name);
        for (size_t k = 0; k < i && !said; k++)
            said = q->tensor[k].to == t->to && q->tensor[k].wanted == t->wanted &&
                   strcmp(quantize_role(other, sizeof other, q->tensor[k].name), role) == 0;
        printable(other, sizeof other, role);
        snprintf(text, sizeof text, "%s: %s, its rows of %llu are no multiple of %u (%s)", other, dtype_name(t->to),
                 (unsigned long long)t->cols, dtype_find(t->wanted)->block_elems, dtype_name(t->wanted));
        if (!said)
            note(o, text);
    }
}

/* MXFP4 of a model without experts. */
static void note_no_experts(const struct quantize_print *o, const struct quantized *q)
{
    for (size_t i = 0; i < q->n_tensors; i++)
        if (q->tensor[i].to == DTYPE_MXFP4)
            return;
    if (strncasecmp(o->type, "MXFP4", 5) == 0)
        note(o, "no matrix is MXFP4: the mixture uses it for experts, which this model does not have (--pure: for all matrices)");
}

void quantize_warn(const struct quantized *q)
{
    enum { PERCENT = 50 }; /* Q2_K, the coarsest, loses about 27 */
    for (size_t i = 0; i < q->n_tensors; i++) {
        const struct quantized_tensor *t = &q->tensor[i];
        const double rmse = t->sum_sq > 0 ? sqrt(t->err_sq / t->sum_sq) : 0;
        char name[64];
        printable(name, sizeof name, t->name);
        if (rmse > PERCENT / 100.0)
            notify_warn("%s: relative error %.0f %% in %s: the weights are too large or too small for its scales",
                        name, 100 * rmse, dtype_name(t->to));
    }
}

int quantize_print(const struct quantized *q, const struct quantize_print *o, struct error *err)
{
    struct table_rows rows = rows_of(q, o->by_tensor, o->format == REPORT_TABLE || o->format == REPORT_MD);
    json_t *meta = json_pack("{s:o, s:o, s:s}", "in", json_text(o->in), "out", json_text(o->out), "type", o->type);
    struct column cols[ARRAY_LEN(quantize_columns)];
    const struct table d = { "roofcast.quantize", 1, meta, cols, ARRAY_LEN(cols), &rows, NULL };
    memcpy(cols, quantize_columns, sizeof cols);
    if (o->by_tensor) {
        columns_rank(cols, ARRAY_LEN(cols), "role n_tensors", COL_DATA);
        columns_rank(cols, ARRAY_LEN(cols), "name", COL_MAJOR);
    }
    int rc = meta ? report_write(NULL, o->format, &d, err) : error_oom(err, 0, "the table");
    json_decref(meta);
    table_rows_free(&rows);
    if (rc == 0) {
        note_fallbacks(o, q);
        note_no_experts(o, q);
    }
    return rc;
}
