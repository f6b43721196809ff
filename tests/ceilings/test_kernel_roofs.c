/*
 * Roofs of the engine's kernels: that what a sample is said to have read or computed is what the kernels are called with, no
 * more and no less, each thread within its memory; and that a profile has them. No times.
 */
#include "../test.h"
#include "ceilings/internal.h"
#include "ceilings/kernel_bench.h"
#include <math.h>

enum { THREADS = 2, REPEATS = 3, MAX_CALLS = 4096 };

static struct kernel_bench *bench;
static struct team *team;

/* What the stand-in for a kernel was asked. */
static struct call {
    const unsigned char *w;
    const float *y;
    size_t bytes;
    double flop;
} calls[MAX_CALLS];
static atomic_size_t n_call;

static void note(const struct matmul_args *a, size_t row0, size_t row1)
{
    const size_t i = atomic_fetch_add(&n_call, 1);
    if (i < MAX_CALLS)
        calls[i] = (struct call){ a->w + row0 * a->w_row_bytes, a->y + row0, (row1 - row0) * a->w_row_bytes,
                                  2.0 * (double)(row1 - row0) * (double)a->cols * (double)a->x->n_tok };
    a->y[(a->x->n_tok - 1) * a->y_stride + row1 - 1] = 0; /* the last result has room */
}

static const struct matmul_slot stand_in = { ACT_F32, note, note, 1, PACK_ROWS };

static atomic_size_t arranged; /* elements */

static void count_arranged(struct acts *x, enum dtype type, unsigned part, unsigned parts)
{
    (void)type;
    const size_t first = share_split(x->n_tok, 1, (int)part, (int)parts), end = share_split(x->n_tok, 1, (int)part + 1, (int)parts);
    if (x->tiles)
        atomic_fetch_add(&arranged, (end - first) * x->cols);
}

static int open_bench(void **state)
{
    (void)state;
    struct error err = { 0 };
    const struct ceilings_options o = { .effort = CEILINGS_BRIEF, .n_threads = THREADS };
    team = team_new(THREADS, NULL, &err);
    bench = team ? bench_new(THREADS, &o, &err) : NULL; /* no flags: the plain kernels */
    for (size_t l = 0; bench && l < 3; l++)
        bench->level_bytes[l] = (size_t[]){ 16 << 10, 512 << 10, 4 << 20 }[l]; /* whatever this machine has */
    if (!team)
        return 1; /* one CPU: nothing here can be asked */
    if (!bench || bench_map(bench, team, &err) != 0) {
        fprintf(stderr, "%s\n", err.msg);
        return -1;
    }
    return 0;
}

static int close_bench(void **state)
{
    (void)state;
    bench_release(bench);
    team_free(team);
    return 0;
}

static const struct kernel_job *running;

static void run(void *arg, int tid, int n_threads)
{
    (void)arg;
    (void)n_threads;
    running->run(bench, running, tid, REPEATS);
}

static void sample(const struct kernel_job *j)
{
    atomic_store(&n_call, 0);
    for (int i = 0; i < THREADS; i++) {
        atomic_store(&bench->lane[i].next, 0);
        bench->lane[i].walked = (struct work){ 0 };
        bench->lane[i].spent_s = 0;
    }
    bench->last = NULL; /* jobs of a test stand at one address */
    bench_prepare(bench, j);
    running = j;
    team_run(team, run, NULL);
    assert_true(atomic_load(&n_call) <= MAX_CALLS);
    bench_go_on(bench, j, REPEATS);
}

static double sum_bytes(void)
{
    double sum = 0;
    for (size_t i = 0; i < atomic_load(&n_call); i++)
        sum += (double)calls[i].bytes;
    return sum;
}

static bool within(const struct call *c)
{
    return c->w >= bench->w && c->w + c->bytes <= bench->w + (bench->chunk_bytes + bench->kept_bytes) * THREADS;
}

