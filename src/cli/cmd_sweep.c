/*
 * roofcast sweep: a row for every combination of models, types, machines, layouts, batches and contexts, streamed in the order of
 * the grid. Threads share the cells of a model; under mpirun each rank has a contiguous part of the grid, and rank 0 writes the
 * parts in order.
 */
#include "cli/pricing.h"
#include "learn/software.h"
#include "report/grid.h"
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct options {
    const char *model, *hw, *type, *kv, *save;
    bool kv_type_given;
    const char *tp, *pp, *dp, *ep, *n_batch, *n_depth, *n_prompt, *n_gen; /* lists */
    int64_t n_ubatch, threads;
    bool roof;
    struct pricing_options price; /* only routing and attention are used */
    struct software_options software;
    enum report_format format;
};

enum { OPT_HW = 256, OPT_UB, OPT_ROOF, OPT_SAVE, OPT_KV, OPT_TP, OPT_PP, OPT_DP, OPT_EP, OPT_QUIET };

static const struct argp_option option_table[] = {
    { "model", 'm', "MODEL,...", 0, "models: names, .gguf or config.json files, or `all` (`roofcast list models`)", 0 },
    { "type", 'q', "TYPE,...", 0, "tensor types or mixtures (F16); `own`: the types of the file", 0 },
    { "hw", OPT_HW, "NAME,...", 0, "machines, or `this`; gpu, apu, cpu, npu and all select every profile of that kind", 0 },
    { "kv-type", OPT_KV, "TYPE,...", 0, "types of the KV cache (F16)", 0 },
    { "tp", OPT_TP, "N,...", 0, "tensor parallelism (1)", 0 },
    { "pp", OPT_PP, "N,...", 0, "pipeline parallelism (1)", 0 },
    { "dp", OPT_DP, "N,...", 0, "data parallelism (1)", 0 },
    { "ep", OPT_EP, "N,...", 0, "expert parallelism (1)", 0 },
    { "n-batch", 'b', "N,...", 0, "sequences processed in parallel (1)", 0 },
    { "n-depth", 'd', "N,...", 0, "context: tokens in the KV cache before the test (0)", 0 },
    { "n-prompt", 'p', "N,...", 0, "prompt tokens (512; 0: no prefill)", 0 },
    { "n-gen", 'n', "N,...", 0, "tokens to generate (128; 0: no decode)", 0 },
    { "ub", OPT_UB, "N", 0, "prompt tokens per pass (default: the stack's, see `roofcast list stacks`; 512 without a stack; --roof: the whole prompt)", 0 },
    { "ubatch-size", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "attention", PRICING_ATTENTION, "flash|materialized", 0, "flash (default): attention scores stay on the chip; materialized: they are written to memory", 0 },
    { "routing", PRICING_ROUTING, "KIND|RUN.json", 0, "distribution of tokens over experts: uniform (default), zipf:S, or the one recorded by a saved run", 0 },
    { "roof", OPT_ROOF, NULL, 0, "print the roofline bound, which no prediction exceeds: fastest math units for each op, no software constants, no interval", 0 },
    SOFTWARE_OPTIONS,
    { "threads", 't', "N", 0, "threads of this program (all CPUs); machines are predicted with all of theirs", 0 },
    { "output", 'o', "csv|jsonl", 0, "csv (default) or jsonl", 0 },
    { "save", OPT_SAVE, "FILE", 0, "write to FILE instead of standard output", 0 },
    { "quiet", OPT_QUIET, NULL, 0, "print no progress and no summary", 0 },
    { 0 },
};

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    switch (key) {
    case 'm':
    case ARGP_KEY_ARG:
        return cli_text_once(&o->model, arg, "list of models", err);
    case 'q':
        return cli_text(&o->type, arg);
    case 'b':
        return cli_text(&o->n_batch, arg);
    case 'd':
        return cli_text(&o->n_depth, arg);
    case 'p':
        return cli_text(&o->n_prompt, arg);
    case 'n':
        return cli_text(&o->n_gen, arg);
    case 't':
        return parse_int(arg, 1, 1 << 20, "-t", &o->threads, err);
    case 'o':
        return report_format_find(arg, &o->format, err);
    case OPT_HW:
        return cli_text(&o->hw, arg);
    case OPT_KV:
        o->kv_type_given = true;
        return cli_text(&o->kv, arg);
    case OPT_TP:
        return cli_text(&o->tp, arg);
    case OPT_PP:
        return cli_text(&o->pp, arg);
    case OPT_DP:
        return cli_text(&o->dp, arg);
    case OPT_EP:
        return cli_text(&o->ep, arg);
    case OPT_UB:
        return parse_int(arg, 1, INT32_MAX, "-ub", &o->n_ubatch, err);
    case OPT_ROOF:
        return cli_flag(&o->roof);
    case OPT_SAVE:
        return cli_text(&o->save, arg);
    case OPT_QUIET:
        cli_set_quiet(true);
        return 0;
    default:
        if (key == PRICING_ROUTING || key == PRICING_ATTENTION)
            return pricing_parse(key, arg, &o->price, err);
        return software_parse(key, arg, &o->software, err);
    }
}

