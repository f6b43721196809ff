/*
 * Outputs of llama-bench: json, jsonl, csv and sql have equal fields; md has a table of some of them. Source: ggml-org/llama.cpp
 * tools/llama-bench/llama-bench.cpp (test::get_fields and the printers).
 */
#include "dataset/llama_bench.h"
#include "dtype/dtype.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const llama_bench_fields[N_FIELD] = {
    "model_filename", "model_type", "model_size", "model_n_params", "backends", "cpu_info", "gpu_info", "n_batch", "n_ubatch", "n_threads",
    "type_k", "type_v", "n_gpu_layers", "flash_attn", "n_prompt", "n_gen", "n_depth", "avg_ts", "avg_ns", "test", "build_commit", "build_number", "test_time",
    "split_mode", "main_gpu", "devices", "n_cpu_moe", "tensor_buft_overrides", "no_kv_offload",
    "cuda", "metal", "vulkan", "sycl", "opencl", /* instead of "backends" before September 2024, and in ik_llama.cpp */
    "fused_moe",                                 /* ik_llama.cpp only; and "test" */
    "tensor_split", "stddev_ts", "use_mmap", "no_op_offload",
};
static const int needed[] = { F_LABEL, F_PROMPT, F_GEN, F_RATE };

void llama_bench_text_position(const char *text, const char *at, size_t *line, size_t *column)
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

/* Position of a field, else of its test, for messages. */
const char *llama_bench_position(const struct test *t, enum field f, char *buf, size_t size)
{
    size_t line = t->line, column = 1;
    if (t->json) {
        const struct json_position at = json_position_field(t->json, llama_bench_fields[f]);
        line = at.line;
        column = at.column;
    } else if (t->csv && t->col[f] >= 0) {
        line = csv_at(t->csv, t->row, t->col[f])->line;
        column = csv_at(t->csv, t->row, t->col[f])->column;
    } else if (t->text) {
        llama_bench_text_position(t->text, t->at[f] ? t->at[f] : t->begin, &line, &column);
    }
    snprintf(buf, size, "%.250s: line %zu, column %zu", t->name, line, column);
    return buf;
}

/* ---- texts ---------------------------------------------------------------------------------------------- */

/* "Q4_K - Medium" -> "Q4_K_M", from the part after the size in "llama 8B Q4_K - Medium". */
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

/* Items of a list without surrounding blanks; GPUs are separated by '/' before November 2024. */
enum { MAX_DEVICES = 16, DEVICE_SIZE = 128 };
struct device_list {
    char name[MAX_DEVICES][DEVICE_SIZE];
    int n;
};

/*
 * Length up to a separator outside parentheses ("llvmpipe (LLVM 17.0.6, 256 bits)"); a slash between blanks is part of a name ("AMD
 * Instinct MI60 / MI50").
 */
static size_t item_bytes(const char *s, const char *signs)
{
    size_t n = 0;
    for (int depth = 0; s[n]; n++) {
        depth += (s[n] == '(') - (s[n] == ')');
        const bool inner = s[n] == '/' && n > 0 && s[n - 1] == ' ' && s[n + 1] == ' ';
        if (depth <= 0 && strchr(signs, s[n]) && !inner)
            break;
    }
    return n;
}

static void split_list(struct device_list *l, const char *text, const char *signs)
{
    l->n = 0;
    for (const char *p = text; *p && l->n < MAX_DEVICES;) {
        p += strspn(p, " ");
        size_t n = item_bytes(p, signs);
        const char *const next = p + n + (p[n] != 0);
        while (n && p[n - 1] == ' ')
            n--;
        if (n)
            snprintf(l->name[l->n++], DEVICE_SIZE, "%.*s", (int)(n < DEVICE_SIZE ? n : DEVICE_SIZE - 1), p);
        p = next;
    }
}

/* The CPU in a list that also names BLAS libraries: "Accelerate, Apple M1 Pro". */
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

/* Generic driver name of an integrated GPU. */
static bool is_nameless(const char *gpu)
{
    return strstr(gpu, "Radeon Graphics") || strstr(gpu, "Radeon(TM) Graphics");
}

