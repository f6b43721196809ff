/* roofcast simulate: many requests on a served model: TTFT, ITL and throughput of a service, with how sure they are. */
#include "base/environment.h"
#include "cli/cli.h"
#include "cli/serving_output.h"
#include "dataset/machine.h"
#include "report/serving_policies.h"
#include "serving/draws.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_HW = 256, OPT_RATE, OPT_USERS, OPT_STEPS, OPT_COMPARE };

static const struct argp_option option_table[] = {
    { "model", 'm', "MODEL", 0, "the model, instead of the first argument", 0 },
    { "hw", OPT_HW, "NAME|FILE", 0, "the machine: a name (`roofcast list hw`), a profile, or `this` (default)", 0 },
    { "rate", OPT_RATE, "R", 0, "requests a second; inf: all at once (default: a trace's own times, else inf)", 0 },
    { "request-rate", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "max-concurrency", OPT_USERS, "N", 0, "requests under way at once at most: the client holds others back", 0 },
    SERVING_OPTIONS("1000"),
    PRICING_OPTIONS,
    { "step-by-step", OPT_STEPS, NULL, 0, "every step one by one, without jumps: the same result, slower", 0 },
    { "compare-policies", OPT_COMPARE, NULL, 0, "what each idea buys on the same requests, from one request at a time to speculation", 0 },
    SERVING_OUTPUT_OPTIONS,
    { 0 },
};

struct options {
    struct serving_cli c;
    struct serving_output out;
    bool steps, compare;
};

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    const int rc = serving_output_parse(key, arg, &o->out, err);
    if (rc != CLI_UNKNOWN)
        return rc;
    switch (key) {
    case OPT_HW:
        return cli_text(&o->c.hw, arg);
    case OPT_RATE:
        o->c.rate = arg;
        return serving_rate(arg, &o->c.load.arrivals.rate_s, err);
    case OPT_USERS:
        return parse_int(arg, 1, INT32_MAX, "--max-concurrency", &o->c.max_concurrency, err);
    case OPT_STEPS:
        return cli_flag(&o->steps);
    case OPT_COMPARE:
        return cli_flag(&o->compare);
    default:
        return serving_parse(key, arg, &o->c, err);
    }
}

/* ---- a run ------------------------------------------------------------------------------------------------------------ */

/* ctx: when the draws began, in seconds. */
static void show_progress(void *ctx, uint32_t n_done, uint32_t n)
{
    const double *start_s = ctx;
    if (clock_now_s() - *start_s > 1)
        notify_progress(NULL, "draws of the constants", (double)n_done / n);
}

/* One run and its draws; *r: serve_result_free(). An interrupt of the draws is *stopped, no error: the run is there. */
static int simulate(const struct options *o, struct deployment *d, const struct serve_workload *w, struct serve_options *run,
                    struct serving_listeners *l, struct serve_result *r, struct serve_study *study, struct error *stopped, struct error *err)
{
    l->progress = true;
    run->step = serving_listen;
    run->step_ctx = l;
    run->flags = o->steps ? SERVE_STEP_BY_STEP : 0;
    const int done = serve_simulate(r, w, run, err);
    notify_progress_done();
    if (done != 0)
        return -1;
    run->step = NULL;
    const struct serve_metrics_options mo = { .slo = o->c.slo_text ? &o->c.slo : NULL, .timeline = &l->timeline, .options = run, .drop_warmup = o->out.warmup,
                                              .hit_infinite = d->policy.enable_prefix_caching ? serve_hit_bound(w, d->policy.block_size, err) : NAN };
    struct serve_metrics *m = malloc(sizeof *m);
    int rc = m ? serve_metrics(m, r, w, &mo, err) : error_oom(err, sizeof *m, "metrics");
    if (rc == 0) {
        serve_study_runs(study, m, 1);
        const struct draws_options draws = { .n_draw = (uint32_t)o->c.draws, .n_thread = (uint32_t)serving_threads(&o->c), .most = 10000,
                                             .seed = o->c.load.seed };
        double start_s = clock_now_s();
        rc = serve_draws(study, d, w, run, &mo, &draws, show_progress, &start_s, err);
        notify_progress_done();
        if (rc != 0 && err->kind == ERROR_INTERRUPTED) {
            rc = 0;
            (void)error_set(stopped, ERROR_INTERRUPTED, "%.200s: %zu of %u draws of the constants were made", err->msg, study->n_draw, draws.n_draw);
        }
        if (rc == 0 && study->n_draw_without > 0)
            notify_note("%zu of %u draws of the constants have steps that cannot be simulated: intervals and probabilities are without them",
                        study->n_draw_without, draws.n_draw);
    }
    free(m);
    if (rc != 0)
        serve_result_free(r);
    return rc;
}

