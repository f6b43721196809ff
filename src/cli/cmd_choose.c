/* roofcast choose: which type of a model to take on a machine, and which machine for a rate. */
#include "base/environment.h"
#include "cli/pricing.h"
#include "cost/memory.h"
#include "dataset/machine.h"
#include "report/choose.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *model, *hw, *types, *prices, *save;
    struct pricing_options price;
    struct software_options software;
    int64_t n_ctx, n_batch, devices;
    double loss, rate, chance;
    bool buy, all;
    enum report_format format;
};

enum { OPT_HW = 256, OPT_LOSS, OPT_RATE, OPT_CHANCE, OPT_BUY, OPT_DEVICES, OPT_PRICES, OPT_ALL, OPT_SAVE, DEFAULT_CTX = 4096, MAX_CTX = 1 << 28 };

static const struct argp_option option_table[] = {
    { "model", 'm', "MODEL", 0, "the model, instead of the first argument", 0 },
    { "hw", OPT_HW, "NAME|FILE,...", 0, "machines: names (`roofcast list hw`), profile files, or `this` (default; with --rate: every machine with a price)", 0 },
    { "ctx", 'c', "N", 0, "context of each sequence, in tokens (4096, at most the trained context)", 0 },
    { "context", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "batch", 'b', "N", 0, "sequences processed in parallel (1)", 0 },
    { "users", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "n-batch", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "type", 'q', "TYPE,...", 0, "only these types, mixtures or checkpoint formats (default: all of which there are files)", 0 },
    { "loss", OPT_LOSS, "PERCENT", 0, "acceptable increase of perplexity (3)", 0 },
    { "rate", OPT_RATE, "TOK_S", 0, "tokens/s that each user gets: print the probability; without --hw find the cheapest machine that reaches it", 0 },
    { "chance", OPT_CHANCE, "P", 0, "with at least this probability (0.9)", 0 },
    { "buy", OPT_BUY, NULL, 0, "the cheapest machine to buy; default: to rent", 0 },
    { "devices", OPT_DEVICES, "N", 0, "most devices of a machine (8): they share the layers (llama.cpp) or every matrix (servers)", 0 },
    { "prices", OPT_PRICES, "FILE", 0, "prices instead of the installed ones (doc/formats.md)", 0 },
    { "kv-type", PRICING_KV, "TYPE", 0, "type of the KV cache, keys and values (F16): also FP8, NVFP4, INT8", 0 },
    { "tp", PRICING_TP, "N", 0, "tensor parallelism: devices that share every matrix (1)", 0 },
    { "pp", PRICING_PP, "N", 0, "pipeline parallelism: groups of devices that share the layers (1)", 0 },
    { "stack", SOFTWARE_STACK, "NAME", 0, "software to predict (`roofcast list stacks`; default: by machine and type, as in predict)", 0 },
    { "all", OPT_ALL, NULL, 0, "also the rows that do not fit, and all machines", 0 },
    { "output", 'o', "FORMAT", 0, "table (default), csv, json, jsonl, md or sql", 0 },
    { "save", OPT_SAVE, "FILE", 0, "also write the JSON to FILE", 0 },
    { 0 },
};

