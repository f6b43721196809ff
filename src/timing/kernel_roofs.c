/*
 * The engine's own kernels as roofs: read from the ceilings of a profile, and an op's seconds under them.
 * methods.md (78), (29)
 */
#include "timing/internal.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const op_names[KERNEL_OP_COUNT] = {
    [KERNEL_PRODUCT] = "matmat",  [KERNEL_ATTENTION] = "attention", [KERNEL_QUANTIZE] = "quantize",
    [KERNEL_PACK_ACTS] = "arrange", [KERNEL_PREPARE] = "prepare",
    [KERNEL_ATTENTION_ROUNDED] = "attention-bf16",
    [KERNEL_ATTENTION_AGAIN] = "attention again", [KERNEL_ATTENTION_ROUNDED_AGAIN] = "attention-bf16 again",
    [KERNEL_EMBED] = "embed",     [KERNEL_KV_STORE] = "kvstore",    [KERNEL_RMS_NORM] = "rmsnorm",
    [KERNEL_ROPE] = "rope",       [KERNEL_SILU] = "silu",           [KERNEL_ADD] = "add",
    [KERNEL_KV_STORE_FAR] = "kvstore DRAM", [KERNEL_COHERENCE_READ] = "exchange-read",
    [KERNEL_COHERENCE_WRITE] = "exchange-write",
};

/* ---- from a profile -------------------------------------------------------------------------------- */

static bool is_kind(const struct ceiling *c, const char *kind, int n_threads)
{
    return strcmp(c->kind, kind) == 0 && c->value > 0 && (n_threads == 0 || c->n_threads == n_threads);
}

/* The measured numbers of threads around the requested one: *low the largest not above it, *high the smallest not below it. 0: none on
 * that side. */
static void threads_around(const struct hwprofile *h, int n_threads, int *low, int *high)
{
    *low = *high = 0;
    for (size_t i = 0; i < h->n_ceiling; i++) {
        const int n = h->ceiling[i].n_threads;
        if (!is_kind(&h->ceiling[i], "kernel", 0))
            continue;
        if (n <= n_threads && n > *low)
            *low = n;
        if (n >= n_threads && (*high == 0 || n < *high))
            *high = n;
    }
}

/* The roof of an op and type, added if new; NULL: unknown, or no room. */
static struct kernel_roof *roof_of(struct kernel_roofs *k, const struct ceiling *c)
{
    const char *op = strcmp(c->op, "matvec") == 0 ? op_names[KERNEL_PRODUCT] : c->op;
    const struct dtype_info *type = dtype_find_name(c->dtype);
    int o = 0, head_dim = 0;
    while (o < KERNEL_OP_COUNT && strcmp(op_names[o], op) != 0)
        o++;
    if (o == KERNEL_KV_STORE && strcmp(c->level, "DRAM") == 0)
        o = KERNEL_KV_STORE_FAR;
    if (!type || o == KERNEL_OP_COUNT || (o == KERNEL_PRODUCT && strcmp(c->op, "matmat") == 0 && c->level[0] == 'L')) /* timed from memory, as it runs */
        return NULL;
    if ((o == KERNEL_ATTENTION || o == KERNEL_ATTENTION_ROUNDED) && c->level[0] == 0)
        o += KERNEL_ATTENTION_AGAIN - KERNEL_ATTENTION;
    if (kernel_op_attends((enum kernel_op)o)) /* older profiles do not state it */
        head_dim = c->head_dim > 0 ? c->head_dim : 128;
    for (size_t i = 0; i < k->n; i++)
        if (k->roof[i].op == (enum kernel_op)o && k->roof[i].dtype == type->id && k->roof[i].head_dim == head_dim)
            return &k->roof[i];
    if (k->n == KERNEL_ROOFS)
        return NULL;
    k->roof[k->n] = (struct kernel_roof){ .op = (enum kernel_op)o, .dtype = type->id, .head_dim = head_dim, .dram_bytes_s = NAN,
                                          .llc_bytes_s = NAN, .best_bytes_s = NAN };
    return &k->roof[k->n++];
}