/* Of every executable type, at every level. */
static void one_token(void **state)
{
    (void)state;
    for (int t = 0; t < DTYPE_COUNT; t++)
        for (int level = 0; level < 4 && dtype_executable((enum dtype)t); level++) {
            struct kernel_job j = { .b = bench };
            bench->k.mm[t] = stand_in;
            assert_true(bench_matvec(bench, &j, (enum dtype)t, level, false));
            sample(&j);
            assert_true(sum_bytes() == j.amount * REPEATS);
            assert_int_equal(j.n_unit, level < 3); /* walked before a sample, until the cache holds it */
            assert_true((calls[0].w >= bench_kept(bench, 0)) == (level < 3)); /* where no walk over memory comes */
            for (size_t i = 0; i < atomic_load(&n_call); i++)
                assert_true(within(&calls[i]));
        }
}

/* Of equal parts that the engine's threads would help each other with: what computes, not what waits for memory. Which are by tiles. */
static void what_threads_share(void **state)
{
    (void)state;
    static const struct matmul_slot tiles = { ACT_BF16, note, note, 6, PACK_ROWS };
    const struct matmul_slot packed = bench->k.packed[DTYPE_BF16];
    struct kernel_job few = { .b = bench }, many = few, one = few, rows = few, call = few, prompt = few;
    bench->k.mm[DTYPE_Q8_0] = stand_in;
    assert_true(bench_matmat(bench, &few, DTYPE_Q8_0, 8, 3, false) && !few.shared && !few.tiles);
    assert_true(bench_matmat(bench, &many, DTYPE_Q8_0, 64, 3, false) && many.shared && !many.tiles);
    assert_true(bench_matvec(bench, &one, DTYPE_Q8_0, 3, false) && !one.shared);
    assert_true(bench_attention(bench, &rows, DTYPE_F16, 1, 4, 64) && !rows.shared);
    assert_true(bench_attention(bench, &rows, DTYPE_F16, 16, 4, 64) && rows.shared);
    assert_true(bench_attention_call(bench, &call, DTYPE_F16, 1, 4, 64, 128, true) && !call.shared);
    assert_true(bench_attention_call(bench, &prompt, DTYPE_F16, 16, 4, 64, 16, false) && prompt.shared && !prompt.tiles);
    bench->k.packed[DTYPE_BF16] = tiles;
    bench->k.bf16_min_tok = 80;
    bench->k.pack_acts[DTYPE_BF16] = count_arranged;
    assert_true(bench_matmat(bench, &few, DTYPE_BF16, 6, 3, false) && !few.tiles);
    assert_true(bench_matmat(bench, &few, DTYPE_BF16, 7, 3, false) && few.tiles);
    (void)bench_attention_rounded(bench, &prompt);
    assert_true(prompt.tiles);
    bench->k.packed[DTYPE_BF16] = packed;
    bench->k.pack_acts[DTYPE_BF16] = NULL;
    bench->k.bf16_min_tok = 0;
}

static void spin(struct kernel_bench *b, const struct kernel_job *j, int tid, uint64_t n)
{
    const double end = clock_now_s() + (tid ? 0.2 : 0.002); /* far apart: others may have the first one's CPU for a while */
    (void)b, (void)j, (void)n;
    while (clock_now_s() < end)
        ;
}

static void say(struct kernel_bench *b, const struct kernel_job *j, int tid, uint64_t n)
{
    b->lane[tid].spent_s += tid ? 3 : 1;
    (void)j, (void)n;
}

/* A sample of theirs is as long as both had taken together. */
static void shared_samples(void **state)
{
    (void)state;
    const struct ceilings_options o = { .effort = CEILINGS_BRIEF, .n_threads = THREADS };
    struct kernel_job j = { .b = bench, .kind = "latency", .op = "spin", .unit = "s", .act = ACT_KIND_COUNT, .run = spin, .amount = 1 };
    struct job job = { .data = &j };
    struct meter m;
    struct sample s;
    struct error err;
    assert_ok(meter_init(&m, THREADS, false, &o, &err), err);
    bench->last = NULL;
    bench_sample(&job, &m, 0, 1, &s);
    assert_true(s.value >= 0.2);
    j.shared = true;
    bench_sample(&job, &m, 0, 1, &s);
    assert_true(s.value >= 0.0038 && s.value < 0.1);
    j.inside = true; /* what they timed themselves, likewise */
    j.run = say;
    bench_sample(&job, &m, 0, 1, &s);
    assert_true(fabs(s.value - 1.5) < 1e-9);
    j.shared = false;
    bench_sample(&job, &m, 0, 1, &s);
    assert_true(fabs(s.value - 2) < 1e-9);
    meter_free(&m);
}

