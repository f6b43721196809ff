/* Geometry of labels: text metrics, boxes that may be turned, and the search for a free
 * place. */
#include "report/layout.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RADIANS(deg) ((deg)*3.14159265358979323846 / 180)

/* ---- text metrics ---------------------------------------------------------------- */

/* Advance widths of ASCII 32..126 in DejaVu Sans, in 1/100 em, rounded up. */
static const unsigned char advance[95] = {
    32, 41, 46, 84, 64, 96, 78, 28, 40,  40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 54, 100, 69, 69, 70, 78, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79,
    61, 79, 70, 64, 62, 74, 69, 99, 69,  62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36, 64,
    64, 28, 28, 58, 28, 98, 64, 62, 64,  64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,
};

double text_width_px(const char *s, double size_px)
{
    double em = 0;
    for (const unsigned char *p = (const unsigned char *)s; *p; p++)
        if (*p >= 32 && *p < 127)
            em += advance[*p - 32] / 100.0;
        else if ((*p & 0xc0) != 0x80)
            em += 1;
    return em * size_px;
}

void text_fit(char *s, double size_px, double w_px)
{
    size_t n = strlen(s);
    if (text_width_px(s, size_px) <= w_px || n < 4)
        return;
    double dots = text_width_px("...", size_px);
    while (n > 3 && text_width_px(s, size_px) + dots > w_px) {
        do
            n--;
        while (n > 3 && ((unsigned char)s[n] & 0xc0) == 0x80);
        s[n] = 0;
    }
    while (n > 0 && s[n - 1] == ' ')
        n--;
    memcpy(s + n, "...", 4);
}

/*
 * gnuplot puts the baseline of a centred line 0.325 em below the point; ascenders end 0.76
 * em above the baseline, descenders 0.24 em below: the ink is centred 0.065 em under the
 * point.
 */
struct box text_box(double x, double y, double w_px, int n_line, double size_px, double angle)
{
    double a = RADIANS(angle), down = 0.065 * size_px;
    return (struct box){ .cx = x + down * sin(a),
                         .cy = y + down * cos(a),
                         .hw = w_px / 2,
                         .hh = size_px * (0.5 + TEXT_LEADING * (n_line - 1) / 2),
                         .angle = angle };
}

/* ---- boxes -------------------------------------------------------------------------- */

struct axes {
    double ux, uy, vx, vy; /* along the text, across it */
};

static struct axes box_axes(const struct box *b)
{
    double a = RADIANS(b->angle);
    return (struct axes){ cos(a), -sin(a), sin(a), cos(a) };
}

/* Half the extent of b along the unit vector (x, y). */
static double reach(const struct box *b, const struct axes *t, double x, double y)
{
    return b->hw * fabs(t->ux * x + t->uy * y) + b->hh * fabs(t->vx * x + t->vy * y);
}

/* Separating axes: two rectangles are apart when one of their four side directions
 * separates them. */
bool box_overlaps(const struct box *a, const struct box *b)
{
    struct axes ta = box_axes(a), tb = box_axes(b);
    const double axis[4][2] = {
        { ta.ux, ta.uy }, { ta.vx, ta.vy }, { tb.ux, tb.uy }, { tb.vx, tb.vy }
    };
    for (int i = 0; i < 4; i++) {
        double x = axis[i][0], y = axis[i][1];
        double gap = fabs((b->cx - a->cx) * x + (b->cy - a->cy) * y);
        if (gap >= reach(a, &ta, x, y) + reach(b, &tb, x, y))
            return false;
    }
    return true;
}

bool box_inside(const struct box *a, double x0, double y0, double x1, double y1)
{
    struct axes t = box_axes(a);
    double rx = reach(a, &t, 1, 0), ry = reach(a, &t, 0, 1);
    return a->cx - rx >= x0 && a->cx + rx <= x1 && a->cy - ry >= y0 && a->cy + ry <= y1;
}

double box_distance(const struct box *a, double x, double y)
{
    struct axes t = box_axes(a);
    double dx = x - a->cx, dy = y - a->cy;
    double u = fabs(dx * t.ux + dy * t.uy) - a->hw, v = fabs(dx * t.vx + dy * t.vy) - a->hh;
    return hypot(fmax(u, 0), fmax(v, 0));
}

/* The segment in the box's own axes, clipped against its four sides (Liang and Barsky). */
bool box_hits_segment(const struct box *a, const struct segment *s)
{
    struct axes t = box_axes(a);
    double px = s->x0 - a->cx, py = s->y0 - a->cy, qx = s->x1 - s->x0, qy = s->y1 - s->y0;
    const double p[2] = { px * t.ux + py * t.uy, px * t.vx + py * t.vy };
    const double d[2] = { qx * t.ux + qy * t.uy, qx * t.vx + qy * t.vy };
    const double half[2] = { a->hw, a->hh };
    double lo = 0, hi = 1;
    for (int i = 0; i < 2; i++) {
        if (fabs(d[i]) < 1e-9) {
            if (fabs(p[i]) > half[i])
                return false;
            continue;
        }
        double t0 = (-half[i] - p[i]) / d[i], t1 = (half[i] - p[i]) / d[i];
        lo = fmax(lo, fmin(t0, t1));
        hi = fmin(hi, fmax(t0, t1));
    }
    return lo <= hi;
}

