/*
 * report/layout.h: where text goes on a chart. Everything is in pixels of the picture, x to
 * the right, y down, angles counter-clockwise in degrees as gnuplot writes them. Internal
 * to report and its tests.
 */
#ifndef REPORT_LAYOUT_H
#define REPORT_LAYOUT_H

#include "base/base.h"

/* A rectangle turned about its centre; hw, hh are half of width and height. */
struct box {
    double cx, cy, hw, hh, angle;
};
struct segment {
    double x0, y0, x1, y1;
};
/* owner: which label belongs to the marker (equal numbers belong together); DISC_NONE: no label does, texts only keep off it. */
enum { DISC_NONE = -1 };
struct disc {
    double x, y, r;
    int owner;
};

/* Width of one line of UTF-8 text, never less than a sans-serif font of that size draws it
 * (widths of DejaVu Sans, wider than Helvetica, Arial and Liberation Sans; other scripts
 * count one em). */
double text_width_px(const char *s, double size_px);
/* Shorten s to fit w pixels, ending in "...". */
void text_fit(char *s, double size_px, double w_px);
/* The box that n_line lines of text cover when gnuplot centres them on (x, y). Lines are
 * TEXT_LEADING times the size apart. */
#define TEXT_LEADING 1.25
struct box text_box(double x, double y, double w_px, int n_line, double size_px, double angle);

bool box_overlaps(const struct box *a, const struct box *b);
bool box_inside(const struct box *a, double x0, double y0, double x1, double y1);
/* Distance of the point from the box, 0 inside. */
double box_distance(const struct box *a, double x, double y);
bool box_hits_segment(const struct box *a, const struct segment *s);
bool segments_cross(const struct segment *a, const struct segment *b);

/* What is on the canvas so far: text boxes, markers, roof lines and leader lines. */
struct scene {
    double x0, y0, x1, y1; /* texts stay inside */
    struct box *box;
    size_t n_box, cap_box;
    struct disc *disc;
    size_t n_disc, cap_disc;
    struct segment *line; /* may be crossed by text when nothing else is free */
    size_t n_line, cap_line;
    struct segment *leader; /* never crossed by text */
    size_t n_leader, cap_leader;
    bool crowded; /* a text with a leader line may stand nearer to another owner's disc */
    bool oom;
};
void scene_free(struct scene *s);
void scene_add_box(struct scene *s, struct box b);
void scene_add_disc(struct scene *s, struct disc d);
void scene_add_line(struct scene *s, struct segment l);
void scene_add_leader(struct scene *s, struct segment l);

/* A text of n_line lines, w_px wide, and where it was put. */
struct placement {
    double w_px, size_px;
    int n_line;
    bool placed, has_leader;
    double x, y, angle; /* centre, as gnuplot wants it */
    struct segment leader;
    double cost;
};
/*
 * Next to a marker: the cheapest of 16 directions at growing distances that touches no box,
 * disc or leader, stands no nearer another owner's disc than the nearest of its own (unless the scene is crowded and it has a
 * leader line), and stays inside; far places get a leader line. Adds nothing to the scene. false: no place.
 */
bool place_next_to(const struct scene *s, const struct disc *at, struct placement *p);
/* Along a line, above or below it, text turned with the line. prefer: 0 starts at the
 * segment's first end, 1 at its second. */
bool place_along(const struct scene *s, const struct segment *l, double prefer,
                 struct placement *p);
struct box placement_box(const struct placement *p);
/* Add the placed text (and leader) to the scene. */
void scene_add_placement(struct scene *s, const struct placement *p);

#endif
