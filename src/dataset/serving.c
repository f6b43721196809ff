/* serving_silicon.csv: closed-loop serving; two rows per line, TTFT and TPOT. */
#include "dataset/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MS = 1000 };
/* Stated lengths are the longest. Source: the README of InferenceMAX (SemiAnalysisAI/InferenceX), the source of most rows: RANDOM_RANGE_RATIO
 * (confidence: medium) */
static const double shortest = 0.8;

enum { C_ID, C_SOURCE, C_BACKEND, C_VERSION, C_MODEL, C_SYSTEM, C_PRECISION, C_MODE, C_ISL, C_OSL, C_GEMM, C_MOE, C_BATCH, C_TP, C_PP, C_DP, C_EP, C_TTFT, C_TPOT, N_COLUMN };
static const char *const columns[N_COLUMN] = {
    "id", "silicon_data_source", "backend", "backend_version", "model_path", "system", "precision", "mode", "isl", "osl",
    "gemm_quant_mode", "moe_quant_mode", "batch_size", "tp_size", "pp_size", "attention_dp_size", "moe_ep_size",
    "silicon_ttft_ms", "silicon_tpot_ms",
};
static const int needed[] = { C_MODEL, C_SYSTEM, C_ISL, C_OSL, C_TTFT, C_TPOT };

/* Columns of a kind of worker: prefix "prefill_", "decode_", or none. */
struct layout_columns {
    int batch, workers, tp, pp, dp, ep, moe_tp;
};

static struct layout_columns find_layout(const struct csv *c, const char *prefix)
{
    const char *const names[] = { "batch_size", "num_workers", "tp_size", "pp_size", "attention_dp_size", "moe_ep_size", "moe_tp_size" };
    int col[ARRAY_LEN(names)];
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", prefix, names[i]);
        col[i] = csv_find(c, name);
    }
    return (struct layout_columns){ col[0], col[1], col[2], col[3], col[4], col[5], col[6] };
}

static int read_size(const struct csv *c, size_t i, int column, int *out, struct error *err)
{
    double v;
    if (csv_count(c, i, column, 0, 65536, false, &v, err) != 0)
        return -1;
    *out = isnan(v) ? 0 : (int)v;
    return 0;
}

static int read_layout(struct measure_layout *l, int *moe_tp, const struct csv *c, size_t i, const struct layout_columns *col,
                       struct error *err)
{
    if (read_size(c, i, col->moe_tp, moe_tp, err) != 0 ||
        csv_count(c, i, col->batch, 1, 65536, false, &l->batch, err) != 0 ||
        read_size(c, i, col->workers, &l->workers, err) != 0 || read_size(c, i, col->tp, &l->tp, err) != 0 ||
        read_size(c, i, col->pp, &l->pp, err) != 0 || read_size(c, i, col->dp, &l->dp, err) != 0)
        return -1;
    return read_size(c, i, col->ep, &l->ep, err);
}

static int at_least_one(int n)
{
    return n > 0 ? n : 1;
}

/* Devices of a replica: dp x tp attention ranks, times stages. */
static int devices_of(const struct measure_layout *l)
{
    return at_least_one(l->tp) * at_least_one(l->pp) * at_least_one(l->dp) * at_least_one(l->workers);
}

/*
 * Some rows state products of attention and expert parallelism: tp 4, ep 4 (by their ids) as tp 16 or dp 16 with moe_tp 4, moe_ep 4; dp 4,
 * ep 4 as tp 4, dp 4, ep 16. batch_size is concurrency over dp all the same, and no node has that many devices. Restores the real layout.
 */
static void undo_product(struct measure_layout *l, int moe_tp)
{
    const int tp = at_least_one(l->tp), dp = at_least_one(l->dp);
    const int n = (int)lround(sqrt((double)tp * dp));
    const bool product = n * n == tp * dp && ((tp * dp >= 16 && moe_tp == n && l->ep == n) || (tp == dp && l->ep == tp * dp));
    if (!product || n < 2)
        return;
    l->tp = dp > 1 ? 1 : n;
    l->dp = dp > 1 ? n : 1;
    l->ep = n;
}

