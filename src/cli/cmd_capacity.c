/* roofcast capacity: the highest rate that meets a service level objective, over machines, types, layouts and settings of the server. */
#include "base/environment.h"
#include "cli/cli.h"
#include "cli/serving.h"
#include "predict/request.h"
#include "report/capacity_report.h"
#include "report/serving_report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_HW = 256, OPT_TYPES, OPT_TPS, OPT_SEQS, OPT_TOKENS, OPT_DRAFTS, OPT_TOP, OPT_SAVE, OPT_CHART };

static const struct argp_option option_table[] = {
    { "model", 'm', "MODEL", 0, "the model, instead of the first argument", 0 },
    { "hw", OPT_HW, "NAME|FILE,...", 0, "machines: names (`roofcast list hw`), profiles, or `this` (default)", 0 },
    { "types", OPT_TYPES, "TYPE,...", 0, "tensor types to try (that of -q)", 0 },
    { "tps", OPT_TPS, "N,...", 0, "degrees of tensor parallelism to try (that of --tp)", 0 },
    { "seqs", OPT_SEQS, "N,...", 0, "values of --max-num-seqs to try", 0 },
    { "budgets", OPT_TOKENS, "N,...", 0, "values of --max-num-batched-tokens to try", 0 },
    { "drafts", OPT_DRAFTS, "N,...", 0, "values of --num-speculative-tokens to try", 0 },
    SERVING_OPTIONS,
    PRICING_OPTIONS,
    { "top", OPT_TOP, "N", 0, "deployments whose probabilities are worked out: the best ones, and the front (20)", 0 },
    { "output", 'o', "FORMAT", 0, "table (default), csv, json, jsonl, md or sql", 0 },
    { "save", OPT_SAVE, "FILE", 0, "also write the JSON to FILE", 0 },
    { "chart", OPT_CHART, "BASE", 0, "draw tokens/s of a user against tokens/s of a device (SVG, PNG)", 0 },
    { 0 },
};

