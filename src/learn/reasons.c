/* Reasons of a row's error: guesses, tags of its source, its position among other rows. doc/notes/datasets.md */
#include "learn/score.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- of the row itself ----------------------------------------------------------------------------------------- */

static const struct {
    unsigned tag;
    const char *text;
} doubts[] = {
    { TAG_ANOMALY, "inconsistent with its table" },
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

static void add(struct strbuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct strbuf *b, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    strbuf_addf(b, "%s%s", b->len ? "; " : "", text);
}

static void add_doubts(struct strbuf *b, const struct scored *s)
{
    char guess[128], excess[256];
    if (!s->priced)
        add(b, "not predicted: %s", s->reason);
    if (*roof_violation_text(s->p, excess, sizeof excess))
        add(b, "%s", excess);
    if (s->p->guesses)
        add(b, "guessed: %s", guess_text(guess, sizeof guess, s->p->guesses));
    if (*s->p->m->assumed)
        add(b, "%s", s->p->m->assumed);
    for (size_t i = 0; i < ARRAY_LEN(doubts); i++)
        if (s->p->m->tags & doubts[i].tag || (doubts[i].tag == TAG_PARTIAL_OFFLOAD && workload_is_offloaded(s->p)))
            add(b, "%s", doubts[i].text);
    if (s->p->host)
        add(b, "the rest on %.80s%s%.200s", s->p->host->machine->hardware, s->p->host->machine->note[0] ? ", " : "", s->p->host->machine->note);
    if (s->p->note[0])
        add(b, "%s", s->p->note);
    if (s->p->machine->note[0])
        add(b, "%s", s->p->machine->note);
}

/* ---- of other rows ------------------------------------------------------------------------------------------------ */

/* Traits of rows, each as a number: equal texts, equal numbers. */
enum trait { SAME_LENGTHS, SAME_THREADS, SAME_MODEL, SAME_TYPE, SAME_DEVICES, SAME_HARDWARE, SAME_ENGINE, SAME_SOURCE, SAME_WHAT, N_SAME };
static const char *const trait_words[N_SAME] = { "lengths", "threads", "model", "type", "number of devices", "machine", "engine", "source", "" };

struct peer {
    const struct scored *s;
    size_t trait[N_SAME];
    double slower; /* ln of seconds measured over predicted */
    double attained; /* fraction of the higher of both roofs; NaN: unknown */
    bool memory;    /* that roof is the bandwidth */
};

struct score_reasons {
    struct peer *peer; /* scored rows with an estimate, in order */
    size_t n;
    double *scratch; /* [n] */
};

static const char *what_of(const struct measurement *m)
{
    if (m->metric == METRIC_TTFT || m->metric == METRIC_TPOT)
        return measure_metric_name(m->metric);
    return *m->op ? m->op : measure_phase_name(m->phase);
}

static const char *trait_text(const struct scored *s, enum trait t, char *buf, size_t size)
{
    switch (t) {
    case SAME_LENGTHS:
        if (s->p->m->kind == MEASURE_RATE || s->p->m->kind == MEASURE_SERVING)
            snprintf(buf, size, "%g %g %g %g", s->p->prompt, s->p->context, s->p->out, s->p->batch);
        else
            snprintf(buf, size, "%g %g %g %g", s->p->m->m, s->p->m->k, s->p->m->n, s->p->m->bytes);
        return buf;
    case SAME_THREADS:
        snprintf(buf, size, "%.*d", s->p->m->n_threads > 0, s->p->m->n_threads);
        return buf;
    case SAME_MODEL:
        return s->p->preset[0] ? s->p->preset : s->p->m->model;
    case SAME_TYPE:
        return s->p->type;
    case SAME_DEVICES:
        snprintf(buf, size, "%d", s->p->m->n_devices);
        return buf;
    case SAME_HARDWARE:
        return s->p->m->hardware;
    case SAME_ENGINE:
        return *s->p->m->engine ? s->p->stack->id : "";
    case SAME_SOURCE:
        return measure_publisher(s->p->m, buf, size);
    case SAME_WHAT:
        return what_of(s->p->m);
    case N_SAME:
        break;
    }
    return "";
}

struct text_of_peer {
    char *text;
    size_t peer;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct text_of_peer *)a)->text, ((const struct text_of_peer *)b)->text);
}

