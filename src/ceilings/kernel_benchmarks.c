/*
 * Provider of kernel roofs: for every tensor type the weight bandwidth of one-token products and the FLOP/s of batches, attention,
 * vector ops and the team's barrier; for one and for all threads. methods.md (78)
 */
#include "ceilings/kernel_bench.h"
#include "ceilings/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char *const level_names[] = { "L1", "L2", "L3", "DRAM" };
enum { DRAM = 3, HUGE_PAGE = 2 << 20 };
/* A pass has several attention calls in sequence; an isolated one takes 10 % longer. */
static const double ATTENTION_S = 0.01;
/* Steady state: short samples after another kernel read low. (78) */
static const double LEAD_S = 0.01;

/* ---- memory -------------------------------------------------------------------------------------------- */

/*
 * Bytes valid as weights of any type: the upper nibble is 3 or B, so 16- and 32-bit floats are between 1e-10 and 2 in magnitude, of either
 * sign, and 8-bit scales are moderate; the lower nibble is random, so that adders toggle.
 */
void bench_fill(unsigned char *to, size_t bytes, uint64_t seed)
{
    uint64_t page[512];
    struct rng r;
    rng_init(&r, seed);
    for (size_t i = 0; i < ARRAY_LEN(page); i++)
        page[i] = (rng_u64(&r) & UINT64_C(0x8f8f8f8f8f8f8f8f)) | UINT64_C(0x3030303030303030);
    for (size_t at = 0; at < bytes && interrupt_check(NULL) == 0; at += sizeof page) {
        memcpy(to + at, page, u64_min(sizeof page, bytes - at));
        page[at / sizeof page % ARRAY_LEN(page)] ^= UINT64_C(0x0102040804020100); /* distinct pages; lower nibbles only */
    }
}

static void fill_weights(void *arg, int tid, int n_threads)
{
    struct kernel_bench *b = arg;
    (void)n_threads;
    bench_fill(b->w + (size_t)tid * b->chunk_bytes, b->chunk_bytes, 2 * (uint64_t)tid + 1);
    bench_fill(bench_cached(b, tid), b->cached_bytes, 2 * (uint64_t)tid + 2);
}