/* Points are sorted by tokens; of two with equal tokens the faster is kept. */
static void add_point(struct kernel_roof *k, double n_tok, double rate, double memory_part)
{
    size_t i = k->n;
    while (i > 0 && k->n_tok[i - 1] > n_tok)
        i--;
    if (i > 0 && k->n_tok[i - 1] == n_tok) {
        k->memory_part[i - 1] = rate > k->rate[i - 1] ? memory_part : k->memory_part[i - 1];
        k->rate[i - 1] = fmax(k->rate[i - 1], rate);
        return;
    }
    if (k->n == KERNEL_POINTS)
        return;
    memmove(&k->n_tok[i + 1], &k->n_tok[i], (k->n - i) * sizeof k->n_tok[0]);
    memmove(&k->rate[i + 1], &k->rate[i], (k->n - i) * sizeof k->rate[0]);
    memmove(&k->memory_part[i + 1], &k->memory_part[i], (k->n - i) * sizeof k->memory_part[0]);
    k->n_tok[i] = n_tok;
    k->rate[i] = rate;
    k->memory_part[i] = memory_part;
    k->n++;
}

/* "L3" is the last level where "L3" is the highest that the profile lists. */
static bool is_last_level(const struct hwprofile *h, const char *level)
{
    int last = 0;
    for (size_t i = 0; i < h->n_cache; i++)
        last = h->cache[i].level > last ? h->cache[i].level : last;
    return level[0] == 'L' && level[1] - '0' == last;
}

/* Spread of the logarithm: of the median (95 % of a normal distribution lie within 1.96 of it), and between rounds. (70) */
static double spread_of(const struct ceiling *c)
{
    const double median = c->ci_lo > 0 && c->ci_hi > 0 ? log(c->ci_hi / c->ci_lo) / (2 * 1.96) : 0;
    return hypot(median, c->between_rounds > 0 ? c->between_rounds : 0);
}

static bool is_exchange(enum kernel_op o)
{
    return o == KERNEL_COHERENCE_READ || o == KERNEL_COHERENCE_WRITE;
}

/* B/s of coherence traffic beyond a thread's own rows; infinite where there is none. (33) */
static double coherence_bytes_s(const struct hwprofile *h, const struct ceiling *c)
{
    const struct ceiling *own = hwprofile_ceiling(h, c->kind, c->op, c->dtype, c->level, c->n_tok, 1);
    const bool alone = own && own->n_threads == 1 && own->n_tok == c->n_tok && own->value > 0;
    const double longer = 1 / kernel_at_once(h, c) - (alone ? 1 / (c->n_threads * kernel_at_once(h, own)) : 0);
    return c->n_threads > 1 && longer > 0 ? 1 / longer : INFINITY;
}

static void add_ceiling(struct kernel_roofs *k, const struct hwprofile *h, const struct ceiling *c)
{
    struct kernel_roof *roof = roof_of(k, c);
    const bool streams = roof && roof->op <= KERNEL_ATTENTION_ROUNDED_AGAIN && strcmp(c->unit, "B/s") == 0;
    if (!roof || (roof->op <= KERNEL_ATTENTION_ROUNDED_AGAIN && !streams && strcmp(c->unit, "FLOP/s") != 0))
        return;
    roof->sd = fmax(roof->sd, spread_of(c));
    if (is_exchange(roof->op)) {
        add_point(roof, c->n_tok, coherence_bytes_s(h, c), 0);
        return;
    }
    const double rate = kernel_at_once(h, c);
    if (!streams) {
        add_point(roof, c->n_tok > 0 ? c->n_tok : 1, rate, roof->op == KERNEL_PRODUCT ? kernel_memory_part(h, c) : 0);
        return;
    }
    if (strcmp(c->level, "DRAM") == 0)
        roof->dram_bytes_s = rate;
    if (is_last_level(h, c->level))
        roof->llc_bytes_s = rate;
    roof->best_bytes_s = fmax(roof->best_bytes_s, rate); /* of a number and NaN: the number */
}

/* A product by one token computes at least as fast as its weights arrive from the fastest level: 2 FLOP a weight. Attention by one row
 * likewise: a product and a sum for an element of a key, and for one of a value. */
static void add_first_point(struct kernel_roof *k)
{
    if (k->op <= KERNEL_ATTENTION_ROUNDED_AGAIN && k->best_bytes_s > 0)
        add_point(k, 1, 16 * k->best_bytes_s / dtype_bits(k->dtype), 0);
}

static const struct kernel_roofs no_kernels = { .barrier_s = NAN, .dispatch_s = NAN };

