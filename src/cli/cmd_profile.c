/* roofcast profile: this machine's topology and its measured roofs as a hwprofile JSON. */
#include "base/environment.h"
#include "bench/profiles.h"
#include "cli/cli.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct options {
    const char *out; /* a file; a format with --compare and --cross-check */
    int64_t n_threads;
    struct setup_options cpus; /* --cpus and --numa */
    enum ceilings_effort effort;
    double seconds;
    const char *only; /* of --cross-check: a part of a ceiling's name */
    bool quiet, compare, cross_check;
    const char *arg[2];
    int n_arg;
};

enum { PROFILE_BYTES = 4 << 20 /* 0.5 MB for 1 and 2 threads, four times that for 1, 2, 4 ... 128 */ };
enum { OPT_QUICK = 256, OPT_FULL, OPT_BRIEF, OPT_SECONDS, OPT_QUIET, OPT_COMPARE, OPT_CROSS_CHECK };

static const struct argp_option option_table[] = {
    { "quick", OPT_QUICK, NULL, 0, "under 30 seconds: only the best ISA of each type (default: under 2 minutes, all ISAs)",
      0 },
    { "full", OPT_FULL, NULL, 0, "under 6 minutes: narrower intervals, more token counts, unpacked weights, and products by 64 tokens from each cache level", 0 },
    { "brief", OPT_BRIEF, NULL, 0, "a few seconds in little memory: a functional test, the figures are inaccurate", 0 },
    { "seconds", OPT_SECONDS, "S", 0, "target time of all measurements, each of which is made at least once (default: 26 with --quick, 110, 340 with --full)", 0 },
    { "threads", 't', "N", 0,
      "largest thread count; 1, 2, 4, ... and N are measured (default: one per usable core)", 0 },
    { "output", 'o', "FILE", 0,
      "profile to write; -: standard output (default: the file that --hw this reads). With --compare and --cross-check: a format, "
      "table, csv, json, jsonl, md or sql", 0 },
    CLI_CPU_OPTIONS,
    { "quiet", OPT_QUIET, NULL, 0, "print no progress and no table", 0 },
    { "compare", OPT_COMPARE, NULL, 0, "compare two profiles, A.json and B.json: ratios, whether their intervals overlap, a verdict", 1 },
    { "cross-check", OPT_CROSS_CHECK, "NAME", OPTION_ARG_OPTIONAL,
      "measure in turn with likwid-bench, if installed: the ratio ours / theirs for every ceiling that it has a kernel for, "
      "PASS from 0.97; NAME: only ceilings with NAME in their names, as in --cross-check='read DRAM 2t'. No profile is written", 1 },
    { 0 },
};

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    switch (key) {
    case OPT_QUICK:
        o->effort = CEILINGS_QUICK;
        return 0;
    case OPT_FULL:
        o->effort = CEILINGS_FULL;
        return 0;
    case OPT_BRIEF:
        o->effort = CEILINGS_BRIEF;
        return 0;
    case OPT_SECONDS:
        return parse_double(arg, 0.1, 86400, "--seconds", &o->seconds, err);
    case OPT_QUIET:
        o->quiet = true;
        return 0;
    case OPT_COMPARE:
        o->compare = true;
        return 0;
    case OPT_CROSS_CHECK:
        o->cross_check = true;
        o->only = arg;
        return 0;
    case 'o':
        o->out = arg;
        return 0;
    case 't':
        return parse_int(arg, 1, 1 << 20, "-t", &o->n_threads, err);
    case ARGP_KEY_ARG:
        if (o->n_arg == 2)
            return error_set(err, ERROR_USAGE, "--compare: expected two profiles, found a third, \"%s\"", arg);
        o->arg[o->n_arg++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->compare && o->n_arg != 2)
            return error_set(err, ERROR_USAGE, "--compare: expected two profiles, found %d", o->n_arg);
        if (!o->compare && o->n_arg)
            return error_set(err, ERROR_USAGE, "no argument is expected, found \"%s\"", o->arg[0]);
        return 0;
    default:
        return cli_engine_option(&o->cpus, key, arg, err);
    }
}

/* Columns with several units hold text. */
struct shown_ceiling {
    const char *name, *value, *interval, *kernel;
    int n_samples;
    double clock_hz, per_cycle, issue_fraction;
};

