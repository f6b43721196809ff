/* The scheduler on a clock of prices, step by step. */
#include "serving/arrivals.h"
#include "serving/draw.h"
#include "serving/internal.h"
#include "serving/scheduler.h"
#include <stdlib.h>
#include <string.h>

/* ---- speculation ------------------------------------------------------------------------------------------------ */

/* A request's rate: the logit of the policy's, moved by the request. */
static double rate_of(const struct serve_options *o, uint32_t request, uint32_t k)
{
    const double p = o->accept[k];
    if (!(o->accept_sd > 0) || !(p > 0 && p < 1))
        return p;
    return 1 / (1 + exp(-(log(p / (1 - p)) + o->accept_sd * draw_normal(o->seed, DRAW_ACCEPT_RATE, request))));
}

uint32_t serve_accepted(const struct serve_options *o, uint32_t request, uint32_t n_known, uint32_t n_draft)
{
    uint32_t n = 0;
    while (n < n_draft && draw_uniform(o->seed, DRAW_ACCEPT, (((uint64_t)request << 27) + n_known) * POLICY_MAX_DRAFT + n) < rate_of(o, request, n))
        n++;
    return n;
}

/* ---- bookkeeping ------------------------------------------------------------------------------------------------- */

int serve_result_init(struct serve_result *r, size_t n, struct error *err)
{
    *r = (struct serve_result){ .n = n, .out = calloc(n, sizeof *r->out) };
    if (!r->out)
        return error_oom(err, n * sizeof *r->out, "the times of requests");
    for (size_t i = 0; i < n; i++)
        r->out[i].start_ps = r->out[i].first_ps = SERVE_NOT_YET;
    if (histogram_init(&r->gap, err) == 0)
        return 0;
    serve_result_free(r);
    return -1;
}

void serve_result_free(struct serve_result *r)
{
    free(r->out);
    histogram_free(&r->gap);
    *r = (struct serve_result){ 0 };
}

/* A jump's blocks lie between used_before and those of x. */
void serve_note_steps(struct serve_result *r, const struct serve_options *o, const struct serve_step *x, uint32_t used_before)
{
    struct serve_totals *t = &r->t;
    const uint64_t ps = x->end_ps - x->start_ps;
    t->n_step += x->n;
    t->busy_ps += ps;
    t->n_decode_tok += x->n * x->n_decode;
    t->n_prompt_tok += x->n * x->n_prompt;
    t->running_ps += (unsigned __int128)x->n_running * ps;
    t->used_block_ps += ((unsigned __int128)x->used_blocks + used_before) * ps / 2;
    t->bytes += x->bytes;
    t->flop += x->flop;
    t->most_running = x->n_running > t->most_running ? x->n_running : t->most_running;
    t->most_used_blocks = x->used_blocks > t->most_used_blocks ? x->used_blocks : t->most_used_blocks;
    if (o->step)
        o->step(o->step_ctx, x);
}

int serve_check_end(const struct serve_workload *w, uint64_t start_ps, uint64_t ps, struct error *err)
{
    if (start_ps <= SERVE_LATEST_PS && ps <= SERVE_LATEST_PS - start_ps)
        return 0;
    return error_set(err, ERROR_INPUT, "%s: the simulation lasts longer than %.3g s", w->name, (double)SERVE_LATEST_PS / PS_PER_S);
}

int serve_check(const struct serve_workload *w, const struct serve_options *o, struct error *err)
{
    if (policy_check(o->policy, err) != 0)
        return -1;
    if (o->n_prefill > 0 && o->n_prefill >= o->n_replica)
        return error_set(err, ERROR_USAGE, "%u replicas of which %u compute prompts: expected at least one that decodes", o->n_replica, o->n_prefill);
    if (o->n_prefill > 0 && o->policy->kind != POLICY_VLLM)
        return error_set(err, ERROR_USAGE, "%u replicas compute prompts: %s hands none over, expected vllm-0.N", o->n_prefill, o->policy->name);
    for (size_t i = 0; i < w->n; i++)
        if (scheduler_check(o->policy, o->n_block, w->r[i].n_in, w->r[i].n_out, err) != 0)
            return error_prefix(err, "%s, request %zu", w->name, i + 1);
    return 0;
}

/* ---- step by step -------------------------------------------------------------------------------------------------- */

enum { MOST_FLIGHT = 2 };

struct flight {
    struct batch batch;
    uint64_t end_ps;
};