/* Integrated GPU by name: "Radeon 780M Graphics", "Radeon 8060S Graphics", "Vega 8 Graphics". */
static bool names_part(const char *gpu)
{
    const char *const end = strstr(gpu, " Graphics"), *const radeon = strstr(gpu, "Radeon"), *const vega = strstr(gpu, "Vega ");
    if (!end || !radeon || radeon > end)
        return false;
    return (vega && vega < end) || ((end[-1] == 'M' || end[-1] == 'S') && end - 2 > radeon && isdigit((unsigned char)end[-2]));
}

/*
 * Unused with a discrete GPU present: integrated GPUs and software renderers. Since August 2025 (confidence: low); earlier builds gave them
 * layers, which is not distinguished.
 */
static bool is_secondary(const char *gpu)
{
    static const char *const chips[] = { "BMG", "DG1", "DG2" }; /* discrete GPUs with generic driver names */
    const char *const arc = strstr(gpu, "Arc"), *const at = arc ? arc + strcspn(arc, "0123456789") : "";
    bool board = *at && (at[-1] == 'A' || at[-1] == 'B'); /* A770, Pro B60 are boards; 140V is integrated */
    for (size_t i = 0; i < ARRAY_LEN(chips); i++)
        board |= strstr(gpu, chips[i]) != NULL;
    return is_nameless(gpu) || strstr(gpu, "llvmpipe") || strstr(gpu, "Ryzen") || strstr(gpu, "Processor") || names_part(gpu) ||
           (strstr(gpu, "Intel") && (strstr(gpu, "Graphics") || strstr(gpu, "GPU")) && !board);
}

/* GPUs of a test. */
struct gpus {
    struct device_list all;
    int used[MAX_DEVICES], n;
};

static void find_gpus(struct gpus *g, const struct test *t)
{
    struct device_list chosen;
    bool board = false;
    g->n = 0;
    split_list(&g->all, t->v[F_GPU], ",/");
    split_list(&chosen, strcmp(t->v[F_DEVICES], "auto") == 0 ? "" : t->v[F_DEVICES], "/");
    for (int i = 0; i < chosen.n; i++) {
        const char *digits = chosen.name[i] + strcspn(chosen.name[i], "0123456789"); /* CUDA1 */
        const unsigned long k = strtoul(digits, NULL, 10);
        if (*digits && k < (unsigned long)g->all.n)
            g->used[g->n++] = (int)k;
    }
    if (g->n > 0)
        return;
    for (int i = 0; i < g->all.n; i++)
        board |= !is_secondary(g->all.name[i]);
    for (int i = 0; i < g->all.n; i++)
        if (!board || !is_secondary(g->all.name[i]))
            g->used[g->n++] = i;
}

/*
 * GPUs used, from -dev, -sm none and -mg: the number equal to the first, others in *other ("": none). A generic name is replaced by the
 * processor's if that names its GPU ("w/ Radeon 8060S").
 */
/* Number of devices in tensor-split ratios "1.00/1.00"; 0: not stated ("0.00"). */
static int devices_of_ratios(const char *ratios)
{
    int n = 0;
    for (const char *p = ratios; *p;) {
        n += strtod(p, NULL) > 0;
        p += strcspn(p, "/;,");
        p += *p != 0;
    }
    return n;
}

/* Split by rows (tensor parallel), not by layers. */
static bool is_row_split(const struct test *t)
{
    return strcmp(t->v[F_SPLIT], "row") == 0 || strcmp(t->v[F_SPLIT], "tensor") == 0;
}

static int devices_used(char *out, char *other, size_t size, const struct test *t)
{
    struct gpus g;
    struct device_list cpus;
    int n = 0;
    find_gpus(&g, t);
    const double stated = *t->v[F_MAIN] ? csv_to_number(t->v[F_MAIN]) : 0;
    const bool one = strcmp(t->v[F_SPLIT], "none") == 0 && stated >= 0 && stated < g.n;
    snprintf(out, size, "%s", g.n ? g.all.name[g.used[one ? (int)stated : 0]] : "");
    *other = 0;
    for (int i = 0; i < g.n && !one; i++) {
        const char *const name = g.all.name[g.used[i]];
        const bool equal = strcmp(name, out) == 0;
        n += equal;
        if (!equal)
            snprintf(other, size, "%s", name);
    }
    split_list(&cpus, t->v[F_CPU], ",");
    if (is_nameless(out) && strstr(processor(&cpus), "w/ Radeon"))
        snprintf(out, size, "%s", processor(&cpus));
    const int ratios = devices_of_ratios(t->v[F_RATIOS]);
    n = n > ratios ? n : ratios;
    return one || n < 1 ? 1 : n;
}