static int parse_loss(const char *arg, double *out, struct error *err)
{
    double percent;
    if (parse_double(arg, 0, 1e6, "--loss", &percent, err) != 0)
        return -1;
    *out = percent / 100;
    return 0;
}

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    switch (key) {
    case 'm':
    case ARGP_KEY_ARG:
        return cli_text_once(&o->model, arg, "model", err);
    case 'c':
        return parse_int(arg, 2, MAX_CTX, "--ctx", &o->n_ctx, err);
    case 'b':
        return parse_int(arg, 1, 65536, "--batch", &o->n_batch, err);
    case 'q':
        return cli_text(&o->types, arg);
    case 'o':
        return report_format_find(arg, &o->format, err);
    case OPT_HW:
        return cli_text(&o->hw, arg);
    case OPT_LOSS:
        return parse_loss(arg, &o->loss, err);
    case OPT_RATE:
        return parse_double(arg, 1e-6, 1e9, "--rate", &o->rate, err);
    case OPT_CHANCE:
        return parse_double(arg, 0.001, 0.999, "--chance", &o->chance, err);
    case OPT_BUY:
        return cli_flag(&o->buy);
    case OPT_DEVICES:
        return parse_int(arg, 1, 8, "--devices", &o->devices, err);
    case OPT_PRICES:
        return cli_text_once(&o->prices, arg, "--prices", err);
    case OPT_ALL:
        return cli_flag(&o->all);
    case OPT_SAVE:
        return cli_text(&o->save, arg);
    case SOFTWARE_STACK:
        return software_parse(key, arg, &o->software, err);
    default:
        return pricing_parse(key, arg, &o->price, err);
    }
}

/* ---- quality: what others published, and what ppl measured of this model -------------------------------------- */

struct quality_data {
    struct published published;
    struct ppl_saved_list measured;
    char measured_name[80];
};

/* Measured losses are a study of their own, so that types which were not measured are on this model's level. */
static int add_measured(struct quality_data *q, const struct choose_case *c, struct error *err)
{
    struct published_study s = { .n_params = c->n_params, .n = 0 };
    s.figure = calloc(q->measured.n + 1, sizeof *s.figure);
    if (!s.figure)
        return error_oom(err, (q->measured.n + 1) * sizeof *s.figure, "measured perplexities");
    for (size_t i = 0; i < q->measured.n; i++) {
        const struct ppl_saved *m = &q->measured.v[i];
        if (!isnan(m->ln_ratio) && strlen(m->type) < sizeof s.figure->type && m == ppl_saved_find(&q->measured, c->model, c->n_params, m->type)) {
            struct published_figure *f = &s.figure[s.n++];
            *f = (struct published_figure){ .loss = exp(m->ln_ratio) - 1, .kl = m->kl };
            snprintf(f->type, sizeof f->type, "%.23s", m->type);
        }
    }
    snprintf(q->measured_name, sizeof q->measured_name, "%.50s, measured here", c->model);
    snprintf(s.model, sizeof s.model, "%.63s", q->measured_name);
    const int rc = s.n > 0 ? published_add(&q->published, &s, err) : 0;
    if (s.n == 0)
        *q->measured_name = 0;
    free(s.figure);
    return rc;
}

static int load_quality(struct quality_data *q, struct choose_case *c, struct error *err)
{
    if (published_load(&q->published, err) != 0)
        return -1;
    const size_t n = q->published.n;
    if (environment()->user_dir && ppl_saved_load(&q->measured, environment()->user_dir, err) != 0)
        return -1;
    if (add_measured(q, c, err) != 0 || published_fit_init(&c->fit, &q->published, err) != 0)
        return -1;
    if (q->published.n > n) /* it has its place in the fit alone: its rows are read from the file */
        free(q->published.study[--q->published.n].figure);
    c->published = &q->published;
    c->measured = &q->measured;
    c->measured_name = *q->measured_name ? q->measured_name : NULL;
    return 0;
}

/* ---- the run ------------------------------------------------------------------------------------------------------ */

static int add_types(struct table_rows *rows, const struct choose_case *c, const struct str_list *hw, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; i < hw->n && rc >= 0; i++) {
        struct hwprofile h;
        if (machine_load(&h, hw->v[i], err) != 0)
            return -1;
        for (size_t k = 0; k < c->n_type && rc >= 0; k++)
            rc = choose_add(rows, c, &c->type[k], &h, &c->layout, err);
        hwprofile_free(&h);
        rc = rc < 0 || interrupt_check(err) != 0 ? -1 : 0;
    }
    return rc;
}

