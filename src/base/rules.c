#include "base/rules.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CTX = 320 };

/* ---- reading: conditions ---------------------------------------------------------------------- */

static int wrong(const char *ctx, const char *field, const char *expected, const char *found, struct error *err)
{
    return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected %s, found %.64s", ctx, field, expected, found);
}

static int wrong_text(const char *ctx, const char *field, const char *expected, const char *found, struct error *err)
{
    return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected %s, found \"%.64s\"", ctx, field, expected, found);
}

/* One comparison at *s narrows the range; false: it is none. */
static bool take_comparison(struct rule_condition *c, const char **s)
{
    const char op = **s;
    const bool equal = op && (*s)[1] == '=';
    if (op != '<' && op != '>')
        return false;
    char *end;
    const char *number = *s + 1 + equal;
    const double v = strtod(number, &end);
    if (end == number || !isfinite(v) || !strchr("0123456789.-", *number))
        return false;
    if (op == '<')
        c->hi = fmin(c->hi, equal ? v : nextafter(v, -INFINITY));
    else
        c->lo = fmax(c->lo, equal ? v : nextafter(v, INFINITY));
    *s = end + strspn(end, " ");
    return true;
}

static int read_range(struct rule_condition *c, const json_t *v, const char *ctx, const char *field, struct error *err)
{
    static const char *const expected = "comparisons such as \">8 <=64\"";
    const char *s = json_string_value(v);
    if (!s)
        return wrong(ctx, field, expected, json_type_name(v), err);
    const char *at = s;
    do {
        if (!take_comparison(c, &at))
            return wrong_text(ctx, field, expected, s, err);
    } while (*at);
    return c->lo <= c->hi ? 0 : wrong_text(ctx, field, "comparisons that some number fulfils", s, err);
}

static int word_find(const char *const *words, const char *word)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return -1;
}

/* A word of the condition: into the bits of RULE_ONE, or a text. */
static int take_word(struct rule_condition *c, const struct rule_key *k, const json_t *v, const char *ctx, struct error *err)
{
    const char *s = json_string_value(v);
    if (!s || !*s)
        return wrong(ctx, k->name, "a word or a list of words", s ? "\"\"" : json_type_name(v), err);
    const bool not = *s == '!';
    if ((c->n > 0 || c->words) && not != c->not)
        return wrong_text(ctx, k->name, "all words with \"!\" or none", s, err);
    c->not = not;
    s += not;
    if (k->known && !k->known(s))
        return wrong_text(ctx, k->name, "a name that there is", s, err);
    if (k->kind != RULE_ONE) {
        c->text[c->n++] = s;
        return 0;
    }
    const int i = word_find(k->words, s);
    if (i < 0)
        return wrong_text(ctx, k->name, "one of its words", s, err);
    c->words |= UINT64_C(1) << i;
    return 0;
}

static int read_words(struct rule_condition *c, const struct rule_key *k, const json_t *v, const char *ctx, struct error *err)
{
    const size_t n = json_is_array(v) ? json_array_size(v) : 1;
    if (n == 0)
        return wrong(ctx, k->name, "a word or a list of words", "an empty list", err);
    c->text = calloc(n, sizeof *c->text);
    if (!c->text)
        return error_oom(err, n * sizeof *c->text, k->name);
    for (size_t i = 0; i < n; i++)
        if (take_word(c, k, json_is_array(v) ? json_array_get(v, i) : v, ctx, err) != 0)
            return -1;
    return 0;
}

static int read_condition(struct rule_condition *c, const struct rule_key *k, const json_t *v, const char *ctx, struct error *err)
{
    switch (k->kind) {
    case RULE_FLAG:
        if (!json_is_boolean(v))
            return wrong(ctx, k->name, "true or false", json_type_name(v), err);
        c->lo = c->hi = json_is_true(v);
        return 0;
    case RULE_NUMBER:
        return read_range(c, v, ctx, k->name, err);
    case RULE_ONE:
    case RULE_TEXT:
    case RULE_PREFIX:
    case RULE_PART:
    case RULE_LIKE:
    case RULE_WORD:
        break;
    }
    return read_words(c, k, v, ctx, err);
}

/* ---- reading: rows ------------------------------------------------------------------------------ */

static int key_find(const struct rules_form *f, const char *name)
{
    for (size_t i = 0; i < f->n_key; i++)
        if (strcmp(f->key[i].name, name) == 0)
            return (int)i;
    return -1;
}

static bool is_number(enum rule_kind k)
{
    return k == RULE_FLAG || k == RULE_NUMBER || k == RULE_ONE;
}

/* Which conditions of a row are tried first: cheap ones. */
static int rank(const struct rule_key *k)
{
    return k->late ? 2 : is_number(k->kind) ? 0 : 1;
}

