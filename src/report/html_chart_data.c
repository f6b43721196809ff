/* The data behind a chart of a page, as a table under it: for screen readers, and to copy. */
#include "report/html_internal.h"
#include <stdlib.h>
#include <string.h>

enum { DATA_ROWS = 200, DATA_COLUMNS = 16 };

/* The fields of a line, separated by tabs, each ended by NUL in place. */
static size_t split(char *line, char *field[DATA_COLUMNS])
{
    size_t n = 0;
    for (char *s = line; s && n < DATA_COLUMNS;) {
        char *tab = strchr(s, '\t');
        field[n++] = s;
        if (tab)
            *tab = 0;
        s = tab ? tab + 1 : NULL;
    }
    return n;
}

static struct cell data_cell(struct page_table *t, const char *text)
{
    char *end;
    const double v = strtod(text, &end);
    return end != text && !*end ? cell_real(v) : cell_text(page_keep(t, text));
}

static bool is_numeric(const struct page_table *t, size_t column)
{
    for (size_t i = 0; i < t->rows.n; i++) {
        const struct cell *c = (const struct cell *)table_row(&t->rows, i) + column;
        if (c->kind == CELL_TEXT)
            return false;
    }
    return true;
}

void html_add_chart_data(struct page *p, const char *base, const char *id)
{
    char path[4200], data_id[64], *field[DATA_COLUMNS];
    char *line = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s.tsv", base);
    FILE *f = fopen(path, "re");
    if (!f)
        return;
    snprintf(data_id, sizeof data_id, "%.24s-data", id);
    struct page_table *t = NULL;
    size_t n = 0;
    while (getline(&line, &size, f) > 0) {
        line[strcspn(line, "\n")] = 0;
        const size_t n_field = split(line, field);
        if (!t) {
            n = n_field;
            page_add(p, PAGE_TABLE, data_id)->wide = true;
            page_say(p, "Data of the chart above");
            t = page_cells(p, n);
            t->folded = true;
            for (size_t k = 0; k < n; k++)
                page_column(t, k, field[k], COL_FLOAT, NULL, "SI units");
        } else if (t->rows.n < DATA_ROWS && n_field > 1) {
            struct cell *c = table_add(&t->rows);
            for (size_t k = 0; k < n && k < n_field; k++)
                c[k] = data_cell(t, field[k]);
        } else {
            t->n_left_out += n_field > 1;
        }
    }
    for (size_t k = 0; t && k < n; k++)
        if (!is_numeric(t, k))
            t->col[k].style = COL_TEXT;
    free(line);
    fclose(f);
}
