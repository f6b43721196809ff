/* Profiles in memory and in the data directories: lookup by name, roofs, efficiency. */
#include "hwprofile/internal.h"
#include "base/environment.h"
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_SIZE = 4096 };

const char *const *hw_dirs(void)
{
    static const char *const none[] = { NULL };
    return environment()->data_dirs ? environment()->data_dirs : none;
}

void hw_value_unknown(struct hw_value *v)
{
    v->value = NAN;
    v->source[0] = 0;
}

void hwprofile_init(struct hwprofile *h)
{
    memset(h, 0, sizeof *h);
    hw_value_unknown(&h->mem_bytes);
    hw_value_unknown(&h->mem_bw);
    hw_value_unknown(&h->tdp_w);
    hw_value_unknown(&h->idle_w);
    hw_value_unknown(&h->price_usd_h);
    hw_value_unknown(&h->n_unit);
    hw_value_unknown(&h->unit_threads);
    hw_value_unknown(&h->clock_hz);
    hw_value_unknown(&h->cache_bytes);
    for (int i = 0; i < MATH_COUNT; i++)
        hw_value_unknown(&h->peak[i]);
    hw_value_unknown(&h->eff.compute);
    hw_value_unknown(&h->eff.bandwidth);
    hw_value_unknown(&h->eff.launch_s);
}

bool hwprofile_has_kernels(const struct hwprofile *h)
{
    for (size_t i = 0; i < h->n_ceiling; i++)
        if (strcmp(h->ceiling[i].kind, "kernel") == 0)
            return h->kind == HW_CPU;
    return false;
}

void hwprofile_free(struct hwprofile *h)
{
    for (size_t i = 0; i < h->n_alias; i++)
        free(h->alias[i]);
    free(h->alias);
    free(h->cache);
    free(h->link);
    free(h->ceiling);
    for (size_t i = 0; i < h->n_curve; i++)
        free(h->curve[i].point);
    free(h->curve);
    hwprofile_init(h);
}

/* ---- roofs ------------------------------------------------------------------- */

int hwprofile_add_ceiling(struct hwprofile *h, const struct ceiling *c, struct error *err)
{
    for (size_t i = 0; i < h->n_ceiling; i++)
        if (strcmp(h->ceiling[i].name, c->name) == 0) {
            h->ceiling[i] = *c;
            return 0;
        }
    /* Doubling: n is a power of two exactly when the array is full. */
    if ((h->n_ceiling & (h->n_ceiling - 1)) == 0) {
        size_t cap = h->n_ceiling ? h->n_ceiling * 2 : 1;
        struct ceiling *p = realloc(h->ceiling, cap * sizeof *p);
        if (!p)
            return error_oom(err, cap * sizeof *p, "ceilings");
        h->ceiling = p;
    }
    h->ceiling[h->n_ceiling++] = *c;
    return 0;
}

int hwprofile_raise_ceiling(struct hwprofile *h, const struct ceiling *c, struct error *err)
{
    for (size_t i = 0; i < h->n_ceiling; i++)
        if (strcmp(h->ceiling[i].name, c->name) == 0 && h->ceiling[i].value >= c->value)
            return 0;
    return c->value > 0 ? hwprofile_add_ceiling(h, c, err) : 0;
}

/* For n threads, a is a better match than b: the most threads not above n, else the fewest. */
static bool better_match(const struct ceiling *a, const struct ceiling *b, int n)
{
    if (!b)
        return true;
    if (a->n_threads == b->n_threads)
        return a->value > b->value;
    if (a->n_threads <= n && b->n_threads <= n)
        return a->n_threads > b->n_threads;
    return a->n_threads < b->n_threads;
}

static bool same_op(const struct ceiling *c, const char *op)
{
    return strcmp(c->op[0] ? c->op : "read", op) == 0;
}

/* Not a roof of one NUMA node or of a page size. */
static bool common(const struct ceiling *c)
{
    return !isnan(c->value) && c->node[0] == 0 && c->pages[0] == 0;
}

