/* roofcast quantize: conversion of a GGUF to other tensor types, with errors. */
#include "cli/cli.h"
#include "cli/fields.h"
#include "model/quantize.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_OVERRIDES = 64 };

struct options {
    const char *in, *out, *type;
    const struct dtype_info *output_type, *embd_type;
    struct quantize_override override[MAX_OVERRIDES];
    char pattern[MAX_OVERRIDES][256];
    size_t n_override;
    int64_t threads;
    enum report_format format;
    bool by_tensor, pure, allow_requantize, force, quiet;
};

enum {
    OPT_TENSORS = 256, OPT_OUTPUT_TYPE, OPT_EMBD_TYPE, OPT_TENSOR_TYPE, OPT_PURE, OPT_REQUANTIZE, OPT_FORCE,
    OPT_QUIET,
};

static const struct argp_option option_table[] = {
    { "type", 'q', "TYPE", 0, "type or mixture: Q8_0, Q6_K, Q5_K_M, Q4_K_M, Q4_0, F16, ...", 1 },
    { "threads", 't', "N", 0, "threads (default: one per usable core); they do not change the file", 1 },
    { "force", OPT_FORCE, NULL, 0, "replace OUT.gguf if it exists", 1 },
    { "allow-requantize", OPT_REQUANTIZE, NULL, 0, "accept a source that is already quantized: errors add up", 1 },
    { "quiet", OPT_QUIET, NULL, 0, "print no progress and no table", 1 },
    { NULL, 0, NULL, 0, "Types that override the mixture:", 2 },
    { "pure", OPT_PURE, NULL, 0, "use the mixture's base type for every matrix", 2 },
    { "output-tensor-type", OPT_OUTPUT_TYPE, "TYPE", 0, "type of the LM head", 2 },
    { "token-embedding-type", OPT_EMBD_TYPE, "TYPE", 0, "type of the embedding table", 2 },
    { "tensor-type", OPT_TENSOR_TYPE, "REGEX=TYPE", CLI_AGAIN, "type of the matrices whose name matches REGEX (repeatable)", 2 },
    { NULL, 0, NULL, 0, "Table of errors:", 3 },
    { "output", 'o', "FORMAT", 0, "table (default), csv, json, jsonl, md or sql", 3 },
    { "tensors", OPT_TENSORS, NULL, 0, "a row per tensor instead of per role", 3 },
    { 0 },
};

static int get_type(const struct dtype_info **to, const char *name, struct error *err)
{
    *to = dtype_get_name(name, err);
    return *to ? 0 : -1;
}

/* "attn_v=Q8_0": split at the last "=", which a regular expression may contain and a type may not. */
static int add_override(struct options *o, const char *arg, struct error *err)
{
    const char *eq = strrchr(arg, '=');
    const size_t n = eq ? (size_t)(eq - arg) : 0;
    if (n == 0 || n >= sizeof o->pattern[0])
        return error_set(err, ERROR_USAGE, "--tensor-type: expected REGEX=TYPE, found \"%s\"", arg);
    if (o->n_override == MAX_OVERRIDES)
        return error_set(err, ERROR_USAGE, "--tensor-type: at most %d can be given", MAX_OVERRIDES);
    struct quantize_override *x = &o->override[o->n_override];
    memcpy(o->pattern[o->n_override], arg, n);
    x->pattern = o->pattern[o->n_override++];
    return get_type(&x->type, eq + 1, err);
}

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    switch (key) {
    case 'q':
        return cli_text(&o->type, arg);
    case 't':
        return parse_int(arg, 1, 1 << 20, "-t", &o->threads, err);
    case 'o':
        return report_format_find(arg, &o->format, err);
    case OPT_TENSORS:
        return cli_flag(&o->by_tensor);
    case OPT_OUTPUT_TYPE:
        return get_type(&o->output_type, arg, err);
    case OPT_EMBD_TYPE:
        return get_type(&o->embd_type, arg, err);
    case OPT_TENSOR_TYPE:
        return add_override(o, arg, err);
    case OPT_PURE:
        return cli_flag(&o->pure);
    case OPT_REQUANTIZE:
        return cli_flag(&o->allow_requantize);
    case OPT_FORCE:
        return cli_flag(&o->force);
    case OPT_QUIET:
        return cli_flag(&o->quiet);
    case ARGP_KEY_ARG:
        if (o->in && o->out)
            return error_set(err, ERROR_USAGE, "IN.gguf and OUT.gguf are expected, found \"%s\" too", arg);
        return cli_text(o->in ? &o->out : &o->in, arg);
    default:
        return CLI_UNKNOWN;
    }
}

/* ---- the table ----------------------------------------------------------------------------- */

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
static void note(const struct options *o, const char *text)
{
    if (o->format == REPORT_TABLE)
        printf("%s\n", text);
    else
        notify_warn("%s", text);
}

/* Tensors with a fallback type: a line per role and type. */
static void note_fallbacks(const struct options *o, const struct quantized *q)
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
static void note_no_experts(const struct options *o, const struct quantized *q)
{
    for (size_t i = 0; i < q->n_tensors; i++)
        if (q->tensor[i].to == DTYPE_MXFP4)
            return;
    if (strncasecmp(o->type, "MXFP4", 5) == 0)
        note(o, "no matrix is MXFP4: the mixture uses it for experts, which this model does not have (--pure: for all matrices)");
}