/* What comes from memory is never the same twice, within a sample and in the next one, of whatever type: it goes on where that ended. */
static void memory_is_walked_on(void **state)
{
    (void)state;
    static const enum dtype types[] = { DTYPE_Q8_0, DTYPE_Q8_0, DTYPE_F32, DTYPE_Q4_0 };
    struct kernel_job j = { .b = bench };
    struct call seen[ARRAY_LEN(types) * REPEATS * THREADS];
    size_t n = 0, end;
    for (int i = 0; i < THREADS; i++)
        bench->lane[i].to = 0;
    for (size_t s = 0; s < ARRAY_LEN(types); s++) {
        j = (struct kernel_job){ .b = bench };
        bench->k.mm[types[s]] = stand_in;
        assert_true(bench_matvec(bench, &j, types[s], 3, false));
        sample(&j);
        assert_true(atomic_load(&n_call) <= REPEATS * THREADS); /* a call may be of several units */
        assert_true(sum_bytes() == j.amount * REPEATS);
        for (size_t i = 0; i < atomic_load(&n_call); i++) {
            for (size_t k = 0; k < n; k++)
                assert_true(calls[i].w >= seen[k].w + seen[k].bytes || seen[k].w >= calls[i].w + calls[i].bytes);
            seen[n++] = calls[i];
        }
        end = 0;
        for (size_t i = 0; i < atomic_load(&n_call); i++)
            if (calls[i].w < bench->w + bench->chunk_bytes)
                end = u64_max(end, (size_t)(calls[i].w - bench->w) + calls[i].bytes);
        assert_int_equal(bench->lane[0].to, end);
        assert_true(types[s] == DTYPE_F32 || j.rows * j.row_bytes <= 80 << 10); /* the engine's units; 16 rows of floats are more */
    }
}

/* All units once, walks long at first and short at last. */
static void units_are_taken_in_runs(void **state)
{
    (void)state;
    static const size_t n_unit[] = { 0, 1, 2, 3, 7, 64, 1001 }, most[] = { 1, 2, 3, 16 };
    for (size_t c = 0; c < ARRAY_LEN(n_unit) * ARRAY_LEN(most); c++) {
        const size_t n = n_unit[c / ARRAY_LEN(most)], m = most[c % ARRAY_LEN(most)], least = (m + 3) / 4;
        size_t at = 0, last = m;
        for (int owner = 0; owner < 3; owner++, last = m) {
            const size_t end = share_split(n, 1, owner + 1, 3);
            atomic_uint next = 0;
            for (struct share_run r; share_steal(&next, n, owner, 3, m, &r); last = r.n) {
                assert_int_equal(r.first, at);
                assert_true(r.n > 0 && r.n <= last && (r.n >= least || r.first + r.n == end));
                assert_true(r.n <= least || 2 * r.n <= end - at);
                at += r.n;
            }
            assert_int_equal(at, end);
        }
    }
}

static void several_tokens(void **state)
{
    (void)state;
    static const int n_tok[] = { 2, 64, 512 };
    for (size_t i = 0; i < ARRAY_LEN(n_tok); i++) {
        struct kernel_job j = { .b = bench };
        double flop = 0;
        bench->k.mm[DTYPE_Q4_K] = stand_in;
        assert_true(bench_matmat(bench, &j, DTYPE_Q4_K, n_tok[i], 3, false));
        sample(&j);
        for (size_t k = 0; k < atomic_load(&n_call); k++) {
            flop += calls[k].flop;
            assert_true(within(&calls[k]));
            for (size_t l = 0; l < k; l++) /* results go on */
                assert_true((size_t)llabs(calls[k].y - calls[l].y) >= j.rows);
        }
        assert_true(flop == j.amount * REPEATS);
    }
    struct kernel_job none = { .b = bench };
    assert_false(bench_matmat(bench, &none, DTYPE_Q4_K, 8, 3, true)); /* as in the file is all there is */
}

