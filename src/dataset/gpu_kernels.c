/* gpu_kernels/: seconds of single kernels of server engines, collected by ai-dynamo/aiconfigurator; one table per op. */
#include "dataset/internal.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { MS = 1000 };
enum { SYSTEM, ENGINE, VERSION, OP, KERNEL, LATENCY, N_COLUMN };
static const char *const columns[N_COLUMN] = { "system", "engine", "engine_version", "op_name", "kernel_source", "latency" };

/* A number of a row, and its field of struct measurement. */
struct number {
    const char *column;
    size_t at;     /* offset of a double */
    double lo, hi;
    bool must;
};

enum { MAX_NUMBERS = 10 };

/* The columns of one table. */
struct table {
    const char *type;  /* column of the operands' type, by which tables are told apart */
    const char *cache; /* of the KV cache's type; NULL: none */
    struct number number[MAX_NUMBERS];
    int (*check)(struct measurement *m, const struct csv *c, size_t i, struct error *err); /* NULL: none */
};

#define AT(field) offsetof(struct measurement, field)
enum { LENGTH = 1 << 26, HEADS_MOST = 1 << 16, SEQUENCES = 1 << 20, DEVICES = 1 << 12, QUERIES = 1 << 26 };
static const double SIZE = 1e9, BYTES = 1e15;

/* Queries of a sequence: the tiles of a prompt are summed one by one (110). */
static int check_queries(struct measurement *m, const struct csv *c, size_t i, struct error *err)
{
    if (m->prompt * m->n_head <= QUERIES)
        return 0;
    return csv_error(c, i, csv_find(c, "isl"), err, "expected at most %d / num_heads (%g), found %g", QUERIES, m->n_head, m->prompt);
}

static int check_attention(struct measurement *m, const struct csv *c, size_t i, struct error *err)
{
    double beams;
    const int column = csv_find(c, "beam_width");
    m->window = m->window > 0 ? m->window : 0;
    if (m->n_kv > m->n_head || fmod(m->n_head, m->n_kv) != 0)
        return csv_error(c, i, csv_find(c, "num_key_value_heads"), err, "expected a divisor of num_heads (%g), found %g", m->n_head, m->n_kv);
    if (csv_count(c, i, column, 1, HEADS_MOST, false, &beams, err) != 0)
        return -1;
    return beams > 1 ? csv_error(c, i, column, err, "expected 1 (beam search is not modelled), found %g", beams) : check_queries(m, c, i, err);
}

/* "power_law_1.2": experts of a layer get numbers of tokens by that exponent; "balanced", "uniform". */
static int check_experts(struct measurement *m, const struct csv *c, size_t i, struct error *err)
{
    static const char power[] = "power_law_";
    const int column = csv_find(c, "distribution");
    const char *s = csv_at(c, i, column)->s;
    m->skew = strncmp(s, power, sizeof power - 1) == 0 ? csv_to_number(s + sizeof power - 1) : 0;
    if (!(m->skew >= 0 && m->skew < 10) || (m->skew == 0 && strcmp(s, "balanced") != 0 && strcmp(s, "uniform") != 0))
        return csv_error(c, i, column, err, "expected balanced, uniform or power_law_ and an exponent, found \"%.64s\"", s);
    if (m->n_expert_used > m->n_expert)
        return csv_error(c, i, csv_find(c, "topk"), err, "expected at most num_experts (%g), found %g", m->n_expert, m->n_expert_used);
    return 0;
}

/* message_size counts elements: those of one byte take as long as half as many of two. */
static int check_collective(struct measurement *m, const struct csv *c, size_t i, struct error *err)
{
    static const struct {
        const char *name;
        double bytes;
    } types[] = { { "half", 2 }, { "float16", 2 }, { "bfloat16", 2 }, { "int8", 1 }, { "fp8", 1 }, { "float", 4 }, { "float32", 4 } };
    for (size_t k = 0; k < ARRAY_LEN(types); k++)
        if (strcmp(m->quant, types[k].name) == 0) {
            m->bytes *= types[k].bytes;
            return 0;
        }
    const int column = csv_find(c, "nccl_dtype") >= 0 ? csv_find(c, "nccl_dtype") : csv_find(c, "allreduce_dtype");
    return csv_error(c, i, column, err, "expected half, float16, bfloat16, int8, fp8, float or float32, found \"%.64s\"", m->quant);
}