/* Back end from build flags, for files without "backends". */
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

static int refuse(const struct test *t, enum field f, struct error *err, const char *expected)
{
    char where[400];
    return error_set(err, ERROR_INPUT, "%s: %s: expected %s, found \"%.64s\"", llama_bench_position(t, f, where, sizeof where), llama_bench_fields[f], expected,
                     t->v[f]);
}

static int number(const struct test *t, enum field f, double lo, double hi, double otherwise, double *out, struct error *err)
{
    char expected[64];
    *out = otherwise;
    if (!*t->v[f] && !isnan(otherwise))
        return 0;
    const double v = csv_to_number(t->v[f]);
    snprintf(expected, sizeof expected, "a number from %g to %g", lo, hi);
    if (!(v >= lo && v <= hi))
        return refuse(t, f, err, expected);
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

/*
 * Runs on the CPU: no GPU back end, no GPU layers, or no GPU found and no machine given (--hw). Before "backends" only CUDA and SYCL name
 * their GPUs.
 */
static bool runs_on_cpu(const struct test *t, const struct measure_context *x)
{
    const char *const b = back_end(t);
    const bool named = x->hardware && *x->hardware && for_gpus(b);
    const bool nameless = strcmp(b, "Metal") == 0 || (!*t->v[F_BACKENDS] && (strcmp(b, "Vulkan") == 0 || strcmp(b, "OpenCL") == 0));
    return strcmp(t->v[F_NGL], "0") == 0 || strcmp(b, "CPU") == 0 || strcmp(b, "BLAS") == 0 || strcmp(t->v[F_DEVICES], "none") == 0 ||
           (!*t->v[F_GPU] && !nameless && !named);
}

static bool is_set(const char *s)
{
    return strcmp(s, "1") == 0 || strcasecmp(s, "true") == 0;
}

/* Experts, named tensors, or the KV cache with its attention are on the CPU. */
static bool is_divided(const struct test *t)
{
    const double experts = csv_to_number(t->v[F_CPU_MOE]);
    return experts > 0 || is_set(t->v[F_NO_KV]) || (*t->v[F_OVERRIDES] && strcmp(t->v[F_OVERRIDES], "none") != 0);
}

static int add_remark(struct measurements *l, struct measurement *m, const char *text, struct error *err)
{
    char both[400];
    snprintf(both, sizeof both, "%.200s%s%.190s", m->remark, *m->remark ? "; " : "", text);
    const char *const kept = measure_copy_text(l, both, err);
    m->remark = kept ? kept : m->remark;
    return kept ? 0 : -1;
}

/* "a=CPU;b=CPU" of several -ot as one list. */
static const char *overrides_of(struct measurements *l, const struct test *t, struct error *err)
{
    char *const list = strdup(t->v[F_OVERRIDES]);
    for (char *s = list; s && *s; s++)
        if (*s == ';')
            *s = ',';
    const char *const kept = list ? measure_copy_text(l, list, err) : NULL;
    free(list);
    return kept;
}

static int read_offload(struct measurements *l, struct measurement *m, const struct test *t, struct error *err)
{
    const double experts = csv_to_number(t->v[F_CPU_MOE]), threads = csv_to_number(t->v[F_THREADS]);
    struct measure_offload *f = &m->offload;
    struct device_list cpus;
    split_list(&cpus, t->v[F_CPU], ",");
    f->stated = is_divided(t);
    f->n_cpu_moe = experts > 0 && experts < 1e6 ? (int)experts : 0;
    f->host_kv = is_set(t->v[F_NO_KV]);
    f->host_multiplies = is_set(t->v[F_NO_OP]);
    f->pinned = strcmp(t->v[F_MMAP], "0") == 0 || strcasecmp(t->v[F_MMAP], "false") == 0;
    f->n_threads = threads >= 1 && threads < 65536 ? (int)threads : 0;
    f->host = measure_copy_text(l, strcmp(processor(&cpus), "?") == 0 ? "" : processor(&cpus), err);
    const bool named = *t->v[F_OVERRIDES] && strcmp(t->v[F_OVERRIDES], "none") != 0;
    if (f->host && named)
        return (f->override = overrides_of(l, t, err)) ? 0 : -1;
    return f->host ? 0 : -1;
}

static int name_row(struct measurements *l, struct measurement *m, const struct test *t, const struct measure_context *x,
                    struct error *err)
{
    char text[256], other[256] = "", engine[128], stated[160];
    const bool on_cpu = runs_on_cpu(t, x);
    snprintf(engine, sizeof engine, "%s (%.100s)", *t->v[F_IK] ? "ik_llama.cpp" : "llama.cpp", on_cpu ? "CPU" : back_end(t));
    m->engine = measure_copy_text(l, engine, err);
    type_of_label(text, sizeof text, t->v[F_LABEL]);
    m->quant = m->engine ? measure_copy_text(l, text, err) : NULL;
    model_of_file(text, sizeof text, t->v[F_FILE]);
    m->model = m->quant ? measure_copy_text(l, x->model && *x->model && !(x->model_is_query && *text) ? x->model : *text ? text : t->v[F_LABEL], err) : NULL;
    m->label = m->model ? measure_copy_text(l, t->v[F_LABEL], err) : NULL;
    if (on_cpu) {
        struct device_list cpus;
        split_list(&cpus, t->v[F_CPU], ",");
        snprintf(text, sizeof text, "%s", processor(&cpus));
        m->tags |= TAG_CPU;
    } else {
        m->n_devices = devices_used(text, other, sizeof text, t);
        m->tags |= m->n_devices < 2 ? 0U : is_row_split(t) ? TAG_TENSOR_PARALLEL : TAG_LAYER_SPLIT;
        m->tags |= is_divided(t) ? TAG_PARTIAL_OFFLOAD : 0U;
        if (read_offload(l, m, t, err) != 0)
            return -1;
        m->other_gpus = *other != 0;
    }
    if (m->other_gpus) {
        snprintf(stated, sizeof stated, "%.48s runs a part of it: estimated as if %.48s did", other, text);
        if (add_remark(l, m, stated, err) != 0)
            return -1;
    }
    m->hardware = m->label ? measure_copy_text(l, x->hardware && *x->hardware ? x->hardware : text, err) : NULL;
    m->named = m->hardware ? measure_copy_text(l, text, err) : NULL;
    m->version = m->named ? measure_copy_text(l, t->v[F_COMMIT], err) : NULL;
    m->date = m->version ? measure_copy_text(l, t->v[F_DATE], err) : NULL;
    m->type_k = m->date ? measure_copy_text(l, t->v[F_TYPE_K], err) : NULL;
    m->type_v = m->type_k ? measure_copy_text(l, t->v[F_TYPE_V], err) : NULL;
    return m->type_v ? 0 : -1;
}

/* KV cache types of ik_llama.cpp only; treated as 16-bit. */
static const char *const caches_of_ik[] = { "q6_0", "q8_KV" };

static int check_cache(const struct test *t, enum field f, struct error *err)
{
    bool known = !*t->v[f] || dtype_find_name(t->v[f]);
    for (size_t i = 0; i < ARRAY_LEN(caches_of_ik); i++)
        known |= strcmp(t->v[f], caches_of_ik[i]) == 0;
    return known ? 0 : refuse(t, f, err, "a type of the cache, such as f16, q8_0 or q4_0");
}

static int check_date(struct measurements *l, struct measurement *m, const struct test *t, struct error *err)
{
    int year, month;
    char stated[128];
    if (!*t->v[F_DATE])
        return 0;
    if (measure_date(t->v[F_DATE], &year, &month) != MEASURE_DATE)
        return refuse(t, F_DATE, err, "a date as in 2026-01-02T03:04:05Z");
    const char *const remark = *t->v[F_BUILD] ? NULL : measure_date_remark(t->v[F_DATE]); /* a build number is more precise */
    if (!remark)
        return 0;
    snprintf(stated, sizeof stated, "test_time %s", remark);
    return add_remark(l, m, stated, err);
}

/* -1, auto: on where the back end supports it. */
static int read_flash(struct measurement *m, const struct test *t, struct error *err)
{
    static const struct {
        const char *text;
        bool flash;
    } texts[] = { { "auto", true }, { "on", true }, { "true", true }, { "enabled", true }, { "off", false }, { "false", false }, { "disabled", false } };
    const char *const s = t->v[F_FLASH];
    const double flash = csv_to_number(s);
    bool known = !*s || flash == 0 || flash == 1 || flash == -1;
    m->flash_stated = *s != 0;
    m->flash = flash > 0 || flash < 0;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (strcasecmp(s, texts[i].text) == 0) {
            known = true;
            m->flash = texts[i].flash;
        }
    return known ? 0 : refuse(t, F_FLASH, err, "0, 1, -1, on, off or auto");
}

/* Numbers of a test. */
struct figures {
    double size, params, prompt, gen, depth, batch, ubatch, threads, layers, ns, build;
};

static int read_figures(struct figures *g, struct measurement *m, const struct test *t, struct error *err)
{
    static const enum field counts[] = { F_PROMPT, F_GEN, F_DEPTH, F_BATCH, F_UBATCH, F_THREADS, F_NGL, F_BUILD };
    if (number(t, F_SIZE, 1, 1e15, 0, &g->size, err) != 0 || number(t, F_PARAMS, 1, 1e14, 0, &g->params, err) != 0 ||
        number(t, F_PROMPT, 0, 1e8, NAN, &g->prompt, err) != 0 || number(t, F_GEN, 0, 1e8, NAN, &g->gen, err) != 0 ||
        number(t, F_DEPTH, 0, 1e8, 0, &g->depth, err) != 0 || number(t, F_UBATCH, 1, 1e8, 512, &g->ubatch, err) != 0 ||
        number(t, F_BATCH, 1, 1e8, 2048, &g->batch, err) != 0 ||
        number(t, F_THREADS, 0, 65536, 0, &g->threads, err) != 0 || number(t, F_NGL, -1e6, 1e6, -1, &g->layers, err) != 0 ||
        number(t, F_RATE, 1e-9, 1e12, NAN, &m->value, err) != 0 || number(t, F_NS, 1, 1e18, 0, &g->ns, err) != 0 ||
        number(t, F_BUILD, 0, 1e7, 0, &g->build, err) != 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        if (*t->v[counts[i]] && csv_to_number(t->v[counts[i]]) != floor(csv_to_number(t->v[counts[i]])))
            return refuse(t, counts[i], err, "a whole number");
    if (g->prompt + g->gen <= 0)
        return refuse(t, F_GEN, err, "a generation without a prompt");
    if (strstr(t->v[F_TEST], "@pp")) { /* ik_llama.cpp's -gp: generation after an untimed prompt */
        g->depth += g->prompt;
        g->prompt = 0;
    }
    return g->prompt + g->gen > 0 ? 0 : refuse(t, F_GEN, err, "a generation after a prompt");
}

/* The mean of rates is above the rate of the mean time, slightly where the repetitions are alike; a factor of two means that both are of different tests,
 * unless the repetitions are far apart. */
static int check_rate(struct measurements *l, struct measurement *m, const struct figures *g, const struct test *t, struct error *err)
{
    static const double SAID = 1.1, REFUSED = 2, FAR = 0.25;
    const double tok = g->prompt + g->gen, of_time = g->ns > 0 ? 1e9 * tok / g->ns : m->value;
    const double apart = fmax(m->value, of_time) / fmin(m->value, of_time);
    const double sd = *t->v[F_SD] ? csv_to_number(t->v[F_SD]) : NAN;
    const bool differ = m->value > of_time && sd > FAR * m->value;
    char text[160];
    if (apart > REFUSED && !differ) {
        snprintf(text, sizeof text, "%.6g, which %g tokens in avg_ns of %.6g s are", of_time, tok, g->ns / 1e9);
        return refuse(t, F_RATE, err, text);
    }
    if (apart <= SAID)
        return 0;
    snprintf(text, sizeof text, "avg_ts says %.6g tokens/s, avg_ns %.6g: its repetitions differ, or one of both is wrong", m->value, of_time);
    m->tags |= TAG_INCONSISTENT;
    return add_remark(l, m, text, err);
}

/* Spread of the repetitions, and each where the file has them. */
static int read_samples(struct measurements *l, struct measurement *m, const struct test *t, struct error *err)
{
    enum { MOST = 10000 };
    static const double LEAST = 1e-9, LARGEST = 1e12;
    const size_t n = json_array_size(t->samples);
    char where[400];
    m->sd = *t->v[F_SD] ? csv_to_number(t->v[F_SD]) : NAN; /* "-nan" is not stated */
    if (!isnan(m->sd) && number(t, F_SD, 0, LARGEST, 0, &m->sd, err) != 0)
        return -1;
    if (n == 0)
        return 0;
    llama_bench_position(t, F_RATE, where, sizeof where);
    if (n > MOST)
        return error_set(err, ERROR_INPUT, "%s: samples_ts: expected at most %d values, found %zu", where, MOST, n);
    double *const sample = malloc(n * sizeof *sample);
    if (measure_keep(l, sample, n * sizeof *sample, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const json_t *const v = json_array_get(t->samples, i);
        sample[i] = json_number_value(v);
        if (!json_is_number(v) || !(sample[i] >= LEAST && sample[i] <= LARGEST))
            return error_set(err, ERROR_INPUT, "%s: samples_ts[%zu]: expected a number from %g to %g, found %s %g", where, i, LEAST, LARGEST,
                             json_is_number(v) ? "the number" : json_type_name(v), sample[i]);
    }
    m->sample = sample;
    m->n_sample = n;
    return 0;
}

static int add_test(struct measurements *l, const struct test *t, const struct measure_context *x, struct error *err)
{
    struct measurement m = measure_empty(MEASURE_RATE);
    struct figures g;
    m.line = t->line;
    if (read_figures(&g, &m, t, err) != 0 || check_cache(t, F_TYPE_K, err) != 0 || check_cache(t, F_TYPE_V, err) != 0 || read_flash(&m, t, err) != 0 ||
        check_date(l, &m, t, err) != 0 || check_rate(l, &m, &g, t, err) != 0 || read_samples(l, &m, t, err) != 0)
        return -1;
    m.params_b = g.params > 0 ? g.params / 1e9 : NAN;
    m.weight_gib = g.size > 0 ? g.size / 0x1p30 : NAN;
    m.n_ubatch = (int)g.ubatch;
    m.n_gpu_layers = g.layers > 0 ? (int)g.layers : 0;
    m.batch = 1;
    m.build = *t->v[F_IK] ? 0 : (int)g.build; /* forks have their own numbering */
    if (name_row(l, &m, t, x, err) != 0)
        return -1;
    if (*t->ignored) {
        char text[200];
        snprintf(text, sizeof text, "ignored: %s", t->ignored);
        if (add_remark(l, &m, text, err) != 0)
            return -1;
    }
    m.n_threads = m.tags & TAG_CPU || !*t->v[F_GPU] ? (int)g.threads : 0;
    m.phase = g.prompt > 0 && g.gen > 0 ? MEASURE_REQUEST : g.prompt > 0 ? MEASURE_PREFILL : MEASURE_DECODE;
    m.prompt = m.phase == MEASURE_DECODE ? g.depth : g.prompt;
    m.context = m.phase == MEASURE_PREFILL ? g.depth : m.phase == MEASURE_DECODE ? g.depth + g.gen / 2 : g.depth + g.prompt + g.gen / 2;
    m.out = g.gen > 0 ? g.gen : NAN;
    if (m.phase == MEASURE_REQUEST)
        m.tags |= TAG_TOTAL_TOKENS | TAG_E2E;
    return measure_add(l, &m, err);
}

int llama_bench_row(struct measurements *l, const struct test *t, const struct measure_context *x, struct error *err)
{
    char where[400];
    for (size_t i = 0; i < ARRAY_LEN(needed); i++)
        if (!*t->v[needed[i]])
            return error_set(err, ERROR_INPUT, "%s: %s: expected a value as llama-bench writes it, found none",
                             llama_bench_position(t, (enum field)needed[i], where, sizeof where), llama_bench_fields[needed[i]]);
    return add_test(l, t, x, err);
}

/* ---- what is not read ---------------------------------------------------------------------------------------------- */

/* Fields without influence on results: provenance, thread waiting, file access. A trailing star matches any text. */
static const char *const harmless[] = { "build_*", "model_*", "cpu_*", "gpu_*", "use_direct_io", "dio", "poll", "prio", "delay", "samples_*",
                                        "avg_*", "stddev_*", "test", "t/s", "model", "size", "params", "backend", "backends", "threads", "n_threads", "batch",
                                        "n_batch", "n_depth", "fit_*", "fitt", "fitc", "blas", "kompute", "rpc", "gpu_blas", "repeat", "warmup",
                                        /* ik_llama.cpp kernel selection */
                                        "fmoe", "fused_moe", "rtr", "repack", "mla", "mla_attn", "amb", "attn_max_batch", "ger", "grouped_er", "mqkv", "muge", "thp", "rcache",
                                        "sas", "no_fused_up_gate", "no-fug", "no-ooae", "no_ooae", "graph_reuse", "khad", "vhad", "cuda", "metal", "vulkan", "sycl", "opencl" };

static bool is_harmless(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(harmless); i++) {
        const size_t n = strlen(harmless[i]);
        if (harmless[i][n - 1] == '*' ? strncmp(name, harmless[i], n - 1) == 0 : strcmp(name, harmless[i]) == 0)
            return true;
    }
    for (int f = 0; f < N_FIELD; f++)
        if (strcmp(name, llama_bench_fields[f]) == 0)
            return true;
    return false;
}

void llama_bench_note_ignored(struct test *t, const char *name, const char *value)
{
    static const char *const nothing[] = { "", "0", "-1", "none", "auto", "false", "null", "-" };
    char text[48];
    for (size_t i = 0; i < ARRAY_LEN(nothing); i++)
        if (strcmp(value, nothing[i]) == 0)
            return;
    if (!*name || is_harmless(name))
        return;
    snprintf(text, sizeof text, "%s%.20s=%.20s", *t->ignored ? ", " : "", name, value);
    for (char *p = text; *p; p++)
        *p = (unsigned char)*p < ' ' || *p == 0x7f ? '?' : *p;
    if (strlen(t->ignored) + strlen(text) < sizeof t->ignored)
        strcat(t->ignored, text);
}

/* ---- csv ------------------------------------------------------------------------------------------------------ */

int llama_bench_csv(struct measurements *l, const struct measure_context *x, struct error *err)
{
    const struct csv *c = &l->csv;
    int col[N_FIELD];
    for (int i = 0; i < N_FIELD; i++)
        col[i] = csv_find(c, llama_bench_fields[i]);
    for (size_t i = 0; i < c->n_row; i++) {
        struct test t = { .line = csv_at(c, i, 0)->line, .name = c->name, .csv = c, .row = i, .col = col };
        for (int k = 0; k < N_FIELD; k++)
            t.v[k] = csv_at(c, i, col[k])->s;
        for (size_t k = 0; k < c->n_col; k++)
            llama_bench_note_ignored(&t, c->header[k].s, csv_at(c, i, (int)k)->s);
        if (llama_bench_row(l, &t, x, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- json and jsonl ---------------------------------------------------------------------------------------------- */

/* A field's value as text; NULL: *err (too long, out of memory). */
static const char *text_of(struct measurements *l, const json_t *v, const struct json_position *at, const char *key, struct error *err)
{
    char buf[64];
    if (json_string_length(v) > MEASURE_MAX_TEXT) {
        const struct json_position field = json_position_field(at, key);
        json_position_error(&field, l->name, err, "%s: expected at most %d bytes, found %zu", key, MEASURE_MAX_TEXT, json_string_length(v));
        return NULL;
    }
    if (json_is_string(v) && !json_is_none(v))
        return measure_copy_text(l, json_string_value(v), err);
    if (json_is_number(v))
        snprintf(buf, sizeof buf, "%.17g", json_number_value(v));
    else
        snprintf(buf, sizeof buf, "%s", json_is_true(v) ? "1" : json_is_false(v) ? "0" : "");
    return measure_copy_text(l, buf, err);
}

static const char *number_text(char *buf, size_t size, const json_t *v)
{
    snprintf(buf, size, "%g", json_number_value(v));
    return buf;
}

int llama_bench_json(struct measurements *l, const json_t *o, const struct json_position *at, const struct measure_context *x,
                     struct error *err)
{
    struct test t = { .json = at, .line = at->line, .name = l->name, .samples = json_object_get(o, "samples_ts") };
    const char *key;
    json_t *v;
    char number[32];
    for (int k = 0; k < N_FIELD; k++)
        if (!(t.v[k] = text_of(l, json_object_get(o, llama_bench_fields[k]), at, llama_bench_fields[k], err)))
            return -1;
    json_object_foreach((json_t *)o, key, v)
        if (json_is_string(v) || json_is_number(v) || json_is_true(v))
            llama_bench_note_ignored(&t, key, json_is_string(v) ? json_string_value(v) : json_is_true(v) ? "true" : number_text(number, sizeof number, v));
    return llama_bench_row(l, &t, x, err);
}

bool llama_bench_is(const json_t *o)
{
    return json_is_object(o) && json_object_get(o, "avg_ts") && json_object_get(o, "n_prompt") && json_object_get(o, "model_type");
}
