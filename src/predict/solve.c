/*
 * The value that attains a target, by bisection on the prediction itself, so that no closed form can disagree with it. The predictions are
 * monotonic in the unknown, or increase first. methods.md (54)
 */
#include "predict/solve.h"
#include "predict/limits.h"
#include "predict/whatif.h"
#include "timing/rescale.h"
#include "timing/timing.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- the question -------------------------------------------------------------------------------- */

static const char *const unknowns[SOLVE_COUNT] = { "bandwidth", "compute", "context", "batch", "tp", "machine" };

static int grammar(const char *text, struct error *err)
{
    return error_set(err, ERROR_USAGE,
                     "--solve: expected UNKNOWN[:prefill|:decode]=TARGET, UNKNOWN one of bandwidth, compute, context, batch, tp, "
                     "machine, TARGET one of fits, tok_s>=30, itl<=50ms, ttft<=1s; found \"%.64s\"",
                     text);
}

static bool takes(const char **at, const char *what)
{
    const size_t n = strlen(what);
    if (strncmp(*at, what, n) != 0)
        return false;
    *at += n;
    return true;
}

static int read_target(struct question *q, const char *at, bool phase_said, struct error *err)
{
    const enum phase said = q->phase;
    if (strcmp(at, "fits") == 0) {
        q->metric = SOLVE_FITS;
        return phase_said ? grammar(q->text, err) : 0;
    }
    if (takes(&at, "tok_s>=")) {
        q->metric = SOLVE_TOK_S;
        return parse_double(at, 1e-9, 1e15, "--solve tok_s", &q->target, err);
    }
    if (takes(&at, "itl<="))
        q->metric = SOLVE_ITL;
    else if (takes(&at, "ttft<="))
        q->metric = SOLVE_TTFT;
    else
        return grammar(q->text, err);
    q->phase = q->metric == SOLVE_TTFT ? PHASE_PREFILL : PHASE_DECODE;
    if (phase_said && said != q->phase)
        return grammar(q->text, err);
    return limit_seconds(at, "--solve", &q->target, err);
}

int question_parse(struct question *q, const char *text, struct error *err)
{
    const char *at = text;
    bool phase_said = true;
    int u = 0;
    *q = (struct question){ .phase = PHASE_DECODE };
    if (strlen(text) >= sizeof q->text)
        return grammar(text, err);
    snprintf(q->text, sizeof q->text, "%s", text);
    while (u < SOLVE_COUNT && !takes(&at, unknowns[u]))
        u++;
    if (u == SOLVE_COUNT)
        return grammar(text, err);
    q->unknown = (enum solve_unknown)u;
    if (takes(&at, ":prefill"))
        q->phase = PHASE_PREFILL;
    else
        phase_said = takes(&at, ":decode");
    if (!takes(&at, "="))
        return grammar(text, err);
    if (read_target(q, at, phase_said, err) != 0)
        return -1;
    if (q->metric == SOLVE_FITS && (q->unknown == SOLVE_BANDWIDTH || q->unknown == SOLVE_COMPUTE))
        return error_set(err, ERROR_USAGE, "--solve %s: whether it fits does not depend on %s", text, unknowns[u]);
    return 0;
}

/* ---- one trial --------------------------------------------------------------------------------------- */

struct trials {
    const struct question *q;
    const struct op_classes *classes;
    const struct hwprofile *h;
    const struct predict_options *o;
    double z;                /* seconds in standard deviations above the prediction: 0 */
    struct predict_result r; /* of the last trial */
};

static const struct prediction *phase_of(const struct question *q, const struct predict_result *r)
{
    return q->phase == PHASE_PREFILL ? &r->prefill : &r->decode;
}

static double metric(const struct question *q, const struct predict_result *r)
{
    return q->metric == SOLVE_TOK_S ? phase_of(q, r)->tok_s : phase_of(q, r)->seconds;
}

