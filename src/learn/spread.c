#include "learn/spread.h"
#include "stacks/priors.h"
#include <math.h>
#include <string.h>

static const char *const situation_names[SITUATION_COUNT] = { "seen", "new work", "anchored", "new engine", "new machine" };

/* ---- traits ----------------------------------------------------------------- */

static const char *const side_names[SIDE_COUNT] = { "slower", "faster" };

struct traits {
    char text[TRAIT_COUNT][64]; /* "": none */
};

static const char *phase_of(const struct measurement *m)
{
    if (*m->op)
        return m->op;
    if (m->metric == METRIC_TTFT || m->metric == METRIC_TPOT)
        return measure_metric_name(m->metric);
    return m->phase == MEASURE_NO_PHASE ? "" : measure_phase_name(m->phase);
}

/* Origin of a row, the least reliable first. */
static const char *origin_of(const struct measurement *m)
{
    if (m->tags & TAG_COMMUNITY)
        return "community";
    return m->tags & TAG_E2E ? "e2e" : "";
}

static const char *guess_of(const struct workload *p)
{
    if (p->guesses & GUESS_MODEL)
        return "model";
    return p->guesses & (GUESS_QUANT | GUESS_ACTIVE | GUESS_BATCH | GUESS_LENGTH | GUESS_PEAK | GUESS_BANDWIDTH) ? "other" : "";
}

/* Ops have no engine. */
static bool has_engine(const struct workload *p)
{
    return p->m->kind == MEASURE_RATE || p->m->kind == MEASURE_SERVING;
}

/* Bits of a weight. 16 bits are read as stored; the unpacking rate of fewer differs between engines. (59) */
static const char *bits_of(const struct workload *p)
{
    static const struct {
        double bits;
        const char *name;
    } kinds[] = { { 4, "3" }, { 5.2, "4" }, { 7, "5" }, { 12, "8" } };
    if (p->m->kind != MEASURE_RATE || !(p->bits_weight > 0))
        return "";
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (p->bits_weight <= kinds[i].bits)
            return kinds[i].name;
    return "16";
}

/* Batches differ between engines, too; a step of one sequence reads the weights in any engine. (59) */
static const char *batch_of(const struct workload *p)
{
    return p->m->kind == MEASURE_RATE && workload_is_batched(p) ? "many" : "";
}

/* Suspect rows have larger errors even with known engine and machine: sigma alone is not enough. (59) */
static const char *suspect_of(const struct workload *p)
{
    return workload_is_suspect(p) ? "amiss" : "";
}

bool spread_has_sides(const struct workload *p)
{
    return p->m->metric == METRIC_TOK_S || p->m->metric == METRIC_TPOT;
}

enum side spread_side(const struct workload *p, double error)
{
    return error > 0 && spread_has_sides(p) ? SIDE_FASTER : SIDE_SLOWER;
}

static void traits_of(struct traits *t, enum situation s, enum side side, const struct workload *p)
{
    char source[256];
    const char *const text[TRAIT_COUNT] = {
        [TRAIT_SITUATION] = situation_names[s], [TRAIT_CLASS] = p->machine->class_name, [TRAIT_PHASE] = phase_of(p->m),
        [TRAIT_ORIGIN] = origin_of(p->m),       [TRAIT_GUESS] = guess_of(p),            [TRAIT_KIND] = p->moe ? "moe" : "",
        [TRAIT_STACK] = has_engine(p) ? p->stack->id : "", [TRAIT_SOURCE] = source_text(p->m, source, sizeof source),
        [TRAIT_BITS] = bits_of(p),              [TRAIT_BATCH] = batch_of(p),
        [TRAIT_DOUBT] = suspect_of(p),
        [TRAIT_SIDE] = spread_has_sides(p) ? side_names[side] : "",
    };
    for (int i = 0; i < TRAIT_COUNT; i++)
        snprintf(t->text[i], sizeof t->text[i], "%s", text[i]);
}

/*
 * Priors: normal errors, 90 % within 1.645 expected spreads on both sides, with a spread of a quarter (59). Situations are independent:
 * errors with a known machine predict little about an unknown one. Kinds of rows differ by a sixth, sides by more: defects make rows
 * slower. methods.md (59), (60)
 */
