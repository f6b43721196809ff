/* roofcast run: generate text, streaming, and say how fast it went. */
#include "cli/cli.h"
#include "model/tokenizer.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
    const char *model, *prompt, *isa, *cpus, *format;
    int64_t n_gen, n_ctx, n_ubatch, threads, seed;
    double temperature;
    bool no_kv_cache, force, ignore_eos, special;
};

enum { OPT_TEMP = 256, OPT_SEED, OPT_NO_KV, OPT_FORCE, OPT_IGNORE_EOS, OPT_SPECIAL, OPT_ISA, OPT_CPUS, OPT_UB };

static const struct argp_option option_table[] = {
    { "model", 'm', "FILE", 0, "GGUF file", 0 },
    { "prompt", 'p', "TEXT", 0, "the prompt (default: standard input)", 0 },
    { "n-predict", 'n', "N", 0, "tokens to generate at most (default 128)", 0 },
    { "ctx-size", 'c', "N", 0, "context size (default: what prompt and -n need)", 0 },
    { "temp", OPT_TEMP, "T", 0, "temperature; 0 is greedy (default 0)", 0 },
    { "seed", OPT_SEED, "N", 0, "seed of the sampler (default 1)", 0 },
    { "no-kv-cache", OPT_NO_KV, NULL, 0, "recompute the whole sequence for every token: the loop the KV cache removes", 0 },
    { "force", OPT_FORCE, NULL, 0, "allow a context beyond the trained one", 0 },
    { "ignore-eos", OPT_IGNORE_EOS, NULL, 0, "go on after the end of the sequence", 0 },
    { "special", OPT_SPECIAL, NULL, 0, "control tokens written in the prompt become tokens", 0 },
    { "ub", OPT_UB, "N", 0, "prompt tokens a pass (default 512)", 0 },
    { "threads", 't', "N", 0, "threads (default: one a usable core)", 0 },
    { "isa", OPT_ISA, "NAME", 0, "force a rung of kernels (roofcast list isa)", 0 },
    { "cpus", OPT_CPUS, "LIST", 0, "pin threads to these CPUs: 0-3,8", 0 },
    { "output", 'o', "FORMAT", 0, "text (default) or json: ids, text and figures as one document", 0 },
    { 0 },
};

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    switch (key) {
    case 'm':
        return cli_text(&o->model, arg);
    case 'p':
        return cli_text(&o->prompt, arg);
    case 'n':
        return parse_int(arg, 1, 1 << 24, "-n", &o->n_gen, err);
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
    case OPT_TEMP:
        return parse_double(arg, 0, 100, "--temp", &o->temperature, err);
    case OPT_SEED:
        return parse_int(arg, 0, INT64_MAX, "--seed", &o->seed, err);
    case OPT_NO_KV:
        return cli_flag(&o->no_kv_cache);
    case OPT_FORCE:
        return cli_flag(&o->force);
    case OPT_IGNORE_EOS:
        return cli_flag(&o->ignore_eos);
    case OPT_SPECIAL:
        return cli_flag(&o->special);
    case OPT_ISA:
        return cli_text(&o->isa, arg);
    case OPT_CPUS:
        return cli_text(&o->cpus, arg);
    default:
        return CLI_UNKNOWN;
    }
}

static int read_stdin(struct strbuf *b, struct error *err)
{
    enum { PROMPT_MAX = 64 << 20 };
    char buf[4096];
    ssize_t n;
    /* read, not fread: an interrupt must end the wait. */
    while ((n = read(STDIN_FILENO, buf, sizeof buf)) > 0 && b->len <= PROMPT_MAX) {
        strbuf_add(b, buf, (size_t)n);
        if (interrupt_check(err) != 0)
            return -1;
    }
    if (interrupt_check(err) != 0)
        return -1;
    if (n < 0 || b->oom)
        return error_set(err, ERROR_SYSTEM, "cannot read the prompt from standard input: %s",
                         n < 0 ? strerror(errno) : "out of memory");
    if (b->len > PROMPT_MAX)
        return error_set(err, ERROR_INPUT, "the prompt on standard input is longer than %d bytes", PROMPT_MAX);
    while (b->len && b->s[b->len - 1] == '\n')
        b->s[--b->len] = 0;
    return 0;
}

/* One generation: what it made and how long each step took. */
struct generation {
    struct token_list ids; /* prompt, then generated */
    size_t n_prompt;
    double ttft_s, total_s, *itl_s; /* n_generated - 1 of them */
    struct strbuf text, pending; /* pending: bytes of an unfinished UTF-8 character */
    bool stream;
};

