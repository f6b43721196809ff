/* roofcast predict: tokens/s, TTFT, ITL, bound and memory fit of a model on any profiled machine. */
#include "cli/offload.h"
#include "cli/predict_options.h"
#include "learn/software.h"
#include "report/plot.h"
#include "report/predict_report.h"
#include "timing/rescale.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { OPT_HW = 256, OPT_UB, OPT_ROOF, OPT_WEIGHTS, OPT_WEIGHTS_ONLY, OPT_BY, OPT_SAVE };

static const struct argp_option option_table[] = {
    { "model", 'm', "MODEL", 0, "the model, instead of the first argument", 0 },
    { "hw", OPT_HW, "NAME|FILE,...", 0, "machines: names (`roofcast list hw`), profile files, or `this` (default); a machine without a profile is estimated from its class", 0 },
    { "n-prompt", 'p', "N,...", 0, "prompt tokens (512; 0: no prefill)", 0 },
    { "n-gen", 'n', "N,...", 0, "tokens to generate; decode is their mean step (128; 0: no decode)", 0 },
    { "n-depth", 'd', "N,...", 0, "context: tokens in the KV cache before the test (0)", 0 },
    { "n-batch", 'b', "N,...", 0, "sequences processed in parallel (1)", 0 },
    { "ub", OPT_UB, "N", 0, "prompt tokens per pass (default: the stack's, see `roofcast list stacks`; 512 without a stack; --roof: the whole prompt)", 0 },
    { "ubatch-size", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "threads", 't', "N", 0, "threads of a CPU (all)", 0 },
    { "roof", OPT_ROOF, NULL, 0, "print the roofline bound, which no prediction exceeds: fastest math units for each op, no software constants, no interval, activations stay on the chip", 0 },
    { "weights-gb", OPT_WEIGHTS, "X|all", 0,
      "nominal model: X GB of weights, each read once per pass, 2 FLOP per weight and token, nothing else; `all`: every tensor "
      "of the model, including the embedding table", 0 },
    { "weights-only", OPT_WEIGHTS_ONLY, NULL, 0, "ignore KV cache, activations and attention", 0 },
    { "by", OPT_BY, "phase|role", 0, "a row per phase (default) or per role", 0 },
    SOFTWARE_OPTIONS,
    PREDICT_ASK_OPTIONS,
    PRICING_OPTIONS,
    PREDICT_DRAFT_OPTIONS,
    OFFLOAD_OPTIONS,
    { "output", 'o', "FORMAT", 0, "table (default), csv, json, jsonl, md or sql", 0 },
    { "save", OPT_SAVE, "FILE", 0, "also write the JSON to FILE", 0 },
    { 0 },
};

static int parse_weights(const char *arg, struct predict_cli *o, struct error *err)
{
    o->weights_all = strcmp(arg, "all") == 0;
    return o->weights_all ? 0 : parse_double(arg, 1e-6, 1e9, "--weights-gb", &o->weights_gb, err);
}

static int parse_by(const char *arg, struct predict_cli *o, struct error *err)
{
    o->by_role = strcmp(arg, "role") == 0;
    if (o->by_role || strcmp(arg, "phase") == 0)
        return 0;
    return error_set(err, ERROR_USAGE, "--by: expected phase or role, found \"%s\"", arg);
}

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct predict_cli *o = options;
    const int draft = predict_draft_parse(key, arg, &o->draft, err);
    if (draft != CLI_UNKNOWN)
        return draft;
    const int offload = offload_parse(key, arg, &o->offload, err);
    if (offload != CLI_UNKNOWN)
        return offload;
    switch (key) {
    case 'm':
    case ARGP_KEY_ARG:
        return cli_text_once(&o->model, arg, "model", err);
    case 'p':
        return cli_text(&o->n_prompt, arg);
    case 'n':
        return cli_text(&o->n_gen, arg);
    case 'd':
        return cli_text(&o->n_depth, arg);
    case 'b':
        return cli_text(&o->n_batch, arg);
    case 't':
        return parse_int(arg, 1, 1 << 20, "-t", &o->threads, err);
    case 'o':
        return report_format_find(arg, &o->format, err);
    case OPT_HW:
        return cli_text(&o->hw, arg);
    case OPT_UB:
        return parse_int(arg, 1, INT32_MAX, "-ub", &o->n_ubatch, err);
    case OPT_ROOF:
        return cli_flag(&o->roof);
    case OPT_WEIGHTS:
        return parse_weights(arg, o, err);
    case OPT_WEIGHTS_ONLY:
        return cli_flag(&o->weights_only);
    case OPT_BY:
        return parse_by(arg, o, err);
    case OPT_SAVE:
        return cli_text(&o->save, arg);
    default:
        break;
    }
    int rc = software_parse(key, arg, &o->software, err);
    rc = rc == CLI_UNKNOWN ? predict_ask_parse(key, arg, &o->ask, err) : rc;
    return rc == CLI_UNKNOWN ? pricing_parse(key, arg, &o->price, err) : rc;
}