static const struct ceiling *bandwidth_of(const struct hwprofile *h, const char *op, const char *level, int n_threads)
{
    const struct ceiling *best = NULL;
    for (size_t i = 0; i < h->n_ceiling; i++) {
        const struct ceiling *c = &h->ceiling[i];
        if (strcmp(c->kind, "bandwidth") == 0 && strcmp(c->level, level) == 0 && same_op(c, op) &&
            common(c) && better_match(c, best, n_threads))
            best = c;
    }
    return best;
}

const struct ceiling *hwprofile_bandwidth(const struct hwprofile *h, const char *level,
                                          int n_threads)
{
    const struct ceiling *read = bandwidth_of(h, "read", level, n_threads);
    return read ? read : bandwidth_of(h, "update", level, n_threads);
}

double hw_cache_share(const struct hw_cache *c, int n)
{
    return c->n_instances > 0 && n > c->n_instances ? c->size_bytes * c->n_instances / n : c->size_bytes;
}

double hwprofile_llc(const struct hwprofile *h, int *level)
{
    double bytes = 0;
    *level = 0;
    for (size_t i = 0; i < h->n_cache; i++) {
        const struct hw_cache *c = &h->cache[i];
        if (c->level < *level || !(c->size_bytes > 0))
            continue;
        *level = c->level;
        bytes = c->size_bytes * (c->n_instances > 0 ? c->n_instances : 1);
    }
    return bytes;
}

static const struct ceiling *peak_of(const struct hwprofile *h, enum math m, const char *op, int n_threads)
{
    const struct ceiling *best = NULL;
    for (size_t i = 0; i < h->n_ceiling; i++) {
        const struct ceiling *c = &h->ceiling[i];
        if (strcmp(c->kind, "compute") == 0 && strcmp(c->dtype, math_name(m)) == 0 && strcmp(c->op, op) == 0 &&
            !isnan(c->value) && better_match(c, best, n_threads))
            best = c;
    }
    return best;
}

const struct ceiling *hwprofile_peak(const struct hwprofile *h, enum math m, int n_threads)
{
    const struct ceiling *products = peak_of(h, m, "fma", n_threads);
    return products ? products : peak_of(h, m, "", n_threads);
}

/* Ratio of the tokens per call, at least 1. */
static double token_distance(int a, int b)
{
    return a <= 0 || b <= 0 ? 1 : a > b ? (double)a / b : (double)b / a;
}

const struct ceiling *hwprofile_ceiling(const struct hwprofile *h, const char *kind, const char *op, const char *dtype,
                                        const char *level, int n_tok, int n_threads)
{
    const struct ceiling *best = NULL;
    for (size_t i = 0; i < h->n_ceiling; i++) {
        const struct ceiling *c = &h->ceiling[i];
        if (strcmp(c->kind, kind) != 0 || !same_op(c, op) || strcmp(c->dtype, dtype) != 0 ||
            strcmp(c->level, level) != 0 || !common(c))
            continue;
        double d = token_distance(c->n_tok, n_tok), d_best = best ? token_distance(best->n_tok, n_tok) : INFINITY;
        if (d < d_best || (d == d_best && better_match(c, best, n_threads)))
            best = c;
    }
    return best;
}

const struct ceiling *hwprofile_coherence(const struct hwprofile *h, enum coherence_kind what, int n_threads)
{
    const int n_tok = coherence_tokens(what);
    const struct ceiling *c = hwprofile_ceiling(h, n_tok ? "kernel" : "latency", coherence_op(what), n_tok ? "F32" : "", "", n_tok, n_threads);
    return c && c->n_threads == n_threads && c->n_tok == n_tok && c->value > 0 ? c : NULL;
}

const struct hw_curve *hwprofile_curve(const struct hwprofile *h, const char *name)
{
    for (size_t i = 0; i < h->n_curve; i++)
        if (strcmp(h->curve[i].name, name) == 0)
            return &h->curve[i];
    return NULL;
}

