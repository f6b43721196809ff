/* Half-widths by what is new: a tree of quantiles, each shrunk towards its parent's. methods.md (60) */
#include "learn/interval.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double level = 0.9;
static const double nearest = 1e-3; /* duplicates may be predicted exactly */
static const double rounding = 1e-9; /* of a sum of weights */
static const double normal90 = 1.6448536269514722; /* 95 % quantile of the normal distribution */
/* Publications that a node of the tree has to have to weigh as much as its parent. (60) */
enum { PRIOR_GROUPS = 10 };

static const char *const novelty_names[NOVELTY_COUNT] = { "nothing", "publisher", "work", "engine", "anchored", "machine", "generation", "class" };
static const char *const side_names[SIDE_COUNT] = { "slower", "faster" };

/* ---- the tree: all rows; those with as much that is new; of a phase and kind; of a class ----------------------- */

enum { DEPTHS = 4 };

static const char *phase_of(const struct measurement *m)
{
    if (*m->op)
        return m->op;
    if (m->server_step)
        return measure_metric_name(METRIC_TPOT);
    return m->metric == METRIC_TTFT || m->metric == METRIC_TPOT ? measure_metric_name(m->metric) : measure_phase_name(m->phase);
}

/* "interval novelty=machine phase=decode kind=moe class=CPU side=slower"; depth 0: of a side only */
static void node_name(char *name, int depth, enum novelty novelty, enum side side, const struct workload *p)
{
    char *at = fit_name_begin(name, "interval");
    if (depth > 0)
        at = fit_name_add(name, at, "novelty", novelty_names[novelty]);
    if (depth > 1) {
        at = fit_name_add(name, at, "phase", phase_of(p->m));
        at = fit_name_add(name, at, "kind", p->moe ? "moe" : "dense");
    }
    if (depth > 2)
        at = fit_name_add(name, at, "class", p->machine->class_name);
    (void)fit_name_add(name, at, "side", side_names[side]);
}

bool interval_is_name(const char *name)
{
    static const char word[] = "interval";
    const size_t n = sizeof word - 1;
    return strncmp(name, word, n) == 0 && (name[n] == 0 || name[n] == ' ');
}

double interval_half(const struct fit *f, enum novelty novelty, enum side side, const struct workload *p, double base)
{
    char name[FIT_MAX_NAME];
    for (int depth = DEPTHS; depth-- > 0;) {
        node_name(name, depth, novelty, side, p);
        const uint16_t e = fit_find(f, name);
        if (e != FIT_NO_EFFECT)
            return base * exp(f->effect[e].value);
    }
    return base * normal90;
}

/* ---- quantiles ---------------------------------------------------------------------------------------------------- */

static bool same_node(int depth, const struct held_row *a, const struct held_row *b)
{
    const struct workload *p = a->p, *q = b->p;
    return (depth < 1 || a->novelty == b->novelty) && (depth < 2 || (strcmp(phase_of(p->m), phase_of(q->m)) == 0 && p->moe == q->moe)) &&
           (depth < 3 || strcmp(p->machine->class_name, q->machine->class_name) == 0);
}

static int by_ratio(const void *a, const void *b)
{
    const struct held_row *x = *(struct held_row *const *)a, *y = *(struct held_row *const *)b;
    return (x->ratio > y->ratio) - (x->ratio < y->ratio);
}

/* The least ratio up to which the rows, in its order, weigh `goal` of them all; more than all: the largest. */
static double weighted_quantile(struct held_row **row, size_t n, double goal)
{
    double sum = 0, so_far = 0;
    qsort(row, n, sizeof *row, by_ratio);
    for (size_t i = 0; i < n; i++)
        sum += row[i]->weight;
    for (size_t i = 0; i < n; i++) {
        so_far += row[i]->weight;
        if (so_far >= goal * sum * (1 - rounding))
            return row[i]->ratio;
    }
    return row[n - 1]->ratio;
}