/* Target attained, with rounding tolerance. */
static bool attained(const struct trials *t)
{
    const struct question *q = t->q;
    const struct prediction *p = phase_of(q, &t->r);
    const double sd_s = t->z > 0 ? p->sd_s : p->sd_fast_s;
    const double slack = 1e-12 * q->target, off = t->z != 0 ? exp(t->z * sd_s / p->seconds) : 1;
    switch (q->metric) {
    case SOLVE_FITS:
        return t->r.fits == 1;
    case SOLVE_TOK_S:
        return metric(q, &t->r) / off >= q->target - slack;
    case SOLVE_ITL:
    case SOLVE_TTFT:
        return metric(q, &t->r) * off <= q->target + slack;
    }
    return false;
}

static void put(const struct trials *t, double value, struct whatif *w, struct predict_options *o)
{
    w->c[0] = (struct whatif_change){ .value = value };
    switch (t->q->unknown) {
    case SOLVE_BANDWIDTH:
        w->c[0].key = WHATIF_BANDWIDTH;
        w->n = 1;
        break;
    case SOLVE_COMPUTE:
        w->c[0].key = WHATIF_COMPUTE;
        w->c[0].times = true;
        w->n = 1;
        break;
    case SOLVE_CONTEXT:
        o->n_depth = (uint32_t)value;
        break;
    case SOLVE_BATCH:
        o->n_batch = (uint32_t)value;
        break;
    case SOLVE_TP:
        o->layout.tp = (uint32_t)value;
        break;
    case SOLVE_MACHINE:
    case SOLVE_COUNT:
        break;
    }
}

/* 1: attained; 0: not; -1: error. */
static int attempt(struct trials *t, double value, struct error *err)
{
    struct predict_options o = *t->o;
    struct whatif w = { .n = 0 };
    struct hwprofile h;
    put(t, value, &w, &o);
    if (whatif_profile(&h, t->h, err) != 0)
        return -1;
    int rc = whatif_apply(&w, &h, &o, err);
    rc = rc ? rc : predict_classes(&t->r, t->classes, &h, &o, err);
    whatif_profile_free(&h);
    return rc != 0 ? -1 : attained(t);
}

/* ---- searches ---------------------------------------------------------------------------------------- */

static const char *describe(char *buf, size_t n, const struct question *q, const struct predict_result *r)
{
    char a[40], b[40];
    if (q->metric == SOLVE_FITS)
        snprintf(buf, n, r->server ? "needs %s of the %s that a server uses" : "needs %s of %s", units_si(a, sizeof a, r->need_bytes, "B"),
                 units_si(b, sizeof b, r->usable_bytes, "B"));
    else if (q->metric == SOLVE_TOK_S)
        snprintf(buf, n, metric(q, r) >= 999.5 ? "%.0f tokens/s" : "%.4g tokens/s", metric(q, r));
    else
        snprintf(buf, n, "%s", units_si(a, sizeof a, metric(q, r), "s"));
    return buf;
}

/* The limit of the question, evaluated. */
static struct limit_answer against(const struct question *q, const struct predict_result *r)
{
    const struct prediction *p = phase_of(q, r);
    const struct limit l = { q->metric, q->target };
    const struct limit_phase at = { .seconds = p->seconds, .tok_s = p->tok_s, .sd_s = p->sd_s, .sd_fast_s = p->sd_fast_s };
    return limit_answer(&l, &at);
}

/* Proximity of a trial: standard deviations, or without an interval the logarithm of the shortfall; larger is better. */
static double nearness(const struct question *q, const struct predict_result *r)
{
    if (q->metric == SOLVE_FITS)
        return r->usable_bytes / r->need_bytes;
    const double z = against(q, r).z;
    return !isnan(z) ? z : log(q->metric == SOLVE_TOK_S ? metric(q, r) / q->target : q->target / metric(q, r));
}

/* Bandwidth, peaks: monotonic, until something else is the limit. */
static int search_real(struct solution *s, struct trials *t, double lo, double hi, struct error *err)
{
    int ok = attempt(t, hi, err);
    if (ok < 0)
        return -1;
    s->r = t->r;
    if (!ok)
        return 0;
    for (int i = 0; i < 400 && hi > lo * (1 + 1e-12); i++) {
        const double middle = sqrt(lo * hi);
        if ((ok = attempt(t, middle, err)) < 0)
            return -1;
        if (ok) {
            hi = middle;
            s->r = t->r;
        } else {
            lo = middle;
        }
    }
    s->found = true;
    s->value = hi;
    return 0;
}

