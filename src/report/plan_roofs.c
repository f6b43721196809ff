/* The roofs of a chart: their lines, which of them are the envelope, ridge points, and the
 * labels of both. */
#include "report/plan.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_PX   12.0
#define RIDGE_PX   11.0
#define MANY_ROOFS 10 /* more roofs than this are lettered */

struct span roofs_span(const struct chart_roof *roof, size_t n, int spec, int machine)
{
    struct span s = { INFINITY, 0, INFINITY, 0, 0, 0 };
    for (size_t i = 0; i < n; i++) {
        if ((spec >= 0 && roof[i].spec != (spec == 1)) || (machine >= 0 && roof[i].machine != machine))
            continue;
        if (!isnan(roof[i].bytes_s)) {
            s.bw_lo = fmin(s.bw_lo, roof[i].bytes_s);
            s.bw_hi = fmax(s.bw_hi, roof[i].bytes_s);
            s.n_bw++;
        } else {
            s.flop_lo = fmin(s.flop_lo, roof[i].flop_s);
            s.flop_hi = fmax(s.flop_hi, roof[i].flop_s);
            s.n_flop++;
        }
    }
    return s;
}

/* ---- roof lines, ridge points
 * ------------------------------------------------------------ */

/* Peaks and bandwidths a roof is joined to: its own kind (measured or datasheet) where
 * there is one. */
static struct span partners(const struct roofline_chart *c, bool spec, int machine)
{
    struct span own = roofs_span(c->roof, c->n_roof, spec, machine),
                all = roofs_span(c->roof, c->n_roof, -1, machine);
    if (!own.n_bw)
        own.bw_hi = all.bw_hi, own.bw_lo = all.bw_lo, own.n_bw = all.n_bw;
    if (!own.n_flop)
        own.flop_hi = all.flop_hi, own.flop_lo = all.flop_lo, own.n_flop = all.n_flop;
    return own;
}

/* Whether a machine's envelope is made of measured roofs (0), datasheet roofs (1), or both (-1). */
static int envelope_kind(const struct roofline_chart *c, int machine)
{
    struct span m = roofs_span(c->roof, c->n_roof, 0, machine), s = roofs_span(c->roof, c->n_roof, 1, machine);
    return m.n_bw && m.n_flop ? 0 : s.n_bw && s.n_flop && !m.n_bw && !m.n_flop ? 1 : -1;
}

void plan_roof(struct roof_line *l, const struct roofline_chart *c, const struct frame *f, size_t i)
{
    const struct chart_roof *r = &c->roof[i];
    struct span with = partners(c, r->spec, r->machine);
    int kind = envelope_kind(c, r->machine);
    struct span env = roofs_span(c->roof, c->n_roof, kind, r->machine);
    bool counts = kind < 0 || r->spec == (kind == 1);
    l->spec = r->spec;
    if (!isnan(r->bytes_s)) {
        double top = with.n_flop ? fmin(with.flop_hi, f->y_hi) : f->y_hi;
        l->ai1 = fmin(top / r->bytes_s, f->x_hi);
        l->ai0 = fmin(fmax(f->x_lo, f->y_lo / r->bytes_s), l->ai1);
        l->flop0_s = l->ai0 * r->bytes_s;
        l->flop1_s = l->ai1 * r->bytes_s;
        l->strong = counts && r->bytes_s >= env.bw_hi;
    } else {
        l->ai0 = with.n_bw ? fmin(fmax(r->flop_s / with.bw_hi, f->x_lo), f->x_hi) : f->x_lo;
        l->ai1 = f->x_hi;
        l->flop0_s = l->flop1_s = r->flop_s;
        l->strong = counts && r->flop_s >= env.flop_hi;
    }
}

struct segment roof_segment(const struct frame *f, const struct roof_line *l)
{
    return (struct segment){ frame_px(f, l->ai0), frame_py(f, l->flop0_s), frame_px(f, l->ai1),
                             frame_py(f, l->flop1_s) };
}

/* Ridge points: every memory roof with the highest peak, and every peak with the slowest memory; with many roofs only the
 * outer two. */
