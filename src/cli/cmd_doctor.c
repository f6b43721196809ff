/* roofcast doctor: what can be measured here, and fixes for what cannot. */
#include "base/environment.h"
#include "bench/doctor.h"
#include "cli/cli.h"
#include "cli/fields.h"
#include "config.h"
#include <string.h>

enum { MOST_NAMES = 16, WIDTH = 100 };

struct options {
    const char *name[MOST_NAMES];
    size_t n;
    const char *root;
    enum report_format format;
};

enum { OPT_ROOT = 256 };

static const struct argp_option option_table[] = {
    { "output", 'o', "FORMAT", 0, "table (default), csv, json, jsonl, md or sql", 0 },
    { "root", OPT_ROOT, "DIR", 0, "use the files below DIR instead of /, such as a copy of another machine's /proc and /sys", 0 },
    { 0 },
};

#define AT(m) COLUMN_AT(struct doctor_row, m)
static const struct column doctor_columns[] = {
    { "name", "what", COL_TEXT, NULL, COL_MAJOR, AT(name), EMPTY_VALUE, NULL, "`null`, `perf`, `papi`, `likwid`, `uncore`, `energy`, `tsc`, `hugepages`, "
      "`likwid-bench`, `gnuplot`, `mpirun`" },
    { "usable", "usable", COL_BOOL, NULL, COL_MAJOR, AT(usable), EMPTY_VALUE, NULL, "of perf, papi and likwid: hardware events" },
    { "finding", "finding", COL_TEXT, NULL, COL_MAJOR, AT(finding), EMPTY_VALUE, NULL, "what is available, or why it is not usable" },
    { "fix", "fix", COL_TEXT, NULL, COL_MAJOR, AT(fix), EMPTY_NULL, NULL, "how to make it usable" },
};
#undef AT
const struct table_fields doctor_fields = { "doctor.row", doctor_columns, ARRAY_LEN(doctor_columns) };

static int add_name(struct options *o, const char *name, struct error *err)
{
    char known[256] = "";
    const char *check;
    for (size_t i = 0; (check = doctor_check_name(i)) != NULL; i++) {
        if (strcmp(check, name) == 0 && o->n < MOST_NAMES) {
            o->name[o->n++] = check;
            return 0;
        }
        const size_t len = strlen(known);
        snprintf(known + len, sizeof known - len, "%s%s", i ? ", " : "", check);
    }
    return error_set(err, ERROR_USAGE, "doctor \"%.64s\": expected one of: %s", name, known);
}

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    switch (key) {
    case 'o':
        return report_format_find(arg, &o->format, err);
    case OPT_ROOT:
        return cli_text(&o->root, arg);
    case ARGP_KEY_ARG:
        return add_name(o, arg, err);
    default:
        return CLI_UNKNOWN;
    }
}

static bool asked_for(const struct options *o, const char *name)
{
    for (size_t i = 0; i < o->n; i++)
        if (strcmp(o->name[i], name) == 0)
            return true;
    return false;
}

/* ---- text ---------------------------------------------------------------------------- */

static void print_row(const struct doctor_row *r)
{
    const int indent = 20;
    report_text_within(WIDTH, indent, "%-13s %-5s %s\n", r->name, r->usable ? "yes" : "no", r->finding);
    if (r->fix[0])
        report_text_within(WIDTH, indent + 3, "%*s-> %s\n", indent, "", r->fix);
}

static void print_system(const struct doctor_system *f)
{
    printf("%s, Linux %s%s%s%s\n", f->cpu[0] ? f->cpu : "CPU unknown", f->kernel[0] ? f->kernel : "unknown",
           f->virtual_machine ? ", virtual machine" : "", f->container ? ", container" : "", f->is_root ? ", root" : "");
    if (f->paranoid != DOCTOR_UNKNOWN)
        printf("kernel.perf_event_paranoid %d%s\n", f->paranoid, f->may_perf ? ", which CAP_PERFMON overrides" : "");
    putchar('\n');
}

/* ---- the command -------------------------------------------------------------------------------- */

static int print_report(const struct options *o, const struct doctor_system *f, const struct table_rows *rows, struct error *err)
{
    json_t *meta = json_pack("{s:o}", "system", doctor_system_json(f));
    const struct table d = { "roofcast.doctor", 1, meta, doctor_columns, ARRAY_LEN(doctor_columns), rows, NULL };
    const int rc = meta ? report_write(NULL, o->format, &d, err) : error_oom(err, 0, "the report");
    json_decref(meta);
    return rc;
}

static int run(const struct options *o, struct error *err)
{
    struct doctor_system f;
    struct doctor_row r;
    struct error missing = { 0 };
    struct table_rows rows = { .size = sizeof r };
    const bool people = o->format == REPORT_TABLE;
    int rc = 0;
    doctor_system_read(&f, o->root);
    if (people)
        print_system(&f);
    for (size_t i = 0; doctor_check_name(i); i++) {
        if (o->n && !asked_for(o, doctor_check_name(i)))
            continue;
        doctor_check(i, &f, &r);
        if (people)
            print_row(&r);
        else
            memcpy(table_add(&rows), &r, sizeof r);
        if (o->n && !r.usable && !missing.msg[0])
            error_set(&missing, ERROR_UNAVAILABLE, "%s: %s", r.name, r.finding);
    }
    if (!people)
        rc = print_report(o, &f, &rows, err);
    table_rows_free(&rows);
    if (rc == 0 && missing.msg[0]) {
        *err = missing;
        rc = -1;
    }
    return rc;
}

int cmd_doctor(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Check what can be measured here: counters, energy, clock, huge pages, programs; for everything unusable print the reason and a "
        "fix. With NAMEs only these are checked, and the exit status is 3 if one is not usable.\v"
        "  roofcast doctor\n"
        "  roofcast doctor perf uncore || echo 'no measured DRAM traffic'\n"
        "  roofcast doctor -o json\n"
        "  roofcast doctor --root /tmp/other-machine";
    static const struct cli_syntax syntax = { option_table, parse, "[NAME...]", doc, NULL };
    struct options o = { .format = REPORT_TABLE, .root = environment()->root };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    return run(&o, err);
}
