/* Products as the engine runs them: a token's with weights from each level of memory, several tokens' with weights that come
 * from memory; and rows of an embedding table. */
#include "ceilings/kernel_bench.h"
#include "ceilings/internal.h"
#include <math.h>
#include <string.h>

static struct matmul_args args_of(struct kernel_bench *b, const struct kernel_job *j, int tid, const unsigned char *w)
{
    return (struct matmul_args){ .w = w,
                                 .type = j->type,
                                 .w_row_bytes = j->row_bytes,
                                 .cols = j->cols,
                                 .x = &b->acts,
                                 .y = b->lane[tid].out,
                                 .y_stride = j->rows,
                                 .scratch = b->lane[tid].scratch };
}

static const struct acts one = { .n_tok = 1 };

/* ---- one token ---------------------------------------------------------------------------------------- */

/* Every thread's part of a matrix in memory, in the engine's units; who is done helps the others. */
static void walk_memory(struct kernel_bench *b, const struct kernel_job *j, int tid, uint64_t n)
{
    const size_t all = (size_t)n * (size_t)b->n_threads, unit_bytes = j->rows * j->row_bytes,
                 most = share_most(j->slot, &one, j->rows, j->row_bytes), end = u64_max(b->chunk_bytes / unit_bytes, 1);
    for (int k = 0; k < b->n_threads; k++) {
        const int owner = (tid + k) % b->n_threads;
        struct bench_lane *of = &b->lane[owner];
        struct share_run run;
        while (share_steal(&of->next, all, owner, b->n_threads, most, &run))
            for (size_t i = 0, m; i < run.n; i += m) {
                const size_t at = bench_first(b, owner, unit_bytes) + run.first - (size_t)owner * n + i;
                const struct matmul_args a = args_of(b, j, tid, bench_unit(b, owner, at, unit_bytes));
                m = u64_min(run.n - i, end - at % end); /* the chunk ends, and begins again */
                j->slot->gemv(&a, 0, m * j->rows);
            }
    }
}

/* The same rows over and over: from a cache. */
static void walk_cache(struct kernel_bench *b, const struct kernel_job *j, int tid, uint64_t n)
{
    const struct matmul_args a = args_of(b, j, tid, bench_kept(b, tid));
    for (uint64_t i = 0; i < n; i++)
        j->slot->gemv(&a, 0, j->rows);
}

/* Packed where the engine packs, else as in the file; or that by request. */
static bool choose_slot(struct kernel_bench *b, struct kernel_job *j, enum dtype t, bool file)
{
    const bool packed = b->k.packed[t].gemv != NULL;
    j->type = t;
    j->slot = packed && !file ? &b->k.packed[t] : &b->k.mm[t];
    j->act = j->slot->act;
    snprintf(j->dtype, sizeof j->dtype, "%s", dtype_name(t));
    return dtype_executable(t) && j->slot->gemv && (packed || !file);
}

static void describe(struct kernel_job *j, const struct kernel_bench *b, const char *how)
{
    const bool packed = j->slot == &b->k.packed[j->type];
    snprintf(j->text, sizeof j->text, "%s, %s, %zu columns%s", how, packed ? "packed" : "as in the file", j->cols,
             packed && j->act == ACT_Q8 && !b->k.pow2 ? CEILING_EXACT_SCALES : "");
}

