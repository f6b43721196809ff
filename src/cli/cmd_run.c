/* roofcast run: text generation, streaming, with timings. */
#include "bench/generate.h"
#include "cli/cli.h"
#include "model/chat.h"
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
    const char *model, *prompt, *format, *system, *chat_template;
    int64_t n_ctx, n_ubatch, threads;
    struct generate_options gen;
    struct stop_list stops;
    struct setup_options engine;
    bool force, special, chat;
};

enum {
    OPT_TEMP = 256,
    OPT_TOP_K,
    OPT_TOP_P,
    OPT_MIN_P,
    OPT_REPEAT,
    OPT_REPEAT_N,
    OPT_SEED,
    OPT_STOP,
    OPT_CHAT,
    OPT_SYSTEM,
    OPT_TEMPLATE,
    OPT_NO_KV,
    OPT_FORCE,
    OPT_IGNORE_EOS,
    OPT_SPECIAL,
    OPT_UB,
};

static const struct argp_option option_table[] = {
    { "model", 'm', "FILE", 0, "GGUF file", 0 },
    { "prompt", 'p', "TEXT", 0, "the prompt (default: standard input)", 0 },
    { "n-predict", 'n', "N", 0, "maximum tokens to generate (default 128)", 0 },
    { "ctx-size", 'c', "N", 0, "context size (default: prompt plus -n)", 0 },
    { "chat", OPT_CHAT, NULL, 0, "format the prompt as a user message with the model's chat template", 0 },
    { "system", OPT_SYSTEM, "TEXT", 0, "with --chat: the system message", 0 },
    { "chat-template", OPT_TEMPLATE, "NAME", 0,
      "like --chat, with this template instead of the file's; help lists them", 0 },
    { "temp", OPT_TEMP, "T", 0, "temperature; 0 is greedy (default 0)", 0 },
    { "top-k", OPT_TOP_K, "N", 0, "sample from the N most likely tokens; 0: all (default 0)", 0 },
    { "top-p", OPT_TOP_P, "P", 0, "sample from the most likely tokens with total probability P (default 1: all)", 0 },
    { "min-p", OPT_MIN_P, "P", 0, "exclude tokens below P times the probability of the most likely one (default 0: off)", 0 },
    { "repeat-penalty", OPT_REPEAT, "R", 0,
      "divide positive logits of recent tokens by R, multiply negative ones (default 1: off)", 0 },
    { "repeat-last-n", OPT_REPEAT_N, "N", 0, "number of recent tokens; -1: all (default 64)", 0 },
    { "seed", OPT_SEED, "N", 0, "seed of the sampler (default 1)", 0 },
    { "stop", OPT_STOP, "TEXT", CLI_AGAIN, "stop before this text (repeatable)", 0 },
    { "no-kv-cache", OPT_NO_KV, NULL, 0, "recompute the whole sequence for every token", 0 },
    { "force", OPT_FORCE, NULL, 0, "allow a context larger than the trained one", 0 },
    { "ignore-eos", OPT_IGNORE_EOS, NULL, 0, "continue after the end-of-sequence token", 0 },
    { "special", OPT_SPECIAL, NULL, 0, "parse control tokens in the prompt", 0 },
    { "ub", OPT_UB, "N", 0, "prompt tokens per pass (default 512)", 0 },
    { "threads", 't', "N", 0, "threads (default: one per usable core, within the CPU quota)", 0 },
    CLI_ENGINE_OPTIONS,
    CLI_ACT_SCALES_OPTION,
    { "output", 'o', "text|json", 0, "text (default) or json: ids, text and timings as one document", 0 },
    { 0 },
};