/* Prices name machines as `--hw` does: their ids. */
static int resolve_prices(struct prices *p, const char *path, struct error *err)
{
    for (size_t i = 0; i < p->n; i++) {
        struct hwprofile h;
        bool known = false;
        for (size_t k = 0; k < i && !known; k++) /* already an id */
            known = strcmp(p->v[i].hw, p->v[k].hw) == 0;
        if (known)
            continue;
        if (machine_load(&h, p->v[i].hw, err) != 0)
            return error_prefix(err, "%s: prices[%zu]: field \"hw\"", path ? path : "prices", i);
        snprintf(p->v[i].hw, sizeof p->v[i].hw, "%s", h.id);
        hwprofile_free(&h);
    }
    return 0;
}

static int fill(struct table_rows *rows, struct choose_case *c, const struct options *o, const struct str_list *hw, bool machines, struct error *err)
{
    struct prices prices = { 0 };
    int rc = 0;
    if (machines && (prices_load(&prices, o->prices, err) != 0 || resolve_prices(&prices, o->prices, err) != 0))
        rc = -1;
    c->prices = machines ? &prices : NULL;
    if (rc == 0)
        rc = machines ? choose_machines(rows, c, o->hw ? hw : NULL, err) : add_types(rows, c, hw, err);
    if (rc == 0 && machines)
        choose_machines_rank(rows, c);
    else if (rc == 0)
        rc = choose_rank(rows, c, err);
    c->prices = NULL;
    prices_free(&prices);
    return rc;
}

static int run_case(struct choose_case *c, const struct model *m, const struct options *o, const struct str_list *hw, const struct str_list *types,
                    struct error *err)
{
    const bool machines = !isnan(o->rate) && (!o->hw || o->buy || o->prices);
    const struct choose_output out = { o->format, o->save, machines, o->all };
    struct quality_data q = { .measured_name = "" };
    struct table_rows rows = { .size = sizeof(struct choose_row) };
    int rc = load_quality(&q, c, err);
    if (rc == 0)
        rc = choose_types_load(c, m, o->model, types, err);
    if (rc == 0)
        rc = fill(&rows, c, o, hw, machines, err);
    if (rc == 0 && rows.n == 0 && !machines)
        rc = error_set(err, ERROR_INPUT, "no type of %s is offered for %s", c->model, o->hw ? o->hw : "this machine");
    if (rc == 0)
        rc = choose_print(&rows, c, &out, err);
    table_rows_free(&rows);
    choose_types_free(c);
    published_fit_free(&c->fit);
    ppl_saved_free(&q.measured);
    published_free(&q.published);
    return rc;
}

static int take_types(struct str_list *l, const char *arg, struct error *err)
{
    if (str_list_parse(l, arg, "-q", err) != 0)
        return -1;
    for (size_t i = 0; i < l->n; i++) {
        char buf[24];
        const char *type = l->v[i];
        if (pricing_type(&type, buf, sizeof buf, l->v[i], "-q", err) != 0)
            return -1;
        char *copy = type == l->v[i] ? NULL : strdup(type);
        if (type != l->v[i] && !copy)
            return error_oom(err, strlen(type) + 1, "-q");
        if (copy) {
            free(l->v[i]);
            l->v[i] = copy;
        }
    }
    return 0;
}