static size_t calls_of_sample(struct job *job, struct meter *m)
{
    struct sample s;
    atomic_store(&n_call, 0);
    bench_sample(job, m, 0, REPEATS, &s);
    return atomic_load(&n_call);
}

/* The most of some turns, each after one of another job: a busy machine may take so long for a walk that no other follows. */
static size_t calls_of_turn(struct job *job, struct job *other, struct meter *m)
{
    size_t most = 0;
    for (int i = 0; i < 5; i++) {
        (void)calls_of_sample(other, m);
        most = u64_max(most, calls_of_sample(job, m));
    }
    return most;
}

/* What a cache is to hold is walked four times before the first sample of a turn; what comes from memory is not. */
static void caches_are_filled(void **state)
{
    (void)state;
    struct kernel_job cached = { .b = bench }, units = { .b = bench }, memory = { .b = bench };
    struct job job[] = { { .data = &cached }, { .data = &units }, { .data = &memory } };
    const struct ceilings_options o = { .effort = CEILINGS_BRIEF, .n_threads = THREADS };
    struct meter m;
    struct error err;
    bench->k.mm[DTYPE_Q8_0] = stand_in;
    bench->last = NULL;
    assert_true(bench_matvec(bench, &cached, DTYPE_Q8_0, 1, false) && bench_matmat(bench, &units, DTYPE_Q8_0, 64, 2, false) &&
                bench_matmat(bench, &memory, DTYPE_Q8_0, 64, 3, false));
    assert_true(units.n_unit > 1);
    assert_ok(meter_init(&m, THREADS, false, &o, &err), err);
    assert_int_equal(calls_of_turn(&job[0], &job[2], &m), (REPEATS + 4) * THREADS);
    assert_int_equal(calls_of_sample(&job[0], &m), REPEATS * THREADS);
    assert_int_equal(calls_of_turn(&job[1], &job[0], &m), (REPEATS + 4 * units.n_unit) * THREADS);
    assert_int_equal(calls_of_turn(&job[2], &job[1], &m), REPEATS * THREADS);
    meter_free(&m);
}

static void count_row(struct acts *x, size_t t, size_t c0, const struct acts *row)
{
    if (x->tiles && row->n_tok && t < x->n_tok && c0 == 0)
        atomic_fetch_add(&arranged, row->cols);
}

/* Where the engine arranges activations for packed weights, of as many tokens as need it; all threads' parts are one whole. */
static void arranging(void **state)
{
    (void)state;
    struct kernel_job j = { .b = bench }, none = { .b = bench };
    const struct kernels had = bench->k;
    bench->k.packed[DTYPE_Q4_K] = stand_in;
    bench->k.packed[DTYPE_Q4_K].act = ACT_Q8;
    bench->k.packed[DTYPE_Q4_K].gemv_max_tok = 6;
    assert_false(bench_arrange(bench, &none, DTYPE_Q4_K, 64)); /* it walks them as they are */
    bench->k.pack_acts[DTYPE_Q4_K] = count_arranged;
    assert_false(bench_arrange(bench, &none, DTYPE_Q4_K, 6));
    assert_true(bench_arrange(bench, &j, DTYPE_Q4_K, 7));
    atomic_store(&arranged, 0);
    sample(&j); /* and once when they are prepared */
    assert_true(4.0 * (double)atomic_load(&arranged) == (REPEATS + 1) * j.amount);
    assert_string_equal(j.op, "arrange");
    bench->k.packed[DTYPE_F32] = stand_in; /* floats that tiles do not take are left as they are */
    bench->k.pack_acts[DTYPE_F32] = count_arranged;
    assert_false(bench_arrange(bench, &none, DTYPE_F32, 64));
    bench->k.f32_min_tok = 64;
    assert_true(bench_arrange(bench, &none, DTYPE_F32, 64));
    assert_false(bench_arrange(bench, &none, DTYPE_F32, 63));
    bench->k.pack_acts_row[DTYPE_Q4_K] = count_row; /* floats, of as many tokens as are by tiles */
    bench->k.bf16_min_tok = 20;
    assert_true(bench_arrange(bench, &none, DTYPE_Q4_K, 19));
    assert_string_equal(none.op, "arrange");
    assert_true(bench_arrange(bench, &j, DTYPE_Q4_K, 20));
    assert_string_equal(j.op, "prepare");
    atomic_store(&arranged, 0);
    sample(&j);
    assert_true(4.0 * (double)atomic_load(&arranged) == (REPEATS + 1) * j.amount);
    assert_true(j.inside);
    assert_int_equal(atomic_load(&n_call), 2 * THREADS * REPEATS); /* a product that walks them first, and one that does again */
    bench->k = had;
    bench->last = NULL;
}

