/* Prompts as texts, and the lengths of a run of vllm bench. */
#include "serving/trace_internal.h"
#include <stdlib.h>
#include <string.h>

/* ---- vLLM's custom data set ---------------------------------------------------------------------------------------------- */

enum { CUSTOM_PROMPT, CUSTOM_OUT, CUSTOM_DEFAULT_OUT = 256 };

int trace_read_custom(struct trace_reader *t, struct error *err)
{
    int rc;
    while ((rc = trace_next(t, err)) > 0) {
        struct serve_request r = trace_request(t);
        r.n_out = t->o->custom_out > 0 ? t->o->custom_out : CUSTOM_DEFAULT_OUT;
        if (trace_need(t, CUSTOM_PROMPT, err) != 0 || trace_count(t, &t->cell[CUSTOM_PROMPT], "prompt", &r.n_in, err) != 0 ||
            (trace_has(t, CUSTOM_OUT) && trace_tokens(t, CUSTOM_OUT, 1, &r.n_out, err) != 0) || trace_add(t, &r, err) != 0)
            return -1;
    }
    return rc;
}

/* ---- ShareGPT ------------------------------------------------------------------------------------------------------------- */

enum { GPT_CONVERSATIONS };
/* vLLM's filter (benchmarks/datasets.py, is_valid_sequence). */
enum { GPT_LEAST = 4, GPT_MOST_IN = 1024, GPT_MOST_TOKENS = 2048 };

/* The field "value" of the object that begins at *x. */
static int turn_text(struct trace_reader *t, struct trace_text *x, struct cell *value, struct error *err)
{
    struct cell key, v;
    const char *what = "expected an object with a field \"value\"";
    bool first = true;
    int rc = *x->p == '{' ? 1 : -1;
    *value = (struct cell){ 0 };
    while (rc > 0 && (rc = text_key(x, &first, &key, &what)) > 0) {
        if (!text_value(x, &v, &what))
            rc = -1;
        else if (cell_is(&key, "value"))
            *value = v;
    }
    if (rc == 0 && value->s)
        return 0;
    t->line = x->line;
    return trace_refuse(t, err, "a turn of conversations: %s", rc < 0 ? what : "no \"value\"");
}

/* The first two turns; *n: how many there are, at most 2. */
static int two_turns(struct trace_reader *t, struct cell turn[2], int *n, struct error *err)
{
    const struct cell *c = &t->cell[GPT_CONVERSATIONS];
    struct trace_text x = { .p = c->s, .end = c->s + c->n, .line = c->line };
    const char *what = "";
    bool first = true;
    *n = 0;
    if (c->kind != CELL_ARRAY)
        return trace_refuse_cell(t, GPT_CONVERSATIONS, err, "an array of turns");
    x.p++;
    while (*n < 2 && text_element(&x, &first, &what) > 0)
        if (turn_text(t, &x, &turn[(*n)++], err) != 0)
            return -1;
    return 0;
}

static int sharegpt_record(struct trace_reader *t, struct error *err)
{
    struct serve_request r = trace_request(t);
    struct cell turn[2];
    int n;
    const uint32_t line = t->line;
    if (trace_need(t, GPT_CONVERSATIONS, err) != 0 || two_turns(t, turn, &n, err) != 0)
        return -1;
    if (n == 2 && (trace_count(t, &turn[0], "the first turn", &r.n_in, err) != 0 ||
                   trace_count(t, &turn[1], "the second turn", &r.n_out, err) != 0))
        return -1;
    const bool valid = r.n_in >= GPT_LEAST && r.n_out >= GPT_LEAST && r.n_in <= GPT_MOST_IN && r.n_in + r.n_out <= GPT_MOST_TOKENS;
    if (n < 2 || r.n_in == 0 || r.n_out == 0 || (!valid && !(t->o->flags & TRACE_UNFILTERED))) {
        t->notes->n_filtered++;
        return 0;
    }
    t->line = line;
    return trace_add(t, &r, err);
}

int trace_read_sharegpt(struct trace_reader *t, struct error *err)
{
    const char *what = "";
    bool first = true;
    int rc = 1;
    if (*t->at.p != '[')
        return trace_refuse(t, err, "expected an array");
    for (t->at.p++; !trace_full(t) && (rc = text_element(&t->at, &first, &what)) > 0; t->notes->n_row++) {
        if (interrupt_check(err) != 0 || trace_object(t, err) < 0 || sharegpt_record(t, err) != 0)
            return -1;
    }
    t->line = t->at.line;
    if (rc < 0)
        return trace_refuse(t, err, "%s", what);
    return rc == 0 && text_more(&t->at) ? trace_refuse(t, err, "text after the array") : 0;
}