/* ---- the grid ---------------------------------------------------------------------------- */

/* Copies names of a list function into a list that owns them. */
static int take_names(struct str_list *l, char **names, size_t n, struct error *err)
{
    l->v = calloc(n + 1, sizeof *l->v);
    for (l->n = 0; l->v && l->n < n; l->n++)
        if (!(l->v[l->n] = strdup(names[l->n])))
            break;
    name_list_free(names, n);
    return l->v && l->n == n ? 0 : error_oom(err, n * sizeof *l->v, "the names of the grid");
}

static int parse_models(struct str_list *l, const char *text, struct error *err)
{
    char **names;
    size_t n;
    if (strcmp(text, "all") != 0)
        return str_list_parse(l, text, "-m", err);
    return model_list(&names, &n, err) != 0 ? -1 : take_names(l, names, n, err);
}

/* Kind of machines that a word selects: HW_CPU, ...; -1: none, -2: all. */
static int kind_of(const char *word)
{
    static const enum hw_kind kinds[] = { HW_CPU, HW_GPU, HW_APU, HW_NPU };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcasecmp(word, hw_kind_name(kinds[i])) == 0)
            return (int)kinds[i];
    return strcasecmp(word, "all") == 0 ? -2 : -1;
}

static int add_machine(struct sweep_grid *g, const char *name, int kind, struct error *err)
{
    struct hwprofile h;
    if (machine_load(&h, name, err) != 0)
        return -1;
    bool wanted = kind < 0 || (int)h.kind == kind;
    for (size_t i = 0; i < g->hw.n && kind != -1; i++) /* already in the grid */
        wanted &= strcmp(g->machine[i].id, h.id) != 0;
    struct hwprofile *machine = wanted ? realloc(g->machine, (g->hw.n + 1) * sizeof *machine) : NULL;
    if (machine)
        g->machine = machine;
    char **names = machine ? realloc(g->hw.v, (g->hw.n + 1) * sizeof *names) : NULL;
    if (names)
        g->hw.v = names;
    char *copy = names ? strdup(name) : NULL;
    if (!copy) {
        hwprofile_free(&h);
        return wanted ? error_oom(err, sizeof h, "the machines") : 0;
    }
    g->machine[g->hw.n] = h;
    g->hw.v[g->hw.n++] = copy;
    return 0;
}

static int add_kind(struct sweep_grid *g, int kind, struct error *err)
{
    char **names;
    size_t n;
    int rc = hwprofile_list(&names, &n, err);
    if (rc != 0)
        return -1;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = add_machine(g, names[i], kind, err);
    name_list_free(names, n);
    return rc;
}

