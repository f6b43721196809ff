/*
 * The outputs of llama-bench: -o json, jsonl, csv, sql have the same fields; md a table of some of them.
 * Source: ggml-org/llama.cpp tools/llama-bench/llama-bench.cpp (test::get_fields and the printers).
 */
#include "dtype/dtype.h"
#include "measure/internal.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum field { F_FILE, F_LABEL, F_SIZE, F_PARAMS, F_BACKENDS, F_CPU, F_GPU, F_UBATCH, F_THREADS, F_TYPE_K, F_TYPE_V, F_NGL, F_FLASH,
             F_PROMPT, F_GEN, F_DEPTH, F_RATE, F_COMMIT, F_DATE, F_SPLIT, F_MAIN, F_DEVICES, F_CPU_MOE, F_OVERRIDES,
             F_CUDA, F_METAL, F_VULKAN, F_SYCL, F_OPENCL, F_IK, N_FIELD };
static const char *const names[N_FIELD] = {
    "model_filename", "model_type", "model_size", "model_n_params", "backends", "cpu_info", "gpu_info", "n_ubatch", "n_threads",
    "type_k", "type_v", "n_gpu_layers", "flash_attn", "n_prompt", "n_gen", "n_depth", "avg_ts", "build_commit", "test_time",
    "split_mode", "main_gpu", "devices", "n_cpu_moe", "tensor_buft_overrides",
    "cuda", "metal", "vulkan", "sycl", "opencl", /* before "backends" (September 2024), and in ik_llama.cpp */
    "fused_moe",                                 /* of ik_llama.cpp alone */
};
static const int needed[] = { F_LABEL, F_PROMPT, F_GEN, F_RATE };

/* One test: texts of its fields, "" where the file has none, and where they stand, for messages. */
struct test {
    const char *v[N_FIELD];
    const char *name;             /* of the file */
    size_t line;
    const struct json_text *json; /* json: where it stands; else NULL */
    const struct csv *csv;        /* csv: row and columns; else NULL */
    size_t row;
    const int *col;
    const char *text;             /* sql, md: the file, where in it the test begins and each value, NULL: not there; else NULL */
    const char *begin, *at[N_FIELD];
};

static void place_in_text(const char *text, const char *at, size_t *line, size_t *column)
{
    const char *begin = text;
    *line = 1;
    for (const char *p = text; p < at; p++)
        if (*p == '\n') {
            ++*line;
            begin = p + 1;
        }
    *column = (size_t)(at - begin) + 1;
}

/* Where a field stands, for messages; where the test does, if it has none. */
static const char *place(const struct test *t, enum field f, char *buf, size_t size)
{
    size_t line = t->line, column = 1;
    if (t->json) {
        const struct json_text at = json_text_field(t->json, names[f]);
        line = at.line;
        column = at.column;
    } else if (t->csv && t->col[f] >= 0) {
        line = csv_at(t->csv, t->row, t->col[f])->line;
        column = csv_at(t->csv, t->row, t->col[f])->column;
    } else if (t->text) {
        place_in_text(t->text, t->at[f] ? t->at[f] : t->begin, &line, &column);
    }
    snprintf(buf, size, "%.250s: line %zu, column %zu", t->name, line, column);
    return buf;
}

/* ---- texts ---------------------------------------------------------------------------------------------- */

/* "Q4_K - Medium" -> "Q4_K_M"; what stands behind the size in "llama 8B Q4_K - Medium". */
static void type_of_label(char *out, size_t size, const char *label)
{
    static const char *const begins[] = { "F16", "F32", "BF16", "MXFP4", "Q", "IQ", "TQ", "all ", "NVFP4" };
    const char *found = "";
    for (const char *p = strchr(label, ' '); p && !*found; p = strchr(p + 1, ' '))
        for (size_t i = 0; i < ARRAY_LEN(begins); i++) {
            const size_t n = strlen(begins[i]);
            if (strncmp(p + 1, begins[i], n) == 0 && (n > 2 || isdigit((unsigned char)p[1 + n])))
                found = p + 1;
        }
    if (strncmp(found, "all ", 4) == 0)
        found += 4;
    snprintf(out, size, "%s", found);
    char *dash = strstr(out, " - ");
    if (dash) {
        const char c = dash[3];
        *dash = 0;
        if (c == 'S' || c == 'M' || c == 'L')
            snprintf(dash, size - (size_t)(dash - out), "_%c", c);
    }
    out[strcspn(out, " ")] = 0;
}

