/* roofcast memory: memory plan of a deployment, largest batch and largest context. */
#include "cli/pricing.h"
#include "report/memory_report.h"
#include <math.h>
#include <string.h>

enum { OPT_HW = 256, OPT_BLOCK, OPT_UTIL, OPT_TOKENS, OPT_SEQS, OPT_RESERVED, OPT_SERVER, OPT_LOCAL, OPT_COMPILED, OPT_SAVE };

static const struct argp_option option_table[] = {
    { "model", 'm', "MODEL", 0, "the model, instead of the first argument", 0 },
    { "hw", OPT_HW, "NAME|FILE,...", 0, "machines: names (`roofcast list hw`), profile files, or `this` (default)", 0 },
    { "context", 'c', "N,...", 0, "contexts for which to find the largest batch (2048, 8192, 32768, 131072, up to the trained context)", 0 },
    { "n-batch", 'b', "N,...", 0, "batches for which to find the largest context (1,16,64,256)", 0 },
    { "type", 'q', "TYPE", 0, "tensor type or mixture of a model that is not a GGUF (F16)", 0 },
    { "kv-type", PRICING_KV, "TYPE", 0, "type of the KV cache, keys and values (F16)", 0 },
    { "ctk", PRICING_CTK, "TYPE", 0, "type of the keys in the KV cache (F16)", 0 },
    { "cache-type-k", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "ctv", PRICING_CTV, "TYPE", 0, "type of the values in the KV cache (F16)", 0 },
    { "cache-type-v", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "tp", PRICING_TP, "N", 0, "tensor parallelism: devices that share every matrix (1)", 0 },
    { "pp", PRICING_PP, "N", 0, "pipeline parallelism: groups of devices that share the layers (1)", 0 },
    { "dp", PRICING_DP, "N", 0, "data parallelism: groups of tp x pp devices that share the sequences (1)", 0 },
    { "ep", PRICING_EP, "N", 0, "expert parallelism: devices, of tp x dp, that share the experts (1)", 0 },
    { "server", OPT_SERVER, "vllm-0.N", OPTION_ARG_OPTIONAL,
      "assume a server with paged KV cache and the defaults of this release of vLLM (default on "
      "GPUs and NPUs: 0.30)", 0 },
    { "local", OPT_LOCAL, NULL, 0, "assume a single program: all of the memory, a contiguous KV cache per sequence (default elsewhere)", 0 },
    { "block", OPT_BLOCK, "N", 0, "tokens per page of the KV cache (16; --local: 1, no paging)", 0 },
    { "util", OPT_UTIL, "X", 0, "fraction of the memory that the program uses (0.92; up to vllm-0.26: 0.9; --local: 1)", 0 },
    { "gpu-memory-utilization", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "max-batched-tokens", OPT_TOKENS, "N", 0, "maximum tokens per pass (2048; devices of 70 GiB and more except A100: 8192, of 160 GiB: 16384; --local: 512)", 0 },
    { "max-num-batched-tokens", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "max-seqs", OPT_SEQS, "N", 0, "maximum sequences per step (256; devices of 70 GiB and more except A100: 1024; --local: unlimited)", 0 },
    { "max-num-seqs", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "compiled", OPT_COMPILED, NULL, 0, "the server finds its compiled kernels in a cache, as at a second start: no tuning before memory is divided", 0 },
    { "reserved", OPT_RESERVED, "X", 0, "fraction of the memory that the driver reserves (GPUs and NPUs: 0.0062 and 0.31 GiB; about 0.07 with ECC on GDDR)", 0 },
    { "output", 'o', "FORMAT", 0, "table (default), csv, json, jsonl, md or sql", 0 },
    { "save", OPT_SAVE, "FILE", 0, "also write the JSON to FILE", 0 },
    { 0 },
};