/* Names, and words that select every profile of a kind. */
static int parse_machines(struct sweep_grid *g, const char *text, struct error *err)
{
    struct str_list items;
    if (str_list_parse(&items, text, "--hw", err) != 0)
        return -1;
    int rc = 0;
    for (size_t i = 0; i < items.n && rc == 0; i++) {
        const int kind = kind_of(items.v[i]);
        rc = kind == -1 ? add_machine(g, items.v[i], kind, err) : add_kind(g, kind, err);
    }
    str_list_free(&items);
    if (rc == 0 && g->hw.n == 0)
        return error_set(err, ERROR_INPUT, "--hw %s: no profile of that kind", text);
    return rc;
}

static int parse_kv(struct sweep_grid *g, const char *text, struct error *err)
{
    if (str_list_parse(&g->kv, text, "--kv-type", err) != 0)
        return -1;
    g->kv_type = calloc(g->kv.n, sizeof *g->kv_type);
    if (!g->kv_type)
        return error_oom(err, g->kv.n * sizeof *g->kv_type, "the types of the cache");
    for (size_t i = 0; i < g->kv.n; i++)
        if (dtype_get_kv(&g->kv_type[i], g->kv.v[i], err) != 0)
            return -1;
    return 0;
}

/* Resolves aliases of types. */
static int parse_types(struct str_list *l, const char *arg, struct error *err)
{
    if (str_list_parse(l, arg, "-q", err) != 0)
        return -1;
    for (size_t i = 0; i < l->n; i++) {
        char buf[24];
        const char *type = l->v[i];
        if (strcmp(type, "own") != 0 && pricing_type(&type, buf, sizeof buf, l->v[i], "-q", err) != 0)
            return -1;
        if (type == l->v[i])
            continue;
        free(l->v[i]);
        if (!(l->v[i] = strdup(type)))
            return error_oom(err, strlen(type) + 1, "-q");
    }
    return 0;
}

static int grid_init(struct sweep_grid *g, const struct options *o, struct error *err)
{
    *g = (struct sweep_grid){ .n_ubatch = (uint32_t)o->n_ubatch,
                              .roof = o->roof,
                              .kv_type_given = o->kv_type_given,
                              .jsonl = o->format == REPORT_JSONL,
                              .routing = o->price.routing,
                              .materialized = o->price.materialized,
                              .limits = o->software.limits };
    sweep_columns_init(&g->columns);
    if (!o->model)
        return error_set(err, ERROR_USAGE, "no models: expected -m NAME,... or -m all");
    if (int_list_parse(&g->tp, o->tp, 1, 1024, "--tp", err) != 0 || int_list_parse(&g->pp, o->pp, 1, 1024, "--pp", err) != 0 ||
        int_list_parse(&g->dp, o->dp, 1, 4096, "--dp", err) != 0 || int_list_parse(&g->ep, o->ep, 1, 4096, "--ep", err) != 0 ||
        int_list_parse(&g->batch, o->n_batch, 1, 65536, "-b", err) != 0 ||
        int_list_parse(&g->depth, o->n_depth, 0, INT32_MAX, "-d", err) != 0 ||
        int_list_parse(&g->prompt, o->n_prompt, 0, INT32_MAX, "-p", err) != 0 ||
        int_list_parse(&g->gen, o->n_gen, 0, INT32_MAX, "-n", err) != 0 || parse_kv(g, o->kv, err) != 0 ||
        parse_types(&g->type, o->type, err) != 0 || parse_machines(g, o->hw, err) != 0)
        return -1;
    for (size_t i = 0; g->n_ubatch > 0 && i < g->prompt.n; i++) /* without -ub it depends on the row */
        if (g->prompt.v[i] / g->n_ubatch > PREFILL_MAX_PASSES)
            return error_set(err, ERROR_USAGE, "-p %" PRId64 " in passes of %u: more than %d passes", g->prompt.v[i], g->n_ubatch,
                             PREFILL_MAX_PASSES);
    return parse_models(&g->model, o->model, err);
}

