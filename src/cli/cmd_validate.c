/* roofcast validate: predictions from this machine's profile compared with the engine, case by case, with adjacent probes. */
#include "base/environment.h"
#include "bench/validate.h"
#include "cli/cli.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
    struct validate_lists lists;
    const char *hw, *dir, *save;
    int64_t n_case, seed, reps;
    bool dry;
    enum report_format format;
    struct setup_options engine;
};

enum { OPT_TESTS = 256, OPT_CASES, OPT_SEED, OPT_QUICK, OPT_FULL, OPT_DIR, OPT_HW, OPT_SAVE, OPT_QUIET, OPT_DRY };
enum { QUICK_CASES = 24, DEFAULT_CASES = 96 };

static const struct argp_option option_table[] = {
    { "model", 'm', "MODEL,...", 0,
      "shapes to synthesize, NAME or NAME:LAYERS (that many layers and a vocabulary of 16,384), or GGUF files (default "
      "llama-3.2-1b:4,qwen3-0.6b:8,smollm2-360m:16)", 0 },
    { "type", 'q', "TYPE,...", 0, "types of synthesized models (default Q8_0,Q4_0,Q4_K_M,Q6_K,F16,BF16)", 0 },
    { "tests", OPT_TESTS, "TEST,...", 0,
      "named as in bench: ppN or tgN, xB for B sequences, @dD with a context of D tokens (default "
      "pp32,pp512,pp128@d8192,tg32,tg32@d2048,tg8@d32768,tg16x4,tg8x16@d512)", 0 },
    { "threads", 't', "N,...", 0, "threads (default: 1, and one per usable core)", 0 },
    { "cases", OPT_CASES, "N", 0, "cases drawn from models x types x tests x threads (default 96; 0: all)", 0 },
    { "quick", OPT_QUICK, NULL, 0, "24 cases", 0 },
    { "full", OPT_FULL, NULL, 0, "all cases", 0 },
    { "seed", OPT_SEED, "N", 0, "seed of the selection and the order (default 1)", 0 },
    { "repetitions", 'r', "N", 0, "repetitions per case, with probes between them (default 3; up to 9 while they take less than 1.5 s)", 0 },
    { "hw", OPT_HW, "PROFILE", 0, "profile to predict from (default: this machine's, written by `roofcast profile`)", 0 },
    { "dir", OPT_DIR, "DIR", 0, "folder in which synthesized models are kept and reused (default: a temporary one)", 0 },
    { "dry-run", OPT_DRY, NULL, 0, "print the cases in order without running them", 0 },
    { "save", OPT_SAVE, "FILE", 0, "also write the JSON document to FILE, even after Ctrl-C", 0 },
    { "output", 'o', "FORMAT", 0, "table, csv, json, jsonl, md or sql (default table)", 0 },
    CLI_ENGINE_OPTIONS,
    { "quiet", OPT_QUIET, NULL, 0, "print no progress to standard error", 0 },
    { 0 },
};

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    switch (key) {
    case 'm':
        return cli_text(&o->lists.models, arg);
    case 'q':
        return cli_text(&o->lists.types, arg);
    case OPT_TESTS:
        return cli_text(&o->lists.tests, arg);
    case 't':
        return cli_text(&o->lists.threads, arg);
    case OPT_CASES:
        return parse_int(arg, 0, 1000000, "--cases", &o->n_case, err);
    case OPT_QUICK:
        o->n_case = QUICK_CASES;
        return 0;
    case OPT_FULL:
        o->n_case = 0;
        return 0;
    case OPT_SEED:
        return parse_int(arg, 0, INT64_MAX, "--seed", &o->seed, err);
    case 'r':
        return parse_int(arg, 1, 60, "-r", &o->reps, err);
    case OPT_HW:
        return cli_text(&o->hw, arg);
    case OPT_DIR:
        return cli_text(&o->dir, arg);
    case OPT_DRY:
        return cli_flag(&o->dry);
    case OPT_SAVE:
        return cli_text(&o->save, arg);
    case 'o':
        return report_format_find(arg, &o->format, err);
    case OPT_QUIET:
        cli_set_quiet(true);
        return 0;
    default:
        return cli_engine_option(&o->engine, key, arg, err);
    }
}

/* ---- synthesized files -------------------------------------------------------------------------------- */