static int run_one(const struct options *o, struct deployment *d, const struct serve_workload *w, const struct model *m, const struct hwprofile *h,
                   struct error *err)
{
    struct serve_options run = serving_run_options(&o->c, d);
    struct serving_listeners l;
    struct serve_result r = { 0 };
    struct serve_study *study = calloc(1, sizeof *study);
    char constants[17];
    const double given_s = o->c.load.arrivals.rate_s;
    const struct serving_subject s = { .model = m->name, .hw = h->id, .constants = serving_constants(constants), .w = w,
                                       .rate = isnan(given_s) ? serve_workload_rate(w) : given_s, .burstiness = o->c.load.arrivals.burstiness,
                                       .options = &run, .r = &r, .study = study, .timeline = &l.timeline, .steps = &l.steps };
    int rc = study ? serving_listeners_init(&l, &o->out, &d->policy, d->n_block, w, err) : error_oom(err, sizeof *study, "a simulation");
    if (rc != 0) {
        free(study);
        return -1;
    }
    struct error stopped = { 0 };
    rc = simulate(o, d, w, &run, &l, &r, study, &stopped, err);
    if (rc == 0 && stopped.kind == ERROR_NONE)
        rc = serving_output(&o->out, &s, &l.timeline, err);
    else if (rc == 0 && (rc = serving_output_partial(&o->out, &s, err)) == 0) {
        *err = stopped;
        rc = -1;
    }
    rc = serving_listeners_end(&l, &s, rc, err);
    serve_result_free(&r);
    free(study);
    return rc;
}

/* ---- policies side by side ------------------------------------------------------------------------------------------------ */

/* Each adds one idea to the one before. */
static const struct {
    const char *name, *adds, *policy;
    enum choice chunked, prefix;
    bool kv_fp8;
    uint32_t drafts;
} ideas[] = {
    { "one by one", "-", "one-by-one", CHOICE_DEFAULT, CHOICE_OFF, false, 0 },
    { "static", "a batch shares each read of the weights", "static", CHOICE_DEFAULT, CHOICE_OFF, false, 0 },
    { "continuous", "requests join and leave at every step", NULL, CHOICE_OFF, CHOICE_OFF, false, 0 },
    { "chunked", "prompts in chunks, in steps with decoding sequences", NULL, CHOICE_ON, CHOICE_OFF, false, 0 },
    { "prefix cache", "prompts that begin alike are computed once", NULL, CHOICE_ON, CHOICE_ON, false, 0 },
    { "FP8 KV cache", "half the bytes a position: more sequences, shorter steps", NULL, CHOICE_ON, CHOICE_ON, true, 0 },
    { "speculation", "three drafts a step, verified in one pass", NULL, CHOICE_ON, CHOICE_ON, true, 3 },
};
enum { N_IDEA = ARRAY_LEN(ideas) };

/* One of them: its study; a reason where the machine cannot. */
static int try_idea(const struct options *given, size_t i, const struct serving_model *x, const struct hwprofile *h, const struct serve_workload *w,
                    struct serve_study *study, struct error *err)
{
    struct options o = *given;
    struct deployment_options *p = &o.c.deploy;
    p->policy = ideas[i].policy ? ideas[i].policy : given->c.deploy.policy;
    p->enable_chunked_prefill = ideas[i].chunked;
    p->enable_prefix_caching = ideas[i].prefix;
    p->num_speculative_tokens = ideas[i].drafts;
    p->look_ahead = serving_is_ngram(&o.c) ? 0 : ideas[i].drafts;
    if (ideas[i].policy) /* the policy's own */
        p->max_num_seqs = p->max_num_batched_tokens = 0;
    if (ideas[i].kv_fp8)
        o.c.price.type_k = o.c.price.type_v = DTYPE_FP8;
    o.c.draws = 0;
    const struct predict_options po = serving_predict_options(&o.c, x, h);
    struct deployment *d = malloc(sizeof *d);
    struct serving_listeners l;
    struct serve_result r;
    if (!d)
        return error_oom(err, sizeof *d, "a deployment");
    int rc = deployment_init(d, &x->classes.classes, h, &po, p, w, err);
    if (rc == 0) {
        struct serve_options run = serving_run_options(&o.c, d);
        rc = serving_listeners_init(&l, &(struct serving_output){ 0 }, &d->policy, d->n_block, w, err);
        if (rc == 0) {
            rc = simulate(&o, d, w, &run, &l, &r, study, NULL, err); /* without draws */
            if (rc == 0)
                serve_result_free(&r);
            rc = serving_listeners_end(&l, NULL, rc, err);
        }
        deployment_free(d);
    }
    free(d);
    return rc;
}

