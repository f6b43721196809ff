/* The loop: requests in, steps, tokens out. */
#include "server/loop_internal.h"
#include "base/program.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- requests ---------------------------------------------------------------------------------------------------------- */

static void job_free(struct job *j)
{
    if (!j)
        return;
    sampler_free(&j->sampler);
    free(j->used);
    free(j->chosen);
    free(j->top);
    free(j->bias);
    free(j->end);
    free(j->forced);
    free(j->tok);
    free(j);
}

static void *copy(const void *from, size_t bytes)
{
    void *to = malloc(bytes > 0 ? bytes : 1);
    if (to && bytes > 0)
        memcpy(to, from, bytes);
    return to;
}

static struct job *job_new(const struct loop *l, const struct loop_request *r, struct error *err)
{
    const size_t room = ((size_t)r->n_in + r->n_max + POLICY_MAX_DRAFT) * sizeof(int32_t);
    struct job *j = calloc(1, sizeof *j);
    if (!j) {
        error_oom(err, sizeof *j, "a request");
        return NULL;
    }
    *j = (struct job){ .n_in = r->n_in, .n_max = r->n_max, .n_min = r->n_min, .n_tok = r->n_in, .presence = r->presence_penalty,
                       .frequency = r->frequency_penalty, .n_bias = r->n_bias, .n_end = r->n_end, .n_forced = r->n_forced, .number = r->number,
                       .ignore_end = r->ignore_end, .n_top = r->logprobs ? (uint32_t)u64_min(r->n_top, l->n_vocab) : 0, .priority = r->priority,
                       .salt = r->salt, .sink = r->sink, .sink_ctx = r->sink_ctx, .submit_s = clock_now_s() };
    const bool counts = r->presence_penalty != 0 || r->frequency_penalty != 0;
    j->tok = malloc(room);
    j->bias = copy(r->bias, r->n_bias * sizeof *r->bias);
    j->end = copy(r->end, r->n_end * sizeof *r->end);
    j->forced = copy(r->forced, r->n_forced * sizeof *r->forced);
    j->used = counts ? malloc(r->n_max * sizeof *j->used) : NULL;
    j->chosen = r->logprobs ? malloc((1 + POLICY_MAX_DRAFT) * sizeof *j->chosen) : NULL;
    j->top = j->n_top > 0 ? malloc((size_t)(1 + POLICY_MAX_DRAFT) * j->n_top * sizeof *j->top) : NULL;
    if (!j->tok || !j->bias || !j->end || !j->forced || (counts && !j->used) || (r->logprobs && !j->chosen) || (j->n_top > 0 && !j->top)) {
        error_oom(err, room, "a request");
        job_free(j);
        return NULL;
    }
    memcpy(j->tok, r->prompt, r->n_in * sizeof *j->tok);
    if (sampler_init_shared(&j->sampler, &r->sampler, l->n_vocab, l->scratch, err) != 0) {
        job_free(j);
        return NULL;
    }
    for (uint32_t i = 0; i < r->n_in; i++)
        sampler_accept(&j->sampler, r->prompt[i]);
    return j;
}

enum { MOST_PENALTY = 2 };