#define AT(m) COLUMN_AT(struct shown_ceiling, m)
static const struct column columns[] = {
    { "name", "ceiling", COL_TEXT, NULL, COL_MAJOR, AT(name), EMPTY_VALUE, NULL, NULL },
    { "value", "median", COL_TEXT, NULL, COL_MAJOR, AT(value), EMPTY_VALUE, NULL, NULL },
    { "interval", "95 %", COL_TEXT, NULL, COL_MAJOR, AT(interval), EMPTY_VALUE, NULL, NULL },
    { "n_samples", "samples", COL_INT, NULL, COL_MAJOR, AT(n_samples), EMPTY_VALUE, NULL, NULL },
    { "clock_hz", "clock", COL_SI, "Hz", COL_MAJOR, AT(clock_hz), EMPTY_VALUE, NULL, NULL },
    { "per_cycle", "per cycle", COL_FLOAT, NULL, COL_MAJOR, AT(per_cycle), EMPTY_VALUE, NULL, NULL },
    { "issue_fraction", "% of issue", COL_FRACTION, NULL, COL_MAJOR, AT(issue_fraction), EMPTY_VALUE, NULL, NULL },
    { "kernel", "kernel", COL_TEXT, NULL, COL_MAJOR, AT(kernel), EMPTY_VALUE, NULL, NULL },
};
#undef AT

static void put_ceiling(struct table_rows *rows, const struct ceiling *c)
{
    char value[48], lo[32], hi[32], interval[80];
    const bool known = !isnan(c->value);
    units_si(lo, sizeof lo, c->ci_lo, "");
    units_si(hi, sizeof hi, c->ci_hi, "");
    snprintf(interval, sizeof interval, "%s to %s", lo, hi);
    *(struct shown_ceiling *)table_add(rows) = (struct shown_ceiling){
        c->name, table_text(rows, known ? units_si(value, sizeof value, c->value, c->unit) : "-"), table_text(rows, known ? interval : "-"), c->kernel,
        c->n_samples, c->clock_hz, c->per_cycle, c->issue_fraction,
    };
}

static int print_table(const struct hwprofile *h, struct error *err)
{
    struct table_rows rows = { .size = sizeof(struct shown_ceiling) };
    const struct table d = { "roofcast.ceilings", 1, NULL, columns, ARRAY_LEN(columns), &rows, NULL };
    for (size_t i = 0; i < h->n_ceiling; i++)
        put_ceiling(&rows, &h->ceiling[i]);
    const int rc = report_write(NULL, REPORT_TABLE, &d, err);
    table_rows_free(&rows);
    return rc;
}

/* Warns of roofs that varied while they were measured. */
static void warn_unsteady(const struct hwprofile *h)
{
    if (h->noise.verdict == HW_NOISY)
        notify_warn("the machine was noisy: a quarter of the ceilings varied by %.1f %% or more between rounds, \"%s\" by %.0f %%: is it "
                    "busy?",
                    100 * h->noise.between, h->noise.worst, 100 * h->noise.worst_between);
}

/* Source of the issue rates, and steadiness of the machine. */
static void print_notes(const struct hwprofile *h)
{
    char core[256];
    const char *noise = hw_steadiness_name(h->noise.verdict);
    printf("\n%% of issue: %s\n", ceilings_core(core, sizeof core));
    if (noise)
        printf("The machine was %s: variation of ceilings between rounds, upper quartile %.2g %%, maximum %.2g %% (%s)\n", noise,
               100 * h->noise.between, 100 * h->noise.worst_between, h->noise.worst);
}

static int make_parent(const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return 0;
    char *dir = strndup(path, (size_t)(slash - path));
    if (!dir)
        return error_oom(err, strlen(path), "a directory name");
    int rc = dir_make(dir, err);
    free(dir);
    return rc;
}

/* Reports an unwritable path or a full disk before the measurement. Pipes are skipped: opening and closing one would signal an end of
 * file to its reader. */
static int check_writable(const char *path, struct error *err)
{
    static const char zeros[4096];
    struct outfile f;
    struct stat st;
    int rc = 0;
    if (strcmp(path, "-") == 0 || (stat(path, &st) == 0 && S_ISFIFO(st.st_mode)))
        return 0;
    if (outfile_open(&f, path, err) != 0)
        return -1;
    for (size_t n = 0; f.tmp && rc == 0 && n < (size_t)PROFILE_BYTES; n += sizeof zeros)
        if (fwrite(zeros, 1, sizeof zeros, f.f) != sizeof zeros || fflush(f.f) != 0)
            rc = error_set(err, ERROR_SYSTEM, "%s: cannot write: %s (a profile may take %d KiB)", path, strerror(errno),
                           PROFILE_BYTES >> 10);
    outfile_abort(&f);
    return rc;
}

/* Path of a partial profile: next to an existing one. NULL: *err. */
static char *partial_path(const char *out, struct error *err)
{
    struct stat st;
    if (strcmp(out, "-") != 0 && stat(out, &st) == 0 && S_ISREG(st.st_mode))
        return cli_partial_path(out, err);
    char *same = strdup(out);
    if (!same)
        error_oom(err, strlen(out), "a file name");
    return same;
}

