/*
 * report/plan.h: pixel layout of a roofline chart, computed before gnuplot runs: frame, roof lines, ridge points, marker sizes,
 * and the position of every text. Internal to report and its tests.
 */
#ifndef REPORT_PLAN_H
#define REPORT_PLAN_H

#include "report/layout.h"
#include "report/report.h"

/* The axes' ranges and where the plot area lies in the picture. */
struct frame {
    double x_lo, x_hi, y_lo, y_hi;
    double left, right, top, bottom; /* px */
    double width, height;            /* of the picture, px */
    bool x_linear, y_linear;         /* else logarithmic */
};
double frame_px(const struct frame *f, double ai);
double frame_py(const struct frame *f, double flop_s);
double frame_ai(const struct frame *f, double px);
double frame_flop_s(const struct frame *f, double py);

/* The axes depend only on the roofs: a machine always has the same axes. */
int frame_from_roofs(struct frame *f, const struct chart_roof *roof, size_t n, struct error *err);

struct roof_line {
    double ai0, flop0_s, ai1, flop1_s;
    bool strong; /* part of the envelope */
    bool spec;
};

/* Style of a text; colours are defined in the style file. */
enum text_role {
    TEXT_TITLE,
    TEXT_PLAIN,
    TEXT_FAINT,
    TEXT_ROOF,
    TEXT_ROOF_INNER,
    TEXT_DECODE,
    TEXT_PREFILL,
    TEXT_OTHER,
    TEXT_RIDGE,
};
struct plan_text {
    char text[200];
    double x, y, size_px, angle; /* px; (x, y) is the middle of the line's end named by align */
    char align;                  /* 'l' 'c' 'r' */
    enum text_role role;
    bool in_plot;
};

/* Marker or line of the legend. */
struct plan_sample {
    double x, y;
    enum {
        SAMPLE_DECODE,
        SAMPLE_PREFILL,
        SAMPLE_OTHER,
        SAMPLE_COUNTED,
        SAMPLE_FULL,
        SAMPLE_HOLLOW,
        SAMPLE_L1,
        SAMPLE_L2,
        SAMPLE_L3,
        SAMPLE_DRAM,
        SAMPLE_RIDGE,
        SAMPLE_LINE,
        SAMPLE_DASHED
    } kind;
};

struct plan {
    struct frame frame;
    struct roof_line *roof; /* as in the chart */
    bool *in_frame;         /* of each point */
    double *radius_px;      /* of each point */
    double *ridge_ai, *ridge_flop_s;
    size_t n_ridge;
    struct plan_text *text;
    size_t n_text, cap_text;
    struct segment *leader;
    enum text_role *leader_role;
    size_t n_leader;
    struct segment *edge; /* arrows at the frame, to points outside */
    enum text_role *edge_role;
    size_t n_edge;
    struct plan_sample sample[16];
    size_t n_sample;
    bool numbered; /* points' labels are numbers, names are in a table next to the plot */
    bool lettered; /* roofs' labels are letters */
    int key_row, key_column; /* the next row of that table */
    bool key_full;
};

int plan_roofline(struct plan *p, const struct roofline_chart *c, struct strbuf *notes,
                  struct error *err);
void plan_free(struct plan *p);

/* ---- parts (plan_*.c) ---------------------------------------------------------- */
/* Append t with this text (cut to fit). */
int plan_add_text(struct plan *p, const struct plan_text *t, const char *text, struct error *err);
/* Append a text there. plan_titles.c */
int plan_put(struct plan *p, enum text_role role, double size_px, double x, double y, char align, double angle, const char *text, struct error *err);
/* Lines of at most the picture's width, from *y down; *y: behind them. */
int plan_paragraph(struct plan *p, const char *text, double size_px, int max_lines, double *y, struct error *err);
/* Title and subtitle at the top; *y: behind them. */
int plan_heading(struct plan *p, const char *title, const char *subtitle, double *y, struct error *err);
/* Break text at spaces into lines of at most w_px; the last of max_lines ends in "..." when
 * more was left. */
#define WRAP_LINE 200
int wrap_text(const char *text, double size_px, double w_px, char (*line)[WRAP_LINE], int max_lines,
              bool *cut);
/* Range of a set of roofs. spec: 1 or 0: only datasheet or measured roofs, -1: all; machine: -1: all. plan_roofs.c */
struct span {
    double bw_lo, bw_hi, flop_lo, flop_hi;
    int n_bw, n_flop;
};
struct span roofs_span(const struct chart_roof *roof, size_t n, int spec, int machine);
void plan_roof(struct roof_line *l, const struct roofline_chart *c, const struct frame *f,
               size_t i);
struct segment roof_segment(const struct frame *f, const struct roof_line *l);
int plan_ridges(struct plan *p, const struct roofline_chart *c, struct error *err);
int plan_roof_labels(struct plan *p, const struct roofline_chart *c, struct scene *s,
                     struct strbuf *notes, struct error *err);
int plan_ridge_labels(struct plan *p, struct scene *s, struct strbuf *notes, struct error *err);
/* Radius of the disc that covers a point's marker. */
double point_reach_px(const struct roofline_chart *c, const struct plan *p, size_t i);
/* Of a point's phase, 0 to 3 for L1 L2 L3 DRAM; -1: it is no level. */
int point_level(const char *phase);
enum text_role phase_role(const char *phase);
/* The point that a line leads from to point i; i itself: none does, or an end is outside the frame. */
size_t point_before(const struct roofline_chart *c, const struct plan *p, size_t i);
/* Intensity and FLOP/s are known and above 0, so a logarithmic axis can show it. */
bool point_has_place(const struct chart_point *q);
/* Length of "ffn_down" in "ffn_down.12": one role's points in many layers share a name. */
size_t label_stem(const char *label);
bool same_stem(const char *a, const char *b);
/* The names of the others, each once: "No FLOP, ...: embed, kv_store". */
void points_without_place(const struct roofline_chart *c, struct strbuf *b);
/* Labels of the points in the frame; s holds markers, roofs, roof labels. plan_points.c */
int plan_point_labels(struct plan *p, const struct roofline_chart *c, struct scene *s,
                      struct strbuf *notes, struct error *err);
/* A line from a label to its marker. plan_points.c */
int plan_add_leader(struct plan *p, const struct segment *leader, enum text_role role, struct error *err);
/* Arrows and names of the points outside the frame, at its edge, where there is room. plan_edges.c */
int plan_edges(struct plan *p, const struct roofline_chart *c, struct scene *s, struct error *err);
/* Adds a tag and its text to the table, with an optional heading. A full table ends with a note. plan_key.c */
int plan_key_add(struct plan *p, enum text_role role, const char *heading, const char *tag,
                 const char *names, struct error *err);
int plan_key_rows(const char *names);
int plan_key_free_rows(const struct plan *p);
/* Title, subtitle, axis titles, legend, the names of points outside the frame.
 * plan_margins.c */
int plan_margins(struct plan *p, const struct roofline_chart *c, struct error *err);
#endif