/* Checks only that they are numbers; sampler_check() checks ranges. */
static int parse_sampling(struct sampler_options *s, int key, const char *arg, struct error *err)
{
    int64_t n = 0;
    int rc;
    switch (key) {
    case OPT_TEMP:
        return parse_double(arg, -DBL_MAX, DBL_MAX, "--temp", &s->temperature, err);
    case OPT_TOP_K:
        if ((rc = parse_int(arg, 0, INT32_MAX, "--top-k", &n, err)) == 0)
            s->top_k = (uint32_t)n;
        return rc;
    case OPT_TOP_P:
        return parse_double(arg, -DBL_MAX, DBL_MAX, "--top-p", &s->top_p, err);
    case OPT_MIN_P:
        return parse_double(arg, -DBL_MAX, DBL_MAX, "--min-p", &s->min_p, err);
    case OPT_REPEAT:
        return parse_double(arg, -DBL_MAX, DBL_MAX, "--repeat-penalty", &s->repeat_penalty, err);
    case OPT_REPEAT_N:
        if ((rc = parse_int(arg, -1, 1 << 24, "--repeat-last-n", &n, err)) == 0)
            s->repeat_last_n = (int32_t)n;
        return rc;
    case OPT_SEED:
        if ((rc = parse_int(arg, 0, INT64_MAX, "--seed", &n, err)) == 0)
            s->seed = (uint64_t)n;
        return rc;
    default:
        return CLI_UNKNOWN;
    }
}

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    const int rc = cli_engine_option(&o->engine, key, arg, err);
    if (rc != CLI_UNKNOWN)
        return rc;
    switch (key) {
    case 'm':
        return cli_text(&o->model, arg);
    case 'p':
        return cli_text(&o->prompt, arg);
    case 'n':
        return parse_int(arg, 1, 1 << 24, "-n", &o->gen.n_gen, err);
    case 'c':
        return parse_int(arg, 1, 1 << 24, "-c", &o->n_ctx, err);
    case 't':
        return parse_int(arg, 1, 1 << 20, "-t", &o->threads, err);
    case 'o':
        o->format = arg;
        if (strcmp(arg, "text") != 0 && strcmp(arg, "json") != 0)
            return error_set(err, ERROR_USAGE, "-o: expected text or json, found \"%s\"", arg);
        return 0;
    case OPT_UB:
        return parse_int(arg, 1, 1 << 16, "-ub", &o->n_ubatch, err);
    case OPT_STOP:
        return stop_list_add(&o->stops, arg, err);
    case OPT_CHAT:
        return cli_flag(&o->chat);
    case OPT_SYSTEM:
        return cli_text(&o->system, arg);
    case OPT_TEMPLATE:
        o->chat = true;
        return cli_text(&o->chat_template, arg);
    case OPT_NO_KV:
        return cli_flag(&o->gen.no_kv_cache);
    case OPT_FORCE:
        return cli_flag(&o->force);
    case OPT_IGNORE_EOS:
        return cli_flag(&o->gen.ignore_eos);
    case OPT_SPECIAL:
        return cli_flag(&o->special);
    case ARGP_KEY_END:
        if (o->system && !o->chat)
            return error_set(err, ERROR_USAGE, "--system needs --chat");
        return sampler_check(&o->gen.sampler, err);
    default:
        return parse_sampling(&o->gen.sampler, key, arg, err);
    }
}

/* ---- the prompt --------------------------------------------------------------------- */

static int read_stdin(struct strbuf *b, struct error *err)
{
    enum { PROMPT_MAX = 64 << 20 };
    char buf[4096];
    ssize_t n;
    while ((n = interrupt_read(STDIN_FILENO, buf, sizeof buf)) > 0 && b->len <= PROMPT_MAX) {
        strbuf_add(b, buf, (size_t)n);
        if (interrupt_check(err) != 0)
            return -1;
    }
    if (interrupt_check(err) != 0)
        return -1;
    if (n < 0)
        return error_set(err, ERROR_SYSTEM, "cannot read the prompt from standard input: %s", strerror(errno));
    if (b->len > PROMPT_MAX)
        return error_set(err, ERROR_INPUT, "the prompt on standard input is longer than %d bytes", PROMPT_MAX);
    while (b->len && b->s[b->len - 1] == '\n')
        b->s[--b->len] = 0;
    return 0; /* read_prompt() checks b->oom */
}