/* Deletes temporary models that no remaining case uses. */
static void drop_files(struct validate_plan *p, bool temporary, bool all)
{
    for (size_t i = 0; temporary && i < p->n_file; i++)
        if (p->file[i].ours && p->file[i].there && (all || p->file[i].n_left == 0)) {
            unlink(p->file[i].path);
            p->file[i].there = false;
        }
}

/* *lock: the open folder where it is a temporary one, else -1. */
static int make_dir(char *dir, size_t n, int *lock, const struct options *o, struct error *err)
{
    *lock = -1;
    if (o->dry) {
        snprintf(dir, n, ".");
        return 0;
    }
    if (o->dir) {
        snprintf(dir, n, "%s", o->dir);
        return dir_make(dir, err);
    }
    snprintf(dir, n, "%s/roofcast-validate-XXXXXX", environment()->temporary_path);
    *lock = temporary_folder(dir, err);
    return *lock < 0 ? -1 : 0;
}

static void remove_dir(char *dir, int lock)
{
    if (lock < 0)
        return;
    (void)rmdir(dir);
    temporary_forget(dir);
    close(lock);
}

/* ---- the cases ------------------------------------------------------------------------------------------------ */

static void test_name(char *to, size_t n, const struct bench_test *t)
{
    phase_test_name(to, n, t->prefill ? PHASE_PREFILL : PHASE_DECODE, t->n, t->n_batch, t->depth);
}

static int run_cases(struct validation *v, const struct validate_setup *s, struct validate_plan *p, bool temporary, struct error *err)
{
    for (size_t i = 0; i < p->n_case; i++) {
        char what[160], test[48];
        const struct validate_file *f = &p->file[p->c[i].file];
        test_name(test, sizeof test, &p->c[i].t);
        snprintf(what, sizeof what, "case %zu of %zu: %.40s %.20s %.40s, %d thread%s", i + 1, p->n_case, f->label, f->type, test,
                 p->c[i].n_threads, p->c[i].n_threads == 1 ? "" : "s");
        notify_progress(NULL, what, (double)i / (double)p->n_case);
        const int rc = interrupt_check(err) == 0 ? validate_run(v, s, p, i, err) : -1;
        if (rc != 0)
            return -1;
        drop_files(p, temporary, false);
    }
    return 0;
}

/* After an interrupt or a failure what is done is printed and saved, and that is still the end. */
static int run_plan(const struct options *o, struct validate_plan *p, const struct validate_setup *s, const char *command,
                    struct error *err)
{
    struct validation v = { 0 };
    struct error print = { 0 };
    const struct validate_about a = { .command = command, .profile_path = strcmp(o->hw, "this") == 0 ? environment()->profile_path : o->hw,
                                      .seed = (uint64_t)o->seed, .host = &s->stored.host, .profile = s->profile,
                                      .n_case = p->n_case, .n_grid = p->n_grid };
    for (size_t i = 0; !o->dir && i < p->n_file; i++)
        if (p->file[i].ours)
            temporary_add(p->file[i].path);
    int rc = run_cases(&v, s, p, !o->dir, err);
    notify_progress_done();
    const struct error why = *err;
    if (v.n > 0 && validate_print(&v, &a, o->format, o->save, &print) != 0) {
        *err = print;
        rc = -1;
    } else if (rc != 0) {
        error_set(err, why.kind, v.n ? "%.500s: what is printed are the %zu cases until then"
                                     : "%.500s before the first case was done (%zu)", why.msg, v.n);
    }
    drop_files(p, !o->dir, true);
    for (size_t i = 0; i < p->n_file; i++)
        temporary_forget(p->file[i].path);
    validation_free(&v);
    return rc;
}

static int print_cases(const struct validate_plan *p)
{
    for (size_t i = 0; i < p->n_case; i++) {
        char test[48];
        const struct validate_file *f = &p->file[p->c[i].file];
        test_name(test, sizeof test, &p->c[i].t);
        printf("%s %s %s %d\n", f->label, *f->type ? f->type : "-", test, p->c[i].n_threads);
    }
    return 0;
}