/* Weights outside the range of FP16 scales; also with --quiet. */
static void warn_lost(const struct quantized *q)
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

static int print_table(const struct options *o, const struct quantized *q, struct error *err)
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

/* ---- the work ---------------------------------------------------------------------------------- */

struct progress {
    double start_s, last_s;
    const char *type;
    bool terminal, shown;
};

/* No progress in the first second. Without a terminal a single line. */
static void show_progress(void *ctx, const struct quantize_progress *q)
{
    struct progress *p = ctx;
    const double now = clock_now_s(), seconds = now - p->start_s;
    char what[160], rate[32];
    if (seconds < 1 || now - p->last_s < 0.2)
        return;
    p->last_s = now;
    p->shown = true;
    snprintf(what, sizeof what, "quantizing %zu tensors to %s", q->n, p->type);
    if (p->terminal)
        snprintf(what, sizeof what, "%zu/%zu  %s  %s", q->i, q->n,
                 units_si(rate, sizeof rate, (double)q->done_bytes / seconds, "B/s"), q->name);
    notify_progress(NULL, what, (double)q->done_bytes / (double)q->total_bytes);
}

static int check_out(const struct options *o, const struct gguf *g, struct error *err)
{
    struct stat st;
    for (size_t i = 0; i < gguf_n_files(g); i++)
        if (file_same(gguf_file_path(g, i), o->out))
            return error_set(err, ERROR_USAGE, "%s is the source itself: name another file",
                             o->out);
    if (!o->force && stat(o->out, &st) == 0 && S_ISREG(st.st_mode))
        return error_set(err, ERROR_USAGE, "%s exists: name another file, or use --force to replace it", o->out);
    return 0;
}

static int quantize(const struct options *o, const struct gguf *g, struct error *err)
{
    struct progress p = { .start_s = clock_now_s(), .type = o->type, .terminal = isatty(STDERR_FILENO) };
    struct quantized q;
    struct team *team = setup_team(o->threads, err);
    if (!team)
        return -1;
    const struct quantize_options qo = {
        .type = o->type,
        .override = o->override,
        .n_override = o->n_override,
        .output_type = o->output_type,
        .embd_type = o->embd_type,
        .pure = o->pure,
        .allow_requantize = o->allow_requantize,
        .team = team,
        .progress = show_progress,
        .ctx = &p,
    };
    int rc = model_quantize(g, o->out, &qo, &q, err);
    team_free(team);
    if (p.shown)
        notify_progress_done();
    if (rc == 0)
        warn_lost(&q);
    if (rc == 0 && !o->quiet && strcmp(o->out, "-") != 0)
        rc = print_table(o, &q, err);
    quantized_free(&q);
    return rc;
}

int cmd_quantize(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Convert IN.gguf to other tensor types and print the error.\n\nAny architecture is accepted. A split model "
        "(NAME-00001-of-00003.gguf) is named by any of its files and becomes one "
        "file. The layout is that of llama.cpp, which loads the files.\v"
        "Examples:\n"
        "  roofcast quantize model-F16.gguf -q Q4_K_M model-Q4_K_M.gguf\n"
        "  roofcast quantize model-F16.gguf -q Q8_0 model-Q8_0.gguf --tensors\n"
        "  roofcast quantize f16.gguf -q Q4_K_M out.gguf --tensor-type ffn_down=Q8_0\n"
        "  roofcast quantize q8_0.gguf -q Q4_0 out.gguf --allow-requantize -o json\n\n"
        "A mixture uses a larger type for the more sensitive tensors, by llama.cpp's rules: Q4_K_M is Q4_K with half of "
        "attn_v and ffn_down and the LM head in Q6_K. Norms, biases, routers and other vectors are copied. "
        "Rows that are no multiple of 256 fall back to a type with blocks of 32.\n\n"
        "The table compares the written weights w' with the source's w: relative RMSE = ||w' - w|| / ||w||, the "
        "largest |w' - w|, and the signal-to-noise ratio -20 log10 RMSE (6 dB per bit). The total covers the matrices.\n\n"
        "A quantized source is refused by default, because the errors add up. "
        "Memory use does not depend on the model's size. OUT.gguf appears complete or not at all; -: standard output.";
    static const struct cli_syntax syntax = { option_table, parse, "IN.gguf -q TYPE OUT.gguf", doc, NULL };
    struct options o = { .format = REPORT_TABLE };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    if (!o.in || !o.out)
        return error_set(err, ERROR_USAGE, "expected IN.gguf and OUT.gguf");
    if (!o.type)
        return error_set(err, ERROR_USAGE, "-q TYPE is missing: Q8_0, Q6_K, Q5_K_M, Q4_K_M, Q4_0, F16, ...");
    cli_set_quiet(o.quiet);
    struct gguf *g = gguf_open(o.in, err);
    if (!g)
        return -1;
    int rc = check_out(&o, g, err) != 0 ? -1 : quantize(&o, g, err);
    gguf_close(g);
    return rc;
}
