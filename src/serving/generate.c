#include "serving/generate.h"
#include "serving/draw.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- draws --------------------------------------------------------------------------------------------------------------- */

#define NORMAL_P95 1.6448536269514722 /* 95th percentile of the standard normal distribution */

struct spread spread_from_percentiles(double p50, double p95)
{
    const double sigma = log(p95 / p50) / NORMAL_P95;
    return (struct spread){ .kind = SPREAD_LOGNORMAL, .mean = p50 * exp(sigma * sigma / 2), .spread = sigma };
}

static double draw_any(const struct spread *s, uint64_t seed, enum draw_stream stream, uint64_t i)
{
    switch (s->kind) {
    case SPREAD_FIXED:
        return s->mean;
    case SPREAD_UNIFORM: {
        const double lo = floor(s->mean * (1 - s->spread)), hi = ceil(s->mean * (1 + s->spread));
        return lo + floor(draw_uniform(seed, stream, i) * (hi - lo + 1));
    }
    case SPREAD_LOGNORMAL:
        return s->mean * exp(s->spread * draw_normal(seed, stream, i) - s->spread * s->spread / 2);
    case SPREAD_EXPONENTIAL:
        return s->mean * draw_exponential(seed, stream, i);
    case SPREAD_GEOMETRIC:
        return s->mean > 1 ? 1 + floor(log(draw_uniform(seed, stream, i)) / log1p(-1 / s->mean)) : 1;
    }
    return s->mean;
}

double spread_draw(const struct spread *s, uint64_t seed, unsigned stream, uint64_t i)
{
    const double v = draw_any(s, seed, (enum draw_stream)stream, i);
    return s->most > 0 && v > s->most ? s->most : v;
}

static uint32_t draw_tokens(const struct spread *s, uint64_t seed, enum draw_stream stream, uint64_t i, uint32_t lo)
{
    const double v = floor(spread_draw(s, seed, stream, i) + 0.5);
    return v < lo ? lo : v > SERVE_MAX_TOKENS ? SERVE_MAX_TOKENS : (uint32_t)v;
}

/* ---- requests that are made ----------------------------------------------------------------------------------------------- */

struct maker {
    struct serve_workload *w;
    const struct serve_workload_plan *p;
    const struct serve_workload_options *o;
    size_t cap, run_cap;
    enum serve_end end;
};

/* Roots and requests that are wanted; n_root 0: as many as make n requests. */
struct wanted {
    size_t n, n_root;
};

static int wanted_of(const struct serve_workload_options *o, size_t otherwise, struct wanted *x, struct error *err)
{
    *x = (struct wanted){ .n = o->n > 0 ? o->n : otherwise };
    if (o->duration_s == 0 || o->n > 0)
        return 0;
    if (o->arrivals.ramp != RAMP_NONE || !isfinite(o->arrivals.rate_s))
        return error_set(err, ERROR_USAGE, "a duration without a rate: expected a number of requests, or a finite rate");
    const double n = o->duration_s * o->arrivals.rate_s;
    if (!(n < SERVE_NO_PARENT))
        return error_set(err, ERROR_USAGE, "%g s at %g requests/s: expected fewer than %u requests", o->duration_s, o->arrivals.rate_s,
                         (unsigned)SERVE_NO_PARENT);
    *x = (struct wanted){ .n = SIZE_MAX, .n_root = n < 1 ? 1 : (size_t)(n + 0.5) };
    return 0;
}

static int add_run(struct maker *m, struct serve_request *r, uint64_t first, uint64_t n, struct error *err)
{
    if (n == 0)
        return 0;
    if (m->w->n_run >= UINT32_MAX || !serve_workload_add_run(m->w, &m->run_cap, &(struct token_run){ first, (uint32_t)n }))
        return error_oom(err, m->run_cap * sizeof(struct token_run), "the identities of prompts");
    r->n_run++;
    return 0;
}

/* A shared prefix, whole identities of it; then the session's own tokens, which a later turn's prompt begins with: prompt and output. */
static int identify_turn(struct maker *m, uint32_t root, bool own, struct serve_request *r, struct error *err)
{
    const uint32_t n_prefix = m->p->n_prefix > 0 ? m->p->n_prefix : 1, shared = m->p->prefix / GENERATE_TOKENS;
    const uint64_t all = u64_ceil_div((uint64_t)r->n_in + r->n_out, GENERATE_TOKENS);
    if (add_run(m, r, (uint64_t)(root % n_prefix) << 27, shared, err) != 0)
        return -1;
    return own ? add_run(m, r, serve_workload_own_identity(root) + shared, all - shared, err) : 0;
}