static int emit(struct generation *g, const struct tokenizer *t, int32_t id, struct error *err)
{
    if (tokenizer_decode(t, id, false, false, &g->pending, err) != 0)
        return -1;
    size_t n = g->pending.len ? utf8_complete(g->pending.s, g->pending.len) : 0;
    if (n == 0)
        return 0;
    strbuf_add(&g->text, g->pending.s, n);
    if (g->stream) {
        fwrite(g->pending.s, 1, n, stdout);
        fflush(stdout);
    }
    memmove(g->pending.s, g->pending.s + n, g->pending.len - n + 1);
    g->pending.len -= n;
    return 0;
}

static int generate(struct generation *g, struct engine *e, const struct tokenizer *t, const struct options *o,
                    uint32_t n_vocab, struct error *err)
{
    struct sampler s;
    sampler_init(&s, o->temperature, (uint64_t)o->seed);
    g->n_prompt = g->ids.n;
    g->itl_s = calloc((size_t)o->n_gen, sizeof *g->itl_s);
    if (!g->itl_s)
        return error_oom(err, (size_t)o->n_gen * sizeof *g->itl_s, "the latencies");
    const double start = clock_now_s();
    double last = start;
    for (int64_t i = 0; i < o->n_gen; i++) {
        const uint32_t n = (uint32_t)g->ids.n;
        const uint32_t past = i == 0 || o->no_kv_cache ? 0 : n - 1;
        const float *logits;
        if (engine_eval(e, g->ids.id + past, n - past, past, 1, &logits, err) != 0)
            return -1;
        if (!logits_finite(logits, n_vocab))
            return error_set(err, ERROR_INPUT, "the logits after token %u are not finite: damaged weights?", n);
        const int32_t id = sampler_pick(&s, logits, n_vocab);
        const double now = clock_now_s();
        if (i == 0)
            g->ttft_s = now - start;
        else
            g->itl_s[i - 1] = now - last;
        last = now;
        if (token_list_push(&g->ids, id, err) != 0)
            return -1;
        if (!o->ignore_eos && tokenizer_is_end(t, id))
            break;
        if (emit(g, t, id, err) != 0)
            return -1;
    }
    g->total_s = last - start;
    return 0;
}

static json_t *document(const struct generation *g, const struct engine *e, const struct model *m)
{
    const size_t n_gen = g->ids.n - g->n_prompt;
    const struct work w = engine_work(e);
    json_t *ids = json_array();
    for (size_t i = g->n_prompt; i < g->ids.n; i++)
        json_array_append_new(ids, json_integer(g->ids.id[i]));
    json_t *text = json_stringn(g->text.s ? g->text.s : "", g->text.len);
    return json_pack("{s:s s:i s:s s:s s:i s:i s:o s:o s:o s:o s:o s:o s:o s:o s:o s:o}", "schema", "roofcast.generation",
                     "version", 1, "model", m->name, "type", m->type_name, "n_prompt", (int)g->n_prompt, "n_gen",
                     (int)n_gen, "ids", ids, "text", text ? text : json_null(), "ttft_s", json_num(g->ttft_s), "itl_p50_s",
                     json_num(n_gen > 1 ? stats_median(g->itl_s, n_gen - 1) : NAN), "itl_p99_s",
                     json_num(n_gen > 1 ? stats_quantile(g->itl_s, n_gen - 1, 0.99) : NAN), "tok_s",
                     json_num(n_gen > 1 ? (double)(n_gen - 1) / (g->total_s - g->ttft_s) : NAN), "weight_bytes",
                     json_num((double)w.weight_bytes), "kv_bytes", json_num((double)w.kv_bytes), "act_bytes",
                     json_num((double)w.act_bytes), "flop", json_num((double)w.flop));
}

