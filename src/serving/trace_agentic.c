/*
 * Sessions of coding agents: a request has the first keep_blocks chunks of the one before it and new ones. Chunks are numbered within a
 * conversation; a partial last one has no number. Requests have the type n or s; a row of another type, without output, says when the
 * agent starts another one, whose number it has in place of prompt tokens.
 */
#include "serving/trace_internal.h"
#include <stdlib.h>
#include <string.h>

enum { AG_CONV, AG_AGENT, AG_T, AG_TYPE, AG_IN, AG_OUT, AG_API, AG_THINK, AG_KEEP, AG_RUNS };
enum { AG_TOKENS = 64, AG_ID_BITS = 36, AG_CONV_BITS = 24 };

struct agent {
    uint64_t number;
    uint32_t last, parent;   /* its newest request; the one that starts it: SERVE_NO_PARENT */
    uint64_t start_ps;       /* after the end of parent */
    double end_s;            /* of its newest request, in the recorded run */
};

struct conversations {
    struct cell name;
    uint32_t n;
    struct agent *a; /* [n_agent] of this conversation; [0]: the main one */
    size_t n_agent, cap;
    uint32_t tool_chunks;    /* that conversations of this many tool tokens share */
    uint32_t tool_tokens;
};

/* ---- the companion: one row a conversation ------------------------------------------------------------------------------ */

enum { CONV_NAME, CONV_BLOCK, CONV_TOOL };

static const struct trace_format conv_format = { .name = "conversations", .kind = TRACE_CSV,
                                                 .column = { "conv", "block_size", "tool_tokens" } };

static int open_companion(const struct trace_reader *t, struct trace_reader *c, struct trace_notes *notes, const struct trace_options *all,
                          struct error *err)
{
    const char *data = t->o->companion;
    size_t size = t->o->companion_size;
    *c = (struct trace_reader){ .name = "conversations", .format = &conv_format, .o = all, .notes = notes };
    if (text_begin(c->name, &data, &size, err) != 0)
        return -1;
    c->at = (struct trace_text){ .p = data, .end = data + size, .line = 1 };
    return 0;
}

/* Tokens of a chunk, which all conversations must agree on. name: NULL, or that one's tool tokens, too. */
static int read_companion(const struct trace_reader *t, const struct cell *name, uint32_t *chunk, uint32_t *tool, struct error *err)
{
    struct trace_notes notes = { 0 };
    const struct trace_options all = { 0 };
    struct serve_workload none = { 0 };
    struct trace_reader c;
    int rc = -1;
    *tool = 0;
    *chunk = 0;
    if (open_companion(t, &c, &notes, &all, err) != 0)
        return -1;
    c.w = &none;
    while ((rc = trace_next(&c, err)) > 0) {
        uint32_t size = AG_TOKENS, n_tool = 0;
        if (trace_need(&c, CONV_NAME, err) != 0 || (trace_has(&c, CONV_BLOCK) && trace_tokens(&c, CONV_BLOCK, 1, &size, err) != 0) ||
            (trace_has(&c, CONV_TOOL) && trace_tokens(&c, CONV_TOOL, 0, &n_tool, err) != 0))
            return -1;
        if (*chunk > 0 && *chunk != size)
            return trace_refuse_cell(&c, CONV_BLOCK, err, "the same as in the rows above");
        *chunk = size;
        if (name && name->n == c.cell[CONV_NAME].n && memcmp(name->s, c.cell[CONV_NAME].s, name->n) == 0) {
            *tool = n_tool;
            return 0;
        }
    }
    return rc;
}

/* ---- identities --------------------------------------------------------------------------------------------------------- */

static uint64_t identity(const struct conversations *v, uint64_t id)
{
    return (uint64_t)v->n << AG_ID_BITS | id;
}

/* Tools are sent first: chunks from position at on, as far as they are the tools of the main agent, are those of all conversations
 * with as many tool tokens. */
static int add_chunks(struct trace_reader *t, const struct conversations *v, bool main_agent, struct serve_request *r, uint64_t at,
                      uint64_t id, uint32_t n, struct error *err)
{
    const uint32_t n_tool = main_agent && at < v->tool_chunks ? (uint32_t)u64_min(v->tool_chunks - at, n) : 0;
    const uint64_t tools = UINT64_C(1) << TRACE_MOST_ID_BITS | (uint64_t)v->tool_tokens << 27;
    if (trace_add_run(t, r, tools + at, n_tool, err) != 0)
        return -1;
    return trace_add_run(t, r, identity(v, id + n_tool), n - n_tool, err);
}