static const struct table tables[] = {
    { "gemm_dtype", NULL, { { "m", AT(m), 1, SIZE, true }, { "n", AT(n), 1, SIZE, true }, { "k", AT(k), 1, SIZE, true } }, NULL },
    { "moe_dtype", NULL,
      { { "num_tokens", AT(m), 1, SIZE, true }, { "hidden_size", AT(k), 1, SIZE, true }, { "inter_size", AT(n), 1, SIZE, true },
        { "topk", AT(n_expert_used), 1, HEADS_MOST, true }, { "num_experts", AT(n_expert), 1, HEADS_MOST, true },
        { "moe_tp_size", AT(n_tensor), 1, DEVICES, true }, { "moe_ep_size", AT(n_ep), 1, DEVICES, true } }, check_experts },
    { "attn_dtype", "kv_cache_dtype",
      { { "batch_size", AT(batch), 1, SEQUENCES, true }, { "isl", AT(prompt), 1, LENGTH, true }, { "num_heads", AT(n_head), 1, HEADS_MOST, true },
        { "num_key_value_heads", AT(n_kv), 1, HEADS_MOST, true }, { "head_dim", AT(head_dim), 1, HEADS_MOST, true },
        { "step", AT(context), 0, LENGTH, true }, { "window_size", AT(window), -1, LENGTH, false } }, check_attention },
    { "mla_dtype", "kv_cache_dtype",
      { { "num_heads", AT(n_head), 1, HEADS_MOST, true }, { "batch_size", AT(batch), 1, SEQUENCES, true }, { "isl", AT(prompt), 1, LENGTH, true },
        { "tp_size", AT(n_tensor), 1, DEVICES, true }, { "step", AT(context), 0, LENGTH, true } }, check_queries },
    { "nccl_dtype", NULL, { { "num_gpus", AT(n_ranks), 1, DEVICES, true }, { "message_size", AT(bytes), 1, BYTES, true } }, check_collective },
    { "allreduce_dtype", NULL, { { "num_gpus", AT(n_ranks), 1, DEVICES, true }, { "message_size", AT(bytes), 1, BYTES, true } }, check_collective },
};

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

static const struct table *table_of(const struct csv *c)
{
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        if (csv_find(c, tables[i].type) >= 0)
            return &tables[i];
    return NULL;
}

/* The numbers of a row, if its table is known. */
static int read_numbers(struct measurement *m, const struct csv *c, size_t i, const struct table *t, const int *col, struct error *err)
{
    m->quant = csv_at(c, i, csv_find(c, t->type))->s;
    if (t->cache)
        m->type_k = m->type_v = type_of(csv_at(c, i, csv_find(c, t->cache))->s);
    for (int k = 0; k < MAX_NUMBERS && t->number[k].column; k++) {
        const struct number *n = &t->number[k];
        if (csv_count(c, i, col[k], n->lo, n->hi, n->must, (double *)(void *)((char *)m + n->at), err) != 0)
            return -1;
    }
    return t->check ? t->check(m, c, i, err) : 0;
}

/* The columns of a table's numbers; false: one that it must have is missing. */
static bool find_numbers(const struct csv *c, const struct table *t, int *col)
{
    bool all = true;
    for (int k = 0; k < MAX_NUMBERS && t->number[k].column; k++) {
        col[k] = csv_find(c, t->number[k].column);
        all &= col[k] >= 0 || !t->number[k].must;
    }
    return all;
}

int gpu_kernels_read(struct measurements *l, struct error *err)
{
    const struct csv *c = &l->csv;
    const struct table *t = table_of(c);
    int col[N_COLUMN], of[MAX_NUMBERS];
    for (int i = 0; i < N_COLUMN; i++)
        col[i] = csv_find(c, columns[i]);
    if (t && !find_numbers(c, t, of))
        t = NULL;
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
        if (csv_number(c, i, col[LATENCY], 1e-9, 1e9, true, &ms, err) != 0 || (t && read_numbers(&m, c, i, t, of, err) != 0))
            return -1;
        m.value = ms / MS;
        if (strcmp(m.op, "generation_attention") == 0)
            m.phase = MEASURE_DECODE;
        if (measure_add(l, &m, err) != 0)
            return -1;
    }
    return 0;
}
