/* Selection and order of the cases of `roofcast validate`, and their files. */
#include "base/lists.h"
#include "bench/validate.h"
#include <stdlib.h>
#include <string.h>

/* ---- tests by name -------------------------------------------------------------------------------------- */

/* Number after the text `before` at *at. */
static int number(const char **at, const char *before, int64_t lo, int64_t hi, uint32_t *to, const char *text, struct error *err)
{
    const size_t n = strlen(before);
    char digits[12], what[64];
    if (strncmp(*at, before, n) != 0)
        return 0;
    const size_t len = strspn(*at + n, "0123456789");
    int64_t v;
    snprintf(digits, sizeof digits, "%.*s", (int)(len < sizeof digits ? len : sizeof digits - 1), *at + n);
    snprintf(what, sizeof what, "--tests %.40s", text);
    if (parse_int(digits, lo, hi, what, &v, err) != 0)
        return -1;
    *to = (uint32_t)v;
    *at += n + len;
    return 0;
}

int validate_test_parse(struct bench_test *t, const char *text, struct error *err)
{
    const char *at = text;
    *t = (struct bench_test){ .n_batch = 1, .n_ubatch = 512, .ops = true };
    t->prefill = strncmp(text, "pp", 2) == 0;
    if (number(&at, t->prefill ? "pp" : "tg", 1, 1 << 20, &t->n, text, err) != 0 ||
        number(&at, "x", 1, 4096, &t->n_batch, text, err) != 0 || number(&at, "@d", 0, 1 << 20, &t->depth, text, err) != 0)
        return -1;
    if (t->n == 0 || *at)
        return error_set(err, ERROR_USAGE, "--tests: expected ppN or tgN, xB and @dD behind it (pp512, tg32x4@d8192), found \"%.40s\"",
                         text);
    return 0;
}

/* ---- files ---------------------------------------------------------------------------------------------- */

static bool is_file(const char *spec)
{
    const size_t n = strlen(spec);
    return n > 5 && strcmp(spec + n - 5, ".gguf") == 0;
}

/* "llama-3.2-1b:4": a slice of four layers. */
static int file_init(struct validate_file *f, const char *spec, const char *type, const char *dir, struct error *err)
{
    const char *colon = strrchr(spec, ':');
    int64_t n_layer = 0;
    f->ours = !is_file(spec);
    f->there = !f->ours;
    if (strlen(spec) >= sizeof f->label)
        return error_set(err, ERROR_USAGE, "-m: \"%.60s...\" is too long", spec);
    snprintf(f->label, sizeof f->label, "%s", spec);
    if (!f->ours) {
        const char *slash = strrchr(spec, '/');
        snprintf(f->label, sizeof f->label, "%s", slash ? slash + 1 : spec);
        snprintf(f->path, sizeof f->path, "%s", spec);
        return 0;
    }
    if (colon && parse_int(colon + 1, 1, 10000, "-m NAME:LAYERS", &n_layer, err) != 0)
        return -1;
    f->n_layer = (uint32_t)n_layer;
    snprintf(f->type, sizeof f->type, "%s", type);
    const int n = snprintf(f->path, sizeof f->path, "%s/%s-%s.gguf", dir, spec, type);
    for (char *c = f->path + strlen(dir) + 1; *c; c++)
        if (*c == '/' || *c == ':')
            *c = '-';
    return n > 0 && (size_t)n < sizeof f->path ? 0 : error_set(err, ERROR_USAGE, "--dir: too long a path");
}

/*
 * Shape of a slice: few layers and a small vocabulary, written within a second; widths and heads, which kernels depend on, are unchanged.
 */
static int shape(struct model *m, const struct validate_file *f, struct error *err)
{
    enum { VOCAB = 16384, CONTEXT = 1 << 16 };
    struct model from;
    char name[sizeof from.name];
    snprintf(name, sizeof name, "%.*s", f->n_layer ? (int)(strrchr(f->label, ':') - f->label) : (int)sizeof name, f->label);
    if (model_load(&from, name, f->type, err) != 0)
        return -1;
    struct hparams hp = from.hp;
    if (f->n_layer) {
        hp.n_layer = f->n_layer < hp.n_layer ? f->n_layer : hp.n_layer;
        hp.n_vocab = hp.n_vocab > VOCAB ? VOCAB : hp.n_vocab;
        if (hp.n_layer_dense >= hp.n_layer)
            hp.n_layer_dense = hp.n_layer - 1;
    }
    hp.n_ctx_train = hp.n_ctx_train < CONTEXT ? CONTEXT : hp.n_ctx_train;
    const int rc = model_from_hparams(m, f->label, model_arch_name(&from), &hp, f->type, err);
    model_free(&from);
    return rc;
}

int validate_file_make(struct validate_file *f, struct error *err)
{
    struct model m;
    if (f->there || (f->ours && file_exists(f->path))) {
        f->there = true;
        return 0;
    }
    if (shape(&m, f, err) != 0)
        return -1;
    struct team *team = setup_team(0, err);
    const struct synth_options o = { .seed = 1, .team = team };
    const int rc = team ? model_synth(&m, f->path, &o, err) : -1;
    team_free(team);
    model_free(&m);
    f->there = rc == 0;
    return rc;
}

