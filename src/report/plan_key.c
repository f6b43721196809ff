/* The table next to a chart's plot that explains its numbers and letters, column by column. */
#include "report/plan.h"

#define KEY_PX      11.5
#define KEY_ROW     16.0
#define KEY_W       270.0 /* a column */
#define KEY_TEXT_W  236.0 /* its texts */
#define KEY_LINES   4
#define KEY_GAP     30.0
#define KEY_COLUMNS 3

static int rows_a_column(const struct frame *f)
{
    return (int)((f->bottom - f->top + 40) / KEY_ROW);
}

int plan_key_rows(const char *names)
{
    char line[KEY_LINES][WRAP_LINE];
    bool cut;
    return wrap_text(names, KEY_PX, KEY_TEXT_W, line, KEY_LINES, &cut);
}

/* Entries of several lines break the columns unevenly: a tenth is reserved for that. */
int plan_key_free_rows(const struct plan *p)
{
    int all = rows_a_column(&p->frame);
    return all * KEY_COLUMNS * 9 / 10 - p->key_column * all - p->key_row;
}

/* Reserves n consecutive rows; false: only the last row is free. */
static bool make_room(struct plan *p, int n)
{
    int rows = rows_a_column(&p->frame);
    if (p->key_row + n > rows && p->key_column + 1 < KEY_COLUMNS) {
        p->key_column++;
        p->key_row = 0;
    }
    return p->key_row + n <= rows - (p->key_column + 1 == KEY_COLUMNS);
}

static int put(struct plan *p, enum text_role role, double dx, char align, const char *text,
               struct error *err)
{
    struct plan_text t = { .size_px = KEY_PX, .align = align, .role = role };
    t.x = p->frame.right + KEY_GAP + p->key_column * KEY_W + dx;
    t.y = p->frame.top + KEY_ROW / 2 + p->key_row * KEY_ROW;
    return plan_add_text(p, &t, text, err);
}

int plan_key_add(struct plan *p, enum text_role role, const char *heading, const char *tag,
                 const char *names, struct error *err)
{
    char line[KEY_LINES][WRAP_LINE];
    bool cut;
    int n = wrap_text(names, KEY_PX, KEY_TEXT_W, line, KEY_LINES, &cut);
    if (p->key_full)
        return 0;
    if (!make_room(p, n + (heading != NULL))) {
        p->key_full = true;
        return put(p, TEXT_FAINT, 0, 'l', "more in the data files", err);
    }
    if (heading) {
        if (put(p, role, 0, 'l', heading, err) != 0)
            return -1;
        p->key_row++;
    }
    if (put(p, role, 20, 'r', tag, err) != 0)
        return -1;
    for (int i = 0; i < n; i++, p->key_row++)
        if (put(p, TEXT_PLAIN, 28, 'l', line[i], err) != 0)
            return -1;
    p->frame.width = p->frame.right + KEY_GAP + (p->key_column + 1) * KEY_W;
    return 0;
}