static int load(struct kernel_roofs *k, const struct hwprofile *h, int n_threads, struct error *err)
{
    *k = no_kernels;
    k->n_threads = n_threads;
    k->roof = malloc(KERNEL_ROOFS * sizeof *k->roof);
    if (!k->roof)
        return error_oom(err, KERNEL_ROOFS * sizeof *k->roof, "the roofs of kernels");
    for (size_t i = 0; i < h->n_ceiling; i++) {
        const struct ceiling *c = &h->ceiling[i];
        if (is_kind(c, "kernel", n_threads) && !ceiling_rounds_scales(c))
            add_ceiling(k, h, c);
        else if (is_kind(c, "latency", n_threads) && strcmp(c->op, "barrier") == 0)
            k->barrier_s = kernel_at_once(h, c);
        else if (is_kind(c, "latency", n_threads) && strcmp(c->op, "dispatch") == 0)
            k->dispatch_s = kernel_at_once(h, c);
    }
    for (size_t i = 0; i < k->n; i++)
        add_first_point(&k->roof[i]);
    attention_roofs_load(k, h);
    return 0;
}

/* ---- numbers of threads between those that were measured --------------------------------------------- */

static double blend(double low, double high, double x)
{
    return isnan(low) || isnan(high) ? low : low + (high - low) * x;
}

/* Position of plain memory reads with n threads between low and high: they saturate, and kernels with them. */
static double saturation(const struct hwprofile *h, int low, int n, int high, double otherwise)
{
    const struct ceiling *a = hwprofile_bandwidth(h, "DRAM", low), *b = hwprofile_bandwidth(h, "DRAM", n),
                         *c = hwprofile_bandwidth(h, "DRAM", high);
    if (!a || !b || !c || a->n_threads != low || b->n_threads != n || c->n_threads != high || !(c->value > a->value))
        return otherwise;
    return fmin(1, fmax(0, (b->value - a->value) / (c->value - a->value)));
}

static void blend_roof(struct kernel_roof *k, const struct kernel_roof *high, double memory, double threads)
{
    k->dram_bytes_s = blend(k->dram_bytes_s, high->dram_bytes_s, memory);
    k->llc_bytes_s = blend(k->llc_bytes_s, high->llc_bytes_s, threads);
    k->best_bytes_s = blend(k->best_bytes_s, high->best_bytes_s, threads);
    for (size_t i = 0; i < k->n; i++) {
        const double far = kernel_roof_rate(high, k->n_tok[i]);
        k->rate[i] = is_exchange(k->op) ? 1 / blend(1 / k->rate[i], 1 / far, threads) : blend(k->rate[i], far, threads);
        for (size_t j = 0; j < high->n; j++)
            if (high->n_tok[j] == k->n_tok[i])
                k->memory_part[i] = blend(k->memory_part[i], high->memory_part[j], threads);
    }
    for (size_t i = 0; i < k->n_call; i++)
        k->call_s[i] = blend(k->call_s[i], kernel_roof_call_s(high, k->call_rows[i]), threads);
}

/* Compute rates are linear in threads, memory rates follow plain reads. (30) */
static int load_between(struct kernel_roofs *k, const struct hwprofile *h, int low, int n, int high, struct error *err)
{
    struct kernel_roofs far;
    if (load(k, h, low, err) != 0 || load(&far, h, high, err) != 0)
        return -1;
    const double threads = (double)(n - low) / (high - low), memory = saturation(h, low, n, high, threads);
    for (size_t i = 0; i < k->n; i++)
        for (size_t j = 0; j < far.n; j++)
            if (far.roof[j].op == k->roof[i].op && far.roof[j].dtype == k->roof[i].dtype &&
                far.roof[j].head_dim == k->roof[i].head_dim)
                blend_roof(&k->roof[i], &far.roof[j], memory, threads);
    k->barrier_s = isnan(k->barrier_s) ? far.barrier_s * threads : blend(k->barrier_s, far.barrier_s, threads);
    k->dispatch_s = blend(k->dispatch_s, far.dispatch_s, threads);
    k->n_threads = n;
    free(far.roof);
    return 0;
}

int kernel_roofs_init(struct kernel_roofs *k, const struct hwprofile *h, const struct predict_options *o, struct error *err)
{
    int low, high;
    const int n_threads = o->n_threads > 0 ? o->n_threads : INT_MAX;
    *k = no_kernels;
    if (o->weights_bytes > 0 || h->kind != HW_CPU)
        return 0;
    threads_around(h, n_threads, &low, &high);
    if (low == 0 && high == 0)
        return 0;
    if ((low > 0 && high > low && low < n_threads ? load_between(k, h, low, n_threads, high, err) : load(k, h, low > 0 ? low : high, err)) != 0) {
        free(k->roof);
        k->roof = NULL;
        return -1;
    }
    struct kernel_roof *fewer = realloc(k->roof, (k->n + 1) * sizeof *k->roof);
    k->roof = fewer ? fewer : k->roof;
    return 0;
}