/* Not monotonic (sequences of a prompt): doubled from lo to hi. *good: the first value that attains it, 0: none; else the nearest is
 * stored. */
static int double_up(struct solution *s, struct trials *t, int64_t lo, int64_t hi, int64_t *good, struct error *err)
{
    *good = 0;
    for (int64_t n = lo; n <= hi; n = n < hi && n > hi / 2 ? hi : 2 * n) {
        const int ok = attempt(t, (double)n, err);
        if (ok < 0)
            return -1;
        if (ok || isnan(s->value_nearest) || nearness(t->q, &t->r) > nearness(t->q, &s->r)) {
            s->r = t->r;
            s->value_nearest = (double)n;
        }
        if (ok) {
            *good = n;
            s->value_nearest = NAN;
            return 0;
        }
    }
    return 0;
}

/* The largest count that attains it; with `grows`, the smallest. */
static int search_count(struct solution *s, struct trials *t, int64_t lo, int64_t hi, bool grows, struct error *err)
{
    int64_t good = lo, bad = hi;
    int ok;
    if (grows) {
        if (double_up(s, t, lo, hi, &good, err) != 0)
            return -1;
        if (good == 0)
            return 0;
        bad = good > lo ? good / 2 : lo;
    } else {
        ok = attempt(t, (double)good, err);
        s->r = t->r;
        if (ok < 0)
            return -1;
        if (!ok) {
            s->value_nearest = (double)good;
            return 0;
        }
    }
    if ((ok = attempt(t, (double)bad, err)) < 0)
        return -1;
    if (ok) {
        good = bad;
        s->always = !grows;
        s->r = t->r;
    }
    while (!ok && (grows ? good - bad : bad - good) > 1) {
        const int64_t middle = good + (bad - good) / 2;
        const int yes = attempt(t, (double)middle, err);
        if (yes < 0)
            return -1;
        if (yes) {
            good = middle;
            s->r = t->r;
        } else {
            bad = middle;
        }
    }
    s->found = true;
    s->value = (double)good;
    return 0;
}

/* System error or interrupt: ends the search. */
static bool is_fatal(const struct error *e)
{
    return e->kind == ERROR_SYSTEM || e->kind == ERROR_INTERRUPTED;
}

/* Layouts that do not divide the model are skipped; a missing link ends the search, with the reason. Not monotonic: the nearest is not
 * the last. */
static int search_tp(struct solution *s, struct trials *t, struct error *err)
{
    for (uint32_t tp = 1; tp <= 1024; tp++) {
        struct error e = { 0 };
        const int ok = attempt(t, tp, &e);
        if (ok < 0 && is_fatal(&e))
            return error_set(err, e.kind, "%s", e.msg);
        if (ok < 0 && e.kind != ERROR_USAGE) { /* no link joins so many devices, nor more */
            snprintf(s->reason, sizeof s->reason, "%.120s", e.msg);
            break;
        }
        if (ok < 0)
            continue;
        if (ok || isnan(s->value_nearest) || nearness(t->q, &t->r) > nearness(t->q, &s->r)) {
            s->r = t->r;
            s->value_nearest = tp;
        }
        if (ok) {
            s->found = true;
            s->value = tp;
            s->value_nearest = NAN;
            return 0;
        }
    }
    return 0;
}

/* ---- machines ------------------------------------------------------------------------------------------ */

/* The machine with the least memory, then the least bandwidth, of those that attain the target. */
struct least {
    double mem_bytes, bytes_s;
    int n;
};

static bool is_less(struct least *b, const struct hwprofile *h, double bytes_s)
{
    if (b->n++ > 0 && (h->mem_bytes.value > b->mem_bytes || (h->mem_bytes.value == b->mem_bytes && bytes_s >= b->bytes_s)))
        return false;
    b->mem_bytes = h->mem_bytes.value;
    b->bytes_s = bytes_s;
    return true;
}

struct best {
    struct least at, good, safe; /* as predicted, and at either end of the interval */
    double near;                 /* of the nearest */
    int n_tried;
};