int hwprofile_add_curve(struct hwprofile *h, const struct hw_curve *c, struct error *err)
{
    struct hw_curve copy = *c;
    copy.point = malloc((c->n_point ? c->n_point : 1) * sizeof *copy.point);
    if (!copy.point)
        return error_oom(err, c->n_point * sizeof *copy.point, "a curve");
    if (c->n_point)
        memcpy(copy.point, c->point, c->n_point * sizeof *copy.point);
    struct hw_curve *old = (struct hw_curve *)(uintptr_t)hwprofile_curve(h, c->name);
    if (old) {
        free(old->point);
        *old = copy;
        return 0;
    }
    struct hw_curve *p = realloc(h->curve, (h->n_curve + 1) * sizeof *p);
    if (!p) {
        free(copy.point);
        return error_oom(err, (h->n_curve + 1) * sizeof *p, "curves");
    }
    h->curve = p;
    h->curve[h->n_curve++] = copy;
    return 0;
}

const struct hw_link *hwprofile_link(const struct hwprofile *h, int n)
{
    for (size_t i = 0; n >= 2 && i < h->n_link; i++)
        if (h->link[i].n_devices == 0 || n <= h->link[i].n_devices)
            return &h->link[i];
    return NULL;
}

/* ---- efficiency priors --------------------------------------------------------- */

static void take_unknown(struct hw_value *v, const struct hw_value *prior)
{
    if (isnan(v->value))
        *v = *prior;
}

static int classes_from(struct hwprofile *h, const char *path, struct error *err)
{
    static const char *const known[] = { "schema", "version", "classes" };
    struct hwprofile prior;
    char ctx[512];
    hwprofile_init(&prior);
    json_t *o = json_load_path(path, err);
    if (!o)
        return -1;
    const char *kind = hw_kind_names[h->kind];
    snprintf(ctx, sizeof ctx, "%.300s: classes", path);
    const json_t *all = json_object_get(o, "classes");
    int rc = json_check_schema(o, path, HWCLASSES_SCHEMA, HWCLASSES_VERSION, err);
    if (rc == 0)
        rc = hw_check_fields(o, path, known, ARRAY_LEN(known), err);
    if (rc == 0)
        rc = hw_check_fields(all, ctx, hw_kind_names, ARRAY_LEN(hw_kind_names), err);
    const json_t *row = json_object_get(all, kind);
    if (rc == 0 && row) {
        snprintf(ctx, sizeof ctx, "%.300s: classes.%s", path, kind);
        rc = hw_parse_efficiency(&prior.eff, row, ctx, err);
    }
    json_decref(o);
    if (rc != 0)
        return -1;
    take_unknown(&h->eff.compute, &prior.eff.compute);
    take_unknown(&h->eff.bandwidth, &prior.eff.bandwidth);
    take_unknown(&h->eff.launch_s, &prior.eff.launch_s);
    return 0;
}

int hw_fill_efficiency(struct hwprofile *h, struct error *err)
{
    for (const char *const *d = hw_dirs(); *d; d++) {
        struct strbuf path = { 0 };
        strbuf_addf(&path, "%s/hwprofiles/classes.json", *d);
        const char *name = strbuf_text(&path, "a file name", err);
        const bool found = name && file_exists(name);
        const int rc = found ? classes_from(h, name, err) : name ? 0 : -1;
        strbuf_free(&path);
        if (found || rc != 0)
            return rc;
    }
    return 0;
}

/* ---- profiles by name ------------------------------------------------------------ */

/* Without the class's efficiencies. */
static int parse_path(struct hwprofile *h, const char *path, struct error *err)
{
    struct filemap m;
    if (filemap_open(&m, path, err) != 0)
        return -1;
    int rc = hwprofile_parse(h, path, m.data, m.size, err);
    filemap_close(&m);
    if (rc == 0)
        snprintf(h->path, sizeof h->path, "%s", path);
    return rc == 0 ? 0 : -1;
}

static int load_path(struct hwprofile *h, const char *path, struct error *err)
{
    if (parse_path(h, path, err) != 0)
        return -1;
    if (hw_fill_efficiency(h, err) != 0) {
        hwprofile_free(h);
        return -1;
    }
    return 0;
}

bool hwprofile_data_file(char *path, size_t size, const char *sub, const char *name)
{
    return name_file(path, size, hw_dirs(), sub, name);
}

