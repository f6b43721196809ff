/* Charts of a profile: what it measured against footprint, threads or load, and the roofs of kernels by tensor type. */
#include "dtype/dtype.h"
#include "report/plot_kinds.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SERIES = 7 }; /* as many as there are colours; --all-roofs has dashes too */

struct curve_kind {
    enum plot_chart chart;
    const char *kind, *x; /* of the curves */
    const char *what, *x_title, *y_title, *unit;
};

static const struct curve_kind kinds[] = {
    { PLOT_BANDWIDTH, "bandwidth", "footprint_bytes", "Bandwidth against footprint", "Footprint of a thread",
      "Bandwidth [B/s]", "B/s" },
    { PLOT_SATURATION, "bandwidth", "n_threads", "Bandwidth against threads", "Threads", "Bandwidth [B/s]", "B/s" },
    { PLOT_LATENCY, "latency", "footprint_bytes", "Latency against footprint", "Footprint of a thread",
      "Time of a dependent load [s]", "s" },
    { PLOT_LOADED, "latency", "bytes_s", "Latency under load", "What the other threads read", "Time of a dependent load [s]",
      "s" },
};

/* ---- which curves --------------------------------------------------------------------------- */

static int rank_of(const char *text, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(text, list[i]) == 0)
            return (int)i;
    return (int)n;
}

static const char *op_of(const char *op)
{
    return *op ? op : "read";
}

static int op_rank(const char *op)
{
    static const char *const ops[] = { "read", "write", "write-nt", "copy", "triad", "gather" };
    return rank_of(op_of(op), ops, ARRAY_LEN(ops));
}

static const char *const levels[] = { "L1", "L2", "L3", "DRAM" };

/* In --op's list; without one, any. */
static bool op_wanted(const char *list, const char *op)
{
    size_t n = strlen(op);
    for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == n && strncmp(p, op, n) == 0)
            return true;
    return !list;
}

/* The largest number of threads among curves of that kind and op that is no more than -t. */
static int most_threads(const struct hwprofile *h, const struct curve_kind *k, const char *op, int64_t limit)
{
    int n = 0;
    for (size_t i = 0; i < h->n_curve; i++) {
        const struct hw_curve *c = &h->curve[i];
        if (strcmp(c->kind, k->kind) == 0 && strcmp(c->x, k->x) == 0 && strcmp(op_of(c->op), op) == 0 &&
            (limit <= 0 || c->n_threads <= limit) && c->n_threads > n)
            n = c->n_threads;
    }
    return n;
}

/* Default: reads at every number of threads, other ops at the largest; --op, -t and --all-roofs override. */
static bool curve_wanted(const struct hwprofile *h, const struct curve_kind *k, const struct hw_curve *c,
                         const struct plot_options *o)
{
    const char *op = op_of(c->op);
    if (strcmp(c->kind, k->kind) != 0 || strcmp(c->x, k->x) != 0 || c->n_point == 0 || !op_wanted(o->op, op))
        return false;
    if (o->all_roofs)
        return o->n_threads <= 0 || c->n_threads <= o->n_threads;
    int most = most_threads(h, k, op, o->n_threads);
    if (o->n_threads > 0 && c->n_threads != most)
        return false;
    return k->chart != PLOT_BANDWIDTH || op_rank(op) == 0 || c->n_threads == most;
}

static int by_curve(const void *a, const void *b)
{
    const struct hw_curve *p = *(const struct hw_curve *const *)a, *q = *(const struct hw_curve *const *)b;
    int d = op_rank(p->op) - op_rank(q->op);
    d = d ? d : (*p->node != 0) - (*q->node != 0);
    d = d ? d : (*p->pages != 0) - (*q->pages != 0);
    d = d ? d : rank_of(q->level, levels, ARRAY_LEN(levels)) - rank_of(p->level, levels, ARRAY_LEN(levels));
    d = d ? d : q->n_threads - p->n_threads;
    return d ? d : strcmp(p->name, q->name);
}

