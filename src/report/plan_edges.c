/* Points outside the frame, named at the edge that they lie behind, with an arrow that points at them. */
#include "report/plan.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_PX  11.0
#define ARROW_PX 15.0
#define SAME_PX  24.0 /* points whose arrows would be nearer share one */
enum { MAX_EDGES = 24 };

struct edge {
    double x, y; /* on the frame */
    enum text_role role;
    struct strbuf names;
};

/* Where the frame is nearest to a point outside; *dx, *dy: the direction outwards. */
static void clamp(const struct frame *f, const struct chart_point *q, double *x, double *y, double *dx, double *dy)
{
    const double px = frame_px(f, q->ai), py = frame_py(f, q->flop_s);
    *x = fmin(fmax(px, f->left), f->right);
    *y = fmin(fmax(py, f->top), f->bottom);
    *dx = px < f->left ? -1 : px > f->right ? 1 : 0;
    *dy = py < f->top ? -1 : py > f->bottom ? 1 : 0;
}

static int add_arrow(struct plan *p, const struct frame *f, const struct edge *e, const struct chart_point *q, struct error *err)
{
    struct segment *v = realloc(p->edge, (p->n_edge + 1) * sizeof *v);
    enum text_role *r = v ? realloc(p->edge_role, (p->n_edge + 1) * sizeof *r) : NULL;
    double x, y, dx, dy;
    p->edge = v ? v : p->edge;
    if (!r)
        return error_oom(err, (p->n_edge + 1) * sizeof *v, "a chart's edges");
    p->edge_role = r;
    clamp(f, q, &x, &y, &dx, &dy);
    v[p->n_edge] = (struct segment){ e->x - ARROW_PX * dx, e->y - ARROW_PX * dy, e->x, e->y };
    r[p->n_edge++] = e->role;
    return 0;
}

static int name_edge(struct plan *p, struct scene *s, const struct edge *e, const struct segment *arrow, struct error *err)
{
    const char *names = strbuf_text(&e->names, "names of points", err);
    char text[160];
    if (!names)
        return -1;
    snprintf(text, sizeof text, "%s", names);
    text_fit(text, TEXT_PX, 260);
    const struct disc at = { (arrow->x0 + arrow->x1) / 2, (arrow->y0 + arrow->y1) / 2, ARROW_PX / 2, DISC_NONE };
    struct placement place = { .n_line = 1, .size_px = TEXT_PX, .w_px = text_width_px(text, TEXT_PX) };
    if (!place_next_to(s, &at, &place)) /* the caption names it too */
        return 0;
    scene_add_placement(s, &place);
    if (place.has_leader && plan_add_leader(p, &place.leader, e->role, err) != 0)
        return -1;
    struct plan_text t = { .x = place.x, .y = place.y, .size_px = TEXT_PX, .align = 'c', .role = e->role, .in_plot = true };
    return plan_add_text(p, &t, text, err);
}

/* The edge that the point shares, or a new one; NULL: there are too many. */
static struct edge *edge_of(struct edge *e, size_t *n, double x, double y, enum text_role role)
{
    for (size_t i = 0; i < *n; i++)
        if (hypot(e[i].x - x, e[i].y - y) < SAME_PX && e[i].role == role)
            return &e[i];
    if (*n == MAX_EDGES)
        return NULL;
    e[*n] = (struct edge){ .x = x, .y = y, .role = role };
    return &e[(*n)++];
}

int plan_edges(struct plan *p, const struct roofline_chart *c, struct scene *s, struct error *err)
{
    struct edge e[MAX_EDGES];
    size_t n = 0;
    int rc = 0;
    for (size_t i = 0; i < c->n_point && rc == 0; i++) {
        double x, y, dx, dy;
        if (p->in_frame[i] || !point_has_place(&c->point[i]))
            continue;
        clamp(&p->frame, &c->point[i], &x, &y, &dx, &dy);
        const size_t before = n;
        struct edge *at = edge_of(e, &n, x, y, phase_role(c->point[i].phase));
        if (!at)
            continue;
        if (n > before) {
            rc = add_arrow(p, &p->frame, at, &c->point[i], err);
            if (rc == 0)
                scene_add_disc(s, (struct disc){ x - ARROW_PX / 2 * dx, y - ARROW_PX / 2 * dy, ARROW_PX / 2, DISC_NONE });
        }
        strbuf_addf(&at->names, "%s%s", at->names.len ? ", " : "", c->point[i].label);
    }
    for (size_t i = 0; i < n; i++) {
        rc = rc ? rc : name_edge(p, s, &e[i], &p->edge[i], err);
        strbuf_free(&e[i].names);
    }
    return rc;
}
