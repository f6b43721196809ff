/* roofcast capacity: the highest rate that meets a service level objective, over machines, types, layouts and settings of the server. */
#include "base/environment.h"
#include "cli/capacity.h"
#include "cli/cli.h"
#include "predict/request.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_HW = 256, OPT_TYPES, OPT_TPS, OPT_SEQS, OPT_TOKENS, OPT_DRAFTS, OPT_PRICE, OPT_TOP, OPT_SAVE, OPT_CHART };

static const struct argp_option option_table[] = {
    { "model", 'm', "MODEL", 0, "the model, instead of the first argument", 0 },
    { "hw", OPT_HW, "NAME|FILE,...", 0, "machines: names (`roofcast list hw`), profiles, `this` (default); gpu, apu, cpu, npu and all are every profile of that kind", 0 },
    { "types", OPT_TYPES, "TYPE,...", 0, "tensor types to try (that of -q)", 0 },
    { "tps", OPT_TPS, "N,...", 0, "degrees of tensor parallelism to try (that of --tp)", 0 },
    { "seqs", OPT_SEQS, "N,...", 0, "values of --max-num-seqs to try", 0 },
    { "budgets", OPT_TOKENS, "N,...", 0, "values of --max-num-batched-tokens to try", 0 },
    { "drafts", OPT_DRAFTS, "N,...", 0, "values of --num-speculative-tokens to try", 0 },
    SERVING_OPTIONS("5000"),
    PRICING_OPTIONS,
    { "price", OPT_PRICE, "USD", 0, "price of a device, in USD/h, for USD/Mtok", 0 },
    { "top", OPT_TOP, "N", 0, "deployments shown with their probabilities: the best ones, and the front (20; 0: all, without probabilities)", 0 },
    { "output", 'o', "FORMAT", 0, "table (default), csv, json, jsonl, md or sql", 0 },
    { "save", OPT_SAVE, "FILE", 0, "also write the JSON to FILE", 0 },
    { "chart", OPT_CHART, "BASE", 0, "draw BASE-pareto, tokens/s of a user against tokens/s of a device; of a single deployment also BASE-rates, latency against the rate (SVG, PNG)", 0 },
    { 0 },
};

struct options {
    struct serving_cli c;
    struct capacity_lists lists;
    const char *save, *chart;
    double price_usd_h;
    int64_t top;
    enum report_format format;
};

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    switch (key) {
    case OPT_HW:
        return cli_text(&o->lists.hw, arg);
    case OPT_TYPES:
        return cli_text(&o->lists.types, arg);
    case OPT_TPS:
        return cli_text(&o->lists.tps, arg);
    case OPT_SEQS:
        return cli_text(&o->lists.seqs, arg);
    case OPT_TOKENS:
        return cli_text(&o->lists.budgets, arg);
    case OPT_DRAFTS:
        return cli_text(&o->lists.drafts, arg);
    case OPT_PRICE:
        return parse_double(arg, 0, 1e6, "--price", &o->price_usd_h, err);
    case OPT_TOP:
        return parse_int(arg, 0, 1 << 20, "--top", &o->top, err);
    case 'o':
        return report_format_find(arg, &o->format, err);
    case OPT_SAVE:
        return cli_text(&o->save, arg);
    case OPT_CHART:
        return cli_text(&o->chart, arg);
    default:
        return serving_parse(key, arg, &o->c, err);
    }
}

/* ---- what was found, as rows ------------------------------------------------------------------------------------------- */

struct capacity_run {
    const struct options *o;
    struct capacity_grid grid;
    struct campaign campaign;
    struct sweep_ranks ranks;
    struct table_rows rows; /* struct capacity_row */
    double start_s;
};

static int add_row(struct capacity_run *x, size_t i, struct error *err)
{
    const struct campaign_cell *cell = &x->grid.cell[i];
    const struct campaign_result *f = &x->campaign.result[i];
    const struct capacity_type *t = capacity_grid_type(&x->grid, i);
    const struct layout *l = &cell->predict.layout;
    struct capacity_row *r = capacity_add_row(&x->rows);
    struct strbuf command = { 0 };
    char text[64];
    r->cell = i;
    r->model = table_text(&x->rows, t->model.m.name);
    r->hw = table_text(&x->rows, cell->h->id);
    r->type = table_text(&x->rows, t->model.m.type_name);
    r->layout = table_text(&x->rows, layout_text(text, sizeof text, l));
    r->n_devices = layout_devices(l);
    r->tp = l->tp;
    r->pp = l->pp;
    r->dp = l->dp;
    r->ep = l->ep;
    r->price_usd_h = running_of(cell->h, NAN, x->o->price_usd_h).price_usd_h;
    r->c = f->c;
    r->max_num_seqs = cell->deploy.max_num_seqs;
    r->max_num_batched_tokens = cell->deploy.max_num_batched_tokens;
    r->num_speculative_tokens = cell->deploy.num_speculative_tokens;
    r->reason = table_text(&x->rows, f->reason);
    if (*f->reason)
        return 0;
    r->max_num_seqs = f->policy.max_num_seqs;
    r->max_num_batched_tokens = f->policy.max_num_batched_tokens;
    r->n_block = f->n_block;
    r->policy = table_text(&x->rows, f->policy.name);
    capacity_launch(&command, t, cell, f);
    const char *launch = strbuf_text(&command, "a command", err);
    r->launch = table_text(&x->rows, launch);
    strbuf_free(&command);
    return launch ? 0 : -1;
}

