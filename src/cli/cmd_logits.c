/* roofcast logits: the logits after every token, for comparison with other engines. */
#include "cli/cli.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *model, *tokens, *from, *out;
    int64_t prompt, threads;
    struct setup_options engine;
};

enum { OPT_TOKENS = 256, OPT_FROM, OPT_PROMPT };

static const struct argp_option option_table[] = {
    { "model", 'm', "FILE", 0, "GGUF file", 0 },
    { "tokens", OPT_TOKENS, "LIST", 0, "token ids: 1,5,9", 0 },
    { "tokens-from", OPT_FROM, "FILE", 0, "read the token ids from a file in the output format", 0 },
    { "prompt", OPT_PROMPT, "N", 0, "evaluate the first N tokens as one prompt, the rest one by one (default: all as a prompt)", 0 },
    { "output", 'o', "FILE", 0, "file to write", 0 },
    { "threads", 't', "N", 0, "threads (default: one per usable core)", 0 },
    CLI_ENGINE_OPTIONS,
    CLI_ACT_SCALES_OPTION,
    { 0 },
};

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    switch (key) {
    case 'm':
        return cli_text(&o->model, arg);
    case 'o':
        return cli_text(&o->out, arg);
    case 't':
        return parse_int(arg, 1, 1 << 20, "-t", &o->threads, err);
    case OPT_TOKENS:
        return cli_text(&o->tokens, arg);
    case OPT_FROM:
        return cli_text(&o->from, arg);
    case OPT_PROMPT:
        return parse_int(arg, 1, INT32_MAX, "--prompt", &o->prompt, err);
    default:
        return cli_engine_option(&o->engine, key, arg, err);
    }
}

/* int32 n, int32 n_vocab, int32 token[n], float logits[n][n_vocab], little-endian. */
static int tokens_from_file(const char *path, int32_t **tok, size_t *n, struct error *err)
{
    struct filemap m;
    int32_t head[2];
    if (filemap_open(&m, path, err) != 0)
        return -1;
    int rc = -1;
    if (m.size < sizeof head) {
        error_set(err, ERROR_INPUT, "%s: offset 0: expected two 32-bit counts, found %zu bytes", path, m.size);
        goto out;
    }
    memcpy(head, m.data, sizeof head);
    if (head[0] < 1 || (size_t)head[0] > (m.size - sizeof head) / sizeof(int32_t)) {
        error_set(err, ERROR_INPUT, "%s: offset 0: %d tokens do not fit a file of %zu bytes", path, head[0], m.size);
        goto out;
    }
    *n = (size_t)head[0];
    *tok = malloc(*n * sizeof **tok);
    if (!*tok) {
        error_oom(err, *n * sizeof **tok, "the tokens");
        goto out;
    }
    memcpy(*tok, m.data + sizeof head, *n * sizeof **tok);
    rc = 0;
out:
    filemap_close(&m);
    return rc;
}

static int tokens_from_list(const char *text, int32_t **tok, size_t *n, struct error *err)
{
    struct int_list l;
    if (int_list_parse(&l, text, 0, INT32_MAX, "--tokens", err) != 0)
        return -1;
    *n = l.n;
    *tok = malloc(l.n * sizeof **tok);
    for (size_t i = 0; *tok && i < l.n; i++)
        (*tok)[i] = (int32_t)l.v[i];
    int_list_free(&l);
    return *tok ? 0 : error_oom(err, *n * sizeof **tok, "the tokens");
}

static int put(FILE *f, const void *p, size_t bytes)
{
    return fwrite(p, 1, bytes, f) == bytes ? 0 : -1;
}

/* Non-finite logits are written and warned of, since comparisons do not detect them. */
static void warn_not_finite(const float *logits, size_t n, size_t token)
{
    if (!logits_finite(logits, n))
        notify_warn("logits from token %zu on are not finite: damaged weights?", token);
}

