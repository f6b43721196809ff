/* roofcast quantize: conversion of a GGUF to other tensor types, with errors. */
#include "cli/cli.h"
#include "report/quantize.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_OVERRIDES = 64 };

struct options {
    const char *in, *out, *type;
    const struct dtype_info *output_type, *embd_type;
    struct quantize_override override[MAX_OVERRIDES];
    char pattern[MAX_OVERRIDES][256];
    size_t n_override;
    int64_t threads;
    enum report_format format;
    bool by_tensor, pure, allow_requantize, force, quiet;
};

enum {
    OPT_TENSORS = 256, OPT_OUTPUT_TYPE, OPT_EMBD_TYPE, OPT_TENSOR_TYPE, OPT_PURE, OPT_REQUANTIZE, OPT_FORCE,
    OPT_QUIET,
};

static const struct argp_option option_table[] = {
    { "type", 'q', "TYPE", 0, "type or mixture: Q8_0, Q6_K, Q5_K_M, Q4_K_M, Q4_0, F16, ...", 1 },
    { "threads", 't', "N", 0, "threads (default: one per usable core); they do not change the file", 1 },
    { "force", OPT_FORCE, NULL, 0, "replace OUT.gguf if it exists", 1 },
    { "allow-requantize", OPT_REQUANTIZE, NULL, 0, "accept a source that is already quantized: errors add up", 1 },
    { "quiet", OPT_QUIET, NULL, 0, "print no progress and no table", 1 },
    { NULL, 0, NULL, 0, "Types that override the mixture:", 2 },
    { "pure", OPT_PURE, NULL, 0, "use the mixture's base type for every matrix", 2 },
    { "output-tensor-type", OPT_OUTPUT_TYPE, "TYPE", 0, "type of the LM head", 2 },
    { "token-embedding-type", OPT_EMBD_TYPE, "TYPE", 0, "type of the embedding table", 2 },
    { "tensor-type", OPT_TENSOR_TYPE, "REGEX=TYPE", CLI_AGAIN, "type of the matrices whose name matches REGEX (repeatable)", 2 },
    { NULL, 0, NULL, 0, "Table of errors:", 3 },
    { "output", 'o', "FORMAT", 0, "table (default), csv, json, jsonl, md or sql", 3 },
    { "tensors", OPT_TENSORS, NULL, 0, "a row per tensor instead of per role", 3 },
    { 0 },
};

static int get_type(const struct dtype_info **to, const char *name, struct error *err)
{
    *to = dtype_get_name(name, err);
    return *to ? 0 : -1;
}

/* "attn_v=Q8_0": split at the last "=", which a regular expression may contain and a type may not. */
static int add_override(struct options *o, const char *arg, struct error *err)
{
    const char *eq = strrchr(arg, '=');
    const size_t n = eq ? (size_t)(eq - arg) : 0;
    if (n == 0 || n >= sizeof o->pattern[0])
        return error_set(err, ERROR_USAGE, "--tensor-type: expected REGEX=TYPE, found \"%s\"", arg);
    if (o->n_override == MAX_OVERRIDES)
        return error_set(err, ERROR_USAGE, "--tensor-type: at most %d can be given", MAX_OVERRIDES);
    struct quantize_override *x = &o->override[o->n_override];
    memcpy(o->pattern[o->n_override], arg, n);
    x->pattern = o->pattern[o->n_override++];
    return get_type(&x->type, eq + 1, err);
}

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    switch (key) {
    case 'q':
        return cli_text(&o->type, arg);
    case 't':
        return parse_int(arg, 1, 1 << 20, "-t", &o->threads, err);
    case 'o':
        return report_format_find(arg, &o->format, err);
    case OPT_TENSORS:
        return cli_flag(&o->by_tensor);
    case OPT_OUTPUT_TYPE:
        return get_type(&o->output_type, arg, err);
    case OPT_EMBD_TYPE:
        return get_type(&o->embd_type, arg, err);
    case OPT_TENSOR_TYPE:
        return add_override(o, arg, err);
    case OPT_PURE:
        return cli_flag(&o->pure);
    case OPT_REQUANTIZE:
        return cli_flag(&o->allow_requantize);
    case OPT_FORCE:
        return cli_flag(&o->force);
    case OPT_QUIET:
        return cli_flag(&o->quiet);
    case ARGP_KEY_ARG:
        if (o->in && o->out)
            return error_set(err, ERROR_USAGE, "IN.gguf and OUT.gguf are expected, found \"%s\" too", arg);
        return cli_text(o->in ? &o->out : &o->in, arg);
    default:
        return CLI_UNKNOWN;
    }
}

/* ---- the work ---------------------------------------------------------------------------------- */

struct progress {
    double start_s, last_s;
    const char *type;
    bool terminal, shown;
};

