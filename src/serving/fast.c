/*
 * Simulation by jumps. Sequences that decode, have a token in every step and are not about to end are "steady": they change alike from step
 * to step, so that a step costs the same however many they are, and n steps in which nothing else happens are one closed form. All other
 * sequences are "irregular" and handled one by one, as in scheduler.c. Where a budget or the blocks do not suffice, all become irregular for
 * a step. Equal to simulate.c, picosecond by picosecond.
 *
 * Of a steady sequence, tokens known and computed are stored less the number of steps applied and formed so far, its end as the number of
 * applied steps at which it leaves. Its blocks with an identity lie in a common stash until it leaves: which of them it gets does not matter,
 * for none of them has a hash.
 */
#include "serving/fast.h"
#include "serving/scheduler.h"
#include <stdlib.h>
#include <string.h>

bool serve_can_jump(const struct serve_options *o, char *why, size_t size)
{
    const struct policy *p = o->policy;
    const char *text = o->n_replica > 1                ? "several replicas"
                       : p->kind != POLICY_VLLM        ? "the policy's batches are not vLLM's"
                       : p->num_speculative_tokens > 0 ? "speculation: steps yield different numbers of tokens"
                       : p->n_host_block > 0           ? "KV blocks in host memory"
                       : p->priority                   ? "priorities"
                       : p->n_group > 1 || p->window[0] > 0 ? "windows of attention"
                                                            : NULL;
    snprintf(why, size, "%s", text ? text : "");
    return !text;
}

/* ---- a step -------------------------------------------------------------------------------------------------------------- */

static uint32_t needed_tokens(const struct fast *x, const struct seq *q, uint64_t budget)
{
    const uint64_t placed = q->flag & OLDER, longest = x->p->max_model_len - 1;
    if (placed && q->computed + 1 >= q->last)
        return 0;
    uint64_t n = q->known + placed - q->computed;
    if (x->p->long_prefill_token_threshold > 0)
        n = u64_min(n, x->p->long_prefill_token_threshold);
    return (uint32_t)u64_min(u64_min(n, budget), longest - u64_min(q->computed, longest));
}

static uint32_t new_blocks(const struct fast *x, const struct seq *q, uint32_t n_tok)
{
    return blocks_of(x, q->computed + n_tok) - blocks_of(x, q->computed);
}

/* Puts n_tok tokens of an irregular sequence into the step. */
static int schedule(struct fast *x, uint32_t i, uint32_t n_tok, struct step_load *load, struct error *err)
{
    struct seq *q = &x->seq[i];
    struct held *h = held_of(x, i);
    if (fast_take_blocks(x, h, new_blocks(x, q, n_tok), err) != 0)
        return -1;
    if (h)
        fast_hash_blocks(x, h, q->known, q->computed + n_tok);
    (n_tok > 1 ? step_load_prompt : step_load_decode)(load, x->o->price, (uint32_t)q->computed, n_tok);
    if (q->computed + n_tok >= q->known + (q->flag & OLDER))
        q->flag |= (uint8_t)(OLDER << x->n_flight);
    q->computed += n_tok;
    return 0;
}

/* Every running sequence gets what it needs, but that the youngest may have to do with less: budget and blocks suffice. */
static bool all_fit(const struct fast *x, uint64_t budget)
{
    uint64_t n_tok = x->n_steady, n_block = x->n_steady > 0 ? crossing(x, 0) : 0;
    for (uint32_t k = 0; k < x->n_irregular; k++) {
        const uint32_t i = x->irregular[k];
        const bool youngest = i == x->last_seq;
        const uint32_t need = needed_tokens(x, &x->seq[i], youngest ? budget - u64_min(n_tok, budget) : UINT64_MAX);
        n_tok += need;
        n_block += need > 0 ? new_blocks(x, &x->seq[i], need) : 0;
    }
    return n_tok <= budget && n_block <= x->pool.n_free;
}

