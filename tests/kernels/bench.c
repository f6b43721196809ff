/*
 * tests/kernels/bench.c: checkkernel --bench: medians of decode over more than 1 GiB of
 * weights with 1 and 2 threads, beside a plain load loop over the same memory; and of
 * prefill, 512 tokens on [5632, 2048], and attention, with 1 thread. Figures only: nothing
 * here is asserted.
 */
#include "check.h"
#include "kernels/pack.h"
#include <math.h>
#include <strings.h>
#include <sys/mman.h>
#include <time.h>

enum { COLS = 2048, ROWS = 5632, TOKENS = 512, REPEATS = 7, LARGE_PAGE = 2 << 20 };
static const size_t stream_bytes = (size_t)1200 << 20;

struct bench {
    struct kernels k;
    const struct matmul_slot *slot; /* of packed weights where there is one */
    const struct dtype_info *type;
    unsigned char *w;
    size_t rows, row_bytes;
    struct acts a;
    float *y;
    void *scratch[2];
};

static void decode(void *arg, int tid, int n)
{
    struct bench *b = arg;
    struct matmul_args m = {
        b->w, b->row_bytes, COLS, &b->a, b->y, b->rows, b->scratch[tid]
    };
    size_t per = b->rows / (size_t)n;
    b->slot->gemv(&m, per * (size_t)tid, per * ((size_t)tid + 1));
}

/* The roof: every line loaded once; with prefetching, which some memories need, and
 * without. */
static inline __attribute__((always_inline)) void load_lines(const struct bench *b, int tid,
                                                             int n, bool prefetch)
{
    size_t bytes = b->rows * b->row_bytes / (size_t)n / 512 * 512;
    const uint64_t *p = (const uint64_t *)(b->w + bytes * (size_t)tid),
                   *end = p + bytes / 8;
    typedef uint64_t v8 __attribute__((vector_size(64), aligned(8), may_alias));
    v8 s[4] = { 0 };
    for (; p < end; p += 32)
        for (size_t i = 0; i < 4; i++) {
            if (prefetch) {
                __builtin_prefetch(p + 8 * i + 128);
                __builtin_prefetch(p + 8 * i + 768, 0, 2);
            }
            s[i] ^= *(const v8 *)(p + 8 * i);
        }
    s[0] ^= s[1] ^ s[2] ^ s[3];
    ((volatile float *)b->y)[tid] = (float)s[0][0];
}

static void load(void *arg, int tid, int n)
{
    load_lines(arg, tid, n, false);
}

static void load_ahead(void *arg, int tid, int n)
{
    load_lines(arg, tid, n, true);
}

/* CPU time of this thread: figures of one thread's arithmetic, whoever else is running. */
static double cpu_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Peak of a multiply-add instruction of this ISA, operations a second, from registers
 * alone. */
#if defined(__x86_64__)
#define TWELVE(insn, reg)                                                                  \
    insn " %%" reg "14, %%" reg "15, %%" reg "0\n" insn " %%" reg "14, %%" reg             \
         "15, %%" reg "1\n" insn " %%" reg "14, %%" reg "15, %%" reg "2\n" insn " %%" reg  \
         "14, %%" reg "15, %%" reg "3\n" insn " %%" reg "14, %%" reg "15, %%" reg          \
         "4\n" insn " %%" reg "14, %%" reg "15, %%" reg "5\n" insn " %%" reg "14, %%" reg  \
         "15, %%" reg "6\n" insn " %%" reg "14, %%" reg "15, %%" reg "7\n" insn " %%" reg  \
         "14, %%" reg "15, %%" reg "8\n" insn " %%" reg "14, %%" reg "15, %%" reg          \
         "9\n" insn " %%" reg "14, %%" reg "15, %%" reg "10\n" insn " %%" reg "14, %%" reg \
         "15, %%" reg "11\n"
