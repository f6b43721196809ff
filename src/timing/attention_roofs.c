/*
 * Attention under the engine's measured kernels: a cost per pair of a query row and a key, and one per call, which dominates with few keys.
 * methods.md (29), (30), (31)
 */
#include "timing/internal.h"
#include <math.h>
#include <string.h>

/* Keys of the calls that measure rates, and of one token's that begin in memory. (78), (31) */
enum { KEYS = 4096, FEW_KEYS = 128 };

/* ---- what a call costs ---------------------------------------------------------------------------------- */

static bool is_call(const struct ceiling *c, const struct kernel_roof *k, int n_threads)
{
    const bool rounded = k->op == KERNEL_ATTENTION_ROUNDED || k->op == KERNEL_ATTENTION_ROUNDED_AGAIN;
    return strcmp(c->kind, "latency") == 0 && strcmp(c->op, rounded ? "attention-bf16" : "attention") == 0 && c->n_threads == n_threads && c->value > 0 &&
           c->head_dim == k->head_dim && c->n_query > 0 && c->n_key >= c->n_query && c->n_tok >= c->n_query &&
           strcmp(c->dtype, dtype_name(k->dtype)) == 0;
}

/* Pairs of a row and a key in a call: each token has one key more than the previous one. */
static double pairs_of(const struct ceiling *c)
{
    return c->n_tok * (c->n_key - (c->n_query - 1) / 2.0);
}

/* Seconds of a pair, on one of the n threads of the rate. */
static double pair_of_rate(const struct kernel_roof *k, double rows, int n_threads)
{
    return 4.0 * k->head_dim * n_threads / kernel_roof_rate(k, rows);
}

/*
 * Seconds of a call without its pairs. Rates are measured by calls, too: with the overhead o, t = o + pairs s and the rate's T = o + PAIRS
 * s,
 * so o = (t - pairs T / PAIRS) / (1 - pairs / PAIRS).
 */
static double call_cost(const struct kernel_roof *k, const struct hwprofile *h, const struct ceiling *c)
{
    const double pairs = pairs_of(c), part = pairs / (c->n_tok * (KEYS - (c->n_query - 1) / 2.0));
    return part < 1 ? fmax(0, (kernel_at_once(h, c) - pairs * pair_of_rate(k, c->n_tok, c->n_threads)) / (1 - part)) : 0;
}

static void add_call(struct kernel_roof *k, double rows, double s)
{
    size_t i = k->n_call;
    if (k->n_call == KERNEL_POINTS)
        return;
    while (i > 0 && k->call_rows[i - 1] > rows)
        i--;
    if (i > 0 && k->call_rows[i - 1] == rows)
        return;
    memmove(&k->call_rows[i + 1], &k->call_rows[i], (k->n_call - i) * sizeof k->call_rows[0]);
    memmove(&k->call_s[i + 1], &k->call_s[i], (k->n_call - i) * sizeof k->call_s[0]);
    k->call_rows[i] = rows;
    k->call_s[i] = s;
    k->n_call++;
}

void attention_roofs_load(struct kernel_roofs *k, const struct hwprofile *h)
{
    for (size_t i = 0; i < k->n; i++)
        for (size_t j = 0; kernel_op_attends(k->roof[i].op) && k->roof[i].n > 0 && j < h->n_ceiling; j++) {
            const struct ceiling *c = &h->ceiling[j];
            /* Keys of one token come from memory; the first ones of a prompt were just stored. */
            if (is_call(c, &k->roof[i], k->n_threads) && (c->n_query > 1) == (strcmp(c->level, "DRAM") != 0))
                add_call(&k->roof[i], c->n_tok, call_cost(&k->roof[i], h, c));
        }
}

double kernel_roof_call_s(const struct kernel_roof *k, double rows)
{
    size_t i = 0;
    if (k->n_call == 0)
        return 0;
    while (i < k->n_call && k->call_rows[i] < rows)
        i++;
    if (i == 0 || i == k->n_call) /* proportional to rows, from the nearest point */
        return k->call_s[i == 0 ? 0 : i - 1] * rows / k->call_rows[i == 0 ? 0 : i - 1];
    const double x = (rows - k->call_rows[i - 1]) / (k->call_rows[i] - k->call_rows[i - 1]);
    return k->call_s[i - 1] + (k->call_s[i] - k->call_s[i - 1]) * x;
}

/* ---- widths between those measured ------------------------------------------------------------------------ */