/* "models/Llama-3-8B.gguf" -> "Llama-3-8B" */
static void model_of_file(char *out, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/'), *back = strrchr(path, '\\');
    const char *s = slash ? slash + 1 : back ? back + 1 : path;
    snprintf(out, size, "%s", s);
    char *end = strcasestr(out, ".gguf");
    if (end)
        *end = 0;
    end = strstr(out, "-00001-of-");
    if (end)
        *end = 0;
}

/* The parts of a list, blanks around them cut off; lists of GPUs were joined by '/' before November 2024. */
enum { MAX_DEVICES = 16, DEVICE_SIZE = 128 };
struct device_list {
    char name[MAX_DEVICES][DEVICE_SIZE];
    int n;
};

static void split_list(struct device_list *l, const char *text, const char *signs)
{
    l->n = 0;
    for (const char *p = text; *p && l->n < MAX_DEVICES;) {
        p += strspn(p, " ");
        size_t n = strcspn(p, signs);
        const char *const next = p + n + (p[n] != 0);
        while (n && p[n - 1] == ' ')
            n--;
        if (n)
            snprintf(l->name[l->n++], DEVICE_SIZE, "%.*s", (int)(n < DEVICE_SIZE ? n : DEVICE_SIZE - 1), p);
        p = next;
    }
}

/* A CPU's list has the libraries that multiply beside it: "Accelerate, Apple M1 Pro". */
static const char *processor(const struct device_list *l)
{
    static const char *const libraries[] = { "Accelerate", "BLAS", "BLIS", "NVPL", "OpenBLAS", "AMX" };
    for (int i = 0; i < l->n; i++) {
        bool library = false;
        for (size_t k = 0; k < ARRAY_LEN(libraries); k++)
            library |= strcmp(l->name[i], libraries[k]) == 0;
        if (!library)
            return l->name[i];
    }
    return "";
}

/* Which of the machine's GPUs run it, as -dev, -sm none and -mg say; of those, as many as are equal to the first. */
static int devices_used(char *out, size_t size, const struct test *t)
{
    struct device_list all, chosen;
    int used[MAX_DEVICES], n_used = 0, n = 0;
    split_list(&all, t->v[F_GPU], ",/");
    split_list(&chosen, strcmp(t->v[F_DEVICES], "auto") == 0 ? "" : t->v[F_DEVICES], "/");
    for (int i = 0; i < chosen.n; i++) {
        const char *digits = chosen.name[i] + strcspn(chosen.name[i], "0123456789"); /* CUDA1 */
        const unsigned long k = strtoul(digits, NULL, 10);
        if (*digits && k < (unsigned long)all.n)
            used[n_used++] = (int)k;
    }
    if (n_used == 0)
        for (; n_used < all.n; n_used++)
            used[n_used] = n_used;
    const double said = *t->v[F_MAIN] ? csv_to_number(t->v[F_MAIN]) : 0;
    const bool one = strcmp(t->v[F_SPLIT], "none") == 0 && said >= 0 && said < n_used;
    snprintf(out, size, "%s", n_used ? all.name[used[one ? (int)said : 0]] : "");
    for (int i = 0; i < n_used && !one; i++)
        n += strcmp(all.name[used[i]], out) == 0;
    return one || n < 1 ? 1 : n;
}

/* Without "backends": those of a build by their flags. */
static const char *back_end(const struct test *t)
{
    static const struct {
        enum field flag;
        const char *name;
    } flags[] = { { F_CUDA, "CUDA" }, { F_METAL, "Metal" }, { F_VULKAN, "Vulkan" }, { F_SYCL, "SYCL" }, { F_OPENCL, "OpenCL" } };
    bool any = false;
    if (*t->v[F_BACKENDS])
        return t->v[F_BACKENDS];
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        if (strcmp(t->v[flags[i].flag], "1") == 0)
            return flags[i].name;
        any |= *t->v[flags[i].flag] != 0;
    }
    return any ? "CPU" : "";
}

