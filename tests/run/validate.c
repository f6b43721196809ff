/*
 * validate: checks JSON documents against the tables of doc/formats.md, so that the text
 * people read is the schema programs are held to.
 *
 *   validate FORMATS.md NAME FILE      FILE is one document of section NAME
 *   validate FORMATS.md --lines FILE   each line is a row; its "schema" names the section
 *   validate FORMATS.md --fields NAME  print the fields of a section, one a line
 *
 * A section starts at a heading with its name in backticks and holds a table whose rows are
 * | `field` | type | unit | meaning |. A type is one or more of these, joined by " or ":
 *   string number int bool null any, a literal (`"decode"`, `1`), a section (`run.row`),
 *   array of <type>; ", optional" at the end allows absence. The field `*` stands for all
 *   fields not named.
 */
#include "base/json.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_FIELDS = 4096, MAX_DEPTH = 32 };

struct field {
    char section[64], name[64], type[160];
    bool optional;
};

struct schema {
    struct field field[MAX_FIELDS];
    size_t n;
};

/* ---- reading the tables -------------------------------------------------------------- */

/* Cut the text between `from` and `to` out of a cell: no backticks, no outer spaces. */
static void clean(char *out, size_t size, const char *from, const char *to)
{
    size_t n = 0;
    for (; from < to && n + 1 < size; from++) {
        if (*from != '`' && !(n == 0 && *from == ' '))
            out[n++] = *from;
    }
    while (n && out[n - 1] == ' ')
        n--;
    out[n] = 0;
}

static void read_heading(const char *line, char *section, size_t size)
{
    const char *a = strchr(line, '`'), *b = a ? strchr(a + 1, '`') : NULL;
    section[0] = 0;
    if (b)
        clean(section, size, a, b);
}

static int read_row(struct schema *s, const char *line, const char *section,
                    struct error *err)
{
    const char *bar[4] = { line };
    for (int i = 1; i < 4; i++) {
        bar[i] = strchr(bar[i - 1] + 1, '|');
        if (!bar[i])
            return error_set(err, ERROR_INPUT, "%s: a row of fewer than 3 cells: %.80s",
                             section, line);
    }
    if (s->n == MAX_FIELDS)
        return error_set(err, ERROR_INPUT, "more than %d fields", MAX_FIELDS);
    struct field *f = &s->field[s->n++];
    snprintf(f->section, sizeof f->section, "%s", section);
    clean(f->name, sizeof f->name, bar[0] + 1, bar[1]);
    clean(f->type, sizeof f->type, bar[1] + 1, bar[2]);
    char *optional = strstr(f->type, ", optional");
    f->optional = optional != NULL;
    if (optional)
        *optional = 0;
    return 0;
}

/* Only tables whose heading row starts with "| field | type |" count. */
static int read_schema(struct schema *s, const char *path, struct error *err)
{
    FILE *f = fopen(path, "r");
    char line[4096], section[64] = "";
    bool in_table = false;
    int rc = 0;
    s->n = 0;
    if (!f)
        return error_set(err, ERROR_SYSTEM, "%s: cannot open", path);
    while (rc == 0 && fgets(line, sizeof line, f)) {
        if (line[0] == '#')
            read_heading(line, section, sizeof section);
        if (line[0] != '|')
            in_table = false;
        else if (!strncmp(line, "| field | type |", 16))
            in_table = section[0] != 0;
        else if (in_table && strncmp(line, "|--", 3) != 0)
            rc = read_row(s, line, section, err);
    }
    fclose(f);
    if (rc == 0 && s->n == 0)
        rc = error_set(err, ERROR_INPUT, "%s: no table of fields", path);
    return rc;
}

static const struct field *find(const struct schema *s, const char *section,
                                const char *name)
{
    for (size_t i = 0; i < s->n; i++) {
        if (!strcmp(s->field[i].section, section) &&
            (!name || !strcmp(s->field[i].name, name)))
            return &s->field[i];
    }
    return NULL;
}

/* ---- checking
 * ---------------------------------------------------------------------------- */

static int check_object(const struct schema *s, const char *section, const json_t *j,
                        const char *where, int depth, struct error *err);

/* 0: j is of this one type. Errors inside a nested section are reported; a plain mismatch
 * is not. */
static int check_one(const struct schema *s, const char *type, const json_t *j,
                     const char *where, int depth, struct error *err)
{
    static const char *const names[] = { "string", "number", "int", "bool", "null", "any" };
    const bool fits[] = { json_is_string(j),  json_is_number(j), json_is_integer(j),
                          json_is_boolean(j), json_is_null(j),   true };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (!strcmp(type, names[i]))
            return fits[i] ? 0 : -1;
    }
    if (!strncmp(type, "array of ", 9)) {
        if (!json_is_array(j))
            return -1;
        for (size_t i = 0; i < json_array_size(j); i++) {
            char at[256];
            snprintf(at, sizeof at, "%.200s[%zu]", where, i);
            if (check_one(s, type + 9, json_array_get(j, i), at, depth + 1, err) != 0)
                return err->msg[0]
                           ? -1
                           : error_set(err, ERROR_INPUT, "%s: expected %s", at, type + 9);
        }
        return 0;
    }
    if (find(s, type, NULL))
        return json_is_object(j) ? check_object(s, type, j, where, depth + 1, err) : -1;
    json_t *literal = json_loads(type, JSON_DECODE_ANY, NULL);
    if (!literal)
        return error_set(err, ERROR_INPUT, "%s: formats.md has the unknown type \"%s\"",
                         where, type);
    int rc = json_equal(literal, j) ? 0 : -1;
    json_decref(literal);
    return rc;
}