/* ---- every machine, depth, batch, prompt, generation --------------------------------------- */

struct lists {
    struct int_list p, n, d, b;
};

static int predict_subject(struct table_rows *rows, struct subject *s, struct error *err)
{
    if (!s->request)
        return predict(&s->r, s->m, s->h, &s->o, err) != 0 ? -1 : predict_add_rows(rows, s, err);
    struct request_result q;
    if (predict_request(&q, s->m, s->h, &s->o, s->request, err) != 0)
        return -1;
    s->r = q.r;
    s->total = q.total;
    return predict_add_rows(rows, s, err);
}

/* Limit: hardware threads of the CPU; two per core if the profile states only cores. */
static int check_threads(const struct hwprofile *h, int64_t n_threads, struct error *err)
{
    const int most = h->n_pus > 0 ? h->n_pus : 2 * h->n_cores;
    if (h->kind != HW_CPU || most <= 0 || n_threads <= most)
        return 0;
    return error_set(err, ERROR_USAGE, "-t: %" PRId64 " threads: %s has %d hardware threads%s", n_threads, h->id, most,
                     h->n_pus > 0 ? "" : ", two per core");
}

/* Result of a prediction: 0: a row; 1: no prediction, with a row that gives the reason; else -1. */
static int record_reason(int rc, struct table_rows *rows, const struct subject *s, struct error *err)
{
    struct predict_tally *t = s->tally;
    const struct error why = *err;
    t->n_priced += rc == 0;
    if (rc == 0 || !t->several || (why.kind != ERROR_INPUT && why.kind != ERROR_USAGE))
        return rc;
    if (t->first.kind == ERROR_NONE)
        t->first = why;
    if (strcmp(t->said, s->h->id) != 0)
        notify_warn("%s", why.msg);
    snprintf(t->said, sizeof t->said, "%s", s->h->id);
    *err = (struct error){ 0 };
    if (s->cli->ask.n_question == 0)
        return predict_add_reason(rows, s, why.msg, err) == 0 ? 1 : -1;
    predict_solve_add_reason(rows, s, why.msg);
    return 1;
}

/* Numbers of layers in place of auto, for this machine and scenario; without anything on the host there is no offload. 1: nothing fits, and *err says so */
static int settle_offload(struct subject *s, struct predict_offload *settled, struct error *err)
{
    struct model_classes x;
    if (!s->asked)
        return 0;
    *settled = *s->asked;
    s->o.offload = s->asked;
    settled->rule.copied_tokens = offload_copied_tokens(s->cli->software.stack, &s->m->hp);
    if (model_classes_init(&x, s->m, err) != 0)
        return -1;
    struct offload_split split = { .alone = false };
    int rc = offload_check(&s->o, s->h, err);
    rc = rc ? rc : offload_fit(&settled->rule, &x.classes, s->h, &s->o, err);
    rc = rc ? rc : offload_split_init(&split, &settled->rule, s->m, &x.ops, err);
    s->o.offload = rc != 0 ? s->asked : split.alone ? NULL : settled;
    s->alone = split.alone;
    s->tally->hosted |= rc == 0 && !split.alone;
    if (rc == 0)
        offload_split_free(&split);
    model_classes_free(&x);
    return rc;
}