static int check_request(const struct loop *l, const struct loop_request *r, struct error *err)
{
    if (r->n_in < 1 || r->n_max < 1)
        return error_set(err, ERROR_INPUT, "a request of %u + %u tokens: expected at least one of each", r->n_in, r->n_max);
    if (scheduler_check(&l->s.p, l->s.pool.n, r->n_in, r->n_max, err) != 0)
        return -1;
    for (uint32_t i = 0; i < r->n_in; i++)
        if (r->prompt[i] < 0 || (uint32_t)r->prompt[i] >= l->n_vocab)
            return error_set(err, ERROR_INPUT, "token %u of the prompt is %d: the vocabulary has %u", i + 1, r->prompt[i], l->n_vocab);
    for (uint32_t i = 0; i < r->n_forced; i++)
        if (r->forced[i] < 0 || (uint32_t)r->forced[i] >= l->n_vocab)
            return error_set(err, ERROR_INPUT, "forced token %d: the vocabulary has %u", r->forced[i], l->n_vocab);
    for (uint32_t i = 0; i < r->n_bias; i++) {
        if (r->bias[i].id < 0 || (uint32_t)r->bias[i].id >= l->n_vocab)
            return error_set(err, ERROR_INPUT, "a bias of token %d: the vocabulary has %u", r->bias[i].id, l->n_vocab);
        if (!isfinite(r->bias[i].logprob))
            return error_set(err, ERROR_INPUT, "the bias of token %d is %g: expected a finite number", r->bias[i].id, (double)r->bias[i].logprob);
    }
    if (!(fabsf(r->presence_penalty) <= MOST_PENALTY && fabsf(r->frequency_penalty) <= MOST_PENALTY))
        return error_set(err, ERROR_INPUT, "presence and frequency penalties of %g and %g: expected -%d to %d", (double)r->presence_penalty,
                         (double)r->frequency_penalty, MOST_PENALTY, MOST_PENALTY);
    for (uint32_t i = 0; i < r->n_end; i++)
        if (r->end[i] < 0 || (uint32_t)r->end[i] >= l->n_vocab)
            return error_set(err, ERROR_INPUT, "end token %d: the vocabulary has %u", r->end[i], l->n_vocab);
    if (r->logprobs && r->n_top > LOOP_MAX_TOP)
        return error_set(err, ERROR_INPUT, "%u likely tokens: expected at most %d", r->n_top, LOOP_MAX_TOP);
    return 0;
}

/* A free place for a job; the lock is held. */
static int take_place(struct loop *l, struct job *j, struct error *err)
{
    uint32_t i = 0;
    while (i < l->cap_job && l->job[i])
        i++;
    if (i == l->cap_job) {
        const uint32_t cap = l->cap_job > 0 ? 2 * l->cap_job : 64;
        struct job **job = realloc(l->job, cap * sizeof(struct job *));
        if (!job)
            return error_oom(err, cap * sizeof(struct job *), "the requests");
        memset(job + l->cap_job, 0, (cap - l->cap_job) * sizeof(struct job *));
        l->job = job;
        l->cap_job = cap;
    }
    l->job[i] = j;
    l->n_job++;
    j->place = i;
    j->id = ++l->n_id << 32 | i;
    return 0;
}

static int enqueue(struct loop *l, struct job *j, struct error *err)
{
    const uint32_t n_waiting = l->n_submitted + l->stats.n_waiting;
    if (l->drain || l->stop)
        return error_set(err, ERROR_UNAVAILABLE, "the server is shutting down");
    if (l->o.max_queued > 0 && n_waiting >= l->o.max_queued)
        return error_set(err, ERROR_UNAVAILABLE, "the queue is full: %u requests wait", n_waiting);
    if (take_place(l, j, err) != 0)
        return -1;
    if (l->submitted_last)
        l->submitted_last->next = j;
    else
        l->submitted = j;
    l->submitted_last = j;
    l->n_submitted++;
    pthread_cond_signal(&l->wake);
    return 0;
}

int loop_submit(struct loop *l, const struct loop_request *r, uint64_t *id, struct error *err)
{
    if (check_request(l, r, err) != 0)
        return -1;
    struct job *j = job_new(l, r, err);
    if (!j)
        return -1;
    pthread_mutex_lock(&l->lock);
    const int rc = enqueue(l, j, err);
    *id = rc == 0 ? j->id : 0;
    pthread_mutex_unlock(&l->lock);
    if (rc != 0)
        job_free(j);
    return rc;
}

void loop_abort(struct loop *l, uint64_t id)
{
    pthread_mutex_lock(&l->lock);
    const uint32_t i = (uint32_t)id;
    if (i < l->cap_job && l->job[i] && l->job[i]->id == id) {
        l->job[i]->aborted = true;
        l->any_abort = true;
        pthread_cond_signal(&l->wake);
    }
    pthread_mutex_unlock(&l->lock);
}

