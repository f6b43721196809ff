/* roofcast ppl: quality and size of quantizations: perplexity on a text, KL divergence from a reference file. */
#include "base/environment.h"
#include "bench/ppl.h"
#include "cli/cli.h"
#include "dataset/ppl_saved.h"
#include "model/tokenizer.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_MODELS = 64, DEFAULT_CTX = 512 };

struct options {
    const char *model[MAX_MODELS], *against, *text, *ids;
    size_t n_models;
    int64_t n_ctx, n_chunks, stride, n_ubatch, threads;
    struct setup_options engine;
    enum report_format format;
    bool no_record;
};

enum { OPT_AGAINST = 256, OPT_IDS, OPT_CHUNKS, OPT_STRIDE, OPT_UB, OPT_QUIET, OPT_NO_RECORD };

static const struct argp_option option_table[] = {
    { "model", 'm', "FILE", CLI_AGAIN, "GGUF file; repeatable, a row per file", 0 },
    { "against", OPT_AGAINST, "FILE", 0, "reference file, usually F16: print the KL divergence from it", 0 },
    { "file", 'f', "TEXT", 0, "the text; -: standard input", 0 },
    { "ids", OPT_IDS, "FILE", 0, "token ids separated by blanks instead of a text; -: standard input", 0 },
    { "ctx-size", 'c', "N", 0, "tokens per chunk (default 512, at most the trained context)", 0 },
    { "chunks", OPT_CHUNKS, "N", 0, "only the first N chunks (default: all)", 0 },
    { "stride", OPT_STRIDE, "N", 0, "chunks start N tokens apart and their last N tokens are scored (default: "
      "chunks do not overlap, the second half of each is scored)", 0 },
    { "ppl-stride", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "ub", OPT_UB, "N", 0, "tokens per pass (default 512)", 0 },
    { "ubatch-size", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "threads", 't', "N", 0, "threads (default: one per usable core)", 0 },
    CLI_ENGINE_OPTIONS,
    CLI_ACT_SCALES_OPTION,
    { "output", 'o', "FORMAT", 0, "table (default), csv, json, jsonl, md or sql", 0 },
    { "no-record", OPT_NO_RECORD, NULL, 0, "do not record the result in the user's folder for `roofcast choose`", 0 },
    { "quiet", OPT_QUIET, NULL, 0, "print no progress to standard error", 0 },
    { 0 },
};

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    switch (key) {
    case 'm':
        if (o->n_models == MAX_MODELS)
            return error_set(err, ERROR_USAGE, "-m: more than %d files", MAX_MODELS);
        return cli_text(&o->model[o->n_models++], arg);
    case 'f':
        return cli_text_once(&o->text, arg, "text", err);
    case 'c':
        return parse_int(arg, 4, 1 << 24, "-c", &o->n_ctx, err);
    case 't':
        return parse_int(arg, 1, 1 << 20, "-t", &o->threads, err);
    case 'o':
        return report_format_find(arg, &o->format, err);
    case OPT_AGAINST:
        return cli_text_once(&o->against, arg, "--against", err);
    case OPT_IDS:
        return cli_text_once(&o->ids, arg, "--ids", err);
    case OPT_CHUNKS:
        return parse_int(arg, 1, INT32_MAX, "--chunks", &o->n_chunks, err);
    case OPT_STRIDE:
        return parse_int(arg, 1, 1 << 24, "--stride", &o->stride, err);
    case OPT_UB:
        return parse_int(arg, 1, 1 << 16, "-ub", &o->n_ubatch, err);
    case OPT_NO_RECORD:
        return cli_flag(&o->no_record);
    case OPT_QUIET:
        cli_set_quiet(true);
        return 0;
    default:
        return cli_engine_option(&o->engine, key, arg, err);
    }
}

/* ---- the text as tokens ------------------------------------------------------------ */

struct tokens {
    struct token_list id;
    int32_t bos; /* beginning-of-sequence token; -1: none */
};

/* Reads a file, a pipe or standard input to its end. */
static int read_all(const char *path, struct strbuf *b, struct error *err)
{
    char buf[1 << 16];
    ssize_t n = 0;
    const int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        while (interrupt_check(err) == 0 && (n = interrupt_read(fd, buf, sizeof buf)) > 0 && !b->oom)
            strbuf_add(b, buf, (size_t)n);
    const int code = errno;
    if (fd > STDIN_FILENO)
        close(fd);
    if (interrupt_check(err) != 0)
        return -1;
    if (fd < 0 || n < 0)
        return error_set(err, ERROR_SYSTEM, "cannot read %s: %s", fd == STDIN_FILENO ? "standard input" : path,
                         strerror(code));
    return 0;
}

