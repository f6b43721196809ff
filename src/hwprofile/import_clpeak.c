/*
 * clpeak 1.x (text) and 2.x (text, JSON). A test's display name with other characters as "_" is mostly its tag, so one table serves
 * both. GB are 1e9; the best of several vector widths is the roof.
 */
#include "hwprofile/import_internal.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One reading, JSON or text. */
struct reading {
    char device[160];   /* "CPU/AMD Ryzen ..." */
    char test[96];      /* folded: "single_precision_compute_avx2_fma" */
    char metric[48], unit[12];
    double value;
    int threads;        /* of the device; 0: unknown */
    char version[32];
    char at[32];        /* "line 12" or "entries[3]" */
};

static void fold(char *out, size_t size, const char *s)
{
    size_t n = 0;
    for (; *s && n + 1 < size; s++) {
        if (isalnum((unsigned char)*s))
            out[n++] = (char)tolower((unsigned char)*s);
        else if (n && out[n - 1] != '_')
            out[n++] = '_';
    }
    while (n && out[n - 1] == '_')
        n--;
    out[n] = 0;
}

/* ---- test to roof ---- */

static bool has(const char *s, const char *part)
{
    return strstr(s, part) != NULL;
}

/* Operand type of a multiply-add by test or metric; NULL: none, not dense, or FP16 accumulation. */
static const char *find_type(const struct reading *r)
{
    static const char *const no[] = { "sparse", "smfmac", "mma_sp", "divide", "sqrt", "smt_scaling", "int16", "integer_compute_fast",
                                      "integer_compute_char", "integer_compute_short", "integer_char", "integer_short", "attention",
                                      "f16acc" };
    static const struct {
        const char *word, *type;
    } type[] = { { "bf16", "bf16" },   { "bfloat16", "bf16" }, { "tf32", "tf32" },   { "fp8", "fp8" },   { "nvf4", "fp4" },
                 { "mxf4", "fp4" },    { "mxfp4", "fp4" },     { "nvfp4", "fp4" },   { "fp4", "fp4" },   { "int8", "int8" },
                 { "int4", "int4" },   { "fp16", "fp16" },     { "half", "fp16" },   { "mixed_precision", "fp16" },
                 { "fp64", "fp64" },   { "double", "fp64" },   { "fp32", "fp32" },   { "single_precision", "fp32" } };
    char metric[48];
    fold(metric, sizeof metric, r->metric);
    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        if (has(r->test, no[i]) || has(metric, no[i]))
            return NULL;
    /* The metric is more specific (cuBLASLt and 2.x CUDA rows are types). "int8" may be a vector of 8 ints. */
    bool vector_of_int = has(r->test, "integer_compute") && !has(r->test, "int8");
    if (strcmp(metric, "float") == 0 && has(r->test, "precision"))
        return has(r->test, "single") ? "fp32" : has(r->test, "half") ? "fp16" : "fp64";
    for (size_t i = 0; i < ARRAY_LEN(type) && !vector_of_int; i++)
        if (has(metric, type[i].word))
            return type[i].type;
    for (size_t i = 0; i < ARRAY_LEN(type) && !vector_of_int; i++)
        if (has(r->test, type[i].word))
            return type[i].type;
    return NULL;
}

/* "L1 MT" of caches, "read" of memory. */
static bool split_level(const char *metric, char *level, size_t size)
{
    static const char *const levels[] = { "L1", "L2", "L3", "DRAM" };
    for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
        size_t n = strlen(levels[i]);
        if (strncmp(metric, levels[i], n) == 0 && (!metric[n] || strcmp(metric + n, " ST") == 0 || strcmp(metric + n, " MT") == 0)) {
            snprintf(level, size, "%s", levels[i]);
            return true;
        }
    }
    return false;
}

/* OpenCL on a CPU (pocl): "cpu-haswell-...", "pthread-...". */
static bool is_cpu(const char *device)
{
    return strncmp(device, "CPU/", 4) == 0 || strncmp(device, "OpenCL/cpu-", 11) == 0 || strncmp(device, "OpenCL/pthread-", 15) == 0;
}