static int print_figures(const struct generation *g, const struct engine *e, const struct model *m, bool json,
                         struct error *err)
{
    json_t *d = document(g, e, m);
    if (!d)
        return error_oom(err, 0, "the figures");
    int rc = 0;
    if (json) {
        rc = json_print(d, stdout, false, err);
    } else {
        char a[32], b[32], c[32], f[32], by[32];
        const double itl = json_number_value(json_object_get(d, "itl_p50_s"));
        const struct work w = engine_work(e);
        const double tok_s = json_number_value(json_object_get(d, "tok_s"));
        char rate[48] = "tokens/s of decode: none was made";
        if (tok_s > 0)
            snprintf(rate, sizeof rate, "%.1f tokens/s", tok_s);
        putchar('\n');
        fprintf(stderr, "\n%zu prompt tokens, %zu generated: TTFT %s, ITL p50 %s p99 %s, %s\n", g->n_prompt,
                g->ids.n - g->n_prompt, units_si(a, sizeof a, g->ttft_s, "s"),
                units_si(b, sizeof b, itl > 0 ? itl : NAN, "s"),
                units_si(c, sizeof c, itl > 0 ? json_number_value(json_object_get(d, "itl_p99_s")) : NAN, "s"),
                rate);
        fprintf(stderr, "counted: %s, %s\n", units_si(f, sizeof f, (double)w.flop, "FLOP"),
                units_si(by, sizeof by, (double)(w.weight_bytes + w.kv_bytes), "B of weights and KV cache"));
    }
    json_decref(d);
    return rc;
}

static int choose_context(const struct options *o, const struct model *m, size_t n_prompt, uint32_t *n_ctx,
                          struct error *err)
{
    const uint64_t need = n_prompt + (uint64_t)o->n_gen;
    if (o->n_ctx && need > (uint64_t)o->n_ctx)
        return error_set(err, ERROR_USAGE, "%zu prompt tokens and -n %lld do not fit -c %lld", n_prompt,
                         (long long)o->n_gen, (long long)o->n_ctx);
    const uint64_t ctx = o->n_ctx ? (uint64_t)o->n_ctx : need;
    if (ctx > m->hp.n_ctx_train && !o->force)
        return error_set(err, ERROR_USAGE,
                         "a context of %llu is beyond the %u the model was trained on (--force runs it all the same)",
                         (unsigned long long)ctx, m->hp.n_ctx_train);
    *n_ctx = (uint32_t)ctx;
    return 0;
}

static int run(const struct options *o, struct error *err)
{
    struct model m = { 0 };
    struct cli_machine machine = { 0 };
    struct tokenizer *t = NULL;
    struct engine *e = NULL;
    const bool json = o->format && strcmp(o->format, "json") == 0;
    struct generation g = { .stream = !json };
    struct strbuf in = { 0 };
    uint32_t n_ctx = 0;
    int rc = -1;
    if (cli_model_open(&m, o->model, err) != 0)
        return -1;
    t = tokenizer_new(m.gguf, err);
    if (!t)
        goto out;
    if (o->prompt)
        strbuf_adds(&in, o->prompt);
    else if (read_stdin(&in, err) != 0)
        goto out;
    if (tokenizer_encode(t, in.s ? in.s : "", in.len, true, o->special, &g.ids, err) != 0)
        goto out;
    if (g.ids.n == 0) {
        error_set(err, ERROR_USAGE, "the prompt is empty, and the model has no token that begins a sequence");
        goto out;
    }
    if (choose_context(o, &m, g.ids.n, &n_ctx, err) != 0 ||
        cli_machine_init(&machine, o->threads, o->isa, o->cpus, err) != 0)
        goto out;
    const struct engine_options eo = {
        .n_ctx = n_ctx,
        .n_ubatch = (uint32_t)o->n_ubatch,
        .n_out_max = 1,
        .n_threads = machine.n_threads,
        .cpus = &machine.cpus,
        .cpu_flags = machine.cpu_flags,
    };
    e = engine_new(&m, &eo, err);
    if (e && generate(&g, e, t, o, m.hp.n_vocab, err) == 0)
        rc = print_figures(&g, e, &m, json, err);
out:
    engine_free(e);
    tokenizer_free(t);
    token_list_free(&g.ids);
    free(g.itl_s);
    strbuf_free(&g.text);
    strbuf_free(&g.pending);
    strbuf_free(&in);
    cli_machine_free(&machine);
    model_free(&m);
    return rc;
}

int cmd_run(int argc, char **argv, struct error *err)
{
    static const char doc[] = "Generate text from a prompt, streaming; then TTFT, ITL and tokens/s.\v"
                              "The text goes to standard output, the figures to standard error.\n\n"
                              "  roofcast run -m model.gguf -p 'Once upon a time' -n 64\n"
                              "  roofcast run -m model.gguf -p 'Once' -n 32 --no-kv-cache   (watch the counted work)";
    static const struct cli_syntax syntax = { option_table, parse, "-m FILE [-p TEXT]", doc };
    struct options o = { .n_gen = 128, .n_ubatch = 512, .seed = 1 };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    return run(&o, err);
}
