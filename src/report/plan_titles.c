/* Titles and paragraphs of charts. */
#include "report/plan.h"

#define TITLE_PX 18.0
#define TEXT_PX  12.0

int plan_put(struct plan *p, enum text_role role, double size_px, double x, double y, char align, double angle, const char *text, struct error *err)
{
    struct plan_text t = { .x = x, .y = y, .size_px = size_px, .angle = angle, .align = align, .role = role };
    return plan_add_text(p, &t, text, err);
}

int plan_paragraph(struct plan *p, const char *text, double size_px, int max_lines, double *y, struct error *err)
{
    char line[6][WRAP_LINE];
    bool cut;
    int n = *text ? wrap_text(text, size_px, p->frame.width - p->frame.left - 20, line, max_lines, &cut) : 0;
    for (int i = 0; i < n; i++, *y += size_px + 5)
        if (plan_put(p, TEXT_FAINT, size_px, p->frame.left, *y, 'l', 0, line[i], err) != 0)
            return -1;
    return 0;
}

int plan_heading(struct plan *p, const char *title, const char *subtitle, double *y, struct error *err)
{
    const struct frame *f = &p->frame;
    char text[WRAP_LINE];
    snprintf(text, sizeof text, "%s", title);
    text_fit(text, TITLE_PX, f->width - f->left - 20);
    *y = 54;
    if (plan_put(p, TEXT_TITLE, TITLE_PX, f->left, 28, 'l', 0, text, err) != 0)
        return -1;
    return plan_paragraph(p, subtitle, TEXT_PX, 2, y, err);
}
