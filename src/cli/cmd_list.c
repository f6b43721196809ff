/* roofcast list: supported models, hardware, types, ...; the rows are made in list_*.c. */
#include "cli/cli.h"
#include "cli/fields.h"
#include "config.h"
#include "report/list.h"
#include <math.h>
#include <string.h>

struct section {
    const char *name, *schema, *heading;
    const struct list *list;
    const char *sorts; /* values of --sort, " a b "; NULL: no filter, order or groups */
};

static const struct section sections[] = {
    { "models", "roofcast.list.models", "Models (analyze, predict, synth)", &list_models, " name params " },
    { "archs", "roofcast.list.archs", "Architectures (general.architecture of a GGUF)", &list_archs, NULL },
    { "hw", "roofcast.list.hw", "Hardware (predict --hw)", &list_hw, " name bandwidth memory " },
    { "stacks", "roofcast.list.stacks", "Software (predict --stack)", &list_stacks, NULL },
    { "types", "roofcast.list.types", "Tensor types (-q)", &list_types, NULL },
    { "isa", "roofcast.list.isa", "Kernels (--isa)", &list_isa, NULL },
    { "counters", "roofcast.list.counters", "Counters (--counters)", &list_counters, NULL },
    { "chat", "roofcast.list.chat", "Chat templates (run --chat-template)", &list_chat, NULL },
};

static const struct section *find_section(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(sections); i++)
        if (strcmp(name, sections[i].name) == 0)
            return &sections[i];
    return NULL;
}

/* The selected rows; to be freed on error too. */
static int section_rows(struct table_rows *rows, const struct section *s, const struct list_filter *f, struct error *err)
{
    *rows = (struct table_rows){ .size = s->list->row_size };
    if (s->list->rows(rows, err) != 0)
        return -1;
    return s->sorts ? list_select(rows, f, s->name, err) : 0;
}

static struct table section_table(const struct section *s, const struct table_rows *rows)
{
    return (struct table){ s->schema, 1, NULL, s->list->cols, s->list->n_cols, rows, s->list->order };
}

static int print_table(const struct section *s, enum report_format f, const struct table_rows *rows, struct error *err)
{
    const struct table t = section_table(s, rows);
    return report_write(NULL, f, &t, err);
}

/* A table with a heading per group; rows are in the order of groups. */
static int print_groups(const struct section *s, enum report_format f, const char *mark, const struct table_rows *rows, struct error *err)
{
    char group[128], next[128];
    int rc = 0;
    for (size_t i = 0, end; rc == 0 && i < rows->n; i = end) {
        list_group(group, sizeof group, table_row(rows, i));
        for (end = i + 1; end < rows->n; end++) {
            list_group(next, sizeof next, table_row(rows, end));
            if (strcmp(next, group) != 0)
                break;
        }
        const struct table_rows some = { .size = rows->size, .n = end - i, .v = table_row(rows, i) };
        printf("%s%s%s\n\n", i ? "\n" : "", f == REPORT_MD ? mark : "", group);
        rc = print_table(s, f, &some, err);
    }
    return rc;
}

static int print_section(const struct section *s, enum report_format f, bool heading, const struct list_filter *filter,
                         struct error *err)
{
    struct table_rows rows;
    int rc = section_rows(&rows, s, filter, err);
    const bool groups = s->sorts && !filter->sort && (f == REPORT_TABLE || f == REPORT_MD) && rows.n;
    if (rc == 0 && heading)
        printf(f == REPORT_MD ? "## %s\n\n" : "%s\n\n", s->heading);
    if (rc == 0)
        rc = groups ? print_groups(s, f, heading ? "### " : "## ", &rows, err) : print_table(s, f, &rows, err);
    table_rows_free(&rows);
    return rc;
}