/* Room for one more condition of that rank. */
static struct rule_condition *add_condition(struct rule *r, const struct rules_form *f, unsigned key)
{
    size_t i = r->n++;
    for (; i > 0 && rank(&f->key[r->when[i - 1].key]) > rank(&f->key[key]); i--)
        r->when[i] = r->when[i - 1];
    r->n_early += !f->key[key].late;
    r->when[i] = (struct rule_condition){ .key = key, .kind = f->key[key].kind, .lo = -INFINITY, .hi = INFINITY };
    return &r->when[i];
}

static int read_when(struct rule *r, const struct rules_form *f, const struct rule_table_form *t, json_t *when, const char *ctx, struct error *err)
{
    const char *name;
    json_t *v;
    if (when && !json_is_object(when))
        return wrong(ctx, "when", "an object", json_type_name(when), err);
    r->when = calloc(json_object_size(when) + 1, sizeof *r->when);
    if (!r->when)
        return error_oom(err, json_object_size(when) * sizeof *r->when, "when");
    json_object_foreach(when, name, v)
    {
        const int key = key_find(f, name);
        if (key < 0 || !(t->keys >> key & 1))
            return wrong_text(ctx, "when", "keys of the table", name, err);
        if (read_condition(add_condition(r, f, (unsigned)key), &f->key[key], v, ctx, err) != 0)
            return -1;
    }
    return 0;
}

static int value_find(const struct rule_table_form *t, const char *name)
{
    for (int i = 0; i < RULES_MAX_VALUES && t->value[i]; i++)
        if (strcmp(t->value[i], name) == 0)
            return i;
    return -1;
}

static int read_value(double *out, const char *name, const char *const *words, const json_t *v, const char *ctx, struct error *err)
{
    const char *s = json_string_value(v);
    if (!words) {
        if (!json_is_number(v) && !json_is_boolean(v))
            return wrong(ctx, name, "a number, true or false", json_type_name(v), err);
        *out = json_is_boolean(v) ? json_is_true(v) : json_number_value(v);
        return 0;
    }
    const int i = s ? word_find(words, s) : -1;
    if (i < 0)
        return s ? wrong_text(ctx, name, "one of its words", s, err) : wrong(ctx, name, "a word", json_type_name(v), err);
    *out = i;
    return 0;
}

static int read_then(struct rule *r, const struct rule_table_form *t, json_t *then, const char *ctx, struct error *err)
{
    const char *name;
    json_t *v;
    if (!json_is_object(then))
        return wrong(ctx, "then", "an object", json_type_name(then), err);
    json_object_foreach(then, name, v)
    {
        const int i = value_find(t, name);
        if (i < 0)
            return wrong_text(ctx, "then", "values of the table", name, err);
        if (read_value(&r->value[i], name, t->words[i], v, ctx, err) != 0)
            return -1;
    }
    return json_object_size(then) > 0 ? 0 : wrong(ctx, "then", "a value", "none", err);
}

static int read_row(struct rule *r, const struct rules_form *f, const struct rule_table_form *t, json_t *o, const char *ctx, struct error *err)
{
    static const char *const fields[] = { "when", "then", "source", NULL };
    const char *name;
    json_t *v;
    if (json_check_object(o, ctx, err) != 0)
        return -1;
    json_object_foreach(o, name, v) if (word_find(fields, name) < 0)
    {
        return error_set(err, ERROR_INPUT, "%s: field \"%.64s\": expected \"when\", \"then\" or \"source\"", ctx, name);
    }
    if (json_get_str_opt(o, ctx, "source", &r->source, err) != 0 || read_when(r, f, t, json_object_get(o, "when"), ctx, err) != 0 ||
        read_then(r, t, json_object_get(o, "then"), ctx, err) != 0)
        return -1;
    return r->source && *r->source ? 0 : wrong(ctx, "source", "where it is from, here or for the table", "nothing", err);
}

static int read_table(struct rule_table *out, const struct rules_form *f, const struct rule_table_form *t, const json_t *o, const char *name,
                      struct error *err)
{
    const json_t *rows;
    const char *source = NULL;
    char ctx[CTX];
    snprintf(ctx, sizeof ctx, "%.240s: rules.%s", name, t->name);
    if (json_check_object(o, ctx, err) != 0 || json_get_str_opt(o, ctx, "source", &source, err) != 0 ||
        json_get_array(o, ctx, "rows", RULES_MAX_ROWS, &rows, err) != 0)
        return -1;
    out->row = calloc(json_array_size(rows) + 1, sizeof *out->row);
    if (!out->row)
        return error_oom(err, json_array_size(rows) * sizeof *out->row, t->name);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        char at[CTX + 32];
        snprintf(at, sizeof at, "%s[%zu]", ctx, i);
        out->row[out->n].source = source;
        if (read_row(&out->row[out->n++], f, t, json_array_get(rows, i), at, err) != 0)
            return -1;
    }
    return 0;
}

static bool has_table(const struct rules_form *f, const char *name)
{
    for (size_t t = 0; t < f->n_table; t++)
        if (strcmp(f->table[t].name, name) == 0)
            return true;
    return false;
}