static int write_logits(struct engine *e, const struct options *o, const int32_t *tok, size_t n,
                        uint32_t n_vocab, struct error *err)
{
    struct outfile out;
    if (outfile_open(&out, o->out, err) != 0)
        return -1;
    const int32_t head[2] = { (int32_t)n, (int32_t)n_vocab };
    const size_t row = n_vocab * sizeof(float);
    const uint32_t prompt = (uint32_t)o->prompt;
    const float *logits;
    errno = 0;
    if (put(out.f, head, sizeof head) != 0 || put(out.f, tok, n * sizeof *tok) != 0)
        goto full;
    if (engine_eval(e, tok, prompt, 0, prompt, &logits, err) != 0)
        goto fail;
    if (put(out.f, logits, prompt * row) != 0)
        goto full;
    warn_not_finite(logits, prompt * (size_t)n_vocab, 0);
    for (uint32_t i = prompt; i < n; i++) {
        if (engine_eval(e, tok + i, 1, i, 1, &logits, err) != 0)
            goto fail;
        if (put(out.f, logits, row) != 0)
            goto full;
        warn_not_finite(logits, n_vocab, i);
    }
    return outfile_commit(&out, err);
full:
    error_write(err, errno, "%s: cannot write", o->out);
fail:
    outfile_abort(&out);
    return -1;
}

static int run(struct options *o, struct error *err)
{
    struct model m = { 0 };
    struct setup machine = { 0 };
    struct engine *e = NULL;
    int32_t *tok = NULL;
    size_t n = 0;
    int rc = -1;
    if (setup_model_open(&m, o->model, err) != 0)
        return -1;
    if (cli_keep_input(o->from ? o->from : "", m.gguf, "-o", o->out, err) != 0)
        goto out;
    if ((o->from ? tokens_from_file(o->from, &tok, &n, err) : tokens_from_list(o->tokens, &tok, &n, err)) != 0)
        goto out;
    if (!o->prompt)
        o->prompt = (int64_t)n;
    if ((size_t)o->prompt > n || n > UINT32_MAX) {
        error_set(err, ERROR_USAGE, "--prompt: %lld of %zu tokens", (long long)o->prompt, n);
        goto out;
    }
    if (n > m.hp.n_ctx_train)
        notify_warn("%zu tokens exceed the trained context of %u", n, m.hp.n_ctx_train);
    if (setup_init(&machine, o->threads, &o->engine, err) != 0)
        goto out;
    struct engine_options eo = setup_engine_options(&machine, &o->engine);
    eo.n_ctx = (uint32_t)n;
    eo.n_ubatch = (uint32_t)o->prompt;
    eo.n_out_max = (uint32_t)o->prompt;
    e = engine_new(&m, &eo, err);
    if (e)
        setup_note_scales(&o->engine, e);
    if (e)
        rc = write_logits(e, o, tok, n, m.hp.n_vocab, err);
out:
    engine_free(e);
    free(tok);
    setup_free(&machine);
    model_free(&m);
    return rc;
}

int cmd_logits(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Write the logits after every token of a sequence.\v"
        "File format (little-endian): int32 n, int32 n_vocab, int32 token[n], float logits[n][n_vocab]. Logits i "
        "are those after token i.\n\n"
        "  roofcast logits -m model.gguf --tokens 1,5,9 -o out.logits\n"
        "  roofcast logits -m model.gguf --tokens-from oracle.logits --prompt 24 -o out.logits";
    static const int exclusive[][CLI_EXCLUSIVE] = { { OPT_TOKENS, OPT_FROM }, { 0 } };
    static const struct cli_syntax syntax = { option_table, parse, "-m FILE --tokens LIST -o FILE", doc, exclusive };
    struct options o = { .engine = SETUP_DEFAULT };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    if (!o.tokens == !o.from)
        return error_set(err, ERROR_USAGE, "one of --tokens and --tokens-from is needed");
    if (!o.out)
        return error_set(err, ERROR_USAGE, "-o FILE is needed");
    return run(&o, err);
}
