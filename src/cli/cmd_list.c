/* roofcast list: what this program knows and what works here: models, hardware, tensor types, kernels, counters. */
#include "config.h"
#include "cli/cli.h"
#include "counters/counters.h"
#include "kernels/kernels.h"
#include "model/chat.h"
#include <math.h>
#include <string.h>

#define N_THREADS_ALL (1 << 20) /* more than any machine: the ceiling of most threads */

struct section {
    const char *name, *schema, *heading;
    int (*rows)(json_t *rows, struct error *err);
    const struct column *cols;
    size_t n_cols;
};

/* Appends a row built by json_pack; NULL (out of memory, not UTF-8) is an error. */
static int add_row(json_t *rows, json_t *row, struct error *err)
{
    if (!row || json_array_append_new(rows, row) != 0)
        return error_set(err, ERROR_SYSTEM, "list: out of memory, or a name that is not UTF-8");
    return 0;
}

/* ---- models ------------------------------------------------------------------------ */

static const struct column model_cols[] = {
    { "name", "model", COL_TEXT, "", false },
    { "arch", "arch", COL_TEXT, "", false },
    { "n_params", "parameters", COL_SI, "", false },
    { "n_layer", "layers", COL_INT, "", false },
    { "n_embd", "n_embd", COL_INT, "", false },
    { "n_head", "heads", COL_INT, "", false },
    { "n_head_kv", "KV heads", COL_INT, "", false },
    { "n_ff", "n_ff", COL_INT, "", false },
    { "n_vocab", "vocab", COL_INT, "", false },
    { "n_ctx_train", "context", COL_INT, "", false },
    { "tied", "tied", COL_BOOL, "", true },
    { "file", "file", COL_TEXT, "", false },
};

static int model_row(json_t *rows, const char *name, struct error *err)
{
    struct model m;
    char file[512];
    if (model_load(&m, name, NULL, err) != 0) {
        /* One broken file must not hide the others. */
        cli_warn("%s", err ? err->msg : name);
        return 0;
    }
    snprintf(file, sizeof file, "models/%.480s.json", name);
    const struct hparams *hp = &m.hp;
    json_t *j = json_pack("{s:s, s:s, s:I, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:b, s:s}", "name", name, "arch",
                          model_arch_name(&m), "n_params", (json_int_t)m.n_params, "n_layer", (int)hp->n_layer, "n_embd",
                          (int)hp->n_embd, "n_head", (int)hp->n_head, "n_head_kv", (int)hp->n_head_kv, "n_ff",
                          (int)hp->n_ff, "n_vocab", (int)hp->n_vocab, "n_ctx_train", (int)hp->n_ctx_train, "tied",
                          (int)hp->tied, "file", file);
    model_free(&m);
    return add_row(rows, j, err);
}

static int list_models(json_t *rows, struct error *err)
{
    char **names;
    size_t n;
    int rc = model_list(&names, &n, err);
    if (rc != 0)
        return -1;
    if (n == 0)
        rc = error_set(err, ERROR_INPUT, "no models by name: %s has no models/*.json (ROOFCAST_DATA names the directory)",
                       cli_data_dirs()[0]);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = model_row(rows, names[i], err);
    name_list_free(names, n);
    return rc;
}

/* ---- hardware ---------------------------------------------------------------------- */

static const struct column hw_cols[] = {
    { "id", "hardware", COL_TEXT, "", false },
    { "name", "name", COL_TEXT, "", false },
    { "kind", "kind", COL_TEXT, "", false },
    { "memory_bytes", "memory", COL_SI, "B", false },
    { "bandwidth_bytes_s", "bandwidth", COL_SI, "B/s", false },
    { "peak_flop_s", "best peak", COL_SI, "FLOP/s", false },
    { "peak_math", "of", COL_TEXT, "", false },
    { "n_ceilings", "measured roofs", COL_INT, "", false },
    { "file", "file", COL_TEXT, "", true },
};