/* Reports wrong names before the first row. */
static int check_names(const struct sweep_grid *g, const struct options *o, struct error *err)
{
    const bool named = strcmp(o->model, "all") != 0;
    for (size_t i = 0; i < sweep_n_unit(g); i++) {
        struct sweep_unit u;
        if (i >= g->type.n && (!named || i % g->type.n != 0)) /* every type with the first model, every model with the first type */
            continue;
        if (interrupt_check(err) != 0 || sweep_unit_init(&u, g, i, err) != 0)
            return -1;
        if (*u.m.note && (i % g->type.n == 0 || strcmp(g->type.v[i % g->type.n], "own") == 0))
            notify_note("%s: %s", u.m.name, u.m.note);
        sweep_unit_free(&u);
    }
    return 0;
}

static void grid_free(struct sweep_grid *g)
{
    struct int_list *ints[] = { &g->tp, &g->pp, &g->dp, &g->ep, &g->batch, &g->depth, &g->prompt, &g->gen };
    for (size_t i = 0; i < ARRAY_LEN(ints); i++)
        int_list_free(ints[i]);
    for (size_t i = 0; g->machine && i < g->hw.n; i++)
        hwprofile_free(&g->machine[i]);
    free(g->machine);
    free(g->kv_type);
    str_list_free(&g->model);
    str_list_free(&g->type);
    str_list_free(&g->kv);
    str_list_free(&g->hw);
}

/* ---- predictions ------------------------------------------------------------------------------- */

enum { BLOCK = 64 }; /* chunks predicted before their rows are written */

/* Chunks [first, end) of one unit, claimed by threads one at a time. */
struct block {
    const struct sweep_grid *g;
    const struct sweep_unit *u;
    size_t first, end;
    _Atomic size_t next;
    struct strbuf text[BLOCK];
};

static void predict_block(void *arg, int tid, int n_threads)
{
    struct block *b = arg;
    (void)tid;
    (void)n_threads;
    for (size_t i; (i = atomic_fetch_add(&b->next, 1)) < b->end && interrupt_check(NULL) == 0;)
        sweep_chunk(&b->text[i - b->first], b->g, b->u, i);
}

static int write_text(FILE *f, struct strbuf *b, struct error *err)
{
    const bool oom = b->oom, bad = !oom && b->len > 0 && fwrite(b->s, 1, b->len, f) != b->len;
    const int e = errno;
    strbuf_free(b);
    if (oom)
        return error_oom(err, 0, "the rows");
    return bad ? error_write(err, e, "cannot write the rows") : 0;
}

struct part {
    size_t first, end; /* chunks of the whole grid */
};

static struct part part_of(const struct sweep_grid *g, int rank, int n)
{
    const size_t all = sweep_n_unit(g) * sweep_n_chunk(g);
    return (struct part){ all * (size_t)rank / (size_t)n, all * ((size_t)rank + 1) / (size_t)n };
}

static int predict_chunks(const struct sweep_grid *g, struct team *team, const struct sweep_unit *u, size_t first, size_t end,
                       FILE *f, struct error *err)
{
    struct block *b = calloc(1, sizeof *b);
    int rc = b ? 0 : error_oom(err, sizeof *b, "a block of rows");
    for (size_t at = first; at < end && rc == 0; at += BLOCK) {
        *b = (struct block){ .g = g, .u = u, .first = at, .end = u64_min(at + BLOCK, end), .next = at };
        team_run(team, predict_block, b);
        rc = interrupt_check(err); /* an interrupted block may lack rows: discard it */
        for (size_t i = 0; i < BLOCK; i++)
            if (rc != 0)
                strbuf_free(&b->text[i]);
            else
                rc = write_text(f, &b->text[i], err);
    }
    free(b);
    return rc;
}

