/* roofcast bench: measured prefill and decode; options and columns follow llama-bench. */
#include "base/environment.h"
#include "bench/bench.h"
#include "cli/bench_against.h"
#include "cli/bench_foreign.h"
#include "cli/here.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *models, *p, *n, *d, *t, *b, *n_seq, *ub, *block, *save, *out;
    const char *pair[BENCH_MOST_PAIRS]; /* -pg */
    size_t n_pair;
    struct bench_print print;
    struct bench_how how;
    bool keep, paged;
    struct against against;
};

enum { OPT_UB = 256, OPT_OPS, OPT_SAVE, OPT_KEEP, OPT_COUNTERS, OPT_UNCALIBRATED, OPT_BRIEF, OPT_QUIET, OPT_BY, OPT_PG, OPT_N_SEQ, OPT_DELAY, OPT_NO_WARMUP, OPT_OE, OPT_PAGED, OPT_BLOCK };
enum { MOST_BATCH = 256, MOST_SEQUENCES = 4096 };

static const struct argp_option option_table[] = {
    { "model", 'm', "FILE,...", 0, "GGUF file(s)", 0 },
    { "n-prompt", 'p', "N,...", 0, "prompt tokens of the prefill tests; 0 skips them (default 512)", 0 },
    { "n-gen", 'n', "N,...", 0, "generated tokens of the decode tests; 0 skips them (default 128)", 0 },
    { "pg", OPT_PG, "PP,TG", CLI_AGAIN, "time a prompt of PP tokens and the generation of TG tokens after it, as a line of llama-batched-bench's table (repeatable)", 0 },
    { "n-depth", 'd', "N,...", 0, "context before the test: tokens in the KV cache (default 0)", 0 },
    { "threads", 't', "N,...", 0, "threads (default: one per usable core)", 0 },
    { "repetitions", 'r', "N", 0, "repetitions of each test (default 5)", 0 },
    { "n-batch", 'b', "N,...", 0,
      "sequences decoded in parallel, each with its own KV cache (default 1). Above 1, generation continues after the prompt, and "
      "tests with both also print llama-batched-bench's table", 0 },
    { "n-seq", OPT_N_SEQ, "N,...", 0, "like -b, also for more than 256 sequences", 0 },
    { "ub", OPT_UB, "N,...", 0, "prompt tokens per pass (default 512)", 0 },
    { "ubatch-size", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "paged", OPT_PAGED, NULL, 0,
      "time every test in a contiguous KV cache and in a paged one, whose blocks lie in random order, repetition by repetition in turn, and print "
      "the ratio", 0 },
    { "block-size", OPT_BLOCK, "N,...", 0,
      "positions of a block of the paged KV cache: 8, 16, 32, 64 or 128 (default 16). Without --paged: only these caches, of which 0 is a "
      "contiguous one; several are timed in turn", 0 },
    { "output", 'o', "FORMAT", 0, "table, csv, json, jsonl, md or sql (default table)", 0 },
    { "output-err", OPT_OE, "FORMAT", 0, "also print the tests in FORMAT to standard error", 0 },
    { "oe", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "ops", OPT_OPS, NULL, 0, "time every op in one more repetition: a row per role", 0 },
    { "by", OPT_BY, "role|layer", 0, "with --ops: a row per role (default), or in addition a row per op of every layer; csv, json, jsonl and sql have both", 0 },
    { "delay", OPT_DELAY, "SECONDS", 0, "seconds to wait before each test (default 0)", 0 },
    { "no-warmup", OPT_NO_WARMUP, NULL, 0, "skip the untimed pass before the repetitions", 0 },
    { "save", OPT_SAVE, "RUN.json", 0, "save the run with its provenance, for plot", 0 },
    { "keep", OPT_KEEP, NULL, 0, "save the run in $XDG_DATA_HOME/roofcast/runs, named by date and model", 0 },
    CLI_ENGINE_OPTIONS,
    CLI_ACT_SCALES_OPTION,
    { "counters", OPT_COUNTERS, "NAME", 0,
      "backend that counts hardware events in separate repetitions: auto (default), null (none), perf, papi, likwid, or replay:FILE, "
      "a recording of perf or likwid (roofcast list counters shows which are usable)", 0 },
    { "uncalibrated", OPT_UNCALIBRATED, NULL, 0,
      "use hardware events without calibrating them on known work first: an event may count nothing, or something else", 0 },
    { "brief", OPT_BRIEF, NULL, 0,
      "probe the roofs for a few milliseconds in little memory: a functional test, MBU and MFU are inaccurate", 0 },
    { "quiet", OPT_QUIET, NULL, 0, "print no progress to standard error", 0 },
    AGAINST_OPTIONS,
    BENCH_FOREIGN_OPTIONS,
    { 0 },
};

