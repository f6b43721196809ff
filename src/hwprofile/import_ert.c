/*
 * ERT 1.1.0, the Empirical Roofline Toolkit: roofline.json, and the text that its scripts print. Its one loop reads and
 * writes an array in place, A[i] = f(A[i]), so its bandwidths are of op "update". The last plateau of bandwidth over size is
 * always called DRAM, the ones before L1, L2, ...: on GPUs, whose L1 it cannot see, the plateau called L1 is the L2.
 */
#include "hwprofile/import_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ert {
    char version[24];
    bool gpu;
    int n_experiments;
    /* of the bandwidths, of the peak */
    long gbytes_threads, gflops_threads;
    double memory_max; /* bytes of the largest working set; NaN */
    char host[64];
};

/* ---- roofs ----------------------------------------------------------------------------------- */

static int add_roof(struct import *im, const struct ert *e, const char *level, double gb_s, const char *at, struct error *err)
{
    int n = e->gpu ? 1 : (int)e->gbytes_threads;
    struct ceiling c = import_ceiling("bandwidth", level, "B/s", gb_s * 1e9, n);
    snprintf(c.op, sizeof c.op, "update");
    snprintf(c.name, sizeof c.name, "update %.8s %dt", level, n);
    snprintf(c.kernel, sizeof c.kernel, "ERT %.16s A[i] = f(A[i])", e->version);
    c.n_samples = e->n_experiments;
    return import_add(im, &c, at, err);
}

/* What ERT calls a level, as it would be called here; NULL: it has no name here. */
static const char *level_name(const struct ert *e, const char *name)
{
    static const char *const cpu[] = { "L1", "L2", "L3", "DRAM" };
    if (e->gpu)
        return strcmp(name, "L1") == 0 ? "L2" : strcmp(name, "DRAM") == 0 ? name : NULL;
    for (size_t i = 0; i < ARRAY_LEN(cpu); i++)
        if (strcmp(name, cpu[i]) == 0)
            return cpu[i];
    return NULL;
}

static bool is_level(const char *name)
{
    return strcmp(name, "DRAM") == 0 || (name[0] == 'L' && name[1] >= '1' && name[1] <= '9' && !name[2]);
}

static int add_level(struct import *im, const struct ert *e, const char *name, double gb_s, const char *at, struct error *err)
{
    const char *level = level_name(e, name);
    if (level)
        return add_roof(im, e, level, gb_s, at, err);
    import_skip(im, name);
    return 0;
}

/* "GFLOPs", as 1.1.0 has it, is double precision; later ones say "FP32 GFLOPs". */
static const char *gflops_type(const char *name)
{
    static const char *const known[][2] = { { "GFLOPs", "fp64" }, { "FP64 GFLOPs", "fp64" }, { "FP32 GFLOPs", "fp32" },
                                            { "FP16 GFLOPs", "fp16" } };
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcmp(name, known[i][0]) == 0)
            return known[i][1];
    return NULL;
}

static int add_peak(struct import *im, const struct ert *e, const char *name, double gflop_s, const char *at, struct error *err)
{
    const char *type = gflops_type(name);
    int n = e->gpu ? 1 : (int)e->gflops_threads;
    if (!type) {
        import_skip(im, name);
        return 0;
    }
    struct ceiling c = import_ceiling("compute", "", "FLOP/s", gflop_s * 1e9, n);
    snprintf(c.dtype, sizeof c.dtype, "%s", type);
    snprintf(c.name, sizeof c.name, "%s %dt", type, n);
    snprintf(c.kernel, sizeof c.kernel, "ERT %.16s kernel1", e->version);
    c.n_samples = e->n_experiments;
    return import_add(im, &c, at, err);
}