bool bench_matvec(struct kernel_bench *b, struct kernel_job *j, enum dtype t, int level, bool file)
{
    if (!choose_slot(b, j, t, file) || (level < 3 && b->level_bytes[level] == 0))
        return false;
    j->kind = "kernel";
    j->op = file ? "matvec-file" : "matvec";
    j->unit = "B/s";
    j->level = level;
    j->n_tok = 1;
    j->cols = level == 0 ? BENCH_L1_COLS : BENCH_COLS;
    j->row_bytes = dtype_row_bytes(t, j->cols);
    if (level == 3) { /* as of a matrix that is much larger than the units it is shared out in */
        j->rows = share_step(j->slot, &one, b->chunk_bytes * (size_t)b->n_threads / j->row_bytes, j->row_bytes, b->n_threads);
        j->run = walk_memory;
        j->walk_bytes = j->rows * j->row_bytes;
        j->beside = true;
        j->footprint_bytes = (double)b->chunk_bytes;
    } else {
        j->rows = u64_min(b->level_bytes[level] / j->row_bytes, BENCH_OUT) / PACK_ROWS * PACK_ROWS;
        j->rows = j->rows ? j->rows : PACK_ROWS;
        j->run = walk_cache;
        j->n_unit = 1;
        j->footprint_bytes = (double)(j->rows * j->row_bytes);
    }
    j->amount = (double)(j->rows * j->row_bytes) * b->n_threads;
    describe(j, b, "gemv");
    return true;
}

/* ---- plain loads ------------------------------------------------------------------------------------------ */

/* What loads alone get from the memory that products walk: what products reach is to be held against this, as two pieces of
 * memory can differ (how the system, or the one beneath it, backs their pages). */
static void load(struct kernel_bench *b, const struct kernel_job *j, int tid, uint64_t n)
{
    const size_t first = bench_first(b, tid, j->walk_bytes);
    for (uint64_t i = 0; i < n; i++)
        b->load->run(bench_unit(b, tid, first + i, BENCH_LOAD_BYTES), BENCH_LOAD_BYTES, 1);
}

const unsigned char *bench_beside(const struct kernel_bench *b, int tid, size_t i)
{
    const size_t half = u64_max(b->chunk_bytes / 2 / BENCH_LOAD_BYTES, 1), base = b->lane[tid].to < b->chunk_bytes / 2 ? half : 0;
    return bench_unit(b, tid, base + (b->loaded + i) % half, BENCH_LOAD_BYTES);
}

void bench_load_beside(const struct kernel_bench *b, int tid)
{
    for (size_t i = 0; i < BENCH_BESIDE; i++)
        b->load->run(bench_beside(b, tid, i), BENCH_LOAD_BYTES, 1);
}

const struct read_kernel *bench_load_at(unsigned cpu_flags, int i)
{
    const struct read_kernel *k;
    for (size_t at = 0; (k = read_kernel_at(at)) != NULL; at++)
        if (read_kernel_wanted(k, cpu_flags) && k->far && BENCH_LOAD_BYTES % k->granule == 0 && i-- == 0)
            return k;
    return NULL;
}

bool bench_load(struct kernel_bench *b, struct kernel_job *j)
{
    if (!b->load)
        return false;
    while (bench_load_at(b->cpu_flags, j->n_variant))
        j->n_variant++;
    j->kind = "kernel";
    j->op = "load";
    j->unit = "B/s";
    snprintf(j->dtype, sizeof j->dtype, "F32");
    j->level = 3;
    j->n_tok = 1;
    j->act = ACT_KIND_COUNT;
    j->run = load;
    j->walk_bytes = BENCH_LOAD_BYTES;
    j->footprint_bytes = (double)b->chunk_bytes;
    j->amount = (double)BENCH_LOAD_BYTES * b->n_threads;
    return true;
}

/* ---- several tokens ------------------------------------------------------------------------------------- */