/* Threads of a reading: CPU ST 1, CPU MT and whole-machine tests all, GPU 1. -1: unknown. */
static int thread_count(const struct import *im, const struct reading *r)
{
    if (!is_cpu(r->device) || text_ends_with(r->metric, " ST") || strcmp(r->unit, "ns") == 0)
        return 1;
    return r->threads > 0 ? r->threads : im->o->n_threads > 0 ? im->o->n_threads : -1;
}

/* ISA suffix of a CPU test. */
static const char *isa_of(const char *test)
{
    const char *at = strstr(test, "_compute_");
    return at && !has(at, "fp16") && !has(at, "bf16xbf16") ? at + 9 : "";
}

/* v in SI, rates rounded to integers; NaN: not a roof's unit. */
static double to_si(double v, const char *unit)
{
    static const struct {
        const char *unit;
        double times, over;
    } known[] = { { "gflops", 1e9, 1 }, { "tflops", 1e12, 1 }, { "gops", 1e9, 1 }, { "giops", 1e9, 1 }, { "tops", 1e12, 1 },
                  { "gbps", 1e9, 1 },   { "us", 1, 1e6 },      { "ns", 1, 1e9 } };
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcmp(unit, known[i].unit) == 0)
            return known[i].times > 1 ? round(v * known[i].times) : v / known[i].over;
    return NAN;
}

/* The roof that r measures; false: none. */
static bool make_ceiling(struct ceiling *c, const struct reading *r, int n)
{
    double v = to_si(r->value, r->unit);
    char level[8];
    bool bytes = strcmp(r->unit, "gbps") == 0, lat = has(r->test, "memory_latency");
    if (bytes && (has(r->test, "global_memory_bandwidth") || has(r->test, "dram_bandwidth"))) {
        bool plain = strcmp(r->metric, "copy") != 0 && strcmp(r->metric, "triad") != 0 && strcmp(r->metric, "write") != 0;
        *c = import_ceiling("bandwidth", "DRAM", "B/s", v, n);
        snprintf(c->op, sizeof c->op, "%.15s", plain ? "read" : r->metric);
    } else if (bytes && has(r->test, "cache_bandwidth") && split_level(r->metric, level, sizeof level)) {
        *c = import_ceiling("bandwidth", level, "B/s", v, n);
        snprintf(c->op, sizeof c->op, "read");
    } else if (bytes && (has(r->test, "l1_write_bandwidth") || has(r->test, "l1_bandwidth"))) {
        *c = import_ceiling("bandwidth", "L1", "B/s", v, n);
        snprintf(c->op, sizeof c->op, "%s", strncmp(r->metric, "copy", 4) == 0 ? "copy" : "write");
    } else if (lat && split_level(r->metric, level, sizeof level)) {
        *c = import_ceiling("latency", level, "s", v, n);
        snprintf(c->op, sizeof c->op, "chase");
    } else if (has(r->test, "kernel_launch_latency") && (!*r->metric || strcmp(r->metric, "dispatch") == 0)) {
        *c = import_ceiling("latency", "", "s", v, n);
        snprintf(c->op, sizeof c->op, "dispatch");
    } else {
        const char *type = !isnan(v) && has(r->unit, "ops") ? find_type(r) : NULL;
        if (!type)
            return false;
        *c = import_ceiling("compute", "", strncmp(type, "int", 3) == 0 ? "OP/s" : "FLOP/s", v, n);
        snprintf(c->dtype, sizeof c->dtype, "%s", type);
        snprintf(c->isa, sizeof c->isa, "%.23s", isa_of(r->test));
    }
    return true;
}

static int add_reading(struct import *im, const struct reading *r, struct error *err)
{
    struct ceiling c;
    char at[160];
    int n = thread_count(im, r);
    if (!make_ceiling(&c, r, n)) {
        bool part = has(r->test, "latency"); /* breakdown of other rows */
        snprintf(at, sizeof at, "%s%s%s", r->test, part ? " " : "", part ? r->metric : "");
        import_skip(im, at);
        return 0;
    }
    if (n < 0)
        return error_set(err, ERROR_INPUT, "%s: %s: %s: expected the device's number of threads (\"Cores: 32 threads / 16 cores\"), found none: say it with -t",
                         im->file, r->at, r->metric);
    snprintf(at, sizeof at, "%s: %s", r->at, *r->metric ? r->metric : r->test);
    if (strcmp(c.kind, "compute") == 0)
        snprintf(c.name, sizeof c.name, "%s%s%s %dt", c.dtype, *c.isa ? " " : "", c.isa, n);
    else
        snprintf(c.name, sizeof c.name, "%s%s%s %dt", c.op, *c.level ? " " : "", c.level, n);
    snprintf(c.kernel, sizeof c.kernel, "clpeak%s%.8s %.20s", *r->version ? " " : "", r->version, *r->metric ? r->metric : r->test);
    return import_add(im, &c, at, err);
}