/* From a cache: what is walked fits it, and is walked again. */
static void several_tokens_cached(void **state)
{
    (void)state;
    for (int level = 0; level < 3; level++) {
        struct kernel_job j = { .b = bench };
        double flop = 0;
        bench->k.mm[DTYPE_Q8_0] = stand_in;
        assert_true(bench_matmat(bench, &j, DTYPE_Q8_0, 64, level, false));
        assert_true(j.level == level && j.footprint_bytes <= fmax((double)bench->level_bytes[level], (double)(PACK_ROWS * j.row_bytes)));
        assert_true((double)(j.n_unit * j.rows * j.row_bytes) == j.footprint_bytes); /* walked before a sample, until the cache holds it */
        sample(&j);
        for (size_t k = 0; k < atomic_load(&n_call); k++) {
            flop += calls[k].flop;
            assert_true(within(&calls[k]));
            assert_true(calls[k].w >= bench_kept(bench, 0)); /* where no walk over memory comes */
            const size_t at = (size_t)(calls[k].w - bench_kept(bench, 0)) % bench->kept_bytes;
            assert_true((double)at + (double)calls[k].bytes <= j.footprint_bytes);
        }
        assert_true(flop == j.amount * REPEATS);
    }
    struct kernel_job none = { .b = bench };
    const size_t had = bench->level_bytes[1];
    bench->level_bytes[1] = 0;
    assert_false(bench_matmat(bench, &none, DTYPE_Q8_0, 64, 1, false)); /* no such cache */
    bench->level_bytes[1] = had;
}

/* The plain kernel counts what it walks. */
static void attention(void **state)
{
    (void)state;
    static const int queries[][2] = { { 1, 1 }, { 1, 4 }, { 2, 2 } };
    for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
        struct kernel_job j = { .b = bench };
        struct work w = { 0 };
        assert_true(bench_attention(bench, &j, DTYPE_Q8_0, queries[i][0], queries[i][1], i == 1 ? 64 : 128));
        sample(&j);
        for (int t = 0; t < THREADS; t++) {
            w.kv_bytes += bench->lane[t].walked.kv_bytes;
            w.flop += bench->lane[t].walked.flop;
        }
        assert_true((i == 0 ? (double)w.kv_bytes : (double)w.flop) == j.amount * REPEATS);
    }
}

/* What a pass's next tokens find: a call before each has read its keys. One token has none. */
static void attention_again(void **state)
{
    (void)state;
    struct kernel_job j = { .b = bench };
    double flop = 0;
    assert_true(bench_attention(bench, &j, DTYPE_F16, 2, 2, 64) && j.level == 3 && !j.inside);
    bench_attention_again(&j);
    assert_true(j.inside && j.level == -1);
    const size_t at = bench->lane[0].to;
    sample(&j);
    for (int t = 0; t < THREADS; t++) {
        flop += (double)bench->lane[t].walked.flop;
        assert_true(bench->lane[t].spent_s > 0);
    }
    assert_true(flop == 2 * j.amount * REPEATS);
    assert_true(bench->lane[0].to != at); /* keys of memory, others each time */
}

/* Queries and results of several tokens are others each time, and each thread's own; those of one stay. */
static const float *asked[2 * THREADS * REPEATS];

static void note_attention(const struct attention_args *a, uint32_t h0, uint32_t h1, uint32_t t0, uint32_t t1, bool one, struct work *w)
{
    const size_t i = atomic_fetch_add(&n_call, 1);
    assert_true(i < ARRAY_LEN(asked));
    asked[i] = a->q;
    assert_true(a->n_tok == 1 || a->out - bench->z == a->q - bench->x);
    (void)h0, (void)h1, (void)t0, (void)t1, (void)one, (void)w;
}