int plan_ridges(struct plan *p, const struct roofline_chart *c, struct error *err)
{
    const struct frame *f = &p->frame;
    p->ridge_ai = calloc(c->n_roof * 2 + 1, sizeof *p->ridge_ai);
    p->ridge_flop_s = calloc(c->n_roof * 2 + 1, sizeof *p->ridge_flop_s);
    if (!p->ridge_ai || !p->ridge_flop_s)
        return error_oom(err, c->n_roof * sizeof *p->ridge_ai, "ridge points");
    for (size_t i = 0; i < c->n_roof; i++) {
        const struct chart_roof *r = &c->roof[i];
        const int kind = envelope_kind(c, r->machine);
        const struct span env = roofs_span(c->roof, c->n_roof, kind, r->machine);
        if (!env.n_bw || !env.n_flop || (kind >= 0 && r->spec != (kind == 1)))
            continue;
        bool slanted = !isnan(r->bytes_s);
        double flop_s = slanted ? env.flop_hi : r->flop_s;
        double ai = flop_s / (slanted ? r->bytes_s : env.bw_lo);
        bool twice = !slanted && flop_s >= env.flop_hi; /* the slowest memory's own ridge */
        bool extreme = slanted && (r->bytes_s <= env.bw_lo || r->bytes_s >= env.bw_hi);
        if (twice || (c->n_roof > MANY_ROOFS && !extreme) || ai < f->x_lo || ai > f->x_hi)
            continue;
        p->ridge_ai[p->n_ridge] = ai;
        p->ridge_flop_s[p->n_ridge++] = flop_s;
    }
    return 0;
}

/* Put a roof's label along its line, smaller if need be; false: no room. */
static bool place_roof_label(struct placement *at, const struct scene *s, const struct segment *l,
                             bool slanted, const char *label)
{
    static const double sizes[] = { LABEL_PX, RIDGE_PX };
    for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
        *at = (struct placement){ .n_line = 1,
                                  .size_px = sizes[k],
                                  .w_px = text_width_px(label, sizes[k]) };
        if (place_along(s, l, slanted ? 0 : 1, at))
            return true;
    }
    return false;
}

/* Labels on their lines; with many roofs letters, and the labels in the table next to the plot. */
int plan_roof_labels(struct plan *p, const struct roofline_chart *c, struct scene *s,
                     struct strbuf *notes, struct error *err)
{
    p->lettered = c->n_roof > MANY_ROOFS;
    for (size_t i = 0; i < c->n_roof; i++) {
        struct segment l = roof_segment(&p->frame, &p->roof[i]);
        struct placement at;
        char letter[8];
        snprintf(letter, sizeof letter, i < 26 ? "%c" : "%c%zu", (char)('a' + i % 26), i / 26);
        const char *label = p->lettered ? letter : c->roof[i].label;
        enum text_role role = p->roof[i].strong ? TEXT_ROOF : TEXT_ROOF_INNER;
        if (p->lettered &&
            plan_key_add(p, TEXT_ROOF, i ? NULL : "roofs", letter, c->roof[i].label, err) != 0)
            return -1;
        if (!place_roof_label(&at, s, &l, !isnan(c->roof[i].bytes_s), label)) {
            strbuf_addf(notes, "no room for the label of roof \"%s\"\n", c->roof[i].label);
            continue;
        }
        scene_add_placement(s, &at);
        struct plan_text t = { .x = at.x,
                               .y = at.y,
                               .size_px = at.size_px,
                               .angle = at.angle,
                               .align = 'c',
                               .in_plot = true,
                               .role = role };
        if (plan_add_text(p, &t, label, err) != 0)
            return -1;
    }
    return 0;
}

int plan_ridge_labels(struct plan *p, struct scene *s, struct strbuf *notes, struct error *err)
{
    for (size_t i = 0; i < p->n_ridge; i++) {
        struct plan_text t = {
            .size_px = RIDGE_PX, .align = 'c', .in_plot = true, .role = TEXT_RIDGE
        };
        char ai[32];
        snprintf(ai, sizeof ai, "%.*f", p->ridge_ai[i] < 9.95 ? 1 : 0, p->ridge_ai[i]);
        struct placement at = { .n_line = 1, .size_px = RIDGE_PX };
        at.w_px = text_width_px(ai, RIDGE_PX);
        struct disc d = { frame_px(&p->frame, p->ridge_ai[i]),
                          frame_py(&p->frame, p->ridge_flop_s[i]), 3, DISC_NONE };
        if (!place_next_to(s, &d, &at) || at.has_leader) {
            strbuf_addf(notes, "no room for the label of the ridge point at %s FLOP/byte\n", ai);
            continue;
        }
        scene_add_placement(s, &at);
        t.x = at.x;
        t.y = at.y;
        if (plan_add_text(p, &t, ai, err) != 0)
            return -1;
    }
    return 0;
}