/* The roofs of heads nearest to h in width, one from below if there is one: *low, *high; equal where there is one. */
static bool roofs_around(const struct kernel_roofs *k, enum kernel_op op, enum dtype t, double h, const struct kernel_roof **low,
                         const struct kernel_roof **high)
{
    const struct kernel_roof *below = NULL, *above = NULL, *second = NULL;
    for (size_t i = 0; i < k->n; i++) {
        const struct kernel_roof *r = &k->roof[i];
        if (r->op != op || r->dtype != t || r->n == 0)
            continue;
        const struct kernel_roof **to = r->head_dim <= h ? &below : &above;
        if (!*to || fabs(r->head_dim - h) < fabs((*to)->head_dim - h)) {
            second = *to ? *to : second;
            *to = r;
        } else {
            second = r;
        }
    }
    *low = below ? below : above;
    *high = below && above ? above : second ? second : *low; /* extrapolation: on the line through the two nearest */
    return *low != NULL;
}

/* Linear between a at the width of low and b at that of high, at h, but at least half of low's. */
static double by_width(const struct kernel_roof *low, const struct kernel_roof *high, double h, double a, double b)
{
    if (low->head_dim == high->head_dim)
        return a * h / low->head_dim;
    const double s = a + (b - a) * (h - low->head_dim) / (high->head_dim - low->head_dim), least = a * h / low->head_dim / 2;
    return fmax(s, least); /* an extrapolated line through noisy points may fall */
}

/* Seconds of a pair, by all threads: from the rate, without its part of the call overhead. */
static double pair_alone(const struct kernel_roof *k, double rows, int n_threads)
{
    return pair_of_rate(k, rows, 1) - kernel_roof_call_s(k, rows) / (rows * KEYS * n_threads);
}

/* Of h elements: a constant and a part per element. */
static double pair_s(const struct kernel_roof *low, const struct kernel_roof *high, double h, double rows, int n_threads)
{
    return by_width(low, high, h, pair_alone(low, rows, n_threads), pair_alone(high, rows, n_threads));
}

/* ---- the engine's calls ------------------------------------------------------------------------------------ */

/* How the engine partitions a pass's attention: rows of a call, number of first calls, and the imbalance of threads. */
struct calls {
    double rows, n, waits;
    double first; /* a head's first call, of all calls of it */
};

enum { ROWS = 256, LEAST = 16, PARTS = 128, PART_KEYS = 512 }; /* of the engine: exec_attention.c */

double attention_tiles(const struct op *op, double tokens)
{
    double tile = fmax(1, floor(ROWS * (double)op->n_head_kv / op->n_head));
    while (tile > LEAST && ceil(tokens / tile) * op->n_head_kv < LEAST)
        tile = floor(tile / 2);
    return ceil(tokens / tile);
}

/* The keys of a token are split where sequences and key heads are few; tokens of a prompt form tiles. (31) */
static struct calls calls_of(const struct op *op, const struct pass *p, double keys, int n_threads)
{
    const double n_seq = p->n_seq > 0 ? p->n_seq : 1, tokens = fmax(1, p->n_tok / n_seq), group = (double)op->n_head / op->n_head_kv;
    if (tokens <= 1) {
        const double heads = n_seq * op->n_head_kv, parts = fmax(1, fmin(ceil(PARTS / heads), ceil(keys / PART_KEYS))), n = heads * parts;
        /* A thread scans the parts of a head sequentially; prefetch continues across parts. Latency of the first keys is paid in
         * sequence: scaled by the keys per part over those of the measurement. */
        const double waits = fmin(1, keys / parts / FEW_KEYS);
        return (struct calls){ group, fmin(n, heads + n_threads - 1) * waits, ceil(n / n_threads) * n_threads / n, 1 };
    }
    const double tiles = attention_tiles(op, tokens);
    return (struct calls){ tokens / tiles * group, n_seq * op->n_head_kv * tiles, 1, 1 / tiles };
}

bool attention_roofs_rounded(const struct roofs *r, const struct op *op)
{
    if (op->kind != OP_ATTENTION || !op->reader || op->reader->type == DTYPE_F16 || op->reader->type == DTYPE_F32)
        return false;
    for (size_t i = 0; i < r->kernels.n; i++)
        if (r->kernels.roof[i].op == KERNEL_ATTENTION_ROUNDED)
            return true;
    return false;
}

/* Heads of h elements, and the roofs on either side. */
struct around {
    double h;
    const struct kernel_roof *low, *high;
};