static int form_all(struct fast *x, uint64_t *budget, struct step_load *load, struct error *err)
{
    *budget -= x->n_steady;
    if (x->n_steady > 0) {
        if (fast_take_blocks(x, &x->stash, crossing(x, 0), err) != 0)
            return -1;
        x->sum_computed += x->n_steady;
        load->n_decode = x->n_steady;
        load->context[0] = x->sum_computed;
    }
    x->n_formed++;
    for (uint32_t k = 0; k < x->n_irregular; k++) {
        const uint32_t n_tok = needed_tokens(x, &x->seq[x->irregular[k]], *budget);
        if (n_tok > 0 && schedule(x, x->irregular[k], n_tok, load, err) != 0)
            return -1;
        *budget -= n_tok;
    }
    return 0;
}

static int preempt_last(struct fast *x, struct error *err)
{
    const uint32_t i = x->last_seq;
    struct seq *s = &x->seq[i];
    struct waiting q = { .request = s->request, .known = (uint32_t)s->known, .flag = s->flag & (uint32_t)~FRESH };
    q.last_ps = s->flag & FRESH ? x->applied_ps : s->last_ps;
    struct held *h = held_of(x, i);
    fast_release(x, h, s->computed);
    if (h)
        q.held = *h;
    fast_list_remove(x, i);
    x->n_irregular--; /* the last of them */
    x->r->t.n_preempt++;
    x->r->out[q.request].n_preempt++;
    return fast_push_front(x, &q, err);
}

/* One by one, as in scheduler.c. */
static int form_each(struct fast *x, uint64_t *budget, bool *preempted, struct step_load *load, struct error *err)
{
    if (fast_all_irregular(x, err) != 0)
        return -1;
    x->n_formed++;
    for (uint32_t k = 0; k < x->n_irregular && *budget > 0; k++) {
        const uint32_t i = x->irregular[k], n_tok = needed_tokens(x, &x->seq[i], *budget);
        if (n_tok == 0)
            continue;
        const uint32_t n_block = new_blocks(x, &x->seq[i], n_tok);
        while (k < x->n_irregular && n_block > x->pool.n_free) {
            *preempted = true;
            if (preempt_last(x, err) != 0)
                return -1;
        }
        if (k == x->n_irregular)
            break;
        if (schedule(x, i, n_tok, load, err) != 0)
            return -1;
        *budget -= n_tok;
    }
    return 0;
}

/* The first waiting request can start with at most `budget` tokens: how many; 0: it cannot. */
static uint32_t admissible(struct fast *x, uint64_t budget, uint32_t *hit)
{
    if (x->n_waiting == 0 || budget == 0 || x->n >= x->p->max_num_seqs)
        return 0;
    const struct waiting *q = waiting_at(x, 0);
    uint32_t in_queue;
    *hit = fast_prefix_hit(x, q, &in_queue);
    uint32_t n_tok = q->known - *hit * x->p->block_size;
    if (x->p->long_prefill_token_threshold > 0)
        n_tok = u32_min(n_tok, x->p->long_prefill_token_threshold);
    if (!x->p->enable_chunked_prefill && n_tok > budget)
        return 0;
    n_tok = (uint32_t)u64_min(n_tok, budget);
    const uint32_t kept = x->n > 0 ? x->n_reserve : 0;
    const uint32_t whole = x->p->scheduler_reserve_full_isl ? blocks_of(x, q->known) : 0, part = blocks_of(x, (uint64_t)*hit * x->p->block_size + n_tok);
    const uint64_t blocks = (uint64_t)in_queue + (whole > part ? whole : part) - *hit + kept;
    return blocks <= x->pool.n_free ? n_tok : 0;
}

