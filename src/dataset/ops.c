/* gpu_ops.csv and all_reduce.csv: seconds of one op, medians of repeats. */
#include "dataset/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MS = 1000 };

static int missing(const struct csv *c, const char *column, struct error *err)
{
    return error_set(err, ERROR_INPUT, "%s: line 1, column 1: no column \"%s\"", c->name, column);
}

static int find_columns(const struct csv *c, const char *const *names, int *col, size_t n, struct error *err)
{
    for (size_t i = 0; i < n; i++)
        if ((col[i] = csv_find(c, names[i])) < 0)
            return missing(c, names[i], err);
    return 0;
}

/* ---- repeats --------------------------------------------------------------------------------------- */

static int by_number(double a, double b)
{
    /* NaN (not stated) sorts last and equals itself. */
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

static int by_key(const struct measurement *a, const struct measurement *b)
{
    int c = strcmp(a->hardware, b->hardware);
    c = c ? c : strcmp(a->model, b->model);
    c = c ? c : strcmp(a->topology, b->topology);
    c = c ? c : strcmp(a->op, b->op);
    c = c ? c : a->n_devices - b->n_devices;
    c = c ? c : a->prefill.tp - b->prefill.tp;
    c = c ? c : by_number(a->per_node, b->per_node);
    c = c ? c : by_number(a->bytes, b->bytes);
    c = c ? c : by_number(a->m, b->m);
    c = c ? c : by_number(a->k, b->k);
    c = c ? c : by_number(a->n, b->n);
    return c;
}

static int by_key_and_line(const void *x, const void *y)
{
    const struct measurement *a = x, *b = y;
    const int c = by_key(a, b);
    return c ? c : (a->line > b->line) - (a->line < b->line);
}

static int by_line(const void *x, const void *y)
{
    const struct measurement *a = x, *b = y;
    return (a->line > b->line) - (a->line < b->line);
}

/* Merges rows of equal key into the first, with the median. */
static int merge_repeats(struct measurements *l, struct error *err)
{
    size_t to = 0;
    if (l->n == 0)
        return 0; /* header only */
    double *v = malloc(l->n * sizeof *v);
    if (!v)
        return error_oom(err, l->n * sizeof *v, "repeats of measurements");
    qsort(l->row, l->n, sizeof *l->row, by_key_and_line);
    for (size_t i = 0, k; i < l->n; i = k) {
        for (k = i; k < l->n && by_key(&l->row[i], &l->row[k]) == 0; k++)
            v[k - i] = l->row[k].value;
        struct measurement m = l->row[i];
        m.value = stats_median(v, k - i);
        m.n_merged = (int)(k - i);
        l->row[to++] = m;
    }
    l->n = to;
    qsort(l->row, l->n, sizeof *l->row, by_line);
    free(v);
    return 0;
}

/* ---- widths of a model from several rows ---------------------------------------------------------- */

static int by_model(const void *x, const void *y)
{
    const struct measurement *a = *(struct measurement *const *)x, *b = *(struct measurement *const *)y;
    const int c = strcmp(a->hardware, b->hardware), d = c ? c : strcmp(a->model, b->model);
    return d ? d : a->prefill.tp - b->prefill.tp;
}

/* Widths of a model's products. */
struct widths {
    double qkv, attention, up, down; /* NaN: no row */
};

static void see_width(struct widths *w, const struct measurement *m)
{
    if (strcmp(m->op, "attn_pre_proj") == 0)
        w->qkv = m->n;
    else if (strcmp(m->op, "attn_post_proj") == 0)
        w->attention = m->k;
    else if (strcmp(m->op, "mlp_up_proj") == 0)
        w->up = m->n;
    else if (strcmp(m->op, "mlp_down_proj") == 0)
        w->down = m->k;
}

/*
 * Query width = input of the output projection; KV width = half of the QKV product's remaining columns; gated if the up product has twice
 * as many columns as the down product has rows. (doc/notes/gpu-kernels.md)
 */
static void take_widths(struct measurement *m, const struct widths *w)
{
    const double kv = (w->qkv - w->attention) / 2;
    if (w->attention > 0 && kv > 0) {
        m->query_width = w->attention;
        m->kv_width = kv;
    }
    if (w->up > 0 && w->down > 0)
        m->gated = w->up > 1.5 * w->down;
}

static void relate(struct measurement *const *row, size_t n)
{
    struct widths w = { NAN, NAN, NAN, NAN };
    for (size_t i = 0; i < n; i++)
        see_width(&w, row[i]);
    for (size_t i = 0; i < n; i++)
        take_widths(row[i], &w);
}

/*
 * CUDA profilers with microsecond resolution leave medians of whole and half microseconds. Detected per row: excluded rows are no evidence
 * for the clock of others.
 */
static const double tick_s = 1e-6;

static void find_tick(struct measurement *const *row, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double half = 2 * row[i]->value / tick_s;
        if (fabs(half - round(half)) > 1e-6 * fmax(1, half))
            return;
    }
    for (size_t i = 0; i < n; i++)
        row[i]->tick_s = tick_s;
}

