/* Training rows predicted by fits without their publisher, machine, design, engine or model. methods.md (58), (59) */
#include "fit/cross.h"
#include "learn/interval.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fraction of the rows above which leaving a group out needs a refit. (58) */
static const double many_of = 0.1;

/* The groups of a key. */
struct grouping {
    uint32_t *id;     /* [n] of each row */
    uint32_t *count;  /* [n_group] */
    uint32_t *hidden; /* [n_group] rows left out */
    uint32_t n_group;
    bool unstated;    /* group 0 is of rows that state no value */
};

/* The folds' groups, those of rows alike, and publications. */
enum { BY_ALIKE = FOLD_ANCHORED, BY_PUBLICATION, N_GROUPING };

const char *const fold_names[FOLD_COUNT] = { "source", "hardware", "generation", "class", "engine", "work", "hardware, anchored" };

struct holding {
    const struct interval_input *x;
    struct cross *cross;
    struct grouping by[N_GROUPING];
    struct held_row *held;
    size_t n, cap;
    size_t *member;        /* [x->n] */
    double *sigma;         /* [x->n] */
    struct cross_row *out; /* [x->n] */
};

struct text_at {
    char *text;
    size_t row;
};

static int by_text(const void *a, const void *b)
{
    const struct text_at *x = a, *y = b;
    const int c = strcmp(x->text, y->text);
    return c ? c : (x->row > y->row) - (x->row < y->row);
}

static const char *alike_text(const struct workload *p, char *buf, size_t size)
{
    char machine[256], source[256];
    snprintf(buf, size, "%.80s|%.80s|%.40s|%d %d %.20s", left_out_text(p, LEAVE_HARDWARE, machine, sizeof machine),
             measure_publisher(p->m, source, sizeof source), p->stack ? p->stack->id : "", (int)p->m->phase, (int)p->m->metric, p->m->op);
    return buf;
}

static const char *key_text(const struct workload *p, int key, char *buf, size_t size)
{
    static const enum leave_out of[] = { [FOLD_SOURCE] = LEAVE_SOURCE, [FOLD_HARDWARE] = LEAVE_HARDWARE, [FOLD_GENERATION] = LEAVE_GENERATION,
                                         [FOLD_CLASS] = LEAVE_CLASS,   [FOLD_ENGINE] = LEAVE_ENGINE,     [FOLD_WORK] = LEAVE_MODEL };
    if (key == BY_ALIKE)
        return alike_text(p, buf, size);
    return key == BY_PUBLICATION ? training_publication(p, buf, size) : left_out_text(p, of[key], buf, size);
}

static int group(struct holding *h, int key, struct error *err)
{
    const size_t n = h->x->n;
    struct grouping *g = &h->by[key];
    struct text_at *sorted = calloc(n + 1, sizeof *sorted);
    *g = (struct grouping){ calloc(n + 1, sizeof *g->id), calloc(n + 1, sizeof *g->count), calloc(n + 1, sizeof *g->hidden), 0, false };
    int rc = sorted && g->id && g->count && g->hidden ? 0 : error_oom(err, n * sizeof *sorted, "groups");
    for (size_t i = 0; i < n && rc == 0; i++) {
        char text[600];
        sorted[i] = (struct text_at){ strdup(key_text(h->x->workload[i], key, text, sizeof text)), i };
        rc = sorted[i].text ? 0 : error_oom(err, sizeof text, "groups");
    }
    if (rc == 0)
        qsort(sorted, n, sizeof *sorted, by_text);
    for (size_t i = 0; i < n && rc == 0; i++) {
        g->unstated |= !*sorted[i].text;
        g->n_group += i == 0 || strcmp(sorted[i - 1].text, sorted[i].text) != 0;
        g->id[sorted[i].row] = g->n_group - 1;
        g->count[g->n_group - 1]++;
    }
    for (size_t i = 0; sorted && i < n; i++)
        free(sorted[i].text);
    free(sorted);
    return rc;
}

static bool states(const struct grouping *g, size_t row)
{
    return g->id[row] > 0 || !g->unstated;
}

/* Rows of its group remain. */
static bool remains(const struct grouping *g, size_t row)
{
    return g->hidden[g->id[row]] < g->count[g->id[row]];
}