/* A few hundred rows, each thread its own: from memory, or round and round in what a cache holds. i: of the sample's. */
static void multiply_unit(struct kernel_bench *b, const struct kernel_job *j, int tid, uint64_t i)
{
    struct bench_lane *l = &b->lane[tid];
    const size_t places = b->y_cols / (size_t)b->n_threads / j->rows, unit_bytes = j->rows * j->row_bytes, first = bench_first(b, tid, unit_bytes);
    struct matmul_args a = args_of(b, j, tid, j->n_unit ? bench_kept(b, tid) + i % j->n_unit * unit_bytes
                                                        : bench_unit(b, tid, first + i, unit_bytes));
    /* A strip of a matrix for each thread, and each time further on: results leave their core's cache, as those of a prompt do. */
    a.y = b->y + ((size_t)tid * places + (l->at + i) % places) * j->rows;
    a.y_stride = size_row_floats(b->y_cols);
    a.prefetch_next = j->n_unit == 0; /* from memory */
    a.y_nontemporal = share_nontemporal(b->acts.n_tok, b->y_cols, b->n_threads);
    if (b->acts.n_tok <= j->slot->gemv_max_tok)
        j->slot->gemv(&a, 0, j->rows);
    else
        j->slot->gemm(&a, 0, j->rows);
}

static void multiply(struct kernel_bench *b, const struct kernel_job *j, int tid, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        multiply_unit(b, j, tid, i);
}

/* Rows of a unit of a prompt's product. The plain reference is hundreds of times slower. */
static size_t unit_rows(const struct kernel_bench *b)
{
    const size_t most = b->y_cols / (size_t)b->n_threads / PACK_ROWS * PACK_ROWS;
    return strcmp(b->k.isa, "ref") == 0 ? PACK_ROWS : u64_min(SHARE_GEMM_ROWS, most);
}

bool bench_matmat(struct kernel_bench *b, struct kernel_job *j, enum dtype t, int n_tok, int level, bool file)
{
    if (!choose_slot(b, j, t, file) || (level < 3 && b->level_bytes[level] == 0))
        return false;
    j->kind = "kernel";
    j->op = file ? "matmat-file" : "matmat";
    j->unit = "FLOP/s";
    j->level = level;
    j->n_tok = n_tok;
    j->cols = level == 0 ? BENCH_L1_COLS : BENCH_COLS;
    j->row_bytes = dtype_row_bytes(t, j->cols);
    j->rows = unit_rows(b);
    j->run = multiply;
    j->tiles = kernels_by_tiles(&b->k, j->slot, (size_t)n_tok);
    if (level < 3) {
        const size_t fit = b->level_bytes[level] / j->row_bytes / PACK_ROWS * PACK_ROWS;
        j->rows = u64_min(j->rows, fit ? fit : PACK_ROWS);
        j->n_unit = b->level_bytes[level] / (j->rows * j->row_bytes);
        j->n_unit = j->n_unit ? j->n_unit : 1;
        j->footprint_bytes = (double)(j->n_unit * j->rows * j->row_bytes);
    } else {
        j->beside = n_tok <= BENCH_FEW_TOKENS;
        j->walk_bytes = j->rows * j->row_bytes;
        j->footprint_bytes = (double)b->chunk_bytes;
    }
    j->shared = !j->beside; /* of what waits for memory threads share that */
    j->amount = 2.0 * (double)j->rows * (double)j->cols * n_tok * b->n_threads;
    describe(j, b, "gemm");
    return true;
}

static void put_in_order(struct kernel_bench *b, const struct kernel_job *j, int tid, uint64_t n)
{
    struct acts a = b->acts;
    a.tiles = b->act_tiles;
    for (uint64_t i = 0; i < n; i++)
        b->k.pack_acts[j->type](&a, j->type, (unsigned)tid, (unsigned)b->n_threads);
}

/* Floats that others wrote, prepared and put in order row by row, and what the first product that walks them takes longer than the
 * next one: a core's cache has not all of them yet. */
