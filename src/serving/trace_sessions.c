/* Formats of sessions: a turn begins some time after the end of the one before. */
#include "serving/trace_internal.h"
#include "serving/draw.h"
#include <stdlib.h>
#include <string.h>

/* ---- AIPerf: the lengths of a later turn are what it adds ---------------------------------------------------------------- */

enum { AIPERF_SESSION, AIPERF_IN, AIPERF_OUT, AIPERF_IDS, AIPERF_TIME, AIPERF_DELAY, AIPERF_TOKENS = 512 };

struct session {
    struct cell name;
    uint32_t last;           /* its newest request */
    uint32_t run0, n_run;    /* identities of the first turn's full chunks */
};

struct sessions {
    struct session *s;
    size_t n, cap;
    uint32_t *slot; /* [mask + 1]: number + 1 by name; 0: empty */
    size_t mask;
};

static size_t slot_of(const struct sessions *l, const struct cell *name)
{
    uint64_t h = 1;
    for (size_t i = 0; i < name->n; i++)
        h = draw_mix(h + (unsigned char)name->s[i] + 1);
    size_t k = h & l->mask;
    for (; l->slot[k] != 0; k = (k + 1) & l->mask) {
        const struct cell *other = &l->s[l->slot[k] - 1].name;
        if (other->n == name->n && memcmp(other->s, name->s, name->n) == 0)
            break;
    }
    return k;
}

static bool grow_sessions(struct sessions *l)
{
    const size_t cap = l->cap > 0 ? 2 * l->cap : 256;
    struct session *s = realloc(l->s, cap * sizeof *s);
    if (!s)
        return false;
    l->s = s;
    l->cap = cap;
    free(l->slot);
    l->mask = 2 * cap - 1;
    l->slot = calloc(l->mask + 1, sizeof *l->slot);
    for (size_t i = 0; l->slot && i < l->n; i++)
        l->slot[slot_of(l, &l->s[i].name)] = (uint32_t)i + 1;
    return l->slot != NULL;
}

/* The session of the record; *first: it is new. NULL: out of memory. */
static struct session *session_get(struct trace_reader *t, struct sessions *l, bool *first, struct error *err)
{
    if (l->n == l->cap && !grow_sessions(l)) {
        (void)error_oom(err, l->cap * sizeof *l->s, "the sessions of a trace");
        return NULL;
    }
    const size_t k = slot_of(l, &t->cell[AIPERF_SESSION]);
    *first = l->slot[k] == 0;
    if (*first) {
        l->s[l->n] = (struct session){ .name = t->cell[AIPERF_SESSION] };
        l->slot[k] = (uint32_t)++l->n;
    }
    return &l->s[l->slot[k] - 1];
}

static int aiperf_first(struct trace_reader *t, struct session *s, struct serve_request *r, uint32_t chunk, struct error *err)
{
    const double unit_s = t->o->unit_s > 0 ? t->o->unit_s : 1e-3;
    const bool timed = trace_has(t, AIPERF_TIME);
    if (t->w->n > 0 && timed != t->notes->timed)
        return trace_refuse(t, err, "some sessions have a timestamp and some have none");
    if ((timed && trace_time(t, AIPERF_TIME, unit_s, &r->after_ps, err) != 0) || trace_hash_runs(t, r, AIPERF_IDS, chunk, err) != 0)
        return -1;
    s->run0 = r->run0;
    s->n_run = r->n_run;
    return 0;
}

static int aiperf_later(struct trace_reader *t, const struct session *s, struct serve_request *r, struct error *err)
{
    const double unit_s = t->o->unit_s > 0 ? t->o->unit_s : 1e-3;
    const struct serve_request *last = &t->w->r[s->last];
    const uint64_t n_in = (uint64_t)last->n_in + last->n_out + r->n_in;
    if (n_in > SERVE_MAX_TOKENS)
        return trace_refuse(t, err, "the session has %llu tokens: expected at most %d", (unsigned long long)n_in, SERVE_MAX_TOKENS);
    r->n_in = (uint32_t)n_in;
    r->parent = s->last;
    if (trace_duration(t, AIPERF_DELAY, unit_s, &r->after_ps, err) != 0 || trace_ids(t, AIPERF_IDS, err) != 0)
        return -1;
    for (uint32_t i = 0; i < s->n_run; i++) {
        const struct token_run run = t->w->run[s->run0 + i];
        if (trace_add_run(t, r, run.first, run.n, err) != 0)
            return -1;
    }
    return 0;
}

/* What follows the first turn's full chunks are the session's own tokens, by position. */
static int aiperf_own(struct trace_reader *t, uint32_t session, struct serve_request *r, uint32_t chunk, struct error *err)
{
    uint64_t have = 0;
    for (uint32_t i = 0; i < r->n_run; i++)
        have += t->w->run[r->run0 + i].n;
    const uint64_t want = u64_ceil_div((uint64_t)r->n_in + (t->o->flags & TRACE_NO_OUTPUTS ? 0 : r->n_out), chunk);
    return want > have ? trace_add_run(t, r, serve_workload_own_identity(session) + have, (uint32_t)(want - have), err) : 0;
}

static int aiperf_record(struct trace_reader *t, struct sessions *l, uint32_t chunk, struct error *err)
{
    struct serve_request r = trace_request(t);
    bool first;
    if (trace_need(t, AIPERF_SESSION, err) != 0 || trace_tokens(t, AIPERF_IN, 1, &r.n_in, err) != 0 ||
        trace_tokens(t, AIPERF_OUT, 1, &r.n_out, err) != 0)
        return -1;
    struct session *s = session_get(t, l, &first, err);
    if (!s || (first ? aiperf_first(t, s, &r, chunk, err) : aiperf_later(t, s, &r, err)) != 0 ||
        aiperf_own(t, (uint32_t)(s - l->s), &r, chunk, err) != 0)
        return -1;
    s->last = (uint32_t)t->w->n;
    return trace_add(t, &r, err);
}

int trace_read_aiperf(struct trace_reader *t, struct error *err)
{
    const uint32_t chunk = t->o->hash_tokens > 0 ? t->o->hash_tokens : AIPERF_TOKENS;
    struct sessions l = { 0 };
    int rc;
    t->w->run_tokens = chunk;
    while ((rc = trace_next(t, err)) > 0)
        if (aiperf_record(t, &l, chunk, err) != 0) {
            rc = -1;
            break;
        }
    free(l.s);
    free(l.slot);
    return rc;
}
