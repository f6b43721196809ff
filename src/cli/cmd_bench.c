/* roofcast bench: measured prefill and decode; options and columns follow llama-bench. */
#include "base/environment.h"
#include "bench/bench.h"
#include "cli/bench_foreign.h"
#include "cli/here.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PAIRS = 64 };

struct options {
    const char *models, *p, *n, *d, *t, *b, *n_seq, *ub, *counters, *save, *out;
    const char *pair[MOST_PAIRS]; /* -pg */
    size_t n_pair;
    int64_t reps;
    double delay_s;
    struct bench_print print;
    struct setup_options engine;
    bool uncalibrated, brief, no_warmup, keep;
    const struct marker_tool *markers; /* NULL: no tool counts this program */
    struct energy *energy;
    struct bench_stored stored;
};

enum { OPT_UB = 256, OPT_OPS, OPT_SAVE, OPT_KEEP, OPT_COUNTERS, OPT_UNCALIBRATED, OPT_BRIEF, OPT_QUIET, OPT_BY, OPT_PG, OPT_N_SEQ, OPT_DELAY, OPT_NO_WARMUP, OPT_OE };
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
        if (o->n_pair == MOST_PAIRS)
            return error_set(err, ERROR_USAGE, "-pg: more than %d pairs", MOST_PAIRS);
        o->pair[o->n_pair++] = arg;
        return 0;
    case OPT_N_SEQ:
        return cli_text(&o->n_seq, arg);
    case OPT_DELAY:
        return parse_double(arg, 0, 86400, "--delay", &o->delay_s, err);
    case OPT_NO_WARMUP:
        return cli_flag(&o->no_warmup);
    case OPT_OE:
        o->print.also_error = true;
        return report_format_find(arg, &o->print.error_format, err);
    default:
        break;
    }
    const int rc = bench_foreign_option(key, arg, err);
    return rc == CLI_UNKNOWN ? cli_engine_option(&o->engine, key, arg, err) : rc;
}

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
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
        return parse_int(arg, 1, 10000, "-r", &o->reps, err);
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
        return cli_text(&o->counters, arg);
    case OPT_UNCALIBRATED:
        return cli_flag(&o->uncalibrated);
    case OPT_BRIEF:
        return cli_flag(&o->brief);
    case OPT_QUIET:
        cli_set_quiet(true);
        return 0;
    default:
        return parse_more(o, key, arg, err);
    }
}

/* The lists of the command line, parsed. */
struct grid {
    struct str_list model;
    struct int_list p, n, d, t, b, ub;
    struct int_list pair[MOST_PAIRS]; /* of two: prompt, generated */
    size_t n_pair;
};