/* Numbers of equal texts; 0: none. */
static int number_trait(struct score_reasons *r, enum trait t, struct text_of_peer *of, struct error *err)
{
    char buf[512];
    size_t n = 0, number = 0;
    for (; n < r->n; n++) {
        of[n] = (struct text_of_peer){ strdup(trait_text(r->peer[n].s, t, buf, sizeof buf)), n };
        if (!of[n].text)
            break;
    }
    if (n == r->n)
        qsort(of, n, sizeof *of, by_text);
    for (size_t i = 0; i < n; i++) {
        number += i == 0 || strcmp(of[i].text, of[i - 1].text) != 0;
        r->peer[of[i].peer].trait[t] = *of[i].text ? number : 0;
    }
    for (size_t i = 0; i < n; i++)
        free(of[i].text);
    return n == r->n ? 0 : error_oom(err, sizeof buf, "what rows have in common");
}

/* The least seconds under both roofs, activations on chip (67); memory: the bandwidth is the limit. */
static double roof_s(const struct workload *p, bool *memory)
{
    static const enum phase phases[] = { PHASE_PREFILL, PHASE_DECODE };
    double bytes = 0, compute_s = 0;
    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        const struct work_sum w = work_sum(p, phases[i]);
        bytes += w.cost.weight_bytes + w.cost.kv_bytes;
        compute_s += work_compute_s(p, w.flop_math);
    }
    const double memory_s = bytes / p->roofs->bytes_s;
    *memory = memory_s >= compute_s;
    return fmax(memory_s, compute_s);
}

/* Rates, not guessed ones. */
static bool has_roofs(const struct workload *p)
{
    const unsigned guessed = GUESS_PEAK | GUESS_BANDWIDTH | GUESS_MODEL | GUESS_BATCH | GUESS_LENGTH;
    if (p->split == SPLIT_LAYER && p->n_devices > 1 && p->m->phase != MEASURE_DECODE)
        return false; /* several devices: the roofs of one do not apply */
    return p->m->kind == MEASURE_RATE && p->measured_s > 0 && !(p->machine->ln_sd > 0) && !(p->guesses & guessed);
}

struct score_reasons *score_reasons_new(const struct scored *rows, size_t n, struct error *err)
{
    struct score_reasons *r = calloc(1, sizeof *r);
    struct text_of_peer *of = malloc((n + 1) * sizeof *of);
    int rc = 0;
    if (r) {
        r->peer = calloc(n + 1, sizeof *r->peer);
        r->scratch = malloc((n + 1) * sizeof *r->scratch);
    }
    if (!r || !of || !r->peer || !r->scratch)
        rc = error_oom(err, n * sizeof *r->peer, "what rows have in common");
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (!rows[i].priced || !is_scored_row(&rows[i]))
            continue;
        const double off = log(1 + rows[i].error);
        struct peer *x = &r->peer[r->n++];
        *x = (struct peer){ .s = &rows[i], .slower = rows[i].p->m->metric == METRIC_TOK_S ? off : -off, .attained = NAN };
        const double reached = has_roofs(rows[i].p) && !rows[i].p->host ? roof_s(rows[i].p, &x->memory) / rows[i].p->measured_s : NAN;
        x->attained = reached > 0 && isfinite(reached) ? reached : NAN;
    }
    for (int t = 0; t < N_SAME && rc == 0; t++)
        rc = number_trait(r, (enum trait)t, of, err);
    free(of);
    if (rc == 0)
        return r;
    score_reasons_free(r);
    return NULL;
}

void score_reasons_free(struct score_reasons *r)
{
    if (!r)
        return;
    free(r->peer);
    free(r->scratch);
    free(r);
}

static bool alike(const struct peer *a, const struct peer *b, unsigned traits)
{
    for (int t = 0; t < N_SAME; t++)
        if (traits >> t & 1 && a->trait[t] != b->trait[t])
            return false;
    return true;
}

/* ---- findings ---------------------------------------------------------------------------------------------------------- */

enum { OF_ROW = 1 << SAME_WHAT, OF_HARDWARE = 1 << SAME_HARDWARE, OF_ENGINE = 1 << SAME_ENGINE, OF_MODEL = 1 << SAME_MODEL,
       OF_TYPE = 1 << SAME_TYPE, OF_DEVICES = 1 << SAME_DEVICES, OF_SOURCE = 1 << SAME_SOURCE, OF_LENGTHS = 1 << SAME_LENGTHS,
       OF_THREADS = 1 << SAME_THREADS };

/* Least fraction of a group with errors of one sign, least error of each and of the median, least group size. */
static const double MOST = 0.8, EACH = 1.1, MEDIAN = 1.2;
enum { FEW = 3 };

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