static const char *kind_name(enum hw_kind k)
{
    switch (k) {
    case HW_CPU:
        return "cpu";
    case HW_GPU:
        return "gpu";
    case HW_APU:
        return "apu";
    case HW_NPU:
        return "npu";
    }
    return "?";
}

/* The highest dense floating-point peak of 16 bits or more, measured where it was. NaN: none. */
static double best_peak(const struct hwprofile *h, const char **math)
{
    static const enum math candidates[] = { MATH_FP16, MATH_BF16, MATH_TF32, MATH_FP32 };
    double best = NAN;
    for (size_t i = 0; i < ARRAY_LEN(candidates); i++) {
        const struct ceiling *c = hwprofile_peak(h, candidates[i], N_THREADS_ALL);
        double v = c ? c->value : h->peak[candidates[i]].value;
        if (isnan(best) || v > best) {
            best = v;
            *math = isnan(v) ? NULL : math_name(candidates[i]);
        }
    }
    return best;
}

static int hw_row(json_t *rows, const char *id, const struct hwprofile *h, struct error *err)
{
    const struct ceiling *bw = hwprofile_bandwidth(h, "DRAM", N_THREADS_ALL);
    const char *math = NULL;
    double peak = best_peak(h, &math);
    return add_row(rows,
                   json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:s?, s:i, s:s}", "id", id, "name", h->name, "kind",
                             kind_name(h->kind), "memory_bytes", json_num(h->mem_bytes.value), "bandwidth_bytes_s",
                             json_num(bw ? bw->value : h->mem_bw.value), "peak_flop_s", json_num(peak), "peak_math",
                             math, "n_ceilings", (int)h->n_ceiling, "file", h->path),
                   err);
}

static int hw_load_row(json_t *rows, const char *id, struct error *err)
{
    struct hwprofile h;
    if (cli_hwprofile_load(&h, id, err) != 0) {
        cli_warn("%s", err ? err->msg : id);
        return 0;
    }
    int rc = hw_row(rows, id, &h, err);
    hwprofile_free(&h);
    return rc;
}

