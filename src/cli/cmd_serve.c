/* roofcast serve: the simulator's scheduler on the real engine: a workload replayed on the wall clock, with the simulator's report; or a server. */
#include "base/environment.h"
#include "cli/cli.h"
#include "cli/serve.h"
#include "cli/serve_http.h"
#include "cli/serving_output.h"
#include "server/replay.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_RATE = 256, OPT_USERS, OPT_HTTP, OPT_KEY, OPT_ALIAS, OPT_CHAT, OPT_CONNECTIONS, OPT_QUEUED, OPT_KV, OPT_DRAFT, OPT_RATES, OPT_INVARIANT };

static const struct argp_option option_table[] = {
    { "model", 'm', "FILE", 0, "GGUF file", 0 },
    { "http", OPT_HTTP, "[ADDR:]PORT", 0, "serve the OpenAI API there (127.0.0.1 unless told otherwise), instead of a workload", 0 },
    { "api-key", OPT_KEY, "KEY", 0, "every endpoint but /health asks for it", 0 },
    { "served-model-name", OPT_ALIAS, "NAME", 0, "id of the model in the API (the file's name)", 0 },
    { "chat-template", OPT_CHAT, "NAME", 0, "of chats, instead of the file's; `roofcast run --chat-template help` lists them", 0 },
    { "max-connections", OPT_CONNECTIONS, "N", 0, "connections at most, 503 beyond (512)", 0 },
    { "max-num-queued-reqs", OPT_QUEUED, "N", 0, "requests that wait at most, 503 beyond (0: any number)", 0 },
    { "policy", SERVING_POLICY, "NAME", 0, "how requests share steps: vllm-0.27 (default), vllm-0.N, llama-server, static, one-by-one", 0 },
    { "rate", OPT_RATE, "R", 0, "requests a second; inf: all at once (default: a trace's own times, else inf)", 0 },
    { "request-rate", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "max-concurrency", OPT_USERS, "N", 0, "requests under way at once at most: the client holds others back", 0 },
    SERVING_LOAD_OPTIONS("100"),
    { "max-num-seqs", SERVING_SEQS, "N", 0, "sequences that run at once at most (256); of llama-server: slots (4)", 0 },
    { "max-num-batched-tokens", SERVING_TOKENS, "N", 0, "tokens of a step at most (512)", 0 },
    { "max-model-len", SERVING_MODEL_LEN, "N", 0, "positions of a sequence at most (as the model was trained, or as the KV cache has room for)", 0 },
    { "block-size", SERVING_BLOCK, "N", 0, "positions of a KV block: 8, 16 (default), 32, 64 or 128", 0 },
    { "kv-cache-memory", OPT_KV, "SIZE", 0, "memory of the KV cache: 2GB (default: what --max-num-seqs sequences take, at most a quarter of the memory)", 0 },
    { "num-gpu-blocks-override", SERVING_BLOCKS, "N", 0, "KV blocks, one of which vLLM does not use, in place of --kv-cache-memory", 0 },
    { "enable-prefix-caching", SERVING_PREFIX, NULL, 0, "keep the KV blocks of prompts that others begin with (default)", 0 },
    { "no-enable-prefix-caching", SERVING_NO_PREFIX, NULL, 0, "do not", 0 },
    { "enable-chunked-prefill", SERVING_CHUNKED, NULL, 0, "prompts in chunks, in steps with decoding sequences (default)", 0 },
    { "no-enable-chunked-prefill", SERVING_NO_CHUNKED, NULL, 0, "prompts whole", 0 },
    { "async-scheduling", SERVING_ASYNC, NULL, 0, "form a step before the results of the one before are known, as servers of GPUs do", 0 },
    { "no-async-scheduling", SERVING_NO_ASYNC, NULL, 0, "do not (default: on a CPU there is nothing to hide)", 0 },
    { "long-prefill-token-threshold", SERVING_THRESHOLD, "N", 0, "prompt tokens of a request in a step at most (0: no limit)", 0 },
    { "watermark", SERVING_WATERMARK, "X", 0, "fraction of the KV blocks that admission leaves free (0)", 0 },
    { "scheduling-policy", SERVING_SCHEDULING, "fcfs|priority", 0, "order of waiting requests (fcfs)", 0 },
    { "num-speculative-tokens", SERVING_DRAFTS, "N", 0, "drafted tokens of a decode step (0: no speculation)", 0 },
    { "draft", OPT_DRAFT, "ngram|mtp|FILE", 0,
      "source of drafts: ngram, what followed the newest tokens when they stood before; mtp, the file's layer of multi-token prediction (architecture deepseek2); or a GGUF "
      "file, a smaller model of the same vocabulary", 0 },
    { "spec-synth-rates", OPT_RATES, "P,...", 0, "accept drafts with these probabilities, whatever the model says: the gain is a measurement, the text is not", 0 },
    { "batch-invariant", OPT_INVARIANT, NULL, 0, "the same bits for a request whatever it shares steps with: slower prompts", 0 },
    { "threads", 't', "N", 0, "threads (default: one per usable core, within the CPU quota)", 0 },
    CLI_ENGINE_OPTIONS,
    CLI_ACT_SCALES_OPTION,
    SERVING_OUTPUT_OPTIONS,
    { 0 },
};

