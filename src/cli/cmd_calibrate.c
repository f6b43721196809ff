/* roofcast calibrate: fit of the time model's constants to measurements. */
#include "cli/measured.h"
#include "learn/constants.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_HARDWARE = 700, MAX_FILES = 64 };

static const struct argp_option option_table[] = {
    { "hardware", OPT_HARDWARE, "FILE", 0, "bandwidth and peaks of machines without a profile, with the columns of hardware.csv", 0 },
    { "hw", MEASURED_HW, "NAME", 0, "the machine, a name or a profile, for files that do not name it (vLLM, AIPerf)", 0 },
    MEASURED_OPTIONS,
    { "output", 'o', "FILE", 0, "file of constants to write; -: standard output (default)", 0 },
    { 0 },
};

struct calibrate_cli {
    const char *file[MAX_FILES], *hardware, *out;
    struct measured_options measured;
    size_t n_file;
};

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct calibrate_cli *o = options;
    switch (key) {
    case ARGP_KEY_ARG:
        if (o->n_file == MAX_FILES)
            return error_set(err, ERROR_USAGE, "at most %d files", MAX_FILES);
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
    case 'o':
        return cli_text(&o->out, arg);
    default:
        return measured_parse(key, arg, &o->measured, err);
    }
}

/* Workloads of all files. */
struct rows {
    struct measurements l[MAX_FILES];
    struct priced *all;
    const struct priced **kept;
    size_t n, n_kept;
};

static void rows_free(struct rows *r)
{
    for (size_t i = 0; i < r->n; i++)
        priced_free(&r->all[i]);
    free(r->all);
    free(r->kept);
    for (size_t i = 0; i < MAX_FILES; i++)
        measure_free(&r->l[i]);
}

/* --hw and --model apply only to files that lack them. */
static int load_file(struct measurements *l, const char *file, const struct measure_context *given, struct error *err)
{
    struct measure_context x = *given;
    bool hardware = false, model = false;
    x.hardware = x.model = NULL;
    if (measure_load(l, file, &x, err) != 0)
        return -1;
    for (size_t i = 0; i < l->n; i++) {
        hardware |= !*l->row[i].hardware || strcmp(l->row[i].hardware, "?") == 0;
        model |= !*l->row[i].model && (l->row[i].kind == MEASURE_RATE || l->row[i].kind == MEASURE_SERVING);
    }
    x.hardware = hardware ? given->hardware : NULL;
    x.model = model ? given->model : NULL;
    if (!x.hardware && !x.model)
        return 0;
    measure_free(l);
    return measure_load(l, file, &x, err);
}

/* Whether a row enters the fit, or why not. */
enum row_use { ROW_USED, ROW_NO_PREDICTION, ROW_NO_BANDWIDTH, ROW_ABOVE_ROOF, ROW_OFFLOADED, ROW_SINGLE_KERNEL, ROW_USE_COUNT };

/* Tagged rows get a low weight (59); offloaded runs of llama-bench are excluded. */
static enum row_use row_use(const struct priced *p, enum measure_file file)
{
    struct excess x;
    if (p->reason[0])
        return ROW_NO_PREDICTION;
    if (p->m->kind == MEASURE_KERNEL)
        return ROW_SINGLE_KERNEL;
    if (p->machine->ln_sd > 0)
        return ROW_NO_BANDWIDTH;
    if (file == FILE_LLAMA_BENCH && p->machine->h.kind != HW_CPU && priced_partly(p))
        return ROW_OFFLOADED;
    return priced_exceeds(p, &x) ? ROW_ABOVE_ROOF : ROW_USED;
}

static const char *unused_reason(const struct priced *p, enum measure_file file, char *buf, size_t size)
{
    char excess[256];
    switch (row_use(p, file)) {
    case ROW_NO_PREDICTION:
        snprintf(buf, size, "%s", p->reason);
        break;
    case ROW_NO_BANDWIDTH:
        snprintf(buf, size, "unknown bandwidth of \"%.80s\": state it with --hardware",
                 p->machine->hardware);
        break;
    case ROW_ABOVE_ROOF:
        snprintf(buf, size, "above the machine's roofs: %s", excess_text(p, excess, sizeof excess));
        break;
    case ROW_OFFLOADED:
        snprintf(buf, size, "part of its layers ran on another device");
        break;
    case ROW_SINGLE_KERNEL:
        snprintf(buf, size, "a single kernel of a server's engine: its constants come from priors.json, not from a fit");
        break;
    case ROW_USED:
    case ROW_USE_COUNT:
        *buf = 0;
    }
    return buf;
}

