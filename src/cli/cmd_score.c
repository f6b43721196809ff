/* roofcast score: predictions beside what others measured. */
#include "cli/cli.h"
#include "score/score.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_HARDWARE = 700, OPT_FEATURES };

static const struct argp_option option_table[] = {
    { "hardware", OPT_HARDWARE, "FILE", 0, "machines without a profile: a file with the columns of hardware.csv", 0 },
    { "features", OPT_FEATURES, "FILE", 0, "write what every row reads, computes and exchanges as CSV, and do not score", 0 },
    { NULL, 'o', "FORMAT", 0, "table (default), csv, json, jsonl, md", 0 },
    { 0 },
};

struct score_cli {
    const char *file, *hardware, *features;
    enum report_format format;
};

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct score_cli *o = options;
    switch (key) {
    case ARGP_KEY_ARG:
        return cli_text_once(&o->file, arg, "file", err);
    case OPT_HARDWARE:
        return cli_text(&o->hardware, arg);
    case OPT_FEATURES:
        return cli_text(&o->features, arg);
    case 'o':
        return report_format_find(arg, &o->format, err);
    default:
        return CLI_UNKNOWN;
    }
}

/* Rows of l with their work. */
static struct priced *price_all(const struct measurements *l, struct pricer *p, struct error *err)
{
    struct priced *rows = calloc(l->n + 1, sizeof *rows);
    if (!rows) {
        error_oom(err, l->n * sizeof *rows, "rows");
        return NULL;
    }
    for (size_t i = 0; i < l->n; i++)
        if (price_row(p, &l->row[i], &rows[i], err) != 0) {
            while (i-- > 0)
                priced_free(&rows[i]);
            free(rows);
            return NULL;
        }
    return rows;
}

static int run(const struct score_cli *o, struct error *err)
{
    struct measurements l = { 0 };
    struct measure_hws hws = { 0 };
    struct pricer *p = NULL;
    struct priced *rows = NULL;
    int rc = measure_load(&l, o->file, NULL, err);
    if (rc == 0 && o->hardware)
        rc = measure_hws_load(&hws, o->hardware, err);
    if (rc == 0 && !(p = pricer_new(o->hardware ? &hws : NULL, err)))
        rc = -1;
    if (rc == 0 && !(rows = price_all(&l, p, err)))
        rc = -1;
    if (rc == 0 && o->features)
        rc = features_save(rows, l.n, o->features, err);
    for (size_t i = 0; rows && i < l.n; i++)
        priced_free(&rows[i]);
    free(rows);
    pricer_free(p);
    measure_hws_free(&hws);
    measure_free(&l);
    return rc;
}

int cmd_score(int argc, char **argv, struct error *err)
{
    static const char doc[] = "Predictions beside measurements.";
    static const struct cli_syntax syntax = { option_table, parse, "FILE", doc };
    struct score_cli o = { .format = REPORT_TABLE };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    if (!o.file)
        return error_set(err, ERROR_USAGE, "no FILE of measurements");
    return run(&o, err);
}
