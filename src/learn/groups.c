/* How rows are grouped, and the figures of a group. methods.md (67) */
#include "learn/score.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool is_clean(const struct measurement *m)
{
    return !(m->tags & (TAG_E2E | TAG_COMMUNITY));
}

const char *engine_text(const struct stack *s, char *buf, size_t size)
{
    static const char family[] = "llama.cpp-";
    const bool backend = strncmp(s->id, family, sizeof family - 1) == 0;
    snprintf(buf, size, "%s", backend ? "llama.cpp" : s->id);
    return buf;
}

/* ---- keys, in the order they stand in a group's name ------------------------------------------------------ */

/* Two columns of one name: a coarse and a fine value, as a source and its file, an engine and its back end. */
enum column { COL_SOURCE, COL_SOURCE_FILE, COL_CLASS, COL_HARDWARE, COL_ENGINE, COL_BACKEND, COL_PHASE, COL_OP, COL_KIND,
              COL_METRIC, COL_CLEAN, N_COLUMN_KEYS };
static const char *const key_names[N_COLUMN_KEYS] = { "source", "source", "class", "hardware", "engine", "engine", "phase", "op",
                                                      "kind", "metric", "clean" };
enum { MAX_KEYS = 3, VALUE_SIZE = 4200 }; /* a text of a file has at most */

/* "": the row has no such key. */
static const char *value_of(const struct workload *p, enum column k, char *buf)
{
    const struct measurement *m = p->m;
    const bool model = m->kind == MEASURE_RATE || m->kind == MEASURE_SERVING, stack = *m->engine != 0;
    char coarse[VALUE_SIZE];
    switch (k) {
    case COL_SOURCE:
        return measure_publisher(m, buf, VALUE_SIZE);
    case COL_SOURCE_FILE:
        return m->kind == MEASURE_SERVING || strcmp(measure_publisher(m, buf, VALUE_SIZE), m->source) == 0 ? "" : m->source;
    case COL_CLASS:
        return p->machine->class_name;
    case COL_HARDWARE:
        return m->hardware;
    case COL_ENGINE:
        return stack ? engine_text(p->stack, buf, VALUE_SIZE) : "";
    case COL_BACKEND:
        return stack && strcmp(engine_text(p->stack, coarse, sizeof coarse), p->stack->id) != 0 ? p->stack->id : "";
    case COL_PHASE:
        return m->phase == MEASURE_NO_PHASE ? "" : measure_phase_name(m->phase);
    case COL_OP:
        return m->op;
    case COL_KIND:
        return !model ? "" : p->moe || (m->tags & TAG_MOE) ? "moe" : "dense";
    case COL_METRIC:
        return m->metric == METRIC_TTFT || m->metric == METRIC_TPOT ? measure_metric_name(m->metric) : "";
    case COL_CLEAN:
        return is_clean(m) ? "yes" : "";
    case N_COLUMN_KEYS:
        break;
    }
    return "";
}

/* "class=CPU,phase=decode" of the columns in mask; NULL: the row lacks one of them; "all" of none. */
static char *group_name(const struct workload *p, unsigned mask, bool *oom)
{
    struct strbuf b = { 0 };
    char buf[VALUE_SIZE];
    for (int k = 0; k < N_COLUMN_KEYS; k++) {
        if (!(mask & 1u << k))
            continue;
        const char *v = value_of(p, (enum column)k, buf);
        if (!*v) {
            strbuf_free(&b);
            return NULL;
        }
        strbuf_addf(&b, "%s%s=%s", b.len ? "," : "", key_names[k], v);
    }
    if (mask == 0)
        strbuf_adds(&b, "all");
    *oom |= b.oom;
    if (b.oom)
        strbuf_free(&b);
    return b.s;
}

/* ---- figures -------------------------------------------------------------------------------------------------- */

static void figures(struct score_group *g, const struct scored *const *rows, size_t n, double *ape)
{
    double bias = 0, sum = 0, covered = 0;
    for (size_t i = 0; i < n; i++) {
        const struct scored *s = rows[i];
        ape[i] = fabs(s->error);
        sum += ape[i];
        bias += s->error;
        g->unpriced += !s->priced;
        covered += s->priced && s->p->m->value >= s->lo && s->p->m->value <= s->hi;
    }
    g->rows = n;
    g->bias = bias / (double)n;
    g->mape = sum / (double)n;
    g->median_ape = stats_median(ape, n);
    g->p90_ape = stats_quantile(ape, n, 0.9);
    g->coverage90 = covered / (double)n;
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(rows[i]->naive_error))
            ape[k++] = fabs(rows[i]->naive_error);
    g->naive_ape = k > 0 ? stats_median(ape, k) : NAN;
    k = 0;
    for (size_t i = 0; i < n; i++)
        if (rows[i]->priced)
            ape[k++] = (rows[i]->hi - rows[i]->lo) / (2 * rows[i]->predicted);
    g->half90 = k > 0 ? stats_median(ape, k) : NAN;
}