/* A replica: a scheduler and its device. */
struct replica {
    struct scheduler s;
    struct flight flight[MOST_FLIGHT]; /* [0]: the older */
    size_t n_flight;
    uint64_t device_ps; /* when the device has done all steps formed */
    uint32_t n_active;  /* requests sent to it and not ended */
    bool due;           /* may form a step now */
    uint64_t link_ps;   /* until when its link is taken */
};

/* Keys and values under way to a sequence. */
struct transfer {
    uint64_t ps;
    struct replica *to;
    struct sched_seq *seq;
};

struct simulation {
    const struct serve_workload *w;
    const struct serve_options *o;
    struct serve_result *r;
    struct arrivals arrivals;
    struct replica *replica;
    uint32_t n_replica;
    struct transfer *transfer; /* in any order */
    size_t n_transfer, cap_transfer;
    uint64_t *prompt_ps; /* of each request, with prefill replicas: when its prompt began to be computed */
    uint64_t now_ps;
};

/* Replicas that requests are sent to: all, or those of prompts. */
static uint32_t n_entry(const struct simulation *x)
{
    return x->o->n_prefill > 0 ? x->o->n_prefill : x->n_replica;
}

/* Of replicas from `from` to before `to`. */
static uint32_t least_active(const struct simulation *x, uint32_t from, uint32_t to)
{
    uint32_t best = from;
    for (uint32_t i = from + 1; i < to; i++)
        if (x->replica[i].n_active < x->replica[best].n_active)
            best = i;
    return best;
}

/* Where most of the prompt is cached, if anything is; else where least is to do. */
static uint32_t route_by_prefix(const struct simulation *x, const uint64_t *hash, uint32_t n_hash)
{
    uint32_t most = 0, to = least_active(x, 0, n_entry(x));
    for (uint32_t i = 0; hash && i < n_entry(x); i++) {
        uint32_t n = 0;
        while (n < n_hash && block_pool_find(&x->replica[i].s.pool, hash[n]) != BLOCK_NONE)
            n++;
        if (n > most) {
            most = n;
            to = i;
        }
    }
    return to;
}

static uint32_t route(const struct simulation *x, uint32_t request, const uint64_t *hash, uint32_t n_hash)
{
    if (x->n_replica == 1)
        return 0;
    switch (x->o->routing) {
    case ROUTE_ROUND_ROBIN:
        return request % n_entry(x);
    case ROUTE_LEAST_ACTIVE:
        return least_active(x, 0, n_entry(x));
    case ROUTE_PREFIX:
        return route_by_prefix(x, hash, n_hash);
    }
    return 0;
}

static int take_arrivals(struct simulation *x, struct error *err)
{
    struct due due;
    uint64_t sent_ps;
    uint32_t n_hash;
    while (arrivals_take(&x->arrivals, x->now_ps, &due, &sent_ps)) {
        uint64_t *hash = scheduler_hashes(&x->replica[0].s, x->w, due.request, &n_hash, err);
        if (!hash && n_hash > 0)
            return -1;
        struct replica *p = &x->replica[route(x, due.request, hash, n_hash)];
        x->r->out[due.request].due_ps = due.ps;
        x->r->out[due.request].sent_ps = sent_ps;
        p->n_active++;
        p->due |= p->n_flight == 0;
        if (!scheduler_add_hashed(&p->s, x->w, due.request, hash, n_hash, err))
            return -1;
    }
    return 0;
}

/* A pass of a step. */
static uint64_t pass_ps(const struct simulation *x, const struct step_load *load, struct serve_step *step)
{
    if (x->o->work)
        step_work_add(x->o->work, x->o->price, load, NULL, 1, &step->bytes, &step->flop);
    return step_price_ps(x->o->price, load);
}

/* A step in passes of at most n_ubatch tokens, where the policy has them; else in one. */
static uint64_t price(const struct simulation *x, const struct batch *b, struct serve_step *step)
{
    const uint32_t most = x->o->policy->n_ubatch > 0 ? x->o->policy->n_ubatch : UINT32_MAX;
    struct step_load load = { 0 };
    uint64_t ps = 0;
    for (size_t i = 0; i < b->n; i++) {
        const struct batch_entry *e = &b->e[i];
        for (uint32_t done = 0, n; done < e->n_tok; done += n) {
            const uint32_t room = most - load.n_decode - load.n_prompt;
            n = e->n_tok - done < room ? e->n_tok - done : room;
            (e->prompt ? step_load_prompt : step_load_decode)(&load, x->o->price, e->n_past + done, n);
            *(e->prompt ? &step->n_prompt : &step->n_decode) += n;
            if (load.n_decode + load.n_prompt == most) {
                ps += pass_ps(x, &load, step);
                load = (struct step_load){ 0 };
            }
        }
    }
    return ps + (load.n_decode + load.n_prompt > 0 ? pass_ps(x, &load, step) : 0);
}

