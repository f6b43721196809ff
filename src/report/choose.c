/* A type of a model on a machine as a row: speed, memory, quality; the front, and the row to take. */
#include "report/choose.h"
#include "dataset/stacks.h"
#include "report/fields.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Speeds within this fraction of the fastest count as equal: predictions of two types are not more exact. */
static const double NEAR_FASTEST = 0.9;
enum { GENERATED = 128, PROMPT = 512 };

/* ---- quality ------------------------------------------------------------------------------------------------ */

static const char *short_params(char *buf, size_t size, double n)
{
    snprintf(buf, size, n < 9.95e9 ? "%.1fB" : "%.0fB", n / 1e9);
    return buf;
}

/* "7B", "6.7B to 13B" */
static const char *sizes_text(struct table_rows *rows, const struct published_range *r)
{
    char lo[24], hi[24], text[64];
    short_params(lo, sizeof lo, r->params_lo);
    short_params(hi, sizeof hi, r->params_hi);
    snprintf(text, sizeof text, strcmp(lo, hi) == 0 ? "%s" : "%s to %s", lo, hi);
    return table_text(rows, text);
}

/* Numbers of the sources, and the sources themselves. */
static void put_sources(struct choose_row *r, struct table_rows *rows, const struct published *p, const struct published_range *x)
{
    struct strbuf refs = { 0 }, all = { 0 };
    for (size_t i = 0; i < x->n_study; i++) {
        const struct published_study *s = &p->study[x->study[i]];
        strbuf_addf(&refs, "%s%zu", i ? "," : "", x->study[i] + 1);
        strbuf_addf(&all, "%s%s: %s, %s, %s", i ? "; " : "", s->model, s->source, s->date, s->url);
    }
    r->refs = refs.oom ? NULL : table_text(rows, refs.s);
    r->sources = all.oom ? NULL : table_text(rows, all.s);
    strbuf_free(&refs);
    strbuf_free(&all);
}

static void put_measured(struct choose_row *r, struct table_rows *rows, const struct ppl_saved *s)
{
    char text[512];
    r->quality = "measured";
    r->ppl = s->ppl;
    r->loss = exp(s->ln_ratio) - 1;
    r->loss_lo = exp(s->ln_ratio - PREDICT_Z90 * s->ln_ratio_se) - 1;
    r->loss_hi = exp(s->ln_ratio + PREDICT_Z90 * s->ln_ratio_se) - 1;
    r->loss_lo = isnan(r->loss_lo) ? r->loss : r->loss_lo;
    r->loss_hi = isnan(r->loss_hi) ? r->loss : r->loss_hi;
    r->kl_lo = r->kl_hi = s->kl;
    r->quality_of = "this model";
    snprintf(text, sizeof text, "roofcast ppl, %s, %.100s%s%.30s, %.0f tokens of %.100s in chunks of %.0f", s->date, s->model, *s->base_type ? " against " : "",
             s->base_type, s->n_tokens, s->text, s->n_ctx);
    r->sources = table_text(rows, text);
}

static void put_published(struct choose_row *r, struct table_rows *rows, const struct choose_case *c, const struct choose_type *t)
{
    struct published_range x;
    const char *type = t->m.type_name;
    if (!published_range(c->published, type, c->n_params, &x))
        return;
    r->quality = x.of_size ? "published" : "published, other size";
    r->loss_lo = x.lo;
    r->loss_hi = x.hi;
    r->kl_lo = x.kl_lo;
    r->kl_hi = x.kl_hi;
    r->quality_of = sizes_text(rows, &x);
    r->loss = published_fit_loss(&c->fit, type, c->n_params, c->measured_name ? c->measured_name : c->model);
    put_sources(r, rows, c->published, &x);
}

void choose_quality(struct choose_row *r, struct table_rows *rows, const struct choose_case *c, const struct choose_type *t)
{
    const struct ppl_saved *s = c->measured ? ppl_saved_find(c->measured, c->model, c->n_params, t->m.type_name) : NULL;
    const struct published_native *native = published_native(c->published, c->model, t->m.type_name);
    r->quality = "unavailable";
    r->loss = r->loss_lo = r->loss_hi = r->kl_lo = r->kl_hi = r->ppl = NAN;
    if (t->weights == WEIGHTS_PLAIN) {
        r->quality = "reference";
        r->loss = r->loss_lo = r->loss_hi = r->kl_lo = r->kl_hi = 0;
        r->ppl = s ? s->ppl : NAN;
    } else if (native || (c->own_type && strcmp(c->own_type, t->m.type_name) == 0)) {
        r->quality = "reference";
        r->quality_of = "as published";
        r->sources = native ? table_text(rows, native->source) : NULL;
        r->loss = r->loss_lo = r->loss_hi = 0;
    } else if (s && !isnan(s->ln_ratio)) {
        put_measured(r, rows, s);
    } else {
        put_published(r, rows, c, t);
        r->ppl = s ? s->ppl : NAN; /* without a base it says nothing of the loss */
    }
}

