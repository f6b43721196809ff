/*
 * Labels of a chart's points. Overlapping points share a label; if names do not fit they become numbers with a table of
 * names next to the plot; if numbers do not fit, more points share one.
 */
#include "report/plan.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME_PX    12.0
#define NAME_W     170.0 /* a label breaks into lines of this width */
#define NAME_LINES 5
#define NAME_COST  40.0 /* mean cost per label in px above which numbers are used */
#define MAX_NAMED  26   /* more labels than this are numbers */
struct cluster {
    enum text_role role;
    bool predicted;
    double x, y; /* centroid, px */
    double weight;
    struct disc at; /* the member nearest the centroid */
    bool numbered; /* the label is a number, the names stand in the table */
    int number;
    struct strbuf names;
    char line[NAME_LINES][WRAP_LINE];
    struct placement place;
};

struct clusters {
    struct cluster *v;
    size_t n;
    size_t *of; /* cluster of each point */
};

struct attempt {
    bool names;       /* all labels are names; else numbers, and names where they fit */
    bool crowded;     /* see struct scene */
    double radius_px; /* points closer than this share a label */
};
static const struct attempt attempts[] = {
    { true, false, 6 }, { true, false, 10 }, { true, false, 16 }, { false, false, 5 }, { false, false, 9 }, { false, false, 14 },
    { false, true, 5 }, { false, true, 9 },  { false, true, 14 }, { false, true, 24 }, { false, true, 48 }, { false, true, 96 },
    { false, true, 1e6 },
};

/* ---- clusters ------------------------------------------------------------------------ */

static void clusters_free(struct clusters *k)
{
    for (size_t i = 0; i < k->n; i++)
        strbuf_free(&k->v[i].names);
    free(k->v);
    free(k->of);
    *k = (struct clusters){ 0 };
}

static double weight_of(const struct chart_point *q)
{
    return isnan(q->weight) ? 0 : q->weight;
}

/* Each point joins the nearest cluster of its kind within the radius, or starts one. */
static void join(struct clusters *k, const struct plan *p, const struct roofline_chart *c, size_t i,
                 double radius)
{
    const struct chart_point *q = &c->point[i];
    double x = frame_px(&p->frame, q->ai), y = frame_py(&p->frame, q->flop_s), best = radius;
    size_t into = k->n;
    for (size_t j = 0; j < k->n; j++) {
        const struct cluster *g = &k->v[j];
        double d = hypot(g->x - x, g->y - y);
        if (g->role == phase_role(q->phase) && g->predicted == q->predicted && d <= best) {
            best = d;
            into = j;
        }
    }
    struct cluster *g = &k->v[into];
    if (into == k->n) {
        *g = (struct cluster){
            .role = phase_role(q->phase), .predicted = q->predicted, .x = x, .y = y
        };
        k->n++;
    }
    g->weight += weight_of(q);
    k->of[i] = into;
}

static bool member(const struct clusters *k, const struct plan *p, size_t i, size_t cluster)
{
    return p->in_frame[i] && k->of[i] == cluster; /* a silent point is of none */
}

/* FLOP/s over the highest roof at that intensity, in whole percent; points of one level have that level's roof, which the chart may lack:
 * NaN. */
static double roof_percent(const struct roofline_chart *c, const struct chart_point *q)
{
    double bytes_s = 0, flop_s = 0;
    for (size_t i = 0; i < c->n_roof; i++)
        if (c->roof[i].machine == q->machine) {
            bytes_s = fmax(bytes_s, isnan(c->roof[i].bytes_s) ? 0 : c->roof[i].bytes_s);
            flop_s = fmax(flop_s, isnan(c->roof[i].flop_s) ? 0 : c->roof[i].flop_s);
        }
    if (c->by_level || bytes_s <= 0 || flop_s <= 0)
        return NAN;
    return round(100 * q->flop_s / fmin(flop_s, bytes_s * q->ai));
}

