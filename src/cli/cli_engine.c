/* Options of the commands that run the engine; protection of input files; the style of charts. */
#include "base/environment.h"
#include "cli/cli.h"
#include <string.h>

int cli_engine_option(struct setup_options *o, int key, const char *arg, struct error *err)
{
    switch (key) {
    case CLI_OPT_ISA:
        return cli_text(&o->isa, arg);
    case CLI_OPT_CPUS:
        return cli_text(&o->cpus, arg);
    case CLI_OPT_NUMA:
        return cli_text(&o->numa, arg);
    case CLI_OPT_NO_REPACK:
        return cli_flag(&o->no_repack);
    case CLI_OPT_ACT_SCALES:
        o->pow2_scales = strcmp(arg, "pow2") == 0;
        return o->pow2_scales || strcmp(arg, "exact") == 0 ? 0 : error_set(err, ERROR_USAGE, "--act-scales: expected exact or pow2, found \"%s\"", arg);
    case CLI_OPT_CTK:
        return dtype_get_kv(&o->type_k, arg, err);
    case CLI_OPT_CTV:
        return dtype_get_kv(&o->type_v, arg, err);
    default:
        return CLI_UNKNOWN;
    }
}

int cli_keep_input(const char *path, const struct gguf *g, const char *option, const char *out, struct error *err)
{
    bool same = out && *path && file_same(path, out);
    for (size_t i = 0; out && g && i < gguf_n_files(g); i++)
        same |= file_same(gguf_file_path(g, i), out);
    if (!same)
        return 0;
    return error_set(err, ERROR_USAGE, "%s %s is an input file: name another file", option, out);
}

/* Whether an argument, or an item of its comma-separated list, is that file. */
static bool names(const char *arg, const char *out)
{
    char part[4096];
    for (const char *at = arg; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const size_t n = strcspn(at, ",");
        if (n == 0 || n >= sizeof part)
            continue;
        memcpy(part, at, n);
        part[n] = 0;
        if (file_same(part, out))
            return true;
    }
    return file_same(arg, out);
}

int cli_keep_arguments(int argc, char **argv, const char *option, const char *out, struct error *err)
{
    for (int i = 1; out && i < argc; i++) {
        const char *arg = argv[i], *value = strchr(arg, '=');
        if (out >= arg && out <= arg + strlen(arg)) /* the option's own */
            continue;
        if (names(arg, out) || (value && names(value + 1, out)) || (arg[0] == '-' && arg[1] && names(arg + 2, out)))
            return error_set(err, ERROR_USAGE, "%s %s is an input file (\"%.200s\"): name another file", option, out, arg);
    }
    return 0;
}

int cli_keep_chart(int argc, char **argv, const char *option, const char *base, struct error *err)
{
    static const char *const ends[] = { ".gp", ".tsv", ".roofs.tsv", ".svg", ".png", ".pdf", ".txt" };
    int rc = 0;
    for (size_t i = 0; base && i < ARRAY_LEN(ends) && rc == 0; i++) {
        struct strbuf path = { 0 };
        strbuf_addf(&path, "%s%s", base, ends[i]);
        rc = path.oom ? error_oom(err, strlen(base), "a file name") : cli_keep_arguments(argc, argv, option, path.s, err);
        strbuf_free(&path);
    }
    return rc;
}

int cli_chart_files(char style[static CLI_PATH], char base[static CLI_PATH], const char *out, const char *kind, const char *ending, struct error *err)
{
    char name[96];
    snprintf(name, sizeof name, "reports/charts/%.60s.gp", kind);
    snprintf(base, CLI_PATH, "%.4000s%.60s", out, ending);
    return cli_chart_style(style, CLI_PATH, name, err);
}

int cli_chart_style(char *path, size_t size, const char *name, struct error *err)
{
    if (environment_file(path, size, name))
        return 0;
    return error_set(err, ERROR_INPUT, "%s: not found: the chart's style (ROOFCAST_DATA is the directory of reports/)", path);
}