/* ---- device selection ---- */

enum { MAX_DEVICES = 32 };
struct devices {
    char name[MAX_DEVICES][160];
    int threads[MAX_DEVICES];
    int n, chosen;
};

static int find_device(struct devices *d, const char *name)
{
    for (int i = 0; i < d->n; i++)
        if (strcmp(d->name[i], name) == 0)
            return i;
    if (d->n == MAX_DEVICES)
        return -1;
    snprintf(d->name[d->n], sizeof d->name[0], "%s", name);
    return d->n++;
}

/* The only device, or the only match of --device. */
static int choose_device(struct import *im, struct devices *d, struct error *err)
{
    struct strbuf all = { 0 };
    int n = 0;
    for (int i = 0; i < d->n; i++) {
        strbuf_addf(&all, "%s\"%s\"", i ? ", " : "", d->name[i]);
        if (im->o->device && !strcasestr(d->name[i], im->o->device))
            continue;
        d->chosen = i;
        n++;
    }
    const char *names = strbuf_text(&all, "the names of devices", err);
    int rc = names ? 0 : -1;
    if (names && n != 1)
        rc = error_set(err, d->n ? ERROR_USAGE : ERROR_INPUT, "%s: expected one device%s%s%s, found %s%.400s", im->file,
                       im->o->device ? " with \"" : d->n ? " (choose with --device TEXT)" : "", im->o->device ? im->o->device : "",
                       im->o->device ? "\" in its name" : "", d->n ? "" : "none", names);
    strbuf_free(&all);
    return rc;
}

static void finish(struct import *im, const struct devices *d, const char *version)
{
    char name[sizeof d->name[0]], v[32];
    snprintf(name, sizeof name, "%s", d->name[d->chosen]);
    snprintf(v, sizeof v, "%s", version);
    import_clean(name);
    import_clean(v);
    const char *slash = strchr(name, '/');
    im->h->kind = is_cpu(name) ? HW_CPU : HW_GPU;
    snprintf(im->h->name, sizeof im->h->name, "%.100s (clpeak)", slash ? slash + 1 : name);
    strbuf_addf(im->notes, "clpeak%s%s, device %s. Roofs of sparse products, integer arithmetic other than dot products, and transfers are ignored.\n",
                *v ? " " : "", v, name);
}

/* Threads of a property: "Cores: 32 threads / 16 cores", OpenCL CPUs "Compute units: 32"; else 0. */
static int threads_of(const char *key, size_t n_key, const char *value)
{
    long v = 0;
    size_t n = strspn(value, "0123456789");
    char number[16];
    bool cores = n_key == 5 && strncmp(key, "Cores", 5) == 0 && strncmp(value + n, " thread", 7) == 0;
    bool units = n_key == 13 && strncmp(key, "Compute units", 13) == 0 && !value[n];
    snprintf(number, sizeof number, "%.*s", n < 10 ? (int)n : 0, value);
    return (cores || units) && import_count(number, 1, 1 << 20, &v) ? (int)v : 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static int json_name(const json_t *o, const char *ctx, char *to, size_t size, struct error *err)
{
    const char *backend, *device;
    if (json_get_str(o, ctx, "backend", &backend, err) != 0 || json_get_str(o, ctx, "device", &device, err) != 0)
        return -1;
    snprintf(to, size, "%.40s/%.110s", backend, device);
    return 0;
}

/* Device properties are read for their threads only. */
static void json_devices(struct devices *d, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i), *props = json_object_get(o, "props");
        char name[160];
        if (json_name(o, "", name, sizeof name, NULL) != 0)
            continue;
        int k = find_device(d, name);
        for (size_t j = 0; k >= 0 && j < json_array_size(props); j++) {
            const char *key = json_string_value(json_object_get(json_array_get(props, j), "k"));
            const char *value = json_string_value(json_object_get(json_array_get(props, j), "v"));
            int n = key && value ? threads_of(key, strlen(key), value) : 0;
            d->threads[k] = n ? n : d->threads[k];
        }
    }
}