static void raise_flag(struct loop *l, bool *flag)
{
    pthread_mutex_lock(&l->lock);
    *flag = true;
    pthread_cond_signal(&l->wake);
    pthread_mutex_unlock(&l->lock);
}

void loop_drain(struct loop *l)
{
    raise_flag(l, &l->drain);
}

void loop_stop(struct loop *l)
{
    raise_flag(l, &l->stop);
}

bool loop_idle(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
    const bool idle = l->n_job == 0;
    pthread_mutex_unlock(&l->lock);
    return idle;
}

double loop_start_s(const struct loop *l)
{
    return l->start_s;
}

/* ---- ends -------------------------------------------------------------------------------------------------------------- */

/* The last call of a request's sink. tokens: those of its last step, or none. */
static void end_job(struct loop *l, struct job *j, struct loop_tokens *t, enum loop_finish finish, const char *error)
{
    if (j->ended)
        return;
    j->ended = true;
    t->finish = finish;
    t->error = error;
    pthread_mutex_lock(&l->lock);
    loop_note_end(l, j, finish, t->now_s);
    pthread_mutex_unlock(&l->lock);
    (void)j->sink(j->sink_ctx, t);
}

/* A request that is in no batch is gone. */
static void drop(struct loop *l, struct job *j)
{
    if (j->q)
        scheduler_drop(j->q);
    if (j->q && l->o.drafter.forget)
        l->o.drafter.forget(l->o.drafter.ctx, j->place);
    pthread_mutex_lock(&l->lock);
    l->job[j->place] = NULL;
    l->n_job--;
    pthread_mutex_unlock(&l->lock);
    job_free(j);
}

/* The i-th request here; NULL: none. */
static struct job *job_at(struct loop *l, uint32_t i)
{
    pthread_mutex_lock(&l->lock);
    struct job *j = i < l->cap_job ? l->job[i] : NULL;
    pthread_mutex_unlock(&l->lock);
    return j;
}

static struct loop_tokens tokens_of(const struct job *j, double now_s)
{
    return (struct loop_tokens){ .n_hit = j->q ? j->q->n_hit : 0, .n_preempt = j->q ? j->q->n_preempt : 0, .submit_s = j->submit_s,
                                 .start_s = j->start_s, .now_s = now_s };
}

static void abort_job(struct loop *l, struct job *j, enum loop_finish finish, const char *error)
{
    struct loop_tokens t = tokens_of(j, clock_now_s());
    end_job(l, j, &t, finish, error);
    if (j->q && j->q->state != SEQ_DONE)
        scheduler_abort(&l->s, j->q);
    if (!j->q || j->q->n_flight == 0)
        drop(l, j);
}

/* Puts a submitted request into the scheduler. */
static int take_job(struct loop *l, struct job *j, struct error *err)
{
    struct sched_request r = { .number = j->place, .n_in = j->n_in, .n_max = j->n_max, .priority = j->priority };
    if (j->place >= l->cap_own) {
        const uint32_t cap = 2 * (j->place + 1);
        struct job **own = realloc(l->own, cap * sizeof(struct job *));
        if (!own)
            return error_oom(err, cap * sizeof(struct job *), "the requests");
        l->own = own;
        l->cap_own = cap;
    }
    l->own[j->place] = j;
    if ((l->o.policy.enable_prefix_caching || l->slot) && !(r.hash = malloc(loop_hash_room(l, j) * sizeof *r.hash)))
        return error_oom(err, loop_hash_room(l, j) * sizeof *r.hash, "a request");
    if (r.hash)
        loop_hash(l, j, r.hash, &r.n_hash);
    j->q = scheduler_add_request(&l->s, &r, err);
    return j->q ? 0 : -1;
}