/* The cluster's names in the points' order, a role's layers as one: "ffn_up\u00d732". */
static void name_cluster(struct cluster *g, const struct clusters *k, size_t me,
                         const struct roofline_chart *c, const struct plan *p)
{
    for (size_t i = 0; i < c->n_point; i++) {
        const char *label = c->point[i].label;
        bool seen = !member(k, p, i, me);
        int same = 1;
        for (size_t j = 0; j < i && !seen; j++)
            seen = member(k, p, j, me) && same_stem(c->point[j].label, label);
        if (seen)
            continue;
        for (size_t j = i + 1; j < c->n_point; j++)
            same += member(k, p, j, me) && same_stem(c->point[j].label, label);
        strbuf_adds(&g->names, g->names.len ? ", " : "");
        if (same > 1)
            strbuf_addf(&g->names, "%.*s\u00d7%d", (int)label_stem(label), label, same);
        else
            strbuf_adds(&g->names, label);
        const double percent = roof_percent(c, &c->point[i]);
        if (percent > 100)
            strbuf_addf(&g->names, " (%.0f %% of the roof)", percent);
    }
}

/* The label is attached to the member nearest the centroid. */
static void anchor_cluster(struct cluster *g, const struct clusters *k, size_t me,
                           const struct roofline_chart *c, const struct plan *p)
{
    double best = INFINITY;
    for (size_t i = 0; i < c->n_point; i++) {
        if (!member(k, p, i, me))
            continue;
        struct disc d = { frame_px(&p->frame, c->point[i].ai),
                          frame_py(&p->frame, c->point[i].flop_s), point_reach_px(c, p, i), (int)me };
        /* A point whose marker is drawn by another point is the last choice. */
        double far = hypot(d.x - g->x, d.y - g->y) + (d.r > 0 ? 0 : 1e6);
        if (far < best) {
            best = far;
            g->at = d;
        }
    }
}

/* Which cluster's label belongs to point i. A silent point shares the label of another point; a point under a merged marker is in its
 * own cluster. */
static int owner_of(const struct clusters *k, const struct roofline_chart *c, size_t i)
{
    for (size_t j = 0; j < c->n_point && k->of[i] == SIZE_MAX; j++)
        if (k->of[j] != SIZE_MAX && strcmp(c->point[j].label, c->point[i].label) == 0)
            return (int)k->of[j];
    return k->of[i] == SIZE_MAX ? DISC_NONE : (int)k->of[i];
}

/* The markers that plan_scene() put into the scene, first of its discs, in the points' order. strict: no label may stand nearer to
 * another's marker than to its own. */
static void own_markers(struct scene *s, const struct clusters *k, const struct roofline_chart *c, const struct plan *p, bool strict)
{
    size_t d = 0;
    for (size_t i = 0; i < c->n_point && d < s->n_disc; i++)
        if (p->in_frame[i] && p->radius_px[i] > 0)
            s->disc[d++].owner = strict ? owner_of(k, c, i) : DISC_NONE;
}