/* --server, --server=vllm-0.19 */
static int read_server(struct memory_cli *o, const char *arg, struct error *err)
{
    o->server = true;
    if (arg && (o->release = memory_release_find(arg)) == 0)
        return error_set(err, ERROR_USAGE, "--server: expected a release of vLLM, such as vllm-0.19; found \"%.64s\"", arg);
    return 0;
}

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct memory_cli *o = options;
    switch (key) {
    case 'm':
    case ARGP_KEY_ARG:
        return cli_text_once(&o->model, arg, "model", err);
    case 'c':
        return cli_text(&o->contexts, arg);
    case 'b':
        return cli_text(&o->batches, arg);
    case 'o':
        return report_format_find(arg, &o->format, err);
    case OPT_HW:
        return cli_text(&o->hw, arg);
    case OPT_BLOCK:
        return parse_int(arg, 1, 65536, "--block", &o->block, err);
    case OPT_UTIL:
        return parse_double(arg, 0.01, 1, "--util", &o->utilization, err);
    case OPT_TOKENS:
        return parse_int(arg, 1, INT32_MAX, "--max-batched-tokens", &o->max_batched_tokens, err);
    case OPT_SEQS:
        return parse_int(arg, 1, INT32_MAX, "--max-seqs", &o->max_seqs, err);
    case OPT_RESERVED:
        return parse_double(arg, 0, 0.99, "--reserved", &o->reserved, err);
    case OPT_SERVER:
        return read_server(o, arg, err);
    case OPT_LOCAL:
        return cli_flag(&o->local);
    case OPT_COMPILED:
        return cli_flag(&o->compiled);
    case OPT_SAVE:
        return cli_text(&o->save, arg);
    default:
        return pricing_parse(key, arg, &o->price, err);
    }
}

/* ---- every machine, context and batch ----------------------------------------------------------- */

static struct memory_options options_of(const struct memory_cli *o, const struct hwprofile *h, bool served)
{
    struct memory_options m = memory_defaults(h, !served ? MEMORY_ALONE : o->release ? o->release : MEMORY_NEWEST);
    m.layout = o->price.layout;
    m.type_k = o->price.type_k;
    m.type_v = o->price.type_v;
    if (o->block > 0)
        m.block = (uint32_t)o->block;
    if (o->max_batched_tokens > 0)
        m.max_batched_tokens = (uint32_t)o->max_batched_tokens;
    if (o->max_seqs > 0)
        m.max_seqs = (uint32_t)o->max_seqs;
    else if (m.max_seqs > m.max_batched_tokens)
        m.max_seqs = m.max_batched_tokens; /* a pass has at least one token of each sequence */
    if (!isnan(o->utilization))
        m.utilization = o->utilization;
    if (!isnan(o->reserved))
        m.reserved = o->reserved;
    if (o->compiled)
        m.compiles = false;
    return m;
}

/* Inputs common to all machines. */
struct asked {
    const struct memory_cli *o;
    const struct model *m;
    const struct op_classes *classes;
    struct int_list contexts, batches;
    bool several;       /* several machines: one that cannot run the model has rows with the reason */
    size_t n_run;       /* machines that can */
    struct error first; /* reason of the first that cannot */
};

static int add_rows(struct table_rows *rows, const struct asked *a, const struct memory_subject *s, struct error *err)
{
    for (size_t i = 0; i < a->contexts.n; i++)
        memory_add_row(rows, s, (uint64_t)a->contexts.v[i], 0);
    for (size_t i = 0; i < a->batches.n; i++)
        memory_add_row(rows, s, 0, (uint64_t)a->batches.v[i]);
    return interrupt_check(err);
}

static int machine(struct table_rows *rows, struct strbuf *plans, struct asked *a, const char *hw, struct error *err)
{
    struct hwprofile h;
    struct memory_model memory = { 0 };
    if (hwprofile_open(&h, hw, err) != 0)
        return -1;
    const bool served = a->o->server || (!a->o->local && (h.kind == HW_GPU || h.kind == HW_NPU));
    const struct memory_options mo = options_of(a->o, &h, served);
    int rc = memory_model_init(&memory, a->classes, &h, &mo, err);
    if (rc == 0) {
        struct error why = { 0 };
        const bool runs = layout_check_link(&mo.layout, &h, &why) == 0;
        const struct memory_subject s = { .m = a->m, .h = &h, .classes = a->classes, .memory = &memory, .plan = memory_plan(&memory),
                                          .served = served, .reason = runs ? NULL : why.msg };
        if (!runs && a->first.kind == ERROR_NONE)
            a->first = why;
        a->n_run += runs;
        if (runs)
            memory_add_plan(plans, &s);
        rc = runs || a->several ? add_rows(rows, a, &s, err) : error_set(err, why.kind, "%s", why.msg);
    }
    memory_model_free(&memory);
    hwprofile_free(&h);
    return rc;
}

static int machines(struct asked *a, const struct str_list *hw, struct error *err)
{
    a->several = hw->n > 1;
    struct table_rows rows = { .size = memory_row_size };
    struct strbuf plans = { 0 };
    int rc = cli_keep_input(a->m->path, a->m->gguf, "--save", a->o->save, err);
    for (size_t i = 0; i < hw->n && rc == 0; i++)
        rc = machine(&rows, &plans, a, hw->v[i], err);
    if (rc == 0)
        rc = memory_print(&rows, &plans, a->o, a->m, err);
    if (rc == 0 && a->n_run == 0)
        rc = error_set(err, a->first.kind, "the model runs on none of %zu machines: %.200s", hw->n, a->first.msg);
    strbuf_free(&plans);
    table_rows_free(&rows);
    return rc;
}

