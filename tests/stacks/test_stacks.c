/* The rules of hwprofiles/stacks: every row is reachable, a mistake in any row is refused by its name, and what conditions mean. */
#include "cost/memory.h"
#include "base/environment.h"
#include "dataset/stacks.h"
#include "tests/test.h"
#include <math.h>

/* A file of rules, and what its form is. */
static const struct rules_file {
    const char *name;
    const struct rules_form *form;
} files[] = { { "rules", &stacks_form }, { "servers", &memory_rules_form } };

static json_t *shipped(const struct rules_file *f)
{
    char path[4096];
    struct error err = { 0 };
    assert_true(hwprofile_data_file(path, sizeof path, "hwprofiles/stacks", f->name));
    json_t *j = json_load_path(path, &err);
    assert_non_null(j);
    return j;
}

static json_t *rows_of(json_t *doc, const char *table)
{
    return json_object_get(json_object_get(json_object_get(doc, "rules"), table), "rows");
}

/* ---- every row is reachable --------------------------------------------------------------------- */

static size_t below(struct rng *g, size_t n)
{
    return (size_t)(rng_u64(g) % n);
}

static size_t n_words(const struct rule_key *k)
{
    size_t n = 0;
    while (k->words[n])
        n++;
    return n;
}

/* A condition under that key of any row of the table; NULL: none has one. */
static const struct rule_condition *any_condition(const struct rule_table *t, unsigned key, struct rng *g)
{
    const struct rule_condition *found = NULL;
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; k < t->row[i].n; k++)
            if (t->row[i].when[k].key == key && below(g, ++n) == 0)
                found = &t->row[i].when[k];
    return found;
}

static double edge(const struct rule_condition *c, bool within, struct rng *g)
{
    const bool lo = isinf(c->hi) || (!isinf(c->lo) && below(g, 2));
    if (within)
        return lo ? c->lo : c->hi;
    return lo ? nextafter(c->lo, -INFINITY) : nextafter(c->hi, INFINITY);
}

/* A value that some row of the table requires, or none does. */
static struct rule_fact any_fact(const struct rules *r, size_t table, unsigned key, struct rng *g)
{
    const struct rule_key *k = &r->form->key[key];
    const struct rule_condition *c = any_condition(&r->table[table], key, g);
    if (k->kind == RULE_FLAG)
        return (struct rule_fact){ .number = (double)below(g, 2) };
    if (k->kind == RULE_ONE)
        return (struct rule_fact){ .number = (double)below(g, n_words(k)) };
    if (k->kind == RULE_NUMBER)
        return (struct rule_fact){ .number = c ? edge(c, below(g, 2), g) : 1 };
    return (struct rule_fact){ .text = c && below(g, 2) ? c->text[below(g, c->n)] : "" };
}

/* One that fulfils the condition, most likely. */
static struct rule_fact fact_of(const struct rules *r, size_t table, const struct rule_condition *c, struct rng *g)
{
    const struct rule_key *k = &r->form->key[c->key];
    if (k->kind == RULE_FLAG || k->kind == RULE_NUMBER)
        return (struct rule_fact){ .number = edge(c, true, g) };
    if (k->kind != RULE_ONE)
        return c->not ? any_fact(r, table, c->key, g) : (struct rule_fact){ .text = c->text[below(g, c->n)] };
    size_t i = below(g, n_words(k));
    for (size_t tries = 0; (c->words >> i & 1) == c->not && tries < 64; tries++)
        i = (i + 1) % n_words(k);
    return (struct rule_fact){ .number = (double)i };
}

static bool is_reachable(const struct rules *r, size_t t, const struct rule *row, struct rng *g)
{
    for (int tries = 0; tries < 20000; tries++) {
        struct rule_fact fact[RULES_MAX_KEYS];
        double late[RULES_MAX_KEYS];
        for (unsigned k = 0; k < r->form->n_key; k++)
            fact[k] = any_fact(r, t, k, g);
        for (size_t k = 0; k < row->n; k++)
            fact[row->when[k].key] = fact_of(r, t, &row->when[k], g);
        for (unsigned k = 0; k < r->form->n_key; k++)
            late[k] = fact[k].number;
        if (rules_first(r, t, rules_select(r, t, fact), late) == row)
            return true;
    }
    return false;
}

static size_t n_unreachable(const struct rules *r)
{
    struct rng g;
    size_t n = 0;
    rng_init(&g, 7);
    for (size_t t = 0; t < r->form->n_table; t++) {
        assert_true(r->table[t].n > 0);
        for (size_t i = 0; i < r->table[t].n; i++)
            if (!is_reachable(r, t, &r->table[t].row[i], &g)) {
                print_message("%s[%zu] is never the first\n", r->form->table[t].name, i);
                n++;
            }
    }
    return n;
}