static int with_profile(const struct options *o, struct validate_plan *p, const char *command, struct error *err)
{
    struct hwprofile h;
    struct validate_dram far = { 0 };
    struct validate_setup s = { .far = &far, .engine = &o->engine };
    if (hwprofile_open(&h, o->hw, err) != 0)
        return -1;
    s.profile = &h;
    s.energy = energy_open(environment()->root, err);
    int rc = s.energy ? bench_stored_open(&s.stored, err) : -1;
    if (rc == 0) {
        if (strcmp(h.cpu_model, s.stored.host.cpu_model) != 0)
            rc = error_set(err, ERROR_INPUT, "profile %s is of another CPU (%s) than this one (%s): what it predicts cannot be held "
                           "against what runs here", h.id, *h.cpu_model ? h.cpu_model : "none", s.stored.host.cpu_model);
        else
            rc = run_plan(o, p, &s, command, err);
        validate_dram_free(&far);
        bench_stored_close(&s.stored);
    }
    energy_close(s.energy);
    hwprofile_free(&h);
    return rc;
}

/* 1 and one a usable core, unless -t says. */
static int threads_text(char *to, size_t n, const struct options *o, struct error *err)
{
    struct setup machine;
    if (o->lists.threads) {
        snprintf(to, n, "%s", o->lists.threads);
        return 0;
    }
    if (setup_init(&machine, 0, &o->engine, err) != 0)
        return -1;
    snprintf(to, n, machine.n_threads > 1 ? "1,%d" : "%d", machine.n_threads);
    setup_free(&machine);
    return 0;
}

static int run(struct options *o, const char *command, struct error *err)
{
    struct validate_plan p = { 0 };
    char dir[4096], threads[256];
    int lock;
    if (threads_text(threads, sizeof threads, o, err) != 0 || (o->save && outfile_check(o->save, err) != 0) ||
        make_dir(dir, sizeof dir, &lock, o, err) != 0)
        return -1;
    o->lists.threads = threads;
    int rc = validate_plan_init(&p, &o->lists, dir, (size_t)o->n_case, (uint64_t)o->seed, (int)o->reps, err);
    for (size_t i = 0; rc == 0 && i < p.n_case; i++) {
        p.c[i].t.type_k = o->engine.type_k;
        p.c[i].t.type_v = o->engine.type_v;
    }
    if (rc == 0)
        rc = o->dry ? print_cases(&p) : with_profile(o, &p, command, err);
    validate_plan_free(&p);
    remove_dir(dir, lock);
    return rc;
}

int cmd_validate(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Compare predictions from this machine's profile with runs of the engine: models, types, contexts, batches and "
        "thread counts in random order, with probes of memory bandwidth and core speed before, between and after the repetitions. "
        "The prediction is that of `roofcast predict --hw this` with its roofs scaled by these probes.\v"
        "A row has measured and predicted tokens/s (-o json and csv: with the 90 % interval), the error (predicted / measured - 1), the median error of its ops "
        "(those of at least 1 % of a pass, timed one by one in a separate repetition), the probes relative to the profile, and the "
        "variation of the bandwidth probe during the case. Summaries follow: errors by model, type, test, threads and op, coverage of the 90 % interval, and the cases "
        "with the largest errors. Models are synthesized on demand, 0.1 to 0.5 GB each. The machine should be idle.\n\n"
        "Ctrl-C prints the completed cases.\n\n"
        "  roofcast profile && roofcast validate\n"
        "  roofcast validate --quick --seed 7\n"
        "  roofcast validate -m llama-3.2-1b:4 -q Q4_K_M --tests tg32,tg32@d4096 --full\n"
        "  roofcast validate -m model.gguf --tests pp512,tg64 -t 1,2,4 -o json >result.json\n"
        "  roofcast validate --full --save result.json --dir ~/models";
    static const int exclusive[][CLI_EXCLUSIVE] = { { OPT_CASES, OPT_QUICK, OPT_FULL }, { 0 } };
    static const struct cli_syntax syntax = { option_table, parse, NULL, doc, exclusive };
    struct options o = { .lists = { "llama-3.2-1b:4,qwen3-0.6b:8,smollm2-360m:16", "Q8_0,Q4_0,Q4_K_M,Q6_K,F16,BF16",
                                    "pp32,pp512,pp128@d8192,tg32,tg32@d2048,tg8@d32768,tg16x4,tg8x16@d512", NULL },
                         .hw = "this", .n_case = DEFAULT_CASES, .seed = 1, .engine = SETUP_DEFAULT };
    char command[512] = "";
    size_t len = 0;
    for (int i = 0; i < argc && len < sizeof command; i++)
        len += (size_t)snprintf(command + len, sizeof command - len, "%s%s", i ? " " : "", argv[i]);
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    return run(&o, command, err);
}