static int run(const struct options *o, const struct str_list *hw, const struct str_list *types, struct error *err)
{
    struct model m;
    struct software *software = NULL;
    if (pricing_model(&m, o->model, NULL, err) != 0)
        return -1;
    struct choose_case c = { .model = m.name, .n_params = (double)m.n_params, .n_batch = (uint32_t)o->n_batch, .type_k = o->price.type_k, .type_v = o->price.type_v,
                             .layout = o->price.layout, .routing = &o->price.routing, .most_loss = o->loss, .rate_tok_s = o->rate, .least_chance = o->chance,
                             .buy = o->buy, .most_devices = (uint32_t)o->devices };
    c.own_type = !m.gguf && software_weights(&m) == WEIGHTS_CHECKPOINT ? m.type_name : NULL;
    c.n_ctx = o->n_ctx > 0 ? (uint32_t)o->n_ctx : (uint32_t)u64_min(DEFAULT_CTX, u64_max(m.hp.n_ctx_train, 2));
    if (c.n_ctx > m.hp.n_ctx_train)
        notify_warn("%s: a context of %u tokens exceeds the trained context of %u", m.name, c.n_ctx, m.hp.n_ctx_train);
    const struct software_query query = { false, false, hw, o->model, NULL, 0 };
    int rc = cli_keep_input(m.path, m.gguf, "--save", o->save, err);
    if (rc == 0)
        rc = software_load(&software, &o->software, &query, err);
    c.time = software_time(software);
    c.stack = o->software.stack && software ? stack_named(o->software.stack) : NULL;
    if (rc == 0)
        rc = memory_rules_load(err);
    if (rc == 0)
        rc = run_case(&c, &m, o, hw, types, err);
    software_free(software);
    model_free(&m);
    return rc;
}

int cmd_choose(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Answer which quantization of a model to take on a machine: the types that fit, with tokens/s, memory and quality. With --rate and without --hw: "
        "which machine to take, the cheapest one that reaches the rate. MODEL is a .gguf file, a Hugging Face config.json, or a name from `roofcast list models`.\v"
        "Quality is the increase of perplexity over the unquantized model: as `roofcast ppl --against` measured it for this model on this machine, else the range that others "
        "published for models of this size, with sources. A type without a figure is \"unavailable\". Pareto: no other type is faster and loses less.\n\n"
        "Recommended is, of the types that lose at most --loss, the one that loses least among those within 10 % of the fastest; with --rate the one that loses least "
        "and reaches the rate with probability --chance.\n\n"
        "  roofcast choose llama-3.1-8b --hw rtx-4090\n"
        "  roofcast choose qwen3-32b --hw rtx-4090,apple-m4-max-40 --ctx 16384\n"
        "  roofcast choose llama-3.1-70b --hw h100-sxm --tp 2 --batch 32\n"
        "  roofcast choose llama-3.1-8b --hw rtx-3060-12gb --rate 40\n"
        "  roofcast choose llama-3.1-70b --rate 30 --users 16 --ctx 8192     # a machine to rent\n"
        "  roofcast choose qwen3-30b-a3b --rate 60 --buy                     # one to buy\n"
        "  roofcast choose model.gguf --hw this -o json\n";
    static const struct cli_syntax syntax = { option_table, parse, "MODEL", doc, NULL };
    struct options o = { .price = PRICING_DEFAULTS, .n_batch = 1, .devices = 8, .loss = 0.03, .rate = NAN, .chance = 0.9, .format = REPORT_TABLE };
    struct str_list hw = { 0 }, types = { 0 };
    int rc = -1;
    if (cli_parse(&syntax, argc, argv, &o, err) != 0 || cli_keep_arguments(argc, argv, "--save", o.save, err) != 0)
        return -1;
    if (isnan(o.rate) && (o.buy || o.prices))
        error_set(err, ERROR_USAGE, "%s needs --rate TOK_S: machines are compared at a rate", o.buy ? "--buy" : "--prices");
    else if (o.software.stack && strcmp(o.software.stack, "none") == 0)
        error_set(err, ERROR_USAGE, "--stack none: a choice needs a stack's constants: expected one of `roofcast list stacks`");
    else if (str_list_parse(&hw, o.hw ? o.hw : "this", "--hw", err) == 0 && (!o.types || take_types(&types, o.types, err) == 0))
        rc = run(&o, &hw, o.types ? &types : NULL, err);
    str_list_free(&hw);
    str_list_free(&types);
    pricing_free(&o.price);
    return rc;
}