static int check_type(const struct schema *s, const struct field *f, const json_t *j,
                      const char *where, int depth, struct error *err)
{
    char types[sizeof f->type];
    char *next = types;
    snprintf(types, sizeof types, "%s", f->type);
    while (next) {
        char *type = next, *end = strstr(type, " or ");
        next = end ? end + 4 : NULL;
        if (end)
            *end = 0;
        if (check_one(s, type, j, where, depth, err) == 0)
            return 0;
        if (err->msg[0])
            return -1;
    }
    char *found = json_dumps(j, JSON_COMPACT | JSON_ENCODE_ANY);
    error_set(err, ERROR_INPUT, "%s: expected %s, found %.60s", where, f->type,
              found ? found : "?");
    free(found);
    return -1;
}

static int check_object(const struct schema *s, const char *section, const json_t *j,
                        const char *where, int depth, struct error *err)
{
    char at[256];
    const char *key;
    json_t *v;
    if (depth > MAX_DEPTH)
        return error_set(err, ERROR_INPUT, "%s: nested too deep", where);
    for (size_t i = 0; i < s->n; i++) {
        const struct field *f = &s->field[i];
        if (!strcmp(f->section, section) && !f->optional && strcmp(f->name, "*") != 0 &&
            !json_object_get(j, f->name))
            return error_set(err, ERROR_INPUT, "%s: field \"%s\" of %s is missing", where,
                             f->name, section);
    }
    json_object_foreach((json_t *)(uintptr_t)j, key, v)
    {
        const struct field *f = find(s, section, key);
        if (!f)
            f = find(s, section, "*");
        if (!f)
            return error_set(err, ERROR_INPUT, "%s: field \"%s\" is not in %s", where, key,
                             section);
        snprintf(at, sizeof at, "%.160s.%.64s", where, key);
        if (check_type(s, f, v, at, depth, err) != 0)
            return -1;
    }
    return 0;
}

static int check_document(const struct schema *s, const char *name, const json_t *doc,
                          struct error *err)
{
    if (!find(s, name, NULL))
        return error_set(err, ERROR_INPUT, "formats.md has no section `%s`", name);
    if (!json_is_object(doc))
        return error_set(err, ERROR_INPUT, "%s: expected an object", name);
    return check_object(s, name, doc, name, 0, err);
}

/* A row of jsonl: schema and version of its document, the other fields of one of its rows.
 */
static int check_line(const struct schema *s, json_t *row, struct error *err)
{
    const char *name = json_string_value(json_object_get(row, "schema"));
    const struct field *rows = name ? find(s, name, "rows") : NULL;
    const struct field *head[] = { name ? find(s, name, "schema") : NULL,
                                   name ? find(s, name, "version") : NULL };
    if (!rows || !head[0] || !head[1] || strncmp(rows->type, "array of ", 9) != 0)
        return error_set(err, ERROR_INPUT,
                         "\"schema\" %s names no section with schema, version and rows",
                         name ? name : "(none)");
    for (size_t i = 0; i < ARRAY_LEN(head); i++) {
        const json_t *v = json_object_get(row, head[i]->name);
        if (!v)
            return error_set(err, ERROR_INPUT, "field \"%s\" is missing", head[i]->name);
        if (check_type(s, head[i], v, head[i]->name, 0, err) != 0)
            return -1;
    }
    json_object_del(row, "schema");
    json_object_del(row, "version");
    return check_object(s, rows->type + 9, row, "row", 0, err);
}

static int check_lines(const struct schema *s, const char *path, struct error *err)
{
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t cap = 0, n = 0;
    ssize_t len;
    int rc = 0;
    if (!f)
        return error_set(err, ERROR_SYSTEM, "%s: cannot open", path);
    while (rc == 0 && (len = getline(&line, &cap, f)) >= 0) {
        if (len == 1)
            continue;
        json_t *row = json_load_mem(path, line, (size_t)len, err);
        rc = row ? check_line(s, row, err) : -1;
        json_decref(row);
        n++;
    }
    free(line);
    fclose(f);
    if (rc != 0)
        return error_prefix(err, "%s: line %zu", path, n);
    return n ? 0 : error_set(err, ERROR_INPUT, "%s: no rows", path);
}

static int check_file(const struct schema *s, const char *name, const char *path, struct error *err)
{
    if (!strcmp(name, "--lines"))
        return check_lines(s, path, err);
    json_t *doc = json_load_path(path, err);
    const int rc = doc ? check_document(s, name, doc, err) : -1;
    json_decref(doc);
    return rc;
}

int main(int argc, char **argv)
{
    static struct schema s;
    struct error err = { 0 };
    if (argc < 4) {
        fprintf(stderr, "usage: validate FORMATS.md NAME|--lines FILE... | FORMATS.md --fields NAME\n");
        return 2;
    }
    if (read_schema(&s, argv[1], &err) != 0) {
        fprintf(stderr, "%s: %s\n", argv[1], err.msg);
        return 1;
    }
    if (!strcmp(argv[2], "--fields")) {
        for (size_t i = 0; i < s.n; i++) {
            if (!strcmp(s.field[i].section, argv[3]))
                printf("%s\n", s.field[i].name);
        }
        return 0;
    }
    bool bad = false;
    for (int i = 3; i < argc; i++) {
        if (check_file(&s, argv[2], argv[i], &err) != 0) {
            fprintf(stderr, "%s: %s\n", argv[i], err.msg);
            bad = true;
        }
    }
    return bad;
}