/* Puts what was submitted into the scheduler and ends what was aborted. */
static int take_commands(struct loop *l, struct error *err)
{
    pthread_mutex_lock(&l->lock);
    struct job *j = l->submitted;
    l->submitted = l->submitted_last = NULL;
    l->stats.n_waiting += l->n_submitted;
    l->n_submitted = 0;
    const bool any_abort = l->any_abort;
    l->any_abort = false;
    const uint32_t n = l->cap_job;
    pthread_mutex_unlock(&l->lock);
    for (struct job *next; j; j = next) {
        next = j->next;
        if (take_job(l, j, err) != 0)
            return -1;
    }
    for (uint32_t i = 0; any_abort && i < n; i++) {
        pthread_mutex_lock(&l->lock);
        struct job *x = l->job[i] && l->job[i]->aborted ? l->job[i] : NULL;
        const bool early = x && !x->q; /* submitted since: its turn is next */
        l->any_abort |= early;
        pthread_mutex_unlock(&l->lock);
        if (x && !early && !x->ended)
            abort_job(l, x, LOOP_ABORTED, NULL);
    }
    return 0;
}

/* ---- steps ------------------------------------------------------------------------------------------------------------- */

/* The engine's: the scheduler counts positions of slots. */
static uint32_t used_blocks(const struct loop *l)
{
    return l->slot ? l->o.n_block - l->n_free_block : scheduler_used_blocks(&l->s);
}

/* A batch is given up. */
static void unform(struct batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        b->e[i].seq->n_flight--;
    b->n = 0;
}

static int form(struct loop *l, struct error *err)
{
    struct flight *f = &l->flight[l->n_flight];
    do
        if (scheduler_form(&l->s, &f->batch, err) != 0) {
            unform(&f->batch);
            return -1;
        }
    while (f->batch.n == 0 && l->s.again && l->n_flight == 0);
    if (f->batch.n == 0)
        return 0;
    const double now_s = clock_now_s();
    for (size_t i = 0; i < f->batch.n; i++) {
        struct job *j = loop_job(l, f->batch.e[i].seq);
        j->start_s = j->start_s > 0 ? j->start_s : now_s;
    }
    l->n_flight++;
    if (loop_keep_tables(l, f, err) != 0)
        return -1;
    f->n_running = (uint32_t)l->s.n_running;
    f->n_waiting = (uint32_t)l->s.n_waiting;
    f->used_blocks = used_blocks(l);
    return 0;
}

/* Hands out what the step yields to an entry, and says the scheduler how much that was. */
static void hand_out(struct loop *l, struct batch_entry *e, const struct yield *y, double now_s)
{
    struct job *j = loop_job(l, e->seq);
    struct loop_tokens t = tokens_of(j, now_s);
    if (e->failed) {
        end_job(l, j, &t, LOOP_FAILED, "the KV cache is full: context size has been exceeded");
        return;
    }
    e->n_new = y->n;
    if ((y->n == 0 && !y->broken) || j->ended)
        return;
    t.id = j->tok + y->first;
    t.n = y->n - y->end;
    t.chosen = j->chosen;
    t.top = j->top;
    t.n_top = j->n_top;
    pthread_mutex_lock(&l->lock);
    loop_note_tokens(l, j, t.n, now_s);
    pthread_mutex_unlock(&l->lock);
    e->stop = y->end || y->broken;
    if (y->broken) {
        end_job(l, j, &t, LOOP_FAILED, "the logits are not finite: damaged weights?");
    } else if (y->end || j->n_tok == j->n_in + j->n_max) {
        end_job(l, j, &t, y->end ? LOOP_EOS : LOOP_LENGTH, NULL);
    } else if (j->sink(j->sink_ctx, &t)) {
        e->stop = true;
        t.n = 0;
        end_job(l, j, &t, LOOP_STOPPED, NULL);
    }
    if (j->q->hash)
        loop_hash(l, j, j->q->hash, &j->q->n_hash);
}

