/*
 * A prompt that begins with another request's prompt and goes on is the next turn of the same conversation: what follows there is the
 * other's output. So files that identify only prompts tell the outputs' identities, too, which a server's prefix cache holds.
 */
#include "serving/draw.h"
#include "serving/trace_internal.h"
#include <stdlib.h>

/* Position in a request's identities. */
struct place {
    const struct token_run *run, *end;
    uint32_t at; /* in *run */
};

static struct place begin(const struct serve_workload *w, const struct serve_request *r)
{
    const struct token_run *run = r->n_run > 0 ? w->run + r->run0 : NULL;
    return (struct place){ run, run ? run + r->n_run : NULL, 0 };
}

static uint64_t count_ids(const struct serve_workload *w, const struct serve_request *r)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < r->n_run; i++)
        n += w->run[r->run0 + i].n;
    return n;
}

/* Takes as many identities as both have alike from here on. */
static uint64_t pass_alike(struct place *a, struct place *b)
{
    uint64_t n = 0;
    while (a->run < a->end && b->run < b->end && a->run->first + a->at == b->run->first + b->at) {
        const uint32_t left_a = a->run->n - a->at, left_b = b->run->n - b->at, k = left_a < left_b ? left_a : left_b;
        n += k;
        a->at += k;
        b->at += k;
        if (a->at == a->run->n)
            *a = (struct place){ a->run + 1, a->end, 0 };
        if (b->at == b->run->n)
            *b = (struct place){ b->run + 1, b->end, 0 };
    }
    return n;
}

/* Gives request p the identities of c's prompt up to the end of p's output, where c's prompt begins with p's and is long enough. */
static int extend(struct serve_workload *w, size_t *cap, uint32_t p, uint32_t c, struct error *err)
{
    struct serve_request *parent = &w->r[p];
    struct place a = begin(w, parent), b = begin(w, &w->r[c]);
    /* The last identity may go beyond the output: its first tokens are the output's. */
    const uint64_t n_tok = (uint64_t)parent->n_in + parent->n_out, have = count_ids(w, parent), want = u64_ceil_div(n_tok, w->run_tokens);
    if (w->r[c].n_in < n_tok || have == 0 || have < parent->n_in / w->run_tokens || want <= have || pass_alike(&a, &b) < have || b.run == b.end)
        return 0;
    const size_t run0 = w->n_run, n_new = (size_t)(b.end - b.run), at_run = (size_t)(b.run - w->run);
    uint32_t n_run = 0, at = b.at;
    uint64_t left = want - have;
    if (run0 + parent->n_run + n_new >= UINT32_MAX)
        return 0;
    for (uint32_t i = 0; i < parent->n_run; i++, n_run++) {
        const struct token_run copy = w->run[parent->run0 + i]; /* adding may move w->run */
        if (!serve_workload_add_run(w, cap, &copy))
            return error_oom(err, *cap * sizeof *w->run, "the identities of outputs");
    }
    for (size_t i = 0; i < n_new && left > 0; i++, at = 0) {
        struct token_run add = w->run[at_run + i];
        add.first += at;
        add.n -= at;
        add.n = add.n < left ? add.n : (uint32_t)left;
        left -= add.n;
        struct token_run *last = n_run > 0 ? &w->run[w->n_run - 1] : NULL;
        if (last && last->first + last->n == add.first) {
            last->n += add.n;
            continue;
        }
        if (!serve_workload_add_run(w, cap, &add))
            return error_oom(err, *cap * sizeof *w->run, "the identities of outputs");
        n_run++;
    }
    parent->run0 = (uint32_t)run0;
    parent->n_run = n_run;
    return 0;
}

/* ---- who continues whom ------------------------------------------------------------------------------------------------ */

/* Identities that have occurred, and the request whose prompt ends with one that occurred in it first. */
struct seen {
    uint64_t *id; /* + 1; 0: empty */
    uint32_t *ends;
    size_t mask, n;
};

static bool seen_grow(struct seen *s)
{
    struct seen more = { .mask = s->id ? 2 * s->mask + 1 : 1023, .n = s->n };
    more.id = calloc(more.mask + 1, sizeof *more.id);
    more.ends = malloc((more.mask + 1) * sizeof *more.ends);
    for (size_t i = 0; more.id && more.ends && s->id && i <= s->mask; i++) {
        if (s->id[i] == 0)
            continue;
        size_t k = draw_mix(s->id[i]) & more.mask;
        while (more.id[k] != 0)
            k = (k + 1) & more.mask;
        more.id[k] = s->id[i];
        more.ends[k] = s->ends[i];
    }
    const bool ok = more.id && more.ends;
    struct seen *drop = ok ? s : &more;
    free(drop->id);
    free(drop->ends);
    if (ok)
        *s = more;
    return ok;
}

/* Where the identity stands or would; *there: it has occurred. */
static size_t seen_at(const struct seen *s, uint64_t id, bool *there)
{
    size_t k = draw_mix(id + 1) & s->mask;
    while (s->id[k] != 0 && s->id[k] != id + 1)
        k = (k + 1) & s->mask;
    *there = s->id[k] != 0;
    return k;
}

static int note_ids(struct seen *s, const struct serve_workload *w, uint32_t i, uint32_t *parent, struct error *err)
{
    const struct serve_request *r = &w->r[i];
    *parent = SERVE_NO_PARENT;
    for (uint32_t k = 0; k < r->n_run; k++)
        for (uint32_t j = 0; j < w->run[r->run0 + k].n; j++) {
            bool there;
            if (2 * (s->n + 1) > s->mask && !seen_grow(s))
                return error_oom(err, (s->mask + 1) * 2 * 12, "the identities of a trace");
            const size_t at = seen_at(s, w->run[r->run0 + k].first + j, &there);
            const bool last = k + 1 == r->n_run && j + 1 == w->run[r->run0 + k].n;
            if (!there) {
                s->id[at] = w->run[r->run0 + k].first + j + 1;
                s->ends[at] = last ? i : SERVE_NO_PARENT;
                s->n++;
            } else if (s->ends[at] != SERVE_NO_PARENT) {
                *parent = s->ends[at]; /* the one with the longest prompt */
            }
        }
    return 0;
}

static int find_parents(const struct serve_workload *w, uint32_t *parent, struct error *err)
{
    struct seen s = { 0 };
    int rc = 0;
    for (size_t i = 0; i < w->n && rc == 0; i++)
        rc = note_ids(&s, w, (uint32_t)i, &parent[i], err);
    free(s.id);
    free(s.ends);
    return rc;
}

int trace_continue(struct serve_workload *w, bool by_parent, struct error *err)
{
    uint32_t *found = NULL;
    size_t cap = w->n_run;
    int rc = 0;
    if (w->run_tokens == 0 || w->n_run == 0)
        return 0;
    if (!by_parent) {
        if (!(found = malloc(w->n * sizeof *found)))
            return error_oom(err, w->n * sizeof *found, "the turns of a trace");
        rc = find_parents(w, found, err);
    }
    /* The first one that continues a request decides. */
    for (size_t i = 0; i < w->n && rc == 0; i++) {
        const uint32_t p = found ? found[i] : w->r[i].parent;
        if (p != SERVE_NO_PARENT)
            rc = extend(w, &cap, p, (uint32_t)i, err);
    }
    free(found);
    return rc;
}