/* The tokens of a message in the model's chat template; *family for the figures. */
static int encode_chat(const struct options *o, const struct tokenizer *t, const struct gguf *g,
                       const char *message, size_t n_message, struct token_list *ids, const struct chat_template **family,
                       struct error *err)
{
    const struct chat_message m[] = {
        { CHAT_SYSTEM, o->system, o->system ? strlen(o->system) : 0 },
        { CHAT_USER, message, n_message },
    };
    const size_t skip = o->system == NULL;
    struct chat_prompt p = { 0 };
    struct strbuf eos = { 0 };
    bool writes_bos = false;
    const char *end;
    int rc = -1;
    *family = o->chat_template ? chat_template_find(o->chat_template, err) : chat_template_detect(g, &writes_bos, err);
    if (*family && (tokenizer_eos(t) < 0 || tokenizer_decode(t, tokenizer_eos(t), false, true, &eos, err) == 0) &&
        (end = strbuf_text(&eos, "the token that ends a turn", err)) != NULL && chat_render(*family, m + skip, 2 - skip, end, &p, err) == 0)
        rc = 0;
    const char *text = rc == 0 ? strbuf_text(&p.text, "the prompt", err) : NULL;
    rc = text ? rc : -1;
    writes_bos = writes_bos && tokenizer_bos(t) >= 0;
    if (rc == 0 && writes_bos)
        rc = token_list_push(ids, tokenizer_bos(t), err);
    if (rc == 0)
        rc = tokenizer_encode_spans(t, text, p.text.len, !writes_bos, p.message,
                                    o->special ? 0 : p.n_message, ids, err);
    chat_prompt_free(&p);
    strbuf_free(&eos);
    return rc;
}

/* From -p or standard input to tokens. */
static int read_prompt(const struct options *o, const struct tokenizer *t, const struct gguf *g,
                       struct token_list *ids, const struct chat_template **family, struct error *err)
{
    struct strbuf in = { 0 };
    int rc = 0;
    if (o->prompt)
        strbuf_adds(&in, o->prompt);
    else
        rc = read_stdin(&in, err);
    const char *text = rc == 0 ? strbuf_text(&in, "the prompt", err) : NULL;
    rc = text ? rc : -1;
    if (rc == 0 && o->chat)
        rc = encode_chat(o, t, g, text, in.len, ids, family, err);
    else if (rc == 0)
        rc = tokenizer_encode(t, text, in.len, true, o->special, ids, err);
    strbuf_free(&in);
    if (rc == 0 && ids->n == 0)
        rc = error_set(err, ERROR_USAGE, "the prompt is empty, and the model has no beginning-of-sequence token");
    return rc;
}

/* Stop texts that are one control token, which is not part of the output text. */
static int find_stop_ids(struct options *o, const struct tokenizer *t, struct error *err)
{
    struct token_list one = { 0 };
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < o->stops.n; i++) {
        one.n = 0;
        rc = tokenizer_encode(t, o->stops.text[i], strlen(o->stops.text[i]), false, true, &one, err);
        if (rc == 0 && one.n == 1 && tokenizer_is_special(t, one.id[0]))
            rc = token_list_push(&o->gen.stop_ids, one.id[0], err);
    }
    token_list_free(&one);
    return rc;
}

/* ---- timings ------------------------------------------------------------ */