/* Of the engine, and of a draft model. */
static struct work work_so_far(const struct loop *l)
{
    struct work w = engine_work(l->e);
    if (l->o.drafter.work) {
        const struct work d = l->o.drafter.work(l->o.drafter.ctx);
        w = (struct work){ w.weight_bytes + d.weight_bytes, w.kv_bytes + d.kv_bytes, w.act_bytes + d.act_bytes, w.flop + d.flop };
    }
    return w;
}

static void note_step(struct loop *l, const struct flight *f, double start_s, double end_s)
{
    const struct batch *b = &f->batch;
    struct serve_step x = { .n = 1, .start_ps = (uint64_t)((start_s - l->start_s) * PS_PER_S), .end_ps = (uint64_t)((end_s - l->start_s) * PS_PER_S),
                            .n_running = f->n_running, .n_waiting = f->n_waiting, .used_blocks = f->used_blocks };
    struct loop_stats *s = &l->stats;
    uint64_t n_accepted = 0, n_draft = 0;
    const struct work work = work_so_far(l);
    x.bytes = (double)(work.weight_bytes - l->work.weight_bytes + work.kv_bytes - l->work.kv_bytes);
    x.flop = (double)(work.flop - l->work.flop);
    l->work = work;
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < b->n; i++) {
        *(b->e[i].prompt ? &x.n_prompt : &x.n_decode) += b->e[i].n_tok;
        n_draft += b->e[i].n_draft;
        for (uint32_t k = 0; k < l->yield[i].n_accepted; k++)
            s->n_accepted_at[k]++;
        n_accepted += l->yield[i].n_accepted;
        s->n_draft += b->e[i].n_draft > 0;
    }
    s->n_draft_tok += n_draft;
    s->n_accepted_tok += n_accepted;
    s->n_step++;
    s->bytes += x.bytes;
    s->n_prompt_tok += x.n_prompt;
    s->busy_s += end_s - start_s;
    loop_stats_add(&s->h[LOOP_STEP_TOKENS], b->n_tok);
    pthread_mutex_unlock(&l->lock);
    if (l->o.step)
        l->o.step(l->o.step_ctx, &x);
}

/* What the lock's other side sees of the scheduler. */
static void publish(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
    l->stats.n_running = (uint32_t)l->s.n_running;
    l->stats.n_waiting = (uint32_t)l->s.n_waiting;
    l->stats.n_block_used = used_blocks(l);
    l->stats.n_preempt = l->s.n_preempt;
    l->stats.n_query_tok = l->s.n_query_tok;
    l->stats.n_hit_tok = l->s.n_hit_tok;
    l->stats.n_evicted = l->s.pool.n_evicted;
    l->stats.n_wasted_tok = l->n_wasted_tok;
    pthread_mutex_unlock(&l->lock);
}

/* The drafter's view of entry i of the step. row: of its first token in l->hidden. Block tables are those of the step: blocks of a sequence that ended
 * are free, but not reused before the next step is formed. */
static struct draft_want want_of(const struct loop *l, const struct batch *b, size_t i, uint32_t row)
{
    const struct batch_entry *e = &b->e[i];
    struct job *j = loop_job(l, e->seq);
    return (struct draft_want){ .place = j->place, .tok = j->tok, .n_tok = e->samples ? j->n_tok : e->n_past + e->n_tok, .draft = j->tok + j->n_tok,
                                .most = e->samples && e->seq->state == SEQ_RUNNING ? e->seq->n_draft : 0, .n_known = j->n_tok, .n_past = e->n_past,
                                .n_hidden = l->hidden ? e->n_tok : 0, .hidden = l->hidden ? l->hidden + (size_t)row * l->n_embd : NULL,
                                .table = l->table[i * POLICY_MAX_GROUPS], .n_position = e->seq->group[0].n * l->block_size };
}