static int admit(struct fast *x, uint32_t hit, struct error *err)
{
    const struct waiting w = *waiting_at(x, 0);
    const struct serve_request *r = &x->w->r[w.request];
    struct serve_outcome *out = &x->r->out[w.request];
    const uint32_t i = fast_list_append(x);
    struct seq *q = &x->seq[i];
    fast_pop_front(x);
    x->irregular[x->n_irregular++] = i;
    q->request = w.request;
    q->known = w.known;
    q->computed = (uint64_t)hit * x->p->block_size;
    q->last = r->end == SERVE_END_LENGTH ? r->n_in + r->n_out : x->p->max_model_len;
    q->stop = r->n_in + r->n_out;
    q->flag = (uint8_t)w.flag;
    q->last_ps = w.last_ps;
    if (out->start_ps == SERVE_NOT_YET) {
        out->start_ps = x->now_ps;
        out->n_hit = (uint32_t)q->computed;
        x->r->t.n_query_tok += w.known;
        x->r->t.n_hit_tok += out->n_hit;
    }
    if (!x->pool.identity)
        return 0;
    struct held *h = &x->held[i];
    *h = w.held;
    if (!fast_reserve(h, hit + 16, err))
        return -1;
    for (; h->n < hit; h->n++) {
        h->block[h->n] = x->hit[h->n];
        block_pool_share(&x->pool, x->hit[h->n]);
    }
    h->n_hashed = hit;
    return 0;
}

static int form_waiting(struct fast *x, uint64_t *budget, struct step_load *load, struct error *err)
{
    uint32_t hit = 0;
    if (x->p->batch_until_empty && x->n > 0)
        return 0;
    for (uint32_t n_tok; (n_tok = admissible(x, *budget, &hit)) > 0; *budget -= n_tok)
        if (admit(x, hit, err) != 0 || schedule(x, x->last_seq, n_tok, load, err) != 0)
            return -1;
    return 0;
}

static int form(struct fast *x, bool *formed, struct error *err)
{
    struct step_load load = { 0 };
    uint64_t budget = x->p->max_num_batched_tokens;
    bool preempted = false;
    const bool all = all_fit(x, budget);
    if ((all ? form_all(x, &budget, &load, err) : form_each(x, &budget, &preempted, &load, err)) != 0)
        return -1;
    if (!preempted && form_waiting(x, &budget, &load, err) != 0)
        return -1;
    *formed = load.n_decode + load.n_prompt > 0;
    if (!*formed) {
        x->n_formed--;
        return 0;
    }
    struct serve_step step = { .n = 1, .start_ps = u64_max(x->now_ps, x->device_ps), .n_decode = load.n_decode, .n_prompt = load.n_prompt,
                               .n_running = x->n, .n_waiting = (uint32_t)x->n_waiting, .used_blocks = x->pool.n - x->pool.n_free };
    const uint64_t ps = step_price_ps(x->o->price, &load);
    if (x->o->work)
        step_work_add(x->o->work, x->o->price, &load, NULL, 1, &step.bytes, &step.flop);
    if (serve_check_end(x->w, step.start_ps, ps, err) != 0)
        return -1;
    step.end_ps = x->device_ps = x->flight_ps[x->n_flight] = step.start_ps + ps;
    serve_note_steps(x->r, x->o, &step, step.used_blocks);
    x->n_flight++;
    return 0;
}

/* ---- what came of it --------------------------------------------------------------------------------------------------------- */

static void end_request(struct fast *x, uint32_t request)
{
    x->r->out[request].end_ps = x->now_ps;
    arrivals_end(&x->arrivals, request, x->now_ps);
}

/* A token of a request whose newest one, if any, came at last_ps. */
static void note_token(struct fast *x, uint32_t request, bool started, uint64_t last_ps)
{
    if (started)
        histogram_add(&x->r->gap, x->now_ps - last_ps, 1);
    else
        x->r->out[request].first_ps = x->now_ps;
}

static uint32_t next_flight(uint32_t flag)
{
    return (flag & ~(uint32_t)(OLDER | NEWER)) | ((flag & NEWER) >> 1);
}