static int parse_ids(const char *in, size_t n_in, const char *path, uint32_t n_vocab, struct token_list *l,
                     struct error *err)
{
    static const char blank[] = " ,\t\r\n";
    for (const char *p = in; *(p += strspn(p, blank));) {
        char *end;
        errno = 0;
        const long long id = strtoll(p, &end, 10);
        const int len = (int)strcspn(p, blank);
        if (errno || end != p + len || id < 0 || id >= n_vocab)
            return error_set(err, ERROR_INPUT, "%s: item %zu: expected a token id from 0 to %u, found \"%.*s\"", path,
                             l->n + 1, n_vocab - 1, len > 24 ? 24 : len, p);
        if (token_list_push(l, (int32_t)id, err) != 0)
            return -1;
        p = end;
    }
    const size_t parsed = strlen(in);
    return parsed == n_in ? 0 : error_set(err, ERROR_INPUT, "%s: offset %zu: a NUL byte among token ids", path, parsed);
}

/* The beginning-of-sequence token, if the model adds one. */
static int find_bos(const struct tokenizer *t, int32_t *bos, struct error *err)
{
    struct token_list none = { 0 };
    const int rc = tokenizer_encode(t, "", 0, true, false, &none, err);
    *bos = none.n ? none.id[0] : -1;
    token_list_free(&none);
    return rc;
}

static int read_tokens(struct tokens *to, const struct options *o, const struct model *m, struct error *err)
{
    const char *path = o->ids ? o->ids : o->text;
    struct strbuf in = { 0 };
    struct error why = { 0 };
    struct tokenizer *t = NULL;
    *to = (struct tokens){ .bos = -1 };
    int rc = read_all(path, &in, err);
    const char *text = rc == 0 ? strbuf_text(&in, "the text", err) : NULL;
    if (!text) {
        rc = -1;
        goto out;
    }
    t = tokenizer_new(m->gguf, &why);
    if (t)
        rc = find_bos(t, &to->bos, err);
    else if (o->ids)
        notify_warn("chunks begin with their own first token: %s", why.msg);
    else
        rc = error_set(err, why.kind, "%s (--ids takes token ids without a tokenizer)", why.msg);
    if (rc != 0)
        goto out;
    if (o->ids) {
        rc = parse_ids(text, in.len, path, m->hp.n_vocab, &to->id, err);
    } else {
        const size_t len = in.len && in.s[in.len - 1] == '\n' ? in.len - 1 : in.len; /* as llama-perplexity has it */
        rc = tokenizer_encode(t, text, len, true, false, &to->id, err);
    }
out:
    tokenizer_free(t);
    strbuf_free(&in);
    return rc;
}

/* ---- one vocabulary for all files ------------------------------------------------------- */

/* Checks before the evaluation that the file exists and is comparable with ref. */
static int check_file(const char *path, const struct model *ref, struct error *err)
{
    struct model m = { 0 };
    if (model_load(&m, path, NULL, err) != 0)
        return -1;
    int rc = 0;
    if (!m.gguf) {
        model_free(&m);
        return setup_model_open(&m, path, err); /* sets *err */
    }
    if (m.hp.n_vocab != ref->hp.n_vocab)
        rc = error_set(err, ERROR_INPUT, "%s: vocabulary of %u tokens, %s has %u: the scores are not comparable", path,
                       m.hp.n_vocab, ref->path, ref->hp.n_vocab);
    else
        rc = model_same_tokens(&m, ref, err);
    model_free(&m);
    return rc;
}

/* ---- the run ------------------------------------------------------------------------ */

static int cut_chunks(struct ppl_chunks *c, const struct options *o, const struct model *m, const struct tokens *t,
                      struct error *err)
{
    const uint64_t n_ctx = o->n_ctx ? (uint64_t)o->n_ctx : u64_min(DEFAULT_CTX, m->hp.n_ctx_train);
    const uint64_t stride = o->stride ? (uint64_t)o->stride : n_ctx;
    const char *path = o->ids ? o->ids : o->text;
    if (o->stride && stride >= n_ctx)
        return error_set(err, ERROR_USAGE, "--stride: expected below the %llu tokens of a chunk, found %llu",
                         (unsigned long long)n_ctx, (unsigned long long)stride);
    if (n_ctx < 4 || t->id.n < n_ctx)
        return error_set(err, ERROR_INPUT, "%s: %zu tokens, a chunk needs %llu: use a longer text or a smaller -c",
                         strcmp(path, "-") == 0 ? "standard input" : path, t->id.n, (unsigned long long)u64_max(n_ctx, 4));
    if (n_ctx > m->hp.n_ctx_train)
        notify_warn("%s: chunks of %llu tokens exceed the trained context of %u", m->name, (unsigned long long)n_ctx,
                    m->hp.n_ctx_train);
    *c = (struct ppl_chunks){ .id = t->id.id, .bos = t->bos, .n_ctx = (uint32_t)n_ctx, .stride = (uint32_t)stride,
                              .first = (uint32_t)(o->stride ? n_ctx - stride - 1 : n_ctx / 2),
                              .n = 1 + (t->id.n - (size_t)n_ctx) / (size_t)stride,
                              .engine = o->engine };
    if (o->n_chunks && (uint64_t)o->n_chunks < c->n)
        c->n = (size_t)o->n_chunks;
    return 0;
}

