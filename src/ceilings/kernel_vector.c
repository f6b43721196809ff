/* Attention over a cache in memory, row-wise and elementwise ops, and the team itself. */
#include "ceilings/kernel_bench.h"
#include <math.h>
#include <string.h>

/* ---- attention ------------------------------------------------------------------------------------------- */

/* Query and result rows of call i, rotating over n pieces from `first`; n 0: fixed. */
static void select_query(const struct kernel_bench *b, struct attention_args *a, size_t first, uint64_t i, size_t n)
{
    if (n == 0)
        return;
    const size_t at = (first + i % n) * a->n_tok * a->n_head * a->head_dim;
    a->q = b->x + at;
    a->out = b->z + at;
}

/* One KV head after another: keys, then values, in cache layout. */
static void attend(struct kernel_bench *b, const struct kernel_benchmark *j, int tid, uint64_t n)
{
    struct bench_thread *l = &b->thread[tid];
    const size_t side = j->n_key * j->row_bytes;
    const uint32_t dim = (uint32_t)j->head_dim;
    struct kv_rows rows = { .type = j->type, .row_bytes = j->row_bytes, .head_bytes = j->row_bytes, .n_row = j->n_key };
    struct attention_args a = { .q = b->x,
                                .q_stride = (size_t)j->n_head * dim,
                                .q_head_stride = dim,
                                .k = rows,
                                .v = rows,
                                .out = l->out,
                                .out_stride = (size_t)j->n_head * dim,
                                .n_tok = j->n_query,
                                .n_past = j->n_key - j->n_query,
                                .n_head = j->n_head,
                                .n_head_kv = 1,
                                .head_dim = dim,
                                .head_dim_v = dim,
                                .scale = 1 / sqrtf((float)dim),
                                .rounded = j->rounded,
                                .scratch = l->scratch };
    const bool memory = j->walk_bytes > 0;
    const size_t room = j->apart ? 2 * side : side, first = memory ? bench_first(b, tid, 2 * room) : 0;
    const size_t all = (size_t)BENCH_BUFFERS * BENCH_TOKENS * BENCH_COLS, piece = (size_t)j->n_query * j->n_head * dim,
                 n_piece = j->n_query > 1 ? all / piece / (size_t)b->n_threads : 0;
    for (uint64_t i = 0, of = j->again ? 2 : 1; i < n; i++) {
        select_query(b, &a, (size_t)tid * n_piece, (l->at + i) * of, n_piece);
        a.k.data = memory ? bench_unit(b, tid, first + i, 2 * room) : bench_cached(b, tid);
        a.v.data = a.k.data + room;
        b->k.attention(&a, 0, j->n_head, 0, j->n_query, true, &l->walked);
        if (!j->again)
            continue;
        select_query(b, &a, (size_t)tid * n_piece, (l->at + i) * of + 1, n_piece);
        const double start = clock_now_s();
        b->k.attention(&a, 0, j->n_head, 0, j->n_query, true, &l->walked);
        l->spent_s += clock_now_s() - start;
    }
}

static void describe_attention(struct kernel_benchmark *j)
{
    snprintf(j->text, sizeof j->text, "%u quer%s x %u head%s, %u keys of %d", j->n_query, j->n_query == 1 ? "y" : "ies", j->n_head,
             j->n_head == 1 ? "" : "s", j->n_key, j->head_dim);
}

/* Bytes of keys and values as stored, or FLOP by (11), 2 (h + v) per pair; each token sees one key more than the previous one. */
bool bench_attention(struct kernel_bench *b, struct kernel_benchmark *j, enum dtype t, int n_query, int n_head, int head_dim)
{
    const double pairs = (double)n_head * n_query * (BENCH_KEYS - (n_query - 1) / 2.0);
    j->kind = "kernel";
    j->op = "attention";
    snprintf(j->dtype, sizeof j->dtype, "%s", dtype_name(t));
    j->type = t;
    j->level = 3;
    j->n_query = (uint32_t)n_query;
    j->n_head = (uint32_t)n_head;
    j->n_key = BENCH_KEYS;
    j->head_dim = head_dim;
    j->n_tok = n_query * n_head;
    j->row_bytes = dtype_row_bytes(t, (size_t)head_dim);
    j->act = ACT_KIND_COUNT;
    j->run = attend;
    j->adjacent = n_query == 1;
    j->shared = !j->adjacent;
    j->footprint_bytes = (double)b->chunk_bytes;
    j->walk_bytes = 2 * BENCH_KEYS * j->row_bytes;
    j->unit = j->n_tok == 1 ? "B/s" : "FLOP/s";
    j->amount = b->n_threads * (j->n_tok == 1 ? 2.0 * BENCH_KEYS * (double)j->row_bytes : 4.0 * head_dim * pairs);
    describe_attention(j);
    return true;
}