/* "model, machine and engine": names of the row's traits. */
static const char *traits_text(const struct peer *x, unsigned traits, char *buf, size_t size)
{
    size_t n = 0, left = 0;
    *buf = 0;
    for (int t = 0; t < N_SAME; t++)
        left += traits >> t & 1 && *trait_words[t] && x->trait[t];
    for (int t = 0; t < N_SAME; t++)
        if (traits >> t & 1 && *trait_words[t] && x->trait[t]) {
            n += (size_t)snprintf(buf + n, size - n, "%s%s", n == 0 ? "" : left == 1 ? " and " : ", ", trait_words[t]);
            left--;
        }
    return buf;
}

/* "4.1 %", "53 %", "130 %" */
static const char *percent(double v, char *buf, size_t size)
{
    snprintf(buf, size, fabs(100 * v) < 10 ? "%.2g %%" : "%.0f %%", 100 * v);
    return buf;
}

/* Adds the narrowest group with an error like the row's. */
static bool add_bias(struct strbuf *b, const struct score_reasons *r, const struct peer *x)
{
    static const unsigned groups[] = { OF_MODEL | OF_TYPE | OF_DEVICES | OF_HARDWARE | OF_ENGINE | OF_THREADS,
                                       OF_LENGTHS | OF_MODEL | OF_HARDWARE | OF_ENGINE | OF_THREADS, OF_MODEL | OF_HARDWARE | OF_ENGINE,
                                       OF_LENGTHS | OF_DEVICES | OF_HARDWARE | OF_ENGINE, OF_DEVICES | OF_HARDWARE | OF_ENGINE,
                                       OF_THREADS | OF_HARDWARE | OF_ENGINE, OF_HARDWARE | OF_ENGINE, OF_MODEL | OF_ENGINE, OF_HARDWARE,
                                       OF_SOURCE };
    const double sign = x->slower > 0 ? 1 : -1;
    char words[128], of[64];
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        size_t n = 0, same = 0;
        for (size_t k = 0; k < r->n; k++)
            if (&r->peer[k] != x && alike(x, &r->peer[k], groups[i] | OF_ROW)) {
                r->scratch[n++] = sign * r->peer[k].slower;
                same += sign * r->peer[k].slower > log(EACH);
            }
        const double median = n >= FEW ? stats_median(r->scratch, n) : 0;
        if (n < FEW || (double)same < MOST * (double)n || median < log(MEDIAN))
            continue;
        if (same == n)
            snprintf(of, sizeof of, "all %zu", n);
        else
            snprintf(of, sizeof of, "%zu of the %zu", same, n);
        add(b, "%s other %s rows with the same %s are also %s than predicted, by a median factor of %.2g", of,
            what_of(x->s->p->m), traits_text(x, groups[i], words, sizeof words), sign > 0 ? "slower" : "faster",
            exp(median));
        return true;
    }
    return false;
}

/* No such group: errors of the most similar rows. */
static void add_alone(struct strbuf *b, const struct score_reasons *r, const struct peer *x)
{
    static const unsigned groups[] = { OF_MODEL | OF_HARDWARE | OF_ENGINE, OF_DEVICES | OF_HARDWARE | OF_ENGINE, OF_HARDWARE | OF_ENGINE,
                                       OF_HARDWARE, OF_MODEL | OF_ENGINE, OF_ENGINE };
    char words[128], off[32];
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        size_t n = 0;
        for (size_t k = 0; k < r->n; k++)
            if (&r->peer[k] != x && alike(x, &r->peer[k], groups[i] | OF_ROW))
                r->scratch[n++] = fabs(r->peer[k].s->error);
        if (n < FEW)
            continue;
        add(b, "the %zu other %s rows with the same %s have a median error of %s", n, what_of(x->s->p->m),
            traits_text(x, groups[i], words, sizeof words), percent(stats_median(r->scratch, n), off, sizeof off));
        return;
    }
    size_t n = 0;
    for (size_t k = 0; k < r->n; k++)
        n += &r->peer[k] != x && alike(x, &r->peer[k], OF_HARDWARE);
    add(b, "%zu other row%s of this machine in the file", n, plural(n));
}

static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool same_layout(const struct measure_layout *a, const struct measure_layout *b)
{
    return a->tp == b->tp && a->pp == b->pp && a->dp == b->dp && a->ep == b->ep && a->workers == b->workers && same_number(a->batch, b->batch);
}