int bench_map(struct kernel_bench *b, struct team *t, struct error *err)
{
    b->team = t;
    const size_t chunk = b->want_bytes / (size_t)b->n_threads / HUGE_PAGE * HUGE_PAGE;
    b->chunk_bytes = chunk ? chunk : HUGE_PAGE;
    b->cached_bytes = HUGE_PAGE;
    for (int level = 0; level < DRAM; level++)
        b->cached_bytes = u64_max(b->cached_bytes, size_align_up(b->level_bytes[level], HUGE_PAGE));
    b->map_bytes = (b->chunk_bytes + b->cached_bytes) * (size_t)b->n_threads + HUGE_PAGE;
    void *p = mmap(NULL, b->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return error_oom(err, b->map_bytes, "the weights of the kernels' roofs");
    b->map = p;
    b->w = (unsigned char *)size_align_up((size_t)p, HUGE_PAGE);
#ifdef MADV_HUGEPAGE
    (void)madvise(p, b->map_bytes, MADV_HUGEPAGE); /* as for packed weights */
#endif
    team_run(b->team, fill_weights, b);
    for (size_t i = 0; i < BENCH_HEAD_DIM; i++) {
        uint16_t half;
        memcpy(&half, b->w + i * sizeof half, sizeof half);
        b->halves[i] = f16_to_f32(half);
    }
    return interrupt_check(err);
}

static size_t scratch_bytes(void)
{
    const size_t product = kernels_scratch_bytes(BENCH_COLS, BENCH_TOKENS);
    const size_t attention = kernels_attention_scratch_bytes(BENCH_KEYS, BENCH_HEAD_DIM, 4, 64);
    return product > attention ? product : attention;
}

static void fill_floats(struct kernel_bench *b)
{
    struct rng r;
    rng_init(&r, 1);
    const size_t place = (size_t)BENCH_TOKENS * BENCH_COLS;
    for (size_t i = 0; i < place; i++)
        b->y[i] = (float)rng_normal(&r);
    memcpy(b->row, b->y, sizeof b->row);
    memcpy(b->y + place, b->y, place * sizeof *b->y);
    for (size_t p = 0; p < BENCH_BUFFERS; p++) {
        memcpy(b->x + p * place, b->y, place * sizeof *b->x);
        memcpy(b->z + p * place, b->y, place * sizeof *b->z);
    }
    for (size_t i = 0; i < BENCH_HEAD_DIM / 2; i++) {
        b->cs[2 * i] = cosf((float)i);
        b->cs[2 * i + 1] = sinf((float)i);
    }
}

static int alloc_floats(struct kernel_bench *b, struct error *err)
{
    const size_t n = (size_t)BENCH_BUFFERS * BENCH_TOKENS * BENCH_COLS;
    size_t acts = 0;
    for (int k = 0; k < ACT_KIND_COUNT; k++)
        acts = u64_max(acts, acts_bytes((enum act_kind)k, BENCH_TOKENS, BENCH_COLS));
    b->x = size_alloc(n * sizeof *b->x);
    b->z = size_alloc(n * sizeof *b->z);
    b->y = size_alloc(BENCH_TOKENS * size_row_floats(b->y_cols) * sizeof *b->y);
    b->act_mem = size_alloc(acts);
    b->packed_acts = size_alloc(acts_tiles_bytes(ACT_F32, DTYPE_F32, BENCH_TOKENS, BENCH_COLS));
    bool all = b->x && b->y && b->z && b->act_mem && b->packed_acts;
    for (int i = 0; i < b->n_threads; i++) {
        b->thread[i].scratch = size_alloc(scratch_bytes());
        b->thread[i].out = size_alloc(BENCH_OUT * sizeof(float));
        all &= b->thread[i].scratch && b->thread[i].out;
    }
    if (!all)
        return error_oom(err, (2 * n + BENCH_TOKENS * size_row_floats(b->y_cols)) * sizeof *b->x, "the activations of the kernels' roofs");
    fill_floats(b);
    return 0;
}

void bench_release(struct kernel_bench *b)
{
    if (--b->n_benchmark > 0)
        return;
    for (int i = 0; b->thread && i < b->n_threads; i++) {
        free(b->thread[i].scratch);
        free(b->thread[i].out);
    }
    if (b->map)
        munmap(b->map, b->map_bytes);
    free(b->thread);
    free(b->act_mem);
    free(b->packed_acts);
    free(b->x);
    free(b->y);
    free(b->z);
    free(b);
}

/* ---- benchmarks ---- */

static int prepare(struct benchmark *bm, struct harness *m, struct error *err)
{
    struct kernel_bench *b = ((struct kernel_benchmark *)bm->data)->b;
    return b->map ? 0 : bench_map(b, harness_team(m), err);
}

struct call {
    struct kernel_bench *b;
    const struct kernel_benchmark *j;
    uint64_t n;
};

static void call(void *arg, int tid)
{
    const struct call *c = arg;
    c->j->run(c->b, c->j, tid, c->n);
}

static void nothing(void *arg, int tid, int n_threads)
{
    (void)arg;
    (void)tid;
    (void)n_threads;
}

static void time_dispatch(struct kernel_bench *b, uint64_t n, struct sample *s)
{
    team_run(b->team, nothing, b);
    const double start = clock_now_s();
    for (uint64_t i = 0; i < n; i++)
        team_run(b->team, nothing, b);
    *s = (struct sample){ .seconds = clock_now_s() - start, .clock_hz = NAN };
}

void bench_advance(struct kernel_bench *b, const struct kernel_benchmark *j, uint64_t n)
{
    const size_t unit = j->walk_bytes, count = unit ? u64_max(b->chunk_bytes / unit, 1) : 0;
    for (int i = 0; i < b->n_threads; i++) {
        b->thread[i].at += n;
        if (unit)
            b->thread[i].to = (bench_first(b, i, unit) + n) % count * unit;
    }
}

void bench_prepare(struct kernel_bench *b, const struct kernel_benchmark *j)
{
    if (b->last == j)
        return;
    b->last = j;
    if (j->act == ACT_KIND_COUNT)
        return;
    acts_bind(&b->acts, j->act, (size_t)j->n_tok, j->cols, b->act_mem);
    b->acts.pow2 = kernels_acts_pow2(&b->k, j->slot == &b->k.packed[j->type], (size_t)j->n_tok);
    b->k.act_prepare[j->act](&b->acts, b->x, BENCH_COLS, 0, (size_t)j->n_tok);
    if (j->slot == &b->k.packed[j->type] && kernels_packs_acts(&b->k, j->type, b->acts.n_tok)) { /* once for all rows, as in the engine */
        b->acts.tiles = b->packed_acts;
        b->k.pack_acts[j->type](&b->acts, j->type, 0, 1);
    }
}

/* Warm the page translations of the next sample. */
static void warm_tlb(void *arg, int tid, int n_threads)
{
    const struct call *c = arg;
    const size_t unit = c->j->walk_bytes, first = bench_first(c->b, tid, unit);
    (void)n_threads;
    for (uint64_t i = 0; i < u64_min(c->n, u64_max(c->b->chunk_bytes / unit, 1)); i++)
        harness_warm_tlb(bench_unit(c->b, tid, first + i, unit), unit);
}

static void warm_loads_tlb(void *arg, int tid, int n_threads)
{
    (void)n_threads;
    for (size_t i = 0; i < BENCH_ADJACENT_UNITS; i++)
        harness_warm_tlb(bench_adjacent(arg, tid, i), BENCH_LOAD_BYTES);
}

static void call_loads(void *arg, int tid)
{
    bench_load_adjacent(arg, tid);
}

/* Plain loads of memory not read recently by probes or kernels. */
static void time_loads(struct kernel_bench *b, struct harness *m, struct sample *s)
{
    team_run(b->team, warm_loads_tlb, b);
    harness_time(m, call_loads, b, NULL, s);
    b->loaded += BENCH_ADJACENT_UNITS;
}

/* Mean of the self-timed durations (threads end at a barrier), or as struct sample.shared_s. */
static double spent_s(const struct kernel_bench *b, bool shared)
{
    double sum = 0, rates = 0;
    for (int i = 0; i < b->n_threads; i++) {
        sum += b->thread[i].spent_s;
        rates += 1 / b->thread[i].spent_s;
    }
    return shared ? b->n_threads / rates : sum / b->n_threads;
}

/* A bandwidth-bound sample between two plain-load probes, as shared bandwidth varies. */
static void between_loads(struct kernel_bench *b, struct harness *m, struct call *c, struct sample *s)
{
    struct sample before, after;
    time_loads(b, m, &before);
    harness_time(m, call, c, NULL, s);
    time_loads(b, m, &after);
    s->disturbed |= before.disturbed || after.disturbed;
    s->loads_bytes_s = 2.0 * BENCH_ADJACENT_UNITS * BENCH_LOAD_BYTES * b->n_threads / (before.seconds + after.seconds);
}

void bench_sample(struct benchmark *bm, struct harness *m, int variant, uint64_t n, struct sample *s)
{
    const struct kernel_benchmark *j = bm->data;
    struct kernel_bench *b = j->b;
    struct call c = { b, j, n };
    if (j->n_variant > 0) /* the kernel on trial, then the chosen one, also for adjacent probes */
        b->load = bench_load_at(b->cpu_flags, variant);
    for (int i = 0; i < b->n_threads; i++) {
        atomic_store_explicit(&b->thread[i].next, 0, memory_order_relaxed);
        b->thread[i].spent_s = 0;
    }
    bench_prepare(b, j);
    if (j->walk_bytes > 0)
        team_run(b->team, warm_tlb, &c);
    struct call all = { b, j, j->n_unit };
    if (j->n_unit > 0)
        harness_fill_cache(m, bm, call, &all);
    else
        m->warm = bm;
    if (j->adjacent && b->load)
        between_loads(b, m, &c, s);
    else if (j->run)
        harness_time(m, call, &c, NULL, s);
    else
        time_dispatch(b, n, s);
    bench_advance(b, j, n);
    const double amount = j->amount * (double)n, seconds = j->inside ? spent_s(b, j->shared) : j->shared ? s->shared_s : s->seconds;
    if (strcmp(j->unit, "s") == 0)
        s->value = seconds / (double)n;
    else
        s->value = seconds > 0 ? amount / seconds : NAN;
}

static void name(const struct kernel_benchmark *j, char *to, size_t n, int n_threads)
{
    if (j->n_key > 0 && strcmp(j->kind, "latency") == 0)
        snprintf(to, n, "%s call %s x%d of %d, %u key%s %dt", j->op, j->dtype, j->n_tok, j->head_dim, j->n_key, j->n_key == 1 ? "" : "s",
                 n_threads);
    else if (strcmp(j->kind, "latency") == 0)
        snprintf(to, n, "%s %dt", j->op, n_threads);
    else if (strcmp(j->op, "kvstore") == 0 && j->level == DRAM)
        snprintf(to, n, "%s %s %s x%d %dt", j->op, j->dtype, level_names[j->level], j->n_tok, n_threads);
    else if (strncmp(j->op, "matmat", 6) == 0 && j->level < DRAM)
        snprintf(to, n, "%s %s %s x%d %dt", j->op, j->dtype, level_names[j->level], j->n_tok, n_threads);
    else if (strncmp(j->op, "matvec", 6) == 0)
        snprintf(to, n, "%s %s %s %dt", j->op, j->dtype, level_names[j->level], n_threads);
    else if (j->head_dim > 0)
        snprintf(to, n, "%s %s%s x%d of %d %dt", j->op, j->dtype, j->again ? " again" : "", j->n_tok, j->head_dim, n_threads);
    else
        snprintf(to, n, "%s %s x%d %dt", j->op, j->dtype, j->n_tok, n_threads);
}

static int keep(const struct benchmark *bm, const struct harness *m, struct ceiling *c, struct hwprofile *h, struct error *err)
{
    const struct kernel_benchmark *j = bm->data;
    name(j, c->name, sizeof c->name, harness_threads(m));
    roof_describe(c, &(struct roof_texts){ .kind = j->kind, .op = j->op, .unit = j->unit });
    c->n_tok = j->n_tok;
    c->head_dim = j->head_dim;
    c->footprint_bytes = j->footprint_bytes;
    if (j->n_key > 0 && strcmp(j->kind, "latency") == 0) {
        c->n_query = (int)j->n_query;
        c->n_key = (int)j->n_key;
    }
    if (strcmp(j->kind, "kernel") == 0 || j->n_key > 0)
        roof_describe(c, &(struct roof_texts){ .dtype = j->dtype, .isa = j->b->k.isa, .level = j->level >= 0 ? level_names[j->level] : "" });
    if (strcmp(j->unit, "s") == 0)
        c->per_cycle = NAN;
    if (!isnan(c->value))
        snprintf(c->kernel, sizeof c->kernel, "%.47s", j->n_variant > 0 ? j->b->load->text : j->text);
    return hwprofile_add_ceiling(h, c, err);
}

static void benchmark_free(struct benchmark *bm)
{
    struct kernel_benchmark *j = bm->data;
    if (j)
        bench_release(j->b);
    free(j);
}

static const struct benchmark_class class = { .core = true, .prepare = prepare, .sample = bench_sample, .keep = keep, .free = benchmark_free };
static const struct benchmark_class latency_class = { .lower = true, .core = true, .prepare = prepare, .sample = bench_sample, .keep = keep,
                                                .free = benchmark_free };

/* ---- selection ---- */

/* Coverage of an effort. Types end with DTYPE_COUNT, tokens with 0. */
struct scope {
    const enum dtype *type, *kv_type;
    const int *n_tok;
    const int (*queries)[2]; /* tokens and heads of attention calls, zero-terminated */
    int first_level; /* innermost level of one-token products */
    int cached_tok;  /* tokens of products with cached weights; 0: none */
    bool file;       /* file-layout weights too */
    bool rest;       /* rarely relevant kernels: embedding, unquantized activations */
};

static const enum dtype common_types[] = { DTYPE_Q4_0, DTYPE_Q4_K, DTYPE_Q6_K, DTYPE_Q8_0, DTYPE_F16, DTYPE_BF16, DTYPE_F32,
                                           DTYPE_COUNT };
static const enum dtype all_types[] = { DTYPE_Q4_0, DTYPE_Q4_K,  DTYPE_Q6_K,  DTYPE_Q8_0,   DTYPE_F16,    DTYPE_BF16,
                                        DTYPE_F32,  DTYPE_Q5_K,  DTYPE_Q4_1,  DTYPE_Q5_0,   DTYPE_Q5_1,   DTYPE_Q2_K,
                                        DTYPE_Q3_K, DTYPE_IQ4_NL, DTYPE_IQ4_XS, DTYPE_MXFP4, DTYPE_COUNT };
static const enum dtype one_type[] = { DTYPE_Q8_0, DTYPE_COUNT };
static const enum dtype kv_types[] = { DTYPE_F16, DTYPE_Q8_0, DTYPE_COUNT };
static const enum dtype kv_type[] = { DTYPE_F16, DTYPE_COUNT };

/* One head; two and four sharing a key (decode); a multi-row call; a prompt. */
static const int few_queries[][2] = { { 1, 1 }, { 1, 4 }, { 64, 4 }, { 0, 0 } };
static const int most_queries[][2] = { { 1, 1 }, { 1, 2 }, { 1, 4 }, { 16, 4 }, { 64, 4 }, { 0, 0 } };
static const int all_queries[][2] = { { 1, 1 }, { 1, 2 }, { 1, 4 }, { 1, 8 }, { 16, 4 }, { 64, 4 }, { 0, 0 } };

static const struct scope scopes[] = {
    [CEILINGS_QUICK] = { common_types, kv_type, (const int[]){ 8, 64, 512, 0 }, few_queries, DRAM, 0, false, false },
    [CEILINGS_DEFAULT] = { all_types, kv_types, (const int[]){ 2, 4, 8, 16, 32, 64, 512, 0 }, most_queries, 0, 0, false, true },
    [CEILINGS_FULL] = { all_types, kv_types, (const int[]){ 2, 4, 8, 16, 32, 64, 256, 512, 0 }, all_queries, 0, 64, true, true },
    [CEILINGS_BRIEF] = { one_type, kv_type, (const int[]){ 8, 0 }, few_queries, DRAM, 0, false, true },
};

struct planning {
    struct kernel_bench *b;
    struct benchmark_list *l;
    struct error *err;
    bool failed;
};

/* there: the kernel exists. */
static void add(struct planning *p, const struct kernel_benchmark *made, bool there)
{
    if (!there || p->failed)
        return;
    struct kernel_benchmark *j = malloc(sizeof *j);
    struct benchmark *bm = j ? benchmark_add(p->l, strcmp(made->unit, "s") == 0 ? &latency_class : &class, p->err) : NULL;
    p->failed = !bm;
    if (!bm) {
        if (!j)
            error_oom(p->err, sizeof *j, "a roof");
        free(j);
        return;
    }
    *j = *made;
    p->b->n_benchmark++;
    bm->data = j;
    bm->tiles = j->tiles;
    const bool walks = strcmp(j->kind, "kernel") == 0 && j->walk_bytes > 0;
    bm->min_sample_s = walks && j->n_query > 1 ? ATTENTION_S : 0;
    bm->warmup_s = j->tiles || (walks && (j->n_tok > 1 || j->head_dim > 0)) ? LEAD_S : 0;
    bm->n_variant = j->n_variant > 0 ? j->n_variant : 1;
    /* cached kernels converge faster */
    bm->weight = (j->level == DRAM && strcmp(j->kind, "kernel") == 0) || strncmp(j->op, "matvec", 6) == 0 || j->inside ? 1 : 0.3;
    snprintf(bm->what, sizeof bm->what, "%s %s", j->op, j->dtype);
}

static bool has(const int *list, int n)
{
    while (*list && *list != n)
        list++;
    return *list == n;
}

static void add_type(struct planning *p, enum dtype t, const struct scope *s)
{
    for (int level = s->first_level; level <= DRAM; level++) {
        struct kernel_benchmark j = { .b = p->b };
        add(p, &j, bench_matvec(p->b, &j, t, level, false));
    }
    for (int level = 0; s->cached_tok && level < DRAM; level++) {
        struct kernel_benchmark j = { .b = p->b };
        add(p, &j, bench_matmat(p->b, &j, t, s->cached_tok, level, false));
    }
    for (const int *n = s->n_tok; *n; n++) {
        struct kernel_benchmark j = { .b = p->b };
        add(p, &j, bench_matmat(p->b, &j, t, *n, DRAM, false));
    }
    /* around the switch between kernels; time is linear elsewhere */
    const struct kernels *k = &p->b->k;
    const bool packed = k->packed[t].gemv;
    const struct matmul_slot *slot = packed ? &k->packed[t] : &k->mm[t];
    const unsigned tiles = packed ? (unsigned)kernels_tiles_min_tok(k, t) : 0;
    const unsigned last[] = { slot->gemv_max_tok, tiles ? tiles - 1 : 0 };
    for (size_t i = 0; i < 2 * ARRAY_LEN(last) && slot->gemv && s->n_tok[1]; i++) {
        const int n = (int)(last[i / 2] + i % 2);
        struct kernel_benchmark j = { .b = p->b };
        add(p, &j, !has(s->n_tok, n) && n > 1 && (i < 2 || last[i / 2] > last[0] + 1) && bench_matmat(p->b, &j, t, n, DRAM, false));
    }
    const int first = (int)slot->gemv_max_tok + 1, arranged[] = { first > 1 ? first : 2, tiles > (unsigned)first ? (int)tiles : 0, BENCH_TOKENS };
    for (size_t i = 0; i < ARRAY_LEN(arranged) && s->n_tok[1]; i++) {
        struct kernel_benchmark j = { .b = p->b };
        add(p, &j, arranged[i] && bench_pack_acts(p->b, &j, t, arranged[i]));
    }
    for (int file = 0; s->file && file < 2; file++) {
        struct kernel_benchmark j = { .b = p->b };
        add(p, &j, file ? bench_matmat(p->b, &j, t, BENCH_TOKENS, DRAM, true) : bench_matvec(p->b, &j, t, DRAM, true));
    }
    struct kernel_benchmark j = { .b = p->b };
    add(p, &j, s->rest && bench_embed(p->b, &j, t, 1));
}

/* Attention over keys from memory and, for several tokens, over keys in cache. */
static void add_rows(struct planning *p, struct kernel_benchmark *j, bool there)
{
    add(p, j, there);
    if (!there || j->n_query == 1 || strcmp(p->b->k.isa, "ref") == 0) /* the reference kernel takes a second per call */
        return;
    struct kernel_benchmark again = *j;
    bench_attention_reread(&again);
    add(p, &again, true);
}

/* Attention over a long context, and short calls: one token from memory and cached; a prompt, whose keys were just stored, cached
 * only. */
static void add_attention(struct planning *p, enum dtype t, const int *q, int dim)
{
    struct kernel_benchmark j = { .b = p->b }, few = { .b = p->b }, cached = { .b = p->b };
    add_rows(p, &j, bench_attention(p->b, &j, t, q[0], q[1], dim));
    add(p, &few, q[0] == 1 && bench_attention_call(p->b, &few, t, 1, q[1], dim, BENCH_FEW_KEYS, true));
    const bool calls = bench_attention_call(p->b, &cached, t, q[0], q[1], dim, q[0] == 1 ? BENCH_CACHED_KEYS : q[0], false);
    add(p, &cached, calls);
    const bool rounded = bench_attention_rounded(p->b, &j);
    add_rows(p, &j, rounded);
    add(p, &cached, calls && bench_attention_rounded(p->b, &cached));
    /* The cost per key dominates with a single head; intermediate head counts are not linear. */
    for (int n = 1; n < q[1]; n *= 2) {
        struct kernel_benchmark fewer = { .b = p->b };
        add_rows(p, &fewer, rounded && bench_attention(p->b, &fewer, t, q[0], n, dim) && bench_attention_rounded(p->b, &fewer));
    }
}

static void add_rest(struct planning *p, const struct scope *s)
{
    for (const enum dtype *t = s->kv_type; *t != DTYPE_COUNT; t++)
        for (const int(*q)[2] = s->queries; (*q)[0]; q++)
            for (int dim = BENCH_HEAD_DIM / 2; dim <= BENCH_HEAD_DIM; dim *= 2) /* head sizes in between are interpolated */
                add_attention(p, *t, *q, dim);
    bool more = true;
    for (size_t i = 0; more; i++)
        for (int n = 1; n <= BENCH_TOKENS; n += BENCH_TOKENS - 1) {
            struct kernel_benchmark j = { .b = p->b };
            more = bench_vector(p->b, &j, i, n);
            add(p, &j, more && (s->rest || j.act == ACT_KIND_COUNT || j.act == ACT_Q8));
        }
    struct kernel_benchmark dispatch = { .b = p->b };
    add(p, &dispatch, bench_dispatch(p->b, &dispatch));
}

struct kernel_bench *bench_new(int n_threads, const struct ceilings_options *o, struct error *err)
{
    struct kernel_bench *b = calloc(1, sizeof *b);
    bool small;
    if (!b) {
        error_oom(err, sizeof *b, "the kernels' roofs");
        return NULL;
    }
    b->n_benchmark = 1; /* held by the plan */
    b->n_threads = n_threads;
    b->cpu_flags = o->cpu_flags;
    b->load = bench_load_at(o->cpu_flags, 0);
    kernels_init(&b->k, o->cpu_flags);
    if (footprint_plan(o, b->n_threads, b->level_bytes, &b->want_bytes, &small, err) != 0) {
        bench_release(b);
        return NULL;
    }
    /* Scans continue across samples, with other benchmarks between: twice the LLC suffices. */
    if (!small && o->effort != CEILINGS_BRIEF)
        b->want_bytes = u64_max(b->want_bytes / 2, 1 << 30);
    b->chunk_bytes = b->want_bytes / (size_t)b->n_threads; /* provisional, until mapped */
    b->y_cols = u64_max(BENCH_WIDTH, (uint64_t)b->n_threads * BENCH_STRIP);
    b->thread = size_alloc((size_t)b->n_threads * sizeof *b->thread);
    if (b->thread)
        memset(b->thread, 0, (size_t)b->n_threads * sizeof *b->thread);
    if (b->thread && alloc_floats(b, err) == 0)
        return b;
    if (!b->thread)
        error_oom(err, (size_t)b->n_threads * sizeof *b->thread, "the threads' parts");
    bench_release(b);
    return NULL;
}

static int plan(struct benchmark_list *l, struct harness *m, struct hwprofile *h, const struct ceilings_options *o, struct error *err)
{
    const struct scope *s = &scopes[o->effort];
    const int n = harness_threads(m);
    (void)h;
    if (n != 1 && n != o->n_threads)
        return 0;
    struct planning p = { .l = l, .err = err, .b = bench_new(n, o, err) };
    if (!p.b)
        return -1;
    struct kernel_benchmark j = { .b = p.b };
    add(&p, &j, bench_load(p.b, &j));
    for (const enum dtype *t = s->type; *t != DTYPE_COUNT; t++)
        add_type(&p, *t, s);
    add_rest(&p, s);
    bench_release(p.b);
    struct benchmark *ignored;
    for (int i = 0; i < COHERENCE_COUNT && !p.failed; i++)
        if (n > 1 || i != COHERENCE_BARRIER) /* no barrier for one thread */
            p.failed = coherence_add(&ignored, l, (enum coherence_kind)i, n, o->cpu_flags, err) != 0;
    return p.failed ? -1 : 0;
}

const struct ceilings_provider ceilings_kernels = { .name = "kernels", .weight = 1, .plan = plan };