static int add_rows(struct capacity_run *x, struct error *err)
{
    for (size_t i = 0; i < x->grid.n; i++)
        if (x->campaign.result[i].done && add_row(x, i, err) != 0)
            return -1;
    capacity_rank(&x->rows);
    return 0;
}

/* ---- several processes ------------------------------------------------------------------------------------------------- */

/* An item of another process: a result or a rate, of `bytes`. */
static int write_items(const struct capacity_run *x, const void *item, size_t bytes, size_t n, FILE *f, struct error *err)
{
    for (size_t i = 0; i < n; i++)
        if (campaign_is_mine(&x->campaign, i) && fwrite((const char *)item + i * bytes, bytes, 1, f) != 1)
            return error_write(err, errno, "cannot write the temporary file of a rank");
    return 0;
}

static int read_items(struct capacity_run *x, int rank, void *item, size_t bytes, size_t n, FILE *f, struct error *err)
{
    struct campaign of = x->campaign;
    of.part = (uint32_t)rank;
    rewind(f);
    for (size_t i = 0; i < n; i++)
        if (campaign_is_mine(&of, i) && fread((char *)item + i * bytes, bytes, 1, f) != 1)
            return error_set(err, ERROR_SYSTEM, "rank %d sent less than its part", rank);
    return 0;
}

/* The parts of all ranks at rank 0; done: how this one's ended. */
static int gather(struct capacity_run *x, int done, void *item, size_t bytes, size_t n, struct error *err)
{
    struct error failed = done != 0 ? *err : (struct error){ 0 };
    if (x->ranks.n == 1 || (x->ranks.rank == 0 && done != 0))
        return done;
    int rc = 0;
    for (int rank = 1; rank < x->ranks.n && rc == 0; rank++) {
        if (x->ranks.rank != 0 && x->ranks.rank != rank)
            continue;
        FILE *f = tmpfile();
        if (!f)
            return error_set(err, ERROR_SYSTEM, "cannot make a temporary file: %s", strerror(errno));
        if (x->ranks.rank == 0) {
            rc = sweep_ranks_collect(&x->ranks, rank, f, err);
            if (rc == 0)
                rc = read_items(x, rank, item, bytes, n, f, err);
        } else {
            if (failed.kind == ERROR_NONE)
                (void)write_items(x, item, bytes, n, f, &failed);
            rc = sweep_ranks_deliver(&x->ranks, f, &failed, err);
        }
        fclose(f);
    }
    return rc;
}

/* ---- both passes ------------------------------------------------------------------------------------------------------------ */

static void show(void *ctx, double fraction)
{
    const struct capacity_run *x = ctx;
    if (clock_now_s() - x->start_s > 1)
        notify_progress(NULL, x->rows.n == 0 ? "deployments" : "probabilities", fraction);
}

/* Rates of all deployments; rows of those that were found. */
static int find_rates(struct capacity_run *x, struct error *err)
{
    struct campaign *k = &x->campaign;
    int rc = gather(x, campaign_rates(k, err), k->result, sizeof *k->result, k->n, err);
    notify_progress_done();
    if (x->ranks.rank != 0 || (rc != 0 && err->kind != ERROR_INTERRUPTED))
        return rc;
    for (size_t i = 0; x->ranks.n > 1 && i < k->n; i++)
        campaign_restore(k, i);
    if (k->n == 1 && k->result->done && *k->result->reason)
        return error_set(err, k->result->kind, "%s", k->result->reason);
    struct error interrupted = rc != 0 ? *err : (struct error){ 0 };
    if (add_rows(x, err) != 0)
        return -1;
    return rc == 0 ? 0 : error_set(err, ERROR_INTERRUPTED, "%.200s: %zu of %zu deployments are printed", interrupted.msg, x->rows.n, k->n);
}