/* Notes the unused rows of a file by kind of reason, with the first row. */
static void note_unused(const char *file, enum measure_file of, const struct priced *p, size_t n)
{
    size_t unused[ROW_USE_COUNT] = { 0 }, first[ROW_USE_COUNT] = { 0 };
    char why[512];
    for (size_t i = n; i-- > 0;) {
        const enum row_use k = row_use(&p[i], of);
        unused[k]++;
        first[k] = i;
    }
    for (int k = ROW_NO_PREDICTION; k < ROW_USE_COUNT; k++) {
        const struct priced *q = &p[first[k]];
        char line[40] = "";
        if (!unused[k])
            continue;
        if (q->m->line > 0)
            snprintf(line, sizeof line, " (%sline %zu)", unused[k] > 1 ? "first " : "", q->m->line);
        notify_note("%s: %zu of %zu rows are not used%s: %s", file, unused[k], n, line, unused_reason(q, of, why, sizeof why));
    }
}

static int load_files(struct rows *r, const struct calibrate_cli *o, const struct measure_context *given, struct pricer *p, struct error *err)
{
    size_t room = 0, n_used = 0;
    char why[512];
    for (size_t i = 0; i < o->n_file; i++) {
        if (load_file(&r->l[i], o->file[i], given, err) != 0)
            return -1;
        room += r->l[i].n;
    }
    r->all = calloc(room + 1, sizeof *r->all);
    r->kept = calloc(room + 1, sizeof *r->kept);
    if (!r->all || !r->kept)
        return error_oom(err, room * sizeof *r->all, "rows");
    for (size_t i = 0; i < o->n_file; i++) {
        for (size_t k = 0; k < r->l[i].n; k++) {
            struct priced *q = &r->all[r->n];
            r->l[i].row[k].file = i;
            if (price_row(p, &r->l[i].row[k], q, err) != 0)
                return -1;
            r->n++;
            if (k > 0)
                priced_share(q, q - 1);
            const enum row_use use = row_use(q, r->l[i].file);
            n_used += use == ROW_USED;
            if (use == ROW_USED || use == ROW_NO_BANDWIDTH) /* kept: the machine is known by name */
                r->kept[r->n_kept++] = q;
            notify_progress(NULL, "pricing", (double)r->n / (double)room);
        }
        note_unused(o->file[i], r->l[i].file, r->all + r->n - r->l[i].n, r->l[i].n);
    }
    pricer_drop_models(p);
    if (n_used == 0)
        return error_set(err, ERROR_INPUT, "%s: no usable row: %s", o->file[0], unused_reason(&r->all[0], r->l[0].file, why, sizeof why));
    return 0;
}

/* Error if no constant was fitted. */
static int check_learned(const struct constants_file *f, const struct rows *r, const struct calibrate_cli *o, struct error *err)
{
    for (int k = 0; k < FITTED_KIND_COUNT; k++)
        if (f->kind[k].n > 0)
            return 0;
    return error_set(err, ERROR_INPUT, "%s: none of its %zu rows determines a constant", o->file[0], r->n);
}

static const char *without_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* File name without the folder; if not unique, the path as given. */
static const char *cited(const struct calibrate_cli *o, size_t file)
{
    const char *const name = without_folder(o->file[file]);
    for (size_t i = 0; i < o->n_file; i++)
        if (i != file && strcmp(without_folder(o->file[i]), name) == 0)
            return o->file[file];
    return name;
}

/* Comma-separated file names; commas within a name become semicolons. */
static void source_of(char *out, size_t size, const struct calibrate_cli *o)
{
    size_t len = 0;
    for (size_t i = 0; i < o->n_file && len + 1 < size; i++) {
        const int n = snprintf(out + len, size - len, "%s%s", i ? ", " : "", cited(o, i));
        for (char *c = out + len + (i ? 2 : 0); n > 0 && c < out + size - 1 && *c; c++)
            *c = *c == ',' ? ';' : *c;
        len += n > 0 ? (size_t)n : 0;
    }
}

static int run(const struct calibrate_cli *o, struct error *err)
{
    struct measure_hws hws = { 0 };
    struct rows *r = calloc(1, sizeof *r);
    struct constants_file f = { 0 };
    struct pricer *p = NULL;
    char source[CONSTANTS_SOURCE] = "";
    struct measure_context given = { 0 };
    int rc = r ? measured_context(&given, &o->measured, err) : error_oom(err, sizeof *r, "rows");
    if (rc == 0 && o->hardware)
        rc = measure_hws_load(&hws, o->hardware, err);
    if (rc == 0 && !(p = pricer_new(o->hardware ? &hws : NULL, given.hardware, err)))
        rc = -1;
    rc = rc ? rc : load_files(r, o, &given, p, err);
    source_of(source, sizeof source, o);
    if (rc == 0) {
        notify_progress(NULL, "fitting", 1);
        rc = constants_fit(&f, r->kept, r->n_kept, source, err);
        rc = rc ? rc : check_learned(&f, r, o, err);
    }
    notify_progress_done();
    rc = rc ? rc : constants_save(&f, o->out ? o->out : "-", err);
    constants_free(&f);
    if (r)
        rows_free(r);
    free(r);
    pricer_free(p);
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
    struct calibrate_cli o = { 0 };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    if (o.n_file == 0)
        return error_set(err, ERROR_USAGE, "expected a FILE of measurements");
    if (cli_keep_arguments(argc, argv, "-o", o.out, err) != 0)
        return -1;
    return run(&o, err);
}