/* ---- a row ---------------------------------------------------------------------------------------------------- */

static struct figure with_interval(double v, const struct prediction *p)
{
    const struct prediction_factors f = prediction_factors(p->seconds, p->sd_s, p->sd_fast_s);
    return (struct figure){ v, v / f.slower, v * f.faster };
}

double choose_chance(const struct prediction *decode, uint32_t n_batch, double rate_tok_s)
{
    const struct limit l = { SOLVE_TOK_S, rate_tok_s };
    const struct limit_phase p = { .seconds = decode->seconds, .tok_s = decode->tok_s / n_batch, .sd_s = decode->sd_s, .sd_fast_s = decode->sd_fast_s };
    return limit_answer(&l, &p).chance;
}

/* Decode at the end of the context; memory of a prompt that fills it. */
static int predict_row(struct choose_row *r, const struct choose_case *c, const struct choose_type *t, const struct hwprofile *h, struct predict_options *o,
                       struct error *err)
{
    struct predict_result speed, memory;
    o->n_gen = c->n_ctx > GENERATED ? GENERATED : 1;
    o->n_depth = c->n_ctx - o->n_gen;
    if (predict_classes(&speed, &t->x.classes, h, o, err) != 0)
        return -1;
    o->n_prompt = o->n_depth < PROMPT ? o->n_depth : PROMPT;
    o->n_depth -= o->n_prompt;
    if (predict_classes(&memory, &t->x.classes, h, o, err) != 0)
        return -1;
    r->stack = speed.stack;
    r->basis = speed.basis;
    r->tok_s = with_interval(speed.decode.tok_s, &speed.decode);
    r->user_tok_s = with_interval(speed.decode.tok_s / c->n_batch, &speed.decode);
    r->chance = isnan(c->rate_tok_s) ? NAN : choose_chance(&speed.decode, c->n_batch, c->rate_tok_s);
    r->fits = memory.fits;
    r->need_bytes = memory.need_bytes;
    r->usable_bytes = memory.usable_bytes;
    r->memory_bytes = memory.mem_bytes;
    r->weight_bytes = memory.weight_total_bytes;
    return 0;
}

static void put_subject(struct choose_row *r, struct table_rows *rows, const struct choose_case *c, const struct choose_type *t, const struct hwprofile *h,
                        const struct layout *layout)
{
    char text[64];
    const struct figure none = { NAN, NAN, NAN };
    *r = (struct choose_row){ .model = c->model, .hw = table_text(rows, fields_machine_name(text, sizeof text, h)), .type = t->m.type_name, .n_ctx = c->n_ctx,
                              .n_batch = c->n_batch, .tok_s = none, .user_tok_s = none, .chance = NAN, .fits = -1, .need_bytes = NAN, .usable_bytes = NAN,
                              .memory_bytes = NAN, .weight_bytes = NAN, .pareto = -1, .usd_h = NAN, .usd = NAN };
    r->n_devices = layout_devices(layout);
    r->layout = table_text(rows, layout_text(text, sizeof text, layout));
    r->bits_weight = 8 * (double)t->m.weight_bytes / (double)t->m.n_params;
}

int choose_add(struct table_rows *rows, const struct choose_case *c, const struct choose_type *t, const struct hwprofile *h, const struct layout *layout,
               struct error *err)
{
    const struct stack *s = c->stack ? c->stack : software_default(h, t->weights);
    const char *refused = choose_refusal(c, t, s, h);
    struct error why = { 0 };
    if (refused && !c->asked)
        return 0;
    struct predict_options o = { .time = c->time, .weights_bytes = NAN, .n_ubatch = time_ubatch(c->time, h, &t->m), .server = time_serves(c->time, h, &t->m),
                                 .n_batch = c->n_batch, .type_k = c->type_k, .type_v = c->type_v, .layout = *layout, .routing = c->routing };
    struct choose_row r;
    put_subject(&r, rows, c, t, h, layout);
    choose_quality(&r, rows, c, t);
    if (refused)
        r.reason = table_text(rows, refused);
    else if (predict_row(&r, c, t, h, &o, &why) != 0) {
        if (why.kind != ERROR_INPUT && why.kind != ERROR_USAGE)
            return error_set(err, why.kind, "%s", why.msg);
        r.reason = table_text(rows, why.msg);
    }
    memcpy(table_add(rows), &r, sizeof r);
    return 1;
}