/* ---- a result of vllm bench ------------------------------------------------------------------------------------------------ */

enum { RESULT_IN, RESULT_OUT, RESULT_TIME };

struct sent {
    double s;
    size_t i; /* in the file: keeps the order of equal times */
    uint32_t n_in, n_out;
};

static int by_time(const void *a, const void *b)
{
    const struct sent *x = a, *y = b;
    return x->s != y->s ? (x->s < y->s ? -1 : 1) : (x->i > y->i) - (x->i < y->i);
}

/* Three arrays, element by element. */
struct columns {
    struct trace_text x[3];
    bool first[3], there[3];
};

static int begin_columns(struct trace_reader *t, struct columns *c, struct error *err)
{
    for (int k = 0; k < 3; k++) {
        const struct cell *a = &t->cell[k];
        c->there[k] = trace_has(t, k);
        if (!c->there[k])
            continue;
        if (a->kind != CELL_ARRAY)
            return trace_refuse_cell(t, k, err, "an array of numbers, as --save-detailed writes");
        c->x[k] = (struct trace_text){ .p = a->s + 1, .end = a->s + a->n, .line = a->line };
        c->first[k] = true;
    }
    return 0;
}

/* The next element of each as t->cell; 0: all have ended. */
static int next_columns(struct trace_reader *t, struct columns *c, size_t i, struct error *err)
{
    const char *what = "";
    int n = 0, n_there = 0;
    for (int k = 0; k < 3; k++) {
        t->cell[k] = (struct cell){ 0 };
        if (!c->there[k])
            continue;
        n_there++;
        if (text_element(&c->x[k], &c->first[k], &what) <= 0)
            continue;
        n++;
        (void)text_value(&c->x[k], &t->cell[k], &what); /* the whole array was read before */
        t->line = c->x[k].line;
    }
    return n == 0 ? 0 : n == n_there ? 1 : trace_refuse(t, err, "request %zu: input_lens, output_lens and start_times differ in length", i + 1);
}

static int read_sent(struct trace_reader *t, struct columns *c, struct sent **sent, size_t *n, struct error *err)
{
    size_t cap = 0;
    int rc;
    for (size_t i = 0; (rc = next_columns(t, c, i, err)) > 0; i++) {
        struct sent s = { .i = i };
        t->notes->n_row = i + 1;
        if (trace_tokens(t, RESULT_OUT, 0, &s.n_out, err) != 0)
            return -1;
        if (s.n_out == 0) {
            t->notes->n_failed++;
            continue;
        }
        if (trace_tokens(t, RESULT_IN, 1, &s.n_in, err) != 0 || (c->there[RESULT_TIME] && trace_number(t, RESULT_TIME, &s.s, err) != 0))
            return -1;
        if (*n == cap) {
            cap = cap > 0 ? 2 * cap : 1024;
            struct sent *p = realloc(*sent, cap * sizeof *p);
            if (!p)
                return error_oom(err, cap * sizeof *p, "the requests of a result");
            *sent = p;
        }
        (*sent)[(*n)++] = s;
    }
    return rc;
}

static int add_sent(struct trace_reader *t, const struct sent *s, size_t n, struct error *err)
{
    for (size_t i = 0; i < n && !trace_full(t); i++) {
        struct serve_request r = trace_request(t);
        const double after_s = s[i].s - s[0].s;
        if (!(after_s * PS_PER_S < (double)SERVE_MAX_PS))
            return trace_refuse(t, err, "start_times differ by %.3g s: expected at most %.3g s", after_s, (double)SERVE_MAX_PS / PS_PER_S);
        r.after_ps = (uint64_t)(after_s * PS_PER_S + 0.5);
        r.n_in = s[i].n_in;
        r.n_out = s[i].n_out;
        if (trace_add(t, &r, err) != 0)
            return -1;
    }
    return 0;
}

int trace_read_result(struct trace_reader *t, struct error *err)
{
    struct columns c = { 0 };
    struct sent *sent = NULL;
    size_t n = 0;
    if (trace_object(t, err) < 0)
        return -1;
    if (text_more(&t->at))
        return trace_refuse(t, err, "more than one result: expected one in a file");
    if (trace_need(t, RESULT_IN, err) != 0 || trace_need(t, RESULT_OUT, err) != 0 || begin_columns(t, &c, err) != 0)
        return -1;
    int rc = read_sent(t, &c, &sent, &n, err);
    if (rc == 0 && n > 0) {
        t->notes->timed = c.there[RESULT_TIME];
        qsort(sent, n, sizeof *sent, by_time);
        rc = add_sent(t, sent, n, err);
    }
    free(sent);
    return rc;
}