static int add(struct maker *m, const struct serve_request *r, struct error *err)
{
    if (serve_workload_add(m->w, &m->cap, r))
        return 0;
    return error_oom(err, m->cap * sizeof *r, "a workload");
}

/* Draws of turn t of root s are number s * GENERATE_MOST_TURNS + t of their stream. */
static int make_turn(struct maker *m, uint32_t root, uint32_t turn, bool own, struct error *err)
{
    const uint64_t at = (uint64_t)root * GENERATE_MOST_TURNS + turn, seed = m->o->seed;
    struct serve_request r = { .parent = SERVE_NO_PARENT, .run0 = (uint32_t)m->w->n_run, .end = (uint8_t)m->end };
    uint64_t n_in;
    r.n_out = draw_tokens(&m->p->out, seed, DRAW_OUT, at, 1);
    if (turn == 0) {
        n_in = (uint64_t)m->p->prefix + draw_tokens(&m->p->in, seed, DRAW_IN, at, m->p->prefix == 0);
    } else {
        const struct serve_request *last = &m->w->r[m->w->n - 1];
        n_in = (uint64_t)last->n_in + last->n_out + draw_tokens(&m->p->fresh, seed, DRAW_IN, at, 1);
        r.parent = (uint32_t)(m->w->n - 1);
        r.after_ps = (uint64_t)min2(spread_draw(&m->p->think_s, seed, DRAW_THINK, at) * PS_PER_S + 0.5, (double)SERVE_MAX_PS);
    }
    if (n_in + r.n_out > SERVE_MAX_TOKENS)
        return error_set(err, ERROR_USAGE, "%s: turn %u of session %u has %llu tokens: expected at most %d", m->p->name, turn + 1, root + 1,
                         (unsigned long long)(n_in + r.n_out), SERVE_MAX_TOKENS);
    r.n_in = (uint32_t)n_in;
    return (own || m->p->prefix >= GENERATE_TOKENS) && identify_turn(m, root, own, &r, err) != 0 ? -1 : add(m, &r, err);
}

static int make_requests(struct maker *m, const struct wanted *x, struct error *err)
{
    const bool sessions = m->p->source == SOURCE_SESSIONS;
    m->w->run_tokens = GENERATE_TOKENS;
    for (uint32_t root = 0; m->w->n < x->n && (x->n_root == 0 || root < x->n_root); root++) {
        const double turns = sessions ? floor(spread_draw(&m->p->turns, m->o->seed, DRAW_TURNS, root) + 0.5) : 1;
        const uint32_t n = turns < 1 ? 1 : turns > GENERATE_MOST_TURNS ? GENERATE_MOST_TURNS : (uint32_t)turns;
        if (root % 4096 == 0 && interrupt_check(err) != 0)
            return -1;
        if (m->w->n + n >= SERVE_NO_PARENT)
            return error_set(err, ERROR_USAGE, "%s: expected fewer than %u requests", m->p->name, (unsigned)SERVE_NO_PARENT);
        for (uint32_t t = 0; t < n && m->w->n < x->n; t++)
            if (make_turn(m, root, t, sessions, err) != 0)
                return -1;
    }
    return 0;
}

/* Lengths of a file's requests, drawn with replacement. */
static int make_empirical(struct maker *m, const struct wanted *x, struct trace_notes *notes, struct error *err)
{
    struct serve_workload from;
    const size_t n = x->n_root > 0 ? x->n_root : x->n;
    int rc = 0;
    if (trace_load(&from, notes, m->p->path, m->p->format, &m->p->trace, err) != 0)
        return -1;
    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct serve_request *row = &from.r[(size_t)(draw_uniform(m->o->seed, DRAW_SAMPLE, i) * (double)from.n)];
        rc = add(m, &(struct serve_request){ .parent = SERVE_NO_PARENT, .n_in = row->n_in, .n_out = row->n_out, .end = (uint8_t)m->end }, err);
    }
    serve_workload_free(&from);
    return rc;
}

/* ---- traces ----------------------------------------------------------------------------------------------------------------- */

