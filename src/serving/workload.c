#include "serving/workload.h"
#include <stdlib.h>

void serve_workload_free(struct serve_workload *w)
{
    free(w->r);
    free(w->run);
    *w = (struct serve_workload){ 0 };
}

static bool grow(void **data, size_t *cap, size_t n, size_t size)
{
    if (n < *cap)
        return true;
    const size_t more = *cap > 0 ? 2 * *cap : 64;
    size_t bytes;
    if (!size_mul(more, size, &bytes))
        return false;
    void *p = realloc(*data, bytes);
    if (!p)
        return false;
    *data = p;
    *cap = more;
    return true;
}

bool serve_workload_add(struct serve_workload *w, size_t *cap, const struct serve_request *r)
{
    void *p = w->r;
    if (!grow(&p, cap, w->n, sizeof *w->r))
        return false;
    w->r = p;
    w->r[w->n++] = *r;
    return true;
}

bool serve_workload_add_run(struct serve_workload *w, size_t *cap, const struct token_run *run)
{
    void *p = w->run;
    if (!grow(&p, cap, w->n_run, sizeof *w->run))
        return false;
    w->run = p;
    w->run[w->n_run++] = *run;
    return true;
}

/* Where a request is from, for messages. */
static const char *place(char buf[static 320], const char *from, const uint32_t *line, size_t i)
{
    if (line)
        snprintf(buf, 320, "%.255s:%u", from, line[i]);
    else
        snprintf(buf, 320, "%.255s: request %zu", from, i + 1);
    return buf;
}

static int check_tokens(const char *what, uint32_t n, struct error *err)
{
    if (n >= 1 && n <= SERVE_MAX_TOKENS)
        return 0;
    return error_set(err, ERROR_INPUT, "%s is %u: expected 1 to %d tokens", what, n, SERVE_MAX_TOKENS);
}

static int check_request(const struct serve_workload *w, size_t i, uint64_t *latest_ps, struct error *err)
{
    const struct serve_request *r = &w->r[i];
    if (check_tokens("the prompt's length", r->n_in, err) != 0 || check_tokens("the output's length", r->n_out, err) != 0)
        return -1;
    if (r->after_ps > SERVE_MAX_PS)
        return error_set(err, ERROR_INPUT, "a time of %.3g s: expected at most %.3g s", (double)r->after_ps / PS_PER_S,
                         (double)SERVE_MAX_PS / PS_PER_S);
    if (r->n_run > 0 && (w->run_tokens == 0 || r->run0 > w->n_run || r->n_run > w->n_run - r->run0))
        return error_set(err, ERROR_INPUT, "identities %u to %zu of %zu", r->run0, (size_t)r->run0 + r->n_run, w->n_run);
    for (uint32_t k = 0; k < r->n_run; k++)
        if (w->run[r->run0 + k].n == 0)
            return error_set(err, ERROR_INPUT, "a run of no identities");
    if (r->parent != SERVE_NO_PARENT && r->parent >= i)
        return error_set(err, ERROR_INPUT, "its turn before is request %zu: expected an earlier one", (size_t)r->parent + 1);
    if (r->parent == SERVE_NO_PARENT) {
        if (r->after_ps < *latest_ps)
            return error_set(err, ERROR_INPUT, "arrives at %.6f s, before the request above it at %.6f s: expected ascending times",
                             (double)r->after_ps / PS_PER_S, (double)*latest_ps / PS_PER_S);
        *latest_ps = r->after_ps;
    }
    return 0;
}

int serve_workload_finish(struct serve_workload *w, const char *from, const uint32_t *line, struct error *err)
{
    char at[320];
    uint64_t latest_ps = 0;
    if (w->n == 0)
        return error_set(err, ERROR_INPUT, "%s: no requests", from);
    if (w->n >= SERVE_NO_PARENT)
        return error_set(err, ERROR_INPUT, "%s: %zu requests: expected fewer than %u", from, w->n, (unsigned)SERVE_NO_PARENT);
    for (size_t i = 0; i < w->n; i++)
        if (check_request(w, i, &latest_ps, err) != 0)
            return error_prefix(err, "%s", place(at, from, line, i));
    if (w->name[0] == '\0')
        snprintf(w->name, sizeof w->name, "%s", from);
    return 0;
}

struct serve_workload_sum serve_workload_sum(const struct serve_workload *w)
{
    struct serve_workload_sum s = { 0 };
    for (size_t i = 0; i < w->n; i++) {
        const struct serve_request *r = &w->r[i];
        s.n_in += r->n_in;
        s.n_out += r->n_out;
        s.most_in = r->n_in > s.most_in ? r->n_in : s.most_in;
        s.most_out = r->n_out > s.most_out ? r->n_out : s.most_out;
        s.most_tokens = r->n_in + r->n_out > s.most_tokens ? r->n_in + r->n_out : s.most_tokens;
        s.shared |= r->n_run > 0;
        if (r->parent == SERVE_NO_PARENT) {
            if (s.n_root++ == 0)
                s.first_arrival_ps = r->after_ps;
            s.last_arrival_ps = r->after_ps;
        }
    }
    return s;
}
