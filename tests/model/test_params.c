/* Every model of the facts, by its id and by its Hugging Face id: the parameters counted from its op list's weights are, to the
 * last one, the sum that params.tsv has from the dimensions alone; and so are those that one token uses. */
#include "base/environment.h"
#include "../test.h"
#include "base/json.h"
#include "model/model.h"
#include "model/op.h"
#include <math.h>

enum { MAX_ROWS = 256, MAX_LINE = 4096, MAX_FIELDS = 64 };

struct row {
    char id[64], hf_id[128];
    uint64_t params, active; /* active: 0 when nothing is said */
    bool about;              /* as published, within 1 % */
};

static const size_t n_apart = 34; /* rows at the end that the facts do not have */
static struct row rows[MAX_ROWS];
static size_t n_rows;

/* Fields between separators, cut in place; quotes keep commas (and are removed). */
static size_t split(char *line, char sep, char **field)
{
    size_t n = 0;
    char *out = line, *in = line;
    bool quoted = false;
    line[strcspn(line, "\r\n")] = 0;
    field[n++] = out;
    for (; *in; in++) {
        if (sep == ',' && *in == '"') {
            quoted = !quoted;
        } else if (*in == sep && !quoted) {
            *out++ = 0;
            assert_true(n < MAX_FIELDS);
            field[n++] = out;
        } else {
            *out++ = *in;
        }
    }
    *out = 0;
    return n;
}

static int read_rows(void **state)
{
    (void)state;
    char path[4300], line[MAX_LINE], *f[MAX_FIELDS];
    environment_set_dirs(data_dirs());
    snprintf(path, sizeof path, "%s/tests/model/params.tsv", data_dirs()[0]);
    FILE *in = fopen(path, "r");
    if (!in) {
        print_error("cannot read %s\n", path);
        return -1;
    }
    while (fgets(line, sizeof line, in)) {
        if (line[0] == '#')
            continue;
        struct row *r = &rows[n_rows];
        if (n_rows == MAX_ROWS || split(line, '\t', f) != 4) {
            fclose(in);
            print_error("%s: line \"%s\"\n", path, line);
            return -1;
        }
        snprintf(r->id, sizeof r->id, "%s", f[0]);
        snprintf(r->hf_id, sizeof r->hf_id, "%s", f[1]);
        r->about = f[2][0] == '~';
        r->params = strtoull(f[2] + r->about, NULL, 10);
        r->active = strtoull(f[3], NULL, 10);
        n_rows++;
    }
    fclose(in);
    return 0;
}

static void test_table(void **state)
{
    (void)state;
    assert_int_equal(n_rows, 161 + n_apart);
    for (size_t i = 0; i < n_rows; i++)
        assert_true(rows[i].id[0] && rows[i].hf_id[0] && rows[i].params > 1000000 && rows[i].active < rows[i].params);
}

static void load(struct model *m, const char *spec)
{
    struct error err = { 0 };
    if (model_load(m, spec, NULL, &err) != 0)
        fail_msg("%s: %s", spec, err.msg);
}

/* Factors of the rotation are a table, not parameters. */
static uint64_t params(const struct model *m)
{
    static const char *const tables[] = { "rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight" };
    uint64_t n = m->n_params;
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        const struct tensor *t = model_find(m, tables[i]);
        n -= t ? t->rows * t->cols : 0;
    }
    return n;
}

/* Without the experts a token does not visit. */
static uint64_t active(const struct model *m)
{
    struct op_list l;
    struct error err = { 0 };
    uint64_t n = params(m);
    assert_ok(op_list_build(&l, m, &err), err);
    for (size_t i = 0; i < l.n; i++)
        if (l.ops[i].kind == OP_EXPERT_MATMUL)
            n -= (l.ops[i].n_expert - l.ops[i].n_expert_used) *
                 ((uint64_t)l.ops[i].rows * l.ops[i].cols + (l.ops[i].bias ? l.ops[i].rows : 0));
    op_list_free(&l);
    return n;
}

static void test_params(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_rows; i++) {
        const struct row *r = &rows[i];
        struct model m;
        load(&m, r->id);
        const uint64_t n = params(&m);
        assert_true(m.hp.n_ff > 1); /* of the experts, where there is nothing else */
        if (r->about ? fabs((double)n / (double)r->params - 1) > 0.01 : n != r->params)
            fail_msg("%s: %llu parameters, expected %llu", r->id, (unsigned long long)n, (unsigned long long)r->params);
        model_free(&m);
    }
}