static int json_reading(struct reading *r, const json_t *o, const char *ctx, bool *measured, struct error *err)
{
    const char *test, *metric, *unit, *status = "ok";
    if (json_name(o, ctx, r->device, sizeof r->device, err) != 0 || json_get_str(o, ctx, "test", &test, err) != 0 ||
        json_get_str(o, ctx, "metric", &metric, err) != 0 || json_get_str(o, ctx, "unit", &unit, err) != 0 ||
        json_get_str_opt(o, ctx, "status", &status, err) != 0)
        return -1;
    *measured = strcmp(status, "ok") == 0;
    fold(r->test, sizeof r->test, test);
    snprintf(r->metric, sizeof r->metric, "%.47s", metric);
    fold(r->unit, sizeof r->unit, unit);
    return *measured ? json_get_num(o, ctx, "value", &r->value, err) : 0;
}

static int json_entries(struct import *im, struct devices *d, const json_t *entries, const char *version, struct error *err)
{
    for (size_t i = 0; i < json_array_size(entries); i++) {
        struct reading r = { .value = NAN };
        char ctx[HW_CTX];
        bool measured;
        snprintf(r.at, sizeof r.at, "entries[%zu]", i);
        snprintf(ctx, sizeof ctx, "%s: %s", im->file, r.at);
        snprintf(r.version, sizeof r.version, "%.31s", version);
        if (json_reading(&r, json_array_get(entries, i), ctx, &measured, err) != 0)
            return -1;
        int k = find_device(d, r.device);
        if (!measured || k < 0 || k != d->chosen)
            continue;
        r.threads = d->threads[k];
        if (add_reading(im, &r, err) != 0)
            return -1;
    }
    return 0;
}

static int from_json(struct import *im, const json_t *doc, struct error *err)
{
    struct devices d = { .n = 0 };
    const json_t *entries = json_object_get(doc, "entries");
    const char *version = "";
    int64_t format;
    if (json_get_int(doc, im->file, "format_version", 2, 2, &format, err) != 0 ||
        json_get_str_opt(doc, im->file, "clpeak_version", &version, err) != 0)
        return -1;
    if (!json_is_array(entries))
        return error_set(err, ERROR_INPUT, "%s: field \"entries\": expected an array, found %s", im->file,
                         entries ? json_type_name(entries) : "no such field");
    for (size_t i = 0; i < json_array_size(entries); i++) {
        char ctx[HW_CTX], name[160];
        snprintf(ctx, sizeof ctx, "%s: entries[%zu]", im->file, i);
        if (json_name(json_array_get(entries, i), ctx, name, sizeof name, err) != 0)
            return -1;
        if (find_device(&d, name) < 0)
            return error_set(err, ERROR_INPUT, "%s: expected at most %d devices", im->file, MAX_DEVICES);
    }
    if (choose_device(im, &d, err) != 0)
        return -1;
    json_devices(&d, json_object_get(doc, "devices"));
    if (json_entries(im, &d, entries, version, err) != 0)
        return -1;
    finish(im, &d, version);
    return 0;
}

/* ---- text ------------------------------------------------------------------------------------ */

struct text {
    struct devices d;
    char backend[48];
    int device; /* current; -1: none */
    struct reading r; /* test and unit of the heading */
    bool second;      /* the first pass lists devices */
};

/* "Global memory bandwidth (GBPS)"; headings of other units too, as they start a test. */
static bool heading(struct text *t, const char *s)
{
    const char *open = strrchr(s, '(');
    size_t n = strlen(s);
    if (!open || open == s || n < 4 || s[n - 1] != ')' || strstr(s, " : "))
        return false;
    char name[128];
    snprintf(name, sizeof name, "%.*s", open - s < 127 ? (int)(open - s) : 127, s);
    fold(t->r.test, sizeof t->r.test, name);
    fold(t->r.unit, sizeof t->r.unit, open);
    return true;
}