/* Roofs of the kernel that the engine selects: sequences of few tokens keep full precision. */
static bool roofs_of_pass(const struct roofs *r, const struct op_class *c, const struct pass *p, struct around *to)
{
    enum { FEW_TOK = 32 }; /* of the engine: kernels.rounded_min_tok */
    const double n_seq = p->n_seq > 0 ? p->n_seq : 1;
    return (p->n_tok / n_seq > FEW_TOK && attention_roofs_rounded(r, &c->op) &&
            roofs_around(&r->kernels, KERNEL_ATTENTION_ROUNDED, c->kv_type, to->h, &to->low, &to->high)) ||
           roofs_around(&r->kernels, KERNEL_ATTENTION, c->kv_type, to->h, &to->low, &to->high);
}

/* The fewest rows that both roofs have. */
static double fewest_rows(const struct around *a)
{
    return fmax(a->low->n_tok[0], a->high->n_tok[0]);
}

/* The same kernel and head widths with cached keys. False: not measured, or not at so few rows. */
static bool roofs_again(const struct roofs *r, enum dtype t, const struct around *far, double rows, struct around *near)
{
    const enum kernel_op op = (enum kernel_op)(far->low->op + KERNEL_ATTENTION_AGAIN - KERNEL_ATTENTION);
    near->h = far->h;
    return roofs_around(&r->kernels, op, t, near->h, &near->low, &near->high) && near->low->head_dim == far->low->head_dim &&
           near->high->head_dim == far->high->head_dim && fewest_rows(near) <= fmax(2 * rows, fewest_rows(far));
}

/* Fraction of a prompt's pairs with cached keys, read or stored by earlier tokens: all but those, with keys of earlier passes, of each
 * head's first call. keys: of a sequence. */
static double again_part(const struct op *op, const struct pass *p, const struct calls *x, double keys, double pairs)
{
    const double n_seq = p->n_seq > 0 ? p->n_seq : 1, past = fmax(0, keys - p->n_tok / n_seq), seen = pairs / op->n_head / p->n_tok;
    return seen > 0 ? 1 - fmin(1, past / seen) * x->first : 0;
}

/* Seconds of a part of the calls and of the pairs, by all threads. */
static double part_s(const struct around *a, const struct calls *x, double pairs, double part, int n_threads)
{
    const double call_s = by_width(a->low, a->high, a->h, kernel_roof_call_s(a->low, x->rows), kernel_roof_call_s(a->high, x->rows));
    return part * (pairs * pair_s(a->low, a->high, a->h, x->rows, n_threads) + x->n * call_s / n_threads);
}

/* Coherence traffic: queries, keys and values of these tokens, written by rows on other cores; results into lines of other cores. (33) */
static double coherence_s(const struct kernel_roofs *k, const struct cost_form *f, double n_tok)
{
    return kernel_roofs_read_s(k, (f->act_in_tok + f->kv_present) * n_tok, n_tok) + kernel_roofs_taken_s(k, f->act_out_tok * n_tok, n_tok);
}

bool attention_roofs_time(const struct roofs *r, struct step *x, const struct pass *p)
{
    const struct op_class *c = x->of;
    const struct op *op = &c->op;
    const double n_seq = p->n_seq > 0 ? p->n_seq : 1;
    struct around far = { .h = (op->head_dim + op->head_dim_v) / 2.0 }, near;
    if (!(c->form.kv_present > 0) || !(x->cost.kv_bytes > 0) || op->n_head_kv == 0 || !roofs_of_pass(r, c, p, &far))
        return false;
    const double keys = x->cost.kv_bytes / c->form.kv_present / n_seq, pairs = x->cost.flop / (4 * far.h);
    const int n_threads = r->kernels.n_threads > 0 ? r->kernels.n_threads : 1;
    const struct calls calls = calls_of(op, p, keys, n_threads);
    const bool prompt = p->n_tok > n_seq && roofs_again(r, c->kv_type, &far, calls.rows, &near);
    const double again = prompt ? again_part(op, p, &calls, keys, pairs) : 0;
    x->kernel = fabs(far.high->head_dim - far.h) < fabs(far.low->head_dim - far.h) ? far.high : far.low;
    x->kernel_tok = calls.rows;
    const double exchanged = coherence_s(&r->kernels, &c->form, p->n_tok);
    x->memory_s += exchanged;
    if (x->kernel->n_tok[x->kernel->n - 1] > 1 || calls.rows <= 1) /* bytes alone do not give the time of several rows */
        x->compute_s = (part_s(&far, &calls, pairs, 1 - again, n_threads) + (again > 0 ? part_s(&near, &calls, pairs, again, n_threads) : 0)) * calls.waits +
                       exchanged;
    return true;
}