/* A row that does not fit, with any numbers in place of auto. */
static int add_unfit(struct table_rows *rows, struct subject *s, struct error *err)
{
    const struct error why = *err;
    *err = (struct error){ 0 };
    if (predict_add_reason(rows, s, why.msg, err) != 0)
        return -1;
    ((struct predict_row *)table_row(rows, rows->n - 1))->fits = 0;
    return 0;
}

/* The scenario with a change of the machine or of its options. */
static int predict_change(struct table_rows *rows, const struct subject *base, const struct predict_change *c, struct error *err)
{
    struct subject s = *base;
    struct hwprofile h;
    if (whatif_profile(&h, base->h, err) != 0)
        return -1;
    s.h = &h;
    s.m = c->loaded ? &c->m : base->m;
    s.what_if = c->text;
    s.change = &c->w;
    s.base = base;
    struct predict_offload settled;
    int rc = whatif_apply(&c->w, &h, &s.o, err);
    rc = rc ? rc : settle_offload(&s, &settled, err);
    if (rc == 1) {
        rc = add_unfit(rows, &s, err);
    } else {
        rc = rc ? rc : predict_subject(rows, &s, err);
        rc = record_reason(rc, rows, &s, err);
    }
    whatif_profile_free(&h);
    return rc;
}

/* 1: no prediction, and none with changes or drafts. */
static int predict_one(struct table_rows *rows, struct subject *s, struct error *err)
{
    const struct predict_ask *a = &s->cli->ask;
    struct predict_offload settled;
    int rc = check_threads(s->asked ? s->asked->host : s->h, s->cli->threads, err);
    rc = rc ? rc : settle_offload(s, &settled, err) != 0 ? -1 : predict_subject(rows, s, err);
    rc = record_reason(rc, rows, s, err);
    for (size_t i = 0; i < a->n_change && rc == 0; i++)
        rc = predict_change(rows, s, &a->changes[i], err) < 0 ? -1 : 0;
    s->o.offload = s->asked;
    return rc;
}

static int predict_drafts(struct table_rows *rows, struct subject *s, struct error *err)
{
    return s->drafting->gamma.n > 0 ? record_reason(predict_draft_rows(rows, s, err), rows, s, err) : 0;
}

static int predict_requests(struct table_rows *rows, struct subject *s, struct error *err)
{
    const struct predict_ask *a = &s->cli->ask;
    int rc = 0;
    for (size_t i = 0; i < a->n_request && rc == 0; i++) {
        s->request = &a->requests[i];
        s->o.n_prompt = s->request->n_in;
        s->o.n_gen = s->request->n_out;
        rc = predict_one(rows, s, err) < 0 ? -1 : 0;
    }
    s->request = NULL;
    return rc;
}