static int predict_part(const struct sweep_grid *g, struct team *team, struct part p, FILE *f, bool progress, struct error *err)
{
    const size_t chunks = sweep_n_chunk(g);
    double shown = clock_now_s() + 1; /* no progress in the first two seconds */
    int rc = 0;
    for (size_t at = p.first; at < p.end && rc == 0;) {
        const size_t unit = at / chunks, end = u64_min((unit + 1) * chunks, p.end);
        struct sweep_unit u;
        rc = sweep_unit_init(&u, g, unit, err);
        if (rc != 0)
            break;
        rc = predict_chunks(g, team, &u, at, end, f, err);
        sweep_unit_free(&u);
        at = end;
        if (progress && clock_now_s() > shown + 1) {
            char what[64];
            snprintf(what, sizeof what, "%zu configurations", sweep_first_row(g, at) - sweep_first_row(g, p.first));
            notify_progress(NULL, what, (double)(at - p.first) / (double)(p.end - p.first));
            shown = clock_now_s();
        }
    }
    if (progress)
        notify_progress_done();
    return rc;
}

/* ---- one process, or several ----------------------------------------------------------------------- */

struct sweeping {
    const struct sweep_grid *g;
    struct team *team;
    struct sweep_ranks ranks;
};

/* mpirun ends all ranks when one dies: reports the missing parts, a line per rank. */
static int report_missing(struct sweeping *x, int from, struct error *err)
{
    enum { MOST = 16 };
    char first[200], last[200];
    for (int rank = from; rank < x->ranks.n && rank < from + MOST; rank++) {
        const struct part p = part_of(x->g, rank, x->ranks.n);
        notify_warn("missing, of rank %d: configurations %zu to %zu (%s ... %s)", rank, sweep_first_row(x->g, p.first) + 1,
                    sweep_first_row(x->g, p.end), sweep_chunk_name(first, sizeof first, x->g, p.first),
                    sweep_chunk_name(last, sizeof last, x->g, p.end > p.first ? p.end - 1 : p.first));
    }
    return error_set(err, ERROR_INTERRUPTED, "a rank ended early, or the run was interrupted: the parts of ranks %d to %d are "
                     "missing, nothing was saved", from, x->ranks.n - 1);
}

static int write_all(struct sweeping *x, FILE *f, struct error *err)
{
    struct strbuf head = { 0 };
    sweep_header(&head, x->g);
    int rc = write_text(f, &head, err), rank = 0;
    if (rc == 0)
        rc = predict_part(x->g, x->team, part_of(x->g, 0, x->ranks.n), f, true, err);
    for (rank = rc == 0; rc == 0 && rank < x->ranks.n; rank++)
        if ((rc = sweep_ranks_collect(&x->ranks, rank, f, err)) != 0)
            break;
    return rc != 0 && x->ranks.n > 1 && err->kind == ERROR_INTERRUPTED ? report_missing(x, rank, err) : rc;
}

/* Saves the completed rows under another name. */
static int keep_rows(struct outfile *out, struct error *err)
{
    struct error why = *err;
    char *partial = cli_partial_path(out->path, err);
    if (!partial)
        return -1;
    free(out->path);
    out->path = partial;
    char *name = strdup(partial);
    if (outfile_commit(out, err) == 0)
        error_set(err, why.kind, "%.300s: completed rows are in %s", why.msg, name ? name : "a file next to it");
    free(name);
    return -1;
}

static int first_rank(struct sweeping *x, const char *save, struct error *err)
{
    struct outfile out;
    const double t0 = clock_now_s();
    if (outfile_open(&out, save ? save : "-", err) != 0)
        return -1;
    if (write_all(x, out.f, err) != 0) {
        if (out.tmp && x->ranks.n == 1 && err->kind == ERROR_INTERRUPTED)
            return keep_rows(&out, err);
        outfile_abort(&out);
        return -1;
    }
    if (outfile_commit(&out, err) != 0)
        return -1;
    const double n = (double)(sweep_n_unit(x->g) * sweep_n_cell(x->g) * sweep_n_row(x->g)), s = clock_now_s() - t0;
    notify_note("%.0f configurations in %.3g s: %.3g microseconds each, on %d thread%s of %d process%s", n, s, s / n * 1e6,
                team_size(x->team), team_size(x->team) == 1 ? "" : "s", x->ranks.n, x->ranks.n == 1 ? "" : "es");
    return 0;
}

