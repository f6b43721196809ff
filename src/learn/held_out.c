/* Rows predicted by leave-one-group-out cross-validation. methods.md (58), (59) */
#include "fit/cross.h"
#include "learn/spread.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double level = 0.9;
static const double nearest = 1e-3; /* of an error over its expected spread; duplicates may be predicted exactly */

enum { FEW = 10 }; /* number of rows with half the weight of many */
/* Fraction of the rows above which leaving a group out needs a refit. (58) */
static const double many_of = 0.1;
/* Fraction of the fold's deficit to apply: with all folds rows lack less. (59) */
static const double lacking = 0.5;

/* A row that was left out. */
struct held_row {
    uint32_t alike; /* group of similar rows */
    uint8_t situation, side;
    bool faster;    /* than predicted */
    double ln_base; /* ln of the expected spread */
};

struct member {
    char *text; /* the group */
    size_t row;
};

struct held_out {
    struct fit *f;
    const struct spread_input *x;
    struct cross *cross;
    struct quantile_row *row; /* rows left out so far */
    struct held_row *left;        /* of each */
    uint8_t *fold;            /* of each: fold of its group */
    uint8_t *own_fold;        /* [x->n]: of each row of the fit, for the current situation */
    uint32_t *alike;          /* [x->n] */
    size_t n, cap;
    struct member *member;    /* [x->n], by group */
    size_t *number;           /* [x->n] */
    double *sigma;            /* [x->n] */
    struct cross_row *out;    /* [x->n] */
};

static int make_room(struct held_out *l, struct error *err)
{
    if (l->n < l->cap)
        return 0;
    const size_t cap = l->cap ? 2 * l->cap : 256;
    struct quantile_row *row = realloc(l->row, cap * sizeof *row);
    l->row = row ? row : l->row;
    struct held_row *left = realloc(l->left, cap * sizeof *left);
    l->left = left ? left : l->left;
    uint8_t *fold = realloc(l->fold, cap);
    l->fold = fold ? fold : l->fold;
    if (!row || !left || !fold)
        return error_oom(err, cap * sizeof *row, "spreads");
    l->cap = cap;
    return 0;
}

static int add_row(struct held_out *l, enum situation s, size_t i, const struct cross_row *c, struct error *err)
{
    if (fitted_kind(l->x->workload[i]->m) != l->x->fitted[i].kind)
        return 0; /* a training row only: another fit predicts it (50) */
    const double own = l->x->sigma * l->x->row[i].sigma, base = sqrt(c->sd * c->sd + own * own);
    const enum side side = spread_side(l->x->workload[i], c->error);
    if (make_room(l, err) != 0 || spread_effects(l->f, true, s, side, l->x->workload[i], &l->row[l->n], err) != 0)
        return -1;
    l->row[l->n].ln_ratio = log(fmax(fabs(c->error) / base, nearest));
    l->fold[l->n] = l->own_fold[i];
    l->left[l->n++] = (struct held_row){ .alike = l->alike[i], .situation = (uint8_t)s, .side = (uint8_t)side, .faster = c->error > 0,
                                     .ln_base = log(base) };
    return 0;
}

/* Leaves rows out one by one: errors of a row with known machine, engine and model. */
static int leave_rows(struct held_out *l, struct error *err)
{
    for (size_t i = 0; i < l->x->n_seen; i++) {
        struct cross_row c;
        if (cross_leave_out(l->cross, &i, 1, NULL, l->x->apart, &c, err) != 0 || add_row(l, SITUATION_SEEN, i, &c, err) != 0)
            return -1;
    }
    return 0;
}

/* Anchors of a group stay: those of the fit, or else the first of each phase. */
static void keep_anchors(struct held_out *l, const size_t *row, size_t n)
{
    bool shown = false;
    for (size_t i = 0; i < n; i++)
        shown |= row[i] >= l->x->n_seen;
    for (size_t i = 0; i < n; i++) {
        bool first = !shown;
        for (size_t j = 0; j < i && first; j++)
            first = l->x->workload[row[j]]->m->phase != l->x->workload[row[i]]->m->phase;
        l->sigma[i] = row[i] >= l->x->n_seen ? l->x->row[row[i]].sigma : first ? l->x->shown_sigma : 0;
    }
}