/* err: the reason for the end of the measurement. */
static int save_partial(const struct hwprofile *h, const char *out, struct error *err)
{
    const struct error why = *err;
    char *path = partial_path(out, err);
    if (path && hwprofile_save(h, path, err) == 0)
        error_set(err, why.kind, "%.300s: %s holds the %zu ceilings measured until then%s%s%s", why.msg, path, h->n_ceiling,
                  strcmp(path, out) == 0 ? "" : "; ", strcmp(path, out) == 0 ? "" : out,
                  strcmp(path, out) == 0 ? "" : " is as it was");
    free(path);
    return -1;
}

/* Prints the measured ceilings, also after an interrupt. */
static int print_measured(const struct hwprofile *h, const char *out, struct error *err)
{
    if (print_table(h, err) != 0)
        return -1;
    report_findings(h);
    print_notes(h);
    if (out)
        printf("%s, %d core%s: profile written to %s\n", h->name, h->n_cores, h->n_cores == 1 ? "" : "s", out);
    return 0;
}

static int measure_and_save(struct hwprofile *h, const struct options *o,
                            const struct setup *machine, struct error *err)
{
    const char *out = o->out ? o->out : environment()->profile_path;
    struct ceilings_options c = {
        .effort = o->effort,
        .seconds = o->seconds,
        .n_threads = machine->n_threads,
        .cpu_flags = machine->cpu_flags,
        .cpus = &machine->cpus,
        .progress = notify_progress,
    };
    struct error print_err = { 0 };
    if (!out)
        return hwprofile_no_path_error(err);
    if ((!o->out && make_parent(out, err) != 0) || check_writable(out, err) != 0)
        return -1;
    if (h->n_cache == 0)
        notify_warn("no cache sizes here (hwloc reads /sys/devices/system/cpu; a container or a hypervisor may hide it): roofs of L1, "
                    "L2 and L3 are skipped, those of DRAM use the largest footprints");
    int rc = ceilings_measure(h, &c, err);
    notify_progress_done();
    const bool failed = rc != 0, show = !o->quiet && strcmp(out, "-") != 0;
    if (failed && h->n_ceiling == 0)
        return err->kind == ERROR_INTERRUPTED ? error_set(err, err->kind, "interrupted before the first ceiling: nothing written") : -1;
    if (failed)
        rc = save_partial(h, out, err);
    else if (hwprofile_save(h, out, err) != 0)
        return -1;
    if (show && print_measured(h, failed ? NULL : out, failed ? &print_err : err) != 0)
        rc = -1;
    if (rc == 0)
        warn_unsteady(h);
    return rc;
}

static int other_modes(const struct options *o, const struct setup *machine, struct error *err)
{
    enum report_format format = REPORT_TABLE;
    if (o->out && report_format_find(o->out, &format, err) != 0)
        return -1;
    if (o->compare)
        return profile_compare(o->arg[0], o->arg[1], format, err);
    const struct ceilings_options c = { .effort = o->effort, .n_threads = machine->n_threads, .cpu_flags = machine->cpu_flags,
                                        .cpus = &machine->cpus, .progress = notify_progress, .only = o->only };
    return profile_cross_check(&c, format, err);
}

int cmd_profile(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Measure this machine's roofs: peak FLOP/s of every operand type and ISA, bandwidth of L1, "
        "L2, L3 and DRAM, and the engine's kernels, for 1, 2, 4, ... threads; each is the median of several "
        "samples with its 95 % interval. The machine should be idle; the profile records how steady it was.\v"
        "A peak is that of the best number of accumulators and mix of multiply-adds and additions, also given per "
        "cycle of the concurrently measured clock and, for known cores, as a share of the issue rate.\n\n"
        "Ctrl-C saves the ceilings measured so far: in the file, or, if a profile exists, in NAME.partial.json "
        "in the same folder.\n\n"
        "  roofcast profile --quick\n"
        "  roofcast profile -t 8 --cpus 0-7 -o numa0.json\n"
        "  roofcast profile --compare before.json after.json\n"
        "  roofcast profile --cross-check -o md\n"
        "  roofcast profile --cross-check='DRAM 2t'";
    static const int exclusive[][CLI_EXCLUSIVE] = { { OPT_QUICK, OPT_FULL, OPT_BRIEF }, { OPT_SECONDS, OPT_COMPARE, OPT_CROSS_CHECK }, { 0 } };
    static const struct cli_syntax syntax = { option_table, parse, "\n--compare A.json B.json", doc, exclusive };
    struct options o = { .effort = CEILINGS_DEFAULT };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    struct setup machine;
    struct hwprofile h;
    cli_set_quiet(o.quiet);
    if (o.compare)
        return other_modes(&o, NULL, err);
    if (setup_init(&machine, o.n_threads, &o.cpus, err) != 0)
        return -1;
    int rc = o.cross_check ? other_modes(&o, &machine, err) : hwprofile_host(&h, err);
    if (rc == 0 && !o.cross_check) {
        rc = measure_and_save(&h, &o, &machine, err);
        hwprofile_free(&h);
    }
    setup_free(&machine);
    return rc;
}