/* No progress in the first second. Without a terminal a single line. */
static void show_progress(void *ctx, const struct quantize_progress *q)
{
    struct progress *p = ctx;
    const double now = clock_now_s(), seconds = now - p->start_s;
    char what[160], rate[32];
    if (seconds < 1 || now - p->last_s < 0.2)
        return;
    p->last_s = now;
    p->shown = true;
    snprintf(what, sizeof what, "quantizing %zu tensors to %s", q->n, p->type);
    if (p->terminal)
        snprintf(what, sizeof what, "%zu/%zu  %s  %s", q->i, q->n,
                 units_si(rate, sizeof rate, (double)q->done_bytes / seconds, "B/s"), q->name);
    notify_progress(NULL, what, (double)q->done_bytes / (double)q->total_bytes);
}

static int check_out(const struct options *o, const struct gguf *g, struct error *err)
{
    struct stat st;
    for (size_t i = 0; i < gguf_n_files(g); i++)
        if (file_same(gguf_file_path(g, i), o->out))
            return error_set(err, ERROR_USAGE, "%s is the source itself: name another file",
                             o->out);
    if (!o->force && stat(o->out, &st) == 0 && S_ISREG(st.st_mode))
        return error_set(err, ERROR_USAGE, "%s exists: name another file, or use --force to replace it", o->out);
    return 0;
}

static int quantize(const struct options *o, const struct gguf *g, struct error *err)
{
    struct progress p = { .start_s = clock_now_s(), .type = o->type, .terminal = isatty(STDERR_FILENO) };
    struct quantized q;
    struct team *team = setup_team(o->threads, err);
    if (!team)
        return -1;
    const struct quantize_options qo = {
        .type = o->type,
        .override = o->override,
        .n_override = o->n_override,
        .output_type = o->output_type,
        .embd_type = o->embd_type,
        .pure = o->pure,
        .allow_requantize = o->allow_requantize,
        .team = team,
        .progress = show_progress,
        .ctx = &p,
    };
    int rc = model_quantize(g, o->out, &qo, &q, err);
    team_free(team);
    if (p.shown)
        notify_progress_done();
    if (rc == 0)
        quantize_warn(&q);
    if (rc == 0 && !o->quiet && strcmp(o->out, "-") != 0)
        rc = quantize_print(&q, &(struct quantize_print){ o->in, o->out, o->type, o->by_tensor, o->format }, err);
    quantized_free(&q);
    return rc;
}

int cmd_quantize(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Convert IN.gguf to other tensor types and print the error.\n\nAny architecture is accepted. A split model "
        "(NAME-00001-of-00003.gguf) is named by any of its files and becomes one "
        "file. The layout is that of llama.cpp, which loads the files.\v"
        "Examples:\n"
        "  roofcast quantize model-F16.gguf -q Q4_K_M model-Q4_K_M.gguf\n"
        "  roofcast quantize model-F16.gguf -q Q8_0 model-Q8_0.gguf --tensors\n"
        "  roofcast quantize f16.gguf -q Q4_K_M out.gguf --tensor-type ffn_down=Q8_0\n"
        "  roofcast quantize q8_0.gguf -q Q4_0 out.gguf --allow-requantize -o json\n\n"
        "A mixture uses a larger type for the more sensitive tensors, by llama.cpp's rules: Q4_K_M is Q4_K with half of "
        "attn_v and ffn_down and the LM head in Q6_K. Norms, biases, routers and other vectors are copied. "
        "Rows that are no multiple of 256 fall back to a type with blocks of 32.\n\n"
        "The table compares the written weights w' with the source's w: relative RMSE = ||w' - w|| / ||w||, the "
        "largest |w' - w|, and the signal-to-noise ratio -20 log10 RMSE (6 dB per bit). The total covers the matrices.\n\n"
        "A quantized source is refused by default, because the errors add up. "
        "Memory use does not depend on the model's size. OUT.gguf appears complete or not at all; -: standard output.";
    static const struct cli_syntax syntax = { option_table, parse, "IN.gguf -q TYPE OUT.gguf", doc, NULL };
    struct options o = { .format = REPORT_TABLE };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    if (!o.in || !o.out)
        return error_set(err, ERROR_USAGE, "expected IN.gguf and OUT.gguf");
    if (!o.type)
        return error_set(err, ERROR_USAGE, "-q TYPE is missing: Q8_0, Q6_K, Q5_K_M, Q4_K_M, Q4_0, F16, ...");
    cli_set_quiet(o.quiet);
    struct gguf *g = gguf_open(o.in, err);
    if (!g)
        return -1;
    int rc = check_out(&o, g, err) != 0 ? -1 : quantize(&o, g, err);
    gguf_close(g);
    return rc;
}
