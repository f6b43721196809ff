/* roofcast profile: this machine's topology and its measured roofs as a hwprofile JSON. */
#include "ceilings/ceilings.h"
#include "cli/cli.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *out;
    int64_t n_threads;
    struct cli_engine cpus; /* --cpus and --numa */
    bool quick, quiet;
    struct error *err;
};

enum { OPT_QUICK = 256, OPT_QUIET };

static const struct argp_option option_table[] = {
    { "quick", OPT_QUICK, NULL, 0, "fewer samples: under 30 seconds (default: about 2 minutes)",
      0 },
    { "threads", 't', "N", 0,
      "largest thread count; 1, 2, 4, ... and N are measured (default: one a usable core)", 0 },
    { "output", 'o', "FILE", 0,
      "the profile to write; - is standard output (default: where --hw this reads)", 0 },
    CLI_CPU_OPTIONS,
    { "quiet", OPT_QUIET, NULL, 0, "no progress and no table", 0 },
    { 0 },
};

static int parse_one(struct options *o, int key, char *arg, struct error *err)
{
    switch (key) {
    case OPT_QUICK:
        o->quick = true;
        return 0;
    case OPT_QUIET:
        o->quiet = true;
        return 0;
    case 'o':
        o->out = arg;
        return 0;
    case 't':
        return parse_int(arg, 1, 1 << 20, "-t", &o->n_threads, err);
    case ARGP_KEY_ARG:
        return error_set(err, ERROR_USAGE, "no argument is expected, found \"%s\"", arg);
    default:
        return cli_engine_option(&o->cpus, key, arg, err);
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    int rc = parse_one(o, key, arg, o->err);
    if (rc < 0)
        argp_error(state, "%s", o->err->msg);
    return rc > 0 ? ARGP_ERR_UNKNOWN : 0;
}

static const struct column columns[] = {
    { "name", "ceiling", COL_TEXT, NULL, false },  { "value", "median", COL_TEXT, NULL, false },
    { "interval", "95 %", COL_TEXT, NULL, false }, { "n_samples", "samples", COL_INT, NULL, false },
    { "clock_hz", "clock", COL_SI, "Hz", false },  { "kernel", "kernel", COL_TEXT, NULL, false },
};

/* A column holds FLOP/s, OP/s and B/s: numbers become text with their unit here. */
static json_t *table_row(const struct ceiling *c)
{
    char value[48], lo[32], hi[32], interval[80];
    units_si(value, sizeof value, c->value, c->unit);
    units_si(lo, sizeof lo, c->ci_lo, "");
    units_si(hi, sizeof hi, c->ci_hi, "");
    snprintf(interval, sizeof interval, "%s to %s", lo, hi);
    bool known = !isnan(c->value);
    return json_pack("{s:s, s:s, s:s, s:i, s:o, s:s}", "name", c->name, "value",
                     known ? value : "-", "interval", known ? interval : "-", "n_samples",
                     c->n_samples, "clock_hz", json_num(c->clock_hz), "kernel", c->kernel);
}

static int print_table(const struct hwprofile *h, struct error *err)
{
    json_t *rows = json_array();
    int rc = 0;
    for (size_t i = 0; i < h->n_ceiling && rc == 0; i++)
        rc = json_array_append_new(rows, table_row(&h->ceiling[i]));
    const struct report_doc d = { "roofcast.ceilings", 1, NULL, rows, columns, ARRAY_LEN(columns) };
    rc = rc == 0 ? cli_report(NULL, REPORT_TABLE, &d, err)
                 : error_oom(err, h->n_ceiling * sizeof *h->ceiling, "the table of ceilings");
    json_decref(rows);
    return rc;
}

/* A roof that moved while it was looked at is a poor yardstick: say which. */
static void warn_unsteady(const struct hwprofile *h)
{
    const struct ceiling *worst = NULL;
    double worst_width = 0.1;
    int n = 0;
    for (size_t i = 0; i < h->n_ceiling; i++) {
        const struct ceiling *c = &h->ceiling[i];
        double width = (c->ci_hi - c->ci_lo) / c->value;
        if (!(width > 0.1))
            continue;
        n++;
        if (width > worst_width) {
            worst_width = width;
            worst = c;
        }
    }
    if (worst)
        cli_warn("%d ceiling%s moved by more than 10 %% while measured, \"%s\" by %.0f %%: "
                 "is the machine busy?",
                 n, n == 1 ? "" : "s", worst->name, 100 * worst_width);
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

/* Two minutes of measuring must not end in "no such directory". */
static int check_writable(const char *path, struct error *err)
{
    struct outfile f;
    if (strcmp(path, "-") == 0)
        return 0;
    if (outfile_open(&f, path, err) != 0)
        return -1;
    outfile_abort(&f);
    return 0;
}

static int measure_and_save(struct hwprofile *h, const struct options *o,
                            const struct cli_machine *machine, struct error *err)
{
    const char *out = o->out ? o->out : cli_profile_path();
    struct ceilings_options c = {
        .effort = o->quick ? CEILINGS_QUICK : CEILINGS_DEFAULT,
        .n_threads = machine->n_threads,
        .cpu_flags = machine->cpu_flags,
        .cpus = &machine->cpus,
        .progress = cli_progress,
    };
    struct error save_err = { 0 };
    if (!out)
        return cli_no_profile_path(err);
    if ((!o->out && make_parent(out, err) != 0) || check_writable(out, err) != 0)
        return -1;
    int rc = ceilings_measure(h, &c, err);
    cli_progress_done();
    bool interrupted = rc != 0 && err->kind == ERROR_INTERRUPTED;
    if (rc != 0 && !interrupted)
        return -1;
    if (interrupted && h->n_ceiling == 0)
        return error_set(err, ERROR_INTERRUPTED,
                         "interrupted before the first ceiling: nothing written");
    if (hwprofile_save(h, out, &save_err) != 0) {
        *err = save_err;
        return -1;
    }
    bool to_stdout = strcmp(out, "-") == 0;
    if (!o->quiet && !to_stdout) {
        if (print_table(h, &save_err) != 0) {
            *err = save_err;
            return -1;
        }
        printf("\n%s, %d core%s: profile written to %s\n", h->name, h->n_cores,
               h->n_cores == 1 ? "" : "s", out);
    }
    if (interrupted)
        return error_set(err, ERROR_INTERRUPTED,
                         "interrupted: %s holds the %zu ceilings measured until then", out,
                         h->n_ceiling);
    warn_unsteady(h);
    return 0;
}

int cmd_profile(int argc, char **argv, struct error *err)
{
    struct options o = { .err = err };
    const struct argp argp = { option_table,
                               parse,
                               "",
                               "Measure this machine's roofs: peak FLOP/s in FP32, BF16 "
                               "and INT8, and read bandwidth at L1, "
                               "L2, L3 and DRAM, for 1, 2, 4, ... threads, each the median "
                               "of several samples with its 95 % "
                               "interval. The machine should be idle.\v"
                               "Ctrl-C keeps what was measured until then.\n\n"
                               "  roofcast profile --quick\n"
                               "  roofcast profile -t 8 --cpus 0-7 -o numa0.json",
                               NULL,
                               NULL,
                               NULL };
    if (argp_parse(&argp, argc, argv, ARGP_LONG_ONLY, NULL, &o) != 0)
        return error_set(err, ERROR_USAGE, "cannot read the command line");
    struct cli_machine machine;
    struct hwprofile h;
    cli_set_quiet(o.quiet);
    if (cli_machine_init(&machine, o.n_threads, &o.cpus, err) != 0)
        return -1;
    int rc = hwprofile_host(&h, err);
    if (rc == 0) {
        rc = measure_and_save(&h, &o, &machine, err);
        hwprofile_free(&h);
    }
    cli_machine_free(&machine);
    return rc;
}