static unsigned seen(const struct holding *h, size_t row)
{
    static const struct {
        int key;
        unsigned bit;
    } of[] = { { FOLD_WORK, SEEN_WORK },     { FOLD_ENGINE, SEEN_ENGINE }, { FOLD_HARDWARE, SEEN_MACHINE }, { FOLD_GENERATION, SEEN_GENERATION },
               { FOLD_CLASS, SEEN_CLASS } };
    /* a single publisher's rows say nothing of what others' lack */
    const bool publication = h->by[FOLD_SOURCE].n_group > 1 && states(&h->by[BY_PUBLICATION], row) && remains(&h->by[BY_PUBLICATION], row);
    unsigned bits = (publication ? SEEN_PUBLICATION : 0);
    for (size_t i = 0; i < ARRAY_LEN(of); i++)
        bits |= remains(&h->by[of[i].key], row) ? of[i].bit : 0;
    return bits;
}

static void hide(struct holding *h, size_t n, bool hidden)
{
    for (int key = 0; key < N_GROUPING; key++)
        for (size_t i = 0; i < n; i++)
            h->by[key].hidden[h->by[key].id[h->member[i]]] = hidden ? h->by[key].hidden[h->by[key].id[h->member[i]]] + 1 : 0;
}

static int add_row(struct holding *h, enum fold fold, enum novelty novelty, size_t i, const struct cross_row *c, struct error *err)
{
    const struct workload *p = h->x->workload[i];
    if (fitted_kind(p->m) != h->x->fitted[i].kind)
        return 0; /* a training row only: another fit predicts it (50) */
    if (h->n == h->cap) {
        const size_t cap = h->cap ? 2 * h->cap : 256;
        struct held_row *held = realloc(h->held, cap * sizeof *held);
        if (!held)
            return error_oom(err, cap * sizeof *held, "rows left out");
        h->held = held;
        h->cap = cap;
    }
    const double own = h->x->sigma * h->x->row[i].sigma, base = sqrt(c->sd * c->sd + own * own);
    h->held[h->n++] = (struct held_row){ .p = p, .novelty = novelty, .side = c->error > 0 ? SIDE_FASTER : SIDE_SLOWER, .fold = fold, .error = c->error,
                                         .ratio = fabs(c->error) / base, .alike = h->by[BY_ALIKE].id[i] };
    return 0;
}

/* Anchors of a group stay: those of the fit, or else the first of each phase. */
static void keep_anchors(struct holding *h, size_t n)
{
    const struct interval_input *x = h->x;
    bool shown = false;
    for (size_t i = 0; i < n; i++)
        shown |= h->member[i] >= x->n_seen;
    for (size_t i = 0; i < n; i++) {
        const size_t row = h->member[i];
        bool first = !shown;
        for (size_t j = 0; j < i && first; j++)
            first = x->workload[h->member[j]]->m->phase != x->workload[row]->m->phase;
        h->sigma[i] = row >= x->n_seen ? x->row[row].sigma : first ? x->shown_sigma : 0;
    }
}

/* Predicts the n members by a fit without them. */
static int leave_members(struct holding *h, size_t n, enum fold fold, struct error *err)
{
    const bool anchored = fold == FOLD_ANCHORED;
    const struct interval_input *x = h->x;
    memset(h->sigma, 0, n * sizeof *h->sigma);
    if (anchored)
        keep_anchors(h, n);
    const bool many = (double)n > many_of * (double)x->n;
    int rc = (many ? cross_fit_again : cross_leave_out)(h->cross, h->member, n, h->sigma, x->apart, h->out, err);
    hide(h, n, true);
    for (size_t i = 0; i < n && rc == 0; i++) {
        const size_t row = h->member[i];
        if (!(h->sigma[i] > 0) && row < x->n_seen)
            rc = add_row(h, fold, anchored ? NOVELTY_ANCHORED : novelty_from(x->workload[row], seen(h, row)), row, &h->out[i], err);
    }
    hide(h, n, false);
    return rc;
}

/* Leaves out each group of a key in turn. A single group cannot be predicted from others. */
static int leave_groups(struct holding *h, enum fold fold, struct error *err)
{
    const struct grouping *g = &h->by[fold == FOLD_ANCHORED ? FOLD_HARDWARE : fold];
    int rc = 0;
    for (uint32_t k = 0; k < g->n_group && g->n_group > 1 && rc == 0; k++) {
        size_t n = 0;
        for (size_t i = 0; i < h->x->n; i++)
            if (g->id[i] == k)
                h->member[n++] = i;
        rc = leave_members(h, n, fold, err);
    }
    return rc;
}