/* NAME of "Device 0: NAME", "Device: NAME", "Platform: NAME", "Backend: NAME"; NULL: another line. */
static const char *titled(const char *s, const char *what)
{
    size_t n = strlen(what);
    if (strncmp(s, what, n) != 0)
        return NULL;
    s += n + strspn(s + n, " 0123456789");
    return *s == ':' ? s + 1 + strspn(s + 1, " ") : NULL;
}

static void begin_device(struct text *t, const char *name)
{
    char full[160];
    snprintf(full, sizeof full, "%s/%.110s", *t->backend ? t->backend : "OpenCL", name); /* 1.x has OpenCL only */
    t->device = find_device(&t->d, full);
    t->r.test[0] = 0;
    snprintf(t->r.device, sizeof t->r.device, "%s", full);
}

/* "float2  : 230.89" under a heading, or 1.x's "Kernel launch latency : 5.34 us". */
static int value_line(struct import *im, struct text *t, const char *s, const char *colon, int line, struct error *err)
{
    char value[48], *tail;
    size_t n = (size_t)(colon - s);
    const char *v = colon + 1 + strspn(colon + 1, " \t");
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
        n--;
    snprintf(t->r.at, sizeof t->r.at, "line %d", line);
    snprintf(t->r.metric, sizeof t->r.metric, "%.*s", n < 47 ? (int)n : 47, s);
    snprintf(value, sizeof value, "%.47s", v);
    struct reading r = t->r;
    if (!*r.test || strncmp(s, "Kernel launch latency", 21) == 0) {
        tail = value + strspn(value, "0123456789.");
        if (strcmp(tail, " us") != 0 || strncmp(s, "Kernel launch latency", 21) != 0)
            return 0; /* device properties */
        *tail = 0;
        snprintf(r.test, sizeof r.test, "kernel_launch_latency");
        snprintf(r.unit, sizeof r.unit, "us");
        r.metric[0] = 0;
    }
    tail = strchr(value, '('); /* --compare's "(+1.2%)" */
    if (tail)
        *tail = 0;
    if (*v == '[') /* "[unsupported] ..." */
        return 0;
    if (!import_number(value, &r.value))
        return import_bad_line(im, line, r.metric, "a number", v, err);
    if (t->device != t->d.chosen)
        return 0;
    r.threads = t->d.threads[t->device];
    return add_reading(im, &r, err);
}

static int text_line(struct import *im, struct text *t, const char *s, int line, struct error *err)
{
    const char *name = titled(s, "Backend"), *device = titled(s, "Device"), *colon = strchr(s, ':');
    if (name) {
        snprintf(t->backend, sizeof t->backend, "%.40s", name);
        return 0;
    }
    if (device) {
        begin_device(t, device);
        return t->device < 0 ? import_bad_line(im, line, "Device", "at most 32 devices", device, err) : 0;
    }
    if (titled(s, "Platform") || !*s || heading(t, s) || !colon || t->device < 0)
        return 0;
    size_t n_key = (size_t)(colon - s);
    while (n_key && s[n_key - 1] == ' ')
        n_key--;
    int n = *t->r.test ? 0 : threads_of(s, n_key, colon + 1 + strspn(colon + 1, " "));
    t->d.threads[t->device] = n ? n : t->d.threads[t->device];
    return t->second ? value_line(im, t, s, colon, line, err) : 0;
}

static int from_text(struct import *im, struct error *err)
{
    struct text t = { .device = -1, .d.chosen = -1 };
    char *copy = strdup(im->text);
    int rc = copy ? 0 : error_oom(err, im->size, "a file");
    for (int pass = 0; pass < 2 && rc == 0; pass++) {
        struct import_lines l = { .next = pass ? im->text : copy };
        t.second = pass == 1;
        t.device = -1;
        t.backend[0] = 0;
        t.r = (struct reading){ .value = NAN };
        while (rc == 0 && import_line(&l))
            rc = text_line(im, &t, l.s + strspn(l.s, " \t"), l.number, err);
        if (rc == 0 && pass == 0)
            rc = choose_device(im, &t.d, err);
    }
    free(copy);
    if (rc != 0)
        return -1;
    finish(im, &t.d, "");
    return 0;
}

int import_clpeak(struct import *im, const json_t *doc, struct error *err)
{
    return doc ? from_json(im, doc, err) : from_text(im, err);
}