static int draw_policies(const struct options *o, const struct serving_policy *p, size_t n, const struct serve_workload *w, struct error *err)
{
    char style[4096];
    struct strbuf notes = { 0 };
    struct serving_chart c = { .style = style, .out_base = o->out.chart };
    if (cli_chart_style(style, sizeof style, "reports/charts/policies.gp", err) != 0)
        return -1;
    snprintf(c.title, sizeof c.title, "What each idea buys");
    snprintf(c.subtitle, sizeof c.subtitle, "%.200s", w->name);
    const int rc = serving_chart_policies(&c, p, n, &notes, err);
    if (rc == 0 && notes.len > 0)
        notify_note("%s", notes.s);
    strbuf_free(&notes);
    return rc;
}

/* done: how the simulations ended. After an interrupt the JSON has another name. */
static int print_policies(const struct options *o, const struct table_rows *rows, const struct serve_workload *w, int done, struct error *err)
{
    struct error interrupted = done != 0 ? *err : (struct error){ 0 };
    char *partial = o->out.save && done != 0 ? cli_partial_path(o->out.save, err) : NULL;
    int rc = o->out.save && done != 0 && !partial ? -1 : serving_policies_print(NULL, o->out.format, rows, w->name, err);
    if (rc == 0 && o->out.save)
        rc = serving_policies_print(partial ? partial : o->out.save, REPORT_JSON, rows, w->name, err);
    free(partial);
    if (rc == 0 && done != 0)
        rc = error_set(err, ERROR_INTERRUPTED, "%.200s: %zu of %d policies are printed", interrupted.msg, rows->n, N_IDEA);
    return rc;
}

static int compare(const struct options *o, const struct serving_model *x, const struct hwprofile *h, const struct serve_workload *w, struct error *err)
{
    struct table_rows rows = { .size = sizeof(struct serving_policy_row) };
    struct serve_study *study = calloc(N_IDEA, sizeof *study);
    struct serving_policy drawn[N_IDEA];
    size_t n = 0;
    int rc = study ? 0 : error_oom(err, N_IDEA * sizeof *study, "studies");
    for (size_t i = 0; i < N_IDEA && rc == 0; i++) {
        struct error why = { 0 };
        struct serving_policy_row *row = table_add(&rows);
        *row = (struct serving_policy_row){ .name = ideas[i].name, .adds = ideas[i].adds };
        serving_policy_fill(row, NULL);
        if (try_idea(o, i, x, h, w, &study[i], &why) == 0) {
            serving_policy_fill(row, &study[i]);
            drawn[n].study = &study[i];
            snprintf(drawn[n++].name, sizeof drawn->name, "%.15s", ideas[i].name);
        } else if (why.kind == ERROR_USAGE || why.kind == ERROR_INPUT) {
            row->reason = table_text(&rows, why.msg);
            notify_note("%s: %s", ideas[i].name, why.msg);
        } else {
            *err = why;
            rows.n--;
            rc = -1;
        }
    }
    if (rc == 0 || (err->kind == ERROR_INTERRUPTED && rows.n > 0))
        rc = print_policies(o, &rows, w, rc, err);
    if (rc == 0 && o->out.chart && n > 0)
        rc = draw_policies(o, drawn, n, w, err);
    free(study);
    table_rows_free(&rows);
    return rc;
}

/* ---- the machine and the workload ---------------------------------------------------------------------------------------- */

static int with_workload(const struct options *o, const struct serving_model *x, const struct hwprofile *h, struct serve_workload *w, struct error *err)
{
    const struct serve_workload_sum sum = serve_workload_sum(w);
    if (sum.most_tokens > x->m.hp.n_ctx_train && o->c.deploy.max_model_len == 0)
        notify_note("a request has %u tokens: %s was trained on %u positions; max-model-len is taken to be as long as needed", sum.most_tokens, x->m.name,
                    x->m.hp.n_ctx_train);
    if (o->compare)
        return compare(o, x, h, w, err);
    const struct predict_options po = serving_predict_options(&o->c, x, h);
    struct deployment *d = malloc(sizeof *d);
    if (!d)
        return error_oom(err, sizeof *d, "a deployment");
    int rc = deployment_init(d, &x->classes.classes, h, &po, &o->c.deploy, w, err);
    if (rc == 0 && (rc = deployment_count_work(d, err)) != 0)
        deployment_free(d);
    if (rc == 0) {
        const struct serve_options run = serving_run_options(&o->c, d);
        rc = deployment_identify(w, &run, err);
        if (rc == 0)
            rc = run_one(o, d, w, &x->m, h, err);
        deployment_free(d);
    }
    free(d);
    return rc;
}