static json_t *document(const struct generation *g, const struct engine *e, const struct model *m,
                        const struct chat_template *family, const struct run_loading *l)
{
    const size_t n_gen = g->ids.n - g->n_prompt;
    const struct work w = engine_work(e);
    json_t *ids = json_array();
    for (size_t i = g->n_prompt; i < g->ids.n; i++)
        if (json_array_append_new(ids, json_integer(g->ids.id[i])) != 0) {
            json_decref(ids);
            return NULL;
        }
    const char *out = strbuf_text(&g->text.out, "the text", NULL);
    json_t *text = out ? json_stringn(out, g->text.out.len) : NULL;
    return json_pack("{s:s s:i s:s s:s s:s? s:i s:i s:o s:o s:s s:o s:o s:o s:o s:o s:o s:o s:o s:o}", "schema",
                     "roofcast.generation", "version", 1, "model", m->name, "type", m->type_name, "chat_template",
                     family ? chat_template_name(family) : NULL, "n_prompt", (int)g->n_prompt, "n_gen", (int)n_gen, "ids",
                     ids, "text", text ? text : json_null(), "finish", finish_name(g->finish), "ttft_s",
                     json_num(g->ttft_s), "itl_p50_s", json_num(n_gen > 1 ? stats_median(g->itl_s, n_gen - 1) : NAN),
                     "itl_p99_s", json_num(n_gen > 1 ? stats_quantile(g->itl_s, n_gen - 1, 0.99) : NAN), "tok_s",
                     json_num(n_gen > 1 ? (double)(n_gen - 1) / (g->total_s - g->ttft_s) : NAN), "weight_bytes",
                     json_num((double)w.weight_bytes), "kv_bytes", json_num((double)w.kv_bytes), "act_bytes",
                     json_num((double)w.act_bytes), "flop", json_num((double)w.flop), "load", run_loading_json(l));
}

/* d: the document; its timings as text. */
static void print_text(const struct generation *g, const struct engine *e, const json_t *d, const struct run_loading *l)
{
    static const char *const why[] = {
        [FINISH_LENGTH] = "reached -n",
        [FINISH_STOP] = "stop text",
        [FINISH_EOS] = "end of sequence",
    };
    char a[32], b[32], c[32], f[32], by[32], load[320], rate[48] = "tokens/s: no decode step";
    const struct work w = engine_work(e);
    const double itl = json_number_value(json_object_get(d, "itl_p50_s"));
    const double tok_s = json_number_value(json_object_get(d, "tok_s"));
    if (tok_s > 0)
        snprintf(rate, sizeof rate, "%.1f tokens/s", tok_s);
    putchar('\n');
    fprintf(stderr, "\n%zu prompt tokens, %zu generated (%s): TTFT %s, ITL p50 %s p99 %s, %s\n", g->n_prompt,
            g->ids.n - g->n_prompt, why[g->finish], units_si(a, sizeof a, g->ttft_s, "s"),
            units_si(b, sizeof b, itl > 0 ? itl : NAN, "s"),
            units_si(c, sizeof c, itl > 0 ? json_number_value(json_object_get(d, "itl_p99_s")) : NAN, "s"), rate);
    fprintf(stderr, "counted: %s, %s\n", units_si(f, sizeof f, (double)w.flop, "FLOP"),
            units_si(by, sizeof by, (double)(w.weight_bytes + w.kv_bytes), "B of weights and KV cache"));
    fprintf(stderr, "load: %s\n", setup_loading_text(load, sizeof load, l));
}

static int print_figures(const struct generation *g, const struct engine *e, const struct model *m,
                         const struct chat_template *family, const struct setup *machine, bool json,
                         struct error *err)
{
    struct run_loading l;
    setup_loading(&l, e, m, machine);
    json_t *d = document(g, e, m, family, &l);
    if (!d)
        return error_oom(err, 0, "the figures");
    int rc = 0;
    if (json)
        rc = json_print(d, stdout, false, err);
    else
        print_text(g, e, d, &l);
    json_decref(d);
    return rc;
}

/* ---- the command ------------------------------------------------------------------------ */