/* Records a trial on h: a solution, or the nearest so far. */
static void consider(struct solution *s, struct best *b, const struct trials *t, const struct hwprofile *h, bool reaches)
{
    const bool holds = t->r.fits == 1;
    const double bytes_s = phase_of(t->q, &t->r)->bandwidth_bytes_s, speed = isnan(bytes_s) ? h->mem_bw.value : bytes_s;
    const double z = t->q->metric != SOLVE_FITS ? against(t->q, &t->r).z : NAN, near = nearness(t->q, &t->r);
    if (holds && z >= -PREDICT_Z90 && is_less(&b->good, h, speed))
        snprintf(s->machine_optimistic, sizeof s->machine_optimistic, "%s", h->id);
    if (holds && z >= PREDICT_Z90 && is_less(&b->safe, h, speed))
        snprintf(s->machine_conservative, sizeof s->machine_conservative, "%s", h->id);
    if (holds && reaches && is_less(&b->at, h, speed)) {
        s->found = true;
        snprintf(s->machine, sizeof s->machine, "%s", h->id);
        s->r = t->r;
    }
    if (!s->found && (holds || t->q->metric == SOLVE_FITS) && (!*s->machine_nearest || near > b->near)) {
        b->near = near;
        snprintf(s->machine_nearest, sizeof s->machine_nearest, "%s", h->id);
        s->r = t->r;
    }
}

/* Machines that cannot be predicted are skipped; a profile that cannot be read is an error. */
static int try_machine(struct solution *s, struct best *b, struct trials *t, const char *name, struct error *err)
{
    struct hwprofile h;
    struct error e = { 0 };
    if (hwprofile_load(&h, name, err) != 0)
        return -1;
    t->h = &h;
    const int ok = attempt(t, 0, &e);
    if (ok >= 0 && t->r.fits >= 0) {
        b->n_tried++;
        consider(s, b, t, &h, ok == 1);
    }
    hwprofile_free(&h);
    return ok < 0 && is_fatal(&e) ? error_set(err, e.kind, "%s", e.msg) : 0;
}

static int search_machine(struct solution *s, struct trials *t, struct error *err)
{
    char **name;
    size_t n;
    struct best b = { .near = NAN };
    if (hwprofile_list(&name, &n, err) != 0)
        return -1;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = interrupt_check(err) == 0 ? try_machine(s, &b, t, name[i], err) : -1;
    name_list_free(name, n);
    if (rc != 0)
        return -1;
    if (s->found)
        *s->machine_nearest = 0;
    s->n_tried = b.n_tried;
    s->n_reach = b.at.n;
    return 0;
}

/* ---- the result as text -------------------------------------------------------------------------------------- */

struct words {
    char *s;
    size_t n;
};

__attribute__((format(printf, 2, 3))) static void append(struct words *w, const char *fmt, ...)
{
    const size_t at = strlen(w->s);
    va_list a;
    va_start(a, fmt);
    vsnprintf(w->s + at, w->n - at, fmt, a);
    va_end(a);
}

/* Text of a value of this unknown. */
static const char *value_text(char *buf, size_t n, enum solve_unknown u, double v)
{
    if (u == SOLVE_BANDWIDTH)
        return units_si(buf, n, v, "B/s");
    snprintf(buf, n, u == SOLVE_COMPUTE ? "x%.3g" : "%.0f", v);
    return buf;
}

