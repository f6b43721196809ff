/* How rows are grouped, and the figures of a group. methods.md (72) */
#include "score/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool is_clean(const struct measurement *m)
{
    return !(m->tags & (TAG_E2E | TAG_COMMUNITY));
}

/* "XiongjieDai/GPU-Benchmarks-on-LLM-Inference README.md" -> before the blank; "QwenLM/Qwen2.5(Qwen3 repo) docs/..." too. */
const char *source_text(const struct measurement *m, char *buf, size_t size)
{
    const char *s = m->source, *blank = strchr(s, ' ');
    if (m->kind == MEASURE_SERVING) { /* "source_file=...; model=...; ..." */
        snprintf(buf, size, "%.*s", (int)strcspn(s, ";"), s);
        return buf;
    }
    const size_t n = strchr(s, '/') && blank && strchr(s, '/') < blank ? (size_t)(blank - s) : strlen(s);
    snprintf(buf, size, "%.*s", (int)(n < size ? n : size - 1), s);
    return buf;
}

const char *engine_text(const struct stack *s, char *buf, size_t size)
{
    static const char family[] = "llama.cpp-";
    const bool backend = strncmp(s->id, family, sizeof family - 1) == 0;
    snprintf(buf, size, "%s", backend ? "llama.cpp" : s->id);
    return buf;
}

/* ---- keys, in the order they stand in a group's name ------------------------------------------------------ */

/* Two columns of one name are a coarse and a fine value: a source and its file, an engine and its back end. */
enum column { COL_SOURCE, COL_SOURCE_FILE, COL_CLASS, COL_HARDWARE, COL_ENGINE, COL_BACKEND, COL_PHASE, COL_OP, COL_KIND,
              COL_METRIC, COL_CLEAN, N_COLUMN_KEYS };
static const char *const key_names[N_COLUMN_KEYS] = { "source", "source", "class", "hardware", "engine", "engine", "phase", "op",
                                                      "kind", "metric", "clean" };
enum { MAX_KEYS = 3, VALUE_SIZE = 256 };

/* "": the row has no such key. */
static const char *value_of(const struct priced *p, enum column k, char *buf)
{
    const struct measurement *m = p->m;
    const bool model = m->kind == MEASURE_RATE || m->kind == MEASURE_SERVING, stack = *m->engine != 0;
    char coarse[VALUE_SIZE];
    switch (k) {
    case COL_SOURCE:
        return source_text(m, buf, VALUE_SIZE);
    case COL_SOURCE_FILE:
        return m->kind == MEASURE_SERVING || strcmp(source_text(m, buf, VALUE_SIZE), m->source) == 0 ? "" : m->source;
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
static char *group_name(const struct priced *p, unsigned mask, bool *oom)
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
        char *name = x->rows[i].anchor ? NULL : group_name(x->rows[i].p, mask, &oom);
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

/* No more than three keys, none of them twice. */
static bool is_set(unsigned mask, int n_key)
{
    for (int k = 0; k + 1 < N_COLUMN_KEYS; k++)
        if ((mask >> k & 3) == 3 && strcmp(key_names[k], key_names[k + 1]) == 0)
            return false;
    return __builtin_popcount(mask) == n_key;
}

int score_groups_init(struct score_groups *l, const struct scored *rows, size_t n, struct error *err)
{
    struct grouping x = { .rows = rows, .n = n };
    *l = (struct score_groups){ 0 };
    x.named = malloc((n + 1) * sizeof *x.named);
    x.member = malloc((n + 1) * sizeof *x.member);
    x.ape = malloc((n + 1) * sizeof *x.ape);
    int rc = x.named && x.member && x.ape ? 0 : error_oom(err, n * sizeof *x.named, "groups");
    for (int n_key = 0; n_key <= MAX_KEYS; n_key++)
        for (unsigned mask = 0; mask < 1u << N_COLUMN_KEYS && rc == 0; mask++)
            if (is_set(mask, n_key))
                rc = group_by(l, &x, mask, err);
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

const struct score_group *score_groups_find(const struct score_groups *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->g[i].name, name) == 0)
            return &l->g[i];
    return NULL;
}

/* ---- doubts -------------------------------------------------------------------------------------------------------- */

static const struct {
    unsigned tag;
    const char *says;
} doubts[] = {
    { TAG_ANOMALY, "out of line with its table" },
    { TAG_SLOW_BACKEND, "another back end is twice as fast" },
    { TAG_WEAK_HOST, "weak host" },
    { TAG_POWER_LIMITED, "power limit" },
    { TAG_PARTIAL_OFFLOAD, "partly offloaded" },
    { TAG_MEMORY_PRESSURE, "memory pressure" },
    { TAG_COLD_START, "cold start" },
    { TAG_INCONSISTENT, "reported inconsistently" },
    { TAG_AMBIGUOUS, "total or output tokens" },
    { TAG_TOTAL_TOKENS, "counts prompt tokens" },
    { TAG_E2E, "includes the prompt's time" },
    { TAG_TTFT_BASED, "from the time to the first token" },
    { TAG_MAX_THROUGHPUT, "saturated, batch not known" },
    { TAG_COMMUNITY, "unreviewed" },
    { TAG_SUMMARY, "a line of a summary" },
    { TAG_SMALL_MODEL, "small model" },
    { TAG_ROUNDED, "rounded" },
};

const char *score_doubts(const struct scored *s, char *buf, size_t size)
{
    struct strbuf b = { 0 };
    char guess[128], excess[256];
    if (!s->priced)
        strbuf_addf(&b, "unpriced: %s", s->reason);
    if (*excess_text(s->p, excess, sizeof excess))
        strbuf_addf(&b, "%s%s", b.len ? "; " : "", excess);
    if (s->p->guesses)
        strbuf_addf(&b, "%sguessed: %s", b.len ? "; " : "", guess_text(guess, sizeof guess, s->p->guesses));
    if (*s->p->m->assumed)
        strbuf_addf(&b, "%s%s", b.len ? "; " : "", s->p->m->assumed);
    /* The layers that repeat; one more holds the head. */
    const bool partly = s->p->m->n_gpu_layers > 0 && (uint32_t)s->p->m->n_gpu_layers < s->p->n_layer;
    for (size_t i = 0; i < ARRAY_LEN(doubts); i++)
        if (s->p->m->tags & doubts[i].tag || (partly && doubts[i].tag == TAG_PARTIAL_OFFLOAD))
            strbuf_addf(&b, "%s%s", b.len ? "; " : "", doubts[i].says);
    if (s->p->machine->note[0])
        strbuf_addf(&b, "%s%s", b.len ? "; " : "", s->p->machine->note);
    snprintf(buf, size, "%s", b.s ? b.s : "");
    strbuf_free(&b);
    return buf;
}