struct options {
    struct serve_setup_options serve;
    struct serving_cli c;
    struct serving_output out;
    struct serve_http http;
    bool replay_given; /* an option of a workload or of its report */
};

static int parse_engine(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    const int rc = cli_engine_option(&o->serve.engine, key, arg, err);
    if (rc != CLI_UNKNOWN)
        return rc;
    switch (key) {
    case OPT_HTTP:
        return cli_text(&o->http.address, arg);
    case OPT_KEY:
        return cli_text(&o->http.api_key, arg);
    case OPT_ALIAS:
        return cli_text(&o->http.name, arg);
    case OPT_CHAT:
        return cli_text(&o->http.chat_template, arg);
    case OPT_CONNECTIONS:
        return parse_int(arg, 1, HTTP_MAX_CONNECTIONS, "--max-connections", &o->http.max_connections, err);
    case OPT_QUEUED:
        return parse_int(arg, 0, INT32_MAX, "--max-num-queued-reqs", &o->http.max_queued, err);
    case 'm':
        return cli_text(&o->serve.model, arg);
    case 't':
        return parse_int(arg, 1, 1 << 20, "-t", &o->serve.threads, err);
    case OPT_KV:
        o->serve.kv_bytes = units_parse(arg, "B");
        return o->serve.kv_bytes > 0 ? 0 : error_set(err, ERROR_USAGE, "--kv-cache-memory: expected a size, 2GB or 512MiB; found \"%.32s\"", arg);
    case OPT_INVARIANT:
        o->serve.batch_invariant = true;
        return 0;
    case OPT_DRAFT:
        return cli_text(&o->serve.draft, arg);
    case OPT_RATES:
        return serving_rates(arg, "--spec-synth-rates", o->serve.rates, &o->serve.n_rate, err);
    default:
        return CLI_UNKNOWN;
    }
}

/* Of the requests. */
static bool is_load(int key)
{
    switch (key) {
    case OPT_RATE:
    case OPT_USERS:
    case SERVING_WORKLOAD:
    case SERVING_REQUESTS:
    case SERVING_DURATION:
    case SERVING_BURSTINESS:
    case SERVING_RAMP:
    case SERVING_RAMP_FROM:
    case SERVING_RAMP_TO:
    case SERVING_SEED:
    case SERVING_ENDS:
    case SERVING_SLO:
        return true;
    default:
        return false;
    }
}

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    int rc = parse_engine(o, key, arg, err);
    if (rc != CLI_UNKNOWN)
        return rc;
    rc = serving_output_parse(key, arg, &o->out, err);
    o->replay_given |= rc != CLI_UNKNOWN || is_load(key);
    if (rc != CLI_UNKNOWN)
        return rc;
    switch (key) {
    case OPT_RATE:
        o->c.rate = arg;
        return serving_rate(arg, &o->c.load.arrivals.rate_s, err);
    case OPT_USERS:
        return parse_int(arg, 1, INT32_MAX, "--max-concurrency", &o->c.max_concurrency, err);
    case ARGP_KEY_ARG:
        return CLI_UNKNOWN;
    default:
        return serving_parse(key, arg, &o->c, err);
    }
}

/* ---- a replay ---------------------------------------------------------------------------------------------------------- */

static void show_progress(void *ctx, size_t n_done, size_t n)
{
    const double *start_s = ctx;
    if (clock_now_s() - *start_s > 1)
        notify_progress(NULL, "requests", (double)n_done / (double)n);
}