/* "1-1112 1115 1120-1121": *p moves behind one run. False: no such text. */
static bool next_run(const char **p, const char *end, uint64_t *first, uint64_t *n)
{
    uint64_t v[2] = { 0, 0 };
    int k = 0;
    for (; *p < end && **p != ' '; (*p)++) {
        if (**p == '-' && k == 0) {
            k = 1;
            continue;
        }
        if (**p < '0' || **p > '9' || v[k] >> (AG_ID_BITS - 4) != 0)
            return false;
        v[k] = 10 * v[k] + (uint64_t)(**p - '0');
    }
    while (*p < end && **p == ' ')
        (*p)++;
    *first = v[0];
    *n = k == 0 ? 1 : v[1] - v[0] + 1;
    return k == 0 || v[1] >= v[0];
}

static int keep_chunks(struct trace_reader *t, const struct agent *a, struct serve_request *r, uint64_t keep, struct error *err)
{
    const struct serve_request *last = a->last == SERVE_NO_PARENT ? NULL : &t->w->r[a->last];
    uint64_t left = keep;
    for (uint32_t i = 0; last && i < last->n_run && left > 0; i++) {
        const struct token_run run = t->w->run[last->run0 + i];
        const uint32_t n = (uint32_t)u64_min(run.n, left);
        left -= n;
        if (trace_add_run(t, r, run.first, n, err) != 0)
            return -1;
    }
    if (left == 0)
        return 0;
    char expected[96];
    snprintf(expected, sizeof expected, "at most the %llu chunks of the agent's request before", (unsigned long long)(keep - left));
    return trace_refuse_cell(t, AG_KEEP, err, expected);
}

static int read_chunks(struct trace_reader *t, const struct conversations *v, const struct agent *a, struct serve_request *r, struct error *err)
{
    const uint32_t most = r->n_in / t->w->run_tokens;
    uint64_t at = 0;
    if ((trace_has(t, AG_KEEP) && trace_whole(t, AG_KEEP, most, &at, err) != 0) || keep_chunks(t, a, r, at, err) != 0)
        return -1;
    const struct cell *c = &t->cell[AG_RUNS];
    const char *p = c->n > 0 ? c->s : "", *end = p + c->n;
    while (p < end) {
        uint64_t first, n;
        if (!next_run(&p, end, &first, &n))
            return trace_refuse_cell(t, AG_RUNS, err, "runs of chunks such as 1-1112 1115");
        if (n > most - at)
            return trace_refuse(t, err, "keep_blocks and new_runs are more than %u chunks, those of %u tokens", most, r->n_in);
        if (add_chunks(t, v, a == v->a, r, at, first, (uint32_t)n, err) != 0)
            return -1;
        at += n;
    }
    return 0;
}

/* ---- rows --------------------------------------------------------------------------------------------------------------- */

static int begin_conversation(struct trace_reader *t, struct conversations *v, struct error *err)
{
    uint32_t chunk;
    const struct cell *c = &t->cell[AG_CONV];
    if (v->name.s && v->name.n == c->n && memcmp(v->name.s, c->s, c->n) == 0)
        return 0;
    v->name = *c;
    v->n_agent = 0;
    if (++v->n >> AG_CONV_BITS != 0)
        return trace_refuse(t, err, "more than %u conversations", 1u << AG_CONV_BITS);
    if (!(t->o->flags & TRACE_SHARED_TOOLS) || !t->o->companion)
        return 0;
    if (read_companion(t, c, &chunk, &v->tool_tokens, err) != 0)
        return -1;
    v->tool_chunks = v->tool_tokens / t->w->run_tokens;
    return 0;
}