bool bench_attention_call(struct kernel_bench *b, struct kernel_benchmark *j, enum dtype t, int n_query, int n_head, int head_dim, int n_key,
                          bool memory)
{
    if ((!memory && b->level_bytes[1] == 0) || n_key < n_query || !bench_attention(b, j, t, n_query, n_head, head_dim))
        return false;
    j->kind = "latency";
    j->n_key = (uint32_t)n_key;
    j->apart = memory;
    j->walk_bytes = memory ? 4 * (size_t)n_key * j->row_bytes : 0;
    if (!memory) {
        j->level = 1;
        j->footprint_bytes = 2.0 * n_key * (double)j->row_bytes;
    }
    j->unit = "s";
    j->amount = 1;
    j->adjacent = false;
    describe_attention(j);
    return true;
}

bool bench_attention_rounded(const struct kernel_bench *b, struct kernel_benchmark *j)
{
    j->op = "attention-bf16";
    j->rounded = true;
    j->tiles = b->k.bf16_min_tok > 0;
    return kernels_attention_rounded(&b->k, j->n_query);
}

void bench_attention_reread(struct kernel_benchmark *j)
{
    j->again = j->inside = true;
    j->level = -1; /* from whichever cache holds them */
}

/* ---- row-wise: rows are divided among threads ---- */

/* One token: replicated or single-threaded in the engine, so measured on one thread. */
struct rows {
    size_t first, end;
};

static struct rows tokens_of(const struct kernel_bench *b, const struct kernel_benchmark *j, int tid)
{
    return (struct rows){ share_split((size_t)j->n_tok, 1, tid, b->n_threads),
                          share_split((size_t)j->n_tok, 1, tid + 1, b->n_threads) };
}

static struct rows columns_of(const struct kernel_bench *b, int tid)
{
    return (struct rows){ share_split(BENCH_COLS, BENCH_PIECE, tid, b->n_threads), share_split(BENCH_COLS, BENCH_PIECE, tid + 1, b->n_threads) };
}

void bench_write_columns(float *rows, size_t stride, const float *row, size_t n_tok, int tid, int n_threads)
{
    const size_t first = share_split(BENCH_COLS, BENCH_PIECE, tid, n_threads), end = share_split(BENCH_COLS, BENCH_PIECE, tid + 1, n_threads);
    for (size_t t = 0; first < end && t < n_tok; t++)
        memcpy(rows + t * stride + first, row + first, (end - first) * sizeof *rows);
}

void bench_write(struct kernel_bench *b, const struct kernel_benchmark *j, int tid, float *rows)
{
    if (j->n_tok <= 1)
        return;
    bench_write_columns(rows, BENCH_COLS, b->row, (size_t)j->n_tok, tid, b->n_threads);
    team_barrier(b->team);
}

typedef void row_fn(struct kernel_bench *b, const struct kernel_benchmark *j, size_t place, struct rows r);

/* Rows written by all threads, then processed by fn; only fn is timed, to the last thread's end. */
static void row_by_row(struct kernel_bench *b, const struct kernel_benchmark *j, int tid, uint64_t n, row_fn *fn)
{
    const struct rows r = tokens_of(b, j, tid);
    for (uint64_t i = 0; i < n; i++) {
        const size_t place = bench_buffer_at(b, j, tid, i);
        bench_write(b, j, tid, b->x + place);
        const double start = j->inside ? clock_now_s() : 0;
        fn(b, j, place, r);
        if (!j->inside)
            continue;
        team_barrier(b->team);
        b->thread[tid].spent_s += clock_now_s() - start;
    }
}

static void norm_rows(struct kernel_bench *b, const struct kernel_benchmark *j, size_t place, struct rows r)
{
    (void)j;
    for (size_t t = r.first; t < r.end; t++)
        b->k.rms_norm(b->z + t * BENCH_COLS, b->x + place + t * BENCH_COLS, b->y, BENCH_COLS, 1e-5F);
}