/* "read, 2 threads, 4K pages, remote 0-1" */
static void curve_label(char *buf, size_t n, const struct hw_curve *c)
{
    char threads[32] = "";
    if (c->n_threads > 0)
        snprintf(threads, sizeof threads, ", %d thread%s", c->n_threads, c->n_threads == 1 ? "" : "s");
    bool level = *c->level && strcmp(c->x, "footprint_bytes") != 0;
    snprintf(buf, n, "%s%s%s%s%s%s%s", op_of(c->op), level ? " " : "", level ? c->level : "", threads, *c->pages ? ", " : "", c->pages,
             *c->pages ? " pages" : "");
    size_t len = strlen(buf);
    if (*c->node)
        snprintf(buf + len, n - len, ", %s", c->node);
}

/* ---- building ------------------------------------------------------------------------------- */

static int add_curve(struct curve_chart *c, const struct hw_curve *from, struct error *err)
{
    struct chart_series *s = curve_add_series(c, from->n_point, "", err);
    if (!s)
        return -1;
    memcpy(s->point, from->point, from->n_point * sizeof *s->point);
    s->n_point = from->n_point;
    curve_label(s->label, sizeof s->label, from);
    return 0;
}

/* Curves of a kind in legend order; those that exceed the colours are listed. */
static int add_curves(struct curve_chart *c, const struct hwprofile *h, const struct curve_kind *k, const struct plot_options *o,
                      struct strbuf *notes, struct error *err)
{
    const struct hw_curve **pick = calloc(h->n_curve + 1, sizeof *pick);
    size_t n = 0, max = o->all_roofs ? 2 * MAX_SERIES : MAX_SERIES;
    int rc = 0;
    if (!pick)
        return error_oom(err, h->n_curve * sizeof *pick, "curves");
    for (size_t i = 0; i < h->n_curve; i++)
        if (curve_wanted(h, k, &h->curve[i], o))
            pick[n++] = &h->curve[i];
    qsort(pick, n, sizeof *pick, by_curve);
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (i < max)
            rc = add_curve(c, pick[i], err);
        else
            strbuf_addf(notes, "%s%s%s", i == max ? "not drawn (choose with --op, -t): " : ", ", pick[i]->name,
                        i + 1 == n ? "\n" : "");
    }
    free(pick);
    return rc;
}

/* ---- axes: the machine's, doc/notes/charts.md ------------------------------------------------------ */

/* Smallest and largest of the machine's measured roofs of a kind; n_threads 0: of any number of threads. */
static void roof_span(const struct hwprofile *h, const char *kind, const char *unit, int n_threads, double *lo, double *hi)
{
    for (size_t i = 0; i < h->n_ceiling; i++) {
        const struct ceiling *c = &h->ceiling[i];
        if (strcmp(c->kind, kind) != 0 || strcmp(c->unit, unit) != 0 || !(c->value > 0) ||
            (n_threads > 0 && c->n_threads != n_threads))
            continue;
        *lo = fmin(*lo, c->value);
        *hi = fmax(*hi, c->value);
    }
}

/* Without such a roof the range of the curves is used. */
static void series_span(const struct curve_chart *c, double *lo, double *hi)
{
    for (size_t i = 0; i < c->n_series; i++)
        for (size_t k = 0; k < c->series[i].n_point; k++) {
            *lo = fmin(*lo, c->series[i].point[k].value);
            *hi = fmax(*hi, c->series[i].point[k].value);
        }
}

static void rate_axis(struct curve_chart *c, const struct hwprofile *h, const char *kind, const char *or_kind, const char *unit,
                      int n_threads)
{
    double lo = INFINITY, hi = 0;
    roof_span(h, kind, unit, n_threads, &lo, &hi);
    roof_span(h, or_kind, strcmp(or_kind, "compute") == 0 ? "OP/s" : unit, n_threads, &lo, &hi);
    roof_span(h, or_kind, unit, n_threads, &lo, &hi);
    if (h->mem_bw.value > 0 && strcmp(unit, "B/s") == 0)
        hi = fmax(hi, h->mem_bw.value);
    if (!(lo < INFINITY))
        series_span(c, &lo, &hi);
    axis_decades(&c->y, lo, hi);
}

