/*
 * ERT 1.1.0, Empirical Roofline Toolkit: roofline.json, or the text of its scripts. Its loop updates an array in place, A[i] = f(A[i]): op
 * "update". The last plateau over size is always called DRAM, the ones before L1, L2, ...; on GPUs, whose L1 it bypasses, "L1" is the L2.
 */
#include "hwprofile/import_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 1 << 20 };

struct ert {
    char version[24];
    bool gpu;
    int n_experiments;
    /* of bandwidths, of the peak */
    long gbytes_threads, gflops_threads;
    double memory_max; /* largest working set; NaN: unknown */
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

/* Level name for ERT's; NULL: none. */
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

/* "GFLOPs" (1.1.0) is double precision; later versions write "FP32 GFLOPs". */
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
        strbuf_adds(im->notes, "On a GPU ERT does not measure the L1: its L1 is imported as L2, other caches are ignored.\n");
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

/* First number of a number, text or list of texts (ERT's configuration). */
static bool loose_count(const json_t *j, long *v)
{
    if (json_is_array(j))
        j = json_array_get(j, 0);
    if (json_is_integer(j) && json_integer_value(j) >= 1 && json_integer_value(j) <= MAX_THREADS) {
        *v = (long)json_integer_value(j);
        return true;
    }
    return json_is_string(j) && import_count(json_string_value(j), 1, MAX_THREADS, v);
}

/* MPI processes times threads: from the common metadata if all runs agree, else from the part's. */
static int get_threads(const struct import *im, const json_t *doc, const char *kind, long *n, struct error *err)
{
    static const char *const key[] = { "MPI_PROCS", "OPENMP_THREADS" };
    *n = 1;
    for (size_t i = 0; i < ARRAY_LEN(key); i++) {
        long v = 1;
        const json_t *own = json_object_get(get_path(doc, "empirical", kind, "metadata"), key[i]);
        const json_t *common = json_object_get(get_path(doc, "empirical", "metadata", NULL), key[i]);
        if (!loose_count(own, &v) && !loose_count(common, &v) && (own || common))
            return error_set(err, ERROR_INPUT, "%s: empirical.%s.metadata: field \"%s\": expected a number from 1 to %d, found another",
                             im->file, kind, key[i], MAX_THREADS);
        *n *= v;
    }
    return *n <= MAX_THREADS ? 0 :
                               error_set(err, ERROR_INPUT, "%s: empirical.%s.metadata: expected at most %d processes times threads, found %ld",
                                         im->file, kind, MAX_THREADS, *n);
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
    struct ert e = { .gbytes_threads = 1 };
    get_meta(&e, doc);
    if (get_threads(im, doc, "gbytes", &e.gbytes_threads, err) != 0 || get_threads(im, doc, "gflops", &e.gflops_threads, err) != 0 ||
        each_pair(im, &e, doc, "empirical", "gbytes", true, json_level, err) != 0 ||
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
    int n_level, n_peak; /* of these */
    bool dram;
    bool meta; /* META_DATA seen */
    long procs, threads;
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

/* "MPI_PROCS      4". JSON keeps peak and bandwidth runs apart; in text the last one counts. */
static int meta_line(const struct import *im, struct ert *e, struct text *t, const char *s, int line, struct error *err)
{
    size_t n = strcspn(s, " \t");
    const char *rest = s + n + strspn(s + n, " \t");
    const bool is_procs = strncmp(s, "MPI_PROCS", n) == 0 && n == 9, is_threads = strncmp(s, "OPENMP_THREADS", n) == 0 && n == 14;
    if (is_procs || is_threads) {
        if (!import_count(rest, 1, MAX_THREADS, is_procs ? &t->procs : &t->threads))
            return import_bad_line(im, line, is_procs ? "MPI_PROCS" : "OPENMP_THREADS", "a number of at least 1", rest, err);
    } else if (strncmp(s, "ERT_VERSION", n) == 0 && n == 11) {
        snprintf(e->version, sizeof e->version, "%.*s", (int)strcspn(rest, " \t"), rest);
    } else if (strncmp(s, "CONFIG", n) == 0 && n == 6) {
        e->gpu |= strstr(rest, "'ERT_GPU': ['True'") || strstr(rest, "'ERT_GPU': [True");
    } else if (strncmp(s, "HOSTNAME", n) == 0 && n == 8) {
        rest += strspn(rest, "('\"");
        snprintf(e->host, sizeof e->host, "%.*s", (int)strcspn(rest, "'\", )"), rest);
    }
    return 0;
}

/* "1002,83 L1 EMP", "1.1 L1 TB/s": a malformed roof, not metadata. */
static bool meant_as_roof(const char *s)
{
    char number[40], word[16], rest[8] = "";
    return sscanf(s, " %39s %15s %7s", number, word, rest) >= 2 && (is_level(word) || strcmp(word, "GFLOPs") == 0) &&
           (strchr("+-.0123456789", *number) || strcmp(rest, "EMP") == 0);
}

/* One non-blank line. */
static int text_line(struct import *im, struct ert *e, struct text *t, const char *s, int line, struct error *err)
{
    struct roof_line r = { .line = line };
    const bool roof = split_roof(s, &r.value, r.name, sizeof r.name), level = roof && is_level(r.name);
    const bool peak = roof && strcmp(r.name, "GFLOPs") == 0;
    if (roof && strcmp(r.name, "Weight") == 0)
        return 0;
    if (strcmp(s, "META_DATA") == 0) {
        t->meta = true;
        return 0;
    }
    if (t->meta && !meant_as_roof(s))
        return meta_line(im, e, t, s, line, err);
    if (!peak && !level)
        return import_bad_line(im, line, "roof", "a number and GFLOPs, L1, L2, ... or DRAM", s, err);
    if (t->n_roof == ARRAY_LEN(t->roof) || (peak && t->n_peak))
        return import_bad_line(im, line, "roof", "one run (the output of Scripts/roofline.py, or one file \"sum\")", s, err);
    t->n_peak += peak;
    t->n_level += level;
    t->dram |= level && strcmp(r.name, "DRAM") == 0;
    t->roof[t->n_roof++] = r;
    return 0;
}

static int from_text(struct import *im, struct error *err)
{
    struct ert e = { .n_experiments = 1, .memory_max = NAN };
    struct text t = { .procs = 1, .threads = 1 };
    struct import_lines l = { .next = im->text };
    while (import_line(&l)) {
        const char *s = l.s + strspn(l.s, " \t");
        if (*s && text_line(im, &e, &t, s, l.number, err) != 0)
            return -1;
    }
    if (t.n_level && !t.dram) /* always the last plateau: otherwise the text is truncated */
        return error_set(err, ERROR_INPUT, "%s: line %d: expected the roof DRAM behind those of caches, found none (was it cut off?)",
                         im->file, l.number);
    if (t.procs * t.threads > MAX_THREADS)
        return error_set(err, ERROR_INPUT, "%s: expected at most %d processes times threads, found %ld", im->file, MAX_THREADS,
                         t.procs * t.threads);
    e.gbytes_threads = e.gflops_threads = t.procs * t.threads;
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