/* ---- an op under them ------------------------------------------------------------------------------ */

static const struct kernel_roof *find(const struct kernel_roofs *k, enum kernel_op op, enum dtype t)
{
    for (size_t i = 0; i < k->n; i++)
        if (k->roof[i].op == op && k->roof[i].dtype == t)
            return &k->roof[i];
    return NULL;
}

static double rate_at(const struct kernel_roof *k, size_t i, double memory)
{
    return memory == 1 ? k->rate[i] : k->rate[i] * pow(memory, k->memory_part[i]);
}

/* Rate with memory bandwidth scaled by `memory`. */
static double rate_at_memory(const struct kernel_roof *k, double n_tok, double memory)
{
    size_t i = 0;
    if (k->n == 0)
        return NAN;
    while (i < k->n && k->n_tok[i] < n_tok)
        i++;
    if (i == 0 || i == k->n)
        return rate_at(k, i == 0 ? 0 : k->n - 1, memory);
    /* Seconds of so many tokens are a constant (unpacking weights, a tile of keys) and a part for each. */
    const double n0 = k->n_tok[i - 1], n1 = k->n_tok[i], t0 = n0 / rate_at(k, i - 1, memory), t1 = n1 / rate_at(k, i, memory);
    return n_tok / (t0 + (t1 - t0) * (n_tok - n0) / (n1 - n0));
}

double kernel_roof_rate(const struct kernel_roof *k, double n_tok)
{
    return rate_at_memory(k, n_tok, 1);
}

/* Tokens of the op, from its activations. */
static double tokens(const struct step *x)
{
    const double a = x->of->form.act_in_tok + x->of->form.act_out_tok;
    return a > 0 ? x->cost.act_bytes / a : 1;
}

/* The engine prepares activations once for consecutive products that read the same ones. */
static bool is_prepared(enum op_role r)
{
    return r == ROLE_ATTN_K || r == ROLE_ATTN_V || r == ROLE_FFN_UP || r == ROLE_EXPERT_UP || r == ROLE_SHARED_UP;
}

/* ---- what other threads have: beyond what it would take if a thread had all to itself (33) ------------------------ */

static double exchange_s(const struct kernel_roofs *k, enum kernel_op how, double bytes, double n_tok)
{
    const struct kernel_roof *x = n_tok > 1 && k->n_threads > 1 ? find(k, how, DTYPE_F32) : NULL;
    return x ? bytes / kernel_roof_rate(x, n_tok) : 0;
}

double kernel_roofs_read_s(const struct kernel_roofs *k, double bytes, double n_tok)
{
    return exchange_s(k, KERNEL_COHERENCE_READ, bytes, n_tok);
}

double kernel_roofs_taken_s(const struct kernel_roofs *k, double bytes, double n_tok)
{
    return exchange_s(k, KERNEL_COHERENCE_WRITE, bytes, n_tok);
}

/* Written by some of n threads and read by all: n - 1 of n threads hold each line that is written, and each reads all. */
static double shared_s(const struct kernel_roofs *k, double bytes, double n_tok)
{
    const double n = k->n_threads;
    return n > 1 ? kernel_roofs_taken_s(k, bytes * n / (n - 1), n_tok) + kernel_roofs_read_s(k, bytes * n, n_tok) : 0;
}

/* Results that other cores read next by rows; additions and gates read by columns. */
static bool is_read_by_rows(enum op_role r)
{
    return r == ROLE_ATTN_Q || r == ROLE_ATTN_K || r == ROLE_ATTN_V || r == ROLE_ATTN_QKV;
}

/* The results of a gate go to the tiles of the following product. */
static bool to_tiles(const struct kernel_roofs *k, double n_tok)
{
    for (size_t i = 0; i < k->n; i++)
        if (k->roof[i].op == KERNEL_PREPARE && n_tok >= k->roof[i].n_tok[0])
            return true;
    return false;
}

/* Preparation of a product's activations: 8-bit blocks for quantized weights, BF16 for BF16 (89); with enough tokens also packed, except
 * for experts, which pack their own; both at once where the engine can, whose rate then includes all threads' reads. Else coherence
 * traffic is added: a packed copy was measured on a thread's own rows. */