#define PEAK(insn, reg, ops)                                                               \
    for (t0 = cpu_now_s(), i = 0; i < N; i++)                                              \
        __asm__ volatile(TWELVE(insn, reg)::                                               \
                             : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",     \
                               "xmm7", "xmm8", "xmm9", "xmm10", "xmm11");                  \
    return 12.0 * (ops)*N / (cpu_now_s() - t0)
static double peak_ops(const char *isa, enum act_kind act)
{
    enum { N = 1000000 };
    double t0;
    long i;
    if (strncmp(isa, "avx512", 6) != 0) {
        if (act ==
            ACT_Q8) { /* vpmaddubsw: half the work of a dot product that never saturates */
            PEAK("vpmaddubsw", "ymm", 64);
        }
        PEAK("vfmadd231ps", "ymm", 16);
    }
    if (act == ACT_Q8 && strcmp(isa, "avx512") != 0) {
        PEAK("vpdpbusd", "zmm", 128);
    }
    if (act == ACT_Q8) {
        PEAK("vpmaddubsw", "ymm", 64);
    }
    if (act == ACT_BF16) {
        PEAK("vdpbf16ps", "zmm", 64);
    }
    PEAK("vfmadd231ps", "zmm", 32);
}
#else
static double peak_ops(const char *isa, enum act_kind act)
{
    (void)isa;
    (void)act;
    return NAN;
}
#endif

static double median_s(struct team *t, team_fn *fn, struct bench *b)
{
    double s[REPEATS];
    for (size_t i = 0; i < REPEATS; i++) {
        double t0 = clock_now_s();
        team_run(t, fn, b);
        s[i] = clock_now_s() - t0;
    }
    return stats_median(s, REPEATS);
}

static void bench_type(struct bench *b, struct team *const team[2], struct rng *r)
{
    const bool packed = b->k.packed[b->type->id].gemv != NULL;
    const struct matmul_slot *slot = packed ? &b->k.packed[b->type->id] : &b->k.mm[b->type->id];
    b->slot = slot;
    b->row_bytes = dtype_row_bytes(b->type->id, COLS);
    b->rows = stream_bytes / b->row_bytes / 64 * 64;
    unsigned char *some = random_weights(r, b->type, 64, COLS);
    if (packed) {
        unsigned char *panels = check_alloc(64 * b->row_bytes);
        pack_panels(b->type->id, panels, some, 64, COLS, 0, 64 / PACK_ROWS);
        free(some);
        some = panels;
    }
    for (size_t row = 0; row < b->rows; row += 64)
        memcpy(b->w + row * b->row_bytes, some, 64 * b->row_bytes);
    float *x = random_floats(r, (size_t)TOKENS * COLS, 1);
    b->y = check_alloc((b->rows > (size_t)ROWS * TOKENS ? b->rows : (size_t)ROWS * TOKENS) *
                       sizeof *b->y);
    void *buf = prepare_acts(&b->k, slot->act, &b->a, x, 1, COLS, COLS);
    printf("%-11s %-5s", b->k.isa, b->type->name);
    double bytes = (double)(b->rows * b->row_bytes);
    for (size_t t = 0; t < 2 && team[t]; t++) {
        double roof =
            bytes / fmin(median_s(team[t], load, b), median_s(team[t], load_ahead, b));
        double got = bytes / median_s(team[t], decode, b);
        printf("  decode %zu: %5.1f GB/s %3.0f %% of %5.1f", t + 1, got / 1e9,
               100 * got / roof, roof / 1e9);
    }
    free(buf);
    /* a small matrix over and over: arithmetic without memory */
    size_t all = b->rows;
    b->rows = (size_t)512 * 1024 / b->row_bytes;
    buf = prepare_acts(&b->k, slot->act, &b->a, x, 1, COLS, COLS);
    double l2[REPEATS];
    for (size_t i = 0; i < REPEATS; i++) {
        double t0 = cpu_now_s();
        for (int j = 0; j < 20; j++)
            decode(b, 0, 1);
        l2[i] = (cpu_now_s() - t0) / 20;
    }
    printf("  in L2: %5.1f",
           (double)(b->rows * b->row_bytes) / stats_median(l2, REPEATS) / 1e9);
    free(buf);
    b->rows = all;
    static const size_t toks[] = { TOKENS, 64, 32, 16, 8, 4, 2 };
    for (size_t i = 0; i < ARRAY_LEN(toks); i++) {
        buf = prepare_acts(&b->k, slot->act, &b->a, x, toks[i], COLS, COLS);
        double ops[REPEATS], share[REPEATS];
        for (size_t j = 0; j < REPEATS; j++) {
            struct matmul_args m = { b->w, b->row_bytes, COLS,         &b->a,
                                     b->y, ROWS,         b->scratch[0] };
            double peak = peak_ops(b->k.isa, slot->act), t0 = cpu_now_s();
            if (toks[i] <= slot->gemv_max_tok)
                slot->gemv(&m, 0, ROWS);
            else
                slot->gemm(&m, 0, ROWS);
            ops[j] = 2.0 * ROWS * COLS * (double)toks[i] / (cpu_now_s() - t0);
            share[j] = ops[j] / peak;
        }
        printf("%s%.0f (%.0f %%)", i ? ", " : "  prefill GOP/s 512, 64, 32, 16, 8, 4, 2 tokens: ",
               stats_median(ops, REPEATS) / 1e9, 100 * stats_median(share, REPEATS));
        free(buf);
    }
    printf("\n");
    fflush(stdout);
    free(some);
    free(x);
    free(b->y);
}

/* 8 heads of a KV head, on one thread: a prompt of 512 tokens, and a token after 4095. */
static void bench_attention(const struct kernels *k, const struct dtype_info *t, size_t dim,
                            struct rng *r)
{
    enum { HEADS = 8, TOK = 512, KEYS = 4096 };
    float *q = random_floats(r, TOK * HEADS * dim, 1),
          *kv = random_floats(r, KEYS * dim, 1);
    float *out = check_alloc(TOK * HEADS * dim * sizeof *out);
    struct kv_rows rows = { .type = t->id, .n_row = KEYS };
    rows.row_bytes = rows.head_bytes = dtype_row_bytes(t->id, dim);
    unsigned char *keys = check_alloc(KEYS * rows.row_bytes),
                  *values = check_alloc(KEYS * rows.row_bytes);
    t->quantize(kv, keys, KEYS * dim);
    t->quantize(kv, values, KEYS * dim);
    struct attention_args a = { .q = q,
                                .q_stride = HEADS * dim,
                                .q_head_stride = dim,
                                .k = rows,
                                .v = rows,
                                .out = out,
                                .out_stride = HEADS * dim,
                                .n_tok = TOK,
                                .n_head = HEADS,
                                .n_head_kv = 1,
                                .head_dim = (uint32_t)dim,
                                .head_dim_v = (uint32_t)dim,
                                .scale = 1 / sqrtf((float)dim) };
    a.k.data = keys, a.v.data = values;
    a.scratch = check_alloc(kernels_attention_scratch_bytes(KEYS, dim, HEADS, TOK));
    struct attention_args one = a;
    one.n_tok = 1, one.n_past = KEYS - 1;
    double pre[REPEATS], dec[REPEATS], alone[REPEATS];
    struct work w = { 0 };
    for (size_t i = 0; i < REPEATS; i++) {
        double t0 = cpu_now_s();
        k->attention(&a, 0, HEADS, 0, TOK, true, &w);
        double t1 = cpu_now_s();
        k->attention(&one, 0, HEADS, 0, 1, true, &w);
        double t2 = cpu_now_s();
        k->attention(&one, 0, 1, 0, 1, true, &w);
        double t3 = cpu_now_s();
        pre[i] = t1 - t0, dec[i] = t2 - t1, alone[i] = t3 - t2;
    }
    double flop = 4.0 * (double)dim * HEADS * TOK * (TOK + 1) / 2;
    double bytes = 2.0 * KEYS * (double)rows.row_bytes;
    printf("%-11s attention %-5s head_dim %3zu: 512 tokens %.1f GFLOP/s, decode 4096 keys "
           "%.1f GB/s (8 heads a key), %.1f GB/s (1)\n",
           k->isa, t->name, dim, flop / stats_median(pre, REPEATS) / 1e9,
           bytes / stats_median(dec, REPEATS) / 1e9,
           bytes / stats_median(alone, REPEATS) / 1e9);
    free(q);
    free(kv);
    free(out);
    free(keys);
    free(values);
    free(a.scratch);
}

static void bench_vector(const struct kernels *k, struct rng *r)
{
    enum { N = 1 << 14 };
    float *x = random_floats(r, N, 1), *y = random_floats(r, N, 1),
          *out = random_floats(r, N, 1);
    double s[5][REPEATS];
    struct acts acts;
    void *buf = check_alloc(acts_bytes(ACT_Q8, 1, N));
    acts_bind(&acts, ACT_Q8, 1, N, buf);
    for (size_t i = 0; i < REPEATS; i++) {
        double t[6] = { cpu_now_s() };
        k->act_prepare[ACT_Q8](&acts, x, N, 0, 1);
        t[1] = cpu_now_s();
        k->silu_mul(out, x, y, N);
        t[2] = cpu_now_s();
        k->gelu_mul(out, x, y, N);
        t[3] = cpu_now_s();
        k->swiglu_oai(out, x, y, N);
        t[4] = cpu_now_s();
        k->softcap(out, N, 30);
        t[5] = cpu_now_s();
        for (size_t j = 0; j < 5; j++)
            s[j][i] = (t[j + 1] - t[j]) / N * 1e9;
    }
    printf("%-11s ns/elem: act_q8 %.2f, silu_mul %.2f, gelu_mul %.2f, swiglu_oai %.2f, "
           "softcap "
           "%.2f\n",
           k->isa, stats_median(s[0], REPEATS), stats_median(s[1], REPEATS),
           stats_median(s[2], REPEATS), stats_median(s[3], REPEATS),
           stats_median(s[4], REPEATS));
    free(x);
    free(y);
    free(out);
    free(buf);
}

static void bench_rest(const struct kernels *k, struct rng *r)
{
    static const enum dtype types[] = { DTYPE_F16, DTYPE_Q8_0 };
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        for (size_t dim = 64; dim <= 128; dim *= 2)
            bench_attention(k, dtype_find(types[i]), dim, r);
    bench_vector(k, r);
}

int bench_main(int argc, char **argv)
{
    struct error err;
    struct bench b = { 0 };
    struct rng r;
    struct cpulist cpus;
    struct team *team[2] = { NULL, NULL };
    rng_init(&r, 1);
    if (cpulist_usable(&cpus, &err))
        return 1;
    for (int i = 0; i < 2; i++) {
        b.scratch[i] = check_alloc(kernels_scratch_bytes(COLS, TOKENS));
        team[i] = (size_t)i < cpus.n ? team_new(i + 1, NULL, &err) : NULL;
    }
    unsigned char *mem = check_alloc(stream_bytes + LARGE_PAGE);
    b.w = (unsigned char *)size_align_up((size_t)mem, LARGE_PAGE);
    (void)madvise(b.w, stream_bytes, MADV_HUGEPAGE); /* as packed weights have them */
    for (size_t i = 0; rung_at(i, &b.k); i++) {
        if (argc > 0 && strncmp(argv[0], "isa=", 4) == 0 &&
            strcmp(argv[0] + 4, b.k.isa) != 0)
            continue;
        if (i > 0)
            bench_rest(&b.k, &r);
        for (size_t d = 0; i > 0 && dtype_at(d); d++) {
            bool wanted = argc == 0 || (argc == 1 && strncmp(argv[0], "isa=", 4) == 0);
            b.type = dtype_at(d);
            for (int j = 0; j < argc; j++)
                wanted = wanted || strcasecmp(argv[j], b.type->name) == 0;
            if (wanted && dtype_executable(b.type->id))
                bench_type(&b, team, &r);
        }
    }
    for (int i = 0; i < 2; i++) {
        free(b.scratch[i]);
        team_free(team[i]);
    }
    free(mem);
    cpulist_free(&cpus);
    return 0;
}