static int parse_more(struct options *o, int key, const char *arg, struct error *err)
{
    switch (key) {
    case OPT_BY:
        o->print.by_layer = strcmp(arg, "layer") == 0;
        return o->print.by_layer || strcmp(arg, "role") == 0 ? 0 : error_set(err, ERROR_USAGE, "--by: expected role or layer, found \"%s\"", arg);
    case OPT_PG:
        if (o->n_pair == BENCH_MOST_PAIRS)
            return error_set(err, ERROR_USAGE, "-pg: more than %d pairs", BENCH_MOST_PAIRS);
        o->pair[o->n_pair++] = arg;
        return 0;
    case OPT_N_SEQ:
        return cli_text(&o->n_seq, arg);
    case OPT_PAGED:
        return cli_flag(&o->paged);
    case OPT_BLOCK:
        return cli_text(&o->block, arg);
    case OPT_DELAY:
        return parse_double(arg, 0, 86400, "--delay", &o->how.delay_s, err);
    case OPT_NO_WARMUP:
        return cli_flag(&o->how.no_warmup);
    case OPT_OE:
        o->print.also = stderr;
        return report_format_find(arg, &o->print.also_format, err);
    default:
        break;
    }
    int rc = against_option(&o->against, key, arg, err);
    rc = rc == CLI_UNKNOWN ? bench_foreign_option(key, arg, err) : rc;
    return rc == CLI_UNKNOWN ? cli_engine_option(&o->how.engine, key, arg, err) : rc;
}

/* Options of this process alone with --against. */
static bool is_own_option(int key)
{
    return key == 'o' || key == 'r' || key == OPT_OE || key == OPT_SAVE || key == OPT_KEEP || key == OPT_QUIET;
}

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    if (!is_own_option(key) && against_remember(&o->against, option_table, key, arg, err) != 0)
        return -1;
    switch (key) {
    case 'm':
        return cli_text(&o->models, arg);
    case 'p':
        return cli_text(&o->p, arg);
    case 'n':
        return cli_text(&o->n, arg);
    case 'd':
        return cli_text(&o->d, arg);
    case 't':
        return cli_text(&o->t, arg);
    case 'r':
        return parse_int(arg, 1, 10000, "-r", &o->how.reps, err);
    case 'b':
        return cli_text(&o->b, arg);
    case 'o':
        return report_format_find(arg, &o->print.format, err);
    case OPT_UB:
        return cli_text(&o->ub, arg);
    case OPT_OPS:
        return cli_flag(&o->print.ops);
    case OPT_SAVE:
        return cli_text(&o->save, arg);
    case OPT_KEEP:
        return cli_flag(&o->keep);
    case OPT_COUNTERS:
        return cli_text(&o->how.counters, arg);
    case OPT_UNCALIBRATED:
        return cli_flag(&o->how.uncalibrated);
    case OPT_BRIEF:
        return cli_flag(&o->how.brief);
    case OPT_QUIET:
        cli_set_quiet(true);
        return 0;
    default:
        return parse_more(o, key, arg, err);
    }
}