static void put_rows_in_order(struct kernel_bench *b, const struct kernel_job *j, int tid, uint64_t n)
{
    const size_t t0 = share_split((size_t)j->n_tok, 1, tid, b->n_threads), t1 = share_split((size_t)j->n_tok, 1, tid + 1, b->n_threads);
    struct acts a = b->acts, row;
    acts_bind(&row, a.kind, 1, j->cols, b->lane[tid].scratch);
    row.pow2 = a.pow2;
    a.tiles = b->act_tiles;
    double longer = 0;
    for (uint64_t i = 0; i < n; i++) {
        float *x = b->x + bench_place(b, j, tid, i);
        bench_write(b, j, tid, x);
        const double start = clock_now_s();
        for (size_t t = t0; t < t1; t++)
            kernels_pack_acts_row(&b->k, j->type, &a, t, 0, &row, x + t * BENCH_COLS);
        team_barrier(b->team);
        const double ready = clock_now_s();
        multiply_unit(b, j, tid, 2 * i);
        const double first = clock_now_s();
        multiply_unit(b, j, tid, 2 * i + 1);
        b->lane[tid].spent_s += ready - start;
        longer += 2 * first - ready - clock_now_s();
    }
    b->lane[tid].spent_s += fmax(0, longer);
}

/* As the engine does it: prepared activations, or, row by row, floats. */
bool bench_arrange(struct kernel_bench *b, struct kernel_job *j, enum dtype t, int n_tok)
{
    if (!kernels_packs_acts(&b->k, t, (size_t)n_tok) || !choose_slot(b, j, t, false))
        return false;
    const bool rows = kernels_packs_acts_rows(&b->k, t, (size_t)n_tok, BENCH_COLS);
    j->kind = "kernel";
    j->op = rows ? "prepare" : "arrange";
    j->unit = "B/s";
    j->level = -1;
    j->n_tok = n_tok;
    j->cols = BENCH_COLS;
    j->run = put_in_order;
    if (rows) {
        j->run = put_rows_in_order;
        j->inside = true;
        j->tiles = true;
        j->row_bytes = dtype_row_bytes(t, j->cols);
        j->rows = unit_rows(b);
        j->walk_bytes = 2 * j->rows * j->row_bytes;
    }
    j->footprint_bytes = 4.0 * BENCH_COLS * n_tok / b->n_threads;
    j->amount = 4.0 * BENCH_COLS * n_tok;
    snprintf(j->text, sizeof j->text, "rows of %d", BENCH_COLS);
    return true;
}

/* ---- the table of embeddings ------------------------------------------------------------------------------- */

/* Rows from all over the memory, by token; with one token there is nothing for the others to do. */
static void look_up(struct kernel_bench *b, const struct kernel_job *j, int tid, uint64_t n)
{
    const struct dtype_info *type = dtype_find(j->type);
    const size_t t1 = share_split((size_t)j->n_tok, 1, tid + 1, b->n_threads);
    const size_t n_row = b->chunk_bytes / j->row_bytes;
    size_t row = b->lane[tid].at;
    for (uint64_t i = 0; i < n; i++)
        for (size_t t = share_split((size_t)j->n_tok, 1, tid, b->n_threads); t < t1; t++) {
            row = (row + 7919 * 613) % n_row; /* far from the one before */
            type->dequantize(b->w + (size_t)tid * b->chunk_bytes + row * j->row_bytes, b->z + t * BENCH_COLS, BENCH_COLS);
        }
}

bool bench_embed(struct kernel_bench *b, struct kernel_job *j, enum dtype t, int n_tok)
{
    const struct dtype_info *type = dtype_find(t);
    if (!type || !type->dequantize)
        return false;
    j->kind = "kernel";
    j->op = "embed";
    j->unit = "B/s";
    snprintf(j->dtype, sizeof j->dtype, "%s", type->name);
    j->type = t;
    j->level = 3;
    j->n_tok = n_tok;
    j->row_bytes = dtype_row_bytes(t, BENCH_COLS);
    j->act = ACT_KIND_COUNT;
    j->run = look_up;
    j->footprint_bytes = (double)b->chunk_bytes;
    j->amount = 4.0 * BENCH_COLS * n_tok;
    snprintf(j->text, sizeof j->text, "rows to F32, %d columns", BENCH_COLS);
    return true;
}