static void queries_go_on(void **state)
{
    (void)state;
    const struct kernels had = bench->k;
    bench->k.attention = note_attention;
    for (int n_query = 1; n_query <= 16; n_query += 15) {
        struct kernel_job j = { .b = bench };
        assert_true(bench_attention(bench, &j, DTYPE_F16, n_query, 4, 128));
        sample(&j);
        assert_int_equal(atomic_load(&n_call), THREADS * REPEATS);
        for (size_t i = 0; i < THREADS * REPEATS; i++)
            for (size_t k = 0; k < i; k++)
                assert_true(n_query == 1 ? asked[i] == asked[k] : llabs(asked[i] - asked[k]) >= 16 * 4 * 128);
    }
    bench->k = had;
}

/* Keys and values of a call that sees few, and of the next one, begin where nothing has led to. */
static void calls_stand_apart(void **state)
{
    (void)state;
    struct kernel_job j = { .b = bench }, long_one = { .b = bench };
    assert_true(bench_attention(bench, &long_one, DTYPE_F16, 1, 4, 128) && long_one.beside && !long_one.apart);
    assert_true(bench_attention_call(bench, &j, DTYPE_F16, 1, 4, 128, 16, true) && j.apart && !j.beside);
    sample(&j);
}

static const unsigned char *loaded[THREADS][2 * BENCH_BESIDE];
static atomic_int n_loaded[THREADS];

static void note_load(const void *p, size_t bytes, uint64_t sweeps)
{
    const size_t tid = (size_t)((const unsigned char *)p - bench->w) / bench->chunk_bytes;
    assert_true(bytes == BENCH_LOAD_BYTES && sweeps == 1 && tid < THREADS);
    loaded[tid][atomic_fetch_add(&n_loaded[tid], 1)] = p;
}

static void load_beside(void *arg, int tid, int n_threads)
{
    (void)arg;
    (void)n_threads;
    bench_load_beside(bench, tid);
}

/* Each thread loads of its own memory, and never what it has just loaded. */
static void loads_go_on(void **state)
{
    (void)state;
    static const struct read_kernel stand_in_load = { .run = note_load };
    const struct read_kernel *real = bench->load;
    bench->load = &stand_in_load;
    for (int i = 0; i < 2; i++) {
        team_run(team, load_beside, NULL);
        bench->loaded += BENCH_BESIDE;
    }
    bench->load = real;
    const size_t half = bench->chunk_bytes / 2;
    for (int t = 0; t < THREADS && half >= 2 * BENCH_BESIDE * BENCH_LOAD_BYTES; t++) /* not where walks are */
        for (int i = 0; i < 2 * BENCH_BESIDE; i++)
            assert_true(((size_t)(loaded[t][i] - bench->w) % bench->chunk_bytes >= half) == (bench->lane[t].to < half));
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(atomic_load(&n_loaded[t]), 2 * BENCH_BESIDE);
        for (int i = 0; i < 2 * BENCH_BESIDE; i++)
            for (int k = 0; k < i && half >= 2 * BENCH_BESIDE * BENCH_LOAD_BYTES; k++)
                assert_true(loaded[t][i] != loaded[t][k]);
    }
}

/* Whatever type reads them, the bytes are ordinary weights. */
static void weights_are_numbers(void **state)
{
    (void)state;
    for (int t = 0; t < DTYPE_COUNT; t++) {
        float x[2048];
        const struct dtype_info *type = dtype_executable((enum dtype)t) ? dtype_find(t) : NULL;
        for (size_t at = 0; type && at < 64; at++) {
            double largest = 0;
            type->dequantize(bench->w + at * dtype_row_bytes((enum dtype)t, 2048), x, 2048);
            for (size_t i = 0; i < 2048; i++) {
                assert_true(isfinite(x[i]) && fpclassify(x[i]) != FP_SUBNORMAL);
                largest = fmax(largest, (double)fabsf(x[i]));
            }
            assert_true(largest > 0);
        }
    }
}