/* Default of -c: up to the trained context. */
static int default_contexts(struct int_list *l, uint32_t n_ctx_train, struct error *err)
{
    const uint32_t some[] = { 2048, 8192, 32768, 131072 };
    char text[64];
    size_t len = (size_t)snprintf(text, sizeof text, "%u", n_ctx_train > 0 && n_ctx_train < some[0] ? n_ctx_train : some[0]);
    for (size_t i = 1; i < ARRAY_LEN(some) && some[i] <= n_ctx_train; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, ",%u", some[i]);
    return int_list_parse(l, text, 1, INT32_MAX, "-c", err);
}

static int run(struct memory_cli *o, struct asked *a, const struct str_list *hw, struct error *err)
{
    struct model m;
    struct op_list ops = { 0 };
    struct op_classes classes = { 0 };
    if (pricing_model(&m, o->model, o->price.type, err) != 0)
        return -1;
    pricing_take_kv(&m, o->price.kv_type_given, &o->price.type_k, &o->price.type_v);
    int rc = op_list_build(&ops, &m, err);
    if (rc == 0)
        rc = op_classes_init(&classes, &m, &ops, err);
    if (rc == 0 && !o->contexts)
        rc = default_contexts(&a->contexts, m.hp.n_ctx_train, err);
    a->m = &m;
    a->classes = &classes;
    if (rc == 0)
        rc = machines(a, hw, err);
    op_classes_free(&classes);
    op_list_free(&ops);
    model_free(&m);
    return rc;
}

int cmd_memory(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Find the largest batch at each context, the largest context at each batch, and the number of devices needed if one is not "
        "enough; then what occupies the memory: weights, activations of the largest pass, runtime, and the blocks of the KV cache. "
        "MODEL is a .gguf file, a Hugging Face config.json, or a name from `roofcast list models`.\v"
        "On GPUs and NPUs a server with vLLM's defaults for the device and release is assumed; its number of GPU blocks is reproduced "
        "within 2 %. On CPUs, and with --local, a single program uses all of the memory. The maxima are exact: one "
        "more does not fit. Formulas: doc/methods.md (25).\n\n"
        "  roofcast memory llama-3.1-8b --hw h100-sxm,rtx-4090\n"
        "  roofcast memory llama-3.1-70b --hw h100-sxm                 # prints how many are needed\n"
        "  roofcast memory llama-3.1-70b --hw h100-sxm --tp 4 -c 8192,131072 -b 1,32\n"
        "  roofcast memory llama-3.1-70b --hw h100-sxm --tp 4 --kv-type Q8_0 --util 0.95\n"
        "  roofcast memory llama-3.1-8b --hw l40s --server=vllm-0.19   # that release's defaults\n"
        "  roofcast memory deepseek-v3 --hw h200-sxm -q Q8_0 --tp 8 --ep 8\n"
        "  roofcast memory qwen3-30b-a3b --hw rtx-4090 -q Q4_K_M --local -b 1\n"
        "  roofcast memory model.gguf --hw this -o json\n";
    static const int exclusive[][CLI_EXCLUSIVE] = { { OPT_SERVER, OPT_LOCAL }, { 0 } };
    static const struct cli_syntax syntax = { option_table, parse, "MODEL", doc, exclusive };
    struct memory_cli o = { .hw = "this", .batches = "1,16,64,256", .price = PRICING_DEFAULTS, .utilization = NAN,
                            .reserved = NAN, .format = REPORT_TABLE };
    struct asked a = { .o = &o };
    struct str_list hw = { 0 };
    int rc = -1;
    if (cli_parse(&syntax, argc, argv, &o, err) != 0 || cli_keep_arguments(argc, argv, "--save", o.save, err) != 0)
        return -1;
    if (o.server && o.local)
        error_set(err, ERROR_USAGE, "--server and --local are mutually exclusive");
    else if ((!o.contexts || int_list_parse(&a.contexts, o.contexts, 1, INT32_MAX, "-c", err) == 0) &&
             int_list_parse(&a.batches, o.batches, 1, INT32_MAX, "-b", err) == 0 &&
             str_list_parse(&hw, o.hw, "--hw", err) == 0)
        rc = run(&o, &a, &hw, err);
    int_list_free(&a.contexts);
    int_list_free(&a.batches);
    str_list_free(&hw);
    return rc;
}