/* 0.1 ns is less than a cycle of any core, 10 ns than memory ever takes, 1 us more than it takes unloaded. */
static void latency_axis(struct curve_chart *c, const struct hwprofile *h, bool dram)
{
    double hi = 0;
    for (size_t i = 0; i < h->n_ceiling; i++)
        if (strcmp(h->ceiling[i].kind, "latency") == 0 && strcmp(h->ceiling[i].op, "chase") == 0 && h->ceiling[i].value > 0)
            hi = fmax(hi, h->ceiling[i].value);
    axis_decades(&c->y, dram ? 1.11e-8 : 1.11e-10, fmax(hi, 0.9e-6));
    snprintf(c->y.unit, sizeof c->y.unit, "s");
}

static double largest_cache(const struct hwprofile *h)
{
    double bytes = 0;
    for (size_t i = 0; i < h->n_cache; i++)
        bytes = fmax(bytes, h->cache[i].size_bytes);
    return bytes;
}

static void footprint_axis(struct curve_chart *c, const struct hwprofile *h)
{
    c->x.scale = AXIS_BYTES;
    axis_powers(&c->x, 1024, fmax(1073741824.0, 8 * largest_cache(h)));
    snprintf(c->x.unit, sizeof c->x.unit, "B");
}

static void thread_axis(struct curve_chart *c, const struct hwprofile *h)
{
    int n = h->n_pus;
    for (size_t i = 0; i < h->n_ceiling; i++)
        n = h->ceiling[i].n_threads > n ? h->ceiling[i].n_threads : n;
    c->x.scale = AXIS_COUNT;
    axis_powers(&c->x, 1, n > 2 ? n : 2);
    c->x.lo /= 1.25; /* keep one thread off the axis */
    c->x.hi *= 1.25;
}

/* More than the intervals of two medians explain on a quiet machine: methods.md (70)'s 10 %. */
#define LOAD_ABOVE 1.1

static double dram_read(const struct hwprofile *h, int n)
{
    const struct ceiling *c = hwprofile_bandwidth(h, "DRAM", n > 0 ? n : 1 << 20);
    return c ? c->value : NAN;
}

/* The axis includes the load, which may exceed the read roof measured at another time. */
static void load_axis(struct curve_chart *c, const struct hwprofile *h)
{
    const double read = dram_read(h, 0);
    double most = 0;
    for (size_t i = 0; i < c->n_series; i++)
        for (size_t k = 0; k < c->series[i].n_point; k++)
            most = fmax(most, c->series[i].point[k].x);
    const double hi = fmax(fmax(1.05 * read, h->mem_bw.value), most);
    if (most > LOAD_ABOVE * read) {
        char load[32], roof[32];
        units_si(load, sizeof load, most, "B/s");
        units_si(roof, sizeof roof, read, "B/s");
        snprintf(c->caption, sizeof c->caption, "The other threads read up to %s, more than this profile's roof of reads, %s: they were measured at different "
                 "times, and memory gave more at one of them.", load, roof);
    }
    axis_linear(&c->x, hi > 0 ? hi : 1e9);
    snprintf(c->x.unit, sizeof c->x.unit, "B/s");
}

/* ---- marks and lines --------------------------------------------------------------------------- */

/* The threads of the curves that are drawn, each number once. */
static size_t thread_counts(int *n, size_t max, const struct curve_chart *c, const struct hwprofile *h, const struct curve_kind *k)
{
    size_t count = 0;
    for (size_t i = 0; i < h->n_curve && count < max; i++) {
        char label[64];
        bool drawn = false, seen = false;
        curve_label(label, sizeof label, &h->curve[i]);
        for (size_t j = 0; j < c->n_series; j++)
            drawn |= strcmp(c->series[j].label, label) == 0;
        for (size_t j = 0; j < count; j++)
            seen |= n[j] == h->curve[i].n_threads;
        if (drawn && !seen && strcmp(h->curve[i].x, k->x) == 0)
            n[count++] = h->curve[i].n_threads;
    }
    return count;
}

static int by_mark(const void *a, const void *b)
{
    const struct chart_mark *p = a, *q = b;
    return p->x < q->x ? -1 : p->x > q->x;
}

