/*
 * The roofs of the engine's own kernels, as a provider of jobs: for every type that the engine executes what a product by one
 * token reads a second and what one by several computes, attention, the small ops, and the team's barrier. For one thread
 * and for all, as those are the ones that predictions ask for. methods.md (78)
 */
#include "ceilings/kernel_bench.h"
#include "ceilings/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char *const level_names[] = { "L1", "L2", "L3", "DRAM" };
enum { DRAM = 3, HUGE_PAGE = 2 << 20 };
/* A pass has several calls of attention for a thread, one behind another; one alone takes a tenth longer. */
static const double ATTENTION_S = 0.01;
/* A short sample behind other kernels' may find less than a pass does, which has a kernel for longer. (78) */
static const double LEAD_S = 0.01;

/* ---- memory -------------------------------------------------------------------------------------------- */

/*
 * Bytes that every type reads as ordinary weights: the upper half of each byte is 3 or B, so that a number of 16 or 32 bits
 * lies between 1e-10 and 2, of either sign, and a scale of 8 is no extreme; the lower half is random, so that adders toggle.
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
        page[at / sizeof page % ARRAY_LEN(page)] ^= UINT64_C(0x0102040804020100); /* no two pages alike; lower halves */
    }
}

static void fill_weights(void *arg, int tid, int n_threads)
{
    struct kernel_bench *b = arg;
    (void)n_threads;
    bench_fill(b->w + (size_t)tid * b->chunk_bytes, b->chunk_bytes, 2 * (uint64_t)tid + 1);
    bench_fill(bench_kept(b, tid), b->kept_bytes, 2 * (uint64_t)tid + 2);
}