static int run(struct options *o, struct error *err)
{
    struct serving_model x;
    struct hwprofile h;
    struct serve_workload w;
    struct trace_notes notes = { 0 };
    char *name = (char *)o->c.hw;
    const struct str_list hw = { .v = &name, .n = 1 };
    if (serve_workload_from_text(&w, o->c.workload, &o->c.load, &notes, err) != 0)
        return -1;
    if (notes.n_failed + notes.n_filtered > 0)
        notify_note("%s: of %zu records %zu failed and %zu were filtered out", o->c.workload, notes.n_row, notes.n_failed, notes.n_filtered);
    int rc = serving_model_open(&x, &o->c, &hw, err);
    if (rc == 0) {
        rc = machine_load(&h, o->c.hw, err);
        if (rc == 0) {
            rc = with_workload(o, &x, &h, &w, err);
            hwprofile_free(&h);
        }
        serving_model_close(&x);
    }
    serve_workload_free(&w);
    return rc;
}

/* Options that would have no effect. */
static int check_options(const struct options *o, struct error *err)
{
    if ((o->c.n_accept > 0 || o->c.accept_sd > 0 || o->c.draft) && o->c.deploy.num_speculative_tokens == 0 && !o->compare)
        return error_set(err, ERROR_USAGE, "--draft, --acceptance and --acceptance-spread: expected --num-speculative-tokens, without which nothing is drafted");
    if (o->c.routing != ROUTE_ROUND_ROBIN && o->c.price.layout.dp < 2)
        return error_set(err, ERROR_USAGE, "--route: expected --dp of at least 2: there is one replica");
    if (o->compare && o->c.deploy.policy && strncmp(o->c.deploy.policy, "vllm", 4) != 0)
        return error_set(err, ERROR_USAGE, "--compare-policies: --policy is %.32s: expected vllm-0.N, which the ideas are of", o->c.deploy.policy);
    return serving_check(&o->c, err);
}

int cmd_simulate(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "TTFT, ITL and throughput of a served model under load: every request through the scheduler of a real server, step by step, on "
        "the seconds that the time model predicts for each step. MODEL is a .gguf file, a Hugging Face config.json, or a name from `roofcast "
        "list models`.\v"
        "A request waits, its prompt is computed (TTFT is that and the wait), then each step gives it a token (ITL is the step). Steps are "
        "shared: the more requests a step has, the more tokens a second and the longer the step. The scheduler decides who is in it. "
        "Intervals are 90 %: (sampling) narrows with more requests, (model) with better knowledge of the machine. Times are exact for the "
        "predicted seconds of steps: doc/serving.md. After Ctrl-C what is done is printed: a run with the draws that were made, or the policies "
        "compared so far; of a run that was not over, nothing.\n\n"
        "  roofcast simulate llama-3.1-8b -q BF16 --hw h100-sxm --rate 8\n"
        "  roofcast simulate llama-3.1-8b -q BF16 --hw h100-sxm --workload azure-conv --rate 5 --slo p99:ttft=1s,itl=50ms\n"
        "  roofcast simulate llama-3.1-70b -q FP8 --hw h200-sxm --tp 2 --workload session:turns=6,in=2000,new=300,out=200,think=10s --rate 1\n"
        "  roofcast simulate llama-3.1-8b --hw rtx-4090 --policy llama-server --max-num-seqs 8 --rate 1\n"
        "  roofcast simulate llama-3.1-8b -q BF16 --hw h100-sxm --rate 8 --format vllm        # as vllm bench serve\n"
        "  roofcast simulate llama-3.1-8b -q BF16 --hw h100-sxm --rate 8 --chart load --trace-to load.json\n";
    static const int exclusive[][CLI_EXCLUSIVE] = { { SERVING_PREFIX, SERVING_NO_PREFIX }, { SERVING_CHUNKED, SERVING_NO_CHUNKED },
                                                    { SERVING_ASYNC, SERVING_NO_ASYNC },   { SERVING_REQUESTS, SERVING_DURATION }, { OPT_RATE, SERVING_RAMP },
                                                    { OPT_COMPARE, OUTPUT_FORMAT },           { OPT_COMPARE, OUTPUT_REQUESTS },
                                                    { OPT_COMPARE, OUTPUT_TRACE },         { OUTPUT_FORMAT, 'o' },
                                                    { 0 } };
    static const struct cli_syntax syntax = { option_table, parse, "MODEL", doc, exclusive };
    struct options o = { .c = SERVING_DEFAULTS, .out = { .format = REPORT_TABLE } };
    o.c.load.arrivals.rate_s = NAN;
    o.c.load.dirs = environment()->data_dirs;
    if (cli_parse(&syntax, argc, argv, &o, err) != 0 || serving_output_check(&o.out, argc, argv, err) != 0 || check_options(&o, err) != 0)
        return -1;
    const int rc = run(&o, err);
    pricing_free(&o.c.price);
    return rc;
}