static int leave_group(struct held_out *l, enum situation s, const size_t *row, size_t n, struct error *err)
{
    memset(l->sigma, 0, n * sizeof *l->sigma);
    if (s == SITUATION_ANCHORED)
        keep_anchors(l, row, n);
    const bool machine = s == SITUATION_NEW_MACHINE || s == SITUATION_ANCHORED, many = machine && (double)n > many_of * (double)l->x->n;
    if ((many ? cross_fit_again : cross_leave_out)(l->cross, row, n, l->sigma, l->x->apart, l->out, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (l->sigma[i] <= 0 && row[i] < l->x->n_seen && add_row(l, s, row[i], &l->out[i], err) != 0)
            return -1;
    return 0;
}

static int by_text(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    const int c = strcmp(x->text, y->text);
    return c ? c : (x->row > y->row) - (x->row < y->row);
}

/* Rows of one machine, source, engine and phase have correlated errors. */
static const char *similarity_key(const struct workload *p, char *buf, size_t size)
{
    char machine[256], source[256];
    snprintf(buf, size, "%.80s|%.80s|%.40s|%d %d %.20s", left_out_text(p, LEAVE_HARDWARE, machine, sizeof machine),
             source_text(p->m, source, sizeof source), p->stack ? p->stack->id : "", (int)p->m->phase, (int)p->m->metric, p->m->op);
    return buf;
}

/* Sorts rows by their group of `key` (LEAVE_NOTHING: of similar rows); free_members() afterwards, also of a failure. */
static int sort_members(struct held_out *l, enum leave_out key, struct error *err)
{
    const size_t n = l->x->n;
    for (size_t i = 0; i < n; i++) {
        const struct workload *p = l->x->workload[i];
        char text[256];
        l->member[i] = (struct member){ strdup(key == LEAVE_NOTHING ? similarity_key(p, text, sizeof text) : left_out_text(p, key, text, sizeof text)), i };
        if (!l->member[i].text)
            return error_oom(err, sizeof text, "groups");
    }
    qsort(l->member, n, sizeof *l->member, by_text);
    return 0;
}

static void free_members(struct held_out *l)
{
    for (size_t i = 0; i < l->x->n; i++) {
        free(l->member[i].text);
        l->member[i].text = NULL;
    }
}

/* The end of the group that begins at i. */
static size_t group_end(const struct held_out *l, size_t i)
{
    size_t k = i + 1;
    while (k < l->x->n && strcmp(l->member[k].text, l->member[i].text) == 0)
        k++;
    return k;
}

/* Leaves out each group of `key` in turn. A single group cannot be predicted from others. */
static int leave_groups(struct held_out *l, enum situation s, enum leave_out key, struct error *err)
{
    const size_t n = l->x->n;
    int rc = sort_members(l, key, err);
    for (size_t i = 0, k; i < n && rc == 0; i = k) {
        k = group_end(l, i);
        for (size_t j = i; j < k; j++)
            l->number[j - i] = l->member[j].row;
        if (k - i < n)
            rc = leave_group(l, s, l->number, k - i, err);
    }
    free_members(l);
    return rc;
}

/* Distributes groups among folds; *few (may be NULL): fewer groups than folds. */
enum { N_FOLD = 5 };
static int assign_folds(struct held_out *l, enum leave_out key, bool *few, struct error *err)
{
    int rc = sort_members(l, key, err), n_group = 0;
    for (size_t i = 0, k; i < l->x->n && rc == 0; i = k, n_group++) {
        k = group_end(l, i);
        for (size_t j = i; j < k; j++)
            l->own_fold[l->member[j].row] = (uint8_t)(n_group % N_FOLD);
    }
    free_members(l);
    if (few)
        *few = n_group < N_FOLD;
    return rc;
}

static int deal_likes(struct held_out *l, struct error *err)
{
    int rc = sort_members(l, LEAVE_NOTHING, err);
    uint32_t n_group = 0;
    for (size_t i = 0, k; i < l->x->n && rc == 0; i = k, n_group++) {
        k = group_end(l, i);
        for (size_t j = i; j < k; j++)
            l->alike[l->member[j].row] = n_group;
    }
    free_members(l);
    return rc;
}

static int leave_all(struct held_out *l, struct error *err)
{
    const struct workload *p = l->x->workload[0];
    const bool engine = p->m->kind == MEASURE_RATE || p->m->kind == MEASURE_SERVING;
    bool few;
    if (assign_folds(l, LEAVE_HARDWARE, &few, err) != 0 || leave_groups(l, SITUATION_ANCHORED, LEAVE_HARDWARE, err) != 0 ||
        leave_groups(l, SITUATION_NEW_MACHINE, LEAVE_HARDWARE, err) != 0 || (!few && leave_rows(l, err) != 0) ||
        assign_folds(l, LEAVE_MODEL, NULL, err) != 0 || (few && leave_rows(l, err) != 0) ||
        leave_groups(l, SITUATION_NEW_WORK, LEAVE_MODEL, err) != 0)
        return -1;
    if (!engine)
        return 0;
    return assign_folds(l, LEAVE_ENGINE, NULL, err) != 0 ? -1 : leave_groups(l, SITUATION_NEW_ENGINE, LEAVE_ENGINE, err);
}

/* Each of n similar rows has the weight 1 / sqrt(n). Rates have few similar rows (enough_alike() of model.c). (59) */
static int set_weights(struct held_out *l, struct error *err)
{
    if (l->x->workload[0]->m->kind == MEASURE_RATE)
        return 0;
    uint32_t *count = calloc(l->x->n * SITUATION_COUNT + 1, sizeof *count); /* of a situation's rows */
    if (!count)
        return error_oom(err, l->x->n * sizeof *count, "spreads");
    for (size_t i = 0; i < l->n; i++)
        count[l->left[i].alike * SITUATION_COUNT + l->left[i].situation]++;
    for (size_t i = 0; i < l->n; i++)
        l->row[i].weight = 1 / sqrt(count[l->left[i].alike * SITUATION_COUNT + l->left[i].situation]);
    free(count);
    return 0;
}

/* Inflates one side of a situation by its deficit in cross-validation. */
static void inflate_side(const struct held_out *l, enum situation s, enum side side, const double *by, struct half_width_row *room)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        if (l->left[i].situation == s && l->left[i].side == side)
            room[n++] = (struct half_width_row){ .ln_out = by[i], .weight = l->row[i].weight };
    if (n > 0)
        spread_inflate(l->f, s, side, lacking * fmax(half_width_within(room, n), 0) * (double)n / (double)(n + FEW));
}

/* Half-widths of a situation, relative to those of similar rows. */
static int fit_half_width(const struct held_out *l, enum situation s, const double *by, struct half_width_row *room, struct error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        if (l->left[i].situation == s)
            room[n++] = (struct half_width_row){ .ln_out = by[i], .ln_half = l->left[i].ln_base + l->row[i].ln_ratio - by[i],
                                            .weight = l->row[i].weight, .faster = l->left[i].faster };
    if (n == 0)
        return 0;
    struct half_width r = half_width_shortest(room, n);
    const double few = (double)n / (double)(n + FEW);
    r.slower *= few;
    r.faster *= few;
    return spread_set_half_width(l->f, s, &r, n, err);
}

/*
 * Half-widths fitted to some machines cover others less often: each side of a situation is inflated by its deficit in cross-validation
 * without their machines (models, topologies, engines, where those are new), shrunk for few rows. (59) Seconds: shortest interval. (61)
 */
static int inflate(struct held_out *l, struct error *err)
{
    double *by = malloc((l->n + 1) * sizeof *by);
    struct half_width_row *room = malloc((l->n + 1) * sizeof *room);
    int rc = by && room ? quantile_cross(l->f, l->row, l->n, level, l->fold, N_FOLD, by, err)
                        : error_oom(err, l->n * sizeof *room, "spreads");
    for (int s = 0; s < SITUATION_COUNT && rc == 0; s++)
        if (spread_has_sides(l->x->workload[0])) {
            inflate_side(l, (enum situation)s, SIDE_SLOWER, by, room);
            inflate_side(l, (enum situation)s, SIDE_FASTER, by, room);
        } else {
            rc = fit_half_width(l, (enum situation)s, by, room, err);
        }
    free(by);
    free(room);
    return rc;
}

int spread_fit(struct fit *f, const struct spread_input *x, struct error *err)
{
    struct held_out l = { .f = f, .x = x };
    if (x->n_seen == 0)
        return 0;
    l.member = calloc(x->n, sizeof *l.member);
    l.number = calloc(x->n, sizeof *l.number);
    l.sigma = calloc(x->n, sizeof *l.sigma);
    l.out = calloc(x->n, sizeof *l.out);
    l.own_fold = calloc(x->n, sizeof *l.own_fold);
    l.alike = calloc(x->n, sizeof *l.alike);
    int rc = l.member && l.number && l.sigma && l.out && l.own_fold && l.alike ? 0 : error_oom(err, x->n * sizeof *l.out, "rows left out");
    if (rc == 0 && !(l.cross = cross_new(x->fit, &fitted_model, x->row, x->n, err)))
        rc = -1;
    rc = rc ? rc : deal_likes(&l, err);
    rc = rc ? rc : leave_all(&l, err);
    rc = rc ? rc : set_weights(&l, err);
    rc = rc ? rc : quantile_run(f, l.row, l.n, level, err);
    rc = rc ? rc : inflate(&l, err);
    cross_free(l.cross);
    free(l.member);
    free(l.number);
    free(l.sigma);
    free(l.out);
    free(l.row);
    free(l.left);
    free(l.fold);
    free(l.own_fold);
    free(l.alike);
    return rc;
}
