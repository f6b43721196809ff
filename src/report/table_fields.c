/* The tables of doc/formats.md: field, type, unit and meaning of each column. */
#include "report/table.h"
#include <string.h>

/* JSON type of the column's values. */
static const char *type_text(char *buf, size_t size, const struct column *c)
{
    static const char *const names[] = { [FIELD_DOUBLE] = "number", [FIELD_INT] = "int", [FIELD_U32] = "int", [FIELD_U64] = "int", [FIELD_BOOL] = "bool",
                                         [FIELD_STRING] = "string", [FIELD_CHARS] = "string", [FIELD_CELL] = "any", [FIELD_JSON] = "any" };
    const bool flag = c->field == FIELD_INT && c->style == COL_BOOL, whole = c->field == FIELD_DOUBLE && c->style == COL_INT;
    const bool null = flag || c->empty == EMPTY_NULL || c->empty == EMPTY_ZERO || c->empty == EMPTY_OPTIONAL;
    snprintf(buf, size, "%s%s%s", flag ? "bool" : whole ? "int" : names[c->field], null ? " or null" : "", c->empty == EMPTY_ABSENT || c->empty == EMPTY_OPTIONAL ? ", optional" : "");
    return c->type ? c->type : buf;
}

static void print_cell(FILE *f, const char *s)
{
    fprintf(f, s && *s ? " %s |" : " |", s);
}

void table_fields_print(FILE *f, const struct table_fields *t)
{
    char type[64];
    fprintf(f, "### `%s`\n\n| field | type | unit | meaning |\n|---|---|---|---|\n", t->section);
    for (size_t i = 0; i < t->n; i++) {
        const struct column *c = &t->cols[i];
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again |= strcmp(t->cols[k].key, c->key) == 0;
        if (again)
            continue;
        fprintf(f, "| `%s` |", c->key);
        print_cell(f, type_text(type, sizeof type, c));
        print_cell(f, c->unit);
        print_cell(f, c->help);
        fprintf(f, "\n");
    }
    fprintf(f, "\n");
}