static double prepare_s(const struct kernel_roofs *k, enum math math, const struct op_class *c, double n_tok)
{
    if (is_prepared(c->op.role))
        return 0;
    const struct kernel_roof *p = find(k, KERNEL_PREPARE, c->op.w->type);
    if (p && c->op.kind == OP_MATMUL && n_tok >= p->n_tok[0])
        return c->form.act_in_tok * n_tok / kernel_roof_rate(p, n_tok);
    const enum dtype to = math == MATH_INT8 ? DTYPE_Q8_0 : math == MATH_BF16 ? DTYPE_BF16 : DTYPE_F32;
    const struct kernel_roof *q = find(k, KERNEL_QUANTIZE, to), *a = find(k, KERNEL_PACK_ACTS, c->op.w->type);
    const bool arranged = a && c->op.kind == OP_MATMUL && n_tok >= a->n_tok[0];
    const double elem_bytes = math == MATH_INT8 ? (arranged ? 1.5 : 9 / 8.0) : math == MATH_BF16 ? 2 : 4;
    const double shared = c->op.kind == OP_MATMUL ? shared_s(k, c->form.act_in_tok / sizeof(float) * n_tok * elem_bytes, n_tok) : 0;
    return c->form.act_in_tok * n_tok * ((q ? 1 / kernel_roof_rate(q, n_tok) : 0) + (arranged ? 1 / kernel_roof_rate(a, n_tok) : 0)) + shared;
}

/* Stored bytes a second of weights with an LLC hit fraction: seconds of both parts. (32) */
static double bytes_s_of(const struct kernel_roof *k, double llc_hit)
{
    return llc_hit > 0 ? 1 / (llc_hit / k->llc_bytes_s + (llc_hit < 1 ? (1 - llc_hit) / k->dram_bytes_s : 0)) : k->dram_bytes_s;
}

/* Stored bytes at the rate of one token, FLOP at that of n. Without a measurement *x keeps the machine's bandwidth and peak. */
static void stream(const struct kernel_roof *k, struct step *x, double n, double llc_hit)
{
    const double bytes_s = bytes_s_of(k, llc_hit);
    const bool covers = k->n > 0 && (k->n_tok[k->n - 1] > 1 || n <= 1);
    x->memory_s = bytes_s > 0 ? x->cost.weight_bytes / bytes_s : x->memory_s;
    x->compute_s = covers ? x->cost.flop / rate_at_memory(k, n, llc_hit > 0 && k->dram_bytes_s > 0 ? bytes_s / k->dram_bytes_s : 1) : x->compute_s;
    x->kernel = k;
    x->kernel_tok = n;
    x->kernel_bytes_s = bytes_s > 0 ? bytes_s : 0;
    x->llc_hit = llc_hit;
}

static bool product(const struct roofs *r, struct step *x)
{
    const struct op_class *c = x->of;
    const struct op *op = &c->op;
    if (!op->w || op->w->scheme != SCHEME_BY_TYPE || !(x->cost.weight_bytes > 0))
        return false;
    const struct kernel_roof *k = find(&r->kernels, KERNEL_PRODUCT, op->w->type);
    if (!k)
        return false;
    /* Tokens per weight: with experts, those of one. */
    const double n = 0.5 * x->cost.flop / (8 * x->cost.weight_bytes / dtype_bits(op->w->type));
    stream(k, x, n, x->pass_read_bytes > 0 && k->llc_bytes_s > 0 ? last_cache_hit(&r->last, x->pass_read_bytes) : 0);
    const double n_tok = tokens(x), results = is_read_by_rows(op->role) ? kernel_roofs_taken_s(&r->kernels, c->form.act_out_tok * n_tok, n_tok) : 0;
    const double extra_s = prepare_s(&r->kernels, x->math, c, n_tok) + results;
    x->memory_s += extra_s;
    x->compute_s += extra_s;
    return true;
}

/* Activations at the rate of an op that reads little else. */
static bool elementwise(const struct roofs *r, struct step *x, enum kernel_op op, enum dtype type)
{
    const struct kernel_roof *k = find(&r->kernels, op, type);
    if (!k || k->n == 0)
        return false;
    x->kernel = k;
    x->kernel_tok = tokens(x);
    x->memory_s = x->cost.act_bytes / kernel_roof_rate(k, x->kernel_tok);
    x->compute_s = 0;
    return true;
}