static int read_tables(struct rules *r, const char *name, struct error *err)
{
    const struct rules_form *f = r->form;
    json_t *all = json_object_get(r->doc, "rules"), *v;
    const char *table;
    char ctx[CTX];
    snprintf(ctx, sizeof ctx, "%.240s: rules", name);
    if (json_check_schema(r->doc, name, f->schema, f->version, err) != 0 || json_check_object(all, ctx, err) != 0)
        return -1;
    json_object_foreach(all, table, v) if (!has_table(f, table))
    {
        return error_set(err, ERROR_INPUT, "%s: field \"%.64s\": no such table", ctx, table);
    }
    for (size_t t = 0; t < f->n_table; t++)
        if (read_table(&r->table[t], f, &f->table[t], json_object_get(all, f->table[t].name), name, err) != 0)
            return -1;
    return 0;
}

void rules_free(struct rules *r)
{
    for (size_t t = 0; r->table && t < r->form->n_table; t++) {
        for (size_t i = 0; i < r->table[t].n; i++) {
            struct rule *row = &r->table[t].row[i];
            for (size_t k = 0; k < row->n; k++)
                free(row->when[k].text);
            free(row->when);
        }
        free(r->table[t].row);
    }
    free(r->table);
    json_decref(r->doc);
    *r = (struct rules){ 0 };
}

int rules_take(struct rules *r, const struct rules_form *form, json_t *doc, const char *name, struct error *err)
{
    *r = (struct rules){ .form = form, .doc = doc };
    if (!doc)
        return -1;
    r->table = calloc(form->n_table, sizeof *r->table);
    if (!r->table)
        error_oom(err, form->n_table * sizeof *r->table, name);
    else if (read_tables(r, name, err) == 0)
        return 0;
    rules_free(r);
    return -1;
}

int rules_parse(struct rules *r, const struct rules_form *form, const char *name, const void *data, size_t size, struct error *err)
{
    return rules_take(r, form, json_load_mem(name, data, size, err), name, err);
}

/* ---- answers ----------------------------------------------------------------------------------------- */

static bool has_word(const char *fact, const char *word)
{
    static const char between[] = " -";
    const size_t n = strlen(word);
    for (const char *p = fact + strspn(fact, between); *p; p += strspn(p, between)) {
        const size_t len = strcspn(p, between);
        if (len == n && strncmp(p, word, n) == 0)
            return true;
        p += len;
    }
    return false;
}

static bool text_fits(enum rule_kind kind, const char *fact, const char *text)
{
    if (!fact)
        return false;
    switch (kind) {
    case RULE_TEXT:
        return strcmp(fact, text) == 0;
    case RULE_PREFIX:
        return strncasecmp(fact, text, strlen(text)) == 0;
    case RULE_PART:
        return strstr(fact, text) != NULL;
    case RULE_LIKE:
        return strcasestr(fact, text) != NULL;
    case RULE_WORD:
        return has_word(fact, text);
    case RULE_FLAG:
    case RULE_NUMBER:
    case RULE_ONE:
        break;
    }
    return false;
}

static bool number_fits(const struct rule_condition *c, double fact)
{
    if (c->kind != RULE_ONE)
        return fact >= c->lo && fact <= c->hi;
    const bool in = fact >= 0 && fact < 64 && c->words >> (unsigned)fact & 1;
    return in != c->not;
}

static bool holds(const struct rule_condition *c, const struct rule_fact *fact)
{
    if (is_number(c->kind))
        return number_fits(c, fact->number);
    bool any = false;
    for (size_t i = 0; i < c->n && !any; i++)
        any = text_fits(c->kind, fact->text, c->text[i]) || text_fits(c->kind, fact->also, c->text[i]);
    return any != c->not;
}

static bool selects(const struct rule *row, const struct rule_fact *fact)
{
    size_t k = 0;
    while (k < row->n_early && holds(&row->when[k], &fact[row->when[k].key]))
        k++;
    return k == row->n_early;
}

uint64_t rules_select(const struct rules *r, size_t t, const struct rule_fact *fact)
{
    uint64_t rows = 0;
    for (size_t i = 0; r->table && i < r->table[t].n; i++)
        rows |= (uint64_t)selects(&r->table[t].row[i], fact) << i;
    return rows;
}

const struct rule *rules_match(const struct rules *r, size_t t, const struct rule_fact *fact)
{
    for (size_t i = 0; r->table && i < r->table[t].n; i++)
        if (selects(&r->table[t].row[i], fact))
            return &r->table[t].row[i];
    return NULL;
}

const struct rule *rules_first(const struct rules *r, size_t t, uint64_t rows, const double *late)
{
    for (; rows; rows &= rows - 1) {
        const struct rule *row = &r->table[t].row[__builtin_ctzll(rows)];
        size_t k = row->n_early;
        while (k < row->n && number_fits(&row->when[k], late[row->when[k].key]))
            k++;
        if (k == row->n)
            return row;
    }
    return NULL;
}
