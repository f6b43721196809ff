/* Features of a phase against the context, as columns of knots: as few as the seconds need. */
#include "report/html_step_data.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What seconds are computed from: numbers of the phase, and of each term. The names are those of step.js. */
#define OF_PHASE(member) { #member, offsetof(struct time_features, member) }
static const struct step_feature of_phase[] = { OF_PHASE(n_pass), OF_PHASE(n_seq), OF_PHASE(host_s) };
#define OF_TERM(name, member) { name, offsetof(struct time_term, member) }
static const struct step_feature of_term[] = {
    OF_TERM("compute_s", compute_s), OF_TERM("memory_s", memory_s), OF_TERM("vector_s", vector_s), OF_TERM("heads_s", heads_s),
    OF_TERM("scanned", scanned),     OF_TERM("launched", launched), OF_TERM("alone_s", alone.seconds), OF_TERM("start_s", alone.start_s),
};
static const char *const kinds[] = {
    [TIME_PRODUCT] = "product", [TIME_EXPERT_PRODUCT] = "expert_product", [TIME_ATTEND] = "attention", [TIME_OTHER] = "other",
    [TIME_STAGED] = "staged",   [TIME_SMALL_KERNEL] = NULL,               [TIME_KERNEL_ALONE] = "alone",
};

static void set(void *of, const struct step_feature *f, double v)
{
    memcpy((char *)of + f->at, &v, sizeof v);
}

void step_names_write(struct strbuf *b)
{
    strbuf_adds(b, "{");
    step_attend_names_write(b);
    strbuf_adds(b, ",");
    step_features_write(b, "phase", of_phase, ARRAY_LEN(of_phase));
    strbuf_adds(b, ",");
    step_features_write(b, "term", of_term, ARRAY_LEN(of_term));
    strbuf_adds(b, "}");
}

/* ---- a point ------------------------------------------------------------------------------------- */

/* Without constants ops have seconds of their own: their sum is a kernel with its own seconds. */
static void measured(struct time_features *f, const struct step_sample *s, const struct scenario *o)
{
    struct step_sum sum;
    if (s->phase == PHASE_PREFILL) {
        sum = step_prefill(s->step, s->roofs, o, NULL, NULL);
    } else {
        const struct pass p = step_pass_of(s, o->n_depth);
        sum = step_price(s->step, s->roofs, &p, 1, NULL, NULL);
        sum.tok_s = 1 / sum.seconds;
        step_keep_below(&sum, s->roofs, 1 / sum.least_s);
    }
    time_features_init(f);
    f->n_term = 1;
    f->term[0] = (struct time_term){ .kind = TIME_KERNEL_ALONE, .memory_s = sum.memory_s, .compute_s = sum.compute_s };
    f->term[0].alone = (struct time_kernel){ .seconds = sum.seconds, .memory_s = sum.memory_s, .compute_s = sum.compute_s,
                                             .start_s = sum.bound_s[BOUND_LAUNCH] };
}

void step_sample_at(struct step_point *out, const struct step_sample *s, uint32_t context)
{
    const struct scenario o = { .n_prompt = s->n_tok, .n_gen = 1, .n_depth = context, .n_batch = s->n_seq, .n_ubatch = s->n_ubatch };
    const struct timing *t = s->roofs->time;
    out->x = context;
    out->which = 0;
    if (!t) {
        measured(&out->f, s, &o);
        return;
    }
    if (s->phase == PHASE_PREFILL) {
        step_features(&out->f, s->step, s->roofs, &o, PHASE_PREFILL);
    } else {
        const struct pass p = step_pass_of(s, context);
        pass_features(&out->f, s->step, s->roofs, &p);
    }
    out->which = t->which(&out->f);
}

/* ---- knots ------------------------------------------------------------------------------------------ */

enum { MOST_KNOTS = 500, MOST_SEEDS = 8 };
static const double tolerance = 3e-4; /* of seconds between knots; sides twice as much */

struct curve {
    const struct step_sample *s;
    struct step_point *p[MOST_KNOTS + MOST_SEEDS];
    size_t n;
    struct step_point here, line; /* sampled, and between knots */
};

/* The same terms and constants: numbers may lie on a line. */
static bool alike(const struct step_point *a, const struct step_point *b)
{
    bool same = a->which == b->which && a->f.n_term == b->f.n_term;
    for (int i = 0; same && i < a->f.n_term; i++)
        same = a->f.term[i].kind == b->f.term[i].kind && a->f.term[i].key == b->f.term[i].key;
    return same;
}

static void mix(void *out, const void *a, const void *b, double part, const struct step_feature *f, size_t n)
{
    for (size_t i = 0; i < n; i++)
        set(out, &f[i], step_feature_get(a, &f[i]) + part * (step_feature_get(b, &f[i]) - step_feature_get(a, &f[i])));
}