static void finish(struct import *im, const struct ert *e)
{
    im->h->kind = e->gpu ? HW_GPU : HW_CPU;
    snprintf(im->h->name, sizeof im->h->name, "%s%s", *e->host ? e->host : "a machine", " (ERT)");
    strbuf_adds(im->notes, "ERT's loop reads and writes an array in place: its bandwidths are of op update, half of them writes.\n");
    strbuf_adds(im->notes, "ERT calls the plateau of its largest working sets DRAM whatever serves them");
    if (e->memory_max > 0)
        strbuf_addf(im->notes, "; they reached %.4g MiB together", e->memory_max / 1048576);
    strbuf_adds(im->notes, ".\n");
    if (e->gpu)
        strbuf_adds(im->notes, "On a GPU ERT does not see the L1: what it calls L1 is taken as L2, other caches are left out.\n");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* ["L1", 230.5] of data[i] */
static int get_pair(const json_t *pair, const char *ctx, const char **name, double *value, struct error *err)
{
    *name = json_string_value(json_array_get(pair, 0));
    const json_t *v = json_array_get(pair, 1);
    if (!json_is_array(pair) || json_array_size(pair) != 2 || !*name || !json_is_number(v))
        return error_set(err, ERROR_INPUT, "%s: expected [name, number], found %s", ctx, json_type_name(pair));
    *value = json_number_value(v);
    return 0;
}

typedef int pair_fn(struct import *im, const struct ert *e, const char *name, double value, const char *at, struct error *err);

static const json_t *get_path(const json_t *doc, const char *a, const char *b, const char *c)
{
    const json_t *o = json_object_get(doc, a);
    o = b ? json_object_get(o, b) : o;
    return c ? json_object_get(o, c) : o;
}

static int each_pair(struct import *im, const struct ert *e, const json_t *doc, const char *part, const char *kind, bool required,
                     pair_fn *fn, struct error *err)
{
    const json_t *data = get_path(doc, part, kind, "data");
    if (!data && !required)
        return 0;
    if (!json_is_array(data) || (required && json_array_size(data) == 0))
        return error_set(err, ERROR_INPUT, "%s: field \"%s.%s.data\": expected an array of [name, number], found %s", im->file, part,
                         kind, data ? json_is_array(data) ? "none" : json_type_name(data) : "no such field");
    for (size_t i = 0; i < json_array_size(data); i++) {
        char ctx[HW_CTX], at[96];
        const char *name;
        double value = NAN;
        snprintf(at, sizeof at, "%s.%s.data[%zu]", part, kind, i);
        snprintf(ctx, sizeof ctx, "%s: %s", im->file, at);
        if (get_pair(json_array_get(data, i), ctx, &name, &value, err) != 0)
            return -1;
        if (fn(im, e, name, value, at, err) != 0)
            return -1;
    }
    return 0;
}

static int json_level(struct import *im, const struct ert *e, const char *name, double value, const char *at, struct error *err)
{
    if (!is_level(name))
        return error_set(err, ERROR_INPUT, "%s: %s: expected L1, L2, ... or DRAM, found \"%.40s\"", im->file, at, name);
    return add_level(im, e, name, value, at, err);
}

static int spec_level(struct import *im, const struct ert *e, const char *name, double value, const char *at, struct error *err)
{
    (void)e;
    if (strcmp(name, "DRAM") != 0)
        return 0;
    if (!(value * 1e9 >= hw_q_bytes_s.lo && value * 1e9 <= hw_q_bytes_s.hi))
        return error_set(err, ERROR_INPUT, "%s: %s: expected GB/s, found %g", im->file, at, value);
    im->h->mem_bw.value = value * 1e9;
    snprintf(im->h->mem_bw.source, sizeof im->h->mem_bw.source, "ERT_SPEC_GBYTES_DRAM of the configuration of ERT");
    return 0;
}

/* A number, a text of one, or a list of such texts, as ERT writes its configuration: the first. */
static bool loose_count(const json_t *j, long *v)
{
    if (json_is_array(j))
        j = json_array_get(j, 0);
    if (json_is_integer(j) && json_integer_value(j) >= 1 && json_integer_value(j) <= 1 << 20) {
        *v = (long)json_integer_value(j);
        return true;
    }
    return json_is_string(j) && import_count(json_string_value(j), 1, 1 << 20, v);
}

/* MPI processes times threads: where all runs agreed in the common metadata, else in the part's own. */
static long get_threads(const json_t *doc, const char *kind)
{
    static const char *const key[] = { "MPI_PROCS", "OPENMP_THREADS" };
    long n = 1;
    for (size_t i = 0; i < ARRAY_LEN(key); i++) {
        long v = 1;
        if (!loose_count(json_object_get(get_path(doc, "empirical", kind, "metadata"), key[i]), &v))
            loose_count(json_object_get(get_path(doc, "empirical", "metadata", NULL), key[i]), &v);
        n *= v;
    }
    return n <= 1 << 20 ? n : 1 << 20;
}

static bool says_true(const json_t *j)
{
    j = json_is_array(j) ? json_array_get(j, 0) : j;
    const char *s = json_string_value(j);
    return json_is_true(j) || (s && strcmp(s, "True") == 0);
}

static void get_meta(struct ert *e, const json_t *doc)
{
    const json_t *meta = get_path(doc, "empirical", "metadata", NULL), *config = json_object_get(meta, "CONFIG");
    const json_t *host = json_object_get(meta, "HOSTNAME"), *max = json_object_get(config, "ERT_MEMORY_MAX");
    const char *version = json_string_value(json_object_get(meta, "ERT_VERSION"));
    long n = 1;
    host = host ? host : json_object_get(get_path(doc, "empirical", "gbytes", "metadata"), "HOSTNAME");
    host = json_is_array(host) ? json_array_get(host, 0) : host;
    max = json_is_array(max) ? json_array_get(max, 0) : max;
    snprintf(e->version, sizeof e->version, "%s", version ? version : "");
    snprintf(e->host, sizeof e->host, "%s", json_is_string(host) ? json_string_value(host) : "");
    e->gpu = says_true(json_object_get(config, "ERT_GPU"));
    e->n_experiments = loose_count(json_object_get(config, "ERT_NUM_EXPERIMENTS"), &n) ? (int)n : 1;
    if (!json_is_string(max) || !import_number(json_string_value(max), &e->memory_max))
        e->memory_max = NAN;
}

static int from_json(struct import *im, const json_t *doc, struct error *err)
{
    struct ert e = { .gbytes_threads = get_threads(doc, "gbytes"), .gflops_threads = get_threads(doc, "gflops") };
    get_meta(&e, doc);
    if (each_pair(im, &e, doc, "empirical", "gbytes", true, json_level, err) != 0 ||
        each_pair(im, &e, doc, "empirical", "gflops", true, add_peak, err) != 0 ||
        each_pair(im, &e, doc, "spec", "gbytes", false, spec_level, err) != 0)
        return -1;
    finish(im, &e);
    return 0;
}

/* ---- text ------------------------------------------------------------------------------------ */

struct roof_line {
    char name[16];
    double value;
    int line;
};
struct text {
    struct roof_line roof[32];
    size_t n_roof;
    double weight; /* of the run being read: summary.py's, of which the heaviest run counts */
};

/* "   230.50 L1 EMP", or without EMP; else false. */
static bool split_roof(const char *s, double *value, char *name, size_t size)
{
    char number[40], rest[8] = "";
    int n = 0;
    char word[16];
    if (sscanf(s, " %39s %15s %7s %n", number, word, rest, &n) < 2 || (*rest && strcmp(rest, "EMP") != 0) || !import_number(number, value))
        return false;
    snprintf(name, size, "%s", word);
    return true;
}

/* "MPI_PROCS      4": how that run was started. The JSON keeps peak and bandwidth apart; the text's last one counts. */
static void meta_line(struct ert *e, const char *s, long *procs, long *threads)
{
    size_t n = strcspn(s, " \t");
    const char *rest = s + n + strspn(s + n, " \t");
    if (strncmp(s, "MPI_PROCS", n) == 0 && n == 9)
        import_count(rest, 1, 1 << 20, procs);
    else if (strncmp(s, "OPENMP_THREADS", n) == 0 && n == 14)
        import_count(rest, 1, 1 << 20, threads);
    else if (strncmp(s, "ERT_VERSION", n) == 0 && n == 11)
        snprintf(e->version, sizeof e->version, "%.*s", (int)strcspn(rest, " \t"), rest);
    else if (strncmp(s, "CONFIG", n) == 0 && n == 6)
        e->gpu |= strstr(rest, "'ERT_GPU': ['True'") || strstr(rest, "'ERT_GPU': [True");
    else if (strncmp(s, "HOSTNAME", n) == 0 && n == 8) {
        rest += strspn(rest, "('\"");
        snprintf(e->host, sizeof e->host, "%.*s", (int)strcspn(rest, "'\", )"), rest);
    }
}

static int from_text(struct import *im, struct error *err)
{
    struct ert e = { .n_experiments = 1, .memory_max = NAN };
    struct text t = { .n_roof = 0 };
    struct import_lines l = { .next = im->text };
    long procs = 1, threads = 1;
    int n_peak = 0;
    bool meta = false;
    while (import_line(&l)) {
        struct roof_line r = { .line = l.number };
        const char *s = l.s + strspn(l.s, " \t");
        bool roof = split_roof(s, &r.value, r.name, sizeof r.name);
        bool peak = roof && strcmp(r.name, "GFLOPs") == 0;
        if (!*s || (roof && strcmp(r.name, "Weight") == 0))
            continue;
        if (strcmp(s, "META_DATA") == 0)
            meta = true;
        else if (meta && !peak && !(roof && is_level(r.name)))
            meta_line(&e, s, &procs, &threads);
        else if (!peak && !(roof && is_level(r.name)))
            return import_bad_line(im, l.number, "roof", "a number and GFLOPs, L1, L2, ... or DRAM", s, err);
        else if (t.n_roof == ARRAY_LEN(t.roof) || (n_peak += peak) > 1)
            return import_bad_line(im, l.number, "roof", "one run (the output of Scripts/roofline.py, or one file \"sum\")", s, err);
        else
            t.roof[t.n_roof++] = r;
    }
    e.gbytes_threads = e.gflops_threads = procs * threads <= 1 << 20 ? procs * threads : 1 << 20;
    for (size_t i = 0; i < t.n_roof; i++) {
        char at[64];
        snprintf(at, sizeof at, "line %d: %s", t.roof[i].line, t.roof[i].name);
        if ((strcmp(t.roof[i].name, "GFLOPs") == 0 ? add_peak : add_level)(im, &e, t.roof[i].name, t.roof[i].value, at, err) != 0)
            return -1;
    }
    finish(im, &e);
    return 0;
}

int import_ert(struct import *im, const json_t *doc, struct error *err)
{
    return doc ? from_json(im, doc, err) : from_text(im, err);
}