/* A prefill row per prompt (with the first generation), a decode row per generation (with the first prompt). */
static int predict_lists(struct table_rows *rows, const struct lists *l, struct subject *s, struct error *err)
{
    if (s->cli->ask.n_question > 0) {
        s->o.n_prompt = (uint32_t)l->p.v[0];
        s->o.n_gen = (uint32_t)l->n.v[0];
        return record_reason(predict_solve_rows(rows, s, err), rows, s, err) < 0 ? -1 : 0;
    }
    for (size_t i = 0; i < l->p.n; i++) {
        s->o.n_prompt = (uint32_t)l->p.v[i];
        s->o.n_gen = (uint32_t)l->n.v[0];
        s->phase = PHASE_PREFILL;
        if (s->o.n_prompt > 0 && predict_one(rows, s, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < l->n.n; i++) {
        s->o.n_prompt = (uint32_t)l->p.v[0];
        s->o.n_gen = (uint32_t)l->n.v[i];
        s->phase = PHASE_DECODE;
        const int rc = s->o.n_gen > 0 ? predict_one(rows, s, err) : 1;
        if (rc < 0 || (rc == 0 && predict_drafts(rows, s, err) < 0))
            return -1;
    }
    return predict_requests(rows, s, err);
}

/* State of the predictions on one machine; too large for a small stack. */
struct on_machine {
    struct hwprofile h;
    struct subject s;
    struct predict_roles roles;
    struct predict_device devices[DEVICE_COUNT];
};

static int predict_on(struct table_rows *rows, const struct predict_cli *o, const struct lists *l, const struct time_source *time,
                      const struct offload_host *host, struct on_machine *x, struct error *err)
{
    const struct model *m = x->s.m;
    struct subject *s = &x->s;
    s->asked = host->o.host ? &host->o : NULL;
    s->o = (struct predict_options){
        .time = o->roof ? NULL : time,
        .roof = o->roof,
        .weights_only = o->weights_only,
        .weights_bytes = o->weights_all ? (double)m->weight_bytes : o->weights_gb * 1e9,
        .n_threads = (int)o->threads,
        .n_ubatch = o->n_ubatch > 0 ? (uint32_t)o->n_ubatch : o->roof ? PREFILL_WHOLE : time_ubatch(time, &x->h, m), /* no passes of a stack */
        .server = time_serves(time, &x->h, m),
        .n_batched = (uint32_t)o->n_ubatch,
        .type_k = o->price.type_k,
        .type_v = o->price.type_v,
        .layout = o->price.layout,
        .routing = &o->price.routing,
        .materialized = o->price.materialized,
        .roles = &x->roles,
        .offload = s->asked,
        .devices = x->devices,
    };
    int rc = 0;
    for (size_t i = 0; i < l->d.n && rc == 0; i++)
        for (size_t k = 0; k < l->b.n && rc == 0; k++) {
            s->o.n_depth = (uint32_t)l->d.v[i];
            s->o.n_batch = (uint32_t)l->b.v[k];
            rc = predict_lists(rows, l, s, err);
        }
    return rc;
}

static int predict_machine(struct table_rows *rows, const struct predict_cli *o, const struct lists *l, const struct model *m,
                           const struct drafting *d, const struct time_source *time, const struct offload_host *host, struct predict_tally *tally,
                           const char *hw, struct error *err)
{
    struct on_machine *x = calloc(1, sizeof *x);
    if (!x)
        return error_oom(err, sizeof *x, "a machine's predictions");
    x->s.m = m;
    x->s.h = &x->h;
    x->s.cli = o;
    x->s.drafting = d;
    x->s.tally = tally;
    int rc = -1;
    if (!predict_ask_machine(&o->ask) || machine_load(&x->h, hw, err) == 0) {
        rc = predict_on(rows, o, l, time, host, x, err);
        hwprofile_free(&x->h);
    }
    free(x);
    return rc;
}

static void warn_context(const struct model *m, const struct predict_cli *o, const struct lists *l)
{
    const int64_t p = int_list_largest(&l->p), n = int_list_largest(&l->n);
    int64_t longest = p > n ? p : n;
    for (size_t i = 0; i < o->ask.n_request; i++) {
        const int64_t request = (int64_t)o->ask.requests[i].n_in + o->ask.requests[i].n_out;
        longest = request > longest ? request : longest;
    }
    const int64_t context = int_list_largest(&l->d) + longest;
    if (context > m->hp.n_ctx_train)
        notify_warn("%s: a context of %" PRId64 " tokens exceeds the trained context of %u", m->name, context,
                    m->hp.n_ctx_train);
}

/* With --request there is no default prompt or generation. */
static void default_lengths(struct predict_cli *o)
{
    o->n_prompt = o->n_prompt ? o->n_prompt : o->ask.request ? "0" : "512";
    o->n_gen = o->n_gen ? o->n_gen : o->ask.request ? "0" : "128";
}

static int run(struct predict_cli *o, const struct lists *l, const struct str_list *hw, struct error *err)
{
    struct model m;
    struct drafting d;
    struct software *software = NULL;
    struct offload_host host = { .loaded = false };
    if (pricing_model(&m, o->model, o->price.type, err) != 0)
        return -1;
    pricing_take_kv(&m, o->price.kv_type_given, &o->price.type_k, &o->price.type_v);
    if (predict_draft_init(&d, &o->draft, &m, err) != 0) {
        model_free(&m);
        return -1;
    }
    warn_context(&m, o, l);
    const struct software_query asked = { o->roof, o->price.materialized, hw, o->model, m.gguf ? NULL : m.type_name, (int)o->price.layout.tp };
    struct predict_tally tally = { .several = hw->n > 1 };
    const bool solves = o->ask.n_question > 0;
    struct table_rows rows = { .size = solves ? predict_solve_row_size : sizeof(struct predict_row) };
    int rc = cli_keep_input(m.path, m.gguf, "--save", o->save, err);
    if (rc == 0 && d.s.draft)
        rc = cli_keep_input(d.model.path, d.model.gguf, "--save", o->save, err);
    if (rc == 0 && d.gamma.n > 0 && int_list_largest(&l->n) == 0)
        rc = error_set(err, ERROR_USAGE, "--draft needs -n above 0: there is nothing to draft");
    if (rc == 0)
        rc = software_load(&software, &o->software, &asked, err);
    if (rc == 0)
        rc = offload_host_init(&host, &o->offload, software && !o->roof, err);
    if (rc == 0)
        rc = offload_note_unused(&host, &m, err);
    for (size_t i = 0; i < hw->n && rc == 0; i++)
        if (i == 0 || predict_ask_machine(&o->ask))
            rc = predict_machine(&rows, o, l, &m, &d, software_time(software), &host, &tally, hw->v[i], err);
    if (rc == 0 && rows.n == 0)
        rc = error_set(err, ERROR_USAGE, "-p 0 and -n 0: nothing to predict");
    if (rc == 0 && tally.hosted)
        offload_note_assumed(&host);
    if (rc == 0)
        rc = o->keep ? plot_prediction_of_rows(o->keep, &rows, o->roof, err)
             : solves ? predict_solve_print(&rows, o, &m, err) : predict_print(&rows, o, &m, err);
    if (rc == 0 && tally.n_priced == 0) /* the reasons were printed */
        rc = error_set(err, tally.first.kind, "none of %zu machines can be predicted: %.200s", hw->n, tally.first.msg);
    if (solves)
        table_rows_free(&rows);
    else
        predict_rows_free(&rows);
    offload_host_free(&host);
    software_free(software);
    predict_draft_free(&d);
    model_free(&m);
    return rc;
}

#define PREDICT_DEFAULTS \
    { .hw = "this", .n_depth = "0", .n_batch = "1", .weights_gb = NAN, .offload = { .rule = OFFLOAD_RULE_NONE }, .price = PRICING_DEFAULTS, .ask = PREDICT_ASK_DEFAULTS, .format = REPORT_TABLE }

/* Parses o's lists and questions, runs, and frees o. */
static int run_options(struct predict_cli *o, struct error *err)
{
    struct lists l = { 0 };
    struct str_list hw = { 0 };
    int rc = -1;
    default_lengths(o);
    if (predict_ask_read(&o->ask, o->model, err) == 0 && predict_ask_check(o, err) == 0 && offload_check_options(o, err) == 0 && int_list_parse(&l.p, o->n_prompt, 0, INT32_MAX, "-p", err) == 0 &&
        int_list_parse(&l.n, o->n_gen, 0, INT32_MAX, "-n", err) == 0 && int_list_parse(&l.d, o->n_depth, 0, INT32_MAX, "-d", err) == 0 &&
        int_list_parse(&l.b, o->n_batch, 1, 65536, "-b", err) == 0 && str_list_parse(&hw, o->hw, "--hw", err) == 0)
        rc = run(o, &l, &hw, err);
    int_list_free(&l.p);
    int_list_free(&l.n);
    int_list_free(&l.d);
    int_list_free(&l.b);
    str_list_free(&hw);
    pricing_free(&o->price);
    predict_ask_free(&o->ask);
    return rc;
}

int predict_for_plot(struct plot_prediction *out, const struct predict_request *r, struct error *err)
{
    struct predict_cli o = PREDICT_DEFAULTS;
    const char *type = r->type;
    o.model = r->model;
    o.hw = r->hw;
    o.keep = out;
    o.n_prompt = r->n_prompt;
    o.n_gen = r->n_gen;
    o.n_depth = r->n_depth ? r->n_depth : o.n_depth;
    o.n_batch = r->n_batch ? r->n_batch : o.n_batch;
    return type && pricing_parse('q', type, &o.price, err) != 0 ? -1 : run_options(&o, err);
}

int cmd_predict(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Predict tokens/s, time to first token (TTFT), inter-token latency (ITL), bound and memory of a model on any profiled machine. "
        "MODEL is a .gguf file, a Hugging Face config.json, or a name from `roofcast list models`.\v"
        "The time of an op is about max(FLOP / peak, bytes / bandwidth) plus a launch cost; a phase is the sum of its ops. Peaks and "
        "bandwidths are from the datasheet, or measured on CPUs (`roofcast profile`). The fraction of them that software reaches "
        "is a set of constants fitted to measurements of the stack (--stack), with uncertainty: low and high are the 90 % interval, "
        "--explain shows the share of each constant, --anchor narrows the interval, --roof ignores the constants. A new machine needs "
        "a file with a memory bandwidth and a peak: doc/formats.md.\n\n"
        "Default stack: llama.cpp's back end for the machine (CUDA on NVIDIA, ROCm on AMD, SYCL on Intel, Metal on Apple, Vulkan "
        "elsewhere, llama.cpp-cpu on CPUs); roofcast's own engine on CPUs that `roofcast profile` measured; vLLM on data-centre GPUs for weights "
        "that are not GGUF-quantized, and wherever it runs for checkpoints that llama.cpp cannot load (AWQ, GPTQ, FP8, NVFP4).\n\n"
        "  roofcast predict llama-3-8b --hw h100-sxm,rtx-4090 -q Q8_0\n"
        "  roofcast predict model.gguf --hw this -p 512,2048 -n 128 -d 0,4096\n"
        "  roofcast predict llama-3-8b --hw h100-sxm --roof -n 1 --weights-only\n"
        "  roofcast predict llama-3-8b --hw h100-sxm --roof --weights-gb 16 -p 6 -n 1\n"
        "  roofcast predict llama-3.1-70b --hw h200 -b 1,8,64 --by role\n"
        "  roofcast predict llama-3-8b --hw h100-sxm --request 2048+512 --price 2.5\n"
        "  roofcast predict llama-3-8b --hw h100-sxm -n 0 --explain\n"
        "  roofcast predict llama-3-8b --hw rtx-4090 -q Q4_K_M --stack llama.cpp-vulkan --slo 'tok_s>=100,ttft<=200ms'\n"
        "  roofcast predict qwen3-14b --hw rtx-4090 -q Q4_K_M --anchor llama-bench.json\n"
        "  roofcast predict llama-3-8b --hw h100-sxm --what-if bandwidth=x1.5 --what-if type=Q4_K_M,b=8\n"
        "  roofcast predict llama-3.1-70b --hw h100-sxm -q Q4_K_M --solve 'bandwidth=tok_s>=60' --solve context=fits\n"
        "  roofcast predict llama-3.1-70b --solve machine=fits\n"
        "  roofcast predict deepseek-v3 --hw h200 --tp 8 --ep 8 -b 64 --routing zipf:0.5\n"
        "  roofcast predict llama-3.1-70b --hw h200 --draft llama-3.2-1b --gamma 2,4,8 --acceptance 0.8,0.7,0.6\n"
        "  roofcast predict deepseek-v3 --hw h200 --tp 8 -b 1,64 --draft mtp --gamma 1 --acceptance 0.85\n"
        "  roofcast predict gpt-oss-120b -q MXFP4 --hw rtx-5090 --host ryzen-9950x --n-cpu-moe auto\n"
        "  roofcast predict llama-3.1-70b -q Q4_K_M --hw rtx-4090 --host core-i9-13900k -ngl auto\n";
    static const int exclusive[][CLI_EXCLUSIVE] = { { OPT_ROOF, SOFTWARE_STACK }, { OPT_ROOF, SOFTWARE_ANCHOR }, { 0 } };
    static const struct cli_syntax syntax = { option_table, parse, "MODEL", doc, exclusive };
    struct predict_cli o = PREDICT_DEFAULTS;
    if (cli_parse(&syntax, argc, argv, &o, err) != 0 || cli_keep_arguments(argc, argv, "--save", o.save, err) != 0)
        return -1;
    return run_options(&o, err);
}