static void append_found(struct words *w, const struct solution *s, const struct trials *t)
{
    char v[40], d[64];
    const struct question *q = t->q;
    const struct prediction *p = phase_of(q, &s->r);
    struct roofs r;
    struct error ignored = { 0 };
    describe(d, sizeof d, q, &s->r);
    switch (q->unknown) {
    case SOLVE_BANDWIDTH:
        units_si(v, sizeof v, s->value, "B/s");
        if (roofs_init(&r, t->h, t->o, &ignored) == 0) {
            append(w, "%s, x%.4g of the machine's: %s, %s-bound", v, s->value / r.bytes_s, d, bound_name(p->bound));
            roofs_free(&r);
        }
        break;
    case SOLVE_COMPUTE:
        append(w, "every peak x%.4g, %s %s after its efficiency factor: %s, %s-bound", s->value, p->math,
            units_si(v, sizeof v, p->peak_flop_s, "FLOP/s"), d, bound_name(p->bound));
        break;
    case SOLVE_CONTEXT:
        append(w, "%s%.0f tokens of context, %.0f positions with prompt and generation: %s", s->always ? "at least " : "", s->value,
            s->value + t->o->n_prompt + t->o->n_gen, d);
        break;
    case SOLVE_BATCH:
        append(w, "%s%.0f sequence%s: %s", s->always ? "at least " : "", s->value, s->value == 1 ? "" : "s", d);
        break;
    case SOLVE_TP:
        append(w, "tp %.0f: %s", s->value, d);
        break;
    case SOLVE_MACHINE:
        append(w, "%s: %s of memory, %s", s->machine, units_si(v, sizeof v, s->r.mem_bytes, "B"), d);
        break;
    case SOLVE_COUNT:
        break;
    }
}

/* The target is attained at the fast end of the interval. */
static bool may_reach(const struct solution *s)
{
    return !isnan(s->value_optimistic) || *s->machine_optimistic;
}

/* The limit that remains for any value. With constants memory without a bandwidth limit has its latency (38). */
static const char *limit_name(const struct question *q, const struct predict_result *r)
{
    const enum bound b = phase_of(q, r)->bound;
    const bool constants = r->basis && strcmp(r->basis, time_basis_name(TIME_BY_KERNELS)) != 0;
    return q->unknown == SOLVE_BANDWIDTH && b == BOUND_MEMORY && constants ? "memory's latency" : bound_name(b);
}

/* The nearest value, where the prediction attains none. */
static void append_nearest(struct words *w, const struct solution *s, const struct trials *t)
{
    char d[64];
    const struct question *q = t->q;
    append(w, "no %s is sufficient%s", unknowns[q->unknown], may_reach(s) ? " at the prediction" : "");
    describe(d, sizeof d, q, &s->r);
    switch (q->unknown) {
    case SOLVE_BANDWIDTH:
    case SOLVE_COMPUTE:
        append(w, ": %s alone allows %s", limit_name(q, &s->r), d);
        break;
    case SOLVE_CONTEXT:
    case SOLVE_BATCH:
        append(w, ": at %.0f %s", s->value_nearest, d);
        break;
    case SOLVE_TP:
        if (!isnan(s->value_nearest))
            append(w, ": tp %.0f comes nearest, %s", s->value_nearest, d);
        break;
    case SOLVE_MACHINE:
        append(w, " (of %d with known memory)", s->n_tried);
        if (*s->machine_nearest)
            append(w, ": %s comes nearest, %s", s->machine_nearest, d);
        break;
    case SOLVE_COUNT:
        break;
    }
}

static void append_chance(struct words *w, double chance)
{
    if (chance < 0.005)
        append(w, ", probability below 1 %%");
    else if (chance > 0.995)
        append(w, ", probability above 99 %%");
    else
        append(w, ", probability %.0f %%", 100 * chance);
}

/* "; 105 for 95 %, 149 for 5 %": the value at both ends of the 90 % interval, where different. */
static void append_ends(struct words *w, const struct solution *s, enum solve_unknown u)
{
    char good[64], safe[64], there[64];
    if (u == SOLVE_MACHINE) {
        snprintf(good, sizeof good, "%s", s->machine_optimistic);
        snprintf(safe, sizeof safe, "%s", *s->machine_conservative ? s->machine_conservative : "none");
        snprintf(there, sizeof there, "%s", s->found ? s->machine : s->machine_nearest);
    } else {
        value_text(good, sizeof good, u, s->value_optimistic);
        if (isnan(s->value_conservative))
            snprintf(safe, sizeof safe, "none");
        else
            value_text(safe, sizeof safe, u, s->value_conservative);
        value_text(there, sizeof there, u, s->found ? s->value : s->value_nearest);
    }
    if (!may_reach(s))
        return;
    const bool show_conservative = s->found && strcmp(safe, there) != 0;
    if (show_conservative)
        append(w, "; %s for 95 %%", safe);
    if (strcmp(good, there) != 0)
        append(w, "%s %s for 5 %%", show_conservative ? "," : ";", good);
}