static void provenance(struct provenance *p, const struct setup *machine, int argc, char **argv)
{
    struct kernels k;
    kernels_init(&k, machine->cpu_flags);
    setup_provenance(p, machine, k.isa, "null");
    size_t len = 0;
    for (int i = 0; i < argc && len < sizeof p->command; i++)
        len += (size_t)snprintf(p->command + len, sizeof p->command - len, "%s%s", i ? " " : "", argv[i]);
}

/* One file after the other, so that at most two are mapped; *n: completed files. */
static int evaluate_all(struct ppl_file *file, size_t *n, const struct options *o, const struct model *base,
                        const struct ppl_chunks *c, const struct setup *machine, struct error *err)
{
    for (*n = 0; *n < o->n_models; ++*n) {
        struct model m = { 0 };
        file[*n].path = o->model[*n];
        if (setup_model_open(&m, o->model[*n], err) != 0)
            return -1;
        const int rc = ppl_evaluate(&file[*n], &m, base, c, (uint32_t)o->n_ubatch, machine, err);
        model_free(&m);
        if (rc != 0)
            return -1;
    }
    return 0;
}

/* The n completed files; the base's row is last. */
static int print_files(struct ppl_file *file, size_t n, const struct options *o, const struct model *base, const struct ppl_chunks *c,
                       const struct provenance *prov, struct error *err)
{
    if (base) {
        struct ppl_file *last = &file[n++];
        *last = (struct ppl_file){ .path = o->against };
        ppl_base_file(last, last - 1);
        if (ppl_describe(last, base, err) != 0)
            return -1;
    }
    return ppl_print(o->format, file, n, c, o->against, prov, err);
}

/* ---- the record that `roofcast choose` reads --------------------------------------------------- */

static struct ppl_saved saved_row(const struct ppl_file *f, const struct options *o, const struct model *ref, const struct model *base, const struct ppl_chunks *c)
{
    const struct quality *q = &f->q;
    const char *text = o->ids ? o->ids : o->text, *slash = strrchr(text, '/');
    struct ppl_saved s = { .n_params = (double)ref->n_params, .n_ctx = c->n_ctx, .n_tokens = (double)q->n_tokens, .ppl = q->ppl, .ppl_se = q->ppl_se,
                           .ln_ratio = NAN, .ln_ratio_se = NAN, .kl = NAN, .kl_se = NAN };
    snprintf(s.model, sizeof s.model, "%s", f->model);
    snprintf(s.type, sizeof s.type, "%s", f->type);
    snprintf(s.text, sizeof s.text, "%.127s", strcmp(text, "-") == 0 ? "standard input" : slash ? slash + 1 : text);
    clock_date(s.date, sizeof s.date);
    if (base && !f->base) {
        snprintf(s.base_type, sizeof s.base_type, "%s", base->type_name);
        s.ln_ratio = q->ln_ratio;
        s.ln_ratio_se = q->ln_ratio_se;
        s.kl = q->kl;
        s.kl_se = q->kl_se;
    }
    return s;
}

/* Files of one model share a record. A folder that cannot be written is a warning: the result was printed. */
static void record(const struct ppl_file *file, size_t n, const struct options *o, const struct model *ref, const struct model *base, const struct ppl_chunks *c)
{
    const char *dir = environment()->user_dir;
    for (size_t i = 0; dir && !o->no_record && i < n; i++) {
        const struct ppl_saved s = saved_row(&file[i], o, ref, base, c);
        struct error err = { 0 };
        char path[4352] = "";
        if (!isfinite(s.ppl) || !(s.ppl < 1e30))
            continue;
        if (ppl_saved_add(dir, &s, 1, path, sizeof path, &err) != 0)
            notify_warn("the result is not recorded for `roofcast choose`: %s", err.msg);
        else if (i == 0)
            notify_note("recorded for `roofcast choose`: %s", path);
    }
}

