/* roofcast calibrate: fit of the time model's constants to measurements. */
#include "cli/measured.h"
#include "learn/lessons.h"
#include "report/folds.h"
#include <string.h>

enum { OPT_HARDWARE = 700, OPT_CROSS };

static const struct argp_option option_table[] = {
    { "hardware", OPT_HARDWARE, "FILE", 0, "bandwidth and peaks of machines without a profile, with the columns of hardware.csv", 0 },
    { "hw", MEASURED_HW, "NAME", 0, "the machine, a name or a profile, for files that do not name it (vLLM, AIPerf)", 0 },
    MEASURED_OPTIONS,
    { "cross-validate", OPT_CROSS, "FORMAT", OPTION_ARG_OPTIONAL,
      "instead of constants print how well rows are predicted that were left out with their source, hardware, generation, class, engine or model: table (default), csv, json, "
      "jsonl, md or sql", 0 },
    { "output", 'o', "FILE", 0, "file of constants to write; -: standard output (default)", 0 },
    { 0 },
};

struct calibrate_cli {
    const char *file[LESSONS_MAX_FILES], *hardware, *out;
    struct measured_options measured;
    size_t n_file;
    bool cross;
    enum report_format format;
};

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct calibrate_cli *o = options;
    switch (key) {
    case ARGP_KEY_ARG:
        if (o->n_file == LESSONS_MAX_FILES)
            return error_set(err, ERROR_USAGE, "at most %d files", LESSONS_MAX_FILES);
        for (size_t i = 0; i < o->n_file; i++)
            if (strcmp(o->file[i], arg) == 0)
                return error_set(err, ERROR_USAGE, "%s is given twice: its rows would count twice", arg);
            else if (file_same(o->file[i], arg))
                return error_set(err, ERROR_USAGE, "%s is the file %s, which is given before it: its rows would count twice", arg, o->file[i]);
            else if (file_alike(o->file[i], arg))
                return error_set(err, ERROR_USAGE, "%s has the bytes of %s, which is given before it: its rows would count twice", arg, o->file[i]);
        o->file[o->n_file++] = arg;
        return 0;
    case OPT_HARDWARE:
        return cli_text(&o->hardware, arg);
    case OPT_CROSS:
        o->cross = true;
        if (arg && report_format_find(arg, &o->format, err) != 0)
            return error_set(err, ERROR_USAGE, "--cross-validate: expected table, csv, json, jsonl, md or sql, found \"%.64s\"", arg);
        return 0;
    case 'o':
        return cli_text(&o->out, arg);
    default:
        return measured_parse(key, arg, &o->measured, err);
    }
}

static int run(const struct calibrate_cli *o, struct error *err)
{
    struct measure_hws hws = { 0 };
    struct constants_file f = { 0 };
    struct workload_builder *p = NULL;
    struct measure_context given = { 0 };
    int rc = measured_context(&given, &o->measured, err);
    if (rc == 0 && o->hardware)
        rc = measure_hws_load(&hws, o->hardware, err);
    if (rc == 0 && !(p = workload_builder_new(o->hardware ? &hws : NULL, given.hardware, err)))
        rc = -1;
    rc = rc ? rc : lessons_learn(&f, o->file, o->n_file, &given, p, err);
    if (rc == 0)
        rc = o->cross ? folds_print(&f, o->format, err) : constants_save(&f, o->out ? o->out : "-", err);
    constants_free(&f);
    workload_builder_free(p);
    measure_hws_free(&hws);
    return rc;
}

int cmd_calibrate(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Fit the constants of the time model to measurements: efficiencies of bandwidth and peak, conversion operations per weight, "
        "overheads per op and pass. Each has a common value and effects of machine class, engine, weight type and machine, with "
        "uncertainties. FILEs are those that `roofcast score` reads.\v"
        "Rows above their machine's roofs, runs with offloaded layers, and machines of unknown bandwidth are skipped with a note.\n\n"
        "Robust least squares of the logarithms of seconds, with priors (doc/methods.md (57), (35)). The constants of "
        "hwprofiles/stacks are this command's output.\n\n"
        "  roofcast calibrate throughput.csv gpu_ops.csv --hardware hardware.csv -o constants.json\n"
        "  roofcast calibrate run.json llama-bench.json -o mine.json\n"
        "  roofcast calibrate vllm-serve.json --hw h100-sxm -o server.json\n";
    static const struct cli_syntax syntax = { option_table, parse, "FILE...", doc, NULL };
    struct calibrate_cli o = { .format = REPORT_TABLE };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    if (o.n_file == 0)
        return error_set(err, ERROR_USAGE, "expected a FILE of measurements");
    if (o.cross && o.out)
        return error_set(err, ERROR_USAGE, "-o is the file of constants, and --cross-validate writes none");
    if (cli_keep_arguments(argc, argv, "-o", o.out, err) != 0)
        return -1;
    return run(&o, err);
}
