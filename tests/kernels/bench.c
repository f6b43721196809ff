/*
 * tests/kernels/bench.c: what checkkernel --bench measures: decode over more than 1 GiB of weights, beside a plain load
 * loop over the same memory; prefill, 512 tokens on [5632, 2048], and attention, with 1 thread. Figures only: nothing
 * here is asserted.
 */
#include "config.h"
#include "bench.h"
#include "kernels/pack.h"
#include <math.h>
#include <strings.h>
#include <sys/mman.h>
#include <time.h>

enum { COLS = BENCH_COLS, ROWS = BENCH_ROWS, TOKENS = BENCH_TOKENS, REPEATS = 7, REPEATS_MAX = 32, LARGE_PAGE = 2 << 20 };
static const size_t stream_bytes = (size_t)1200 << 20;

void bench_decode(void *arg, int tid, int n)
{
    struct bench *b = arg;
    struct matmul_args m = {
        b->w, b->type->id, b->row_bytes, COLS, &b->a, b->y, b->rows, b->scratch[tid], true, false
    };
    const size_t units = b->rows / 64, u0 = units * (size_t)tid / (size_t)n, u1 = units * ((size_t)tid + 1) / (size_t)n;
    b->slot->gemv(&m, 64 * u0, 64 * u1);
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

void bench_load(void *arg, int tid, int n)
{
    load_lines(arg, tid, n, false);
}

void bench_load_ahead(void *arg, int tid, int n)
{
    load_lines(arg, tid, n, true);
}

/* Four places at once, which keeps more of the hardware's prefetchers busy. */
void bench_load_streams(void *arg, int tid, int n)
{
    typedef uint64_t v8 __attribute__((vector_size(64), aligned(8), may_alias));
    const struct bench *b = arg;
    const size_t part = b->rows * b->row_bytes / (size_t)n / 4 / 64 * 64;
    const unsigned char *p = b->w + 4 * part * (size_t)tid;
    v8 s[4] = { 0 };
    for (size_t at = 0; at < part; at += 64)
        for (size_t i = 0; i < 4; i++) {
            __builtin_prefetch(p + i * part + at + 1024);
            s[i] ^= *(const v8 *)(p + i * part + at);
        }
    s[0] ^= s[1] ^ s[2] ^ s[3];
    ((volatile float *)b->y)[tid] = (float)s[0][0];
}

/* CPU time of this thread: figures of one thread's arithmetic, whoever else is running. */
static double cpu_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/*
 * Peak of multiply-adds of this ISA, operations a second, from registers alone. Without vpdpbusd products of
 * bytes take vpmaddubsw, vpmaddwd and vpaddd for 32 of them; kernels whose weights are small enough to be summed
 * in 16 bits need fewer vpmaddwd and can pass 100 %.
 */
#if defined(__x86_64__)
#define TWELVE(M, insn, r)                                                                       \
    M(insn, r, "0") M(insn, r, "1") M(insn, r, "2") M(insn, r, "3") M(insn, r, "4") M(insn, r, "5") \
    M(insn, r, "6") M(insn, r, "7") M(insn, r, "8") M(insn, r, "9") M(insn, r, "10") M(insn, r, "11")
#define FUSED(insn, r, n) insn " %%" r "14, %%" r "15, %%" r n "\n"
#define BYTES(insn, r, n)                                                                        \
    "vpmaddubsw %%" r "14, %%" r "15, %%" r "12\n"                                               \
    "vpmaddwd %%" r "12, %%" r "13, %%" r "12\n"                                                 \
    "vpaddd %%" r "12, %%" r n ", %%" r n "\n"
#define PEAK(M, insn, reg, ops)                                                                  \
    for (t0 = cpu_now_s(), i = 0; i < N; i++)                                                    \
        __asm__ volatile(TWELVE(M, insn, reg)::                                                  \
                             : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",   \
                               "xmm8", "xmm9", "xmm10", "xmm11", "xmm12");                       \
    return 12.0 * (ops)*N / (cpu_now_s() - t0)
#ifdef HAVE_ISA_AMX
/* Tile products of bf16, of one thread; kernels_init() has asked for the tiles. */
#define FOUR_TILES "tdpbf16ps %%tmm5, %%tmm4, %%tmm0\n\ttdpbf16ps %%tmm5, %%tmm4, %%tmm1\n\t" \
                   "tdpbf16ps %%tmm5, %%tmm4, %%tmm2\n\ttdpbf16ps %%tmm5, %%tmm4, %%tmm3\n\t"
static double peak_tiles(void)
{
    enum { N = 100000 };
    static const _Alignas(64) unsigned char config[64] = { [0] = 1, [16] = 64, [18] = 64, [20] = 64, [22] = 64, [24] = 64, [26] = 64,
                                                           [48] = 16, [49] = 16, [50] = 16, [51] = 16, [52] = 16, [53] = 16 };
    __asm__ volatile("ldtilecfg (%0)" ::"r"(config) : "memory");
    const double t0 = cpu_now_s();
    for (long i = 0; i < N; i++)
        __asm__ volatile(FOUR_TILES::: "memory");
    const double s = cpu_now_s() - t0;
    __asm__ volatile("tilerelease" ::: "memory");
    return 4.0 * 16 * 16 * 32 * 2 * N / s;
}
#endif
static double peak_ops(const char *isa, enum act_kind act)
{
    enum { N = 1000000 };
#ifdef HAVE_ISA_AMX
    if (strcmp(isa, "amx") == 0 && act != ACT_F32)
        return peak_tiles();
#endif
    const bool wide = strncmp(isa, "avx512", 6) == 0 || strcmp(isa, "amx") == 0, vnni = wide && strcmp(isa, "avx512") != 0;
    double t0;
    long i;
    if (act == ACT_Q8 && vnni) {
        PEAK(FUSED, "vpdpbusd", "zmm", 128);
    }
    if (act == ACT_Q8) {
        PEAK(BYTES, "", "ymm", 64);
    }
    if (act == ACT_BF16) {
        PEAK(FUSED, "vdpbf16ps", "zmm", 64);
    }
    if (wide) {
        PEAK(FUSED, "vfmadd231ps", "zmm", 32);
    }
    PEAK(FUSED, "vfmadd231ps", "ymm", 16);
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

bool bench_init(struct bench *b, int n_threads, struct rng *r)
{
    *b = (struct bench){ .scratch = check_alloc((size_t)n_threads * sizeof(void *)) };
    for (int i = 0; i < n_threads; i++)
        b->scratch[i] = check_alloc(kernels_scratch_bytes(COLS, TOKENS));
    b->w = mmap(NULL, stream_bytes + LARGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b->w == MAP_FAILED)
        return false;
    b->w = (unsigned char *)size_align_up((size_t)b->w, LARGE_PAGE);
    (void)madvise(b->w, stream_bytes, MADV_HUGEPAGE); /* as packed weights have them */
    b->x = random_floats(r, (size_t)TOKENS * COLS, 1);
    const size_t results = stream_bytes / 512; /* 2 bits a weight and fewer are not there */
    b->y = check_alloc((results > (size_t)ROWS * TOKENS ? results : (size_t)ROWS * TOKENS) * sizeof *b->y);
    return true;
}

void bench_free(struct bench *b)
{
    free(b->x);
    free(b->y);
    free(b->scratch); /* what it points at lives as long as the program, as the weights do */
}

void bench_weights(struct bench *b, const struct dtype_info *t, struct rng *r)
{
    const bool packed = b->k.packed[t->id].gemv != NULL, there = b->type == t && b->packed == packed;
    b->slot = packed ? &b->k.packed[t->id] : &b->k.mm[t->id];
    if (there)
        return;
    b->type = t;
    b->packed = packed;
    b->row_bytes = dtype_row_bytes(t->id, COLS);
    b->rows = stream_bytes / b->row_bytes / 64 * 64;
    unsigned char *some = random_weights(r, t, 64, COLS);
    if (packed) {
        unsigned char *panels = check_alloc(64 * b->row_bytes);
        pack_panels(t->id, panels, some, 64, COLS, 0, 64 / PACK_ROWS);
        free(some);
        some = panels;
    }
    for (size_t row = 0; row < b->rows; row += 64)
        memcpy(b->w + row * b->row_bytes, some, 64 * b->row_bytes);
    free(some);
}

/* A small matrix over and over: arithmetic without memory. */
double bench_l2(struct bench *b, int repeats)
{
    enum { SWEEPS = 20 };
    const size_t all = b->rows;
    double rate[REPEATS_MAX];
    b->rows = (size_t)512 * 1024 / b->row_bytes / 64 * 64;
    void *buf = prepare_acts(&b->k, b->slot->act, &b->a, b->x, 1, COLS, COLS);
    for (int i = 0; i < repeats; i++) {
        double t0 = cpu_now_s();
        for (int j = 0; j < SWEEPS; j++)
            bench_decode(b, 0, 1);
        rate[i] = (double)(b->rows * b->row_bytes) * SWEEPS / (cpu_now_s() - t0);
    }
    free(buf);
    b->rows = all;
    return stats_median(rate, (size_t)repeats);
}

double bench_prefill(struct bench *b, size_t n_tok, bool pow2, int repeats, double *share)
{
    double ops[REPEATS_MAX], of_peak[REPEATS_MAX];
    void *buf = prepare_acts_pow2(&b->k, b->slot->act, pow2, &b->a, b->x, n_tok, COLS, COLS);
    for (int j = 0; j < repeats; j++) {
        struct matmul_args m = { b->w, b->type->id, b->row_bytes, COLS, &b->a, b->y, ROWS, b->scratch[0], false, false };
        double peak = peak_ops(b->k.isa, b->slot->act), t0 = cpu_now_s();
        if (n_tok <= b->slot->gemv_max_tok)
            b->slot->gemv(&m, 0, ROWS);
        else
            b->slot->gemm(&m, 0, ROWS);
        ops[j] = 2.0 * ROWS * COLS * (double)n_tok / (cpu_now_s() - t0);
        of_peak[j] = ops[j] / peak;
    }
    free(buf);
    *share = stats_median(of_peak, (size_t)repeats);
    return stats_median(ops, (size_t)repeats);
}

/* All there is to say of a type on a rung, in a line. */
static void bench_type(struct bench *b, struct team *const team[2], const struct dtype_info *t, struct rng *r)
{
    bench_weights(b, t, r);
    void *buf = prepare_acts(&b->k, b->slot->act, &b->a, b->x, 1, COLS, COLS);
    printf("%-11s %-5s", b->k.isa, b->type->name);
    double bytes = (double)(b->rows * b->row_bytes);
    for (size_t i = 0; i < 2 && team[i]; i++) {
        double roof = bytes / fmin(median_s(team[i], bench_load, b), median_s(team[i], bench_load_ahead, b));
        double got = bytes / median_s(team[i], bench_decode, b);
        printf("  decode %zu: %5.1f GB/s %3.0f %% of %5.1f", i + 1, got / 1e9,
               100 * got / roof, roof / 1e9);
    }
    free(buf);
    printf("  in L2: %5.1f", bench_l2(b, REPEATS) / 1e9);
    static const size_t toks[] = { TOKENS, 64, 32, 16, 8, 4, 2 };
    for (size_t i = 0; i < ARRAY_LEN(toks); i++) {
        double share, ops = bench_prefill(b, toks[i], false, REPEATS, &share);
        printf("%s%.0f (%.0f %%)", i ? ", " : "  prefill GOP/s 512, 64, 32, 16, 8, 4, 2 tokens: ", ops / 1e9, 100 * share);
    }
    printf("\n");
    fflush(stdout);
}

/* ---- attention over a contiguous and a paged cache ---------------------------------------------- */

enum { BLOCK = 16, BLOCK_LOG2 = 4 };

/* Keys and values of one head: contiguous, and the same as blocks in random order, keys and values of a block together. */
struct bench_kv {
    unsigned char *keys, *values, *pool;
    uint32_t *table;
    struct kv_rows k[2], v[2]; /* contiguous, paged */
    size_t pool_bytes;
};

static void *map_large(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        abort();
    (void)madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

static void shuffle_blocks(uint32_t *table, uint32_t n, struct rng *r)
{
    for (uint32_t b = 0; b < n; b++) {
        const uint32_t at = (uint32_t)(rng_u64(r) % (b + 1));
        table[b] = table[at];
        table[at] = b;
    }
}

static void kv_init(struct bench_kv *x, const struct dtype_info *t, size_t dim, uint32_t n, struct rng *r)
{
    enum { NOISE = 4096 };
    const size_t row_bytes = dtype_row_bytes(t->id, dim), part = BLOCK * row_bytes;
    float *noise = random_floats(r, NOISE * dim, 1);
    x->pool_bytes = 2 * (size_t)n * row_bytes;
    x->keys = map_large(x->pool_bytes);
    x->values = x->keys + n * row_bytes;
    x->pool = map_large(x->pool_bytes);
    x->table = check_alloc(n / BLOCK * sizeof *x->table);
    t->quantize(noise, x->keys, NOISE * dim);
    for (size_t at = NOISE * row_bytes; at < x->pool_bytes; at += NOISE * row_bytes)
        memcpy(x->keys + at, x->keys, NOISE * row_bytes);
    x->k[0] = x->v[0] = (struct kv_rows){ .data = x->keys, .type = t->id, .row_bytes = row_bytes, .head_bytes = row_bytes, .n_row = n };
    x->v[0].data = x->values;
    x->k[1] = x->v[1] = (struct kv_rows){ .data = x->pool, .type = t->id, .row_bytes = row_bytes, .head_bytes = part, .n_row = BLOCK,
                                          .table = x->table, .shift = BLOCK_LOG2, .block_bytes = 2 * part };
    x->v[1].data += part;
    shuffle_blocks(x->table, n / BLOCK, r);
    for (uint32_t b = 0; b < n / BLOCK; b++) {
        memcpy(x->pool + 2 * part * x->table[b], x->keys + b * part, part);
        memcpy(x->pool + 2 * part * x->table[b] + part, x->values + b * part, part);
    }
    free(noise);
}

static void kv_free(struct bench_kv *x)
{
    munmap(x->keys, x->pool_bytes);
    munmap(x->pool, x->pool_bytes);
    free(x->table);
}

/* One token of `heads` heads of a KV head after n - 1 others, contiguous and paged in turn: a line. */
static void bench_paged(const struct kernels *k, const struct dtype_info *t, size_t dim, uint32_t heads, uint32_t n, struct rng *r)
{
    enum { TURNS = 31 };
    struct bench_kv kv;
    kv_init(&kv, t, dim, n, r);
    float *q = random_floats(r, heads * dim, 1), *out = check_alloc(heads * dim * sizeof *out);
    struct attention_args a = { .q = q, .q_stride = heads * dim, .q_head_stride = dim, .out = out, .out_stride = heads * dim, .n_tok = 1,
                                .n_past = n - 1, .n_head = heads, .n_head_kv = 1, .head_dim = (uint32_t)dim, .head_dim_v = (uint32_t)dim,
                                .scale = 1 / sqrtf((float)dim) };
    a.scratch = check_alloc(kernels_attention_scratch_bytes(n, dim, heads, 1));
    double s[2][TURNS], ratio[TURNS];
    struct work w = { 0 };
    for (size_t i = 0; i < TURNS; i++) {
        for (size_t j = 0; j < 2; j++) {
            const size_t paged = (i + j) % 2;
            a.k = kv.k[paged], a.v = kv.v[paged];
            const double t0 = cpu_now_s();
            k->attention(&a, 0, heads, 0, 1, true, &w);
            s[paged][i] = cpu_now_s() - t0;
        }
        ratio[i] = s[0][i] / s[1][i];
    }
    const double bytes = (double)kv.pool_bytes;
    printf("%-11s attention %-5s head_dim %3zu, %u head%s a key, %6u keys: %5.1f GB/s, in blocks of %d %5.1f GB/s, paged over contiguous %.3f\n", k->isa,
           t->name, dim, heads, heads == 1 ? " " : "s", n, bytes / stats_median(s[0], TURNS) / 1e9, BLOCK, bytes / stats_median(s[1], TURNS) / 1e9,
           stats_median(ratio, TURNS));
    fflush(stdout);
    kv_free(&kv);
    free(a.scratch);
    free(q);
    free(out);
}

/* In L2 and L3, and from memory. */
static void bench_attentions(int argc, char **argv, struct rng *r)
{
    static const enum dtype types[] = { DTYPE_F16, DTYPE_Q8_0 };
    static const uint32_t heads[] = { 8, 3, 1 }, keys[] = { 4096, 1 << 18 };
    struct kernels k;
    for (size_t i = 0; rung_at(i, &k); i++) {
        if (strcmp(k.isa, "ref") == 0 || (argc > 0 && strncmp(argv[0], "isa=", 4) == 0 && strcmp(argv[0] + 4, k.isa) != 0))
            continue;
        for (size_t x = 0; x < ARRAY_LEN(types); x++)
            for (size_t dim = 64; dim <= 128; dim *= 2)
                for (size_t h = 0; h < ARRAY_LEN(heads); h++)
                    for (size_t n = 0; n < ARRAY_LEN(keys); n++)
                        bench_paged(&k, dtype_find(types[x]), dim, heads[h], keys[n], r);
    }
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
    double s[6][REPEATS];
    struct acts acts;
    void *buf = check_alloc(acts_bytes(ACT_Q8, 1, N));
    acts_bind(&acts, ACT_Q8, 1, N, buf);
    for (size_t i = 0; i < REPEATS; i++) {
        double t[7] = { cpu_now_s() };
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
        k->softmax(out, N);
        t[6] = cpu_now_s();
        for (size_t j = 0; j < 6; j++)
            s[j][i] = (t[j + 1] - t[j]) / N * 1e9;
    }
    printf("%-11s ns/elem: act_q8 %.2f, silu_mul %.2f, gelu_mul %.2f, swiglu_oai %.2f, "
           "softcap %.2f, softmax %.2f\n",
           k->isa, stats_median(s[0], REPEATS), stats_median(s[1], REPEATS),
           stats_median(s[2], REPEATS), stats_median(s[3], REPEATS),
           stats_median(s[4], REPEATS), stats_median(s[5], REPEATS));
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

/* The rest of the figures, a rung after the other; of the types that are named, more than the table says. */
static void bench_details(struct bench *b, int argc, char **argv, struct rng *r)
{
    struct error err;
    struct team *const team[2] = { team_new(1, NULL, &err), team_new(2, NULL, &err) };
    const bool isa = argc > 0 && strncmp(argv[0], "isa=", 4) == 0;
    for (size_t i = 0; rung_at(i, &b->k); i++) {
        if (strcmp(b->k.isa, "ref") == 0 || (isa && strcmp(argv[0] + 4, b->k.isa) != 0))
            continue;
        if (argc == isa)
            bench_rest(&b->k, r);
        for (int j = isa; j < argc; j++)
            for (size_t d = 0; dtype_at(d); d++)
                if (strcasecmp(argv[j], dtype_at(d)->name) == 0 && dtype_executable(dtype_at(d)->id))
                    bench_type(b, team, dtype_at(d), r);
    }
    team_free(team[0]);
    team_free(team[1]);
}

/* Exact scales of activations and powers of two, in turn: what the former cost, a line a type. */
static void bench_scales(struct bench *b, int argc, char **argv, struct rng *r)
{
    enum { TURNS = 15 };
    static const size_t toks[] = { TOKENS, 64 };
    for (size_t i = 0; rung_at(i, &b->k); i++)
        for (size_t d = 0; dtype_at(d) && b->k.pow2_min_tok > 0; d++) {
            const struct dtype_info *t = dtype_at(d);
            bool wanted = argc == 0 && b->k.packed[t->id].gemv && b->k.packed[t->id].act == ACT_Q8;
            for (int j = 0; j < argc; j++)
                wanted = wanted || strcasecmp(argv[j], t->name) == 0;
            if (!wanted)
                continue;
            bench_weights(b, t, r);
            printf("%-11s %-7s", b->k.isa, t->name);
            for (size_t n = 0; n < ARRAY_LEN(toks); n++) {
                double ratio[TURNS], ops[2][TURNS], share[2][TURNS];
                for (size_t j = 0; j < TURNS; j++) {
                    for (int pow2 = 0; pow2 < 2; pow2++)
                        ops[pow2][j] = bench_prefill(b, toks[n], pow2 == 1, 1, &share[pow2][j]);
                    ratio[j] = ops[0][j] / ops[1][j];
                }
                printf("  %3zu tokens: exact %4.0f GOP/s (%2.0f %%), powers of two %4.0f (%2.0f %%), exact / powers of two %.3f", toks[n],
                       stats_median(ops[0], TURNS) / 1e9, 100 * stats_median(share[0], TURNS), stats_median(ops[1], TURNS) / 1e9,
                       100 * stats_median(share[1], TURNS), stats_median(ratio, TURNS));
            }
            printf("\n");
            fflush(stdout);
        }
}

int bench_main(int argc, char **argv)
{
    struct error err;
    struct bench b;
    struct rng r;
    struct cpulist cpus;
    rng_init(&r, 1);
    if (argc > 0 && strcmp(argv[0], "attention") == 0) {
        bench_attentions(argc - 1, argv + 1, &r);
        return 0;
    }
    if (cpulist_usable(&cpus, &err) != 0)
        return 1;
    const int n_threads = (int)(cpus.n < 2 ? 2 : cpus.n);
    cpulist_free(&cpus);
    if (!bench_init(&b, n_threads, &r)) {
        fprintf(stderr, "no memory for %zu MB of weights\n", stream_bytes / 1000000);
        return 1;
    }
    const bool scales = argc > 0 && strcmp(argv[0], "scales") == 0;
    if (scales)
        bench_scales(&b, argc - 1, argv + 1, &r);
    const int rc = scales ? 0 : bench_table(&b, argc, argv, &r);
    if (rc == 0 && !scales)
        bench_details(&b, argc, argv, &r);
    bench_free(&b);
    return rc;
}
