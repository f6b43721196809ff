#include "cli/capacity.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_CELLS = 10000000 };

static int read_axis(struct int_list *l, const char *text, int64_t lo, const char *what, struct error *err)
{
    return int_list_parse(l, text ? text : "0", text ? lo : 0, INT32_MAX, what, err);
}

static int read_axes(struct capacity_grid *g, const struct capacity_lists *l, struct error *err)
{
    g->vary_drafts = l->drafts != NULL;
    if (sweep_machines(&g->machines, l->hw, err) != 0 || (l->types && str_list_parse(&g->types, l->types, "--types", err) != 0) ||
        read_axis(&g->tps, l->tps, 1, "--tps", err) != 0 || read_axis(&g->seqs, l->seqs, 1, "--seqs", err) != 0 ||
        read_axis(&g->budgets, l->budgets, 1, "--budgets", err) != 0 || read_axis(&g->drafts, l->drafts, 0, "--drafts", err) != 0)
        return -1;
    const double n = (double)(g->types.n > 0 ? g->types.n : 1) * (double)g->machines.hw.n * (double)g->tps.n * (double)g->seqs.n * (double)g->budgets.n *
                     (double)g->drafts.n;
    return n <= MOST_CELLS ? 0 : error_set(err, ERROR_USAGE, "%.3g deployments: expected at most %d", n, MOST_CELLS);
}

static int open_types(struct capacity_grid *g, const struct serving_cli *c, struct error *err)
{
    const size_t n = g->types.n > 0 ? g->types.n : 1;
    g->type = calloc(n, sizeof *g->type);
    if (!g->type)
        return error_oom(err, n * sizeof *g->type, "the types of the grid");
    for (size_t i = 0; i < n; i++) {
        struct capacity_type *t = &g->type[i];
        t->cli = *c;
        if (g->types.n > 0 && pricing_parse('q', g->types.v[i], &t->cli.price, err) != 0)
            return -1;
        if (serving_model_open(&t->model, &t->cli, &g->machines.hw, err) != 0)
            return -1;
        g->n_type++;
    }
    return 0;
}

/* Settings of the server on a machine. */
static void add_group(struct capacity_grid *g, struct capacity_type *t, const struct hwprofile *h, uint32_t group)
{
    for (size_t i = 0; i < g->seqs.n; i++)
        for (size_t j = 0; j < g->budgets.n; j++)
            for (size_t l = 0; l < g->drafts.n; l++) {
                struct campaign_cell *x = &g->cell[g->n++];
                *x = (struct campaign_cell){ .classes = &t->model.classes.classes, .h = h, .deploy = t->cli.deploy, .group = group,
                                             .predict = serving_predict_options(&t->cli, &t->model, h) };
                if (g->seqs.v[i] > 0)
                    x->deploy.max_num_seqs = (uint32_t)g->seqs.v[i];
                if (g->budgets.v[j] > 0)
                    x->deploy.max_num_batched_tokens = (uint32_t)g->budgets.v[j];
                if (g->vary_drafts)
                    x->deploy.num_speculative_tokens = (uint32_t)g->drafts.v[l];
                x->deploy.look_ahead = serving_is_ngram(&t->cli) ? 0 : x->deploy.num_speculative_tokens;
            }
}

static int add_cells(struct capacity_grid *g, struct error *err)
{
    const size_t n_server = g->seqs.n * g->budgets.n * g->drafts.n, n = g->n_type * g->machines.hw.n * g->tps.n * n_server;
    uint32_t group = 0;
    g->cell = calloc(n, sizeof *g->cell);
    if (!g->cell)
        return error_oom(err, n * sizeof *g->cell, "the deployments");
    for (size_t i = 0; i < g->n_type; i++)
        for (size_t j = 0; j < g->machines.hw.n; j++)
            for (size_t k = 0; k < g->tps.n; k++) {
                if (g->tps.v[k] > 0)
                    g->type[i].cli.price.layout.tp = (uint32_t)g->tps.v[k];
                add_group(g, &g->type[i], &g->machines.machine[j], group++);
            }
    return 0;
}

int capacity_grid_init(struct capacity_grid *g, const struct capacity_lists *l, const struct serving_cli *c, struct error *err)
{
    *g = (struct capacity_grid){ .n = 0 };
    if (read_axes(g, l, err) == 0 && open_types(g, c, err) == 0 && add_cells(g, err) == 0)
        return 0;
    capacity_grid_free(g);
    return -1;
}

void capacity_grid_free(struct capacity_grid *g)
{
    for (size_t i = 0; i < g->n_type; i++)
        serving_model_close(&g->type[i].model);
    free(g->type);
    free(g->cell);
    sweep_grid_free(&g->machines);
    str_list_free(&g->types);
    int_list_free(&g->tps);
    int_list_free(&g->seqs);
    int_list_free(&g->budgets);
    int_list_free(&g->drafts);
}

const struct capacity_type *capacity_grid_type(const struct capacity_grid *g, size_t i)
{
    return &g->type[i / (g->n / g->n_type)];
}