static void apply_waiting(struct fast *x)
{
    size_t flown = 0;
    for (size_t i = 0; i < x->n_flown; i++) {
        struct waiting *q = waiting_at(x, i);
        if (q->flag & OLDER) {
            note_token(x, q->request, q->flag & STARTED, q->last_ps);
            q->last_ps = x->now_ps;
            q->known++;
            q->flag |= STARTED;
        }
        q->flag = next_flight(q->flag);
        flown = q->flag & OLDER ? i + 1 : flown;
        if (q->known == x->w->r[q->request].n_in + x->w->r[q->request].n_out) {
            end_request(x, q->request);
            free(q->held.hash);
            fast_remove_waiting(x, i);
            i--;
        }
    }
    x->n_flown = flown;
}

static void apply_token(struct fast *x, struct seq *q)
{
    if (q->flag & OLDER) {
        note_token(x, q->request, q->flag & STARTED, q->flag & FRESH ? x->applied_ps : q->last_ps);
        q->known++;
        q->flag |= FRESH | STARTED;
    } else if (q->flag & FRESH) {
        q->last_ps = x->applied_ps;
        q->flag &= (uint8_t)~FRESH;
    }
    q->flag = (uint8_t)next_flight(q->flag);
}

/* It has a token in every step, and will for some. */
static bool is_steady(const struct fast *x, const struct seq *q, const struct held *h)
{
    const uint64_t placed = q->flag & OLDER;
    return q->flag & FRESH && placed == x->n_flight && q->computed + 1 == q->known + placed && q->known < fast_steady_until(x, q, h);
}

static void apply_irregular(struct fast *x)
{
    const uint32_t n = x->n_irregular;
    x->n_irregular = 0;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t i = x->irregular[k];
        struct seq *q = &x->seq[i];
        struct held *h = held_of(x, i);
        apply_token(x, q);
        if (q->known == q->stop) {
            end_request(x, q->request);
            x->r->t.n_wasted_tok += q->flag & OLDER;
            fast_release(x, h, q->computed);
            if (h)
                free(h->hash);
            fast_list_remove(x, i);
            continue;
        }
        if (h)
            fast_hash_blocks(x, h, q->known, q->computed);
        if (is_steady(x, q, h))
            fast_join(x, i);
        else
            x->irregular[x->n_irregular++] = i;
    }
}

static int apply(struct fast *x, struct error *err)
{
    x->now_ps = u64_max(x->now_ps, x->flight_ps[0]);
    x->flight_ps[0] = x->flight_ps[1];
    x->n_flight--;
    x->n_applied++;
    histogram_add(&x->r->gap, x->now_ps - x->applied_ps, x->n_steady);
    apply_irregular(x);
    if (x->n_flown > 0)
        apply_waiting(x);
    x->applied_ps = x->now_ps;
    return fast_let_leave(x, err);
}

/* ---- a jump ------------------------------------------------------------------------------------------------------------------- */

/* Of n steps, those for which the blocks suffice; *taken: the blocks they take. */
static uint64_t steps_with_blocks(const struct fast *x, uint64_t n, uint64_t *taken)
{
    const uint32_t bs = x->p->block_size;
    const uint64_t rounds = u64_min(n / bs, x->pool.n_free / x->n_steady); /* of a block for each */
    uint64_t steps = rounds * bs;
    *taken = rounds * x->n_steady;
    for (uint32_t more; steps < n && *taken + (more = crossing(x, steps)) <= x->pool.n_free; steps++)
        *taken += more;
    return steps;
}

/* When step i of the jump is formed. */
static uint64_t formed_ps(const struct fast *x, const struct step_load *load, uint64_t i)
{
    if (i < x->n_flight) /* asynchronous: formed while the one before runs */
        return x->now_ps;
    const uint64_t ps = step_price_run_ps(x->o->price, load, &x->n_steady, i - x->n_flight);
    return ps > UINT64_MAX - x->device_ps ? UINT64_MAX : u64_max(x->now_ps, x->device_ps) + ps;
}