static void append_answer(struct solution *s, const struct trials *t)
{
    struct words w = { s->text, sizeof s->text };
    if (s->found)
        append_found(&w, s, t);
    else
        append_nearest(&w, s, t);
    if (!isnan(s->chance))
        append_chance(&w, s->chance);
    if (s->found && t->q->unknown == SOLVE_MACHINE)
        append(&w, "; the smallest of %d that are sufficient, of %d with known memory", s->n_reach, s->n_tried);
    if (!isnan(s->chance))
        append_ends(&w, s, t->q->unknown);
    if (!s->found && *s->reason)
        append(&w, "; %s", s->reason);
}

/* ---- all of it ------------------------------------------------------------------------------------------------ */

static int search(struct solution *s, struct trials *t, struct error *err)
{
    const bool throughput = t->q->metric == SOLVE_TOK_S;
    const int64_t room = INT32_MAX - (int64_t)t->o->n_prompt - t->o->n_gen;
    switch (t->q->unknown) {
    case SOLVE_BANDWIDTH:
        s->unit = "B/s";
        return search_real(s, t, 1, 1e18, err);
    case SOLVE_COMPUTE:
        s->unit = "x";
        return search_real(s, t, 1e-9, 1e9, err);
    case SOLVE_CONTEXT:
        s->unit = "tokens";
        return search_count(s, t, 0, room, false, err);
    case SOLVE_BATCH: /* more sequences: more tokens/s, longer ITL */
        s->unit = "sequences";
        return search_count(s, t, 1, 65536, throughput, err);
    case SOLVE_TP:
        s->unit = "devices";
        return search_tp(s, t, err);
    case SOLVE_MACHINE:
        s->unit = "";
        return search_machine(s, t, err);
    case SOLVE_COUNT:
        break;
    }
    return 0;
}

/* The values at both ends of the interval: one search each. Machines are tried at both ends already. */
static int search_ends(struct solution *s, const struct trials *like, struct error *err)
{
    const struct question *q = like->q;
    if (q->metric == SOLVE_FITS || isnan(s->chance = against(q, &s->r).chance))
        return 0;
    for (int safe = 0; safe < 2 && q->unknown != SOLVE_MACHINE; safe++) {
        struct trials t = *like;
        struct solution end = { .value = NAN, .value_nearest = NAN };
        t.z = safe ? PREDICT_Z90 : -PREDICT_Z90;
        if (search(&end, &t, err) != 0)
            return -1;
        *(safe ? &s->value_conservative : &s->value_optimistic) = end.found ? end.value : NAN;
    }
    return 0;
}

static int check_question(const struct question *q, const struct hwprofile *h, const struct predict_options *o, struct error *err)
{
    const bool prefill = q->phase == PHASE_PREFILL;
    if (q->metric != SOLVE_FITS && (prefill ? o->n_prompt : o->n_gen) == 0)
        return error_set(err, ERROR_USAGE, "--solve %s: %s, so there is no %s", q->text, prefill ? "-p 0" : "-n 0",
                         phase_name(q->phase));
    if (q->metric == SOLVE_FITS && q->unknown != SOLVE_MACHINE && !(h->mem_bytes.value > 0))
        return error_set(err, ERROR_INPUT, "--solve %s: profile %s has no memory size", q->text, h->id);
    return 0;
}

int solve(struct solution *s, const struct question *q, const struct model *m, const struct hwprofile *h,
          const struct predict_options *o, struct error *err)
{
    struct model_classes x;
    *s = (struct solution){ .value = NAN, .value_optimistic = NAN, .value_conservative = NAN, .value_nearest = NAN, .chance = NAN, .unit = "" };
    if (check_question(q, h, o, err) != 0 || model_classes_init(&x, m, err) != 0)
        return -1;
    struct trials t = { .q = q, .classes = &x.classes, .h = h, .o = o };
    int rc = search(s, &t, err);
    t.h = h; /* tried machines are freed */
    rc = rc ? rc : search_ends(s, &t, err);
    if (rc == 0)
        append_answer(s, &t);
    model_classes_free(&x);
    return rc;
}