/* Names of all files but classes.json. */
int hwprofile_list(char ***names, size_t *n, struct error *err)
{
    if (name_list(names, n, hw_dirs(), "hwprofiles", err) != 0)
        return -1;
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++)
        if (strcmp((*names)[i], "classes") == 0)
            free((*names)[i]);
        else
            (*names)[kept++] = (*names)[i];
    *n = kept;
    return 0;
}

/* The nearest name that did not match. */
struct near_miss {
    char asked[160]; /* hw_words */
    unsigned distance;
    char id[64], name[128];
};

/* miss: updated, unless NULL. */
static bool try_name(const char *wanted, const char *id, const char *name, struct near_miss *miss)
{
    char norm[160];
    hw_normalize(norm, sizeof norm, name);
    if (strcmp(norm, wanted) == 0)
        return true;
    if (!miss)
        return false;
    hw_words(norm, sizeof norm, name);
    unsigned d = name_distance(miss->asked, norm);
    if (d < miss->distance) {
        miss->distance = d;
        snprintf(miss->id, sizeof miss->id, "%s", id);
        snprintf(miss->name, sizeof miss->name, "%s", name);
    }
    return false;
}

/* Advice for an unknown machine. */
static const char *const describe_it = "a file of its bandwidth and a peak does as well (doc/formats.md, ten lines)";

static int unknown_machine(const char *spec, const struct near_miss *miss, struct error *err)
{
    if (!*hw_dirs())
        return error_set(err, ERROR_INPUT, "machine \"%s\": no directory of profiles is known", spec);
    if (!miss->id[0] || name_too_distant(miss->asked, miss->distance))
        return error_set(err, ERROR_INPUT,
                         "unknown machine \"%s\"; expected the path of a profile (.json) or a name "
                         "that `roofcast list hw` shows; %s",
                         spec, describe_it);
    const bool alike = strcmp(miss->id, miss->name) == 0;
    return error_set(err, ERROR_INPUT, "unknown machine \"%s\"; did you mean %s%s%s%s? `roofcast list hw` shows all; %s", spec,
                     miss->id, alike ? "" : " (", alike ? "" : miss->name, alike ? "" : ")", describe_it);
}

/* Names of a profile's machine, cached until exit: a file of measurements looks up hundreds of names in every profile. */
struct cached_names {
    char *path;
    struct timespec changed;
    off_t size;
    char **name; /* name, then aliases */
    size_t n;
};
static pthread_mutex_t name_cache_lock = PTHREAD_MUTEX_INITIALIZER; /* guards name_cache, which any thread may use */
static struct cached_names *name_cache;
static size_t n_name_cache;

static void cached_names_clear(struct cached_names *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->name[i]);
    free(c->name);
    free(c->path);
    *c = (struct cached_names){ .path = NULL };
}

static int cached_names_read(struct cached_names *c, const char *path, const struct stat *st, struct error *err)
{
    struct hwprofile h;
    if (parse_path(&h, path, err) != 0)
        return -1;
    *c = (struct cached_names){ strdup(path), st->st_mtim, st->st_size, calloc(h.n_alias + 1, sizeof *c->name), 0 };
    bool whole = c->path && c->name;
    for (size_t i = 0; whole && i <= h.n_alias; i++)
        whole = (c->name[c->n++] = strdup(i == 0 ? h.name : h.alias[i - 1])) != NULL;
    hwprofile_free(&h);
    if (whole)
        return 0;
    cached_names_clear(c);
    return error_oom(err, sizeof *c, "the names of machines");
}

/* Entry of path, read again if the file changed; NULL with *err. hint: expected index. */
static const struct cached_names *cached_names_get(const char *path, size_t hint, struct error *err)
{
    struct stat st;
    size_t at = hint;
    if (stat(path, &st) != 0) {
        error_set(err, ERROR_SYSTEM, "%s: the file disappeared", path);
        return NULL;
    }
    if (at >= n_name_cache || strcmp(name_cache[at].path, path) != 0)
        for (at = 0; at < n_name_cache && strcmp(name_cache[at].path, path) != 0; at++)
            continue;
    struct cached_names *const c = at < n_name_cache ? &name_cache[at] : NULL;
    if (c && c->size == st.st_size && c->changed.tv_sec == st.st_mtim.tv_sec && c->changed.tv_nsec == st.st_mtim.tv_nsec)
        return c;
    struct cached_names fresh, *more = c ? name_cache : realloc(name_cache, (n_name_cache + 1) * sizeof *name_cache);
    if (!more) {
        error_oom(err, (n_name_cache + 1) * sizeof *name_cache, "the names of machines");
        return NULL;
    }
    name_cache = more;
    if (cached_names_read(&fresh, path, &st, err) != 0)
        return NULL;
    if (at < n_name_cache)
        cached_names_clear(&name_cache[at]);
    else
        n_name_cache++;
    name_cache[at] = fresh;
    return &name_cache[at];
}