static double side(const struct segment *s, double x, double y)
{
    return (s->x1 - s->x0) * (y - s->y0) - (s->y1 - s->y0) * (x - s->x0);
}

bool segments_cross(const struct segment *a, const struct segment *b)
{
    return side(a, b->x0, b->y0) * side(a, b->x1, b->y1) < 0 &&
           side(b, a->x0, a->y0) * side(b, a->x1, a->y1) < 0;
}

/* ---- the scene ------------------------------------------------------------------------
 */

static bool grow(void **v, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return true;
    size_t more = *cap ? 2 * *cap : 32;
    void *p = realloc(*v, more * size);
    if (!p)
        return false;
    *v = p;
    *cap = more;
    return true;
}

void scene_free(struct scene *s)
{
    free(s->box);
    free(s->disc);
    free(s->line);
    free(s->leader);
    *s = (struct scene){ 0 };
}

void scene_add_box(struct scene *s, struct box b)
{
    void *v = s->box;
    if (grow(&v, s->n_box, &s->cap_box, sizeof b)) {
        s->box = v;
        s->box[s->n_box++] = b;
    } else {
        s->oom = true;
    }
}

void scene_add_disc(struct scene *s, struct disc d)
{
    void *v = s->disc;
    if (grow(&v, s->n_disc, &s->cap_disc, sizeof d)) {
        s->disc = v;
        s->disc[s->n_disc++] = d;
    } else {
        s->oom = true;
    }
}

void scene_add_line(struct scene *s, struct segment l)
{
    void *v = s->line;
    if (grow(&v, s->n_line, &s->cap_line, sizeof l)) {
        s->line = v;
        s->line[s->n_line++] = l;
    } else {
        s->oom = true;
    }
}

void scene_add_leader(struct scene *s, struct segment l)
{
    void *v = s->leader;
    if (grow(&v, s->n_leader, &s->cap_leader, sizeof l)) {
        s->leader = v;
        s->leader[s->n_leader++] = l;
    } else {
        s->oom = true;
    }
}

struct box placement_box(const struct placement *p)
{
    return text_box(p->x, p->y, p->w_px, p->n_line, p->size_px, p->angle);
}

void scene_add_placement(struct scene *s, const struct placement *p)
{
    scene_add_box(s, placement_box(p));
    if (p->has_leader)
        scene_add_leader(s, p->leader);
}

/* ---- search
 * ------------------------------------------------------------------------------ */

#define TEXT_GAP 5.0 /* px between texts side by side, a third of it between lines */
#define DISC_GAP 1.5 /* px between a text and a marker */

static bool box_is_free(const struct scene *s, const struct box *b)
{
    struct box wide = *b;
    wide.hw += TEXT_GAP;
    wide.hh += TEXT_GAP / 3;
    if (!box_inside(&wide, s->x0, s->y0, s->x1, s->y1))
        return false;
    for (size_t i = 0; i < s->n_box; i++)
        if (box_overlaps(&wide, &s->box[i]))
            return false;
    for (size_t i = 0; i < s->n_disc; i++)
        if (box_distance(b, s->disc[i].x, s->disc[i].y) < s->disc[i].r + DISC_GAP)
            return false;
    for (size_t i = 0; i < s->n_leader; i++)
        if (box_hits_segment(b, &s->leader[i]))
            return false;
    return true;
}

/* A text on a line is legible but ugly: each crossing costs as much as 70 px of distance.
 */
static double crossing_cost(const struct scene *s, const struct box *b)
{
    double cost = 0;
    for (size_t i = 0; i < s->n_line; i++)
        if (box_hits_segment(b, &s->line[i]))
            cost += 70;
    return cost;
}

static double point_segment_distance(const struct segment *s, double x, double y)
{
    double dx = s->x1 - s->x0, dy = s->y1 - s->y0, n = dx * dx + dy * dy;
    double t = n > 0 ? ((x - s->x0) * dx + (y - s->y0) * dy) / n : 0;
    t = fmin(1, fmax(0, t));
    return hypot(s->x0 + t * dx - x, s->y0 + t * dy - y);
}

/* Cost of a leader line from disc `at`; infinite through a text. */
static double leader_cost(const struct scene *s, const struct segment *l, const struct disc *at)
{
    double cost = 15;
    for (size_t i = 0; i < s->n_box; i++)
        if (box_hits_segment(&s->box[i], l))
            return INFINITY;
    for (size_t i = 0; i < s->n_leader; i++)
        if (segments_cross(l, &s->leader[i]))
            cost += 60;
    for (size_t i = 0; i < s->n_disc; i++) {
        const struct disc *d = &s->disc[i];
        if (hypot(d->x - at->x, d->y - at->y) > 0.5 && point_segment_distance(l, d->x, d->y) < d->r)
            cost += 25;
    }
    return cost;
}

