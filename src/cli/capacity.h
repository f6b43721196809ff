/* cli internals: `roofcast capacity`: its grid of deployments, the commands that start them, its charts. */
#ifndef CLI_CAPACITY_H
#define CLI_CAPACITY_H

#include "cli/serving.h"
#include "report/capacity_report.h"
#include "report/grid.h"
#include "serving/campaign.h"

/* ---- the grid (capacity_grid.c) ------------------------------------------------------------------------- */

/* Lists as on the command line; NULL: the single value of the option. */
struct capacity_lists {
    const char *hw, *types, *tps, *seqs, *budgets, *drafts;
};

/* A model in a type, with the options that it goes with. */
struct capacity_type {
    struct serving_cli cli;
    struct serving_model model;
};
struct capacity_grid {
    struct sweep_grid machines; /* hw and machine alone */
    struct str_list types;
    struct int_list tps, seqs, budgets, drafts; /* 0 where none were given */
    bool vary_drafts;
    struct capacity_type *type;
    size_t n_type;
    struct campaign_cell *cell; /* type, machine, tp, seqs, budget, drafts: the innermost last */
    size_t n;
};
/* Opens all models and machines. c is copied, and must outlive the grid. */
int capacity_grid_init(struct capacity_grid *g, const struct capacity_lists *l, const struct serving_cli *c, struct error *err);
void capacity_grid_free(struct capacity_grid *g);
/* The type of cell i. */
const struct capacity_type *capacity_grid_type(const struct capacity_grid *g, size_t i);

/* ---- the command that starts it (capacity_launch.c) --------------------------------------------------- */

/* `vllm serve ...`, `llama-server ...`, with what differs from their defaults, or the simulation depends on. "-": no server has the policy. */
void capacity_launch(struct strbuf *out, const struct capacity_type *t, const struct campaign_cell *cell, const struct campaign_result *r);

/* ---- charts (capacity_charts.c) ---------------------------------------------------------------------------- */

/* BASE-pareto of the rows with a rate. */
int capacity_draw_pareto(const char *base, const struct table_rows *rows, const struct serving_cli *c, struct error *err);
/* BASE-rates of one deployment: percentiles at 10 %, 20 %, ... of its highest rate. */
int capacity_draw_rates(const char *base, const struct capacity_row *row, const struct campaign *k, size_t cell, const struct serving_cli *c, struct error *err);

#endif