static void interpolate(struct step_point *out, const struct step_point *a, const struct step_point *b, uint32_t x)
{
    const double part = (double)(x - a->x) / (b->x - a->x);
    *out = *a;
    mix(&out->f, &a->f, &b->f, part, of_phase, ARRAY_LEN(of_phase));
    for (int i = 0; i < out->f.n_term; i++) {
        struct time_term *t = &out->f.term[i];
        mix(t, &a->f.term[i], &b->f.term[i], part, of_term, ARRAY_LEN(of_term));
        t->alone.memory_s = t->memory_s;
        t->alone.compute_s = t->compute_s;
    }
}

static double seconds_of(const struct step_sample *s, const struct step_point *p, struct time_sides *sides)
{
    static const double no_constants[TIME_PARAMETER_COUNT] = { 0 };
    const struct timing *t = s->roofs->time;
    const double *parameter = t ? t->of[p->which]->parameter : no_constants;
    double unused[TIME_PARAMETER_COUNT];
    time_gradient(&p->f, parameter, unused, sides);
    return exp(time_ln_seconds(&p->f, parameter));
}

static bool is_near(struct curve *c, const struct step_point *a, const struct step_point *b, uint32_t x)
{
    struct time_sides of_line, of_here;
    step_sample_at(&c->here, c->s, x);
    if (!alike(&c->here, a))
        return false;
    interpolate(&c->line, a, b, x);
    const double line_s = seconds_of(c->s, &c->line, &of_line), here_s = seconds_of(c->s, &c->here, &of_here), most = tolerance * here_s;
    return fabs(line_s - here_s) <= most && fabs(of_line.memory_s - of_here.memory_s) <= 2 * most &&
           fabs(of_line.compute_s - of_here.compute_s) <= 2 * most;
}

static struct step_point *add_knot(struct curve *c, uint32_t x, struct error *err)
{
    struct step_point *p = malloc(sizeof *p);
    if (!p) {
        error_oom(err, sizeof *p, "the data of the section");
        return NULL;
    }
    step_sample_at(p, c->s, x);
    return c->p[c->n++] = p;
}

/* Knots between two, where their line is off. */
static int divide(struct curve *c, const struct step_point *a, const struct step_point *b, struct error *err)
{
    static const double parts[] = { 0.5, 0.79, 0.23 };
    const uint32_t width = b->x - a->x;
    bool line = alike(a, b);
    if (width < 2 || c->n >= MOST_KNOTS)
        return 0;
    for (size_t i = 0; line && i < ARRAY_LEN(parts); i++)
        line = is_near(c, a, b, a->x + (uint32_t)(parts[i] * width));
    if (line)
        return 0;
    const struct step_point *middle = add_knot(c, a->x + width / 2, err);
    return !middle || divide(c, a, middle, err) != 0 ? -1 : divide(c, middle, b, err);
}

static int by_context(const void *a, const void *b)
{
    const uint32_t x = (*(struct step_point *const *)a)->x, y = (*(struct step_point *const *)b)->x;
    return (x > y) - (x < y);
}

static int find_knots(struct curve *c, struct error *err)
{
    const struct step_point *last = add_knot(c, 0, err);
    for (size_t i = 0; last && i <= STEP_SEEDS; i++) {
        const uint32_t x = i < STEP_SEEDS ? step_seeds[i] : c->s->n_context;
        if (x <= last->x || x > c->s->n_context)
            continue;
        const struct step_point *next = add_knot(c, x, err);
        if (!next || divide(c, last, next, err) != 0)
            return -1;
        last = next;
    }
    qsort(c->p, c->n, sizeof *c->p, by_context);
    return last ? 0 : -1;
}

/* ---- columns ------------------------------------------------------------------------------------------- */

/* Knots of one feature, points of a segment. */
struct points {
    struct step_point *const *p;
    size_t n;
    int term; /* -1: of the phase */
    const struct step_feature *f;
};

static double value(const struct points *k, size_t i)
{
    const struct time_features *f = &k->p[i]->f;
    return k->term < 0 ? step_feature_get(f, k->f) : step_feature_get(&f->term[k->term], k->f);
}

static bool on_line(const struct points *k, size_t from, size_t to, double most)
{
    const double a = value(k, from), slope = (value(k, to) - a) / ((double)k->p[to]->x - k->p[from]->x);
    for (size_t i = from + 1; i < to; i++)
        if (fabs(a + slope * ((double)k->p[i]->x - k->p[from]->x) - value(k, i)) > most)
            return false;
    return true;
}

/* A number, or "[x0,y0,x1,y1,...]". */
static size_t write_column(struct step_data *d, const struct points *k, struct error *err)
{
    struct strbuf b = { 0 };
    double most = 0, least = INFINITY;
    for (size_t i = 0; i < k->n; i++) {
        most = fmax(most, fabs(value(k, i)));
        least = fmin(least, value(k, i));
    }
    if (most - least <= 1e-9 * most) {
        step_json_number(&b, value(k, 0));
        return step_pool_add(&d->column, &b, err);
    }
    for (size_t i = 0; i < k->n;) {
        size_t next = i + 1;
        while (next + 1 < k->n && on_line(k, i, next + 1, 1e-5 * most))
            next++;
        strbuf_addf(&b, "%s%u,", i > 0 ? "," : "[", k->p[i]->x);
        step_json_number(&b, value(k, i));
        i = next;
    }
    strbuf_adds(&b, "]");
    return step_pool_add(&d->column, &b, err);
}