static int of_each_model(struct measurements *l, void (*run)(struct measurement *const *row, size_t n), struct error *err)
{
    struct measurement **row = malloc((l->n + 1) * sizeof *row);
    if (!row)
        return error_oom(err, l->n * sizeof *row, "models of ops");
    for (size_t i = 0; i < l->n; i++)
        row[i] = &l->row[i];
    qsort(row, l->n, sizeof *row, by_model);
    for (size_t i = 0, k; i < l->n; i = k) {
        for (k = i; k < l->n && by_model(&row[i], &row[k]) == 0;)
            k++;
        run(row + i, k - i);
    }
    free(row);
    return 0;
}

/* ---- gpu_ops.csv ------------------------------------------------------------------------------------- */

int gpu_ops_read(struct measurements *l, struct error *err)
{
    enum { HARDWARE, MODEL, TP, OP, M, K, N, MEDIAN, N_COLUMN };
    static const char *const names[N_COLUMN] = { "hardware", "model", "tp", "op", "m", "k", "n", "median_ms" };
    const struct csv *c = &l->csv;
    int col[N_COLUMN];
    if (find_columns(c, names, col, N_COLUMN, err) != 0)
        return -1;
    for (size_t i = 0; i < c->n_row; i++) {
        struct measurement m = measure_empty(MEASURE_OP);
        double tp, ms;
        m.metric = METRIC_SECONDS;
        m.hardware = csv_at(c, i, col[HARDWARE])->s;
        m.model = csv_at(c, i, col[MODEL])->s;
        m.op = csv_at(c, i, col[OP])->s;
        m.line = csv_at(c, i, 0)->line;
        if (!*m.op)
            return csv_error(c, i, col[OP], err, "expected the name of an op, found nothing");
        if (csv_count(c, i, col[TP], 1, 1 << 20, true, &tp, err) != 0 ||
            csv_count(c, i, col[M], 1, 1e9, true, &m.m, err) != 0 || csv_count(c, i, col[K], 1, 1e9, true, &m.k, err) != 0 ||
            csv_count(c, i, col[N], 1, 1e9, false, &m.n, err) != 0 ||
            csv_number(c, i, col[MEDIAN], 1e-9, 1e9, true, &ms, err) != 0)
            return -1;
        m.prefill.tp = m.decode.tp = (int)tp; /* the op of one device was timed */
        m.value = ms / MS;
        if (measure_add(l, &m, err) != 0)
            return -1;
    }
    if (of_each_model(l, find_tick, err) != 0 || merge_repeats(l, err) != 0)
        return -1;
    return of_each_model(l, relate, err);
}

/* ---- all_reduce.csv ------------------------------------------------------------------------------------ */

int all_reduce_read(struct measurements *l, struct error *err)
{
    enum { TOPOLOGY, DEVICES, PER_NODE, BYTES, MEDIAN, N_COLUMN };
    static const char *const names[N_COLUMN] = { "topology", "n_devices", "per_node", "bytes", "median_ms" };
    const struct csv *c = &l->csv;
    int col[N_COLUMN];
    if (find_columns(c, names, col, N_COLUMN, err) != 0)
        return -1;
    for (size_t i = 0; i < c->n_row; i++) {
        struct measurement m = measure_empty(MEASURE_ALL_REDUCE);
        double devices, ms;
        m.metric = METRIC_SECONDS;
        m.op = "all_reduce";
        m.topology = m.hardware = csv_at(c, i, col[TOPOLOGY])->s;
        m.line = csv_at(c, i, 0)->line;
        if (csv_count(c, i, col[DEVICES], 2, 1 << 20, true, &devices, err) != 0 ||
            csv_count(c, i, col[PER_NODE], 1, devices, true, &m.per_node, err) != 0 ||
            csv_count(c, i, col[BYTES], 1, 1e15, true, &m.bytes, err) != 0 ||
            csv_number(c, i, col[MEDIAN], 1e-9, 1e9, true, &ms, err) != 0)
            return -1;
        m.n_devices = (int)devices;
        m.value = ms / MS;
        if (measure_add(l, &m, err) != 0)
            return -1;
    }
    return merge_repeats(l, err);
}