static void grid_free(struct bench_grid *g)
{
    str_list_free(&g->model);
    int_list_free(&g->p);
    int_list_free(&g->n);
    int_list_free(&g->d);
    int_list_free(&g->t);
    int_list_free(&g->b);
    int_list_free(&g->ub);
    int_list_free(&g->block);
    for (size_t i = 0; i < g->n_pair; i++)
        int_list_free(&g->pair[i]);
}

static bool any(const struct int_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i] > 0)
            return true;
    return false;
}

static int pairs_parse(struct bench_grid *g, const struct options *o, struct error *err)
{
    for (; g->n_pair < o->n_pair; g->n_pair++) {
        struct int_list *l = &g->pair[g->n_pair];
        const char *text = o->pair[g->n_pair];
        if (int_list_parse(l, text, 1, 1 << 24, "-pg", err) != 0)
            return -1;
        if (l->n != 2) {
            int_list_free(l);
            return error_set(err, ERROR_USAGE, "-pg: expected PP,TG such as 512,128, found \"%.64s\"", text);
        }
    }
    return 0;
}

/* llama-bench's -b is a limit on the tokens of a pass, 2048 by default: a large -b is probably meant as such. */
static int sequences_parse(struct bench_grid *g, const struct options *o, struct error *err)
{
    if (o->n_seq)
        return int_list_parse(&g->b, o->n_seq, 1, MOST_SEQUENCES, "--n-seq", err);
    if (int_list_parse(&g->b, o->b ? o->b : "1", 1, MOST_SEQUENCES, "-b", err) != 0)
        return -1;
    if (int_list_largest(&g->b) <= MOST_BATCH)
        return 0;
    return error_set(err, ERROR_USAGE, "-b %s: in roofcast -b is the number of parallel sequences (llama-bench's -b limits the tokens of a pass: use -ub). "
                                       "--n-seq %s runs that many sequences", o->b, o->b);
}

/* --paged, --block-size: the contiguous cache first, then the paged ones. */
static int blocks_parse(struct bench_grid *g, const struct options *o, struct error *err)
{
    char text[256];
    const char *sizes = o->block ? o->block : o->paged ? "16" : "0";
    if ((size_t)snprintf(text, sizeof text, "%s%s", o->paged ? "0," : "", sizes) >= sizeof text)
        return error_set(err, ERROR_USAGE, "--block-size: more than %d caches", BENCH_MOST_CACHES);
    if (int_list_parse(&g->block, text, 0, 128, "--block-size", err) != 0)
        return -1;
    if (g->block.n > BENCH_MOST_CACHES)
        return error_set(err, ERROR_USAGE, "--block-size: more than %d caches", BENCH_MOST_CACHES);
    for (size_t i = 0; i < g->block.n; i++) {
        const int64_t v = g->block.v[i];
        if (v != 0 && (v < 8 || (v & (v - 1)) != 0))
            return error_set(err, ERROR_USAGE, "--block-size: expected 8, 16, 32, 64 or 128, found %lld", (long long)v);
        for (size_t k = 0; k < i; k++)
            if (g->block.v[k] == v)
                return error_set(err, ERROR_USAGE, "--block-size: %lld twice%s", (long long)v, v == 0 && o->paged ? " (--paged adds it)" : "");
    }
    return 0;
}