static int by_alike(const void *a, const void *b)
{
    const struct held_row *x = *(struct held_row *const *)a, *y = *(struct held_row *const *)b;
    return (x->alike > y->alike) - (x->alike < y->alike);
}

/* Weights the rows of each publication by the root of their number; the number of publications. */
static size_t weigh(struct held_row **row, size_t n)
{
    size_t n_group = 0;
    qsort(row, n, sizeof *row, by_alike);
    for (size_t i = 0, k; i < n; i = k, n_group++) {
        for (k = i; k < n && row[k]->alike == row[i]->alike; k++)
            ;
        for (size_t j = i; j < k; j++)
            row[j]->weight = 1 / sqrt((double)(k - i));
    }
    return n_group;
}

/* Of the share within q: independent rows whose share varies as that of publications; all within q: their number. */
static double effective_rows(struct held_row **row, size_t n, double q, size_t n_group)
{
    double sum = 0, within = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += row[i]->weight;
        within += row[i]->ratio <= q ? row[i]->weight : 0;
    }
    const double share = within / sum;
    qsort(row, n, sizeof *row, by_alike);
    for (size_t i = 0, k; i < n; i = k) {
        double off = 0;
        for (k = i; k < n && row[k]->alike == row[i]->alike; k++)
            off += row[k]->weight * ((row[k]->ratio <= q) - share);
        squares += off * off;
    }
    if (!(within < sum))
        return (double)n_group;
    return squares > 0 ? share * (1 - share) * sum * sum / squares : INFINITY;
}

/* Conformal: of rows that vary like as many independent ones, and one more, the last lies within the level-th quantile. */
static double upper_quantile(struct held_row **row, size_t n, size_t n_group)
{
    const double q = weighted_quantile(row, n, level);
    return weighted_quantile(row, n, level * (1 + 1 / effective_rows(row, n, q, n_group)));
}

/* Sets a node: its rows' quantile, and its parent's as if that were of PRIOR_GROUPS publications. */
static int set_node(struct fit *f, struct held_row *held, size_t n_held, int depth, const struct held_row *like, enum side side, struct held_row **room,
                    struct error *err)
{
    const struct workload *p = like->p;
    char name[FIT_MAX_NAME];
    double parent = log(normal90);
    size_t n = 0;
    node_name(name, depth, like->novelty, side, p);
    if (fit_find(f, name) != FIT_NO_EFFECT)
        return 0;
    if (depth > 0) {
        char above[FIT_MAX_NAME];
        node_name(above, depth - 1, like->novelty, side, p);
        parent = f->effect[fit_find(f, above)].value;
    }
    for (size_t i = 0; i < n_held; i++)
        if (held[i].side == side && same_node(depth, &held[i], like))
            room[n++] = &held[i];
    const size_t n_group = weigh(room, n);
    const double groups = (double)n_group, own = n > 0 ? log(fmax(upper_quantile(room, n, n_group), nearest)) : 0;
    const uint16_t e = fit_effect(f, name, parent, 1 / sqrt(groups + PRIOR_GROUPS), err);
    if (e == FIT_NO_EFFECT)
        return -1;
    f->effect[e].value = (groups * own + PRIOR_GROUPS * parent) / (groups + PRIOR_GROUPS);
    f->effect[e].se = f->effect[e].sd;
    f->effect[e].n_row = n;
    return 0;
}

int interval_calibrate(struct fit *f, struct held_row *held, size_t n, struct error *err)
{
    struct held_row **room = malloc((n + 1) * sizeof *room);
    int rc = room ? 0 : error_oom(err, n * sizeof *room, "intervals");
    for (int depth = 0; depth < DEPTHS; depth++)
        for (size_t i = 0; i < n && rc == 0; i++)
            for (int side = 0; side < SIDE_COUNT && rc == 0; side++)
                rc = set_node(f, held, n, depth, &held[i], (enum side)side, room, err);
    free(room);
    return rc;
}