/* "...; silicon_concurrency=256; ..." */
static int read_concurrency(struct measurement *m, const struct csv *c, size_t i, int column, struct error *err)
{
    static const char key[] = "silicon_concurrency=";
    static const double most = 1e7;
    char text[32];
    const char *p = strstr(m->source, key);
    if (!p)
        return 0;
    p += sizeof key - 1;
    const size_t n = strcspn(p, "; ");
    snprintf(text, sizeof text, "%.*s", (int)(n < sizeof text ? n : sizeof text - 1), p);
    m->concurrency = csv_to_number(text);
    if (n < sizeof text && m->concurrency >= 1 && m->concurrency < most && m->concurrency == floor(m->concurrency))
        return 0;
    return csv_error(c, i, column, err, "expected %sN with a whole number from 1 to below %g, found \"%s%.64s\"", key, most, key, text);
}

/* Type in a column; "": not stated. */
static const char *type_at(const struct csv *c, size_t i, int column)
{
    static const char *const nothing[] = { "none", "auto", "default", "null" };
    const char *s = csv_at(c, i, column)->s;
    for (size_t k = 0; k < ARRAY_LEN(nothing); k++)
        if (strcasecmp(s, nothing[k]) == 0)
            return "";
    return s;
}

/* Type of the products; that of experts is quant_experts. */
static const char *quant_of(const struct csv *c, size_t i, const int *col)
{
    const int order[] = { C_GEMM, C_PRECISION, C_MOE };
    for (size_t k = 0; k < ARRAY_LEN(order); k++)
        if (*type_at(c, i, col[order[k]]))
            return type_at(c, i, col[order[k]]);
    return "";
}

static int read_row(struct measurements *l, size_t i, const int *col, const struct layout_columns lay[3], struct error *err)
{
    const struct csv *c = &l->csv;
    struct measurement m = measure_empty(MEASURE_SERVING);
    double ttft, tpot;
    m.id = csv_at(c, i, col[C_ID])->s;
    m.source = csv_at(c, i, col[C_SOURCE])->s;
    m.hardware = csv_at(c, i, col[C_SYSTEM])->s;
    m.engine = csv_at(c, i, col[C_BACKEND])->s;
    m.version = csv_at(c, i, col[C_VERSION])->s;
    m.model = csv_at(c, i, col[C_MODEL])->s;
    m.mode = csv_at(c, i, col[C_MODE])->s;
    m.quant = quant_of(c, i, col);
    m.quant_experts = type_at(c, i, col[C_MOE]);
    m.phase = MEASURE_REQUEST;
    m.shortest = shortest;
    m.line = csv_at(c, i, 0)->line;
    if (read_concurrency(&m, c, i, col[C_SOURCE], err) != 0)
        return -1;
    if (*m.mode && strcmp(m.mode, "agg") != 0 && strcmp(m.mode, "disagg") != 0)
        return csv_error(c, i, col[C_MODE], err, "expected agg or disagg, found \"%.64s\"", m.mode);
    if (csv_count(c, i, col[C_ISL], 1, 1e8, true, &m.prompt, err) != 0 ||
        csv_count(c, i, col[C_OSL], 1, 1e8, true, &m.out, err) != 0 ||
        csv_number(c, i, col[C_TTFT], 1e-6, 1e12, true, &ttft, err) != 0 ||
        csv_number(c, i, col[C_TPOT], 1e-6, 1e12, true, &tpot, err) != 0)
        return -1;
    const bool apart = strcmp(m.mode, "disagg") == 0;
    struct measure_layout one, first, later; /* columns of other modes must be valid too */
    int moe_tp, unused;
    if (read_layout(&one, &moe_tp, c, i, &lay[0], err) != 0 || read_layout(&first, &unused, c, i, &lay[1], err) != 0 ||
        read_layout(&later, &unused, c, i, &lay[2], err) != 0)
        return -1;
    undo_product(&one, moe_tp);
    m.prefill = apart ? first : one;
    m.decode = apart ? later : one;
    m.n_devices = devices_of(&m.decode) + (apart ? devices_of(&m.prefill) : 0);
    m.metric = METRIC_TTFT;
    m.value = ttft / MS;
    if (measure_add(l, &m, err) != 0)
        return -1;
    m.metric = METRIC_TPOT;
    m.value = tpot / MS;
    return measure_add(l, &m, err);
}

int serving_read(struct measurements *l, struct error *err)
{
    int col[N_COLUMN];
    const struct layout_columns lay[3] = { find_layout(&l->csv, ""), find_layout(&l->csv, "prefill_"),
                                           find_layout(&l->csv, "decode_") };
    if (csv_find_all(&l->csv, columns, N_COLUMN, needed, ARRAY_LEN(needed), col, err) != 0)
        return -1;
    for (size_t i = 0; i < l->csv.n_row; i++)
        if (read_row(l, i, col, lay, err) != 0)
            return -1;
    return 0;
}