static void test_reachable(void **state)
{
    struct error err = { 0 };
    struct rules r;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        assert_ok(rules_take(&r, files[i].form, shipped(&files[i]), "f.json", &err), err);
        assert_int_equal(n_unreachable(&r), 0);
        rules_free(&r);
    }
    /* It detects a row after one of fewer conditions. */
    json_t *d = shipped(&files[0]);
    assert_int_equal(json_array_append_new(rows_of(d, "units"), json_pack("{s:{s:s},s:{s:s}}", "when", "maker", "Apple", "then", "unit", "dot")), 0);
    assert_ok(rules_take(&r, &stacks_form, d, "f.json", &err), err);
    assert_int_equal(n_unreachable(&r), 1);
    rules_free(&r);
}

/* ---- mistakes ------------------------------------------------------------------------------------- */

/* A copy of a document, the form it is of, and which row of which table is to be wrong. */
struct place {
    const struct rules_form *form;
    json_t *doc;
    const char *table;
    size_t i;
};

static void refuses(const struct rules_form *form, json_t *doc, const char *at, const char *field)
{
    struct error err = { 0 };
    struct rules r;
    char text[128];
    snprintf(text, sizeof text, "field \"%s\"", field);
    if (rules_take(&r, form, doc, "f.json", &err) == 0)
        fail_msg("%s: %s: accepted", at, text);
    if (!strstr(err.msg, at) || !strstr(err.msg, text))
        fail_msg("message \"%s\" lacks %s or %s", err.msg, at, text);
}

/* A value in the place of one condition or value of a row. */
static void replace(const struct place *p, const char *part, const char *key, json_t *v, const char *field)
{
    char at[96];
    json_t *d = json_deep_copy(p->doc), *row = json_array_get(rows_of(d, p->table), p->i);
    snprintf(at, sizeof at, "f.json: rules.%s[%zu]:", p->table, p->i);
    json_object_set_new(part ? json_object_get(row, part) : row, key, v);
    refuses(p->form, d, at, field);
}

static void wrong_conditions(const struct place *p)
{
    const char *name;
    json_t *v, *when = json_object_get(json_array_get(rows_of(p->doc, p->table), p->i), "when");
    json_object_foreach(when, name, v)
    {
        size_t k = 0;
        while (strcmp(p->form->key[k].name, name) != 0)
            k++;
        const struct rule_key *key = &p->form->key[k];
        replace(p, "when", name, json_integer(5), name);
        replace(p, "when", name, json_array(), name);
        if (key->kind == RULE_NUMBER || key->kind == RULE_ONE || key->known)
            replace(p, "when", name, json_string("toaster"), name);
        if (key->kind == RULE_NUMBER) {
            replace(p, "when", name, json_string(">=8 <8"), name);
            replace(p, "when", name, json_string("<12 12"), name);
        } else if (key->kind != RULE_FLAG) {
            const char *word = json_string_value(json_is_array(v) ? json_array_get(v, 0) : v);
            replace(p, "when", name, *word == '!' ? json_pack("[ss]", word, word + 1) : json_pack("[ss+]", word, "!", word), name);
        }
    }
}

static void wrong_values(const struct place *p, const struct rule_table_form *t)
{
    for (int k = 0; k < RULES_MAX_VALUES && t->value[k]; k++) {
        replace(p, "then", t->value[k], json_string("toaster"), t->value[k]);
        replace(p, "then", t->value[k], json_null(), t->value[k]);
    }
    replace(p, "then", "toaster", json_integer(1), "then");
    replace(p, NULL, "then", json_object(), "then");
    replace(p, NULL, "then", json_null(), "then");
}

static void wrong_row(const struct place *p, const struct rule_table_form *t)
{
    replace(p, NULL, "source", json_string(""), "source");
    replace(p, NULL, "toaster", json_integer(1), "toaster");
    replace(p, NULL, "when", json_pack("{s:s}", "toaster", "x"), "when");
    replace(p, NULL, "when", json_integer(1), "when");
    for (size_t k = 0; k < p->form->n_key; k++) /* keys that questions of this table do not have */
        if (!(t->keys >> k & 1))
            replace(p, NULL, "when", json_pack("{s:s}", p->form->key[k].name, ">1"), "when");
    wrong_conditions(p);
    wrong_values(p, t);
}