static int grid_parse(struct bench_grid *g, const struct options *o, struct error *err)
{
    enum { MAX = 1 << 24 };
    if (!o->models)
        return error_set(err, ERROR_USAGE, "-m FILE is needed: a GGUF file (`roofcast synth` writes one)");
    if (str_list_parse(&g->model, o->models, "-m", err) != 0 ||
        int_list_parse(&g->p, o->p, 0, MAX, "-p", err) != 0 || int_list_parse(&g->n, o->n, 0, MAX, "-n", err) != 0 ||
        int_list_parse(&g->d, o->d, 0, MAX, "-d", err) != 0 || (o->t ? int_list_parse(&g->t, o->t, 1, 1 << 20, "-t", err) : int_list_parse(&g->t, "0", 0, 0, "-t", err)) != 0 ||
        sequences_parse(g, o, err) != 0 || blocks_parse(g, o, err) != 0 || pairs_parse(g, o, err) != 0 ||
        int_list_parse(&g->ub, o->ub, 1, 1 << 16, "-ub", err) != 0)
        return -1;
    if (!any(&g->p) && !any(&g->n) && g->n_pair == 0)
        return error_set(err, ERROR_USAGE, "-p 0 and -n 0: nothing to measure");
    if (o->print.by_layer && !o->print.ops)
        return error_set(err, ERROR_USAGE, "--by layer needs --ops");
    if (o->print.ops && (g->model.n > 1 || g->t.n > 1 || g->ub.n > 1))
        return error_set(err, ERROR_USAGE, "--ops: expected one model, one -t and one -ub");
    return 0;
}

/* Models and machines of all tests, opened before the first test, so that a wrong name fails early. */
struct inputs {
    struct model *model;         /* [grid.model.n], n_model of them open */
    struct setup *machine; /* [grid.t.n], n_machine of them open */
    size_t n_model, n_machine;
};

static int inputs_open(struct inputs *in, const struct bench_grid *g, const struct options *o, struct error *err)
{
    *in = (struct inputs){ calloc(g->model.n, sizeof *in->model), calloc(g->t.n, sizeof *in->machine), 0, 0 };
    if (!in->model || !in->machine)
        return error_oom(err, g->model.n * sizeof *in->model + g->t.n * sizeof *in->machine, "the models");
    for (; in->n_model < g->model.n; in->n_model++) {
        struct model *m = &in->model[in->n_model];
        const char *path = g->model.v[in->n_model];
        if (setup_model_open_cold(m, path, err) != 0)
            return -1;
        if (cli_keep_input(path, m->gguf, "--save", o->save, err) != 0) {
            model_free(m);
            return -1;
        }
    }
    for (; in->n_machine < g->t.n; in->n_machine++)
        if (setup_init(&in->machine[in->n_machine], g->t.v[in->n_machine], &o->how.engine, err) != 0)
            return -1;
    return o->save ? outfile_check(o->save, err) : 0;
}

static void inputs_close(struct inputs *in)
{
    while (in->n_model > 0)
        model_free(&in->model[--in->n_model]);
    while (in->n_machine > 0)
        setup_free(&in->machine[--in->n_machine]);
    free(in->model);
    free(in->machine);
}

static int run_model(struct bench_results *res, const struct model *m, const struct bench_grid *g, const struct inputs *in,
                     const struct options *o, struct error *err)
{
    int rc = setup_model_warm(m, err);
    for (size_t i = 0; i < in->n_machine && rc == 0; i++)
        for (size_t k = 0; k < g->ub.n && rc == 0; k++)
            rc = bench_grid_run(res, m, g, &o->how, &in->machine[i], (uint32_t)g->ub.v[k], err);
    return rc;
}

static int run_models(struct bench_results *res, const struct bench_grid *g, const struct options *o, struct error *err)
{
    struct inputs in = { 0 };
    int rc = inputs_open(&in, g, o, err);
    for (size_t i = 0; rc == 0 && i < in.n_model; i++)
        rc = run_model(res, &in.model[i], g, &in, o, err);
    notify_progress_done();
    inputs_close(&in);
    return rc;
}

static void fill_provenance(struct provenance *p, int argc, char **argv)
{
    size_t len = 0;
    for (int i = 0; i < argc && len < sizeof p->command; i++)
        len += (size_t)snprintf(p->command + len, sizeof p->command - len, "%s%s", i ? " " : "", argv[i]);
    snprintf(p->profile, sizeof p->profile, "%s", "concurrent probes");
}