/* The same work on the same machine. */
static bool same_test(const struct measurement *a, const struct measurement *b)
{
    return same_number(a->prompt, b->prompt) && same_number(a->context, b->context) && same_number(a->batch, b->batch) &&
           same_number(a->out, b->out) && same_number(a->concurrency, b->concurrency) && a->n_ubatch == b->n_ubatch &&
           a->n_threads == b->n_threads && a->tags == b->tags && same_number(a->m, b->m) && same_number(a->k, b->k) &&
           same_number(a->n, b->n) && same_number(a->bytes, b->bytes) && same_number(a->per_node, b->per_node) &&
           strcmp(a->mode, b->mode) == 0 && same_layout(&a->prefill, &b->prefill) && same_layout(&a->decode, &b->decode);
}

/* Tags of the definition of a rate: rates with different tags are not comparable. */
enum { COUNTS = TAG_DERIVED | TAG_E2E | TAG_TTFT_BASED | TAG_TOTAL_TOKENS | TAG_PER_GPU | TAG_MAX_THROUGHPUT | TAG_LAYER_SPLIT |
                TAG_TENSOR_PARALLEL | TAG_DATA_PARALLEL };

/* Adds the most different measurement of the same test. */
static void add_twin(struct strbuf *b, const struct score_reasons *r, const struct peer *x)
{
    const struct measurement *m = x->s->p->m;
    const struct peer *twin = NULL;
    double most = -1;
    for (size_t k = 0; k < r->n; k++) {
        const struct peer *y = &r->peer[k];
        if (y == x || !alike(x, y, OF_ROW | OF_HARDWARE | OF_MODEL | OF_TYPE | OF_DEVICES))
            continue;
        struct measurement other = *y->s->p->m, own = *m;
        own.tags &= COUNTS;
        other.tags &= COUNTS;
        const double d = fabs(log(y->s->p->m->value / m->value));
        if (d > most && same_test(&own, &other)) {
            most = d;
            twin = y;
        }
    }
    if (!twin)
        return;
    const struct measurement *o = twin->s->p->m;
    char who[160], source[128];
    const char *differs = twin->trait[SAME_ENGINE] != x->trait[SAME_ENGINE] ? twin->s->p->stack->id
                          : twin->trait[SAME_SOURCE] != x->trait[SAME_SOURCE] ? measure_publisher(o, source, sizeof source) : o->version;
    if (*o->id)
        snprintf(who, sizeof who, "%.60s", o->id);
    else
        snprintf(who, sizeof who, "the row of line %zu", o->line);
    const double faster = m->metric == METRIC_TOK_S ? o->value / m->value : m->value / o->value;
    add(b, "%s%s%.80s%s has %.*f times its speed in the same test", who, *differs ? " (" : "", differs, *differs ? ")" : "", faster < 10 ? 2 : 0, faster);
}

/* Position of the measurement under the roofs, and of the machine's other rows. */
static void add_roof(struct strbuf *b, const struct score_reasons *r, const struct peer *x)
{
    char own[32], others[32];
    size_t n = 0;
    if (isnan(x->attained))
        return;
    for (size_t k = 0; k < r->n; k++)
        if (&r->peer[k] != x && !isnan(r->peer[k].attained) && r->peer[k].memory == x->memory &&
            alike(x, &r->peer[k], OF_ROW | OF_HARDWARE | OF_ENGINE))
            r->scratch[n++] = r->peer[k].attained;
    const char *roof = x->memory ? "bandwidth" : "peak";
    if (n < FEW)
        add(b, "measured at %s of the %s", percent(x->attained, own, sizeof own), roof);
    else
        add(b, "measured at %s of the %s, similar rows of this machine and engine at %s", percent(x->attained, own, sizeof own), roof,
            percent(stats_median(r->scratch, n), others, sizeof others));
}

static int by_row(const void *a, const void *b)
{
    const struct scored *x = ((const struct peer *)a)->s, *y = ((const struct peer *)b)->s;
    return (x > y) - (x < y);
}

/* Rows with a larger error have a reason. */
static const double OFF = 0.5;

const char *score_reason(const struct score_reasons *r, const struct scored *s, char *buf, size_t size)
{
    struct strbuf b = { 0 };
    const struct peer *x = NULL;
    add_doubts(&b, s);
    if (fabs(s->error) > OFF)
        x = bsearch(&(struct peer){ .s = s }, r->peer, r->n, sizeof *r->peer, by_row);
    if (x) {
        add_roof(&b, r, x);
        add_twin(&b, r, x);
        if (!add_bias(&b, r, x))
            add_alone(&b, r, x);
    }
    const char *text = strbuf_text(&b, "a reason", NULL);
    snprintf(buf, size, "%s", text ? text : "");
    strbuf_free(&b);
    return text ? buf : NULL;
}