static int cache_marks(struct curve_chart *c, const struct hwprofile *h, const struct curve_kind *k, struct error *err)
{
    int threads[16];
    size_t n = thread_counts(threads, ARRAY_LEN(threads), c, h, k);
    for (size_t i = 0; i < h->n_cache; i++) {
        double before[ARRAY_LEN(threads)];
        size_t n_before = 0;
        for (size_t t = 0; t < n; t++) {
            double share = hw_cache_share(&h->cache[i], threads[t]);
            char size[32], label[64];
            bool seen = false;
            for (size_t j = 0; j < n_before; j++)
                seen |= fabs(before[j] / share - 1) < 0.01;
            if (seen || !(share > 0))
                continue;
            before[n_before++] = share;
            bool mib = share >= 1048576;
            snprintf(size, sizeof size, "%.4g %s", share / (mib ? 1048576 : 1024), mib ? "MiB" : "KiB");
            if (share < h->cache[i].size_bytes)
                snprintf(label, sizeof label, "L%d / %d: %s", h->cache[i].level, threads[t], size);
            else
                snprintf(label, sizeof label, "L%d %s", h->cache[i].level, size);
            if (curve_add_mark(c, share, label, err) != 0)
                return -1;
        }
    }
    if (c->n_mark)
        qsort(c->mark, c->n_mark, sizeof *c->mark, by_mark);
    return 0;
}

static int spec_level(struct curve_chart *c, const struct hwprofile *h, struct error *err)
{
    char value[32], label[64];
    if (!(h->mem_bw.value > 0))
        return 0;
    units_si(value, sizeof value, h->mem_bw.value, "B/s");
    snprintf(label, sizeof label, "memory, datasheet: %s", value);
    return curve_add_level(c, h->mem_bw.value, true, -1, label, err);
}

/* The maximum load, and the idle latency. */
static int load_lines(struct curve_chart *c, const struct hwprofile *h, struct error *err)
{
    char value[32], label[64];
    double most = dram_read(h, 0);
    const struct ceiling *idle = hwprofile_ceiling(h, "latency", "chase", "", "DRAM", 0, 1);
    if (most > 0) {
        units_si(value, sizeof value, most, "B/s");
        snprintf(label, sizeof label, "DRAM read %s", value);
        if (curve_add_mark(c, most, label, err) != 0)
            return -1;
    }
    if (!idle)
        return 0;
    units_si(value, sizeof value, idle->value, "s");
    snprintf(label, sizeof label, "DRAM without load: %s", value);
    return curve_add_level(c, idle->value, false, -1, label, err);
}

static int add_lines(struct curve_chart *c, const struct hwprofile *h, const struct curve_kind *k, struct error *err)
{
    if (k->chart == PLOT_LOADED)
        return load_lines(c, h, err);
    if ((k->chart == PLOT_BANDWIDTH || k->chart == PLOT_LATENCY) && cache_marks(c, h, k, err) != 0)
        return -1;
    return k->chart == PLOT_BANDWIDTH || k->chart == PLOT_SATURATION ? spec_level(c, h, err) : 0;
}

/* ---- kernels by type ------------------------------------------------------------------------- */

enum { MAX_TYPES = 48 };
struct kernel_pick {
    const char *op;
    const char *unit;
    int n_threads, n_tok;
    char type[MAX_TYPES][16]; /* as many bits a weight first */
    size_t n_type;
};

static bool kernel_fits(const struct ceiling *c, const struct kernel_pick *p)
{
    return strcmp(c->kind, "kernel") == 0 && strcmp(c->op, p->op) == 0 && strcmp(c->unit, p->unit) == 0 && c->value > 0 &&
           (!p->n_threads || c->n_threads == p->n_threads);
}

static double type_bits(const char *name)
{
    const struct dtype_info *t = dtype_find_name(name);
    return t ? dtype_bits(t->id) : 0;
}

static int by_bits(const void *a, const void *b)
{
    double d = type_bits(b) - type_bits(a);
    return d > 0 ? 1 : d < 0 ? -1 : strcmp(a, b);
}