/* ---- keys and values from elsewhere -------------------------------------------------------------------------------- */

/* Seconds of n positions over the link; those of a prompt sent layer by layer while it was computed for busy_s. */
static double transfer_s(const struct simulation *x, uint32_t n_tok, double busy_s)
{
    const double s = x->o->load_bytes_s > 0 ? n_tok * x->o->kv_token_bytes / x->o->load_bytes_s : 0;
    const double left = x->o->load_layers > 0 ? fmax(s / x->o->load_layers, s - busy_s) : s;
    return x->o->load_latency_s + left;
}

static int begin_transfers(struct simulation *x, struct replica *p, const struct batch *b, struct error *err)
{
    for (size_t i = 0; i < b->n_load; i++) {
        if (x->n_transfer == x->cap_transfer) {
            const size_t cap = x->cap_transfer > 0 ? 2 * x->cap_transfer : 16;
            struct transfer *t = realloc(x->transfer, cap * sizeof *t);
            if (!t)
                return error_oom(err, cap * sizeof *t, "transfers");
            x->transfer = t;
            x->cap_transfer = cap;
        }
        const uint32_t request = b->load[i].seq->request;
        const double busy_s = x->prompt_ps ? (double)(x->now_ps - x->prompt_ps[request]) / PS_PER_S : 0;
        const double ps = (double)u64_max(p->link_ps, x->now_ps) + transfer_s(x, b->load[i].n_tok, busy_s) * PS_PER_S;
        if (!(ps < (double)SERVE_MAX_PS))
            return error_set(err, ERROR_INPUT, "%s: keys and values take until %.3g s to load: a faster link, or fewer of them", x->w->name,
                             ps / PS_PER_S);
        p->link_ps = (uint64_t)ps;
        x->transfer[x->n_transfer++] = (struct transfer){ p->link_ps, p, b->load[i].seq };
    }
    return 0;
}

static void end_transfers(struct simulation *x)
{
    for (size_t i = 0; i < x->n_transfer;) {
        struct transfer *t = &x->transfer[i];
        if (t->ps > x->now_ps) {
            i++;
            continue;
        }
        scheduler_loaded(&t->to->s, t->seq);
        t->to->due |= t->to->n_flight == 0;
        *t = x->transfer[--x->n_transfer];
    }
}

/* A prompt is computed: a decode replica takes the request over. It computes the last token again, for its logits. */
static int hand_over(struct simulation *x, uint32_t request, struct error *err)
{
    struct replica *to = &x->replica[least_active(x, x->o->n_prefill, x->n_replica)];
    struct sched_seq *q = scheduler_add(&to->s, x->w, request, err);
    if (!q)
        return -1;
    scheduler_set_remote(q, x->w->r[request].n_in - 1);
    to->n_active++;
    to->due |= to->n_flight == 0;
    return 0;
}

static bool is_prefill(const struct simulation *x, const struct replica *p)
{
    return p < x->replica + x->o->n_prefill;
}

/* Forms a step and starts it when the device is free; *formed: there was something to do. */
static int form(struct simulation *x, struct replica *p, bool *formed, struct error *err)
{
    struct flight *f = &p->flight[p->n_flight];
    if (scheduler_form(&p->s, &f->batch, err) != 0)
        return -1;
    if (f->batch.n_load > 0 && begin_transfers(x, p, &f->batch, err) != 0)
        return -1;
    *formed = f->batch.n > 0;
    if (!*formed)
        return 0;
    struct serve_step step = { .n = 1, .start_ps = u64_max(x->now_ps, p->device_ps), .replica = (uint32_t)(p - x->replica),
                               .n_running = (uint32_t)p->s.n_running, .n_waiting = (uint32_t)p->s.n_waiting,
                               .used_blocks = scheduler_used_blocks(&p->s) };
    const uint64_t ps = price(x, &f->batch, &step);
    p->n_flight++;
    if (serve_check_end(x->w, step.start_ps, ps, err) != 0)
        return -1;
    step.end_ps = f->end_ps = p->device_ps = step.start_ps + ps;
    for (size_t i = 0; i < f->batch.n; i++) {
        struct serve_outcome *out = &x->r->out[f->batch.e[i].seq->request];
        if (out->start_ps == SERVE_NOT_YET) {
            out->start_ps = x->now_ps;
            if (x->prompt_ps)
                x->prompt_ps[f->batch.e[i].seq->request] = step.start_ps;
        }
    }
    serve_note_steps(x->r, x->o, &step, step.used_blocks);
    return 0;
}

