/* The axes of a sweep's grid, of lists as the command line has them. */
#include "base/notify.h"
#include "report/grid.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Copies names of a list function into a list that owns them. */
static int take_names(struct str_list *l, char **names, size_t n, struct error *err)
{
    l->v = calloc(n + 1, sizeof *l->v);
    for (l->n = 0; l->v && l->n < n; l->n++)
        if (!(l->v[l->n] = strdup(names[l->n])))
            break;
    name_list_free(names, n);
    return l->v && l->n == n ? 0 : error_oom(err, n * sizeof *l->v, "the names of the grid");
}

static int parse_models(struct str_list *l, const char *text, struct error *err)
{
    char **names;
    size_t n;
    if (strcmp(text, "all") != 0)
        return str_list_parse(l, text, "-m", err);
    return model_list(&names, &n, err) != 0 ? -1 : take_names(l, names, n, err);
}

/* Kind of machines that a word selects: HW_CPU, ...; -1: none, -2: all. */
static int kind_of(const char *word)
{
    return strcasecmp(word, "all") == 0 ? -2 : hw_kind_find(word);
}

static int add_machine(struct sweep_grid *g, const char *name, int kind, struct error *err)
{
    struct hwprofile h;
    if (machine_load(&h, name, err) != 0)
        return -1;
    bool wanted = kind < 0 || (int)h.kind == kind;
    for (size_t i = 0; i < g->hw.n && kind != -1; i++) /* already in the grid */
        wanted &= strcmp(g->machine[i].id, h.id) != 0;
    struct hwprofile *machine = wanted ? realloc(g->machine, (g->hw.n + 1) * sizeof *machine) : NULL;
    if (machine)
        g->machine = machine;
    char **names = machine ? realloc(g->hw.v, (g->hw.n + 1) * sizeof *names) : NULL;
    if (names)
        g->hw.v = names;
    char *copy = names ? strdup(name) : NULL;
    if (!copy) {
        hwprofile_free(&h);
        return wanted ? error_oom(err, sizeof h, "the machines") : 0;
    }
    g->machine[g->hw.n] = h;
    g->hw.v[g->hw.n++] = copy;
    return 0;
}

static int add_kind(struct sweep_grid *g, int kind, struct error *err)
{
    char **names;
    size_t n;
    int rc = hwprofile_list(&names, &n, err);
    if (rc != 0)
        return -1;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = add_machine(g, names[i], kind, err);
    name_list_free(names, n);
    return rc;
}

/* Names, and words that select every profile of a kind. */
static int parse_machines(struct sweep_grid *g, const char *text, struct error *err)
{
    struct str_list items;
    if (str_list_parse(&items, text, "--hw", err) != 0)
        return -1;
    int rc = 0;
    for (size_t i = 0; i < items.n && rc == 0; i++) {
        const int kind = kind_of(items.v[i]);
        rc = kind == -1 ? add_machine(g, items.v[i], kind, err) : add_kind(g, kind, err);
    }
    str_list_free(&items);
    if (rc == 0 && g->hw.n == 0)
        return error_set(err, ERROR_INPUT, "--hw %s: no profile of that kind", text);
    return rc;
}

static int parse_kv(struct sweep_grid *g, const char *text, struct error *err)
{
    if (str_list_parse(&g->kv, text, "--kv-type", err) != 0)
        return -1;
    g->kv_type = calloc(g->kv.n, sizeof *g->kv_type);
    if (!g->kv_type)
        return error_oom(err, g->kv.n * sizeof *g->kv_type, "the types of the cache");
    for (size_t i = 0; i < g->kv.n; i++)
        if (dtype_get_kv(&g->kv_type[i], g->kv.v[i], err) != 0)
            return -1;
    return 0;
}

int sweep_grid_init(struct sweep_grid *g, const struct sweep_lists *o, struct error *err)
{
    sweep_columns_init(&g->columns);
    if (int_list_parse(&g->tp, o->tp, 1, 1024, "--tp", err) != 0 || int_list_parse(&g->pp, o->pp, 1, 1024, "--pp", err) != 0 ||
        int_list_parse(&g->dp, o->dp, 1, 4096, "--dp", err) != 0 || int_list_parse(&g->ep, o->ep, 1, 4096, "--ep", err) != 0 ||
        int_list_parse(&g->batch, o->n_batch, 1, 65536, "-b", err) != 0 ||
        int_list_parse(&g->depth, o->n_depth, 0, INT32_MAX, "-d", err) != 0 ||
        int_list_parse(&g->prompt, o->n_prompt, 0, INT32_MAX, "-p", err) != 0 ||
        int_list_parse(&g->gen, o->n_gen, 0, INT32_MAX, "-n", err) != 0 || parse_kv(g, o->kv, err) != 0 ||
        parse_machines(g, o->hw, err) != 0)
        return -1;
    for (size_t i = 0; g->n_ubatch > 0 && i < g->prompt.n; i++) /* without -ub it depends on the row */
        if (g->prompt.v[i] / g->n_ubatch > PREFILL_MAX_PASSES)
            return error_set(err, ERROR_USAGE, "-p %" PRId64 " in passes of %u: more than %d passes", g->prompt.v[i], g->n_ubatch,
                             PREFILL_MAX_PASSES);
    return parse_models(&g->model, o->model, err);
}

int sweep_grid_check(const struct sweep_grid *g, bool all_models, struct error *err)
{
    for (size_t i = 0; i < sweep_n_unit(g); i++) {
        struct sweep_unit u;
        if (i >= g->type.n && (all_models || i % g->type.n != 0)) /* every type with the first model, every model with the first type */
            continue;
        if (interrupt_check(err) != 0 || sweep_unit_init(&u, g, i, err) != 0)
            return -1;
        if (*u.m.note && (i % g->type.n == 0 || strcmp(g->type.v[i % g->type.n], "own") == 0))
            notify_note("%s: %s", u.m.name, u.m.note);
        sweep_unit_free(&u);
    }
    return 0;
}

void sweep_grid_free(struct sweep_grid *g)
{
    struct int_list *ints[] = { &g->tp, &g->pp, &g->dp, &g->ep, &g->batch, &g->depth, &g->prompt, &g->gen };
    for (size_t i = 0; i < ARRAY_LEN(ints); i++)
        int_list_free(ints[i]);
    for (size_t i = 0; g->machine && i < g->hw.n; i++)
        hwprofile_free(&g->machine[i]);
    free(g->machine);
    free(g->kv_type);
    str_list_free(&g->model);
    str_list_free(&g->type);
    str_list_free(&g->kv);
    str_list_free(&g->hw);
}