static int summarize(const struct options *o, const struct serve_workload *w, const struct serve_options *run, const struct serve_result *r,
                     const struct timeline *t, struct serve_study *study, struct error *err)
{
    const struct serve_metrics_options mo = { .slo = o->c.slo_text ? &o->c.slo : NULL, .timeline = t, .options = run, .drop_warmup = o->out.warmup,
                                              .hit_infinite = run->policy->enable_prefix_caching ? serve_hit_bound(w, run->policy->block_size, err) : NAN };
    struct serve_metrics *m = malloc(sizeof *m);
    const int rc = m ? serve_metrics(m, r, w, &mo, err) : error_oom(err, sizeof *m, "metrics");
    if (rc == 0)
        serve_study_runs(study, m, 1);
    free(m);
    return rc;
}

static int run_workload(const struct options *o, struct serve_setup *x, const struct serve_workload *w, struct error *err)
{
    struct serve_options run = { .policy = &x->policy, .n_block = x->n_block, .seed = o->c.load.seed, .max_concurrency = (uint32_t)o->c.max_concurrency,
                                 .work = &x->peaks };
    struct serving_listeners l;
    struct serve_result r;
    struct loop_stats stats;
    struct error stopped = { 0 };
    struct serve_study *study = calloc(1, sizeof *study);
    const double given_s = o->c.load.arrivals.rate_s;
    char hw[128];
    snprintf(hw, sizeof hw, "this machine, %d thread%s, %s", x->machine.n_threads, x->machine.n_threads == 1 ? "" : "s", engine_kernels(x->e)->isa);
    const struct serving_subject s = { .model = x->m.name, .hw = hw, .w = w, .rate = isnan(given_s) ? serve_workload_rate(w) : given_s,
                                       .burstiness = o->c.load.arrivals.burstiness, .options = &run, .r = &r, .study = study,
                                       .timeline = &l.timeline, .steps = &l.steps, .measured = true };
    int rc = serve_probe(x, err);
    if (rc == 0)
        rc = study ? serving_listeners_init(&l, &o->out, &x->policy, x->n_block, w, err) : error_oom(err, sizeof *study, "a run");
    if (rc != 0) {
        free(study);
        return -1;
    }
    run.step = serving_listen;
    run.step_ctx = &l;
    const struct replay_options ro = { .serve = &run, .loop = serve_loop_options(x, &o->serve, o->c.load.seed), .progress = show_progress,
                                       .progress_ctx = &l.start_s };
    rc = replay(&r, &stats, x->e, w, &ro, err);
    notify_progress_done();
    const bool ran = rc == 0 || err->kind == ERROR_INTERRUPTED;
    if (rc == 0)
        rc = serve_probe(x, err);
    const bool partial = rc != 0 && err->kind == ERROR_INTERRUPTED; /* of the requests or of the probe: then the first probe's roofs stand */
    if (partial)
        stopped = *err;
    if (rc == 0 || partial) {
        rc = summarize(o, w, &run, &r, &l.timeline, study, err);
        const bool measured = rc == 0; /* an interrupt may come before the first request has ended */
        if (measured)
            rc = partial ? serving_output_partial(&o->out, &s, err) : serving_output(&o->out, &s, &l.timeline, err);
        if (partial && (rc == 0 || !measured)) {
            *err = stopped;
            rc = -1;
        }
    }
    rc = serving_listeners_end(&l, &s, rc, err);
    if (ran)
        serve_result_free(&r);
    free(study);
    return rc;
}

/* That every request can run, before the first one does. */
static int check_workload(const struct serve_setup *x, const struct serve_workload *w, struct error *err)
{
    const bool slots = x->policy.kind == POLICY_LLAMA_SERVER;
    for (size_t i = 0; i < w->n; i++)
        if (scheduler_check(&x->policy, slots ? (x->n_block - x->policy.max_num_seqs) * x->block_size : x->n_block, w->r[i].n_in, w->r[i].n_out, err) != 0)
            return error_prefix(err, "%s, request %zu", w->name, i + 1);
    return 0;
}

static int run_replay(struct options *o, struct error *err)
{
    struct serve_setup x;
    struct serve_workload w;
    struct trace_notes notes = { 0 };
    if (serve_workload_from_text(&w, o->c.workload, &o->c.load, &notes, err) != 0)
        return -1;
    if (notes.n_failed + notes.n_filtered > 0)
        notify_note("%s: of %zu records %zu failed and %zu were filtered out", o->c.workload, notes.n_row, notes.n_failed, notes.n_filtered);
    const struct serve_workload_sum sum = serve_workload_sum(&w);
    int rc = serve_setup_init(&x, &o->serve, &o->c.deploy, &sum, err);
    if (rc == 0) {
        rc = check_workload(&x, &w, err);
        if (x.policy.num_speculative_tokens > 0 && o->serve.n_rate == 0)
            notify_note("a replay's outputs are the workload's tokens, which drafts meet by chance: --spec-synth-rates accepts them at a rate");
        if (rc == 0)
            rc = run_workload(o, &x, &w, err);
        serve_setup_free(&x);
    }
    serve_workload_free(&w);
    return rc;
}