static void check_mistakes(const struct rules_file *f)
{
    const size_t step = getenv("ROOFCAST_SANITIZED") ? 8 : 1; /* each takes the whole file anew */
    struct place p = { .form = f->form, .doc = shipped(f) };
    for (size_t t = 0; t < f->form->n_table; t++) {
        p.table = f->form->table[t].name;
        const size_t n = json_array_size(rows_of(p.doc, p.table));
        for (p.i = 0; p.i < n; p.i += step)
            wrong_row(&p, &f->form->table[t]);
        json_t *d = json_deep_copy(p.doc);
        struct error err = { 0 };
        struct rules r;
        json_object_del(json_object_get(d, "rules"), p.table);
        assert_fails(rules_take(&r, f->form, d, "f.json", &err), err, p.table);
    }
    json_object_set_new(json_object_get(p.doc, "rules"), "toaster", json_object());
    refuses(f->form, p.doc, "f.json: rules:", "toaster");
}

static void test_mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        check_mistakes(&files[i]);
}

/* ---- what conditions mean ------------------------------------------------------------------------------ */

static void test_conditions(void **state)
{
    static const char *const words[] = { "a", "b", NULL };
    static const struct rule_key keys[] = {
        { .name = "size", .kind = RULE_NUMBER, .late = true }, { .name = "one", .kind = RULE_ONE, .words = words }, { .name = "text", .kind = RULE_TEXT },
        { .name = "prefix", .kind = RULE_PREFIX }, { .name = "part", .kind = RULE_PART }, { .name = "like", .kind = RULE_LIKE },
        { .name = "word", .kind = RULE_WORD }, { .name = "flag", .kind = RULE_FLAG },
    };
    static const struct rule_table_form table[] = { { .name = "t", .keys = 0xff, .value = { "v" } } };
    static const struct rules_form form = { "s", 1, keys, ARRAY_LEN(keys), table, 1 };
    static const struct {
        const char *when;
        double size;
        int one;
        const char *text;
        bool holds;
    } cases[] = {
        { "\"size\": \"<12\"", 11.9, 0, "", true },     { "\"size\": \"<12\"", 12, 0, "", false },       { "\"size\": \"<=12\"", 12, 0, "", true },
        { "\"size\": \">8 <=64\"", 8, 0, "", false },   { "\"size\": \">8 <=64\"", 64, 0, "", true },    { "\"size\": \">=1\"", NAN, 0, "", false },
        { "\"size\": \">=1\"", INFINITY, 0, "", true }, { "\"one\": \"b\"", 1, 1, "", true },            { "\"one\": [\"a\", \"b\"]", 1, 0, "", true },
        { "\"one\": \"!b\"", 1, 1, "", false },         { "\"one\": [\"!a\", \"!b\"]", 1, 0, "", false }, { "\"text\": \"RTX\"", 1, 0, "RTX 4090", false },
        { "\"prefix\": \"rtx\"", 1, 0, "RTX 4090", true }, { "\"part\": \"409\"", 1, 0, "RTX 4090", true }, { "\"part\": \"rtx\"", 1, 0, "RTX 4090", false },
        { "\"like\": \"rtx\"", 1, 0, "RTX 4090", true }, { "\"word\": \"T4\"", 1, 0, "NVIDIA T4-16GB", true }, { "\"word\": \"T4\"", 1, 0, "T400", false },
        { "\"word\": \"!T4\"", 1, 0, "T400", true },    { "\"part\": \"x\"", 1, 0, NULL, false },        { "\"flag\": false", 1, 0, "", true },
        { "\"flag\": true", 1, 0, "", false },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char doc[256];
        struct error err = { 0 };
        struct rules r;
        struct rule_fact fact[ARRAY_LEN(keys)];
        for (size_t k = 0; k < ARRAY_LEN(keys); k++)
            fact[k] = (struct rule_fact){ .text = cases[i].text };
        fact[1].number = cases[i].one;
        snprintf(doc, sizeof doc, "{\"schema\": \"s\", \"version\": 1, \"rules\": {\"t\": {\"rows\": [{\"when\": {%s}, \"then\": {\"v\": 3}, \"source\": \"x\"}]}}}",
                 cases[i].when);
        assert_ok(rules_parse(&r, &form, "f.json", doc, strlen(doc), &err), err);
        const struct rule *row = rules_first(&r, 0, rules_select(&r, 0, fact), &cases[i].size);
        if ((row != NULL) != cases[i].holds || (row && row->value[0] != 3)) /* NOLINT */
            fail_msg("%s", cases[i].when);
        rules_free(&r);
    }
}

int main(void)
{
    environment_set_dirs(data_dirs());
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_conditions), cmocka_unit_test(test_reachable), cmocka_unit_test(test_mistakes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