static void grid_free(struct grid *g)
{
    str_list_free(&g->model);
    int_list_free(&g->p);
    int_list_free(&g->n);
    int_list_free(&g->d);
    int_list_free(&g->t);
    int_list_free(&g->b);
    int_list_free(&g->ub);
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

static int64_t largest(const struct int_list *l)
{
    int64_t most = 0;
    for (size_t i = 0; i < l->n; i++)
        most = l->v[i] > most ? l->v[i] : most;
    return most;
}

static int pairs_parse(struct grid *g, const struct options *o, struct error *err)
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
static int sequences_parse(struct grid *g, const struct options *o, struct error *err)
{
    if (o->n_seq)
        return int_list_parse(&g->b, o->n_seq, 1, MOST_SEQUENCES, "--n-seq", err);
    if (int_list_parse(&g->b, o->b ? o->b : "1", 1, MOST_SEQUENCES, "-b", err) != 0)
        return -1;
    if (largest(&g->b) <= MOST_BATCH)
        return 0;
    return error_set(err, ERROR_USAGE, "-b %s: in roofcast -b is the number of parallel sequences (llama-bench's -b limits the tokens of a pass: use -ub). "
                                       "--n-seq %s runs that many sequences", o->b, o->b);
}

static int grid_parse(struct grid *g, const struct options *o, struct error *err)
{
    enum { MAX = 1 << 24 };
    if (!o->models)
        return error_set(err, ERROR_USAGE, "-m FILE is needed: a GGUF file (`roofcast synth` writes one)");
    if (str_list_parse(&g->model, o->models, "-m", err) != 0 ||
        int_list_parse(&g->p, o->p, 0, MAX, "-p", err) != 0 || int_list_parse(&g->n, o->n, 0, MAX, "-n", err) != 0 ||
        int_list_parse(&g->d, o->d, 0, MAX, "-d", err) != 0 || (o->t ? int_list_parse(&g->t, o->t, 1, 1 << 20, "-t", err) : int_list_parse(&g->t, "0", 0, 0, "-t", err)) != 0 ||
        sequences_parse(g, o, err) != 0 || pairs_parse(g, o, err) != 0 ||
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

/* Tests of one repetition: one, or a prompt and the generation after it. */
static int add_test(struct bench_results *res, const struct bench *b, const struct bench_test *t, size_t n_t, struct error *err)
{
    const size_t first_row = res->run.n_row;
    size_t op = res->run.n_op;
    double median_s[2];
    if (bench_run(&res->run, b, t, n_t, median_s, err) != 0)
        return -1;
    const struct run_row *row = &res->run.row[first_row];
    for (size_t k = 0, end; t->ops && k < n_t; k++, op = end) {
        for (end = op; end < res->run.n_op && strcmp(res->run.op[end].test, row[k].test) == 0; end++)
            ;
        if (bench_roles(&res->roles, &res->run, op, end, &row[k], err) != 0)
            return -1;
    }
    if (n_t == 2)
        bench_add_batch(&res->batches, &row[0], &row[1], median_s[0], median_s[1]);
    return 0;
}

/* Adds all rows of the test, or none. */
static int one_test(struct bench_results *res, const struct bench *b, const struct bench_test *t, size_t n_t, struct error *err)
{
    const struct run_mark run = run_mark(&res->run), roles = run_mark(&res->roles);
    if (add_test(res, b, t, n_t, err) == 0)
        return 0;
    run_cut(&res->run, &run);
    run_cut(&res->roles, &roles);
    return -1;
}

/* False: separate prompts and generations, as in llama-bench. True, with batches above 1: generation continues after the prompt,
 * as in llama-batched-bench. */
static bool in_batches(const struct grid *g)
{
    return largest(&g->b) > 1;
}

/* Every test at one depth and number of sequences. */
static int run_apart(struct bench_results *res, const struct bench *b, const struct grid *g, struct bench_test t, struct error *err)
{
    for (int phase = 0; phase < 2; phase++) {
        const struct int_list *l = phase == 0 ? &g->p : &g->n;
        for (size_t i = 0; i < l->n; i++) {
            t.prefill = phase == 0;
            t.n = (uint32_t)l->v[i];
            if (t.n && one_test(res, b, &t, 1, err) != 0)
                return -1;
        }
    }
    return 0;
}

/* A prompt and the generation after it, or only one of them. */
static int run_pair(struct bench_results *res, const struct bench *b, struct bench_test t, int64_t n_prompt, int64_t n_gen, struct error *err)
{
    struct bench_test both[2] = { t, t };
    both[0].prefill = true;
    both[0].n = (uint32_t)n_prompt;
    both[1].n = (uint32_t)n_gen;
    both[1].depth += both[0].n;
    const size_t first = both[0].n == 0, n_t = (both[0].n > 0) + (size_t)(both[1].n > 0);
    return n_t ? one_test(res, b, both + first, n_t, err) : 0;
}

static int run_batch(struct bench_results *res, const struct bench *b, const struct grid *g, struct bench_test t, struct error *err)
{
    for (size_t p = 0; p < g->p.n; p++)
        for (size_t n = 0; n < g->n.n; n++)
            if (run_pair(res, b, t, g->p.v[p], g->n.v[n], err) != 0)
                return -1;
    return 0;
}

static int run_grid(struct bench_results *res, const struct bench *b, const struct grid *g, const struct options *o,
                    uint32_t n_ubatch, struct error *err)
{
    for (size_t d = 0; d < g->d.n; d++)
        for (size_t k = 0; k < g->b.n; k++) {
            const struct bench_test t = { .depth = (uint32_t)g->d.v[d], .n_batch = (uint32_t)g->b.v[k],
                                          .n_ubatch = n_ubatch, .type_k = o->engine.type_k,
                                          .type_v = o->engine.type_v, .reps = (int)o->reps, .ops = o->print.ops,
                                          .no_warmup = o->no_warmup, .delay_s = o->delay_s };
            if ((in_batches(g) ? run_batch : run_apart)(res, b, g, t, err) != 0)
                return -1;
            for (size_t i = 0; i < g->n_pair; i++)
                if (run_pair(res, b, t, g->pair[i].v[0], g->pair[i].v[1], err) != 0)
                    return -1;
        }
    if (in_batches(g) && res->batches.n == 0)
        notify_note("llama-batched-bench's table is not printed: it needs -p and -n above 0");
    return 0;
}

static void size_engine(struct engine_options *eo, const struct grid *g, uint32_t n_ubatch)
{
    uint64_t p = (uint64_t)largest(&g->p), n = (uint64_t)largest(&g->n), b = (uint64_t)largest(&g->b);
    uint64_t context = in_batches(g) ? p + n : u64_max(p, n);
    for (size_t i = 0; i < g->n_pair; i++) {
        p = u64_max(p, (uint64_t)g->pair[i].v[0]);
        context = u64_max(context, (uint64_t)(g->pair[i].v[0] + g->pair[i].v[1]));
    }
    eo->n_ctx = (uint32_t)(context + (uint64_t)largest(&g->d));
    eo->n_seq = (uint32_t)b;
    eo->n_ubatch = (uint32_t)u64_max(b, u64_min(n_ubatch, u64_max(p, 1) * b));
    eo->n_out_max = (uint32_t)b;
}

/* Every test of one model, thread count and ubatch, on one engine. */
static int run_tests(struct bench_results *res, const struct model *m, const struct grid *g, const struct options *o,
                     const struct setup *machine, uint32_t n_ubatch, struct error *err)
{
    struct engine_options eo = setup_engine_options(machine, &o->engine);
    struct ceilings_options probe = { .effort = o->brief ? CEILINGS_BRIEF : CEILINGS_QUICK, .n_threads = machine->n_threads,
                                            .cpu_flags = machine->cpu_flags, .cpus = &machine->cpus };
    struct bench b = { .m = m, .machine = machine, .run = &res->run, .markers = o->markers,
                       .energy = o->energy, .stored = &o->stored };
    struct run_loading l;
    const size_t n_before = res->run.n_row;
    size_engine(&eo, g, n_ubatch);
    eo.counters = (struct counters_options){ .backend = o->counters, .data_dirs = environment()->data_dirs, .root = environment()->root,
                                             .uncalibrated = o->uncalibrated };
    eo.markers = o->markers;
    if (eo.n_ctx > m->hp.n_ctx_train)
        notify_warn("%s: a context of %u tokens exceeds the trained context of %u", m->name, eo.n_ctx, m->hp.n_ctx_train);
    memory_peak_reset(); /* exclude the previous engine's probes */
    b.e = engine_new(m, &eo, err);
    if (!b.e)
        return -1;
    setup_note_scales(&o->engine, b.e);
    setup_loading(&l, b.e, m, machine);
    bench_lend_memory(&probe, b.e, o->stored.cache_bytes, false, false);
    b.prober = ceilings_prober_new(bench_math(b.e), machine->n_threads, &probe, err);
    int rc = b.prober ? 0 : -1;
    l.probe_bytes = b.prober ? (double)ceilings_prober_bytes(b.prober) : NAN;
    if (rc == 0) {
        setup_provenance(&res->run.prov, machine, engine_kernels(b.e)->isa, counters_name(engine_counters(b.e)));
        rc = run_grid(res, &b, g, o, n_ubatch, err);
    }
    if (res->run.n_row > n_before && run_add_loading(&res->run, &l, rc == 0 ? err : NULL) != 0)
        rc = -1;
    ceilings_prober_free(b.prober);
    engine_free(b.e);
    return rc;
}

/* Models and machines of all tests, opened before the first test, so that a wrong name fails early. */
struct inputs {
    struct model *model;         /* [grid.model.n], n_model of them open */
    struct setup *machine; /* [grid.t.n], n_machine of them open */
    size_t n_model, n_machine;
};

static int inputs_open(struct inputs *in, const struct grid *g, const struct options *o, struct error *err)
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
        if (setup_init(&in->machine[in->n_machine], g->t.v[in->n_machine], &o->engine, err) != 0)
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

static int run_model(struct bench_results *res, const struct model *m, const struct grid *g, const struct inputs *in,
                     const struct options *o, struct error *err)
{
    int rc = setup_model_warm(m, err);
    for (size_t i = 0; i < in->n_machine && rc == 0; i++)
        for (size_t k = 0; k < g->ub.n && rc == 0; k++)
            rc = run_tests(res, m, g, o, &in->machine[i], (uint32_t)g->ub.v[k], err);
    return rc;
}

static int run_models(struct bench_results *res, const struct grid *g, const struct options *o, struct error *err)
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
    int rc = bench_findings(&res->run, &o->stored, err);
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
    struct grid g = { 0 };
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

int cmd_bench(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Run prefill and decode on this machine and measure tokens/s and the share of its memory bandwidth (MBU) and peak (MFU) "
        "that they use.\v"
        "A test is ppN (prefill of N tokens) or tgN (decode of N tokens), @dN with a context of N tokens. Bandwidth counts the weights and "
        "KV cache that the engine reads. MBU and MFU are relative to ceilings that probes measure between the repetitions.\n\n"
        "  roofcast bench -m model.gguf\n"
        "  roofcast bench -m model.gguf -p 512 -n 0 -t 1,2\n"
        "  roofcast bench -m model.gguf -p 0 -n 64 -d 0,4096 -o json\n"
        "  roofcast bench -m model.gguf -p 512 -n 32 -b 1,2,4,8\n"
        "  roofcast bench -m model.gguf -p 0 -n 0 -pg 512,128\n"
        "  roofcast bench -m model.gguf --ops --save run.json";
    static const int exclusive[][CLI_EXCLUSIVE] = { { 'b', OPT_N_SEQ }, { OPT_SAVE, OPT_KEEP }, { 0 } };
    static const struct cli_syntax syntax = { option_table, parse, "-m FILE", doc, exclusive };
    struct options o = { .p = "512", .n = "128", .d = "0", .ub = "512", .reps = 5,
                         .counters = "auto", .engine = SETUP_DEFAULT };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    char *kept = o.keep ? cli_run_path(o.models ? o.models : "run", err) : NULL;
    if (o.keep && !kept)
        return -1;
    o.save = kept ? kept : o.save;
    o.markers = cli_markers_open();
    if (o.markers && strcmp(o.counters, "auto") == 0) /* the tool programs the same counters */
        o.counters = "null";
    o.energy = energy_open(environment()->root, err);
    int rc = o.energy ? bench_stored_open(&o.stored, err) : -1;
    if (rc == 0) {
        rc = run(&o, argc, argv, err);
        bench_stored_close(&o.stored);
    }
    energy_close(o.energy);
    cli_markers_close(o.markers);
    if (kept && rc == 0)
        notify_note("run saved: %s", kept);
    free(kept);
    return rc;
}