static int run_server(const struct options *o, struct error *err)
{
    const struct serve_workload_sum none = { 0 };
    struct serve_setup x;
    if (serve_setup_init(&x, &o->serve, &o->c.deploy, &none, err) != 0)
        return -1;
    int rc = serve_probe(&x, err);
    if (rc == 0)
        rc = serve_http_run(&x, &o->serve, &o->http, err);
    serve_setup_free(&x);
    return rc;
}

/* Options without effect. */
static int check_options(const struct options *o, struct error *err)
{
    if (!o->serve.model)
        return error_set(err, ERROR_USAGE, "-m FILE is missing: a GGUF file");
    if (o->http.address && o->replay_given)
        return error_set(err, ERROR_USAGE, "--http: expected no option of a workload or of its report: clients send the requests");
    if (!o->http.address && (o->http.api_key || o->http.name || o->http.chat_template || o->http.max_connections > 0 || o->http.max_queued > 0))
        return error_set(err, ERROR_USAGE, "--api-key, --served-model-name, --chat-template, --max-connections and --max-num-queued-reqs: expected --http");
    return serving_check(&o->c, err);
}

int cmd_serve(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Serve a GGUF model on this machine: the scheduler of `roofcast simulate`, on the engine and the wall clock. A workload is replayed: its "
        "requests arrive at their times, share steps and the KV cache, and the report is the simulator's, measured. Or, with --http, clients of "
        "the OpenAI API send them.\v"
        "The KV cache is a pool of blocks: sequences take blocks as they grow, prompts that begin alike share them, and where none is left the newest "
        "sequence gives its blocks back and is computed again later. Outputs of a replay are the workload's own tokens, whatever the model says; times "
        "are those of the model.\n\n"
        "  roofcast serve -m model.gguf --workload random:in=256,out=64 --requests 50 --rate 2\n"
        "  roofcast serve -m model.gguf --workload session:turns=4,in=600,new=80,out=60 --requests 10 --rate 1 --slo p99:ttft=2s,itl=200ms\n"
        "  roofcast serve -m model.gguf --policy llama-server --max-num-seqs 4 --rate inf --max-concurrency 8\n"
        "  roofcast serve -m model.gguf --http 8080                                 # then: curl http://127.0.0.1:8080/v1/models\n"
        "  roofcast serve -m model.gguf --num-speculative-tokens 4 --draft ngram --workload chat.jsonl\n"
        "  roofcast serve -m model.gguf --num-speculative-tokens 4 --draft small.gguf --spec-synth-rates 0.8,0.6\n"
        "  roofcast serve -m glm-4.7-flash.gguf --num-speculative-tokens 1 --draft mtp --http 8080\n";
    static const int exclusive[][CLI_EXCLUSIVE] = { { SERVING_PREFIX, SERVING_NO_PREFIX }, { SERVING_CHUNKED, SERVING_NO_CHUNKED },
                                                    { SERVING_ASYNC, SERVING_NO_ASYNC },   { SERVING_REQUESTS, SERVING_DURATION }, { OPT_RATE, SERVING_RAMP },
                                                    { OUTPUT_FORMAT, 'o' },                { OPT_KV, SERVING_BLOCKS },
                                                    { 0 } };
    static const struct cli_syntax syntax = { option_table, parse, "-m FILE", doc, exclusive };
    struct options o = { .serve = { .engine = SETUP_DEFAULT }, .c = SERVING_DEFAULTS, .out = { .format = REPORT_TABLE } };
    o.c.load.arrivals.rate_s = NAN;
    o.c.load.dirs = environment()->data_dirs;
    o.c.load.n_made = 100;
    if (cli_parse(&syntax, argc, argv, &o, err) != 0 || serving_output_check(&o.out, argc, argv, err) != 0 || check_options(&o, err) != 0)
        return -1;
    const int rc = o.http.address ? run_server(&o, err) : run_replay(&o, err);
    pricing_free(&o.c.price);
    return rc;
}