/* Cells whose probabilities are worked out: those of the best rows and of the front. Rank 0 decides. */
static int choose(struct capacity_run *x, uint32_t *which, size_t *n, struct error *err)
{
    unsigned char *chosen = calloc(x->grid.n, 1);
    *n = 0;
    if (!chosen)
        return error_oom(err, x->grid.n, "the best deployments");
    for (size_t i = 0; i < x->rows.n; i++) {
        const struct capacity_row *r = table_row(&x->rows, i);
        chosen[r->cell] = r->c.rate > 0 && x->o->top > 0 && ((int64_t)i < x->o->top || r->front);
    }
    const int rc = sweep_ranks_share(&x->ranks, chosen, x->grid.n, err);
    for (size_t i = 0; i < x->grid.n; i++)
        if (chosen[i])
            which[(*n)++] = (uint32_t)i;
    free(chosen);
    return rc;
}

/* Those of all draws that were found: after an interrupt not all are. */
static void take_draws(struct capacity_run *x, const uint32_t *which, size_t n, double *rate)
{
    const uint32_t n_draw = x->campaign.search->n_draw;
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < x->rows.n; r++) {
            struct capacity_row *row = table_row(&x->rows, r);
            if (row->cell == which[i])
                capacity_probable(&row->c, rate + i * n_draw, n_draw);
        }
    capacity_rank(&x->rows);
}

static int find_probabilities(struct capacity_run *x, struct error *err)
{
    struct campaign *k = &x->campaign;
    uint32_t *which = malloc(k->n * sizeof *which);
    double *rate = NULL;
    size_t n = 0;
    int rc = which ? choose(x, which, &n, err) : error_oom(err, k->n * sizeof *which, "the best deployments");
    if (rc == 0 && n > 0) {
        const size_t n_rate = n * k->search->n_draw;
        rate = malloc(n_rate * sizeof *rate);
        for (size_t i = 0; rate && i < n_rate; i++)
            rate[i] = NAN;
        rc = !rate ? error_oom(err, n_rate * sizeof *rate, "draws of the constants")
                   : gather(x, campaign_draws(k, which, n, rate, err), rate, sizeof *rate, n_rate, err);
        notify_progress_done();
        if (rate && x->ranks.rank == 0)
            take_draws(x, which, n, rate);
    }
    free(rate);
    free(which);
    return rc;
}

static int print(struct capacity_run *x, bool whole, struct error *err)
{
    const struct options *o = x->o;
    char constants[17];
    const struct capacity_texts texts = { .slo = &o->c.slo, .workload = x->campaign.w->name, .constants = serving_constants(constants), .most = (size_t)o->top };
    char *partial = NULL;
    int rc = capacity_print(NULL, o->format, &x->rows, &texts, err);
    if (rc == 0 && o->save && !whole && !(partial = cli_partial_path(o->save, err)))
        rc = -1;
    if (rc == 0 && o->save)
        rc = capacity_print(partial ? partial : o->save, REPORT_JSON, &x->rows, &texts, err);
    free(partial);
    if (rc == 0 && o->chart && whole)
        rc = capacity_draw_pareto(o->chart, &x->rows, &o->c, err);
    if (rc == 0 && o->chart && whole && x->grid.n == 1)
        rc = capacity_draw_rates(o->chart, table_row(&x->rows, 0), &x->campaign, 0, &capacity_grid_type(&x->grid, 0)->cli, err);
    return rc;
}

static int search(struct capacity_run *x, struct error *err)
{
    int rc = find_rates(x, err);
    if (rc == 0 && x->campaign.search->n_draw > 0)
        rc = find_probabilities(x, err);
    if (x->ranks.rank != 0 || (rc != 0 && (err->kind != ERROR_INTERRUPTED || x->rows.n == 0)))
        return rc;
    struct error interrupted = rc != 0 ? *err : (struct error){ 0 };
    if (print(x, rc == 0, err) != 0)
        return -1;
    if (rc != 0)
        *err = interrupted;
    return rc;
}

static int with_grid(struct capacity_run *x, const struct serve_workload *w, struct error *err)
{
    const struct serving_cli *c = &x->o->c;
    const struct capacity_options co = { .slo = &c->slo, .n_draw = x->o->top > 0 ? (uint32_t)c->draws : 0, .seed = c->load.seed, .precision = 0.01 };
    const struct serve_options run = serving_run_options(c, NULL);
    x->campaign = (struct campaign){ .w = w, .run = &run, .search = &co, .cell = x->grid.cell, .n = x->grid.n, .n_thread = (uint32_t)serving_threads(c),
                                     .part = (uint32_t)x->ranks.rank, .n_part = (uint32_t)x->ranks.n, .progress = show, .ctx = x };
    x->campaign.result = calloc(x->grid.n, sizeof *x->campaign.result);
    if (!x->campaign.result)
        return error_oom(err, x->grid.n * sizeof *x->campaign.result, "the deployments");
    const int rc = search(x, err);
    free(x->campaign.result);
    return rc;
}