/* Of n > 0 steps, those formed before the next arrival: at least the first. */
static uint64_t steps_before(const struct fast *x, const struct step_load *load, uint64_t arrival_ps, uint64_t n)
{
    if (formed_ps(x, load, n - 1) < arrival_ps)
        return n;
    uint64_t lo = 0, hi = n - 1; /* lo is formed before it, hi is not */
    while (hi - lo > 1) {
        const uint64_t middle = lo + (hi - lo) / 2;
        if (formed_ps(x, load, middle) < arrival_ps)
            lo = middle;
        else
            hi = middle;
    }
    return lo + 1;
}

/* A waiting request cannot be admitted however many steps pass. */
static bool stays_blocked(struct fast *x)
{
    uint32_t hit;
    const uint32_t budget = x->p->max_num_batched_tokens;
    return x->n >= x->p->max_num_seqs || x->n >= budget || x->p->batch_until_empty ||
           (x->n_waiting > 0 && admissible(x, budget - x->n, &hit) == 0);
}

/* Steps that can be jumped over, *load the first of them; *taken: the blocks of all of them. */
static uint64_t steps_alike(struct fast *x, struct step_load *load, uint64_t *taken)
{
    if (x->n_steady == 0 || x->n_irregular > 0 || x->n_flown > 0 || x->n_flight != (x->p->async_scheduling ? 1 : 0) ||
        x->n_steady > x->p->max_num_batched_tokens)
        return 0;
    const bool blocked = stays_blocked(x);
    if (!blocked && x->n_waiting > 0)
        return 0;
    uint64_t n = x->heap[0].n_applied - x->n_applied;
    *load = (struct step_load){ .n_decode = x->n_steady, .context[0] = x->sum_computed + x->n_steady };
    if (!blocked && n > 1)
        n = steps_before(x, load, arrivals_next_ps(&x->arrivals, x->now_ps), n);
    return steps_with_blocks(x, n, taken);
}

static int jump(struct fast *x, const struct step_load *load, uint64_t n, uint64_t taken, struct error *err)
{
    const struct step_price *price = x->o->price;
    const uint32_t used = x->pool.n - x->pool.n_free;
    const uint64_t first_ps = step_price_ps(price, load), by_ps = price->context_ps[load->n_decode] * x->n_steady;
    struct serve_step step = { .n = n, .n_decode = x->n_steady, .n_running = x->n, .n_waiting = (uint32_t)x->n_waiting };
    step.start_ps = u64_max(x->now_ps, x->device_ps);
    const uint64_t all_ps = step_price_run_ps(price, load, &x->n_steady, n);
    if (serve_check_end(x->w, step.start_ps, all_ps, err) != 0)
        return -1;
    if (fast_take_blocks(x, &x->stash, (uint32_t)taken, err) != 0)
        return -1;
    x->sum_computed += n * x->n_steady;
    x->n_formed += n;
    x->n_applied += n;
    if (x->n_flight > 0)
        histogram_add(&x->r->gap, x->flight_ps[0] - x->applied_ps, x->n_steady);
    histogram_add_run(&x->r->gap, first_ps, by_ps, n - x->n_flight, x->n_steady);
    step.end_ps = step.start_ps + all_ps;
    x->now_ps = x->applied_ps = step.start_ps + step_price_run_ps(price, load, &x->n_steady, n - x->n_flight);
    x->device_ps = x->flight_ps[0] = step.end_ps;
    step.used_blocks = x->pool.n - x->pool.n_free;
    if (x->o->work)
        step_work_add(x->o->work, price, load, &x->n_steady, n, &step.bytes, &step.flop);
    serve_note_steps(x->r, x->o, &step, used);
    return fast_let_leave(x, err);
}

/* ---- a simulation ---------------------------------------------------------------------------------------------------------------- */

