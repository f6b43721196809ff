/* Formats of one request a record without sessions: Azure, BurstGPT, LLMServingSim, plain CSV. */
#include "serving/trace_internal.h"
#include <string.h>

/* ---- Azure: 2023-11-16 18:15:46.6805900 or 2024-05-10 00:00:00.009930+00:00 --------------------------------------------- */

static bool digits(const char *s, unsigned n, unsigned *v)
{
    *v = 0;
    for (unsigned i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9')
            return false;
        *v = 10 * *v + (unsigned)(s[i] - '0');
    }
    return true;
}

/* Days since 0000-03-01 of the proleptic Gregorian calendar: years from March have their leap day last. */
static uint64_t day_number(unsigned y, unsigned m, unsigned d)
{
    const unsigned years = m > 2 ? y : y - 1, months = m > 2 ? m - 3 : m + 9;
    return (uint64_t)years * 365 + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + d - 1;
}

static bool parse_date(const char *s, size_t n, uint64_t *second)
{
    unsigned y, mo, d, h, mi, sec;
    if (n < 19 || !digits(s, 4, &y) || s[4] != '-' || !digits(s + 5, 2, &mo) || s[7] != '-' || !digits(s + 8, 2, &d) ||
        (s[10] != ' ' && s[10] != 'T') || !digits(s + 11, 2, &h) || s[13] != ':' || !digits(s + 14, 2, &mi) || s[16] != ':' ||
        !digits(s + 17, 2, &sec))
        return false;
    if (y < 1970 || mo < 1 || mo > 12 || d < 1 || d > 31 || h > 23 || mi > 59 || sec > 60)
        return false;
    *second = ((day_number(y, mo, d) * 24 + h) * 60 + mi) * 60 + sec;
    return true;
}

/* Behind the seconds: a fraction, then nothing, "Z" or the offset from UTC, which is passed over: it is the same for a file. */
static bool parse_fraction(const char *s, size_t n, uint64_t *ps)
{
    size_t i = 0;
    uint64_t unit = UINT64_C(1000000000000);
    *ps = 0;
    if (i < n && s[i] == '.')
        for (i++; i < n && s[i] >= '0' && s[i] <= '9'; i++) {
            unit /= 10;
            *ps += unit * (uint64_t)(s[i] - '0');
        }
    unsigned h, m;
    const size_t left = n - i;
    return left == 0 || (left == 1 && s[i] == 'Z') ||
           (left == 6 && (s[i] == '+' || s[i] == '-') && digits(s + i + 1, 2, &h) && s[i + 3] == ':' && digits(s + i + 4, 2, &m));
}

enum { AZURE_TIME, AZURE_IN, AZURE_OUT };

struct azure_clock {
    bool begun;
    uint64_t second, last_ps; /* of the first row; of the row before */
};

static int azure_time(const struct trace_reader *t, struct azure_clock *c, uint64_t *ps, struct error *err)
{
    const struct cell *at = &t->cell[AZURE_TIME];
    uint64_t second;
    if (trace_need(t, AZURE_TIME, err) != 0)
        return -1;
    if (!parse_date(at->s, at->n, &second) || !parse_fraction(at->s + 19, at->n - 19, ps))
        return trace_refuse_cell(t, AZURE_TIME, err, "a time such as 2023-11-16 18:15:46.6805900");
    if (!c->begun)
        *c = (struct azure_clock){ .begun = true, .second = second, .last_ps = *ps };
    if (second < c->second || (second - c->second) * PS_PER_S >= (double)SERVE_MAX_PS)
        return trace_refuse_cell(t, AZURE_TIME, err, "ascending times, within 53 days of the first");
    *ps += (second - c->second) * UINT64_C(1000000000000);
    if (*ps < c->last_ps)
        return trace_refuse_cell(t, AZURE_TIME, err, "ascending times");
    c->last_ps = *ps;
    return 0;
}

int trace_read_azure(struct trace_reader *t, struct error *err)
{
    struct azure_clock c = { 0 };
    int rc;
    while ((rc = trace_next(t, err)) > 0) {
        struct serve_request r = trace_request(t);
        if (azure_time(t, &c, &r.after_ps, err) != 0 || trace_tokens(t, AZURE_IN, 1, &r.n_in, err) != 0 ||
            trace_tokens(t, AZURE_OUT, 1, &r.n_out, err) != 0 || trace_add(t, &r, err) != 0)
            return -1;
    }
    for (size_t i = t->w->n; i-- > 0;)
        t->w->r[i].after_ps -= t->w->r[0].after_ps;
    t->notes->timed = true;
    return rc;
}