static int run(struct capacity_run *x, struct error *err)
{
    const struct options *o = x->o;
    struct serve_workload w;
    x->rows.size = sizeof(struct capacity_row);
    x->start_s = clock_now_s();
    if (serve_workload_from_text(&w, o->c.workload, &o->c.load, NULL, err) != 0)
        return -1;
    int rc = capacity_grid_init(&x->grid, &o->lists, &o->c, err);
    if (rc == 0) {
        rc = with_grid(x, &w, err);
        capacity_grid_free(&x->grid);
    }
    table_rows_free(&x->rows);
    serve_workload_free(&w);
    return rc;
}

int cmd_capacity(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "How many requests a second a served model sustains within a service level objective, over machines, tensor types, layouts and the "
        "server's settings. MODEL is a .gguf file, a Hugging Face config.json, or a name from `roofcast list models`.\v"
        "Each deployment is simulated (`roofcast simulate`) at rates found by bisection, on the same requests. Rates that the best "
        "deployments and the front meet with probability 0.9, 0.5 and 0.1 come from draws of the constants of the time model. Under mpirun each "
        "rank takes a part of the deployments. The launch command (-o csv, json) has the settings of the server that was simulated, as far as its "
        "options go: --route, --prefill-replicas and replicas of llama-server are not in it, and DRAFT stands for a draft model.\n\n"
        "  roofcast capacity llama-3.1-8b -q BF16 --hw h100-sxm --slo p99:ttft=1s,itl=50ms\n"
        "  roofcast capacity llama-3.1-70b --hw h100-sxm,h200-sxm,b200 --types FP8,BF16 --tps 1,2,4,8 --slo p99:ttft=2s,itl=50ms\n"
        "  roofcast capacity llama-3.1-8b --hw l40s -q FP8 --workload azure-conv --slo 95%:ttft=1s,tpot=40ms --seqs 64,256 --budgets 2048,8192\n"
        "  roofcast capacity qwen3-30b-a3b -q FP8 --hw h100-sxm --drafts 0,2,4 --acceptance 0.8,0.6,0.5 --slo p99:itl=30ms -o json\n"
        "  mpirun -n 4 roofcast capacity llama-3.1-70b --hw gpu --types FP8,AWQ --tps 1,2,4,8 --slo p99:ttft=2s,itl=50ms -o csv\n";
    static const int exclusive[][CLI_EXCLUSIVE] = { { OPT_SEQS, SERVING_SEQS }, { OPT_TOKENS, SERVING_TOKENS }, { OPT_DRAFTS, SERVING_DRAFTS },
                                                    { SERVING_PREFIX, SERVING_NO_PREFIX }, { SERVING_CHUNKED, SERVING_NO_CHUNKED },
                                                    { SERVING_ASYNC, SERVING_NO_ASYNC }, { SERVING_REQUESTS, SERVING_DURATION },
                                                    { OPT_TPS, PRICING_TP }, { OPT_TYPES, 'q' }, { 0 } };
    static const struct cli_syntax syntax = { option_table, parse, "MODEL", doc, exclusive };
    struct options o = { .c = SERVING_DEFAULTS, .lists = { .hw = "this" }, .price_usd_h = NAN, .top = 20, .format = REPORT_TABLE };
    struct capacity_run x = { .o = &o };
    o.c.load.arrivals.rate_s = 1;
    o.c.load.n_made = 5000; /* so that the arrivals near the limit last longer than the drain after them */
    o.c.load.dirs = environment()->data_dirs;
    if (cli_parse(&syntax, argc, argv, &o, err) != 0 || cli_keep_arguments(argc, argv, "--save", o.save, err) != 0 ||
        cli_keep_chart(argc, argv, "--chart", o.chart, err) != 0 || (o.save && outfile_check(o.save, err) != 0) ||
        (o.chart && outfile_check(o.chart, err) != 0))
        return -1;
    if (!o.c.slo_text)
        return error_set(err, ERROR_USAGE, "--slo: expected an objective, p99:ttft=1s,itl=50ms");
    if ((o.c.n_accept > 0 || o.c.accept_sd > 0 || o.c.draft) && o.c.deploy.num_speculative_tokens == 0 && !o.lists.drafts)
        return error_set(err, ERROR_USAGE, "--draft, --acceptance and --acceptance-spread: expected --drafts or --num-speculative-tokens, without which nothing is drafted");
    if (serving_check(&o.c, err) != 0 || sweep_ranks_init(&x.ranks, err) != 0)
        return -1;
    if (x.ranks.rank != 0)
        cli_set_quiet(true);
    const int rc = run(&x, err);
    sweep_ranks_free(&x.ranks, rc != 0);
    pricing_free(&o.c.price);
    return rc;
}