/* ---- order, front, recommendation --------------------------------------------------------------------------- */

bool choose_usable(const struct choose_row *r)
{
    return !r->reason && r->fits != 0 && r->tok_s.value > 0;
}

/* Least loss first, unknown last; then more bits. */
static int by_quality(const void *a, const void *b)
{
    const struct choose_row *p = a, *q = b;
    const double x = isnan(p->loss) ? INFINITY : p->loss, y = isnan(q->loss) ? INFINITY : q->loss;
    const int hw = strcmp(p->hw, q->hw);
    if (hw != 0 || x != y)
        return hw ? hw : (x > y) - (x < y);
    return p->bits_weight != q->bits_weight ? (p->bits_weight < q->bits_weight) - (p->bits_weight > q->bits_weight) : strcmp(p->type, q->type);
}

static int mark_front(struct choose_row *r, size_t n, struct error *err)
{
    double *x = calloc(2 * n + 1, sizeof *x);
    bool *front = calloc(n + 1, sizeof *front);
    const bool ok = x && front;
    for (size_t i = 0; ok && i < n; i++) {
        x[i] = choose_usable(&r[i]) ? r[i].tok_s.value : NAN;
        x[n + i] = r[i].loss;
    }
    if (ok)
        choose_front(x, x + n, n, front);
    for (size_t i = 0; ok && i < n; i++)
        r[i].pareto = isnan(x[i]) || isnan(x[n + i]) ? -1 : front[i];
    free(x);
    free(front);
    return ok ? 0 : error_oom(err, 2 * n * sizeof *x, "the front of types");
}

bool choose_reaches(const struct choose_row *r, const struct choose_case *c)
{
    return isnan(r->chance) ? r->user_tok_s.value >= c->rate_tok_s : r->chance >= c->least_chance;
}

/* p is to be taken before q, both usable and of known loss; fastest: of those within most_loss. */
static bool is_better(const struct choose_row *p, const struct choose_row *q, const struct choose_case *c, double fastest)
{
    if (!isnan(c->rate_tok_s) && choose_reaches(p, c) != choose_reaches(q, c))
        return choose_reaches(p, c);
    if (!isnan(c->rate_tok_s) && !choose_reaches(p, c) && p->loss <= c->most_loss && q->loss <= c->most_loss)
        return p->tok_s.value > q->tok_s.value; /* the nearest; beyond the acceptable loss the one that loses least */
    if (isnan(c->rate_tok_s)) {
        const bool a = p->loss <= c->most_loss, b = q->loss <= c->most_loss;
        const bool near_a = a && p->tok_s.value >= NEAR_FASTEST * fastest, near_b = b && q->tok_s.value >= NEAR_FASTEST * fastest;
        if (a != b || near_a != near_b)
            return a != b ? a : near_a;
    }
    return p->loss != q->loss ? p->loss < q->loss : p->tok_s.value > q->tok_s.value;
}

static void mark_taken(struct choose_row *r, size_t n, const struct choose_case *c)
{
    struct choose_row *best = NULL;
    double fastest = 0;
    for (size_t i = 0; i < n; i++)
        if (choose_usable(&r[i]) && r[i].loss <= c->most_loss)
            fastest = fmax(fastest, r[i].tok_s.value);
    for (size_t i = 0; i < n; i++)
        if (choose_usable(&r[i]) && !isnan(r[i].loss) && (!best || is_better(&r[i], best, c, fastest)))
            best = &r[i];
    if (best)
        best->take = true;
}

int choose_rank(struct table_rows *rows, const struct choose_case *c, struct error *err)
{
    struct choose_row *r = rows->v;
    if (rows->n > 1)
        qsort(r, rows->n, sizeof *r, by_quality);
    for (size_t i = 0, end; i < rows->n; i = end) {
        for (end = i + 1; end < rows->n && strcmp(r[end].hw, r[i].hw) == 0; end++)
            continue;
        if (mark_front(r + i, end - i, err) != 0)
            return -1;
        mark_taken(r + i, end - i, c);
    }
    return 0;
}