static int pick_kernels(struct kernel_pick *p, const struct hwprofile *h, const struct plot_options *o, struct error *err)
{
    struct strbuf ops = { 0 };
    *p = (struct kernel_pick){ .op = o->op ? o->op : "matvec" };
    for (size_t i = 0; i < h->n_ceiling; i++) {
        const struct ceiling *c = &h->ceiling[i];
        if (strcmp(c->kind, "kernel") != 0 || !(c->value > 0))
            continue;
        if (!ops.s || !strstr(ops.s, c->op))
            strbuf_addf(&ops, "%s%s", ops.len ? ", " : "", c->op);
        if (strcmp(c->op, p->op) != 0 || (o->n_threads > 0 && c->n_threads > o->n_threads))
            continue;
        p->unit = p->unit ? p->unit : c->unit;
        p->n_threads = c->n_threads > p->n_threads ? c->n_threads : p->n_threads;
    }
    if (!p->unit) {
        const char *names = strbuf_text(&ops, "the names of ops", err);
        if (names && *names)
            error_set(err, ERROR_USAGE, "--op: expected one of %.200s, found \"%s\"", names, p->op);
        else if (names)
            error_set(err, ERROR_UNAVAILABLE,
                      "%s: no roofs of kernels in it; `roofcast profile` measures them", o->doc);
        strbuf_free(&ops);
        return -1;
    }
    strbuf_free(&ops);
    for (size_t i = 0; i < h->n_ceiling; i++) {
        const struct ceiling *c = &h->ceiling[i];
        bool seen = !kernel_fits(c, p);
        for (size_t j = 0; j < p->n_type && !seen; j++)
            seen = strcmp(p->type[j], c->dtype) == 0;
        if (!seen && p->n_type < MAX_TYPES)
            snprintf(p->type[p->n_type++], sizeof p->type[0], "%s", c->dtype);
    }
    qsort(p->type, p->n_type, sizeof p->type[0], by_bits);
    return 0;
}

/* One level and number of tokens: a series with a point a type; none where there is no such roof. */
static int add_kernels(struct curve_chart *c, const struct hwprofile *h, const struct kernel_pick *p, const char *level, int n_tok,
                       struct error *err)
{
    struct chart_series *s = NULL;
    for (size_t i = 0; i < h->n_ceiling; i++) {
        const struct ceiling *k = &h->ceiling[i];
        size_t at = 0;
        if (!kernel_fits(k, p) || strcmp(k->level, level) != 0 || k->n_tok != n_tok || *k->node || *k->pages)
            continue;
        if (k->head_dim != 0 && k->head_dim != 128) /* of attention one width, the usual one */
            continue;
        while (at < p->n_type && strcmp(p->type[at], k->dtype) != 0)
            at++;
        if (at == p->n_type)
            continue;
        s = s ? s : curve_add_series(c, h->n_ceiling, "", err);
        if (!s)
            return -1;
        s->line = false;
        s->point[s->n_point++] = (struct hw_point){ (double)at + 1, k->value, k->ci_lo, k->ci_hi, k->n_samples };
        snprintf(s->label, sizeof s->label, "%s%s%s", p->op, *level ? " " : "", level);
        if (n_tok > 1) {
            size_t n = strlen(s->label);
            snprintf(s->label + n, sizeof s->label - n, ", %d tokens", n_tok);
        }
    }
    return 0;
}

/* Roofs for comparison: plain loads of a level, multiply-adds in registers. */
static int kernel_roofs(struct curve_chart *c, const struct hwprofile *h, const struct kernel_pick *p, struct error *err)
{
    char value[32], label[64];
    bool bytes = strcmp(p->unit, "B/s") == 0;
    for (size_t i = 0; bytes && i < ARRAY_LEN(levels); i++) {
        const struct ceiling *r = hwprofile_bandwidth(h, levels[i], p->n_threads);
        int series = -1;
        for (size_t j = 0; j < c->n_series; j++)
            if (strstr(c->series[j].label, levels[i]))
                series = (int)j;
        if (!r || r->n_threads != p->n_threads || series < 0)
            continue;
        units_si(value, sizeof value, r->value, "B/s");
        snprintf(label, sizeof label, "plain read %s %s", levels[i], value);
        if (curve_add_level(c, r->value, false, series, label, err) != 0)
            return -1;
    }
    for (int m = 0; !bytes && m < MATH_COUNT; m++) {
        const struct ceiling *r = hwprofile_peak(h, (enum math)m, p->n_threads);
        if (!r || r->n_threads != p->n_threads || m == MATH_FP64 || m == MATH_INT16) /* no tensor type is multiplied in these */
            continue;
        units_si(value, sizeof value, r->value, r->unit);
        snprintf(label, sizeof label, "peak %s %.20s", math_name((enum math)m), value); /* short: points leave little room */
        if (curve_add_level(c, r->value, false, -1, label, err) != 0)
            return -1;
    }
    return 0;
}