static int run(struct fast *x, struct error *err)
{
    const size_t most = x->p->async_scheduling ? MOST_FLIGHT : 1;
    for (uint64_t n = 0;; n++) {
        struct step_load load;
        uint64_t taken, n_alike;
        bool formed = false;
        if (n % 4096 == 0 && interrupt_check(err) != 0)
            return -1;
        if (fast_take_arrivals(x, err) != 0)
            return -1;
        if ((n_alike = steps_alike(x, &load, &taken)) > 1) {
            if (jump(x, &load, n_alike, taken, err) != 0)
                return -1;
            continue;
        }
        if (form(x, &formed, err) != 0)
            return -1;
        if (formed && x->n_flight < most)
            continue;
        if (x->n_flight > 0) {
            if (apply(x, err) != 0)
                return -1;
            continue;
        }
        const uint64_t next_ps = arrivals_next_ps(&x->arrivals, x->now_ps);
        if (next_ps == UINT64_MAX)
            return x->n + x->n_waiting == 0 ? 0 : error_set(err, ERROR_INPUT, "%s: requests wait for KV blocks that never become free", x->w->name);
        x->now_ps = next_ps;
    }
}

static int fast_init(struct fast *x, struct error *err)
{
    bool shared = false;
    for (size_t i = 0; x->p->enable_prefix_caching && i < x->w->n && !shared; i++)
        shared = x->w->r[i].n_run > 0;
    x->n_reserve = (uint32_t)(x->p->watermark * x->o->n_block);
    x->cap = (uint32_t)u64_min(x->p->max_num_seqs, x->w->n);
    x->ring_cap = 64;
    x->first_seq = x->last_seq = NO_SEQ;
    const size_t n = x->cap;
    x->seq = malloc(n * sizeof *x->seq);
    x->held = shared ? calloc(n, sizeof *x->held) : NULL;
    x->spare = malloc(n * sizeof *x->spare);
    x->irregular = malloc(n * sizeof *x->irregular);
    x->heap = malloc(n * sizeof *x->heap);
    x->hit = shared ? malloc(x->o->n_block * sizeof *x->hit) : NULL;
    x->residue = calloc(x->p->block_size, sizeof *x->residue);
    x->ring = malloc(x->ring_cap * sizeof *x->ring);
    if (!x->seq || (shared && (!x->held || !x->hit)) || !x->spare || !x->irregular || !x->heap || !x->residue || !x->ring)
        return error_oom(err, n * sizeof *x->seq, "the running sequences");
    while (x->n_spare < x->cap) {
        x->spare[x->n_spare] = x->cap - 1 - x->n_spare;
        x->n_spare++;
    }
    /* Without identities nothing can hit: blocks need only be counted. */
    if (block_pool_init(&x->pool, x->o->n_block, shared, err) != 0)
        return -1;
    return arrivals_init(&x->arrivals, x->w, x->o->max_concurrency, x->o->gap_scale, err);
}

static void fast_free(struct fast *x)
{
    for (uint32_t i = x->first_seq; x->pool.identity && i != NO_SEQ; i = x->seq[i].next) {
        free(x->held[i].block);
        free(x->held[i].hash);
    }
    for (size_t i = 0; i < x->n_waiting; i++)
        free(waiting_at(x, i)->held.hash);
    free(x->seq);
    free(x->held);
    free(x->spare);
    free(x->irregular);
    free(x->heap);
    free(x->residue);
    free(x->hit);
    free(x->stash.block);
    free(x->ring);
    block_pool_free(&x->pool);
    arrivals_free(&x->arrivals);
}

int serve_jumping(struct serve_result *r, const struct serve_workload *w, const struct serve_options *o, struct error *err)
{
    struct fast x = { .w = w, .o = o, .p = o->policy, .r = r };
    int rc = fast_init(&x, err);
    if (rc == 0)
        rc = run(&x, err);
    r->t.end_ps = x.now_ps;
    r->t.n_evicted = x.pool.n_evicted;
    fast_free(&x);
    return rc;
}