static int add_column(struct strbuf *to, struct step_data *d, const struct points *k, struct error *err)
{
    const size_t i = write_column(d, k, err);
    strbuf_addf(to, ",%zu", i);
    return i == SIZE_MAX ? -1 : 0;
}

static size_t write_term(struct step_data *d, struct step_point *const *p, size_t n, int term, struct error *err)
{
    struct strbuf b = { 0 };
    int rc = 0;
    strbuf_addf(&b, "[\"%s\"", kinds[p[0]->f.term[term].kind]);
    for (size_t i = 0; i < ARRAY_LEN(of_term) && rc == 0; i++)
        rc = add_column(&b, d, &(struct points){ p, n, term, &of_term[i] }, err);
    strbuf_adds(&b, "]");
    if (rc == 0)
        return step_pool_add(&d->term, &b, err);
    strbuf_free(&b);
    return SIZE_MAX;
}

/* "[first context,case,features of the phase,[terms]]" */
static int write_segment(struct strbuf *b, struct step_data *d, struct step_point *const *p, size_t n, struct error *err)
{
    int rc = 0;
    strbuf_addf(b, "[%u,%u", p[0]->x, p[0]->which);
    for (size_t i = 0; i < ARRAY_LEN(of_phase) && rc == 0; i++)
        rc = add_column(b, d, &(struct points){ p, n, -1, &of_phase[i] }, err);
    strbuf_adds(b, ",[");
    for (int t = 0; t < p[0]->f.n_term && rc == 0; t++) {
        if (!kinds[p[0]->f.term[t].kind])
            return error_set(err, ERROR_INPUT, "cannot step through: a small kernel is not an op of a pass");
        const size_t i = write_term(d, p, n, t, err);
        rc = i == SIZE_MAX ? -1 : 0;
        strbuf_addf(b, "%s%zu", t > 0 ? "," : "", i);
    }
    strbuf_adds(b, "]]");
    return rc;
}

/* ---- a setting ------------------------------------------------------------------------------------------ */

static size_t write_curve(struct step_data *d, const struct curve *c, struct error *err)
{
    struct strbuf b = { 0 };
    int rc = 0;
    strbuf_adds(&b, "[[");
    for (size_t i = 0; i < c->n && rc == 0;) {
        size_t n = 1;
        while (i + n < c->n && alike(c->p[i], c->p[i + n]))
            n++;
        if (i > 0)
            strbuf_adds(&b, ",");
        rc = write_segment(&b, d, &c->p[i], n, err);
        i += n;
    }
    strbuf_adds(&b, "],");
    rc = rc == 0 ? step_attention_write(&b, d, c->s, err) : rc;
    strbuf_adds(&b, "]");
    if (rc == 0)
        return step_pool_add(&d->setting, &b, err);
    strbuf_free(&b);
    return SIZE_MAX;
}

size_t step_sample_write(struct step_data *d, const struct step_sample *s, struct error *err)
{
    struct curve *c = calloc(1, sizeof *c);
    if (!c) {
        error_oom(err, sizeof *c, "the data of the section");
        return SIZE_MAX;
    }
    c->s = s;
    const size_t i = find_knots(c, err) == 0 ? write_curve(d, c, err) : SIZE_MAX;
    for (size_t k = 0; k < c->n; k++)
        free(c->p[k]);
    free(c);
    return i;
}

/* ---- other bandwidths --------------------------------------------------------------------------------------- */

static bool is_equal(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static bool is_memory(const struct step_feature *f)
{
    return f->at == offsetof(struct time_term, memory_s);
}

bool step_point_scales(const struct step_point *now, const struct step_point *then, double bandwidth, double *memory)
{
    bool same = alike(now, then);
    for (size_t i = 0; same && i < ARRAY_LEN(of_phase); i++)
        same = is_equal(step_feature_get(&now->f, &of_phase[i]), step_feature_get(&then->f, &of_phase[i]));
    for (int t = 0; same && t < now->f.n_term; t++) {
        const struct time_term *a = &now->f.term[t], *b = &then->f.term[t];
        for (size_t i = 0; same && i < ARRAY_LEN(of_term); i++)
            same = is_memory(&of_term[i]) || is_equal(step_feature_get(a, &of_term[i]), step_feature_get(b, &of_term[i]));
        const double by = a->memory_s > 0 ? b->memory_s / a->memory_s : NAN;
        if (a->kind == TIME_STAGED || isnan(by)) {
            same = same && (isnan(by) || is_equal(by, 1 / bandwidth));
            continue;
        }
        *memory = isnan(*memory) ? by : *memory;
        same = same && is_equal(by, *memory);
    }
    return same;
}