/* Keeps what arrives by duration_s, and the first n of that; children of dropped requests go, too. */
static int cut(struct serve_workload *w, size_t n, double duration_s, struct error *err)
{
    uint32_t *now = malloc((w->n > 0 ? w->n : 1) * sizeof *now);
    size_t k = 0;
    if (!now)
        return error_oom(err, w->n * sizeof *now, "a trace");
    for (size_t i = 0; i < w->n; i++) {
        struct serve_request r = w->r[i];
        const bool root = r.parent == SERVE_NO_PARENT;
        const bool keep = root ? duration_s == 0 || (double)r.after_ps <= duration_s * PS_PER_S : now[r.parent] != SERVE_NO_PARENT;
        now[i] = SERVE_NO_PARENT;
        if (!keep || (n > 0 && k == n))
            continue;
        if (!root)
            r.parent = now[r.parent];
        now[i] = (uint32_t)k;
        w->r[k++] = r;
    }
    w->n = k;
    free(now);
    return 0;
}

static int trace_arrivals(struct serve_workload *w, const struct serve_workload_options *o, bool timed, struct error *err)
{
    const struct arrival_plan *a = &o->arrivals;
    if (a->own_times && !timed)
        return error_set(err, ERROR_USAGE, "%s has no arrival times: expected an arrival process", w->name);
    if (!a->own_times && (a->ramp != RAMP_NONE || !isnan(a->rate_s)))
        return serve_workload_set_arrivals(w, a, o->seed, err);
    if (!timed || isnan(a->rate_s))
        return 0; /* its own times, or all at 0 */
    if (!(a->rate_s > 0))
        return error_set(err, ERROR_USAGE, "the rate is %g requests/s: expected a number above 0", a->rate_s);
    if (isinf(a->rate_s)) {
        serve_workload_all_at_once(w);
        return 0;
    }
    const double own_s = serve_workload_rate(w);
    return isinf(own_s) ? error_set(err, ERROR_USAGE, "%s has all its requests at once: they cannot be scaled to a rate", w->name)
                        : serve_workload_scale_rate(w, a->rate_s / own_s, err);
}

static int make_from_trace(struct maker *m, struct trace_notes *notes, struct error *err)
{
    struct trace_options t = m->p->trace;
    struct serve_workload *w = m->w;
    t.most = m->o->duration_s > 0 ? 0 : m->o->n;
    if (trace_load(w, notes, m->p->path, m->p->format, &t, err) != 0)
        return -1;
    snprintf(w->name, sizeof w->name, "%s", m->p->name);
    if (m->o->n > w->n)
        return error_set(err, ERROR_INPUT, "%s has %zu requests: expected %zu, as many as asked for", m->p->path, w->n, m->o->n);
    if (trace_arrivals(w, m->o, notes->timed, err) != 0 || cut(w, m->o->n, m->o->duration_s, err) != 0)
        return -1;
    for (size_t i = 0; m->o->end != PLAN_END_DEFAULT && i < w->n; i++)
        w->r[i].end = (uint8_t)m->end;
    return 0;
}

int serve_workload_make(struct serve_workload *w, const struct serve_workload_plan *p, const struct serve_workload_options *o, struct trace_notes *notes,
                  struct error *err)
{
    struct trace_notes unused = { 0 };
    struct maker m = { .w = w, .p = p, .o = o, .end = o->end == PLAN_END_STOP ? SERVE_END_STOP : SERVE_END_LENGTH };
    struct wanted x;
    int rc = -1;
    *w = (struct serve_workload){ 0 };
    notes = notes ? notes : &unused;
    *notes = (struct trace_notes){ 0 };
    if (!(o->duration_s >= 0) || isinf(o->duration_s))
        return error_set(err, ERROR_USAGE, "a duration of %g s: expected a number above 0", o->duration_s);
    if (p->source == SOURCE_TRACE) {
        rc = make_from_trace(&m, notes, err);
    } else if (wanted_of(o, o->n_made > 0 ? o->n_made : 1000, &x, err) == 0) {
        snprintf(w->name, sizeof w->name, "%s", p->name);
        rc = p->source == SOURCE_EMPIRICAL ? make_empirical(&m, &x, notes, err) : make_requests(&m, &x, err);
        if (rc == 0)
            rc = serve_workload_set_arrivals(w, &o->arrivals, o->seed, err);
    }
    if (rc == 0 && o->identify)
        rc = serve_workload_identify(w, err);
    if (rc == 0)
        rc = serve_workload_finish(w, p->name, NULL, err);
    if (rc != 0)
        serve_workload_free(w);
    return rc;
}

int serve_workload_from_text(struct serve_workload *w, const char *text, const struct serve_workload_options *o, struct trace_notes *notes, struct error *err)
{
    struct serve_workload_plan p;
    *w = (struct serve_workload){ 0 };
    return serve_workload_plan_parse(&p, text, o->dirs, err) == 0 ? serve_workload_make(w, &p, o, notes, err) : -1;
}