int bench_map(struct kernel_bench *b, struct team *t, struct error *err)
{
    b->team = t;
    const size_t chunk = b->want_bytes / (size_t)b->n_threads / HUGE_PAGE * HUGE_PAGE;
    b->chunk_bytes = chunk ? chunk : HUGE_PAGE;
    b->kept_bytes = HUGE_PAGE;
    for (int level = 0; level < DRAM; level++)
        b->kept_bytes = u64_max(b->kept_bytes, size_align_up(b->level_bytes[level], HUGE_PAGE));
    b->map_bytes = (b->chunk_bytes + b->kept_bytes) * (size_t)b->n_threads + HUGE_PAGE;
    void *p = mmap(NULL, b->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return error_oom(err, b->map_bytes, "the weights of the kernels' roofs");
    b->map = p;
    b->w = (unsigned char *)size_align_up((size_t)p, HUGE_PAGE);
#ifdef MADV_HUGEPAGE
    (void)madvise(p, b->map_bytes, MADV_HUGEPAGE); /* as packed weights have them */
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
    for (size_t p = 0; p < BENCH_PLACES; p++) {
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
    const size_t n = (size_t)BENCH_PLACES * BENCH_TOKENS * BENCH_COLS;
    size_t acts = 0;
    for (int k = 0; k < ACT_KIND_COUNT; k++)
        acts = u64_max(acts, acts_bytes((enum act_kind)k, BENCH_TOKENS, BENCH_COLS));
    b->x = size_alloc(n * sizeof *b->x);
    b->z = size_alloc(n * sizeof *b->z);
    b->y = size_alloc(BENCH_TOKENS * size_row_floats(b->y_cols) * sizeof *b->y);
    b->act_mem = size_alloc(acts);
    b->act_tiles = size_alloc(acts_tiles_bytes(ACT_F32, DTYPE_F32, BENCH_TOKENS, BENCH_COLS));
    bool all = b->x && b->y && b->z && b->act_mem && b->act_tiles;
    for (int i = 0; i < b->n_threads; i++) {
        b->lane[i].scratch = size_alloc(scratch_bytes());
        b->lane[i].out = size_alloc(BENCH_OUT * sizeof(float));
        all &= b->lane[i].scratch && b->lane[i].out;
    }
    if (!all)
        return error_oom(err, (2 * n + BENCH_TOKENS * size_row_floats(b->y_cols)) * sizeof *b->x, "the activations of the kernels' roofs");
    fill_floats(b);
    return 0;
}

void bench_release(struct kernel_bench *b)
{
    if (--b->n_job > 0)
        return;
    for (int i = 0; b->lane && i < b->n_threads; i++) {
        free(b->lane[i].scratch);
        free(b->lane[i].out);
    }
    if (b->map)
        munmap(b->map, b->map_bytes);
    free(b->lane);
    free(b->act_mem);
    free(b->act_tiles);
    free(b->x);
    free(b->y);
    free(b->z);
    free(b);
}

/* ---- jobs ----------------------------------------------------------------------------------------------- */

static int prepare(struct job *job, struct meter *m, struct error *err)
{
    struct kernel_bench *b = ((struct kernel_job *)job->data)->b;
    return b->map ? 0 : bench_map(b, meter_team(m), err);
}

struct call {
    struct kernel_bench *b;
    const struct kernel_job *j;
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

void bench_go_on(struct kernel_bench *b, const struct kernel_job *j, uint64_t n)
{
    const size_t unit = j->walk_bytes, count = unit ? u64_max(b->chunk_bytes / unit, 1) : 0;
    for (int i = 0; i < b->n_threads; i++) {
        b->lane[i].at += n;
        if (unit)
            b->lane[i].to = (bench_first(b, i, unit) + n) % count * unit;
    }
}

void bench_prepare(struct kernel_bench *b, const struct kernel_job *j)
{
    if (b->last == j)
        return;
    b->last = j;
    if (j->act == ACT_KIND_COUNT)
        return;
    acts_bind(&b->acts, j->act, (size_t)j->n_tok, j->cols, b->act_mem);
    b->acts.pow2 = kernels_acts_pow2(&b->k, j->slot == &b->k.packed[j->type], (size_t)j->n_tok);
    b->k.act_prepare[j->act](&b->acts, b->x, BENCH_COLS, 0, (size_t)j->n_tok);
    if (j->slot == &b->k.packed[j->type] && kernels_packs_acts(&b->k, j->type, b->acts.n_tok)) { /* as the engine does, once for all rows */
        b->acts.tiles = b->act_tiles;
        b->k.pack_acts[j->type](&b->acts, j->type, 0, 1);
    }
}

/* Of what a sample will walk: pages that an engine walks in every pass are not looked up anew. */
static void translate_walk(void *arg, int tid, int n_threads)
{
    const struct call *c = arg;
    const size_t unit = c->j->walk_bytes, first = bench_first(c->b, tid, unit);
    (void)n_threads;
    for (uint64_t i = 0; i < u64_min(c->n, u64_max(c->b->chunk_bytes / unit, 1)); i++)
        meter_translate(bench_unit(c->b, tid, first + i, unit), unit);
}

static void translate_loads(void *arg, int tid, int n_threads)
{
    (void)n_threads;
    for (size_t i = 0; i < BENCH_BESIDE; i++)
        meter_translate(bench_beside(arg, tid, i), BENCH_LOAD_BYTES);
}

static void call_loads(void *arg, int tid)
{
    bench_load_beside(arg, tid);
}

/* Plain loads of memory that neither they nor, but by chance, the kernels have just read. */
static void time_loads(struct kernel_bench *b, struct meter *m, struct sample *s)
{
    team_run(b->team, translate_loads, b);
    meter_time(m, call_loads, b, NULL, s);
    b->loaded += BENCH_BESIDE;
}

/* Of what the threads timed themselves: the mean, as they meet at the end of it; or as struct sample.shared_s. */
static double spent_s(const struct kernel_bench *b, bool shared)
{
    double sum = 0, rates = 0;
    for (int i = 0; i < b->n_threads; i++) {
        sum += b->lane[i].spent_s;
        rates += 1 / b->lane[i].spent_s;
    }
    return shared ? b->n_threads / rates : sum / b->n_threads;
}

/* A sample that waits for memory, between two of plain loads: memory that others share gives now more and now less. */
static void between_loads(struct kernel_bench *b, struct meter *m, struct call *c, struct sample *s)
{
    struct sample before, after;
    time_loads(b, m, &before);
    meter_time(m, call, c, NULL, s);
    time_loads(b, m, &after);
    s->disturbed |= before.disturbed || after.disturbed;
    s->loads_bytes_s = 2.0 * BENCH_BESIDE * BENCH_LOAD_BYTES * b->n_threads / (before.seconds + after.seconds);
}

void bench_sample(struct job *job, struct meter *m, int variant, uint64_t n, struct sample *s)
{
    const struct kernel_job *j = job->data;
    struct kernel_bench *b = j->b;
    struct call c = { b, j, n };
    if (j->n_variant > 0) /* the one that is tried, and then the one that was chosen: those beside other samples, too */
        b->load = bench_load_at(b->cpu_flags, variant);
    for (int i = 0; i < b->n_threads; i++) {
        atomic_store_explicit(&b->lane[i].next, 0, memory_order_relaxed);
        b->lane[i].spent_s = 0;
    }
    bench_prepare(b, j);
    if (j->walk_bytes > 0)
        team_run(b->team, translate_walk, &c);
    struct call all = { b, j, j->n_unit };
    if (j->n_unit > 0)
        meter_fill(m, job, call, &all);
    else
        m->warm = job;
    if (j->beside && b->load)
        between_loads(b, m, &c, s);
    else if (j->run)
        meter_time(m, call, &c, NULL, s);
    else
        time_dispatch(b, n, s);
    bench_go_on(b, j, n);
    const double amount = j->amount * (double)n, seconds = j->inside ? spent_s(b, j->shared) : j->shared ? s->shared_s : s->seconds;
    if (strcmp(j->unit, "s") == 0)
        s->value = seconds / (double)n;
    else
        s->value = seconds > 0 ? amount / seconds : NAN;
}

static void name(const struct kernel_job *j, char *to, size_t n, int n_threads)
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

static int keep(const struct job *job, const struct meter *m, struct ceiling *c, struct hwprofile *h, struct error *err)
{
    const struct kernel_job *j = job->data;
    name(j, c->name, sizeof c->name, meter_threads(m));
    snprintf(c->kind, sizeof c->kind, "%s", j->kind);
    snprintf(c->op, sizeof c->op, "%s", j->op);
    snprintf(c->unit, sizeof c->unit, "%s", j->unit);
    c->n_tok = j->n_tok;
    c->head_dim = j->head_dim;
    c->footprint_bytes = j->footprint_bytes;
    if (j->n_key > 0 && strcmp(j->kind, "latency") == 0) {
        c->n_query = (int)j->n_query;
        c->n_key = (int)j->n_key;
    }
    if (strcmp(j->kind, "kernel") == 0 || j->n_key > 0) {
        snprintf(c->dtype, sizeof c->dtype, "%s", j->dtype);
        snprintf(c->isa, sizeof c->isa, "%s", j->b->k.isa);
        snprintf(c->level, sizeof c->level, "%s", j->level >= 0 ? level_names[j->level] : "");
    }
    if (strcmp(j->unit, "s") == 0)
        c->per_cycle = NAN;
    if (!isnan(c->value))
        snprintf(c->kernel, sizeof c->kernel, "%.47s", j->n_variant > 0 ? j->b->load->text : j->text);
    return hwprofile_add_ceiling(h, c, err);
}

static void job_free(struct job *job)
{
    struct kernel_job *j = job->data;
    if (j)
        bench_release(j->b);
    free(j);
}

static const struct job_class class = { .core = true, .prepare = prepare, .sample = bench_sample, .keep = keep, .free = job_free };
static const struct job_class latency_class = { .lower = true, .core = true, .prepare = prepare, .sample = bench_sample, .keep = keep,
                                                .free = job_free };

/* ---- which ones -------------------------------------------------------------------------------------------- */

/* What one looks at. Types end with DTYPE_COUNT, tokens with 0. */
struct scope {
    const enum dtype *type, *kv_type;
    const int *n_tok;
    const int (*queries)[2]; /* tokens and heads of a call of attention; ends with zeros */
    int first_level; /* of products by one token: that one to DRAM */
    int cached_tok;  /* tokens of products with weights from L1, L2 and L3; 0: none */
    bool file;       /* also products with weights as the file has them */
    bool rest;       /* also what seldom matters: embedding rows, activations that are not quantized */
};

static const enum dtype common_types[] = { DTYPE_Q4_0, DTYPE_Q4_K, DTYPE_Q6_K, DTYPE_Q8_0, DTYPE_F16, DTYPE_BF16, DTYPE_F32,
                                           DTYPE_COUNT };
static const enum dtype all_types[] = { DTYPE_Q4_0, DTYPE_Q4_K,  DTYPE_Q6_K,  DTYPE_Q8_0,   DTYPE_F16,    DTYPE_BF16,
                                        DTYPE_F32,  DTYPE_Q5_K,  DTYPE_Q4_1,  DTYPE_Q5_0,   DTYPE_Q5_1,   DTYPE_Q2_K,
                                        DTYPE_Q3_K, DTYPE_IQ4_NL, DTYPE_IQ4_XS, DTYPE_MXFP4, DTYPE_COUNT };
static const enum dtype one_type[] = { DTYPE_Q8_0, DTYPE_COUNT };
static const enum dtype kv_types[] = { DTYPE_F16, DTYPE_Q8_0, DTYPE_COUNT };
static const enum dtype kv_type[] = { DTYPE_F16, DTYPE_COUNT };

/* A head alone, two and four that share a key, which is what a pass of one token has; more than kernels take as stored; a prompt. */
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
    struct job_list *l;
    struct error *err;
    bool failed;
};

/* there: the kernel exists here. */
static void add(struct planning *p, const struct kernel_job *made, bool there)
{
    if (!there || p->failed)
        return;
    struct kernel_job *j = malloc(sizeof *j);
    struct job *job = j ? job_add(p->l, strcmp(made->unit, "s") == 0 ? &latency_class : &class, p->err) : NULL;
    p->failed = !job;
    if (!job) {
        if (!j)
            error_oom(p->err, sizeof *j, "a roof");
        free(j);
        return;
    }
    *j = *made;
    p->b->n_job++;
    job->data = j;
    job->tiles = j->tiles;
    const bool walks = strcmp(j->kind, "kernel") == 0 && j->walk_bytes > 0;
    job->least_s = walks && j->n_query > 1 ? ATTENTION_S : 0;
    job->lead_s = j->tiles || (walks && (j->n_tok > 1 || j->head_dim > 0)) ? LEAD_S : 0;
    job->n_variant = j->n_variant > 0 ? j->n_variant : 1;
    /* What stays in the caches settles soon. */
    job->weight = (j->level == DRAM && strcmp(j->kind, "kernel") == 0) || strncmp(j->op, "matvec", 6) == 0 || j->inside ? 1 : 0.3;
    snprintf(job->what, sizeof job->what, "%s %s", j->op, j->dtype);
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
        struct kernel_job j = { .b = p->b };
        add(p, &j, bench_matvec(p->b, &j, t, level, false));
    }
    for (int level = 0; s->cached_tok && level < DRAM; level++) {
        struct kernel_job j = { .b = p->b };
        add(p, &j, bench_matmat(p->b, &j, t, s->cached_tok, level, false));
    }
    for (const int *n = s->n_tok; *n; n++) {
        struct kernel_job j = { .b = p->b };
        add(p, &j, bench_matmat(p->b, &j, t, *n, DRAM, false));
    }
    /* Where one kernel ends and the other begins: between other points times are on a line. */
    const struct kernels *k = &p->b->k;
    const bool packed = k->packed[t].gemv;
    const struct matmul_slot *slot = packed ? &k->packed[t] : &k->mm[t];
    const unsigned tiles = packed ? (unsigned)kernels_tiles_min_tok(k, t) : 0;
    const unsigned last[] = { slot->gemv_max_tok, tiles ? tiles - 1 : 0 };
    for (size_t i = 0; i < 2 * ARRAY_LEN(last) && slot->gemv && s->n_tok[1]; i++) {
        const int n = (int)(last[i / 2] + i % 2);
        struct kernel_job j = { .b = p->b };
        add(p, &j, !has(s->n_tok, n) && n > 1 && (i < 2 || last[i / 2] > last[0] + 1) && bench_matmat(p->b, &j, t, n, DRAM, false));
    }
    const int first = (int)slot->gemv_max_tok + 1, arranged[] = { first > 1 ? first : 2, tiles > (unsigned)first ? (int)tiles : 0, BENCH_TOKENS };
    for (size_t i = 0; i < ARRAY_LEN(arranged) && s->n_tok[1]; i++) {
        struct kernel_job j = { .b = p->b };
        add(p, &j, arranged[i] && bench_arrange(p->b, &j, t, arranged[i]));
    }
    for (int file = 0; s->file && file < 2; file++) {
        struct kernel_job j = { .b = p->b };
        add(p, &j, file ? bench_matmat(p->b, &j, t, BENCH_TOKENS, DRAM, true) : bench_matvec(p->b, &j, t, DRAM, true));
    }
    struct kernel_job j = { .b = p->b };
    add(p, &j, s->rest && bench_embed(p->b, &j, t, 1));
}

/* Rows against keys from memory, and, of several tokens, against keys that a call has just read. */
static void add_rows(struct planning *p, struct kernel_job *j, bool there)
{
    add(p, j, there);
    if (!there || j->n_query == 1 || strcmp(p->b->k.isa, "ref") == 0) /* the plain kernel takes a second a call */
        return;
    struct kernel_job again = *j;
    bench_attention_again(&again);
    add(p, &again, true);
}

/* Rows against many keys; and calls that see few: of one token as they begin in memory, and in a cache; a prompt, whose keys were just
 * stored, in a cache alone. */
static void add_attention(struct planning *p, enum dtype t, const int *q, int dim)
{
    struct kernel_job j = { .b = p->b }, few = { .b = p->b }, cached = { .b = p->b };
    add_rows(p, &j, bench_attention(p->b, &j, t, q[0], q[1], dim));
    add(p, &few, q[0] == 1 && bench_attention_call(p->b, &few, t, 1, q[1], dim, BENCH_FEW_KEYS, true));
    const bool calls = bench_attention_call(p->b, &cached, t, q[0], q[1], dim, q[0] == 1 ? BENCH_CACHED_KEYS : q[0], false);
    add(p, &cached, calls);
    const bool rounded = bench_attention_rounded(p->b, &j);
    add_rows(p, &j, rounded);
    add(p, &cached, calls && bench_attention_rounded(p->b, &cached));
    /* What a key takes once, whatever rows see it, is most of it where a head alone sees it; half of the rows need not be on a line between. */
    for (int n = 1; n < q[1]; n *= 2) {
        struct kernel_job fewer = { .b = p->b };
        add_rows(p, &fewer, rounded && bench_attention(p->b, &fewer, t, q[0], n, dim) && bench_attention_rounded(p->b, &fewer));
    }
}

static void add_rest(struct planning *p, const struct scope *s)
{
    for (const enum dtype *t = s->kv_type; *t != DTYPE_COUNT; t++)
        for (const int(*q)[2] = s->queries; (*q)[0]; q++)
            for (int dim = BENCH_HEAD_DIM / 2; dim <= BENCH_HEAD_DIM; dim *= 2) /* between these and beyond, on a line */
                add_attention(p, *t, *q, dim);
    bool more = true;
    for (size_t i = 0; more; i++)
        for (int n = 1; n <= BENCH_TOKENS; n += BENCH_TOKENS - 1) {
            struct kernel_job j = { .b = p->b };
            more = bench_vector(p->b, &j, i, n);
            add(p, &j, more && (s->rest || j.act == ACT_KIND_COUNT || j.act == ACT_Q8));
        }
    struct kernel_job dispatch = { .b = p->b };
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
    b->n_job = 1; /* the plan's hold */
    b->n_threads = n_threads;
    b->cpu_flags = o->cpu_flags;
    b->load = bench_load_at(o->cpu_flags, 0);
    kernels_init(&b->k, o->cpu_flags);
    if (footprint_plan(o, b->n_threads, b->level_bytes, &b->want_bytes, &small, err) != 0) {
        bench_release(b);
        return NULL;
    }
    /* Walked on from sample to sample, with others' gigabytes between: twice what the caches hold will do, and is touched in half the time. */
    if (!small)
        b->want_bytes = u64_max(b->want_bytes / 2, 1 << 30);
    b->chunk_bytes = b->want_bytes / (size_t)b->n_threads; /* until it is mapped, for what is planned with it */
    b->y_cols = u64_max(BENCH_WIDTH, (uint64_t)b->n_threads * BENCH_STRIP);
    b->lane = size_alloc((size_t)b->n_threads * sizeof *b->lane);
    if (b->lane)
        memset(b->lane, 0, (size_t)b->n_threads * sizeof *b->lane);
    if (b->lane && alloc_floats(b, err) == 0)
        return b;
    if (!b->lane)
        error_oom(err, (size_t)b->n_threads * sizeof *b->lane, "the threads' parts");
    bench_release(b);
    return NULL;
}

static int plan(struct job_list *l, struct meter *m, struct hwprofile *h, const struct ceilings_options *o, struct error *err)
{
    const struct scope *s = &scopes[o->effort];
    const int n = meter_threads(m);
    (void)h;
    if (n != 1 && n != o->n_threads)
        return 0;
    struct planning p = { .l = l, .err = err, .b = bench_new(n, o, err) };
    if (!p.b)
        return -1;
    struct kernel_job j = { .b = p.b };
    add(&p, &j, bench_load(p.b, &j));
    for (const enum dtype *t = s->type; *t != DTYPE_COUNT; t++)
        add_type(&p, *t, s);
    add_rest(&p, s);
    bench_release(p.b);
    struct job *ignored;
    for (int i = 0; i < EXCHANGE_COUNT && !p.failed; i++)
        if (n > 1 || i != EXCHANGE_MEET) /* one thread waits for nobody */
            p.failed = exchange_add(&ignored, l, (enum exchange_kind)i, n, o->cpu_flags, err) != 0;
    return p.failed ? -1 : 0;
}

const struct ceilings_provider ceilings_kernels = { .name = "kernels", .weight = 1, .plan = plan };