static int number(const struct test *t, enum field f, double lo, double hi, double otherwise, double *out, struct error *err)
{
    char where[400];
    *out = otherwise;
    if (!*t->v[f] && !isnan(otherwise))
        return 0;
    const double v = csv_to_number(t->v[f]);
    if (!(v >= lo && v <= hi))
        return error_set(err, ERROR_INPUT, "%s: %s: expected a number from %g to %g, found \"%.64s\"",
                         place(t, f, where, sizeof where), names[f], lo, hi, t->v[f]);
    *out = v;
    return 0;
}

/* ---- a test as a row --------------------------------------------------------------------------------------- */

static bool for_gpus(const char *back_ends)
{
    static const char *const gpus[] = { "CUDA", "ROCm", "HIP", "Vulkan", "SYCL", "Metal", "MTL", "OpenCL", "MUSA", "WebGPU" };
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(gpus); i++)
        any |= strcasestr(back_ends, gpus[i]) != NULL;
    return any;
}

/* On no GPU: none built in, none asked for, no layer there, or none found by one that was built in, unless who gives the file names
 * the machine. Apple's had no name in old files. */
static bool runs_on_cpu(const struct test *t, const struct measure_context *x)
{
    const char *const b = back_end(t);
    const bool named = x->hardware && *x->hardware && for_gpus(b);
    return strcmp(t->v[F_NGL], "0") == 0 || strcmp(b, "CPU") == 0 || strcmp(b, "BLAS") == 0 || strcmp(t->v[F_DEVICES], "none") == 0 ||
           (!*t->v[F_GPU] && strcmp(b, "Metal") != 0 && !named);
}

/* Experts, or tensors by name, are kept on the CPU's side. */
static bool is_divided(const struct test *t)
{
    const double experts = csv_to_number(t->v[F_CPU_MOE]);
    return experts > 0 || (*t->v[F_OVERRIDES] && strcmp(t->v[F_OVERRIDES], "none") != 0);
}

static int name_row(struct measurements *l, struct measurement *m, const struct test *t, const struct measure_context *x,
                    struct error *err)
{
    char text[256], engine[128];
    const bool on_cpu = runs_on_cpu(t, x);
    snprintf(engine, sizeof engine, "%s (%.100s)", *t->v[F_IK] ? "ik_llama.cpp" : "llama.cpp", on_cpu ? "CPU" : back_end(t));
    m->engine = measure_keep(l, engine, err);
    type_of_label(text, sizeof text, t->v[F_LABEL]);
    m->quant = m->engine ? measure_keep(l, text, err) : NULL;
    model_of_file(text, sizeof text, t->v[F_FILE]);
    m->model = m->quant ? measure_keep(l, x->model && *x->model && !(x->asked && *text) ? x->model : *text ? text : t->v[F_LABEL], err) : NULL;
    m->label = m->model ? measure_keep(l, t->v[F_LABEL], err) : NULL;
    if (on_cpu) {
        struct device_list cpus;
        split_list(&cpus, t->v[F_CPU], ",");
        snprintf(text, sizeof text, "%s", processor(&cpus));
        m->tags |= TAG_CPU;
    } else {
        m->n_devices = devices_used(text, sizeof text, t);
        m->tags |= m->n_devices > 1 ? TAG_LAYER_SPLIT : 0U;
        m->tags |= is_divided(t) ? TAG_PARTIAL_OFFLOAD : 0U;
    }
    m->hardware = m->label ? measure_keep(l, x->hardware && *x->hardware ? x->hardware : text, err) : NULL;
    m->named = m->hardware ? measure_keep(l, text, err) : NULL;
    m->version = m->named ? measure_keep(l, t->v[F_COMMIT], err) : NULL;
    m->date = m->version ? measure_keep(l, t->v[F_DATE], err) : NULL;
    m->type_k = m->date ? measure_keep(l, t->v[F_TYPE_K], err) : NULL;
    m->type_v = m->type_k ? measure_keep(l, t->v[F_TYPE_V], err) : NULL;
    return m->type_v ? 0 : -1;
}