/* Rows are buffered in a file until rank 0 collects them, so no rank waits for earlier parts. */
static int other_rank(struct sweeping *x, struct error *err)
{
    FILE *f = tmpfile();
    struct error failed = { 0 };
    if (!f)
        error_set(&failed, ERROR_SYSTEM, "cannot make a temporary file: %s", strerror(errno));
    else
        (void)predict_part(x->g, x->team, part_of(x->g, x->ranks.rank, x->ranks.n), f, false, &failed);
    const int rc = sweep_ranks_deliver(&x->ranks, f, &failed, err);
    if (f)
        fclose(f);
    return rc;
}

static int run(struct sweeping *x, const struct options *o, struct error *err)
{
    struct sweep_grid g;
    struct software *software = NULL;
    int rc = grid_init(&g, o, err);
    x->g = &g;
    if (rc == 0) {
        const struct software_query asked = { o->roof, o->price.materialized, &g.hw, g.model.n == 1 ? g.model.v[0] : NULL,
                                              g.type.n == 1 ? g.type.v[0] : NULL, g.tp.n == 1 ? (int)g.tp.v[0] : 0 };
        rc = software_load(&software, &o->software, &asked, err);
    }
    g.software = software_time(software);
    g.time = o->roof ? NULL : g.software;
    if (rc == 0)
        rc = check_names(&g, o, err);
    if (rc == 0 && !(x->team = setup_team(o->threads, err)))
        rc = -1;
    if (rc == 0)
        rc = x->ranks.rank == 0 ? first_rank(x, o->save, err) : other_rank(x, err);
    team_free(x->team);
    grid_free(&g);
    software_free(software);
    return rc;
}

int cmd_sweep(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Predict every combination of models, types, machines, layouts, batches and contexts: a row each, in the order of the "
        "grid, as CSV or JSON lines.\v"
        "Lists are N,N,... or ranges: 1-8, 0-8192+1024, 1-128*2. An impossible configuration (devices that do not divide the "
        "heads, no peak, no link) has a row with the reason in its last field. Under mpirun each rank predicts a part of "
        "the grid; the order of the rows is the same.\n\n"
        "  roofcast sweep -m llama-3.1-70b -q Q8_0,Q4_K_M --hw h100-sxm,h200-sxm --tp 1-8*2 -b 1-256*2 -d 0-32768+4096 > grid.csv\n"
        "  roofcast sweep -m all -q Q4_K_M --hw gpu -b 1,8,64 -o jsonl --save everything.jsonl\n"
        "  mpirun -n 4 roofcast sweep -m deepseek-v3 --hw all --tp 1-8*2 --ep 1-64*2 --dp 1-8*2 --save grid.csv\n";
    static const int exclusive[][CLI_EXCLUSIVE] = { { OPT_ROOF, SOFTWARE_STACK }, { OPT_ROOF, SOFTWARE_ANCHOR }, { 0 } };
    static const struct cli_syntax syntax = { option_table, parse, "[MODEL,...]", doc, exclusive };
    struct options o = { .hw = "this", .type = "F16", .kv = "F16", .tp = "1", .pp = "1", .dp = "1", .ep = "1",
                         .n_batch = "1", .n_depth = "0", .n_prompt = "512", .n_gen = "128",
                         .format = REPORT_CSV, .price = PRICING_DEFAULTS };
    struct sweeping x = { 0 };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0 || cli_keep_arguments(argc, argv, "--save", o.save, err) != 0)
        return -1;
    if (o.format != REPORT_CSV && o.format != REPORT_JSONL)
        return error_set(err, ERROR_USAGE, "-o: a sweep is written as csv or jsonl");
    if (sweep_ranks_init(&x.ranks, err) != 0)
        return -1;
    const int rc = run(&x, &o, err);
    sweep_ranks_free(&x.ranks, rc != 0);
    pricing_free(&o.price);
    return rc;
}