/* ---- the grid and the draw --------------------------------------------------------------------------------- */

struct grid {
    struct str_list model, type, test;
    struct int_list threads;
    struct bench_test *t;
};

static void grid_free(struct grid *g)
{
    str_list_free(&g->model);
    str_list_free(&g->type);
    str_list_free(&g->test);
    int_list_free(&g->threads);
    free(g->t);
}

static int grid_parse(struct grid *g, const struct validate_lists *l, struct error *err)
{
    if (str_list_parse(&g->model, l->models, "-m", err) != 0 || str_list_parse(&g->type, l->types, "-q", err) != 0 ||
        str_list_parse(&g->test, l->tests, "--tests", err) != 0 ||
        int_list_parse(&g->threads, l->threads, 1, 1 << 20, "-t", err) != 0)
        return -1;
    g->t = calloc(g->test.n, sizeof *g->t);
    if (!g->t)
        return error_oom(err, g->test.n * sizeof *g->t, "the tests");
    for (size_t i = 0; i < g->test.n; i++)
        if (validate_test_parse(&g->t[i], g->test.v[i], err) != 0)
            return -1;
    return 0;
}

static int add_files(struct validate_plan *p, const struct grid *g, const char *dir, struct error *err)
{
    p->file = calloc(g->model.n * g->type.n, sizeof *p->file);
    if (!p->file)
        return error_oom(err, g->model.n * g->type.n * sizeof *p->file, "the files");
    for (size_t i = 0; i < g->model.n; i++)
        for (size_t k = 0; k < (is_file(g->model.v[i]) ? 1 : g->type.n); k++) {
            struct validate_file *f = &p->file[p->n_file++];
            struct model m = { 0 };
            if (file_init(f, g->model.v[i], g->type.v[k], dir, err) != 0)
                return -1;
            if (f->ours && shape(&m, f, err) != 0) /* fail early */
                return -1;
            if (f->ours)
                model_free(&m);
            else if (!file_exists(f->path))
                return error_set(err, ERROR_INPUT, "%s: no such file", f->path);
        }
    return 0;
}

struct drawn {
    struct validate_case c;
    size_t test;
    size_t turn, at; /* rank among its type and test; position */
};

static void shuffle(struct drawn *d, size_t n, struct rng *r)
{
    for (size_t i = n; i > 1; i--) {
        const size_t k = (size_t)(rng_u64(r) % i);
        const struct drawn x = d[i - 1];
        d[i - 1] = d[k];
        d[k] = x;
    }
}

static int by_turn(const void *a, const void *b)
{
    const struct drawn *x = a, *y = b;
    return x->turn != y->turn ? (x->turn > y->turn) - (x->turn < y->turn) : (x->at > y->at) - (x->at < y->at);
}

/* Selects n_case grid points, types and tests equally often. */
static void draw(struct drawn *d, size_t n, const struct validate_plan *p, struct rng *r)
{
    shuffle(d, n, r);
    for (size_t i = 0; i < n; i++) {
        const struct validate_file *f = &p->file[d[i].c.file];
        d[i].at = i;
        for (size_t k = 0; k < i; k++)
            d[i].turn += d[k].test == d[i].test && strcmp(p->file[d[k].c.file].type, f->type) == 0;
    }
    qsort(d, n, sizeof *d, by_turn);
}

static int add_cases(struct validate_plan *p, const struct grid *g, size_t n_case, uint64_t seed, int reps, struct error *err)
{
    p->n_grid = p->n_file * g->test.n * g->threads.n;
    struct drawn *d = calloc(p->n_grid, sizeof *d);
    struct rng r;
    size_t n = 0;
    p->c = calloc(p->n_grid, sizeof *p->c);
    if (!d || !p->c) {
        free(d);
        return error_oom(err, p->n_grid * sizeof *d, "the cases");
    }
    for (size_t f = 0; f < p->n_file; f++)
        for (size_t t = 0; t < g->test.n; t++)
            for (size_t k = 0; k < g->threads.n; k++)
                d[n++] = (struct drawn){ .c = { f, (int)g->threads.v[k], g->t[t] }, .test = t };
    rng_init(&r, seed);
    draw(d, n, p, &r);
    p->n_case = n_case && n_case < n ? n_case : n;
    shuffle(d, p->n_case, &r);
    for (size_t i = 0; i < p->n_case; i++) {
        p->c[i] = d[i].c;
        p->c[i].t.reps = reps;
        p->file[p->c[i].file].n_left++;
    }
    free(d);
    return 0;
}

int validate_plan_init(struct validate_plan *p, const struct validate_lists *l, const char *dir, size_t n_case, uint64_t seed,
                       int reps, struct error *err)
{
    struct grid g = { 0 };
    *p = (struct validate_plan){ 0 };
    int rc = grid_parse(&g, l, err);
    if (rc == 0)
        rc = add_files(p, &g, dir, err);
    if (rc == 0)
        rc = add_cases(p, &g, n_case, seed, reps, err);
    grid_free(&g);
    if (rc != 0)
        validate_plan_free(p);
    return rc;
}

void validate_plan_free(struct validate_plan *p)
{
    free(p->file);
    free(p->c);
    *p = (struct validate_plan){ 0 };
}