/* After an interrupt or a failure the completed files are printed. */
static int evaluate_and_print(struct ppl_file *file, const struct options *o, const struct model *ref, const struct model *base, const struct ppl_chunks *c,
                              const struct setup *machine, const struct provenance *prov, struct error *err)
{
    struct error print_err = { 0 };
    size_t n;
    const int rc = evaluate_all(file, &n, o, base, c, machine, err);
    notify_progress_done();
    record(file, n, o, ref, base, c);
    if (rc == 0)
        return print_files(file, n, o, base, c, prov, err);
    if (n == 0)
        return -1;
    const struct error why = *err;
    if (print_files(file, n, o, base, c, prov, &print_err) == 0)
        return error_set(err, why.kind, "%.500s: %zu completed file%s %s printed", why.msg, n, n == 1 ? "" : "s", n == 1 ? "is" : "are");
    if (print_err.kind != ERROR_PIPE)
        notify_warn("%s", print_err.msg);
    return -1;
}

static int run(const struct options *o, int argc, char **argv, struct error *err)
{
    struct model ref = { 0 }; /* its tokenizer reads the text: --against, else the first file */
    struct tokens tokens = { 0 };
    struct ppl_chunks chunks = { 0 };
    struct setup machine = { 0 };
    struct provenance prov;
    const size_t n_files = o->n_models + (o->against != NULL);
    struct ppl_file *file = calloc(n_files, sizeof *file);
    int rc = -1;
    if (!file)
        return error_oom(err, n_files * sizeof *file, "the files");
    if (setup_model_open(&ref, o->against ? o->against : o->model[0], err) != 0)
        goto out;
    for (size_t i = 0; i < o->n_models; i++)
        if (check_file(o->model[i], &ref, err) != 0)
            goto out;
    if (read_tokens(&tokens, o, &ref, err) != 0 || cut_chunks(&chunks, o, &ref, &tokens, err) != 0 ||
        setup_init(&machine, o->threads, &o->engine, err) != 0)
        goto out;
    provenance(&prov, &machine, argc, argv);
    rc = evaluate_and_print(file, o, &ref, o->against ? &ref : NULL, &chunks, &machine, &prov, err);
out:
    setup_free(&machine);
    token_list_free(&tokens.id);
    model_free(&ref);
    free(file);
    return rc;
}

int cmd_ppl(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Compare quantizations of a model: perplexity (PPL) on a text, KL divergence from a reference file (--against), "
        "size, and bytes read per token.\v"
        "PPL = exp(mean -ln p) of the actual next token; lower is better. As in llama-perplexity the text is cut into chunks "
        "of -c tokens, each evaluated from an empty context with a beginning-of-sequence token if the model has one, and "
        "the second half is scored, so the numbers are comparable. All files must have the same vocabulary.\n\n"
        "  roofcast ppl -m Q4_K_M.gguf -f wiki.test.raw\n"
        "  roofcast ppl -m Q4_K_M.gguf --against F16.gguf -f wiki.test.raw --chunks 32\n"
        "  roofcast ppl -m Q4_0.gguf -m Q6_K.gguf --against F16.gguf -f text.txt -o md\n"
        "  roofcast ppl -m model.gguf -f text.txt -c 2048 --stride 512 -o json\n\n"
        "With --against, KL is the mean KL(base || file) in nats over the whole vocabulary: 0 for equal distributions. It "
        "is more sensitive than PPL, whose error (+-, one standard error) is dominated by the text. Rule of thumb: two files differ if "
        "their KL differ by several +-. KL 99 % is the KL of the worst 1 % of the tokens. `read per token` is the weight bytes of a "
        "decode step: half of them allow up to twice the speed (see roofcast predict FILE).\n\n"
        "-ctk and -ctv set the KV cache of the files, not of --against: the same file twice shows the cost of a quantized "
        "cache.\n\n"
        "The files are evaluated one after the other, each together with the base, so two are in memory at a time. After Ctrl-C or an "
        "error the completed files are printed. Results are recorded in the user's folder (quality/MODEL.json), where `roofcast choose` finds them.";
    static const struct cli_syntax syntax = { option_table, parse, "-m FILE [-m FILE...] -f TEXT", doc, NULL };
    struct options o = { .n_ubatch = 512, .engine = SETUP_DEFAULT, .format = REPORT_TABLE };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    if (!o.n_models)
        return error_set(err, ERROR_USAGE, "-m FILE is needed: a GGUF file (`roofcast synth` writes one)");
    if (!o.text == !o.ids)
        return error_set(err, ERROR_USAGE, "one of -f TEXT and --ids FILE is needed");
    return run(&o, argc, argv, err);
}