/* ---- BurstGPT: failed requests have no response ------------------------------------------------------------------------- */

enum { BURST_TIME, BURST_IN, BURST_OUT };

int trace_read_burstgpt(struct trace_reader *t, struct error *err)
{
    int rc;
    while ((rc = trace_next(t, err)) > 0) {
        struct serve_request r = trace_request(t);
        if (trace_tokens(t, BURST_OUT, 0, &r.n_out, err) != 0)
            return -1;
        if (r.n_out == 0) {
            t->notes->n_failed++;
            continue;
        }
        if (trace_time(t, BURST_TIME, t->o->unit_s > 0 ? t->o->unit_s : 1, &r.after_ps, err) != 0 ||
            trace_tokens(t, BURST_IN, 1, &r.n_in, err) != 0 || trace_add(t, &r, err) != 0)
            return -1;
    }
    return rc;
}

/* ---- LLMServingSim ------------------------------------------------------------------------------------------------------ */

enum { SIM_IN, SIM_OUT, SIM_TIME };

int trace_read_servingsim(struct trace_reader *t, struct error *err)
{
    int rc;
    while ((rc = trace_next(t, err)) > 0) {
        struct serve_request r = trace_request(t);
        if (trace_tokens(t, SIM_IN, 1, &r.n_in, err) != 0 || trace_tokens(t, SIM_OUT, 1, &r.n_out, err) != 0)
            return -1;
        if ((t->notes->timed || t->w->n == 0) && trace_has(t, SIM_TIME)) {
            if (trace_time(t, SIM_TIME, t->o->unit_s > 0 ? t->o->unit_s : 1, &r.after_ps, err) != 0)
                return -1;
        } else if (t->notes->timed || trace_has(t, SIM_TIME)) {
            return trace_refuse(t, err, "some requests have an arrival_time and some have none");
        }
        if (trace_add(t, &r, err) != 0)
            return -1;
    }
    return rc;
}

/* ---- plain CSV ---------------------------------------------------------------------------------------------------------- */

enum { PLAIN_TIME, PLAIN_IN, PLAIN_OUT, PLAIN_PREFIX, PLAIN_PREFIX_TOKENS, PLAIN_PRIORITY, PLAIN_TOKENS = 16, PLAIN_MOST_PRIORITY = 1 << 30 };

/* The first prefix_tokens tokens are those of all requests of that prefix. */
static int plain_prefix(struct trace_reader *t, struct serve_request *r, struct error *err)
{
    uint64_t id;
    uint32_t n_tok = r->n_in;
    if (!trace_has(t, PLAIN_PREFIX))
        return trace_has(t, PLAIN_PREFIX_TOKENS) ? trace_need(t, PLAIN_PREFIX, err) : 0;
    if (trace_whole(t, PLAIN_PREFIX, UINT32_MAX, &id, err) != 0 ||
        (trace_has(t, PLAIN_PREFIX_TOKENS) && trace_tokens(t, PLAIN_PREFIX_TOKENS, 0, &n_tok, err) != 0))
        return -1;
    if (n_tok > r->n_in)
        return trace_refuse(t, err, "prefix_tokens is %u: expected at most the prompt's %u", n_tok, r->n_in);
    return trace_add_run(t, r, id << 27, n_tok / PLAIN_TOKENS, err);
}

int trace_read_plain(struct trace_reader *t, struct error *err)
{
    int rc;
    t->w->run_tokens = PLAIN_TOKENS;
    t->first_time = t->last_time = 0; /* times count from the start, not from the first request */
    while ((rc = trace_next(t, err)) > 0) {
        struct serve_request r = trace_request(t);
        uint64_t priority = 0;
        const bool timed = trace_has(t, PLAIN_TIME);
        if (timed != t->notes->timed && t->w->n > 0)
            return trace_refuse(t, err, "some requests have an arrival_s and some have none");
        if ((timed && trace_time(t, PLAIN_TIME, t->o->unit_s > 0 ? t->o->unit_s : 1, &r.after_ps, err) != 0) ||
            trace_tokens(t, PLAIN_IN, 1, &r.n_in, err) != 0 || trace_tokens(t, PLAIN_OUT, 1, &r.n_out, err) != 0 ||
            (trace_has(t, PLAIN_PRIORITY) && trace_whole(t, PLAIN_PRIORITY, PLAIN_MOST_PRIORITY, &priority, err) != 0) ||
            plain_prefix(t, &r, err) != 0)
            return -1;
        r.priority = (int32_t)priority;
        if (trace_add(t, &r, err) != 0)
            return -1;
    }
    return rc;
}