static void norm(struct kernel_bench *b, const struct kernel_benchmark *j, int tid, uint64_t n)
{
    row_by_row(b, j, tid, n, norm_rows);
}

/* In place, repeatedly: rotation preserves norms. */
static void rotate_rows(struct kernel_bench *b, const struct kernel_benchmark *j, size_t place, struct rows r)
{
    (void)j;
    for (size_t t = r.first; t < r.end; t++)
        b->k.rope_neox(b->x + place + t * BENCH_COLS, BENCH_COLS / BENCH_HEAD_DIM, BENCH_HEAD_DIM, BENCH_HEAD_DIM, b->cs);
}

static void rotate(struct kernel_bench *b, const struct kernel_benchmark *j, int tid, uint64_t n)
{
    row_by_row(b, j, tid, n, rotate_rows);
}

static void quantize_rows(struct kernel_bench *b, const struct kernel_benchmark *j, size_t place, struct rows r)
{
    b->k.act_prepare[j->act](&b->acts, b->x + place, BENCH_COLS, r.first, r.end);
}

static void quantize(struct kernel_bench *b, const struct kernel_benchmark *j, int tid, uint64_t n)
{
    row_by_row(b, j, tid, n, quantize_rows);
}

/* F16 keys or values, by head. */
static void store_rows(struct kernel_bench *b, const struct kernel_benchmark *j, size_t place, struct rows r)
{
    (void)j;
    for (size_t t = r.first; t < r.end; t++)
        for (size_t c = 0; c < BENCH_COLS; c += BENCH_HEAD_DIM)
            b->k.f32_to_f16((uint16_t *)(b->z + place) + t * BENCH_COLS + c, b->x + place + t * BENCH_COLS + c, BENCH_HEAD_DIM);
}

static void store(struct kernel_bench *b, const struct kernel_benchmark *j, int tid, uint64_t n)
{
    row_by_row(b, j, tid, n, store_rows);
}

enum { FAR_HEADS = BENCH_COLS / BENCH_HEAD_DIM, FAR_ROW = 2 * BENCH_HEAD_DIM, FAR_STEP = 4096 };

static void prefetch_row(const unsigned char *row, size_t head_bytes)
{
    for (size_t h = 0; h < FAR_HEADS; h++)
        for (size_t at = 0; at < FAR_ROW; at += 64)
            __builtin_prefetch(row + h * head_bytes + at, 1, 3);
}

/* The same into lines from memory, as in a pass: heads far apart, advancing a page, rows in sequence; the engine prefetches a row's
 * lines first. Stored bytes are valid weights. (29) */
static void store_far(struct kernel_bench *b, const struct kernel_benchmark *j, int tid, uint64_t n)
{
    const struct rows r = tokens_of(b, j, tid);
    const size_t tokens = r.end - r.first;
    const size_t head_bytes = (b->chunk_bytes / FAR_HEADS / FAR_ROW - 5) * FAR_ROW; /* spreads heads over cache sets */
    const size_t step = tokens * FAR_ROW + FAR_STEP, n_step = u64_max(1, (head_bytes - FAR_ROW) / step);
    for (uint64_t i = 0; i < n && tokens > 0; i++) {
        unsigned char *row = b->w + (size_t)tid * b->chunk_bytes + (b->thread[tid].at + i) % n_step * step;
        prefetch_row(row, head_bytes);
        for (size_t t = 0; t < tokens; t++, row += FAR_ROW) {
            if (t + 1 < tokens)
                prefetch_row(row + FAR_ROW, head_bytes);
            for (size_t h = 0; h < FAR_HEADS; h++)
                b->k.f32_to_f16((uint16_t *)(row + h * head_bytes), b->halves, BENCH_HEAD_DIM);
        }
    }
}

/* Copies of score rows: its own output is no score row. */
static void softmax(struct kernel_bench *b, const struct kernel_benchmark *j, int tid, uint64_t n)
{
    const struct rows r = tokens_of(b, j, tid);
    for (uint64_t i = 0; i < n; i++)
        for (size_t t = r.first; t < r.end; t++) {
            memcpy(b->z + t * BENCH_COLS, b->x + t * BENCH_COLS, BENCH_COLS * sizeof *b->z);
            b->k.softmax(b->z + t * BENCH_COLS, BENCH_COLS);
        }
}