/* Rows one by one: where there is a single publisher. */
static int leave_rows(struct holding *h, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; i < h->x->n_seen && rc == 0; i++) {
        h->member[0] = i;
        rc = leave_members(h, 1, FOLD_SOURCE, err);
    }
    return rc;
}

/*
 * Predictions are mostly of another publication than the fit's. Without an engine the rest of a row's publication stays, so that fold counts
 * where there is a single publisher only; what is new in a fold of a publisher says as much.
 */
static bool calibrates(const struct holding *h, enum fold fold)
{
    return h->by[FOLD_SOURCE].n_group < 2 || fold != FOLD_ENGINE;
}

static int leave_all(struct holding *h, struct error *err)
{
    const bool engine = training_has_engine(h->x->workload[0]);
    int rc = h->by[FOLD_SOURCE].n_group > 1 ? 0 : leave_rows(h, err);
    for (int fold = 0; fold < FOLD_COUNT && rc == 0; fold++)
        if ((engine || fold != FOLD_ENGINE) && (h->x->figure || calibrates(h, (enum fold)fold)))
            rc = leave_groups(h, (enum fold)fold, err);
    return rc;
}

/* ---- figures ---------------------------------------------------------------------------------------------------- */

static int set_figures(struct fold_figure *out, const struct holding *h, const struct fit *f, struct error *err)
{
    double *ape = malloc((h->n + 1) * sizeof *ape);
    if (!ape)
        return error_oom(err, h->n * sizeof *ape, "figures");
    for (int fold = 0; fold < FOLD_COUNT; fold++) {
        struct fold_figure *g = &out[fold];
        double sum = 0, within = 0;
        *g = (struct fold_figure){ 0, NAN, NAN, NAN };
        for (size_t i = 0; i < h->n; i++) {
            const struct held_row *r = &h->held[i];
            if ((int)r->fold != fold)
                continue;
            ape[g->n++] = fabs(exp(-r->error) - 1);
            sum += fabs(r->error);
            within += r->ratio <= interval_half(f, r->novelty, r->side, r->p, 1);
        }
        if (g->n > 0)
            *g = (struct fold_figure){ g->n, stats_median(ape, g->n), sum / (double)g->n, within / (double)g->n };
    }
    free(ape);
    return 0;
}

static int calibrate(struct fit *f, const struct holding *h, struct error *err)
{
    struct held_row *row = malloc((h->n + 1) * sizeof *row);
    size_t n = 0;
    if (!row)
        return error_oom(err, h->n * sizeof *row, "rows left out");
    for (size_t i = 0; i < h->n; i++)
        if (calibrates(h, h->held[i].fold))
            row[n++] = h->held[i];
    const int rc = interval_calibrate(f, row, n, err);
    free(row);
    return rc;
}

int interval_fit(struct fit *f, const struct interval_input *x, struct error *err)
{
    struct holding h = { .x = x };
    if (x->n_seen == 0)
        return 0;
    h.member = calloc(x->n, sizeof *h.member);
    h.sigma = calloc(x->n, sizeof *h.sigma);
    h.out = calloc(x->n, sizeof *h.out);
    int rc = h.member && h.sigma && h.out ? 0 : error_oom(err, x->n * sizeof *h.out, "rows left out");
    if (rc == 0 && !(h.cross = cross_new(x->fit, &fitted_model, x->row, x->n, err)))
        rc = -1;
    for (int key = 0; key < N_GROUPING && rc == 0; key++)
        rc = group(&h, key, err);
    rc = rc ? rc : leave_all(&h, err);
    rc = rc ? rc : calibrate(f, &h, err);
    if (rc == 0 && x->figure)
        rc = set_figures(x->figure, &h, f, err);
    cross_free(h.cross);
    for (int key = 0; key < N_GROUPING; key++) {
        free(h.by[key].id);
        free(h.by[key].count);
        free(h.by[key].hidden);
    }
    free(h.held);
    free(h.member);
    free(h.sigma);
    free(h.out);
    return rc;
}