struct named {
    char *name;
    const struct scored *row;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

struct grouping {
    const struct scored *rows;
    size_t n;
    struct named *named;          /* [n] */
    const struct scored **member; /* [n] */
    double *ape;                  /* [n] */
    size_t cap;
};

static struct score_group *new_group(struct score_groups *l, struct grouping *x, struct error *err)
{
    if (l->n == x->cap) {
        const size_t cap = x->cap ? 2 * x->cap : 64;
        struct score_group *g = realloc(l->g, cap * sizeof *g);
        if (!g) {
            error_oom(err, cap * sizeof *g, "groups");
            return NULL;
        }
        l->g = g;
        x->cap = cap;
    }
    struct score_group *g = &l->g[l->n];
    *g = (struct score_group){ 0 };
    return g;
}

/* The groups of one set of columns. */
static int group_by(struct score_groups *l, struct grouping *x, unsigned mask, struct error *err)
{
    size_t n = 0;
    bool oom = false;
    int rc = 0;
    for (size_t i = 0; i < x->n; i++) {
        char *name = !is_scored_row(&x->rows[i]) ? NULL : group_name(x->rows[i].p, mask, &oom);
        if (name)
            x->named[n++] = (struct named){ name, &x->rows[i] };
    }
    if (oom)
        rc = error_oom(err, VALUE_SIZE, "the name of a group");
    qsort(x->named, n, sizeof *x->named, by_name);
    for (size_t i = 0, k; i < n && rc == 0; i = k) {
        for (k = i; k < n && strcmp(x->named[i].name, x->named[k].name) == 0; k++)
            x->member[k - i] = x->named[k].row;
        struct score_group *g = new_group(l, x, err);
        if (!g) {
            rc = -1;
            break;
        }
        figures(g, x->member, k - i, x->ape);
        g->name = x->named[i].name;
        g->n_key = __builtin_popcount(mask);
        x->named[i].name = NULL;
        l->n++;
    }
    for (size_t i = 0; i < n; i++)
        free(x->named[i].name);
    return rc;
}

int score_keys_find(const char *list, unsigned *keys, struct error *err)
{
    *keys = 0;
    for (const char *p = list;; p++) {
        const size_t n = strcspn(p, ",");
        unsigned key = 0; /* both columns of a name */
        for (int k = 0; k < N_COLUMN_KEYS; k++)
            key |= strlen(key_names[k]) == n && memcmp(key_names[k], p, n) == 0 ? 1u << k : 0;
        if (key == 0)
            return error_set(err, ERROR_USAGE, "--by: expected some of source, class, hardware, engine, phase, op, kind, metric and clean, joined by "
                             "commas, found \"%.*s\"", (int)(n < 64 ? n : 64), p);
        if (*keys & key)
            return error_set(err, ERROR_USAGE, "--by: %.*s stands twice in \"%.64s\"", (int)n, p, list);
        *keys |= key;
        p += n;
        if (!*p)
            return 0;
    }
}

static bool same_key(int a, int b)
{
    return a >= 0 && b < N_COLUMN_KEYS && strcmp(key_names[a], key_names[b]) == 0;
}

/* Sets of so many columns with distinct names; or with all required columns, where given. */
static bool is_set(unsigned mask, int n_key, unsigned required)
{
    for (int k = 0; k < N_COLUMN_KEYS; k++) {
        const bool has = mask >> k & 1;
        if (has && same_key(k, k + 1) && mask >> (k + 1) & 1)
            return false;
        /* A required column is there, or its name's other one. */
        if (required >> k & 1 && !has && !((same_key(k, k + 1) && mask >> (k + 1) & 1) || (same_key(k - 1, k) && mask >> (k - 1) & 1)))
            return false;
    }
    return required ? (mask & ~required) == 0 : __builtin_popcount(mask) == n_key;
}

/* Groups of sets with so many keys, or with the required ones. */
static int add_sets(struct score_groups *l, struct grouping *x, int n_key, unsigned required, struct error *err)
{
    int rc = 0;
    for (unsigned mask = 0; mask < 1u << N_COLUMN_KEYS && rc == 0; mask++)
        if (is_set(mask, n_key, required))
            rc = group_by(l, x, mask, err);
    return rc;
}

int score_groups_init(struct score_groups *l, const struct scored *rows, size_t n, const unsigned *by, size_t n_by, struct error *err)
{
    struct grouping x = { .rows = rows, .n = n };
    *l = (struct score_groups){ 0 };
    x.named = malloc((n + 1) * sizeof *x.named);
    x.member = malloc((n + 1) * sizeof *x.member);
    x.ape = malloc((n + 1) * sizeof *x.ape);
    int rc = x.named && x.member && x.ape ? 0 : error_oom(err, n * sizeof *x.named, "groups");
    for (int n_key = 0; n_key <= (n_by ? 0 : MAX_KEYS) && rc == 0; n_key++)
        rc = add_sets(l, &x, n_key, 0, err);
    for (size_t i = 0; i < n_by && rc == 0; i++)
        rc = add_sets(l, &x, 0, by[i], err);
    free(x.named);
    free(x.member);
    free(x.ape);
    if (rc != 0)
        score_groups_free(l);
    return rc;
}

void score_groups_free(struct score_groups *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->g[i].name);
    free(l->g);
    *l = (struct score_groups){ 0 };
}