static void test_active(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_rows; i++) {
        const struct row *r = &rows[i];
        struct model m;
        load(&m, r->id);
        const uint64_t n = active(&m), expected = r->active > 0 ? r->active : params(&m);
        if (n != expected)
            fail_msg("%s: a token uses %llu parameters, expected %llu", r->id, (unsigned long long)n,
                     (unsigned long long)expected);
        model_free(&m);
    }
}

static void test_hf_ids(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_rows; i++) {
        struct model m, other;
        load(&m, rows[i].id);
        load(&other, rows[i].hf_id);
        assert_string_equal(m.name, other.name);
        model_free(&m);
        model_free(&other);
    }
}

/* ---- the presets themselves ----------------------------------------------------------------- */

/* Every file in models/ is one that the table counts, but for toys that no facts have. */
static void test_none_unchecked(void **state)
{
    (void)state;
    static const char *const toys[] = { "stories110m", "stories15m", "stories42m" };
    static const char *const later[] = { "glm-4.7-flash", "ministral-3-14b", "ministral-3-8b" }; /* summed in test_presets.c */
    char **names;
    size_t n;
    struct error err = { 0 };
    static char preset[MAX_ROWS][NAME_SIZE]; /* the file that an id is read from */
    assert_ok(model_list(&names, &n, &err), err);
    for (size_t k = 0; k < n_rows; k++) {
        struct model m;
        load(&m, rows[k].id);
        snprintf(preset[k], sizeof preset[k], "%s", m.name);
        model_free(&m);
    }
    for (size_t i = 0; i < n; i++) {
        bool known = false;
        for (size_t k = 0; k < ARRAY_LEN(toys); k++)
            known |= strcmp(names[i], toys[k]) == 0;
        for (size_t k = 0; k < ARRAY_LEN(later); k++)
            known |= strcmp(names[i], later[k]) == 0;
        for (size_t k = 0; k < n_rows && !known; k++)
            known = strcmp(names[i], rows[k].id) == 0 || strcmp(names[i], preset[k]) == 0;
        if (!known)
            fail_msg("%s is not in tests/model/params.tsv", names[i]);
        if (i > 0)
            assert_true(strcmp(names[i - 1], names[i]) < 0);
    }
    name_list_free(names, n);
}

/* ---- the facts --------------------------------------------------------------------------------- */

static size_t column(char **header, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(header[i], name) == 0)
            return i;
    fail_msg("no column %s", name);
    return 0;
}

static void test_facts(void **state)
{
    (void)state;
    char path[4300], line[MAX_LINE], first[MAX_LINE], *f[MAX_FIELDS], *h[MAX_FIELDS];
    const char *dir = shared_dir();
    if (!dir) {
        print_message("no shared test data (ROOFCAST_SHARED): params.tsv is not compared with the facts\n");
        skip();
    }
    snprintf(path, sizeof path, "%s/data/facts/models.csv", dir);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    assert_non_null(fgets(first, sizeof first, in));
    const size_t n = split(first, ',', h), id = column(h, n, "id"), hf = column(h, n, "hf_id"),
                 params_at = column(h, n, "params_computed"), active_at = column(h, n, "active_computed"),
                 published = column(h, n, "params_published_b");
    size_t i = 0;
    for (; fgets(line, sizeof line, in); i++) {
        assert_int_equal(split(line, ',', f), n);
        assert_true(i < n_rows);
        assert_string_equal(f[id], rows[i].id);
        assert_string_equal(f[hf], rows[i].hf_id);
        assert_int_equal(strtoull(f[active_at], NULL, 10), rows[i].active);
        if (f[params_at][0])
            assert_int_equal(strtoull(f[params_at], NULL, 10), rows[i].params);
        else
            assert_true(rows[i].about && fabs(strtod(f[published], NULL) * 1e9 - (double)rows[i].params) < 0.5);
    }
    fclose(in);
    assert_int_equal(i, n_rows - n_apart);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),  cmocka_unit_test(test_params),         cmocka_unit_test(test_active),
        cmocka_unit_test(test_hf_ids), cmocka_unit_test(test_none_unchecked), cmocka_unit_test(test_facts),
    };
    return cmocka_run_group_tests_name("params", tests, read_rows, NULL);
}