static void vectors_stay_numbers(void **state)
{
    (void)state;
    struct kernel_job j = { .b = bench };
    for (size_t i = 0; bench_vector(bench, &j, i, 2); i++) {
        sample(&j);
        assert_true(j.amount == j.footprint_bytes * THREADS);
        j = (struct kernel_job){ .b = bench };
    }
    for (size_t i = 0; i < 2 * BENCH_COLS; i++)
        assert_true(isfinite(bench->z[i]));
}

/* Rows of a prompt stand at another place each time, as others have written them, and only what reads them is timed. */
static const float *read_rows[MAX_CALLS];

static void note_norm(float *to, const float *x, const float *w, size_t n, float eps)
{
    const size_t i = atomic_fetch_add(&n_call, 1);
    (void)w, (void)eps;
    assert_true(i < MAX_CALLS && n == BENCH_COLS && (size_t)(to - bench->z) < (size_t)BENCH_TOKENS * BENCH_COLS);
    read_rows[i] = x;
    assert_memory_equal(x, bench->row, sizeof bench->row);
    memset((float *)(uintptr_t)x, 0, n * sizeof *x); /* written anew, then, before it is read again */
}

static void rows_of_prompts(void **state)
{
    (void)state;
    enum { TOKENS = 5, PLACE = BENCH_TOKENS * BENCH_COLS };
    const struct kernels had = bench->k;
    const struct ceilings_options o = { .effort = CEILINGS_BRIEF, .n_threads = THREADS };
    struct kernel_job prompt = { .b = bench }, token = { .b = bench };
    struct job job = { .data = &prompt };
    struct meter m;
    struct sample s;
    struct error err;
    size_t seen[BENCH_PLACES] = { 0 };
    assert_true(bench_vector(bench, &prompt, 0, TOKENS) && bench_vector(bench, &token, 0, 1));
    assert_true(prompt.inside && !token.inside && strcmp(prompt.op, "rmsnorm") == 0);
    bench->k.rms_norm = note_norm;
    for (int round = 0; round < 4; round++) { /* four times three repetitions: each place three times */
        sample(&prompt);
        assert_int_equal(atomic_load(&n_call), TOKENS * REPEATS);
        for (size_t i = 0; i < TOKENS * REPEATS; i++)
            seen[(size_t)(read_rows[i] - bench->x) / PLACE]++;
    }
    for (size_t i = 0; i < BENCH_PLACES; i++)
        assert_int_equal(seen[i], 3 * TOKENS);
    memcpy(bench->x, bench->row, sizeof bench->row); /* a token's row, which nobody writes */
    bench->k = had;
    bench->last = NULL;
    assert_ok(meter_init(&m, THREADS, false, &o, &err), err);
    bench_sample(&job, &m, 0, REPEATS, &s);
    const double spent = (bench->lane[0].spent_s + bench->lane[1].spent_s) / 2;
    assert_true(spent > 0 && spent < s.seconds);
    assert_true(fabs(s.value * spent / (prompt.amount * REPEATS) - 1) < 1e-9);
    meter_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_token),           cmocka_unit_test(calls_stand_apart),
        cmocka_unit_test(what_threads_share), cmocka_unit_test(shared_samples),
        cmocka_unit_test(memory_is_walked_on), cmocka_unit_test(units_are_taken_in_runs),
        cmocka_unit_test(several_tokens),      cmocka_unit_test(several_tokens_cached), cmocka_unit_test(caches_are_filled),
        cmocka_unit_test(arranging),
        cmocka_unit_test(attention),           cmocka_unit_test(vectors_stay_numbers),
        cmocka_unit_test(attention_again),     cmocka_unit_test(queries_go_on), cmocka_unit_test(rows_of_prompts),
        cmocka_unit_test(loads_go_on),         cmocka_unit_test(weights_are_numbers), /* also those that were stored into */
    };
    struct cpulist l;
    struct error err;
    const bool two = cpulist_usable(&l, &err) == 0 && l.n >= THREADS;
    if (!two) {
        printf("1..0 # SKIP two CPUs are needed\n");
        return 0;
    }
    cpulist_free(&l);
    return cmocka_run_group_tests(tests, open_bench, close_bench);
}