/* All sections in one document, rows by section name. */
static int print_all_json(const struct list_filter *filter, struct error *err)
{
    json_t *doc = json_pack("{s:s, s:i}", "schema", "roofcast.list", "version", 1);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(sections); i++) {
        struct table_rows rows;
        rc = section_rows(&rows, &sections[i], filter, err);
        const struct table t = section_table(&sections[i], &rows);
        if (rc == 0 && json_object_set_new(doc, sections[i].name, table_rows_json(&t)) != 0)
            rc = error_oom(err, 0, "a list");
        table_rows_free(&rows);
    }
    if (rc == 0 && json_print(doc, stdout, false, err) != 0)
        rc = error_prefix(err, "standard output");
    json_decref(doc);
    return rc;
}

static int print_all(enum report_format f, const struct list_filter *filter, struct error *err)
{
    if (f == REPORT_JSON)
        return print_all_json(filter, err);
    if (f == REPORT_CSV)
        return error_set(err, ERROR_USAGE, "csv holds one table: name a list, as in `roofcast list models -o csv`");
    for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
        bool headed = f != REPORT_JSONL;
        if (headed && i)
            printf("\n");
        if (print_section(&sections[i], f, headed, filter, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- the command line ------------------------------------------------------------------------ */

struct options {
    const char *what;
    enum report_format format;
    struct list_filter filter;
    const char *hw_only, *models_only, *either; /* an option given that needs these lists */
};

enum { OPT_FILTER = 1024, OPT_KIND, OPT_MIN_MEMORY, OPT_MIN_BANDWIDTH, OPT_ARCH, OPT_MIN_PARAMS, OPT_MAX_PARAMS, OPT_SORT };

static int add_text(struct options *o, const char *arg, struct error *err)
{
    strbuf_addf(&o->filter.text, " %s", arg);
    return o->filter.text.oom ? error_oom(err, strlen(arg), "a filter") : 0;
}

static int take_kind(struct options *o, const char *arg, struct error *err)
{
    const int kind = hw_kind_find(arg);
    o->filter.kind = kind < 0 ? NULL : hw_kind_name((enum hw_kind)kind);
    return kind >= 0 ? 0 : error_set(err, ERROR_USAGE, "--kind \"%s\": expected gpu, apu, npu or cpu", arg);
}

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    struct list_filter *f = &o->filter;
    switch (key) {
    case 'o':
        return report_format_find(arg, &o->format, err);
    case OPT_FILTER:
        o->either = "--filter";
        return add_text(o, arg, err);
    case OPT_KIND:
        o->hw_only = "--kind";
        return take_kind(o, arg, err);
    case OPT_MIN_MEMORY:
        o->hw_only = "--min-memory";
        return list_parse_bytes(&f->min_memory_bytes, arg, o->hw_only, err);
    case OPT_MIN_BANDWIDTH:
        o->hw_only = "--min-bandwidth";
        return list_parse_bytes(&f->min_bandwidth_bytes_s, arg, o->hw_only, err);
    case OPT_ARCH:
        o->models_only = "--arch";
        return cli_text(&f->arch, arg);
    case OPT_MIN_PARAMS:
        o->models_only = "--min-params";
        return list_parse_count(&f->min_params, arg, o->models_only, err);
    case OPT_MAX_PARAMS:
        o->models_only = "--max-params";
        return list_parse_count(&f->max_params, arg, o->models_only, err);
    case OPT_SORT:
        o->either = "--sort";
        return cli_text(&f->sort, arg);
    case ARGP_KEY_ARG:
        if (o->what && !find_section(arg)) {
            o->either = arg;
            return add_text(o, arg, err);
        }
        return cli_text_once(&o->what, arg, "list", err);
    default:
        return CLI_UNKNOWN;
    }
}

/* Filters and orders need lists with the corresponding columns. */
static int check_options(const struct options *o, const struct section *s, struct error *err)
{
    const char *for_hw = !s || strcmp(s->name, "hw") != 0 ? o->hw_only : NULL;
    const char *for_models = !s || strcmp(s->name, "models") != 0 ? o->models_only : NULL;
    char word[64];
    if (for_hw)
        return error_set(err, ERROR_USAGE, "%s needs `roofcast list hw`", for_hw);
    if (for_models)
        return error_set(err, ERROR_USAGE, "%s needs `roofcast list models`", for_models);
    if (o->either && (!s || !s->sorts))
        return error_set(err, ERROR_USAGE, "%s: only `roofcast list hw` and `roofcast list models` are filtered and sorted",
                         o->either);
    if (!o->filter.sort)
        return 0;
    snprintf(word, sizeof word, " %s ", o->filter.sort);
    if (strchr(o->filter.sort, ' ') || !strstr(s->sorts, word))
        return error_set(err, ERROR_USAGE, "--sort \"%s\": expected one of:%.*s", o->filter.sort,
                         (int)strlen(s->sorts) - 1, s->sorts);
    return 0;
}

static int print_list(const struct options *o, struct error *err)
{
    if (o->what && strcmp(o->what, "fields") == 0) { /* for doc/formats.md; undocumented */
        list_fields();
        return 0;
    }
    const struct section *s = o->what ? find_section(o->what) : NULL;
    if (o->what && !s)
        return error_set(err, ERROR_USAGE, "list \"%s\": expected models, archs, hw, stacks, types, isa, counters or chat", o->what);
    if (check_options(o, s, err) != 0)
        return -1;
    return s ? print_section(s, o->format, false, &o->filter, err) : print_all(o->format, &o->filter, err);
}

int cmd_list(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "List supported models, architectures (archs), hardware (hw), software stacks, tensor types, kernels (isa), counter backends and "
        "chat templates; without an argument all of them. Words after hw and models filter: each must occur in a name, vendor, kind "
        "or architecture.\v"
        "  roofcast list\n"
        "  roofcast list hw\n"
        "  roofcast list hw nvidia --min-memory 80G --sort bandwidth\n"
        "  roofcast list hw --kind apu --min-bandwidth 400G\n"
        "  roofcast list models --arch llama --min-params 7B --max-params 14B\n"
        "  roofcast list models coder --sort params -o csv\n"
        "  roofcast list stacks\n"
        "  roofcast list types -o md\n"
        "  roofcast list counters -o json\n";
    static const struct argp_option option_table[] = {
        { "output", 'o', "FORMAT", 0, "table (default), csv, json, jsonl, md or sql", 0 },
        { "filter", OPT_FILTER, "TEXT", CLI_AGAIN, "hw, models: only rows that contain every word of TEXT (same as words after the list)", 0 },
        { "sort", OPT_SORT, "bandwidth|memory|params|name", 0, "one sorted table instead of groups: hw by bandwidth, memory or name, models by params or name", 0 },
        { "kind", OPT_KIND, "gpu|apu|npu|cpu", 0, "hw: only gpu, apu (integrated GPU), npu or cpu", 0 },
        { "min-memory", OPT_MIN_MEMORY, "BYTES", 0, "hw: minimum memory, such as 80G or 24GiB", 0 },
        { "min-bandwidth", OPT_MIN_BANDWIDTH, "BYTES", 0, "hw: minimum bandwidth in bytes/s, such as 400G or 1T", 0 },
        { "arch", OPT_ARCH, "NAME", 0, "models: only this architecture (roofcast list archs)", 0 },
        { "min-params", OPT_MIN_PARAMS, "N", 0, "models: minimum number of parameters, such as 7B or 500M", 0 },
        { "max-params", OPT_MAX_PARAMS, "N", 0, "models: maximum number of parameters", 0 },
        { 0 },
    };
    static const struct cli_syntax syntax = { option_table, parse, "[models|archs|hw|stacks|types|isa|counters|chat] [WORD...]", doc, NULL };
    struct options o = { .format = REPORT_TABLE,
                         .filter = { .min_memory_bytes = NAN,
                                     .min_bandwidth_bytes_s = NAN,
                                     .min_params = NAN,
                                     .max_params = NAN } };
    int rc = cli_parse(&syntax, argc, argv, &o, err);
    if (rc == 0)
        rc = print_list(&o, err);
    strbuf_free(&o.filter.text);
    return rc;
}