/* Saves, then prints; a failure of one does not prevent the other. */
static int keep(struct bench_results *res, const struct options *o, struct error *err)
{
    struct error print_err = { 0 };
    int rc = bench_findings(&res->run, &o->how.stored, err);
    if (o->save && run_save(&res->run, o->save, rc == 0 ? err : NULL) != 0)
        rc = -1;
    if (bench_print(res, &o->print, &print_err) == 0)
        return rc;
    if (rc == 0)
        *err = print_err;
    return -1;
}

/* After a failure or an interrupt: saves and prints the completed tests; the command still fails. */
static int keep_done(struct bench_results *res, const struct options *o, struct error *err)
{
    struct error failed = { 0 };
    const size_t n = res->run.n_row;
    snprintf(res->run.incomplete, sizeof res->run.incomplete, "%.300s", err->msg);
    if (keep(res, o, &failed) == 0)
        return error_set(err, err->kind, "%s: %zu completed test%s %s printed%s%s", res->run.incomplete, n, n == 1 ? "" : "s",
                         n == 1 ? "is" : "are", o->save ? " and saved to " : "", o->save ? o->save : "");
    if (failed.kind != ERROR_PIPE)
        notify_warn("%s", failed.msg);
    return -1;
}

static int run(const struct options *o, int argc, char **argv, struct error *err)
{
    struct bench_grid g = { 0 };
    struct bench_results res = { .batches = { .size = bench_batch_size } };
    int rc = grid_parse(&g, o, err);
    rc = rc == 0 ? run_models(&res, &g, o, err) : rc;
    fill_provenance(&res.run.prov, argc, argv);
    if (rc == 0)
        rc = keep(&res, o, err);
    else if (res.run.n_row > 0)
        rc = keep_done(&res, o, err);
    run_free(&res.run);
    run_free(&res.roles);
    table_rows_free(&res.batches);
    grid_free(&g);
    return rc;
}

/* ---- --against --------------------------------------------------------------------------------------------------- */

/* What llama-bench has no option for. */
static int check_llama_bench(const struct options *o, const struct bench_grid *g, struct error *err)
{
    const char *what = g->model.n > 1 ? "several models" : g->n_pair > 0 ? "-pg" : int_list_largest(&g->b) > 1 ? "several sequences (-b, --n-seq)" :
                       o->paged || o->block ? "a paged KV cache (--paged, --block-size)" : o->print.ops ? "--ops" : o->how.delay_s > 0 ? "--delay" : NULL;
    return !what ? 0 : error_set(err, ERROR_USAGE, "--against-llama-bench: llama-bench does not measure %s as roofcast does", what);
}

static int check_against(const struct options *o, struct error *err)
{
    const char *what = o->keep ? "--keep" : o->print.also ? "--output-err" : NULL;
    return !what ? 0 : error_set(err, ERROR_USAGE, "%s: not with --against, which saves the comparison (--save)", what);
}

static int run_against(const struct options *o, struct error *err)
{
    struct bench_grid g = { 0 };
    struct setup machine = { 0 };
    char threads[16];
    struct against_tests t = { .model = o->models, .p = o->p, .n = o->n, .d = o->d, .t = o->t ? o->t : threads, .ub = o->ub, .cpus = o->how.engine.cpus, .numa = o->how.engine.numa,
                               .reps = o->how.reps, .type_k = o->how.engine.type_k, .type_v = o->how.engine.type_v, .no_warmup = o->how.no_warmup };
    const struct against_output out = { o->print.format, o->save, o->print.ops && o->print.format != REPORT_TABLE && o->print.format != REPORT_MD };
    int rc = check_against(o, err);
    rc = rc == 0 ? grid_parse(&g, o, err) : rc;
    rc = rc == 0 && o->against.llama_bench ? check_llama_bench(o, &g, err) : rc;
    rc = rc == 0 ? setup_init(&machine, 0, &o->how.engine, err) : rc;
    rc = rc == 0 && o->save ? outfile_check(o->save, err) : rc;
    if (rc == 0) {
        snprintf(threads, sizeof threads, "%d", machine.n_threads);
        rc = against_run(&o->against, &t, &out, err);
    }
    setup_free(&machine);
    grid_free(&g);
    return rc;
}

