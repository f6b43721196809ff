/* Tokens to answers. */
#include "server/answer.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct answer {
    pthread_mutex_t lock;
    int holders; /* under lock */
    struct loop *loop;
    uint64_t loop_id; /* under lock; valid once submitted */
    const struct served_model *model;
    struct api_request req;
    struct api_head head;
    char id[48];
    uint32_t n_in;

    /* the loop's thread alone */
    struct text_stream text;
    struct strbuf piece, ids; /* text of a token; ids of those that are in no chunk yet */
    struct api_logprobs logprobs;
    struct api_usage usage;
    bool begun; /* a chunk was written */

    /* under lock */
    struct strbuf out;
    size_t n_read;
    double last_s; /* of the last byte added */
    bool submitted, ended, done, gone; /* loop_submit() returned; the loop's last call; out is complete; no one reads */
    int status;
    answer_wake_fn *wake;
    void *wake_ctx;
};

/* ---- life ------------------------------------------------------------------------------------------- */

static void answer_destroy(struct answer *a)
{
    api_request_free(&a->req);
    text_stream_free(&a->text);
    strbuf_free(&a->piece);
    strbuf_free(&a->ids);
    api_logprobs_free(&a->logprobs);
    strbuf_free(&a->out);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

/* Locked; unlocks. */
static void let_go(struct answer *a)
{
    const bool last = --a->holders == 0;
    pthread_mutex_unlock(&a->lock);
    if (last)
        answer_destroy(a);
}

static void wake(struct answer *a)
{
    if (a->wake)
        a->wake(a->wake_ctx);
}

/* Locked; unlocks. loop_abort() only once the loop has named the request. */
static void abort_unlock(struct answer *a)
{
    const bool running = a->submitted && !a->ended && !a->gone;
    const uint64_t id = a->loop_id;
    a->gone = true;
    wake(a);
    pthread_mutex_unlock(&a->lock);
    if (running)
        loop_abort(a->loop, id);
}

void answer_abort(struct answer *a)
{
    pthread_mutex_lock(&a->lock);
    abort_unlock(a);
}

void answer_free(struct answer *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->wake = NULL;
    abort_unlock(a);
    pthread_mutex_lock(&a->lock);
    let_go(a);
}

void answer_set_wake(struct answer *a, answer_wake_fn *wake_fn, void *ctx)
{
    pthread_mutex_lock(&a->lock);
    a->wake = wake_fn;
    a->wake_ctx = ctx;
    pthread_mutex_unlock(&a->lock);
}

bool answer_streams(const struct answer *a)
{
    return a->req.stream;
}

/* ---- the loop's thread --------------------------------------------------------------------------------- */

static const char *finish_reason(enum loop_finish f)
{
    switch (f) {
    case LOOP_RUNNING:
    case LOOP_ABORTED:
    case LOOP_FAILED:
        return NULL;
    case LOOP_LENGTH:
        return "length";
    case LOOP_EOS:
    case LOOP_STOPPED:
        return "stop";
    }
    return NULL;
}

/* Text and log probabilities of new tokens, as far as a stop text. False: no memory, or a token without text. */
static bool take_tokens(struct answer *a, const struct loop_tokens *t)
{
    struct error err;
    for (uint32_t i = 0; i < t->n && !a->text.stopped_by; i++) {
        a->piece.len = 0;
        if (tokenizer_decode(a->model->tokenizer, t->id[i], false, !a->req.skip_special_tokens, &a->piece, &err) != 0)
            return false;
        const char *piece = strbuf_text(&a->piece, "a token", &err);
        if (!piece)
            return false;
        text_stream_add(&a->text, piece, a->piece.len);
        a->usage.n_out++;
        if (a->req.token_ids)
            strbuf_addf(&a->ids, "%s%d", a->ids.len > 0 ? "," : "", t->id[i]);
        if (t->chosen && api_logprobs_add(&a->logprobs, a->model->tokenizer, &t->chosen[i], t->top ? t->top + (size_t)i * t->n_top : NULL,
                                          t->top ? t->n_top : 0, &err) != 0)
            return false;
    }
    return !a->text.held.oom && !a->text.out.oom;
}

static void take_times(struct answer *a, const struct loop_tokens *t)
{
    if (t->n > 0 || t->finish == LOOP_EOS) {
        a->usage.first_s = a->usage.n_out == 0 ? t->now_s : a->usage.first_s;
        a->usage.last_s = t->now_s;
    }
    a->usage.start_s = t->start_s;
    a->usage.n_hit = t->n_hit < a->n_in ? t->n_hit : a->n_in;
}

/* Locked. */
static void fail(struct answer *a, int status, const char *why)
{
    struct api_error e;
    api_error_set(&e, status, NULL, NULL, "%s", why);
    a->status = status;
    if (a->req.stream) {
        api_error_chunk_write(&a->out, &e);
        api_done_write(&a->out);
    } else {
        a->out.len = 0;
        api_error_write(&a->out, &e);
    }
    a->done = true;
}

/* Locked. One step of a stream. */
static void write_chunk(struct answer *a, const struct api_piece *p)
{
    const bool usage = p->finish && a->req.include_usage;
    api_chunk_write(&a->out, &a->head, p, p->finish && !usage ? &a->usage : NULL);
    if (usage)
        api_usage_chunk_write(&a->out, &a->head, &a->usage);
    if (p->finish)
        api_done_write(&a->out);
    a->text.out.len = a->ids.len = 0;
    api_logprobs_clear(&a->logprobs);
}

/* Locked. finish NULL: more follows. */
static void write_step(struct answer *a, const char *finish)
{
    const char *text = strbuf_text(&a->text.out, "the text", NULL);
    if (!text) {
        fail(a, 500, "out of memory");
        return;
    }
    const struct api_piece p = { text, a->text.out.len, !a->begun || !a->req.stream, finish, a->text.stopped_by,
                                 a->req.logprobs ? &a->logprobs : NULL, a->req.token_ids ? &a->ids : NULL };
    if (a->req.stream)
        write_chunk(a, &p);
    else if (finish)
        api_answer_write(&a->out, &a->head, &p, &a->usage);
    a->begun = true;
    a->done = finish != NULL;
}

/* Locked. */
static void step(struct answer *a, const struct loop_tokens *t)
{
    const bool ok = take_tokens(a, t);
    if (t->finish == LOOP_EOS)
        a->usage.n_out++;
    const char *finish = a->text.stopped_by ? "stop" : finish_reason(t->finish);
    if (finish)
        text_stream_end(&a->text);
    if (!ok)
        fail(a, 500, "out of memory");
    else if (t->finish == LOOP_ABORTED)
        fail(a, 503, "the server ends");
    else if (t->finish == LOOP_FAILED)
        fail(a, 500, t->error ? t->error : "the engine failed");
    else if (t->n > 0 || finish)
        write_step(a, finish);
    if (a->out.oom) {
        a->gone = true; /* what was sent cannot be completed */
        a->done = true;
    }
}

static bool sink(void *ctx, const struct loop_tokens *t)
{
    struct answer *a = ctx;
    pthread_mutex_lock(&a->lock);
    take_times(a, t);
    if (!a->done && !a->gone) {
        step(a, t);
        a->last_s = clock_now_s();
        if (a->out.len - a->n_read > ANSWER_MAX_UNREAD && a->req.stream)
            a->gone = true;
        if (a->req.stream || a->done || a->gone) /* an answer that does not stream is read when it is complete */
            wake(a);
    }
    if (t->finish == LOOP_RUNNING) {
        const bool stop = a->done || a->gone;
        pthread_mutex_unlock(&a->lock);
        return stop;
    }
    a->ended = true;
    let_go(a);
    return true;
}

/* ---- the reader's thread ---------------------------------------------------------------------------------- */

/* Locked. */
static enum answer_state wait_for_more(const struct answer *a, answer_wake_fn *parked, void *ctx)
{
    if (a->gone)
        return ANSWER_GONE;
    if (parked)
        parked(ctx);
    return ANSWER_WAITING;
}

enum answer_state answer_read(struct answer *a, char *buf, size_t max, size_t *n, answer_wake_fn *parked, void *ctx)
{
    enum answer_state s;
    pthread_mutex_lock(&a->lock);
    const size_t left = a->out.len - a->n_read;
    *n = left < max ? left : max;
    if (a->gone) {
        s = ANSWER_GONE;
    } else if (left > 0 && a->out.s) {
        memcpy(buf, a->out.s + a->n_read, *n);
        a->n_read += *n;
        if (a->n_read == a->out.len)
            a->n_read = a->out.len = 0;
        s = ANSWER_BYTES;
    } else if (a->done) {
        s = ANSWER_END;
    } else {
        s = wait_for_more(a, parked, ctx);
    }
    pthread_mutex_unlock(&a->lock);
    return s;
}

enum answer_state answer_complete(struct answer *a, int *status, size_t *n_bytes, answer_wake_fn *parked, void *ctx)
{
    pthread_mutex_lock(&a->lock);
    const enum answer_state s = a->done && !a->gone ? ANSWER_BYTES : wait_for_more(a, parked, ctx);
    *status = a->status;
    *n_bytes = a->out.len;
    pthread_mutex_unlock(&a->lock);
    return s;
}

void answer_ping(struct answer *a, double now_s, double silence_s)
{
    pthread_mutex_lock(&a->lock);
    if (a->req.stream && !a->done && !a->gone && now_s - a->last_s >= silence_s) {
        strbuf_adds(&a->out, ": ping\n\n");
        a->last_s = now_s;
        wake(a);
    }
    pthread_mutex_unlock(&a->lock);
}

/* ---- submission --------------------------------------------------------------------------------------------- */

/* "cmpl-" and 128 random bits; enough that none is guessed or repeated. */
static void name_answer(struct answer *a)
{
    snprintf(a->id, sizeof a->id, "%s%016llx%016llx", a->req.kind == API_CHAT ? "chatcmpl-" : "cmpl-", (unsigned long long)rng_entropy(),
             (unsigned long long)rng_entropy());
    a->head = (struct api_head){ a->req.kind, a->id, a->model->name, (int64_t)time(NULL) };
}

/* Tokens to generate: what the client wants, within the context. errors: 400 with the numbers */
static int length_of(const struct answer *a, uint32_t *n_max, struct api_error *e)
{
    const uint32_t room = a->n_in < a->model->max_model_len ? a->model->max_model_len - a->n_in : 0;
    const int64_t n = a->req.max_tokens > 0 ? a->req.max_tokens : room;
    const char *param = a->req.kind == API_CHAT ? "messages" : "prompt";
    if (a->n_in == 0)
        return api_error_set(e, 400, NULL, param, "%s: empty, and the model has no beginning-of-sequence token", param);
    if (room == 0 || n > room)
        return api_error_set(e, 400, "context_length_exceeded", param,
                             "the model's context is %u tokens; the prompt has %u and %lld are to be generated", a->model->max_model_len, a->n_in,
                             (long long)(n > 0 ? n : 1));
    *n_max = (uint32_t)n;
    return 0;
}

static int submit(struct answer *a, struct loop_request *q, struct api_error *e)
{
    struct error err = { 0 };
    uint64_t id = 0;
    const int rc = loop_submit(a->loop, q, &id, &err);
    if (rc == 0) {
        pthread_mutex_lock(&a->lock);
        a->loop_id = id;
        a->submitted = true;
        pthread_mutex_unlock(&a->lock);
        return 0;
    }
    if (err.kind == ERROR_INPUT || err.kind == ERROR_USAGE)
        return api_error_set(e, 400, "context_length_exceeded", a->req.kind == API_CHAT ? "messages" : "prompt", "%s", err.msg);
    return api_error_set(e, err.kind == ERROR_UNAVAILABLE ? 503 : 500, NULL, NULL, "%s", err.msg);
}

static int begin(struct answer *a, uint64_t seed, struct api_error *e)
{
    struct token_list prompt = { 0 }, end = { 0 };
    const struct api_request *r = &a->req;
    uint32_t n_max = 0;
    int rc = prompt_encode(&prompt, a->model, r, true, e);
    if (rc == 0 && (prompt.n > UINT32_MAX || prompt_end_tokens(&end, a->model, r, e) != 0))
        rc = prompt.n > UINT32_MAX ? api_error_set(e, 400, "context_length_exceeded", "prompt", "the prompt is too long") : -1;
    a->n_in = a->usage.n_in = (uint32_t)prompt.n;
    if (rc == 0)
        rc = length_of(a, &n_max, e);
    if (rc == 0) {
        struct loop_request q = { .prompt = prompt.id, .n_in = a->n_in, .n_max = n_max, .sampler = r->sampler, .bias = r->bias,
                                  .n_bias = (uint32_t)r->n_bias, .end = end.id, .n_end = (uint32_t)end.n, .ignore_end = end.n == 0,
                                  .logprobs = r->logprobs, .n_top = r->n_top, .priority = r->priority, .salt = r->salt, .sink = sink, .sink_ctx = a };
        q.n_min = r->min_tokens < n_max ? (uint32_t)r->min_tokens : n_max;
        q.presence_penalty = (float)r->presence_penalty;
        q.frequency_penalty = (float)r->frequency_penalty;
        q.sampler.seed = r->has_seed ? r->sampler.seed : seed;
        rc = submit(a, &q, e);
    }
    token_list_free(&prompt);
    token_list_free(&end);
    return rc;
}

struct answer *answer_new(struct api_request *r, const struct served_model *m, struct loop *l, uint64_t seed, struct api_error *e)
{
    struct answer *a = calloc(1, sizeof *a);
    if (!a) {
        api_request_free(r);
        api_error_set(e, 500, NULL, NULL, "out of memory");
        return NULL;
    }
    pthread_mutex_init(&a->lock, NULL);
    a->holders = 2;
    a->loop = l;
    a->model = m;
    a->req = *r;
    *r = (struct api_request){ 0 };
    a->text.stops = &a->req.stops;
    a->logprobs.kind = a->req.kind;
    a->status = 200;
    a->last_s = clock_now_s();
    name_answer(a);
    if (begin(a, seed, e) == 0)
        return a;
    answer_destroy(a); /* the loop never had it */
    return NULL;
}