/* Drafts for the sequences of the step that go on, behind their known tokens: as many as the policy says, beyond the end of the output too, as vLLM. */
static int draft(struct loop *l, const struct batch *b, struct error *err)
{
    size_t n = 0;
    uint32_t row = 0;
    if (l->o.policy.num_speculative_tokens == 0)
        return 0;
    struct draft_want *w = malloc(b->n * sizeof *w);
    if (!w)
        return error_oom(err, b->n * sizeof *w, "drafts");
    for (size_t i = 0; i < b->n; i++) {
        if (b->e[i].seq->state == SEQ_RUNNING || l->o.drafter.from_hidden)
            w[n++] = want_of(l, b, i, row);
        row += b->e[i].n_tok;
    }
    const int rc = l->o.drafter.propose(l->o.drafter.ctx, w, n, err);
    for (size_t i = 0; i < n && rc == 0; i++)
        l->own[w[i].place]->q->n_draft = w[i].n; /* 0 where none were wanted */
    free(w);
    return rc;
}

/* Runs the oldest step and takes its results. */
static int run_step(struct loop *l, struct error *err)
{
    struct flight f = l->flight[0];
    const double start_s = clock_now_s();
    if (loop_run_batch(l, &f, err) != 0)
        return -1;
    const double now_s = clock_now_s();
    for (size_t i = 0; i < f.batch.n; i++) {
        f.batch.e[i].n_new = 0;
        l->n_wasted_tok += f.batch.e[i].seq->state == SEQ_DONE ? f.batch.e[i].n_tok : 0;
        hand_out(l, &f.batch.e[i], &l->yield[i], now_s);
    }
    scheduler_apply(&l->s, &f.batch);
    const double draft_s = clock_now_s();
    const int rc = draft(l, &f.batch, err);
    note_step(l, &f, start_s, now_s + (clock_now_s() - draft_s)); /* drafting is part of a step */
    for (size_t i = 0; i < f.batch.n; i++) {
        struct job *j = loop_job(l, f.batch.e[i].seq);
        if (j->q->state == SEQ_DONE && j->q->n_flight == 0)
            drop(l, j);
    }
    l->flight[0] = l->flight[1];
    l->flight[1] = f;
    l->n_flight--;
    return rc;
}

/* Until there is something to do: a request, an abort, an order. A signal is noticed within the time of a wait. */
static void wait_for_work(struct loop *l)
{
    const double wait_s = fmin(0.1, l->next_poll_s - clock_now_s());
    struct timespec until;
    if (!(wait_s > 0))
        return;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)(wait_s * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&l->lock);
    if (!l->submitted && !l->any_abort && !l->stop && !(l->drain && l->n_job == 0))
        (void)pthread_cond_timedwait(&l->wake, &l->lock, &until);
    pthread_mutex_unlock(&l->lock);
}

/* Ends everything. */
static void end_all(struct loop *l, enum loop_finish finish, const char *error)
{
    for (; l->n_flight > 0; l->n_flight--)
        unform(&l->flight[l->n_flight - 1].batch);
    pthread_mutex_lock(&l->lock);
    l->stop = true; /* nothing is submitted from here on */
    l->submitted = l->submitted_last = NULL;
    l->n_submitted = 0;
    const uint32_t n = l->cap_job;
    pthread_mutex_unlock(&l->lock);
    for (uint32_t i = 0; i < n; i++) {
        struct job *j = job_at(l, i);
        if (j)
            abort_job(l, j, finish, error);
    }
}

static bool is_over(struct loop *l)
{
    if (interrupt_pending())
        loop_drain(l);
    pthread_mutex_lock(&l->lock);
    const bool over = l->stop || (l->drain && l->n_job == 0);
    pthread_mutex_unlock(&l->lock);
    return over;
}

int loop_run(struct loop *l, struct error *err)
{
    const uint32_t most = l->o.policy.async_scheduling ? 2 : 1;
    while (!is_over(l)) {
        const uint32_t n = l->n_flight;
        l->next_poll_s = l->o.poll ? l->o.poll(l->o.poll_ctx) : INFINITY;
        if (take_commands(l, err) != 0 || (n < most && form(l, err) != 0))
            goto fail;
        publish(l);
        if (l->n_flight > n && l->n_flight < most)
            continue; /* the next one is formed before this one runs */
        if (l->n_flight == 0)
            wait_for_work(l);
        else if (run_step(l, err) != 0)
            goto fail;
    }
    publish(l);
    return 0;
fail:
    end_all(l, LOOP_FAILED, err->msg);
    publish(l);
    return -1;
}

