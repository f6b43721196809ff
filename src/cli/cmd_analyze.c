/* roofcast analyze: bytes and FLOP of every op of a pass, prefill and decode side by side, independent of a machine. */
#include "cli/pricing.h"
#include "report/analyze.h"
#include <string.h>

struct options {
    const char *model, *type, *save;
    char type_named[24];
    bool kv_type_given; /* by an option */
    int64_t n_prompt, n_gen, n_depth, n_batch, n_ubatch;
    enum analysis_by by;
    struct cost_options cost;
    enum report_format format;
};

enum { OPT_BY = 256, OPT_UB, OPT_KV, OPT_CTK, OPT_CTV, OPT_ACT, OPT_SAVE, OPT_ATTENTION };

static const struct argp_option option_table[] = {
    { "model", 'm', "MODEL", 0, "the model, instead of the first argument", 0 },
    { "n-prompt", 'p', "N", 0, "prompt tokens of the prefill (512; 0: no prefill)", 0 },
    { "n-gen", 'n', "N", 0, "tokens to generate; decode is their mean step (1; 0: no decode)", 0 },
    { "n-depth", 'd', "N", 0, "context: tokens in the KV cache before the test (0)", 0 },
    { "n-batch", 'b', "N", 0, "sequences processed in parallel (1)", 0 },
    { "ub", OPT_UB, "N", 0, "prompt tokens per pass (512)", 0 },
    { "ubatch-size", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "type", 'q', "TYPE", 0, "tensor type, mixture (Q4_K_M) or checkpoint format (FP8, AWQ, NVFP4: `roofcast list types`) of a model that is not a GGUF (F16)", 0 },
    { "by", OPT_BY, "op|layer|role", 0, "a row per op (default), per layer or per role", 0 },
    { "attention", OPT_ATTENTION, "flash|materialized", 0, "flash (default): attention scores stay on the chip; materialized: they are written to memory", 0 },
    { "kv-type", OPT_KV, "TYPE", 0, "type of the KV cache, keys and values (F16): also FP8, NVFP4, INT8, FP8_DS_MLA", 0 },
    { "ctk", OPT_CTK, "TYPE", 0, "type of the keys in the KV cache (F16)", 0 },
    { "cache-type-k", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "ctv", OPT_CTV, "TYPE", 0, "type of the values in the KV cache (F16)", 0 },
    { "cache-type-v", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "act-bytes", OPT_ACT, "2|4", 0, "bytes per activation element (4, as in the engine)", 0 },
    { "output", 'o', "FORMAT", 0, "table (default), csv, json, jsonl, md or sql", 0 },
    { "save", OPT_SAVE, "FILE", 0, "also write the JSON to FILE", 0 },
    { 0 },
};

static int parse_by(const char *s, enum analysis_by *by, struct error *err)
{
    static const char *const names[] = { [ANALYSIS_BY_OP] = "op", [ANALYSIS_BY_LAYER] = "layer", [ANALYSIS_BY_ROLE] = "role" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(s, names[i]) == 0) {
            *by = (enum analysis_by)i;
            return 0;
        }
    return error_set(err, ERROR_USAGE, "--by: expected op, layer or role, found \"%s\"", s);
}

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    switch (key) {
    case 'm':
    case ARGP_KEY_ARG:
        return cli_text_once(&o->model, arg, "model", err);
    case 'q':
        return pricing_type(&o->type, o->type_named, sizeof o->type_named, arg, "-q", err);
    case 'p':
        return parse_int(arg, 0, INT32_MAX, "-p", &o->n_prompt, err);
    case 'n':
        return parse_int(arg, 0, INT32_MAX, "-n", &o->n_gen, err);
    case 'd':
        return parse_int(arg, 0, INT32_MAX, "-d", &o->n_depth, err);
    case 'b':
        return parse_int(arg, 1, 65536, "-b", &o->n_batch, err);
    case 'o':
        return report_format_find(arg, &o->format, err);
    case OPT_UB:
        return parse_int(arg, 1, INT32_MAX, "-ub", &o->n_ubatch, err);
    case OPT_BY:
        return parse_by(arg, &o->by, err);
    case OPT_ATTENTION:
        return pricing_attention(&o->cost.materialized, arg, err);
    case OPT_KV:
        o->kv_type_given = true;
        return pricing_kv_type(&o->cost.type_k, &o->cost.type_v, arg, err);
    case OPT_CTK:
        o->kv_type_given = true;
        return dtype_get_kv(&o->cost.type_k, arg, err);
    case OPT_CTV:
        o->kv_type_given = true;
        return dtype_get_kv(&o->cost.type_v, arg, err);
    case OPT_ACT:
        if (strcmp(arg, "2") != 0 && strcmp(arg, "4") != 0)
            return error_set(err, ERROR_USAGE, "--act-bytes: expected 2 or 4, found \"%s\"", arg);
        o->cost.act_elem_bytes = arg[0] - '0';
        return 0;
    case OPT_SAVE:
        return cli_text(&o->save, arg);
    default:
        return CLI_UNKNOWN;
    }
}

static int run(struct options *o, struct error *err)
{
    struct model m;
    struct analysis a;
    if (pricing_model(&m, o->model, o->type, err) != 0)
        return -1;
    pricing_take_kv(&m, o->kv_type_given, &o->cost.type_k, &o->cost.type_v);
    const struct analysis_options ao = {
        .n_prompt = (uint32_t)o->n_prompt,
        .n_gen = (uint32_t)o->n_gen,
        .n_depth = (uint32_t)o->n_depth,
        .n_batch = (uint32_t)o->n_batch,
        .n_ubatch = (uint32_t)o->n_ubatch,
        .by = o->by,
        .cost = o->cost,
    };
    if (o->n_depth + o->n_prompt > m.hp.n_ctx_train || o->n_depth + o->n_gen > m.hp.n_ctx_train)
        notify_warn("the context exceeds the trained context of %u tokens", m.hp.n_ctx_train);
    int rc = cli_keep_input(m.path, m.gguf, "--save", o->save, err);
    if (rc == 0)
        rc = analysis_init(&a, &m, &ao, err);
    if (rc == 0) {
        rc = analyze_print(&a, o->format, o->save, err);
        analysis_free(&a);
    }
    model_free(&m);
    return rc;
}

int cmd_analyze(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Count the bytes (weights, activations, KV cache) and FLOP of every op of a forward pass, "
        "prefill and decode side by side. MODEL is a .gguf file, a Hugging Face config.json, or a name from "
        "`roofcast list models`.\v"
        "Bytes are counted once per pass; `% of bytes` and `% of FLOP` are shares of the phase. In decode each weight "
        "is read for one token: 2 FLOP for the 2 bytes of F16, 1 FLOP/byte. A prompt of n tokens uses the same bytes n "
        "times.\n\n"
        "  roofcast analyze llama-3-8b --by role\n"
        "  roofcast analyze llama-3-8b -q Q4_K_M -p 0 -d 8192 --by layer\n"
        "  roofcast analyze model.gguf -p 512 -o json > analysis.json\n";
    static const struct cli_syntax syntax = { option_table, parse, "MODEL", doc, NULL };
    struct options o = { .n_prompt = 512, .n_gen = 1, .n_batch = 1, .n_ubatch = 512,
                         .cost = { .act_elem_bytes = 4, .type_k = DTYPE_F16, .type_v = DTYPE_F16 },
                         .format = REPORT_TABLE };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    return run(&o, err);
}