static void titles(struct curve_chart *c, const struct hwprofile *h, const struct plot_options *o, const char *what,
                   const char *detail)
{
    char date[11];
    snprintf(date, sizeof date, "%.10s", h->date);
    if (o->title)
        snprintf(c->title, sizeof c->title, "%.150s", o->title);
    else
        snprintf(c->title, sizeof c->title, "%s, %.110s", what, h->name);
    snprintf(c->subtitle, sizeof c->subtitle, "%sMeasured: medians with their 95 %% intervals%s%s", detail, *date ? "; " : "",
             date);
}

/* Kernels differ little on a logarithmic axis: the points of a type are drawn side by side. */
static void dodge(struct curve_chart *c)
{
    for (size_t i = 0; i < c->n_series; i++)
        for (size_t k = 0; k < c->series[i].n_point; k++)
            c->series[i].point[k].x += ((double)i - (double)(c->n_series - 1) / 2) * fmin(0.16, 0.6 / (double)c->n_series);
}

/* Series of a level and number of tokens, and how many types have a point in it. */
struct kernel_series {
    const char *level;
    int n_tok, n_type;
};
enum { MAX_KERNEL_SERIES = 64 };

static size_t list_series(struct kernel_series *s, const struct hwprofile *h, const struct kernel_pick *p)
{
    size_t n = 0;
    for (size_t i = ARRAY_LEN(levels); i-- > 0;)
        for (size_t k = 0; k < h->n_ceiling; k++) {
            const struct ceiling *r = &h->ceiling[k];
            size_t at = 0;
            if (!kernel_fits(r, p) || strcmp(r->level, levels[i]) != 0)
                continue;
            while (at < n && (strcmp(s[at].level, levels[i]) != 0 || s[at].n_tok != r->n_tok))
                at++;
            if (at == n && n < MAX_KERNEL_SERIES)
                s[n++] = (struct kernel_series){ levels[i], r->n_tok, 0 };
            if (at < n)
                s[at].n_type++;
        }
    return n;
}

static int by_level_and_tokens(const void *a, const void *b)
{
    const struct kernel_series *x = a, *y = b;
    const int level = strcmp(x->level, y->level);
    return level ? (*x->level == 'D' ? -1 : *y->level == 'D' ? 1 : -level) : (x->n_tok > y->n_tok) - (x->n_tok < y->n_tok);
}

/* At most as many series as colours; the rest, those of the fewest types, is listed. */
static size_t drop_series(struct kernel_series *s, size_t n, struct strbuf *notes)
{
    for (bool first = true; n > MAX_SERIES; first = false) {
        size_t least = 0;
        for (size_t i = 1; i < n; i++)
            least = s[i].n_type < s[least].n_type ? i : least;
        strbuf_addf(notes, "%s%d", first ? "more numbers of tokens than colours, not drawn: " : ", ", s[least].n_tok);
        memmove(&s[least], &s[least + 1], (--n - least) * sizeof *s);
        if (n == MAX_SERIES)
            strbuf_adds(notes, "\n");
    }
    return n;
}