/* ---- elementwise, by columns ---- */

static void gate(struct kernel_bench *b, const struct kernel_benchmark *j, int tid, uint64_t n)
{
    const struct rows c = columns_of(b, tid);
    for (uint64_t i = 0; i < n; i++) {
        const size_t place = bench_buffer_at(b, j, tid, i);
        const float *up = b->y + place % (2 * BENCH_TOKENS * BENCH_COLS); /* wider rows: half as many positions */
        for (size_t t = 0; c.first < c.end && t < (size_t)j->n_tok; t++)
            b->k.silu_mul(b->z + place + t * BENCH_COLS + c.first, b->x + place + t * BENCH_COLS + c.first, up + t * BENCH_COLS + c.first,
                          c.end - c.first);
    }
}

static void add(struct kernel_bench *b, const struct kernel_benchmark *j, int tid, uint64_t n)
{
    const struct rows c = columns_of(b, tid);
    for (uint64_t i = 0; i < n; i++) {
        const size_t place = bench_buffer_at(b, j, tid, i);
        for (size_t t = 0; c.first < c.end && t < (size_t)j->n_tok; t++)
            b->k.add(b->z + place + t * BENCH_COLS + c.first, b->x + place + t * BENCH_COLS + c.first, c.end - c.first);
    }
}

/* Bytes per element as methods.md counts activations, read and written: (7), (9), (13), (14), (89), (6). */
static const struct {
    const char *op, *dtype;
    bench_fn *run;
    enum act_kind act;
    double elem_bytes;
    int level;
    bool by_row; /* prompt rows are written untimed first */
} vectors[] = {
    { "rmsnorm", "F32", norm, ACT_KIND_COUNT, 8, -1, true },
    { "rope", "F32", rotate, ACT_KIND_COUNT, 8, -1, true },
    { "softmax", "F32", softmax, ACT_KIND_COUNT, 8, -1, false },
    { "silu", "F32", gate, ACT_KIND_COUNT, 12, -1, false },
    { "add", "F32", add, ACT_KIND_COUNT, 12, -1, false },
    { "quantize", "Q8_0", quantize, ACT_Q8, 4, -1, true },
    { "quantize", "BF16", quantize, ACT_BF16, 4, -1, true },
    { "quantize", "F32", quantize, ACT_F32, 4, -1, true },
    { "kvstore", "F16", store, ACT_KIND_COUNT, 4, -1, true },
    { "kvstore", "F16", store_far, ACT_KIND_COUNT, 4, 3, false },
};

bool bench_vector(struct kernel_bench *b, struct kernel_benchmark *j, size_t i, int n_tok)
{
    if (i >= ARRAY_LEN(vectors))
        return false;
    j->kind = "kernel";
    j->op = vectors[i].op;
    j->unit = "B/s";
    snprintf(j->dtype, sizeof j->dtype, "%s", vectors[i].dtype);
    j->level = vectors[i].level;
    j->n_tok = n_tok;
    j->cols = BENCH_COLS;
    j->act = vectors[i].act;
    j->run = vectors[i].run;
    j->inside = vectors[i].by_row && n_tok > 1;
    j->footprint_bytes = vectors[i].elem_bytes * BENCH_COLS * n_tok / (n_tok > 1 ? b->n_threads : 1);
    j->amount = vectors[i].elem_bytes * BENCH_COLS * n_tok;
    snprintf(j->text, sizeof j->text, "rows of %d", BENCH_COLS);
    return true;
}

/* ---- the team ------------------------------------------------------------------------------------------------- */

static void latency(struct kernel_benchmark *j, const char *op, bench_fn *run, const char *text)
{
    j->kind = "latency";
    j->op = op;
    j->unit = "s";
    j->level = -1;
    j->act = ACT_KIND_COUNT;
    j->run = run;
    j->amount = 1;
    j->footprint_bytes = NAN;
    snprintf(j->text, sizeof j->text, "%s", text);
}

/* run NULL: kernel_benchmarks.c starts the team repeatedly. */
bool bench_dispatch(struct kernel_bench *b, struct kernel_benchmark *j)
{
    latency(j, "dispatch", NULL, "the team starts and ends, awake");
    (void)b;
    return true;
}