static const double normal90 = 1.6448536269514722; /* 95 % quantile of the normal distribution */
enum { HERE = 1u << TRAIT_SITUATION, SIDE = HERE | 1u << TRAIT_SIDE };

#define EVERY_ROW "interval"

/* "interval situation=new machine class=CPU"; false: the row lacks one of the traits. */
static bool effect_name(char *name, unsigned traits, const struct traits *t)
{
    char *at = fit_name_begin(name, EVERY_ROW);
    for (int i = 0; i < TRAIT_COUNT; i++) {
        if (!(traits & 1u << i))
            continue;
        if (!t->text[i][0])
            return false;
        at = fit_name_add(name, at, trait_names[i], t->text[i]);
    }
    return true;
}

bool spread_is_name(const char *name)
{
    const size_t n = sizeof EVERY_ROW - 1;
    return strncmp(name, EVERY_ROW, n) == 0 && (name[n] == 0 || name[n] == ' ');
}

int spread_effects(struct fit *f, bool add, enum situation s, enum side side, const struct workload *p, struct quantile_row *out,
                   struct error *err)
{
    struct traits t;
    *out = (struct quantile_row){ .weight = 1 };
    traits_of(&t, s, side, p);
    const size_t n_prior = priors()->n_interval;
    const struct interval_prior *from = priors()->interval;
    for (size_t i = 0; i < n_prior; i++) {
        char name[FIT_MAX_NAME];
        if (!effect_name(name, from[i].traits, &t))
            continue;
        const double prior = from[i].traits == HERE ? log(normal90) : 0;
        const uint16_t e = add ? fit_effect(f, name, prior, from[i].sd, err) : fit_find(f, name);
        if (add && e == FIT_NO_EFFECT)
            return -1;
        /* A guess never reduces the half-width. */
        if (!add && e != FIT_NO_EFFECT && from[i].traits & 1u << TRAIT_GUESS && t.text[TRAIT_GUESS][0] && f->effect[e].value < prior)
            continue;
        if (e != FIT_NO_EFFECT)
            out->effect[out->n_effect++] = e;
        else
            out->prior_var += from[i].sd * from[i].sd;
        if (e == FIT_NO_EFFECT)
            out->ln_ratio += prior;
    }
    return 0;
}

static const double side_sd = 0.3;

static void side_name(char *name, enum situation s, enum side side)
{
    struct traits t = { 0 };
    snprintf(t.text[TRAIT_SITUATION], sizeof t.text[0], "%s", situation_names[s]);
    snprintf(t.text[TRAIT_SIDE], sizeof t.text[0], "%s", side_names[side]);
    (void)effect_name(name, SIDE, &t);
}

void spread_inflate(struct fit *f, enum situation s, enum side side, double by)
{
    char name[FIT_MAX_NAME];
    side_name(name, s, side);
    const uint16_t e = fit_find(f, name);
    if (e != FIT_NO_EFFECT)
        f->effect[e].value += by;
}

static int set_side(struct fit *f, enum situation s, enum side side, double ln_half_width, size_t n, struct error *err)
{
    char name[FIT_MAX_NAME];
    side_name(name, s, side);
    const uint16_t e = fit_effect(f, name, 0, side_sd, err);
    if (e == FIT_NO_EFFECT)
        return -1;
    f->effect[e].value = ln_half_width;
    f->effect[e].n_row = n;
    return 0;
}

int spread_set_half_width(struct fit *f, enum situation s, const struct half_width *r, size_t n, struct error *err)
{
    if (set_side(f, s, SIDE_SLOWER, r->slower, n, err) != 0)
        return -1;
    return set_side(f, s, SIDE_FASTER, r->faster, n, err);
}

/* ln half-width of rows without effects of sides. */
static double half_width_to(const struct fit *f, enum situation s, enum side side)
{
    char name[FIT_MAX_NAME];
    side_name(name, s, side);
    const uint16_t e = fit_find(f, name);
    return e == FIT_NO_EFFECT ? 0 : f->effect[e].value;
}

double spread_half(const struct fit *f, enum situation s, enum side side, const struct workload *p, double base)
{
    struct quantile_row row;
    struct error unused = { 0 };
    (void)spread_effects((struct fit *)(uintptr_t)f, false, s, side, p, &row, &unused);
    return base * exp(row.ln_ratio + quantile_predict(f, &row) + (spread_has_sides(p) ? 0 : half_width_to(f, s, side)));
}
