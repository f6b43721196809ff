/* Steps and requests as Chrome's trace events. Source: Trace Event Format, Google, 2016. */
#include "report/serving_report.h"
#include <stdlib.h>

/* Processes of the trace. */
enum { PID_STEPS = 1, PID_REQUESTS = 2 };

static double micro(uint64_t ps)
{
    return (double)ps / 1e6;
}

__attribute__((format(printf, 2, 3))) static void event(struct serving_trace *t, const char *fmt, ...)
{
    va_list ap;
    const int lead = fprintf(t->f, t->n_event++ > 0 ? ",\n" : "\n");
    va_start(ap, fmt);
    const int n = vfprintf(t->f, fmt, ap);
    va_end(ap);
    t->bytes += (uint64_t)(lead > 0 ? lead : 0) + (uint64_t)(n > 0 ? n : 0); /* the end looks at errors */
}

static void name_process(struct serving_trace *t, int pid, const char *name)
{
    event(t, "{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":\"%s\"}}", pid, name);
}

void serving_trace_begin(struct serving_trace *t, FILE *f, uint64_t max_bytes, uint64_t n_block)
{
    *t = (struct serving_trace){ .f = f, .max_bytes = max_bytes ? max_bytes : TRACE_BYTES, .n_block = n_block };
    fprintf(f, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    name_process(t, PID_STEPS, "steps");
    name_process(t, PID_REQUESTS, "requests");
}

/* ---- steps ------------------------------------------------------------------------------------------------ */

void serving_trace_step(void *ctx, const struct serve_step *x)
{
    struct serving_trace *t = ctx;
    char name[64], of[24] = "";
    if (t->n_left_out > 0 || t->bytes > t->max_bytes / 2) {
        t->n_left_out += x->n;
        return;
    }
    if (x->replica > 0)
        snprintf(of, sizeof of, ", replica %u", x->replica);
    if (x->n > 1)
        snprintf(name, sizeof name, "%llu steps, decode %u", (unsigned long long)x->n, x->n_decode);
    else if (x->n_prompt > 0)
        snprintf(name, sizeof name, "prompt %u, decode %u", x->n_prompt, x->n_decode);
    else
        snprintf(name, sizeof name, "decode %u", x->n_decode);
    event(t, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%u,\"ts\":%.6f,\"dur\":%.6f,\"name\":\"%s\",\"args\":{\"steps\":%llu,\"running\":%u,\"waiting\":%u,\"kv_blocks\":%u}}",
          PID_STEPS, x->replica, micro(x->start_ps), micro(x->end_ps - x->start_ps), name, (unsigned long long)x->n, x->n_running, x->n_waiting, x->used_blocks);
    event(t, "{\"ph\":\"C\",\"pid\":%d,\"ts\":%.6f,\"name\":\"requests%s\",\"args\":{\"running\":%u,\"waiting\":%u}}", PID_STEPS, micro(x->start_ps), of, x->n_running,
          x->n_waiting);
    event(t, "{\"ph\":\"C\",\"pid\":%d,\"ts\":%.6f,\"name\":\"KV blocks%s\",\"args\":{\"used\":%u}}", PID_STEPS, micro(x->start_ps), of, x->used_blocks);
    t->last_step_ps = u64_max(t->last_step_ps, x->end_ps);
}

/* ---- requests ------------------------------------------------------------------------------------------------- */

struct lane {
    uint64_t free_ps;
};
struct lanes {
    struct lane *v;
    size_t n, cap;
};

/* The first lane that is free from then on; -1: out of memory. */
static ptrdiff_t lane_take(struct lanes *l, uint64_t from_ps, uint64_t to_ps)
{
    size_t i = 0;
    while (i < l->n && l->v[i].free_ps > from_ps)
        i++;
    if (i == l->n && l->n == l->cap) {
        const size_t cap = l->cap ? 2 * l->cap : 64;
        struct lane *v = realloc(l->v, cap * sizeof *v);
        if (!v)
            return -1;
        l->v = v;
        l->cap = cap;
    }
    l->n += i == l->n;
    l->v[i].free_ps = to_ps;
    return (ptrdiff_t)i;
}

static void part(struct serving_trace *t, ptrdiff_t lane, const char *name, uint64_t from_ps, uint64_t to_ps, size_t request)
{
    if (to_ps > from_ps)
        event(t, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%td,\"ts\":%.6f,\"dur\":%.6f,\"name\":\"%s\",\"args\":{\"request\":%zu}}", PID_REQUESTS, lane, micro(from_ps),
              micro(to_ps - from_ps), name, request);
}

static void life(struct serving_trace *t, ptrdiff_t lane, const struct serving_subject *s, size_t i)
{
    const struct serve_outcome *o = &s->r->out[i];
    event(t, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%td,\"ts\":%.6f,\"dur\":%.6f,\"name\":\"request %zu\",\"args\":{\"in\":%u,\"out\":%u,\"hit\":%u,\"preemptions\":%u}}",
          PID_REQUESTS, lane, micro(o->sent_ps), micro(o->end_ps - o->sent_ps), i, s->w->r[i].n_in, s->w->r[i].n_out, o->n_hit, o->n_preempt);
    part(t, lane, "queue", o->sent_ps, o->start_ps, i);
    part(t, lane, "prefill", o->start_ps, o->first_ps, i);
    part(t, lane, o->n_preempt > 0 ? "decode, preempted" : "decode", o->first_ps, o->end_ps, i);
    t->last_request_ps = o->sent_ps;
}

struct by_time {
    uint64_t ps;
    size_t request;
};

static int earlier(const void *a, const void *b)
{
    const struct by_time *x = a, *y = b;
    return x->ps != y->ps ? (x->ps > y->ps) - (x->ps < y->ps) : (x->request > y->request) - (x->request < y->request);
}

static int lives(struct serving_trace *t, const struct serving_subject *s, struct error *err)
{
    struct by_time *order = malloc(s->r->n * sizeof *order);
    struct lanes lanes = { 0 };
    int rc = order ? 0 : error_oom(err, s->r->n * sizeof *order, "the requests of a trace");
    for (size_t i = 0; rc == 0 && i < s->r->n; i++)
        order[i] = (struct by_time){ s->r->out[i].sent_ps, i };
    if (rc == 0)
        qsort(order, s->r->n, sizeof *order, earlier);
    for (size_t k = 0; rc == 0 && k < s->r->n; k++) {
        const struct serve_outcome *o = &s->r->out[order[k].request];
        if (o->first_ps == SERVE_NOT_YET || o->failed)
            continue;
        if (t->bytes > t->max_bytes) {
            t->n_request_left_out++;
            continue;
        }
        const ptrdiff_t lane = lane_take(&lanes, o->sent_ps, o->end_ps);
        if (lane < 0)
            rc = error_oom(err, lanes.cap * sizeof *lanes.v, "the lanes of a trace");
        else
            life(t, lane, s, order[k].request);
    }
    free(order);
    free(lanes.v);
    return rc;
}

/* ---- end ------------------------------------------------------------------------------------------------------------ */

int serving_trace_end(struct serving_trace *t, const struct serving_subject *s, struct strbuf *note, struct error *err)
{
    const int rc = lives(t, s, err);
    struct strbuf left = { 0 };
    if (t->n_left_out > 0)
        strbuf_addf(&left, "steps end at %.3f s, %llu later ones are left out", (double)t->last_step_ps / PS_PER_S, (unsigned long long)t->n_left_out);
    if (t->n_request_left_out > 0)
        strbuf_addf(&left, "%srequests sent after %.3f s are left out, %llu of them", left.len ? "; " : "", (double)t->last_request_ps / PS_PER_S,
                    (unsigned long long)t->n_request_left_out);
    if (left.len)
        event(t, "{\"ph\":\"I\",\"pid\":%d,\"tid\":0,\"ts\":%.6f,\"s\":\"g\",\"name\":\"%s\"}", PID_STEPS, micro(t->last_step_ps), left.s);
    fprintf(t->f, "\n]}\n");
    if (left.len)
        strbuf_addf(note, "The trace is limited to %.0f MB: %s.\n", (double)t->max_bytes / 1e6, left.s);
    const bool oom = left.oom;
    strbuf_free(&left);
    if (rc != 0)
        return -1;
    return ferror(t->f) ? error_write(err, 0, "the trace") : oom ? error_oom(err, 0, "a note") : 0;
}