/* The same for an op by columns, whose results other cores read by rows. */
static bool by_columns(const struct roofs *r, struct step *x, enum kernel_op op)
{
    if (!elementwise(r, x, op, DTYPE_F32))
        return false;
    if (op == KERNEL_ADD || !to_tiles(&r->kernels, x->kernel_tok))
        x->memory_s += kernel_roofs_taken_s(&r->kernels, x->of->form.act_out_tok * x->kernel_tok, x->kernel_tok);
    return true;
}

/* Rows of the KV cache last touched a pass ago. Sequences of one token each have distant rows, divided among threads. (29) */
static bool far_rows(const struct roofs *r, struct step *x, const struct pass *p)
{
    if (!elementwise(r, x, KERNEL_KV_STORE_FAR, x->of->kv_type))
        return false;
    const double n_seq = p->n_seq > 0 ? p->n_seq : 1;
    if (x->kernel_tok > n_seq || n_seq <= 1)
        return true;
    x->memory_s = x->cost.act_bytes / kernel_roof_rate(x->kernel, 1) / fmin(n_seq, fmax(1, r->kernels.n_threads));
    x->kernel_tok = 1;
    return true;
}

/* Other ops are not measured, nor per-head matrices, which are in the file's layout. */
static bool by_kind(const struct roofs *r, struct step *x, const struct pass *p)
{
    const struct op *op = &x->of->op;
    const bool far = x->pass_read_bytes > r->last.bytes; /* of the cache: the pass has evicted its rows */
    if (op->kind == OP_MATMUL || op->kind == OP_EXPERT_MATMUL)
        return product(r, x);
    if (op->kind == OP_ATTENTION)
        return attention_roofs_time(r, x, p);
    if (op->kind == OP_EMBED)
        return op->w && elementwise(r, x, KERNEL_EMBED, op->w->type);
    if (op->kind == OP_KV_STORE)
        return (far && far_rows(r, x, p)) || elementwise(r, x, KERNEL_KV_STORE, x->of->kv_type);
    if (op->kind == OP_RMS_NORM)
        return elementwise(r, x, KERNEL_RMS_NORM, DTYPE_F32);
    if (op->kind == OP_ROPE)
        return elementwise(r, x, KERNEL_ROPE, DTYPE_F32);
    if (op->kind == OP_GLU)
        return op->glu == GLU_SILU && by_columns(r, x, KERNEL_SILU);
    return op->kind == OP_ADD && by_columns(r, x, KERNEL_ADD);
}

bool kernel_roofs_time(const struct roofs *r, struct step *x, const struct pass *p)
{
    const struct kernel_roofs *k = &r->kernels;
    if (!by_kind(r, x, p))
        return false;
    double launch_s = k->n_threads > 1 ? x->of->barriers[p->n_tok == 1] * (k->barrier_s >= 0 ? k->barrier_s : r->launch_s) : 0;
    if (x->kind == OP_EMBED && k->dispatch_s >= 0) /* start of a pass: threads are woken */
        launch_s = k->dispatch_s;
    x->sd = x->kernel->sd;
    step_set_seconds(x, x->memory_s, x->compute_s, launch_s);
    return true;
}

/* Where a product's weights come from: "DRAM", "last cache", "40 % last cache". */
static const char *level_text(char *buf, size_t n, double llc_hit)
{
    const int percent = (int)round(100 * llc_hit);
    if (percent > 0 && percent < 100)
        snprintf(buf, n, "%d %% last cache", percent);
    else
        snprintf(buf, n, "%s", percent ? "last cache" : "DRAM");
    return buf;
}

const char *kernel_roof_text(char *buf, size_t n, const struct roofs *r, const struct step *x)
{
    const struct kernel_roof *k = x->kernel;
    const char *type = dtype_name(k->dtype), *s = x->kernel_tok > 1 ? "s" : "";
    const int threads = r->kernels.n_threads;
    char level[24];
    if (k->op == KERNEL_PRODUCT)
        snprintf(buf, n, "matvec %s %s %dt, matmat %s at %.4g token%s", type, level_text(level, sizeof level, x->llc_hit), threads, type,
                 x->kernel_tok, s);
    else if (kernel_op_attends(k->op))
        snprintf(buf, n, "%s %s of %d %dt, at %.4g row%s a key", op_names[k->op], type, k->head_dim, threads, x->kernel_tok, s);
    else
        snprintf(buf, n, "%s %s %dt at %.4g token%s", op_names[k->op], type, threads, x->kernel_tok, s);
    return buf;
}