/* Types of a cache that ik_llama.cpp has beside ggml's; priced as of 16 bits. */
static const char *const caches_of_ik[] = { "q6_0", "q8_KV" };

static int check_cache(const struct test *t, enum field f, struct error *err)
{
    char where[400];
    bool known = !*t->v[f] || dtype_find_name(t->v[f]);
    for (size_t i = 0; i < ARRAY_LEN(caches_of_ik); i++)
        known |= strcmp(t->v[f], caches_of_ik[i]) == 0;
    if (known)
        return 0;
    return error_set(err, ERROR_INPUT, "%s: %s: expected a type of the cache, such as f16, q8_0 or q4_0, found \"%.64s\"",
                     place(t, f, where, sizeof where), names[f], t->v[f]);
}

/* Tokens. */
static const enum field counts[] = { F_PROMPT, F_GEN, F_DEPTH, F_UBATCH };

static int add_test(struct measurements *l, const struct test *t, const struct measure_context *x, struct error *err)
{
    struct measurement m = measure_empty(MEASURE_RATE);
    double size, params, p, g, depth, ubatch, threads, layers, flash;
    char where[400];
    m.line = t->line;
    if (number(t, F_SIZE, 1, 1e15, 0, &size, err) != 0 || number(t, F_PARAMS, 1, 1e14, 0, &params, err) != 0 ||
        number(t, F_PROMPT, 0, 1e8, NAN, &p, err) != 0 || number(t, F_GEN, 0, 1e8, NAN, &g, err) != 0 ||
        number(t, F_DEPTH, 0, 1e8, 0, &depth, err) != 0 || number(t, F_UBATCH, 1, 1e8, 512, &ubatch, err) != 0 ||
        number(t, F_THREADS, 0, 65536, 0, &threads, err) != 0 || number(t, F_NGL, -1e6, 1e6, -1, &layers, err) != 0 ||
        number(t, F_RATE, 1e-9, 1e12, NAN, &m.value, err) != 0 || check_cache(t, F_TYPE_K, err) != 0 || check_cache(t, F_TYPE_V, err) != 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        if (*t->v[counts[i]] && csv_to_number(t->v[counts[i]]) != floor(csv_to_number(t->v[counts[i]])))
            return error_set(err, ERROR_INPUT, "%s: %s: expected a whole number, found \"%.64s\"", place(t, counts[i], where, sizeof where),
                             names[counts[i]], t->v[counts[i]]);
    flash = csv_to_number(t->v[F_FLASH]);
    if (p + g <= 0)
        return error_set(err, ERROR_INPUT, "%s: %s: expected a generation where there is no prompt, found 0",
                         place(t, F_GEN, where, sizeof where), names[F_GEN]);
    m.params_b = params > 0 ? params / 1e9 : NAN;
    m.weight_gib = size > 0 ? size / 0x1p30 : NAN;
    m.n_ubatch = (int)ubatch;
    m.n_gpu_layers = layers > 0 ? (int)layers : 0;
    m.batch = 1;
    const bool automatic = flash < 0 || strcasecmp(t->v[F_FLASH], "auto") == 0; /* wherever the back end can */
    m.flash_said = *t->v[F_FLASH] != 0;
    m.flash = automatic || flash > 0 || strcasecmp(t->v[F_FLASH], "on") == 0 || strcasecmp(t->v[F_FLASH], "true") == 0;
    if (name_row(l, &m, t, x, err) != 0)
        return -1;
    m.n_threads = m.tags & TAG_CPU || !*t->v[F_GPU] ? (int)threads : 0;
    m.phase = p > 0 && g > 0 ? MEASURE_REQUEST : p > 0 ? MEASURE_PREFILL : MEASURE_DECODE;
    m.prompt = m.phase == MEASURE_DECODE ? depth : p;
    m.context = m.phase == MEASURE_PREFILL ? depth : m.phase == MEASURE_DECODE ? depth + g / 2 : depth + p + g / 2;
    m.out = g > 0 ? g : NAN;
    if (m.phase == MEASURE_REQUEST)
        m.tags |= TAG_TOTAL_TOKENS | TAG_E2E;
    return measure_add(l, &m, err);
}

static int check_fields(const struct test *t, struct error *err)
{
    char where[400];
    for (size_t i = 0; i < ARRAY_LEN(needed); i++)
        if (!*t->v[needed[i]])
            return error_set(err, ERROR_INPUT, "%s: %s: expected a value as llama-bench writes it, found none",
                             place(t, (enum field)needed[i], where, sizeof where), names[needed[i]]);
    return 0;
}

/* ---- csv ------------------------------------------------------------------------------------------------------ */

int llama_bench_csv(struct measurements *l, const struct measure_context *x, struct error *err)
{
    const struct csv *c = &l->csv;
    int col[N_FIELD];
    for (int i = 0; i < N_FIELD; i++)
        col[i] = csv_find(c, names[i]);
    for (size_t i = 0; i < c->n_row; i++) {
        struct test t = { .line = csv_at(c, i, 0)->line, .name = c->name, .csv = c, .row = i, .col = col };
        for (int k = 0; k < N_FIELD; k++)
            t.v[k] = csv_at(c, i, col[k])->s;
        /* The figures by their place; the rest cannot be wrong. */
        double v;
        if (check_fields(&t, err) != 0 || csv_number(c, i, col[F_RATE], 1e-9, 1e12, true, &v, err) != 0 ||
            csv_count(c, i, col[F_PROMPT], 0, 1e8, true, &v, err) != 0 ||
            csv_count(c, i, col[F_GEN], 0, 1e8, true, &v, err) != 0 || add_test(l, &t, x, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- json and jsonl ---------------------------------------------------------------------------------------------- */

/* A field's value as text; NULL: too long, out of memory. */
static const char *text_of(struct measurements *l, const json_t *v, const struct json_text *at, const char *key, struct error *err)
{
    char buf[64];
    if (json_string_length(v) > MEASURE_MAX_TEXT) {
        const struct json_text field = json_text_field(at, key);
        json_text_refuse(&field, l->name, err, "%s: expected at most %d bytes, found %zu", key, MEASURE_MAX_TEXT, json_string_length(v));
        return NULL;
    }
    if (json_is_string(v))
        return measure_keep(l, json_string_value(v), err);
    if (json_is_number(v))
        snprintf(buf, sizeof buf, "%.17g", json_number_value(v));
    else
        snprintf(buf, sizeof buf, "%s", json_is_true(v) ? "1" : json_is_false(v) ? "0" : "");
    return measure_keep(l, buf, err);
}

int llama_bench_json(struct measurements *l, const json_t *o, const struct json_text *at, const struct measure_context *x,
                     struct error *err)
{
    struct test t = { .json = at, .line = at->line, .name = l->name };
    for (int k = 0; k < N_FIELD; k++)
        if (!(t.v[k] = text_of(l, json_object_get(o, names[k]), at, names[k], err)))
            return -1;
    return check_fields(&t, err) != 0 ? -1 : add_test(l, &t, x, err);
}

bool llama_bench_is(const json_t *o)
{
    return json_is_object(o) && json_object_get(o, "avg_ts") && json_object_get(o, "n_prompt") && json_object_get(o, "model_type");
}

/* ---- sql ---------------------------------------------------------------------------------------------------------- */

/* A list in parentheses of a file: its values and where each begins. */
enum { MAX_SQL = 128 };
struct sql_list {
    const char *v[MAX_SQL], *at[MAX_SQL];
    size_t n;
};

static int refuse_at(const struct measurements *l, const char *text, const char *at, struct error *err, const char *what)
{
    size_t line, column;
    place_in_text(text, at, &line, &column);
    return error_set(err, ERROR_INPUT, "%s: line %zu, column %zu: %s", l->name, line, column, what);
}

/* 'text' with '' for a quote, or a bare word; behind it, NULL: refused. */
static const char *read_value(struct measurements *l, const char *text, const char *s, const char **v, struct error *err)
{
    char value[MEASURE_MAX_TEXT + 1];
    size_t len = 0;
    const char *const begin = s, quote = *s == '\'' || *s == '"' ? *s++ : 0;
    while (*s && (quote ? *s != quote || s[1] == quote : !strchr(",)", *s))) {
        s += quote && *s == quote;
        if (len == MEASURE_MAX_TEXT) {
            refuse_at(l, text, begin, err, "a value of more than 4096 bytes");
            return NULL;
        }
        value[len++] = *s++;
    }
    if (quote && *s++ != quote) {
        refuse_at(l, text, begin, err, "a text in quotes that does not end");
        return NULL;
    }
    while (!quote && len && isspace((unsigned char)value[len - 1]))
        len--;
    value[len] = 0;
    return (*v = measure_keep(l, value, err)) ? s : NULL;
}

/* Behind the list at s; NULL: refused. */
static const char *read_list(struct measurements *l, const char *text, const char *s, struct sql_list *list, struct error *err)
{
    list->n = 0;
    s += strspn(s, " \t\r\n");
    if (*s++ != '(') {
        refuse_at(l, text, s - 1, err, "expected a list in parentheses, as of INSERT INTO table (columns) VALUES (as many values)");
        return NULL;
    }
    for (;;) {
        s += strspn(s, " \t\r\n");
        if (list->n == MAX_SQL) {
            refuse_at(l, text, s, err, "expected at most 128 values");
            return NULL;
        }
        list->at[list->n] = s;
        if (!(s = read_value(l, text, s, &list->v[list->n], err)))
            return NULL;
        list->n++;
        s += strspn(s, " \t\r\n");
        if (*s == ')')
            return s + 1;
        if (*s++ != ',') {
            refuse_at(l, text, s - 1, err, "expected a comma or the end of the list");
            return NULL;
        }
    }
}

static int sql_row(struct measurements *l, struct test t, const struct sql_list *columns, const struct sql_list *values,
                   const struct measure_context *x, struct error *err)
{
    for (int k = 0; k < N_FIELD; k++) {
        t.v[k] = "";
        for (size_t i = 0; i < values->n; i++)
            if (strcmp(columns->v[i], names[k]) == 0) {
                t.v[k] = values->v[i];
                t.at[k] = values->at[i];
            }
    }
    return check_fields(&t, err) != 0 ? -1 : add_test(l, &t, x, err);
}

int llama_bench_sql(struct measurements *l, const char *text, const struct measure_context *x, struct error *err)
{
    static const char insert[] = "INSERT INTO", word[] = "VALUES";
    size_t line = 1;
    const char *at = text;
    for (const char *p = text; (p = strcasestr(p, insert)) != NULL;) {
        struct sql_list columns, values;
        for (; at < p; at++)
            line += *at == '\n';
        const struct test t = { .line = line, .name = l->name, .text = text, .begin = p };
        p += sizeof insert - 1;
        if (!(p = read_list(l, text, p + strcspn(p, "(\n"), &columns, err)))
            return -1;
        p += strspn(p, " \t\r\n");
        if (strncasecmp(p, word, sizeof word - 1) != 0)
            return refuse_at(l, text, p, err, "expected VALUES behind the columns of INSERT INTO");
        const char *const list = p + sizeof word - 1;
        if (!(p = read_list(l, text, list, &values, err)))
            return -1;
        if (values.n != columns.n)
            return refuse_at(l, text, list + strspn(list, " \t\r\n"), err, "expected as many values as INSERT INTO has columns");
        if (sql_row(l, t, &columns, &values, x, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- md ------------------------------------------------------------------------------------------------------------ */

enum { MAX_CELLS = 32 };

/* Cells of "| a | b |", blanks cut off; 0: no such line. */
static size_t split_cells(char *line, char **cell)
{
    size_t n = 0;
    char *p = line + strspn(line, " \t");
    if (*p != '|')
        return 0;
    for (p++; *p && n < MAX_CELLS;) {
        char *end = p + strcspn(p, "|");
        if (!*end)
            break;
        *end = 0;
        p += strspn(p, " \t");
        for (char *q = end; q > p && (q[-1] == ' ' || q[-1] == '\t'); q--)
            q[-1] = 0;
        cell[n++] = p;
        p = end + 1;
    }
    return n;
}

/* "pp512", "tg128", "pp512+tg128", "tg128 @ d4096" */
static bool read_test(const char *s, int *p, int *g, int *d)
{
    *p = *g = *d = 0;
    for (; *s; s++) {
        char *end;
        int *to = strncmp(s, "pp", 2) == 0 || strncmp(s, "pg", 2) == 0 ? p : strncmp(s, "tg", 2) == 0 ? g : *s == 'd' ? d : NULL;
        if (!to)
            continue;
        s += to == d ? 1 : 2;
        const long v = strtol(s, &end, 10);
        if (end == s || v < 0 || v > 1 << 27)
            return false;
        *to = (int)v;
        s = end - 1;
    }
    return *p + *g > 0;
}

static const char *cell_of(char *const *head, char *const *cell, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(head[i], name) == 0)
            return cell[i];
    return "";
}

/* "4.58 GiB", "494.03 M", "1.03 T"; a figure alone is of GiB, or of billions. As a number in buf; another text as it stands, to be
 * refused, and "" where there is none. */
struct unit {
    const char *name;
    double is;
};
static const struct unit sizes[] = { { "", 0x1p30 }, { "KiB", 0x1p10 }, { "MiB", 0x1p20 }, { "GiB", 0x1p30 }, { "TiB", 0x1p40 },
                                     { "KB", 1e3 },  { "MB", 1e6 },     { "GB", 1e9 },     { "TB", 1e12 }, { NULL, 0 } };
static const struct unit parameters[] = { { "", 1e9 }, { "K", 1e3 }, { "M", 1e6 }, { "B", 1e9 }, { "T", 1e12 }, { NULL, 0 } };

static const char *scaled(char *buf, size_t size, const char *s, const struct unit *units)
{
    const size_t n = strspn(s, "0123456789.+-eE");
    const char *const unit = s + n + strspn(s + n, " ");
    if (n == 0 || n >= size)
        return s;
    snprintf(buf, size, "%.*s", (int)n, s);
    const double v = csv_to_number(buf);
    for (; units->name && v > 0; units++)
        if (strcmp(unit, units->name) == 0) {
            snprintf(buf, size, "%.17g", v * units->is);
            return buf;
        }
    return s;
}

/* The cells of a row of a table, and where in the file its line begins. */
struct md_line {
    char *const *head, *const *cell;
    size_t n;
    const char *copy, *at; /* cells point into the copy */
};

static const char *in_file(const struct md_line *r, const char *name)
{
    const char *const c = cell_of(r->head, r->cell, r->n, name);
    return *c ? r->at + (c - r->copy) : NULL;
}

static int md_row(struct measurements *l, const struct md_line *r, const char *text, size_t line, const struct measure_context *x,
                  struct error *err)
{
    char *const *const head = r->head, *const *const cell = r->cell;
    const size_t n = r->n;
    char rate[32], p[16], g[16], d[16], size[32], params[32], mean[64];
    int np, ng, nd;
    struct test t = { .line = line, .name = l->name, .text = text, .begin = r->at };
    for (int k = 0; k < N_FIELD; k++)
        t.v[k] = "";
    t.at[F_PROMPT] = t.at[F_GEN] = t.at[F_DEPTH] = in_file(r, "test");
    t.at[F_RATE] = in_file(r, "t/s");
    t.at[F_LABEL] = in_file(r, "model");
    t.at[F_SIZE] = in_file(r, "size");
    t.at[F_PARAMS] = in_file(r, "params");
    t.at[F_NGL] = in_file(r, "ngl");
    t.at[F_THREADS] = in_file(r, "threads");
    t.at[F_UBATCH] = in_file(r, "n_ubatch");
    t.at[F_TYPE_K] = in_file(r, "type_k");
    t.at[F_TYPE_V] = in_file(r, "type_v");
    if (!read_test(cell_of(head, cell, n, "test"), &np, &ng, &nd)) {
        char where[400];
        return error_set(err, ERROR_INPUT, "%s: expected a test such as pp512 or tg128 @ d4096, found \"%.64s\"",
                         place(&t, F_PROMPT, where, sizeof where), cell_of(head, cell, n, "test"));
    }
    snprintf(mean, sizeof mean, "%s", cell_of(head, cell, n, "t/s"));
    mean[strcspn(mean, " ")] = 0;
    snprintf(rate, sizeof rate, "%.30s", mean);
    snprintf(p, sizeof p, "%d", np);
    snprintf(g, sizeof g, "%d", ng);
    snprintf(d, sizeof d, "%d", nd);
    t.v[F_LABEL] = cell_of(head, cell, n, "model");
    t.v[F_BACKENDS] = cell_of(head, cell, n, "backend");
    t.v[F_NGL] = cell_of(head, cell, n, "ngl");
    t.v[F_THREADS] = cell_of(head, cell, n, "threads");
    t.v[F_UBATCH] = cell_of(head, cell, n, "n_ubatch");
    t.v[F_TYPE_K] = cell_of(head, cell, n, "type_k");
    t.v[F_TYPE_V] = cell_of(head, cell, n, "type_v");
    t.v[F_FLASH] = cell_of(head, cell, n, "fa");
    t.v[F_GPU] = strcmp(t.v[F_BACKENDS], "CPU") == 0 ? "" : "?"; /* md does not say which */
    t.v[F_CPU] = "?";
    t.v[F_RATE] = rate;
    t.v[F_PROMPT] = p;
    t.v[F_GEN] = g;
    t.v[F_DEPTH] = d;
    t.v[F_SIZE] = scaled(size, sizeof size, cell_of(head, cell, n, "size"), sizes);
    t.v[F_PARAMS] = scaled(params, sizeof params, cell_of(head, cell, n, "params"), parameters);
    return check_fields(&t, err) != 0 ? -1 : add_test(l, &t, x, err);
}

int llama_bench_md(struct measurements *l, const char *text, const struct measure_context *x, struct error *err)
{
    char head_line[MEASURE_MAX_TEXT + 1] = "", line[MEASURE_MAX_TEXT + 1], *head[MAX_CELLS], *cell[MAX_CELLS];
    size_t n_head = 0, n_line = 0;
    for (const char *p = text, *next; *p; p = next) {
        const size_t len = strcspn(p, "\n");
        next = p + len + (p[len] == '\n');
        n_line++;
        if (n_head && len > MEASURE_MAX_TEXT)
            return refuse_at(l, text, p, err, "expected a line of at most 4096 bytes");
        snprintf(line, sizeof line, "%.*s", (int)u64_min(len, MEASURE_MAX_TEXT), p);
        if (!n_head) { /* what a program says before its table is passed over */
            snprintf(head_line, sizeof head_line, "%s", line);
            n_head = split_cells(head_line, head);
            if (n_head && (!*cell_of(head, head, n_head, "test") || !*cell_of(head, head, n_head, "t/s")))
                n_head = 0;
            continue;
        }
        const size_t n = split_cells(line, cell);
        if (n == 0 || cell[0][0] == '-' || cell[0][0] == ':' || strcmp(cell[0], head[0]) == 0)
            continue;
        if (n != n_head) {
            char what[96];
            snprintf(what, sizeof what, "expected %zu cells as in the header, found %zu", n_head, n);
            const size_t last = n_head < n ? n_head : n - 1;
            return refuse_at(l, text, p + (cell[last] - line), err, what);
        }
        const struct md_line r = { head, cell, n, line, p };
        if (md_row(l, &r, text, n_line, x, err) != 0)
            return -1;
    }
    return 0;
}