/* 1: found, *out is its index; 0: not found; -1: error. miss: as in try_name. */
static int search(const char *wanted, char **names, size_t n, struct near_miss *miss, size_t *out,
                  struct error *err)
{
    for (size_t i = 0; i < n; i++)
        if (try_name(wanted, names[i], names[i], miss)) {
            *out = i;
            return 1;
        }
    int rc = 0;
    pthread_mutex_lock(&name_cache_lock);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        char path[PATH_SIZE];
        if (!name_file(path, sizeof path, hw_dirs(), "hwprofiles", names[i]))
            continue;
        const struct cached_names *const c = cached_names_get(path, i, err);
        rc = c ? 0 : -1;
        for (size_t k = 0; c && rc == 0 && k < c->n; k++)
            rc = try_name(wanted, names[i], c->name[k], miss);
        *out = i;
    }
    pthread_mutex_unlock(&name_cache_lock);
    return rc;
}

/* found NULL: an unknown name is an error. */
static int find(struct hwprofile *h, const char *spec, bool *found, struct error *err)
{
    size_t n = 0, hit = 0;
    char wanted[160], path[PATH_SIZE], **names = NULL;
    hwprofile_init(h);
    hw_normalize(wanted, sizeof wanted, spec);
    if (!*wanted && found)
        return 0;
    if (!*wanted)
        return error_set(err, ERROR_USAGE, "machine \"%s\": expected a name or a path", spec);
    if (hwprofile_list(&names, &n, err) != 0)
        return -1;
    int rc = search(wanted, names, n, NULL, &hit, err);
    if (found)
        *found = rc == 1;
    if (rc == 0 && !found) {
        struct near_miss miss = { .distance = UINT_MAX };
        hw_words(miss.asked, sizeof miss.asked, spec);
        rc = search(wanted, names, n, &miss, &hit, err) < 0 ? -1 : unknown_machine(spec, &miss, err);
    } else if (rc == 1)
        rc = name_file(path, sizeof path, hw_dirs(), "hwprofiles", names[hit]) ?
                 load_path(h, path, err) :
                 error_set(err, ERROR_SYSTEM, "%s.json: the file disappeared", names[hit]);
    name_list_free(names, n);
    return rc;
}

bool hwprofile_is_path(const char *spec)
{
    return strchr(spec, '/') || (text_ends_with(spec, ".json") && spec[5]);
}

int hwprofile_load(struct hwprofile *h, const char *spec, struct error *err)
{
    return hwprofile_is_path(spec) ? load_path(h, spec, err) : find(h, spec, NULL, err);
}

int hwprofile_find(struct hwprofile *h, const char *name, bool *found, struct error *err)
{
    *found = false;
    return find(h, name, found, err);
}

bool ceiling_rounds_scales(const struct ceiling *c)
{
    enum { EXACT_TOK = 32 }; /* scales are exact up to this size of pass */
    const bool floats = strcmp(c->dtype, "F32") == 0 || strcmp(c->dtype, "F16") == 0 || strcmp(c->dtype, "BF16") == 0;
    return strcmp(c->kind, "kernel") == 0 && strcmp(c->op, "matmat") == 0 && c->n_tok > EXACT_TOK && !floats &&
           (strcmp(c->isa, "avx512vnni") == 0 || strcmp(c->isa, "avx512bf16") == 0) && strstr(c->kernel, "packed") &&
           !strstr(c->kernel, CEILING_EXACT_SCALES);
}