/* From the marker's rim to the nearest point of an upright box. */
static struct segment leader_line(const struct disc *at, const struct box *b)
{
    double x = fmin(b->cx + b->hw, fmax(b->cx - b->hw, at->x));
    double y = fmin(b->cy + b->hh, fmax(b->cy - b->hh, at->y));
    double d = hypot(x - at->x, y - at->y), k = d > 0 ? fmin(1, at->r / d) : 0;
    return (struct segment){ at->x + k * (x - at->x), at->y + k * (y - at->y), x, y };
}

/* The same owner's, or the marker that the label belongs to, which several points may share. */
static bool own_disc(const struct disc *d, const struct disc *at)
{
    return d->owner == at->owner || hypot(d->x - at->x, d->y - at->y) < 0.5;
}

/* Whether a reader takes the text for this owner's: no point of another is nearer. */
static bool nearest_is_own(const struct scene *s, const struct box *b, const struct disc *at)
{
    double own = box_distance(b, at->x, at->y), other = INFINITY;
    if (at->owner == DISC_NONE)
        return true;
    for (size_t i = 0; i < s->n_disc; i++) {
        const double d = box_distance(b, s->disc[i].x, s->disc[i].y);
        if (own_disc(&s->disc[i], at))
            own = fmin(own, d);
        else if (s->disc[i].owner != DISC_NONE)
            other = fmin(other, d);
    }
    return own <= other;
}

bool place_next_to(const struct scene *s, const struct disc *at, struct placement *p)
{
    static const double away[] = { 3, 9, 17, 27, 40, 56, 76, 100, 130, 170 };
    /* Right first, then above and below; a text to the left reads worst. */
    static const struct {
        double x, y, cost;
    } dir[] = { { 1, 0, 0 },      { 0.9, -0.45, 2 },  { 0.9, 0.45, 2 },  { 0.7, -0.7, 2 },
                { 0.7, 0.7, 3 },  { 0.4, -0.9, 3 },   { 0.4, 0.9, 4 },   { 0, -1, 3 },
                { 0, 1, 4 },      { -0.4, -0.9, 5 },  { -0.4, 0.9, 6 },  { -0.7, -0.7, 6 },
                { -0.7, 0.7, 7 }, { -0.9, -0.45, 7 }, { -0.9, 0.45, 7 }, { -1, 0, 5 } };
    struct placement best = *p;
    best.placed = false;
    best.cost = INFINITY;
    struct box size = text_box(0, 0, p->w_px, p->n_line, p->size_px, 0);
    for (size_t i = 0; i < ARRAY_LEN(away); i++)
        for (size_t k = 0; k < ARRAY_LEN(dir); k++) {
            double d = at->r + away[i], cost = dir[k].cost + away[i];
            if (cost >= best.cost)
                continue;
            struct placement try = *p;
            try.angle = 0;
            try.x = at->x + dir[k].x * d +
                    (dir[k].x > 0.3    ? 1
                     : dir[k].x < -0.3 ? -1
                                       : 0) *
                        size.hw;
            try.y = at->y + dir[k].y * d +
                    (dir[k].y > 0.3    ? 1
                     : dir[k].y < -0.3 ? -1
                                       : 0) *
                        size.hh -
                    size.cy;
            struct box b = placement_box(&try);
            try.has_leader = away[i] > 9;
            if (!box_is_free(s, &b) || !((s->crowded && try.has_leader) || nearest_is_own(s, &b, at)))
                continue;
            cost += crossing_cost(s, &b);
            if (try.has_leader) {
                try.leader = leader_line(at, &b);
                cost += leader_cost(s, &try.leader, at);
            }
            if (cost < best.cost) {
                best = try;
                best.cost = cost;
                best.placed = true;
            }
        }
    *p = best;
    return best.placed;
}

bool place_along(const struct scene *s, const struct segment *l, double prefer, struct placement *p)
{
    double len = hypot(l->x1 - l->x0, l->y1 - l->y0);
    double ux = (l->x1 - l->x0) / len, uy = (l->y1 - l->y0) / len;
    struct placement best = *p;
    best.placed = false;
    best.cost = INFINITY;
    double margin = p->w_px / 2 + 4;
    for (double t = margin; t <= len - margin; t += 6)
        for (int below = 0; below <= 1; below++) {
            struct placement try = *p;
            try.angle = round(-atan2(uy, ux) / RADIANS(1));
            double off = p->size_px * (below ? 0.58 : -0.6) + (below ? 2.5 : -2.5);
            try.x = l->x0 + ux * t - uy * off;
            try.y = l->y0 + uy * t + ux * off;
            struct box b = placement_box(&try);
            if (!box_is_free(s, &b))
                continue;
            double from = prefer > 0.5 ? len - t : t;
            double cost = 0.08 * from + (below ? 12 : 0) + crossing_cost(s, &b);
            if (cost < best.cost) {
                best = try;
                best.cost = cost;
                best.placed = true;
            }
        }
    *p = best;
    return best.placed;
}