struct options {
    struct serving_cli c;
    const char *types, *tps, *seqs, *budgets, *drafts, *save, *chart;
    int64_t top;
    enum report_format format;
};

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    switch (key) {
    case OPT_HW:
        return cli_text(&o->c.hw, arg);
    case OPT_TYPES:
        return cli_text(&o->types, arg);
    case OPT_TPS:
        return cli_text(&o->tps, arg);
    case OPT_SEQS:
        return cli_text(&o->seqs, arg);
    case OPT_TOKENS:
        return cli_text(&o->budgets, arg);
    case OPT_DRAFTS:
        return cli_text(&o->drafts, arg);
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

/* ---- the grid ---------------------------------------------------------------------------------------------------------- */

/* What varies; a list of one 0 leaves the option as it is. */
struct axes {
    struct str_list hw, types;
    struct int_list tp, seqs, budgets, drafts;
};

static int read_axis(struct int_list *l, const char *text, int64_t lo, const char *what, struct error *err)
{
    return int_list_parse(l, text ? text : "0", text ? lo : 0, INT32_MAX, what, err);
}

static void axes_free(struct axes *a)
{
    str_list_free(&a->hw);
    str_list_free(&a->types);
    int_list_free(&a->tp);
    int_list_free(&a->seqs);
    int_list_free(&a->budgets);
    int_list_free(&a->drafts);
}

static int axes_read(struct axes *a, const struct options *o, struct error *err)
{
    *a = (struct axes){ .hw = { .n = 0 } };
    if (str_list_parse(&a->hw, o->c.hw, "--hw", err) == 0 && (!o->types || str_list_parse(&a->types, o->types, "--types", err) == 0) &&
        read_axis(&a->tp, o->tps, 1, "--tps", err) == 0 && read_axis(&a->seqs, o->seqs, 1, "--seqs", err) == 0 &&
        read_axis(&a->budgets, o->budgets, 1, "--budgets", err) == 0 && read_axis(&a->drafts, o->drafts, 0, "--drafts", err) == 0)
        return 0;
    axes_free(a);
    return -1;
}

static size_t axes_n(const struct axes *a)
{
    return a->hw.n * (a->types.n > 0 ? a->types.n : 1) * a->tp.n * a->seqs.n * a->budgets.n * a->drafts.n;
}

/* ---- a deployment ------------------------------------------------------------------------------------------------------- */

struct campaign {
    const struct options *o;
    const struct serve_workload *w;
    struct table_rows *rows;
    size_t n_done, n;
    double start_s;
};

/* `vllm serve ...`, `llama-server ...`: what starts the deployment. */
static const char *launch(struct table_rows *rows, const struct deployment *d, const struct serving_cli *c, const char *model)
{
    const struct policy *p = &d->policy;
    const struct layout *l = &c->price.layout;
    char text[512];
    if (p->kind == POLICY_LLAMA_SERVER)
        snprintf(text, sizeof text, "llama-server -m %.100s.gguf -np %u -b %u -ub %u -c %u", model, p->max_num_seqs, p->max_num_batched_tokens, p->n_ubatch,
                 d->n_block);
    else
        snprintf(text, sizeof text, "vllm serve %.100s --max-num-seqs %u --max-num-batched-tokens %u --max-model-len %u%s%s", model, p->max_num_seqs,
                 p->max_num_batched_tokens, p->max_model_len, p->enable_prefix_caching ? "" : " --no-enable-prefix-caching",
                 p->enable_chunked_prefill ? "" : " --no-enable-chunked-prefill");
    const struct {
        const char *name;
        uint32_t n;
    } layouts[] = { { "tensor", l->tp }, { "pipeline", l->pp }, { "data", l->dp } };
    for (size_t i = 0; p->kind == POLICY_VLLM && i < ARRAY_LEN(layouts); i++)
        if (layouts[i].n > 1)
            snprintf(text + strlen(text), sizeof text - strlen(text), " --%s-parallel-size %u", layouts[i].name, layouts[i].n);
    return table_text(rows, text);
}

static void describe(struct capacity_row *r, struct table_rows *rows, const struct serving_cli *c, const struct serving_model *x, const struct hwprofile *h)
{
    char text[64];
    const struct layout *l = &c->price.layout;
    r->model = table_text(rows, x->m.name);
    r->hw = table_text(rows, h->id);
    r->type = table_text(rows, x->m.type_name);
    r->layout = table_text(rows, layout_text(text, sizeof text, l));
    r->n_devices = layout_devices(l);
    r->tp = l->tp;
    r->pp = l->pp;
    r->dp = l->dp;
    r->ep = l->ep;
    r->price_usd_h = running_of(h, NAN, NAN).price_usd_h;
}

/* The highest rate of one deployment; draws: with probabilities. */
static int find_rate(struct capacity_row *r, const struct campaign *k, const struct serving_cli *c, const struct serving_model *x, const struct hwprofile *h,
                     uint32_t draws, struct error *err)
{
    const struct predict_options po = serving_predict_options(c, x, h);
    struct deployment *d = malloc(sizeof *d);
    if (!d)
        return error_oom(err, sizeof *d, "a deployment");
    int rc = layout_check_link(&po.layout, h, err) == 0 ? deployment_init(d, &x->classes.classes, h, &po, &c->deploy, k->w, err) : -1;
    if (rc == 0) {
        const struct serve_options run = serving_run_options(c, d);
        const struct capacity_options co = { .slo = &k->o->c.slo, .n_draw = draws, .seed = c->load.seed, .precision = 0.01 };
        r->policy = table_text(k->rows, d->policy.name);
        r->max_num_seqs = d->policy.max_num_seqs;
        r->max_num_batched_tokens = d->policy.max_num_batched_tokens;
        r->num_speculative_tokens = d->policy.num_speculative_tokens;
        r->n_block = d->n_block;
        r->launch = launch(k->rows, d, c, x->m.name);
        rc = serve_capacity(&r->c, d, k->w, &run, &co, err);
        deployment_free(d);
    }
    free(d);
    return rc;
}

/* A reason in place of a rate; what ends the program is passed on. */
static int add_row(struct campaign *k, const struct serving_cli *c, const struct serving_model *x, const struct hwprofile *h, struct error *err)
{
    struct error why = { 0 };
    struct capacity_row *r = capacity_add_row(k->rows);
    describe(r, k->rows, c, x, h);
    const int rc = find_rate(r, k, c, x, h, k->n == 1 ? (uint32_t)k->o->c.draws : 0, &why);
    k->n_done++;
    if (clock_now_s() - k->start_s > 1)
        notify_progress(NULL, "deployments", (double)k->n_done / (double)k->n);
    if (rc == 0)
        return 0;
    if (why.kind != ERROR_USAGE && why.kind != ERROR_INPUT) {
        *err = why;
        return -1;
    }
    if (k->n == 1)
        return error_set(err, why.kind, "%s", why.msg);
    r->reason = table_text(k->rows, why.msg);
    return 0;
}

static int vary_server(struct campaign *k, const struct axes *a, struct serving_cli c, const struct serving_model *x, const struct hwprofile *h, struct error *err)
{
    const struct deployment_options given = c.deploy;
    for (size_t i = 0; i < a->seqs.n; i++)
        for (size_t j = 0; j < a->budgets.n; j++)
            for (size_t l = 0; l < a->drafts.n; l++) {
                c.deploy = given;
                c.deploy.max_num_seqs = a->seqs.v[i] > 0 ? (uint32_t)a->seqs.v[i] : given.max_num_seqs;
                c.deploy.max_num_batched_tokens = a->budgets.v[j] > 0 ? (uint32_t)a->budgets.v[j] : given.max_num_batched_tokens;
                if (k->o->drafts)
                    c.deploy.num_speculative_tokens = c.deploy.look_ahead = (uint32_t)a->drafts.v[l];
                if (add_row(k, &c, x, h, err) != 0)
                    return -1;
            }
    return 0;
}

static int vary_machine(struct campaign *k, const struct axes *a, struct serving_cli c, const struct serving_model *x, struct error *err)
{
    for (size_t i = 0; i < a->hw.n; i++) {
        struct hwprofile h;
        if (hwprofile_open(&h, a->hw.v[i], err) != 0)
            return -1;
        int rc = 0;
        for (size_t j = 0; j < a->tp.n && rc == 0; j++) {
            if (a->tp.v[j] > 0)
                c.price.layout.tp = (uint32_t)a->tp.v[j];
            rc = vary_server(k, a, c, x, &h, err);
        }
        hwprofile_free(&h);
        if (rc != 0)
            return -1;
    }
    return 0;
}

static int vary_type(struct campaign *k, const struct axes *a, struct error *err)
{
    for (size_t i = 0; i < (a->types.n > 0 ? a->types.n : 1); i++) {
        struct serving_cli c = k->o->c;
        struct serving_model x;
        if (a->types.n > 0 && pricing_parse('q', a->types.v[i], &c.price, err) != 0)
            return -1;
        if (serving_model_open(&x, &c, &a->hw, err) != 0)
            return -1;
        const int rc = vary_machine(k, a, c, &x, err);
        serving_model_close(&x);
        if (rc != 0)
            return -1;
    }
    return 0;
}

static int draw(const struct options *o, const struct table_rows *rows, struct error *err)
{
    char style[4096];
    struct strbuf notes = { 0 };
    struct serving_chart c = { .style = style, .out_base = o->chart };
    struct serving_config *x = calloc(rows->n, sizeof *x);
    size_t n = 0;
    if (!x)
        return error_oom(err, rows->n * sizeof *x, "a chart");
    for (size_t i = 0; i < rows->n; i++) {
        const struct capacity_row *r = table_row(rows, i);
        if (!(r->device_tok_s > 0))
            continue;
        x[n] = (struct serving_config){ .user_tok_s = r->c.at.user_tok_s, .device_tok_s = r->device_tok_s,
                                        .device_lo = r->device_tok_s * r->rate_90 / r->c.rate, .device_hi = r->device_tok_s * r->rate_10 / r->c.rate };
        snprintf(x[n++].group, sizeof x->group, "%.60s", r->hw);
    }
    snprintf(c.title, sizeof c.title, "%.60s: %.90s", ((const struct capacity_row *)table_row(rows, 0))->model, o->c.slo.text);
    snprintf(c.subtitle, sizeof c.subtitle, "%.200s", o->c.workload);
    int rc = environment_file(style, sizeof style, "reports/charts/curves.gp") ? 0 : error_set(err, ERROR_INPUT, "reports/charts/curves.gp: not found");
    if (rc == 0 && n == 0)
        notify_note("no deployment meets the objective: no chart");
    else if (rc == 0)
        rc = serving_chart_pareto(&c, x, n, &notes, err);
    if (rc == 0 && notes.len > 0)
        notify_note("%s", notes.s);
    strbuf_free(&notes);
    free(x);
    return rc;
}

static int run(struct options *o, const struct axes *a, struct error *err)
{
    struct serve_workload w;
    struct table_rows rows = { .size = sizeof(struct capacity_row) };
    if (serve_workload_from_text(&w, o->c.workload, &o->c.load, NULL, err) != 0)
        return -1;
    struct campaign k = { .o = o, .w = &w, .rows = &rows, .n = axes_n(a), .start_s = clock_now_s() };
    int rc = vary_type(&k, a, err);
    notify_progress_done();
    if (rc == 0)
        rc = capacity_print(NULL, o->format, &rows, &o->c.slo, w.name, err);
    if (rc == 0 && o->save)
        rc = capacity_print(o->save, REPORT_JSON, &rows, &o->c.slo, w.name, err);
    if (rc == 0 && o->chart)
        rc = draw(o, &rows, err);
    table_rows_free(&rows);
    serve_workload_free(&w);
    return rc;
}

int cmd_capacity(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "How many requests a second a served model sustains within a service level objective, over machines, tensor types, layouts and the "
        "server's settings. MODEL is a .gguf file, a Hugging Face config.json, or a name from `roofcast list models`.\v"
        "Each deployment is simulated (`roofcast simulate`) at rates found by bisection, on the same requests. For a single deployment, "
        "rates that meet the objective with probability 0.9, 0.5 and 0.1 come from draws of the constants of the time model.\n\n"
        "  roofcast capacity llama-3.1-8b -q BF16 --hw h100-sxm --slo p99:ttft=1s,itl=50ms\n"
        "  roofcast capacity llama-3.1-70b --hw h100-sxm,h200-sxm,b200 --types FP8,BF16 --tps 1,2,4,8 --slo p99:ttft=2s,itl=50ms\n"
        "  roofcast capacity llama-3.1-8b --hw l40s -q FP8 --workload azure-conv --slo 95%:ttft=1s,tpot=40ms --seqs 64,256 --budgets 2048,8192\n"
        "  roofcast capacity qwen3-30b-a3b -q FP8 --hw h100-sxm --drafts 0,2,4 --acceptance 0.8,0.6,0.5 --slo p99:itl=30ms -o json\n";
    static const int exclusive[][CLI_EXCLUSIVE] = { { OPT_SEQS, SERVING_SEQS }, { OPT_TOKENS, SERVING_TOKENS }, { OPT_DRAFTS, SERVING_DRAFTS }, { 0 } };
    static const struct cli_syntax syntax = { option_table, parse, "MODEL", doc, exclusive };
    struct options o = { .c = SERVING_DEFAULTS, .top = 20, .format = REPORT_TABLE };
    struct axes a;
    int rc = -1;
    o.c.load.arrivals.rate_s = 1;
    o.c.load.dirs = environment()->data_dirs;
    if (cli_parse(&syntax, argc, argv, &o, err) != 0 || cli_keep_arguments(argc, argv, "--save", o.save, err) != 0)
        return -1;
    if (!o.c.slo_text)
        return error_set(err, ERROR_USAGE, "--slo: expected an objective, p99:ttft=1s,itl=50ms");
    if (axes_read(&a, &o, err) == 0) {
        rc = run(&o, &a, err);
        axes_free(&a);
    }
    pricing_free(&o.c.price);
    return rc;
}