static int chart_kernels(struct curve_chart *c, struct kernel_pick *p, const struct hwprofile *h, const struct plot_options *o,
                         struct strbuf *notes, struct error *err)
{
    struct kernel_series s[MAX_KERNEL_SERIES];
    int rc = pick_kernels(p, h, o, err);
    size_t n = rc == 0 ? list_series(s, h, p) : 0;
    qsort(s, n, sizeof *s, by_level_and_tokens);
    n = drop_series(s, n, notes);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = add_kernels(c, h, p, s[i].level, s[i].n_tok, err);
    if (rc != 0)
        return -1;
    char what[64], detail[64];
    snprintf(what, sizeof what, "%.20s by tensor type", p->op);
    snprintf(detail, sizeof detail, "%d thread%s. ", p->n_threads, p->n_threads == 1 ? "" : "s");
    titles(c, h, o, what, detail);
    bool bytes = strcmp(p->unit, "B/s") == 0;
    c->x = (struct chart_axis){ .scale = AXIS_NAMES, .title = "Tensor type", .name = p->type, .n_name = p->n_type };
    rate_axis(c, h, "kernel", bytes ? "bandwidth" : "compute", p->unit, p->n_threads);
    snprintf(c->y.title, sizeof c->y.title, bytes ? "Weights, as stored [B/s]" : "Arithmetic [%s]", p->unit);
    rc = kernel_roofs(c, h, p, err);
    dodge(c);
    return rc;
}

/* ---- the chart ---------------------------------------------------------------------- */

/* "Threads that reach 95 % of the best: read DRAM 4" doc/notes/charts.md */
static int say_saturation(struct curve_chart *c, struct error *err)
{
    struct strbuf b = { 0 };
    for (size_t i = 0; i < c->n_series; i++) {
        const struct chart_series *s = &c->series[i];
        double best = 0;
        size_t k = 0;
        for (size_t j = 0; j < s->n_point; j++)
            best = fmax(best, s->point[j].value);
        while (s->point[k].value < 0.95 * best)
            k++;
        strbuf_addf(&b, "%s%s %g", b.len ? ", " : "Threads that reach 95 % of the best: ", s->label, s->point[k].x);
    }
    const char *text = strbuf_text(&b, "a caption", err);
    snprintf(c->caption, sizeof c->caption, "%s.", text ? text : "");
    strbuf_free(&b);
    return text ? 0 : -1;
}

static int chart_kind(struct curve_chart *c, const struct hwprofile *h, const struct curve_kind *k, const struct plot_options *o,
                      struct strbuf *notes, struct error *err)
{
    titles(c, h, o, k->what, "");
    if (add_curves(c, h, k, o, notes, err) != 0)
        return -1;
    if (c->n_series == 0)
        return error_set(err, ERROR_UNAVAILABLE,
                         "%s: no %s%s%s in it; `roofcast profile` measures more without --quick, most with --full", o->hw ? o->hw : o->doc, k->what,
                         o->op ? " of " : "", o->op ? o->op : "");
    snprintf(c->x.title, sizeof c->x.title, "%s", k->x_title);
    bool latency = strcmp(k->kind, "latency") == 0;
    if (latency)
        latency_axis(c, h, k->chart == PLOT_LOADED);
    else
        rate_axis(c, h, "bandwidth", "bandwidth", "B/s", 0);
    snprintf(c->y.title, sizeof c->y.title, "%s", k->y_title);
    if (strcmp(k->x, "footprint_bytes") == 0)
        footprint_axis(c, h);
    else if (strcmp(k->x, "n_threads") == 0)
        thread_axis(c, h);
    else
        load_axis(c, h);
    if (k->chart == PLOT_SATURATION && say_saturation(c, err) != 0)
        return -1;
    return add_lines(c, h, k, err);
}

int plot_curves(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err)
{
    (void)s;
    struct hwprofile h;
    struct curve_chart c = { .style = style, .formats = o->formats };
    struct kernel_pick kernels;
    if (hwprofile_open(&h, o->hw ? o->hw : o->doc, err) != 0)
        return -1;
    int rc = 0;
    if (o->chart == PLOT_KERNELS)
        rc = chart_kernels(&c, &kernels, &h, o, notes, err);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (kinds[i].chart == o->chart)
            rc = chart_kind(&c, &h, &kinds[i], o, notes, err);
    rc = rc ? rc : chart_curves(&c, o->out, notes, err);
    curve_chart_free(&c);
    hwprofile_free(&h);
    return rc;
}