/* How many tokens a step yielded to a sequence. */
static void outcome_of(struct simulation *x, struct batch_entry *e)
{
    const struct sched_seq *q = e->seq;
    const struct serve_request *r = &x->w->r[q->request];
    if (!e->samples || q->state == SEQ_DONE)
        return;
    const uint32_t left = r->n_in + r->n_out - q->n_known, accepted = serve_accepted(x->o, q->request, q->n_known, e->n_draft);
    x->r->t.n_draft += e->n_draft;
    x->r->t.n_round += e->n_draft > 0;
    x->r->t.n_accepted += accepted;
    e->n_new = 1 + accepted < left ? 1 + accepted : left;
    e->stop = e->n_new == left;
}

static void end_request(struct simulation *x, struct replica *p, const struct sched_seq *q)
{
    struct serve_outcome *out = &x->r->out[q->request];
    if (!x->prompt_ps) /* else the prefill replica's */
        out->n_hit = q->n_hit;
    out->n_preempt = q->n_preempt;
    out->end_ps = x->now_ps;
    p->n_active--;
    arrivals_end(&x->arrivals, q->request, x->now_ps);
}

static void note_tokens(struct simulation *x, struct replica *p, const struct batch_entry *e)
{
    const struct sched_seq *q = e->seq;
    struct serve_outcome *out = &x->r->out[q->request];
    if (e->n_new > 0) {
        if (out->first_ps == SERVE_NOT_YET)
            out->first_ps = x->now_ps;
        else
            histogram_add(&x->r->gap, x->now_ps - out->end_ps, 1);
        out->end_ps = x->now_ps; /* of its newest token */
    }
    out->failed = e->failed;
    if (e->failed || (e->n_new > 0 && q->state == SEQ_DONE))
        end_request(x, p, q);
}

/* Tokens of a step of prompts alone: the first token is the decode replica's to give. */
static int apply_prefill(struct simulation *x, struct replica *p, const struct batch_entry *e, struct error *err)
{
    if (e->n_new == 0)
        return 0;
    x->r->out[e->seq->request].n_hit = e->seq->n_hit;
    p->n_active--;
    return hand_over(x, e->seq->request, err);
}

/* The replica's oldest step is done. */
static int apply(struct simulation *x, struct replica *p, struct error *err)
{
    struct flight *f = &p->flight[0];
    for (size_t i = 0; i < f->batch.n; i++) {
        f->batch.e[i].n_new = 0;
        if (f->batch.e[i].seq->state == SEQ_DONE)
            x->r->t.n_wasted_tok += f->batch.e[i].n_tok;
        outcome_of(x, &f->batch.e[i]);
        f->batch.e[i].stop |= is_prefill(x, p) && f->batch.e[i].n_new > 0;
    }
    scheduler_apply(&p->s, &f->batch);
    int rc = 0; /* on an error too the batch is taken out of flight whole: its sequences may be gone */
    for (size_t i = 0; i < f->batch.n; i++) {
        struct batch_entry *e = &f->batch.e[i];
        if (!is_prefill(x, p))
            note_tokens(x, p, e);
        else if (rc == 0)
            rc = apply_prefill(x, p, e, err);
        if (e->seq->state == SEQ_DONE && e->seq->n_flight == 0)
            scheduler_drop(e->seq);
    }
    const struct batch spare = f->batch;
    p->flight[0] = p->flight[1];
    p->flight[1].batch = spare;
    p->n_flight--;
    p->due = true;
    return rc;
}

/* As many steps as may be in flight. An asynchronous scheduler that has nothing for a second one waits for the first. */
static int form_steps(struct simulation *x, struct replica *p, struct error *err)
{
    const size_t most = p->s.p.async_scheduling ? MOST_FLIGHT : 1;
    bool formed = true;
    while (formed && p->n_flight < most) {
        if (form(x, p, &formed, err) != 0)
            return -1;
        formed |= p->s.again && p->n_flight == 0;
    }
    p->due = false;
    return 0;
}