/* ---- life -------------------------------------------------------------------------------------------------------------- */

int loop_check_policy(const struct policy *p, struct error *err)
{
    if (p->num_speculative_tokens > 0 && p->async_scheduling)
        return error_set(err, ERROR_USAGE, "speculation with asynchronous scheduling: drafts follow the step before, give --no-async-scheduling");
    if (p->num_speculative_tokens > 0 && p->kind != POLICY_VLLM)
        return error_set(err, ERROR_USAGE, "speculation of policy %s: expected a policy vllm-0.N", p->name);
    if (p->n_host_block > 0)
        return error_set(err, ERROR_USAGE, "KV blocks in host memory: the engine's are there already");
    return 0;
}

static int check_options(const struct engine_options *e, const struct loop_options *o, struct error *err)
{
    const uint64_t rows = u64_min(e->n_ubatch, (uint64_t)o->policy.max_num_seqs * (1 + o->policy.num_speculative_tokens));
    const uint32_t size = o->policy.kind == POLICY_LLAMA_SERVER ? e->block_size : o->policy.block_size;
    if (e->n_out_max < rows || e->n_block != o->n_block || e->block_size != size || e->n_seq < u64_min(o->policy.max_num_seqs, e->n_ubatch))
        return error_set(err, ERROR_USAGE, "an engine of %u blocks of %u, %u sequences, %u rows of logits: expected %u of %u, %u, %llu", e->n_block,
                         e->block_size, e->n_seq, e->n_out_max, o->n_block, size, o->policy.max_num_seqs, (unsigned long long)rows);
    if (o->drafter.from_hidden && !e->hidden)
        return error_set(err, ERROR_USAGE, "an engine without hidden states: the drafter needs them");
    if (o->policy.num_speculative_tokens > 0 && !o->drafter.propose)
        return error_set(err, ERROR_USAGE, "speculation of policy %s: expected a source of drafts", o->policy.name);
    return loop_check_policy(&o->policy, err);
}

struct loop *loop_new(struct engine *e, const struct loop_options *o, struct error *err)
{
    if (check_options(engine_options(e), o, err) != 0)
        return NULL;
    struct loop *l = calloc(1, sizeof *l);
    if (!l) {
        error_oom(err, sizeof *l, "the loop");
        return NULL;
    }
    const struct engine_options *of = engine_options(e);
    *l = (struct loop){ .e = e, .o = *o, .n_vocab = engine_n_vocab(e), .n_ubatch = of->n_ubatch, .block_size = of->block_size, .start_s = clock_now_s() };
    l->work = work_so_far(l);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->wake, NULL);
    loop_stats_init(&l->stats);
    l->stats.n_block = o->n_block;
    const bool slots = o->policy.kind == POLICY_LLAMA_SERVER; /* each may leave a block begun */
    const uint32_t spare = slots ? o->policy.max_num_seqs : 0;
    if (o->n_block <= spare)
        error_set(err, ERROR_USAGE, "%u blocks for %u slots: expected more", o->n_block, spare);
    else if (scheduler_init_addressed(&l->s, &o->policy, slots ? (o->n_block - spare) * l->block_size : o->n_block, err) == 0 &&
             loop_pass_init(l, err) == 0)
        return l;
    loop_free(l);
    return NULL;
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    end_all(l, LOOP_ABORTED, NULL);
    loop_pass_free(l);
    scheduler_free(&l->s);
    free(l->job);
    free(l->own);
    pthread_cond_destroy(&l->wake);
    pthread_mutex_destroy(&l->lock);
    free(l);
}
