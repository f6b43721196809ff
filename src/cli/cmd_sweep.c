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
#include <stdlib.h>
#include <string.h>

struct options {
    const char *save, *type;
    struct sweep_lists l;
    bool kv_type_given;
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
        return cli_text_once(&o->l.model, arg, "list of models", err);
    case 'q':
        return cli_text(&o->type, arg);
    case 'b':
        return cli_text(&o->l.n_batch, arg);
    case 'd':
        return cli_text(&o->l.n_depth, arg);
    case 'p':
        return cli_text(&o->l.n_prompt, arg);
    case 'n':
        return cli_text(&o->l.n_gen, arg);
    case 't':
        return parse_int(arg, 1, 1 << 20, "-t", &o->threads, err);
    case 'o':
        return report_format_find(arg, &o->format, err);
    case OPT_HW:
        return cli_text(&o->l.hw, arg);
    case OPT_KV:
        o->kv_type_given = true;
        return cli_text(&o->l.kv, arg);
    case OPT_TP:
        return cli_text(&o->l.tp, arg);
    case OPT_PP:
        return cli_text(&o->l.pp, arg);
    case OPT_DP:
        return cli_text(&o->l.dp, arg);
    case OPT_EP:
        return cli_text(&o->l.ep, arg);
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

/* ---- one process, or several ----------------------------------------------------------------------- */

struct sweeping {
    const struct sweep_grid *g;
    struct team *team;
    struct sweep_ranks ranks;
};

/* mpirun ends all ranks when one dies: reports the missing parts, a line per rank. */
static int say_missing(struct sweeping *x, int from, struct error *err)
{
    enum { MOST = 16 };
    char first[200], last[200];
    for (int rank = from; rank < x->ranks.n && rank < from + MOST; rank++) {
        const struct sweep_range p = sweep_part_of(x->g, rank, x->ranks.n);
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
    int rc = sweep_write(f, &head, err), rank = 0;
    if (rc == 0)
        rc = sweep_part(x->g, x->team, sweep_part_of(x->g, 0, x->ranks.n), f, true, err);
    for (rank = rc == 0; rc == 0 && rank < x->ranks.n; rank++)
        if ((rc = sweep_ranks_collect(&x->ranks, rank, f, err)) != 0)
            break;
    return rc != 0 && x->ranks.n > 1 && err->kind == ERROR_INTERRUPTED ? say_missing(x, rank, err) : rc;
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
        (void)sweep_part(x->g, x->team, sweep_part_of(x->g, x->ranks.rank, x->ranks.n), f, false, &failed);
    const int rc = sweep_ranks_deliver(&x->ranks, f, &failed, err);
    if (f)
        fclose(f);
    return rc;
}

static int run(struct sweeping *x, const struct options *o, struct error *err)
{
    struct sweep_grid g = { .n_ubatch = (uint32_t)o->n_ubatch, .roof = o->roof, .kv_type_given = o->kv_type_given, .jsonl = o->format == REPORT_JSONL,
                            .routing = o->price.routing, .materialized = o->price.materialized, .limits = o->software.limits };
    struct software *software = NULL;
    int rc = !o->l.model ? error_set(err, ERROR_USAGE, "no models: expected -m NAME,... or -m all")
           : parse_types(&g.type, o->type, err) != 0 ? -1 : sweep_grid_init(&g, &o->l, err);
    x->g = &g;
    if (rc == 0) {
        const struct software_query asked = { o->roof, o->price.materialized, &g.hw, g.model.n == 1 ? g.model.v[0] : NULL,
                                              g.type.n == 1 ? g.type.v[0] : NULL, g.tp.n == 1 ? (int)g.tp.v[0] : 0 };
        rc = software_load(&software, &o->software, &asked, err);
    }
    g.software = software_time(software);
    g.time = o->roof ? NULL : g.software;
    if (rc == 0)
        rc = sweep_grid_check(&g, strcmp(o->l.model, "all") == 0, err);
    if (rc == 0 && !(x->team = setup_team(o->threads, err)))
        rc = -1;
    if (rc == 0)
        rc = x->ranks.rank == 0 ? first_rank(x, o->save, err) : other_rank(x, err);
    team_free(x->team);
    sweep_grid_free(&g);
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
    struct options o = { .type = "F16", .l = { .hw = "this", .kv = "F16", .tp = "1", .pp = "1", .dp = "1", .ep = "1",
                                .n_batch = "1", .n_depth = "0", .n_prompt = "512", .n_gen = "128" },
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