/* The time of the next end of a step or arrival; UINT64_MAX: none. */
static uint64_t next_ps(struct simulation *x)
{
    uint64_t ps = UINT64_MAX;
    bool idle = false;
    for (uint32_t i = 0; i < x->n_replica; i++) {
        const struct replica *p = &x->replica[i];
        if (p->n_flight > 0)
            ps = u64_min(ps, u64_max(x->now_ps, p->flight[0].end_ps));
        idle |= p->n_flight == 0;
    }
    for (size_t i = 0; i < x->n_transfer; i++)
        ps = u64_min(ps, u64_max(x->now_ps, x->transfer[i].ps));
    /* A replica that computes looks for arrivals when its step ends. */
    return idle || x->n_replica > 1 ? u64_min(ps, arrivals_next_ps(&x->arrivals, x->now_ps)) : ps;
}

static int run(struct simulation *x, struct error *err)
{
    for (uint64_t n = 0;; n++) {
        if (n % 4096 == 0 && interrupt_check(err) != 0)
            return -1;
        if (take_arrivals(x, err) != 0)
            return -1;
        for (uint32_t i = 0; i < x->n_replica; i++)
            if (x->replica[i].due && form_steps(x, &x->replica[i], err) != 0)
                return -1;
        const uint64_t ps = next_ps(x);
        if (ps == UINT64_MAX)
            break;
        x->now_ps = ps;
        for (uint32_t i = 0; i < x->n_replica; i++)
            if (x->replica[i].n_flight > 0 && x->replica[i].flight[0].end_ps <= ps && apply(x, &x->replica[i], err) != 0)
                return -1;
        end_transfers(x);
    }
    for (uint32_t i = 0; i < x->n_replica; i++)
        if (!scheduler_idle(&x->replica[i].s))
            return error_set(err, ERROR_INPUT, "%s: requests wait for KV blocks that never become free", x->w->name);
    return 0;
}

static void add_totals(struct serve_totals *t, const struct scheduler *s)
{
    t->n_preempt += s->n_preempt;
    t->n_evicted += s->pool.n_evicted;
    t->n_query_tok += s->n_query_tok;
    t->n_hit_tok += s->n_hit_tok;
    t->n_loaded_tok += s->n_loaded_tok;
}

static int simulation_init(struct simulation *x, struct error *err)
{
    x->n_replica = x->o->n_replica > 1 ? x->o->n_replica : 1;
    x->replica = calloc(x->n_replica, sizeof *x->replica);
    if (!x->replica)
        return error_oom(err, x->n_replica * sizeof *x->replica, "the replicas");
    for (uint32_t i = 0; i < x->n_replica; i++)
        if (scheduler_init(&x->replica[i].s, x->o->policy, x->o->n_block, err) != 0)
            return -1;
    if (x->o->n_prefill > 0 && !(x->prompt_ps = calloc(x->w->n, sizeof *x->prompt_ps)))
        return error_oom(err, x->w->n * sizeof *x->prompt_ps, "the times of prompts");
    return arrivals_init(&x->arrivals, x->w, x->o->max_concurrency, x->o->gap_scale, err);
}

static void simulation_free(struct simulation *x)
{
    for (uint32_t i = 0; x->replica && i < x->n_replica; i++) {
        struct replica *p = &x->replica[i];
        for (size_t k = 0; k < MOST_FLIGHT; k++) {
            if (k < p->n_flight)
                scheduler_forget(&p->flight[k].batch);
            batch_free(&p->flight[k].batch);
        }
        scheduler_free(&p->s);
    }
    free(x->replica);
    free(x->transfer);
    free(x->prompt_ps);
    arrivals_free(&x->arrivals);
}

int serve_step_by_step(struct serve_result *r, const struct serve_workload *w, const struct serve_options *o, struct error *err)
{
    struct simulation x = { .w = w, .o = o, .r = r };
    int rc = simulation_init(&x, err);
    if (rc == 0) {
        rc = run(&x, err);
        r->t.end_ps = x.now_ps;
        for (uint32_t i = 0; i < x.n_replica; i++)
            add_totals(&r->t, &x.replica[i].s);
    }
    simulation_free(&x);
    return rc;
}

int serve_simulate(struct serve_result *r, const struct serve_workload *w, const struct serve_options *o, struct error *err)
{
    if (serve_check(w, o, err) != 0 || serve_result_init(r, w->n, err) != 0)
        return -1;
    r->stepped = o->flags & SERVE_STEP_BY_STEP || !serve_can_jump(o, r->why, sizeof r->why);
    const int rc = r->stepped ? serve_step_by_step(r, w, o, err) : serve_jumping(r, w, o, err);
    if (rc != 0)
        serve_result_free(r);
    return rc;
}
