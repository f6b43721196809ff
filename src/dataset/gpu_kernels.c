/* gpu_kernels/: seconds of single kernels of server engines, collected by ai-dynamo/aiconfigurator; one table per op. */
#include "dataset/internal.h"
#include <math.h>
#include <string.h>

enum { MS = 1000 };
enum { SYSTEM, ENGINE, VERSION, OP, KERNEL, LATENCY, N_COLUMN };
static const char *const columns[N_COLUMN] = { "system", "engine", "engine_version", "op_name", "kernel_source", "latency" };

/* Columns of attention rows. */
enum { BATCH, TOKENS, HEADS, KEY_HEADS, HEAD_DIM, BEAMS, TYPE, CACHE, STEP, WINDOW, N_ATTENTION };
static const char *const attention[N_ATTENTION] = { "batch_size", "isl",        "num_heads",      "num_key_value_heads", "head_dim",
                                                    "beam_width", "attn_dtype", "kv_cache_dtype", "step",                "window_size" };

/* PyTorch type names; others are unchanged. */
static const char *type_of(const char *name)
{
    static const struct {
        const char *name, *type;
    } types[] = { { "bfloat16", "BF16" }, { "float16", "F16" }, { "half", "F16" }, { "fp8", "FP8" }, { "float8_e4m3fn", "FP8" } };
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (strcmp(name, types[i].name) == 0)
            return types[i].type;
    return name;
}

static int read_attention(struct measurement *m, const struct csv *c, size_t i, const int *col, struct error *err)
{
    double tokens, beams, step;
    if (csv_count(c, i, col[BATCH], 1, 1 << 20, true, &m->batch, err) != 0 || csv_count(c, i, col[TOKENS], 1, 1 << 26, true, &tokens, err) != 0 ||
        csv_count(c, i, col[HEADS], 1, 1 << 16, true, &m->n_head, err) != 0 ||
        csv_count(c, i, col[KEY_HEADS], 1, m->n_head, true, &m->n_kv, err) != 0 ||
        csv_count(c, i, col[HEAD_DIM], 1, 1 << 16, true, &m->head_dim, err) != 0 ||
        csv_count(c, i, col[STEP], 0, 1 << 26, true, &step, err) != 0 || csv_count(c, i, col[WINDOW], -1, 1 << 26, false, &m->window, err) != 0 ||
        csv_count(c, i, col[BEAMS], 1, 1 << 16, false, &beams, err) != 0)
        return -1;
    m->window = m->window > 0 ? m->window : 0;
    m->context = step;
    m->prompt = tokens;
    m->type_k = m->type_v = type_of(csv_at(c, i, col[CACHE])->s);
    m->quant = csv_at(c, i, col[TYPE])->s;
    if (fmod(m->n_head, m->n_kv) != 0)
        return csv_error(c, i, col[KEY_HEADS], err, "expected a divisor of num_heads (%g), found %g", m->n_head, m->n_kv);
    if (beams > 1)
        return csv_error(c, i, col[BEAMS], err, "expected 1 (beam search is not modelled), found %g", beams);
    return 0;
}

int gpu_kernels_read(struct measurements *l, struct error *err)
{
    const struct csv *c = &l->csv;
    int col[N_COLUMN], of[N_ATTENTION];
    bool attends = true;
    for (int i = 0; i < N_COLUMN; i++)
        col[i] = csv_find(c, columns[i]);
    for (int i = 0; i < N_ATTENTION; i++) {
        of[i] = csv_find(c, attention[i]);
        attends &= of[i] >= 0 || i == BEAMS || i == WINDOW || i == TYPE;
    }
    for (size_t i = 0; i < c->n_row; i++) {
        struct measurement m = measure_empty(MEASURE_KERNEL);
        double ms;
        m.metric = METRIC_SECONDS;
        m.source = "ai-dynamo/aiconfigurator systems/data";
        m.hardware = csv_at(c, i, col[SYSTEM])->s;
        m.engine = csv_at(c, i, col[ENGINE])->s;
        m.version = csv_at(c, i, col[VERSION])->s;
        m.op = csv_at(c, i, col[OP])->s;
        m.kernel = csv_at(c, i, col[KERNEL])->s;
        m.line = csv_at(c, i, 0)->line;
        if (!*m.hardware)
            return csv_error(c, i, col[SYSTEM], err, "expected the name of a machine, found nothing");
        if (!*m.op)
            return csv_error(c, i, col[OP], err, "expected the name of an op, found nothing");
        if (csv_number(c, i, col[LATENCY], 1e-9, 1e9, true, &ms, err) != 0 || (attends && read_attention(&m, c, i, of, err) != 0))
            return -1;
        m.value = ms / MS;
        if (strcmp(m.op, "generation_attention") == 0)
            m.phase = MEASURE_DECODE;
        if (measure_add(l, &m, err) != 0)
            return -1;
    }
    return 0;
}