static int choose_context(const struct options *o, const struct model *m, size_t n_prompt, uint32_t *n_ctx,
                          struct error *err)
{
    const uint64_t need = n_prompt + (uint64_t)o->gen.n_gen;
    if (o->n_ctx && need > (uint64_t)o->n_ctx)
        return error_set(err, ERROR_USAGE, "%zu prompt tokens and -n %lld do not fit -c %lld", n_prompt,
                         (long long)o->gen.n_gen, (long long)o->n_ctx);
    const uint64_t ctx = o->n_ctx ? (uint64_t)o->n_ctx : need;
    if (ctx > m->hp.n_ctx_train && !o->force)
        return error_set(err, ERROR_USAGE,
                         "a context of %llu tokens exceeds the trained context of %u (--force allows it)",
                         (unsigned long long)ctx, m->hp.n_ctx_train);
    *n_ctx = (uint32_t)ctx;
    return 0;
}

static int run(struct options *o, struct error *err)
{
    struct model m = { 0 };
    struct setup machine = { 0 };
    struct tokenizer *t = NULL;
    struct engine *e = NULL;
    const struct chat_template *family = NULL;
    const bool json = o->format && strcmp(o->format, "json") == 0;
    struct generation g = { .text = { .stops = &o->stops, .sink = json ? NULL : stdout } };
    uint32_t n_ctx = 0;
    int rc = -1;
    if (setup_model_open(&m, o->model, err) != 0)
        return -1;
    const struct marker_tool *markers = cli_markers_open();
    t = tokenizer_new(m.gguf, err);
    if (!t || read_prompt(o, t, m.gguf, &g.ids, &family, err) != 0 || find_stop_ids(o, t, err) != 0 ||
        choose_context(o, &m, g.ids.n, &n_ctx, err) != 0 ||
        setup_init(&machine, o->threads, &o->engine, err) != 0)
        goto out;
    struct engine_options eo = setup_engine_options(&machine, &o->engine);
    eo.n_ctx = n_ctx;
    eo.n_ubatch = (uint32_t)o->n_ubatch;
    eo.n_out_max = 1;
    eo.markers = markers;
    e = engine_new(&m, &eo, err);
    if (e)
        setup_note_scales(&o->engine, e);
    if (e && generate(&g, e, t, &o->gen, m.hp.n_vocab, err) == 0)
        rc = print_figures(&g, e, &m, family, &machine, json, err);
out:
    engine_free(e);
    cli_markers_close(markers);
    tokenizer_free(t);
    generation_free(&g);
    setup_free(&machine);
    model_free(&m);
    return rc;
}

static int list_templates(void)
{
    const struct chat_template *c;
    for (size_t i = 0; (c = chat_template_at(i)) != NULL; i++)
        printf("%-18s %s\n", chat_template_name(c), chat_template_models(c));
    return 0;
}

int cmd_run(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Generate text from a prompt, streaming, then print TTFT, ITL and tokens/s.\v"
        "The text goes to standard output, the timings to standard error.\n\n"
        "  roofcast run -m model.gguf -p 'Once upon a time' -n 64\n"
        "  roofcast run -m model.gguf --chat -p 'Why?' --system 'Be brief.'\n"
        "  roofcast run -m model.gguf -p '1. ' --stop '2.' --temp 0.7 --top-p 0.9\n"
        "  roofcast run -m model.gguf -p 'Once' --no-kv-cache   (counts more FLOP)\n\n"
        "Sampling order: penalty, top-k, top-p, min-p, temperature. The chat template is recognised from the text of the "
        "file's template (Jinja is not executed); parts that depend on the date are omitted. Control tokens are parsed in "
        "the template; in the message only with --special.";
    static const struct cli_syntax syntax = { option_table, parse, "-m FILE [-p TEXT]", doc, NULL };
    struct options o = { .n_ubatch = 512, .engine = SETUP_DEFAULT,
                         .gen = { .n_gen = 128, .sampler = sampler_default } };
    int rc = cli_parse(&syntax, argc, argv, &o, err);
    if (rc == 0)
        rc = o.chat_template && strcmp(o.chat_template, "help") == 0 ? list_templates() : run(&o, err);
    token_list_free(&o.gen.stop_ids);
    stop_list_free(&o.stops);
    return rc;
}