/* By descending weight: heavy points get the best positions and the lowest numbers. Ties keep the chart's order. */
static size_t *heaviest_first(const struct roofline_chart *c, const struct plan *p, size_t *n)
{
    size_t *order = calloc(c->n_point + 1, sizeof *order);
    *n = 0;
    for (size_t i = 0; order && i < c->n_point; i++) {
        if (!p->in_frame[i] || c->point[i].silent)
            continue;
        size_t at = (*n)++;
        while (at > 0 && weight_of(&c->point[order[at - 1]]) < weight_of(&c->point[i])) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
    return order;
}

static int clusters_build(struct clusters *k, const struct plan *p, const struct roofline_chart *c,
                          double radius, struct error *err)
{
    *k = (struct clusters){ 0 };
    size_t n;
    size_t *order = heaviest_first(c, p, &n);
    k->v = calloc(c->n_point + 1, sizeof *k->v);
    k->of = calloc(c->n_point + 1, sizeof *k->of);
    if (!order || !k->v || !k->of) {
        free(order);
        clusters_free(k);
        return error_oom(err, c->n_point * sizeof *k->v, "chart labels");
    }
    for (size_t i = 0; i < c->n_point; i++)
        k->of[i] = SIZE_MAX;
    for (size_t i = 0; i < n; i++)
        join(k, p, c, order[i], radius);
    free(order);
    bool oom = false;
    for (size_t j = 0; j < k->n; j++) {
        name_cluster(&k->v[j], k, j, c, p);
        anchor_cluster(&k->v[j], k, j, c, p);
        oom |= k->v[j].names.oom;
    }
    if (oom) {
        clusters_free(k);
        return error_oom(err, c->n_point, "chart labels");
    }
    return 0;
}

/* ---- one attempt
 * ------------------------------------------------------------------------- */

static enum text_role const key_order[] = { TEXT_DECODE, TEXT_PREFILL, TEXT_OTHER, TEXT_PLAIN };

/* Numbers run through decode first, then prefill, as the table of names lists them. */
static void number_clusters(struct clusters *k)
{
    int number = 0;
    for (size_t o = 0; o < ARRAY_LEN(key_order); o++)
        for (size_t j = 0; j < k->n; j++)
            if (k->v[j].role == key_order[o] && k->v[j].numbered) {
                k->v[j].number = ++number;
                snprintf(k->v[j].line[0], WRAP_LINE, "%d", number);
            }
}

/* Lines of the table of names, headings included. */
static int key_rows(const struct clusters *k)
{
    int rows = 0;
    for (size_t o = 0; o < ARRAY_LEN(key_order); o++) {
        bool head = false;
        for (size_t j = 0; j < k->n; j++)
            if (k->v[j].role == key_order[o] && k->v[j].numbered) {
                head = true;
                rows += plan_key_rows(k->v[j].names.s);
            }
        rows += head;
    }
    return rows;
}

/* A label as a number not known yet: reserves room for the largest. */
static void label_number(struct cluster *g, size_t n)
{
    g->numbered = true;
    snprintf(g->line[0], WRAP_LINE, "%s", n > 99 ? "000" : n > 9 ? "00" : "0");
    g->place = (struct placement){ .size_px = NAME_PX, .n_line = 1, .w_px = text_width_px(g->line[0], NAME_PX) };
}

/* A label as names; false: too long for the plot. */
static bool label_names(struct cluster *g)
{
    bool cut = false;
    g->numbered = false;
    g->place = (struct placement){ .size_px = NAME_PX, .n_line = wrap_text(g->names.s, NAME_PX, NAME_W, g->line, NAME_LINES, &cut) };
    for (int i = 0; i < g->place.n_line; i++)
        g->place.w_px = fmax(g->place.w_px, text_width_px(g->line[i], NAME_PX));
    return !cut;
}

/* Removes every label once and places it at minimum cost given the others. */
static void improve(struct clusters *k, struct scene *s, size_t n_box, size_t n_leader)
{
    for (int round = 0; round < 2 && k->n <= 120; round++)
        for (size_t i = 0; i < k->n; i++) {
            s->n_box = n_box;
            s->n_leader = n_leader;
            for (size_t j = 0; j < k->n; j++)
                if (j != i)
                    scene_add_placement(s, &k->v[j].place);
            struct placement again = k->v[i].place;
            if (place_next_to(s, &k->v[i].at, &again) && again.cost < k->v[i].place.cost)
                k->v[i].place = again;
        }
    s->n_box = n_box;
    s->n_leader = n_leader;
    for (size_t j = 0; j < k->n; j++)
        scene_add_placement(s, &k->v[j].place);
}

/* Numbers become names, heaviest points first, if a name fits near its point and crosses fewer than two lines. */
static void name_some(struct clusters *k, struct scene *s, size_t n_box, size_t n_leader)
{
    for (size_t i = 0; i < k->n && k->n <= MAX_NAMED; i++) {
        struct cluster *g = &k->v[i];
        const struct placement number = g->place;
        s->n_box = n_box;
        s->n_leader = n_leader;
        for (size_t j = 0; j < k->n; j++)
            if (j != i)
                scene_add_placement(s, &k->v[j].place);
        if (!label_names(g) || !place_next_to(s, &g->at, &g->place) || g->place.cost > 2 * NAME_COST) {
            label_number(g, k->n);
            g->place = number;
        }
    }
}

/* All names, at a mean cost of at most NAME_COST, or numbers and some names. false: no room, the scene is unchanged. */
static bool place_clusters(struct clusters *k, struct scene *s, bool names)
{
    size_t n_box = s->n_box, n_leader = s->n_leader;
    bool ok = !names || k->n <= MAX_NAMED;
    double cost = 0;
    for (size_t i = 0; i < k->n && ok; i++) {
        if (!names)
            label_number(&k->v[i], k->n);
        ok = (!names || label_names(&k->v[i])) && place_next_to(s, &k->v[i].at, &k->v[i].place);
        if (ok)
            scene_add_placement(s, &k->v[i].place);
    }
    if (ok && !names)
        name_some(k, s, n_box, n_leader);
    if (ok)
        improve(k, s, n_box, n_leader);
    for (size_t i = 0; i < k->n && names; i++)
        cost += k->v[i].place.cost;
    if (ok && cost <= NAME_COST * (double)k->n)
        return true;
    s->n_box = n_box;
    s->n_leader = n_leader;
    return false;
}

/* ---- the result
 * ------------------------------------------------------------------------------ */

int plan_add_leader(struct plan *p, const struct segment *leader, enum text_role role, struct error *err)
{
    struct segment *l = realloc(p->leader, (p->n_leader + 1) * sizeof *l);
    if (l)
        p->leader = l;
    enum text_role *r = l ? realloc(p->leader_role, (p->n_leader + 1) * sizeof *r) : NULL;
    if (!r)
        return error_oom(err, (p->n_leader + 1) * sizeof *l, "chart leader lines");
    p->leader_role = r;
    l[p->n_leader] = *leader;
    r[p->n_leader++] = role;
    return 0;
}

/* The lines of a label, flush on the side of their marker. */
static int emit_label(struct plan *p, const struct cluster *g, struct error *err)
{
    const struct placement *at = &g->place;
    bool right = g->at.x<at->x - at->w_px / 2, left = g->at.x> at->x + at->w_px / 2;
    for (int i = 0; i < at->n_line; i++) {
        struct plan_text t = { .size_px = at->size_px, .role = g->role, .in_plot = true };
        t.align = right ? 'l' : left ? 'r' : 'c';
        t.x = at->x + (right ? -1 : left ? 1 : 0) * at->w_px / 2;
        t.y = at->y + (i - (at->n_line - 1) / 2.0) * TEXT_LEADING * at->size_px;
        if (plan_add_text(p, &t, g->line[i], err) != 0)
            return -1;
    }
    return at->has_leader ? plan_add_leader(p, &g->place.leader, g->role, err) : 0;
}

static const char *phase_heading(enum text_role role)
{
    return role == TEXT_DECODE ? "decode" : role == TEXT_PREFILL ? "prefill" : role == TEXT_PLAIN ? "ops" : "other";
}

static int emit_key(struct plan *p, const struct clusters *k, struct error *err)
{
    for (size_t o = 0; o < ARRAY_LEN(key_order); o++) {
        const char *heading = phase_heading(key_order[o]);
        for (size_t j = 0; j < k->n; j++) {
            const struct cluster *g = &k->v[j];
            char number[16];
            if (g->role != key_order[o] || !g->numbered)
                continue;
            snprintf(number, sizeof number, "%d", g->number);
            if (plan_key_add(p, g->role, heading, number, g->names.s, err) != 0)
                return -1;
            heading = NULL;
        }
    }
    return 0;
}

static int emit(struct plan *p, const struct clusters *k, struct error *err)
{
    for (size_t j = 0; j < k->n; j++)
        if (emit_label(p, &k->v[j], err) != 0)
            return -1;
    return p->numbered ? emit_key(p, k, err) : 0;
}

int plan_point_labels(struct plan *p, const struct roofline_chart *c, struct scene *s,
                      struct strbuf *notes, struct error *err)
{
    int max_rows = plan_key_free_rows(p);
    for (size_t a = 0; a < ARRAY_LEN(attempts); a++) {
        struct clusters k;
        const bool last = a + 1 == ARRAY_LEN(attempts);
        const size_t n_box = s->n_box, n_leader = s->n_leader;
        if (clusters_build(&k, p, c, attempts[a].radius_px, err) != 0)
            return -1;
        s->crowded = attempts[a].crowded;
        own_markers(s, &k, c, p, !last); /* in a dense cloud the label need not be nearest to its own point */
        bool ok = place_clusters(&k, s, attempts[a].names);
        const int rows = ok ? key_rows(&k) : 0;
        if (rows > max_rows && !last) {
            s->n_box = n_box;
            s->n_leader = n_leader;
            ok = false;
        }
        int rc = 0;
        if (ok) {
            number_clusters(&k);
            p->numbered = rows > 0;
            rc = emit(p, &k, err);
        } else if (last) {
            strbuf_addf(notes, "no room for the labels of %zu points\n", c->n_point);
        }
        clusters_free(&k);
        if (ok || rc)
            return rc;
    }
    return 0;
}