static int list_hw(json_t *rows, struct error *err)
{
    char **names;
    size_t n;
    int rc = hwprofile_list(&names, &n, err);
    if (rc != 0)
        return -1;
    if (cli_profile_path() && file_exists(cli_profile_path()))
        rc = hw_load_row(rows, "this", err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = hw_load_row(rows, names[i], err);
    name_list_free(names, n);
    return rc;
}

/* ---- types --------------------------------------------------------------------------- */

static const struct column type_cols[] = {
    { "name", "type", COL_TEXT, "", false },
    { "id", "id", COL_INT, "", false },
    { "block_elems", "elements a block", COL_INT, "", false },
    { "block_bytes", "bytes a block", COL_INT, "", false },
    { "bits_weight", "bits a weight", COL_FLOAT, "", false },
    { "executable", "runs", COL_BOOL, "", false },
    { "writable", "written", COL_BOOL, "", false },
};

static int list_types(json_t *rows, struct error *err)
{
    const struct dtype_info *t;
    for (size_t i = 0; (t = dtype_at(i)) != NULL; i++) {
        json_t *j = json_pack("{s:s, s:i, s:i, s:i, s:o, s:b, s:b}", "name", t->name, "id", (int)t->id, "block_elems",
                              (int)t->block_elems, "block_bytes", (int)t->block_bytes, "bits_weight",
                              json_num(dtype_bits(t->id)), "executable", (int)dtype_executable(t->id), "writable",
                              t->quantize != NULL);
        if (add_row(rows, j, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- kernels --------------------------------------------------------------------------- */

static const struct column isa_cols[] = {
    { "isa", "kernels", COL_TEXT, "", false },
    { "usable", "runs here", COL_BOOL, "", false },
    { "best", "default", COL_BOOL, "", false },
    { "reason", "why not", COL_TEXT, "", false },
};

static int list_isa(json_t *rows, struct error *err)
{
    struct kernels k;
    const char *name;
    bool usable;
    kernels_init(&k, cpu_flags());
    for (size_t i = 0; (name = kernels_isa_at(i, &usable)) != NULL; i++) {
        json_t *j = json_pack("{s:s, s:b, s:b, s:s?}", "isa", name, "usable", (int)usable, "best",
                              !strcmp(name, k.isa), "reason", usable ? NULL : "this CPU lacks instructions it needs");
        if (add_row(rows, j, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- counters ---------------------------------------------------------------------------- */

static const struct column counter_cols[] = {
    { "backend", "backend", COL_TEXT, "", false },
    { "usable", "usable", COL_BOOL, "", false },
    { "field", "counts", COL_TEXT, "", false },
    { "valid", "here", COL_BOOL, "", false },
    { "reason", "why not", COL_TEXT, "", false },
};

static int counter_row(json_t *rows, const char *backend, bool usable, const char *field, const char *why,
                       struct error *err)
{
    json_t *j = json_pack("{s:s, s:b, s:s?, s:b, s:s?}", "backend", backend, "usable", (int)usable, "field", field,
                          "valid", field && !*why, "reason", *why ? why : NULL);
    return add_row(rows, j, err);
}

/* Opens the backend as an engine would, and asks it field by field. */
static int backend_rows(json_t *rows, const char *name, const char *why, struct error *err)
{
    const struct counter_source src = { 0 };
    struct error no = { 0 };
    struct counters *c = *why ? NULL : counters_open(name, &src, 1, &no);
    if (!c)
        return counter_row(rows, name, false, NULL, *why ? why : no.msg, err);
    int rc = 0;
    for (int f = 0; rc == 0 && f < COUNTER_FIELD_COUNT; f++)
        rc = counter_row(rows, name, true, counter_field_name((enum counter_field)f),
                         counters_reason(c, (enum counter_field)f), err);
    counters_close(c);
    return rc;
}

static int list_counters(json_t *rows, struct error *err)
{
    char why[256];
    const char *name;
    for (size_t i = 0; (name = counters_backend_at(i, why, sizeof why)) != NULL; i++)
        if (backend_rows(rows, name, why, err) != 0)
            return -1;
#ifdef HAVE_LIKWID
    const char *likwid = "the library is linked, but this version has no LIKWID backend yet";
#else
    const char *likwid = "not built in, and this version has no LIKWID backend yet";
#endif
    return counter_row(rows, "likwid", false, NULL, likwid, err);
}

/* ---- architectures ------------------------------------------------------------------------- */

static const struct column arch_cols[] = {
    { "name", "architecture", COL_TEXT, "", false },
    { "model_types", "config.json's model_type", COL_TEXT, "", false },
    { "experts", "experts", COL_BOOL, "", false },
    { "windows", "windows", COL_BOOL, "", false },
};

static int list_archs(json_t *rows, struct error *err)
{
    struct arch_info a;
    for (size_t i = 0; model_arch_at(i, &a); i++)
        if (add_row(rows, json_pack("{s:s, s:s, s:b, s:b}", "name", a.name, "model_types", a.model_types, "experts",
                                    a.experts, "windows", a.windows), err) != 0)
            return -1;
    return 0;
}

/* ---- chat templates ------------------------------------------------------------------------ */

static const struct column chat_cols[] = {
    { "name", "chat template", COL_TEXT, "", false },
    { "models", "of", COL_TEXT, "", false },
    { "system", "system message", COL_TEXT, "", false },
    { "default_system", "without one", COL_TEXT, "", true },
};

static const char *chat_system_name(enum chat_system s)
{
    switch (s) {
    case CHAT_SYSTEM_TURN:
        return "turn";
    case CHAT_SYSTEM_FIRST_USER:
        return "first user";
    case CHAT_SYSTEM_LAST_USER:
        return "last user";
    case CHAT_SYSTEM_NONE:
        return "none";
    }
    return "?";
}

static int list_chat(json_t *rows, struct error *err)
{
    const struct chat_template *c;
    for (size_t i = 0; (c = chat_template_at(i)) != NULL; i++) {
        json_t *j = json_pack("{s:s, s:s, s:s, s:s?}", "name", chat_template_name(c), "models", chat_template_models(c),
                              "system", chat_system_name(chat_template_system(c)), "default_system",
                              chat_template_default_system(c));
        if (add_row(rows, j, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

#define SECTION(name, heading, fn, cols) { name, "roofcast.list." name, heading, fn, cols, ARRAY_LEN(cols) }
static const struct section sections[] = {
    SECTION("models", "Models (analyze, predict, synth)", list_models, model_cols),
    SECTION("archs", "Architectures (general.architecture of a GGUF)", list_archs, arch_cols),
    SECTION("hw", "Hardware (predict --hw)", list_hw, hw_cols),
    SECTION("types", "Tensor types (-q)", list_types, type_cols),
    SECTION("isa", "Kernels (--isa)", list_isa, isa_cols),
    SECTION("counters", "Counters (--counters)", list_counters, counter_cols),
    SECTION("chat", "Chat templates (run --chat-template)", list_chat, chat_cols),
};

static int print_section(const struct section *s, enum report_format f, bool heading, struct error *err)
{
    json_t *rows = json_array();
    if (!rows)
        return error_oom(err, 0, "a list");
    int rc = s->rows(rows, err);
    if (rc == 0 && heading)
        printf(f == REPORT_MD ? "## %s\n\n" : "%s\n\n", s->heading);
    const struct report_doc d = { s->schema, 1, NULL, rows, s->cols, s->n_cols };
    if (rc == 0)
        rc = cli_report(NULL, f, &d, err);
    json_decref(rows);
    return rc;
}

/* All sections in one document: their rows under their names. */
static int print_all_json(struct error *err)
{
    json_t *doc = json_pack("{s:s, s:i}", "schema", "roofcast.list", "version", 1);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(sections); i++) {
        json_t *rows = json_array();
        rc = sections[i].rows(rows, err);
        if (json_object_set_new(doc, sections[i].name, rows) != 0)
            rc = error_oom(err, 0, "a list");
    }
    if (rc == 0 && json_print(doc, stdout, false, err) != 0)
        rc = error_prefix(err, "standard output");
    json_decref(doc);
    return rc;
}

static int print_all(enum report_format f, struct error *err)
{
    if (f == REPORT_JSON)
        return print_all_json(err);
    if (f == REPORT_CSV)
        return error_set(err, ERROR_USAGE, "csv is one table: name a list, as in `roofcast list models -o csv`");
    for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
        bool headed = f != REPORT_JSONL;
        if (headed && i)
            printf("\n");
        if (print_section(&sections[i], f, headed, err) != 0)
            return -1;
    }
    return 0;
}

struct options {
    const char *what;
    enum report_format format;
};

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    switch (key) {
    case 'o':
        return report_format_find(arg, &o->format, err);
    case ARGP_KEY_ARG:
        return cli_text_once(&o->what, arg, "list", err);
    default:
        return CLI_UNKNOWN;
    }
}

int cmd_list(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "What this program knows and what works here: models, archs, hw, types, isa, counters, chat; all of them without "
        "an argument.\v"
        "  roofcast list\n"
        "  roofcast list hw\n"
        "  roofcast list types -o md\n"
        "  roofcast list counters -o json\n";
    static const struct argp_option option_table[] = {
        { "output", 'o', "FORMAT", 0, "table (default), csv, json, jsonl or md", 0 },
        { 0 },
    };
    static const struct cli_syntax syntax = { option_table, parse, "[models|archs|hw|types|isa|counters|chat]", doc };
    struct options o = { .format = REPORT_TABLE };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    if (!o.what)
        return print_all(o.format, err);
    for (size_t i = 0; i < ARRAY_LEN(sections); i++)
        if (strcmp(o.what, sections[i].name) == 0)
            return print_section(&sections[i], o.format, false, err);
    return error_set(err, ERROR_USAGE, "list \"%s\": expected models, archs, hw, types, isa, counters or chat", o.what);
}