/* ---- the command ---------------------------------------------------------------------------------------------------- */

static int run_alone(struct options *o, int argc, char **argv, struct error *err)
{
    if (o->against.rounds > 0 || !isnan(o->against.fail_over))
        return error_set(err, ERROR_USAGE, "%s needs --against or --against-llama-bench", o->against.rounds > 0 ? "--rounds" : "--fail-over");
    char *kept = o->keep ? cli_run_path(o->models ? o->models : "run", err) : NULL;
    if (o->keep && !kept)
        return -1;
    o->save = kept ? kept : o->save;
    o->how.ops = o->print.ops;
    o->how.markers = cli_markers_open();
    if (o->how.markers && strcmp(o->how.counters, "auto") == 0) /* the tool programs the same counters */
        o->how.counters = "null";
    o->how.energy = energy_open(environment()->root, err);
    int rc = o->how.energy ? bench_stored_open(&o->how.stored, err) : -1;
    if (rc == 0) {
        rc = run(o, argc, argv, err);
        bench_stored_close(&o->how.stored);
    }
    energy_close(o->how.energy);
    cli_markers_close(o->how.markers);
    if (kept && rc == 0)
        notify_note("run saved: %s", kept);
    free(kept);
    return rc;
}

int cmd_bench(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Run prefill and decode on this machine and measure tokens/s and the share of its memory bandwidth (MBU) and peak (MFU) "
        "that they use.\v"
        "A test is ppN (prefill of N tokens) or tgN (decode of N tokens), @dN with a context of N tokens, @kvN in a paged KV cache with blocks of N. Bandwidth counts the weights and "
        "KV cache that the engine reads. MBU and MFU are relative to ceilings that probes measure between the repetitions.\n\n"
        "  roofcast bench -m model.gguf\n"
        "  roofcast bench -m model.gguf -p 512 -n 0 -t 1,2\n"
        "  roofcast bench -m model.gguf -p 0 -n 64 -d 0,4096 -o json\n"
        "  roofcast bench -m model.gguf -p 512 -n 32 -b 1,2,4,8\n"
        "  roofcast bench -m model.gguf -p 0 -n 0 -pg 512,128\n"
        "  roofcast bench -m model.gguf -p 0 -n 32 -d 0,8192 -b 1,16 --paged\n"
        "  roofcast bench -m model.gguf --ops --save run.json\n"
        "  roofcast bench -m model.gguf --against old/roofcast --fail-over 5%\n"
        "  roofcast bench -m model.gguf --against-llama-bench bin/llama-bench";
    static const int exclusive[][CLI_EXCLUSIVE] = { { 'b', OPT_N_SEQ }, { OPT_SAVE, OPT_KEEP }, { AGAINST_PROGRAM, AGAINST_LLAMA_BENCH }, { 0 } };
    static const struct cli_syntax syntax = { option_table, parse, "-m FILE", doc, exclusive };
    struct options o = { .p = "512", .n = "128", .d = "0", .ub = "512", .how = { .counters = "auto", .engine = SETUP_DEFAULT }, .against.fail_over = NAN };
    int rc = cli_parse(&syntax, argc, argv, &o, err);
    o.how.reps = o.how.reps > 0 ? o.how.reps : o.against.program ? 2 : 5;
    if (rc == 0)
        rc = o.against.program ? run_against(&o, err) : run_alone(&o, argc, argv, err);
    against_free(&o.against);
    return rc;
}