static struct agent *agent_get(struct conversations *v, uint64_t number, struct error *err)
{
    for (size_t i = 0; i < v->n_agent; i++)
        if (v->a[i].number == number)
            return &v->a[i];
    if (v->n_agent == v->cap) {
        const size_t cap = v->cap > 0 ? 2 * v->cap : 16;
        struct agent *a = realloc(v->a, cap * sizeof *a);
        if (!a) {
            (void)error_oom(err, cap * sizeof *a, "the agents of a conversation");
            return NULL;
        }
        v->a = a;
        v->cap = cap;
    }
    v->a[v->n_agent] = (struct agent){ .number = number, .last = SERVE_NO_PARENT, .parent = SERVE_NO_PARENT };
    return &v->a[v->n_agent++];
}

/* From the end of an agent's newest request to a time of the recorded run. */
static uint64_t after_ps(const struct agent *a, double t_s)
{
    return t_s > a->end_s ? (uint64_t)min2((t_s - a->end_s) * PS_PER_S, (double)SERVE_MAX_PS) : 0;
}

/* The agent starts another one some time after the end of its newest request. */
static int start_agent(struct trace_reader *t, struct conversations *v, uint64_t by, struct error *err)
{
    uint64_t number;
    double t_s;
    struct agent *a = agent_get(v, by, err);
    if (!a || trace_whole(t, AG_IN, UINT32_MAX, &number, err) != 0 || trace_number(t, AG_T, &t_s, err) != 0)
        return -1;
    const uint32_t parent = a->last;
    const uint64_t start_ps = after_ps(a, t_s);
    if (number == by)
        return trace_refuse_cell(t, AG_IN, err, "the number of another agent");
    if (!(a = agent_get(v, number, err)))
        return -1;
    a->parent = parent;
    a->start_ps = start_ps;
    return 0;
}

static int read_request(struct trace_reader *t, struct conversations *v, uint64_t number, struct error *err)
{
    struct serve_request r = trace_request(t);
    struct agent *a = agent_get(v, number, err);
    double t_s = 0, api_s = 0;
    if (!a || trace_tokens(t, AG_IN, 1, &r.n_in, err) != 0 || trace_tokens(t, AG_OUT, 0, &r.n_out, err) != 0 ||
        (trace_has(t, AG_T) && trace_number(t, AG_T, &t_s, err) != 0) || (trace_has(t, AG_API) && trace_number(t, AG_API, &api_s, err) != 0))
        return -1;
    if (r.n_out == 0) { /* a request that the user stopped: its prompt was read */
        r.n_out = 1;
        t->notes->n_raised++;
    }
    r.parent = a->last != SERVE_NO_PARENT ? a->last : a->parent;
    if (a->last == SERVE_NO_PARENT)
        r.after_ps = a->parent != SERVE_NO_PARENT ? a->start_ps : 0;
    else if (!trace_has(t, AG_THINK) && trace_has(t, AG_T))
        r.after_ps = after_ps(a, t_s);
    else if (trace_duration(t, AG_THINK, 1, &r.after_ps, err) != 0)
        return -1;
    if (read_chunks(t, v, a, &r, err) != 0)
        return -1;
    a->last = (uint32_t)t->w->n;
    a->end_s = t_s + api_s;
    return trace_add(t, &r, err);
}

static int read_row(struct trace_reader *t, struct conversations *v, struct error *err)
{
    uint64_t number;
    if (trace_need(t, AG_CONV, err) != 0 || trace_whole(t, AG_AGENT, UINT32_MAX, &number, err) != 0 || begin_conversation(t, v, err) != 0)
        return -1;
    const struct cell *type = &t->cell[AG_TYPE];
    const bool request = trace_has(t, AG_OUT) || !trace_has(t, AG_TYPE) || cell_is(type, "n") || cell_is(type, "s");
    return (request ? read_request : start_agent)(t, v, number, err);
}

int trace_read_agentic(struct trace_reader *t, struct error *err)
{
    struct conversations v = { 0 };
    uint32_t chunk = 0, tool;
    int rc;
    if (t->o->companion && read_companion(t, NULL, &chunk, &tool, err) != 0)
        return -1;
    t->w->run_tokens = t->o->hash_tokens > 0 ? t->o->hash_tokens : chunk > 0 ? chunk : AG_TOKENS;
    while ((rc = trace_next(t, err)) > 0)
        if (read_row(t, &v, err) != 0) {
            rc = -1;
            break;
        }
    free(v.a);
    return rc == 0 && !(t->o->flags & TRACE_NO_OUTPUTS) ? trace_continue(t->w, true, err) : rc;
}
