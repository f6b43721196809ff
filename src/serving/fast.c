/*
 * Simulation by jumps. Sequences that decode, have a token in every step and are not about to end are "steady": they change alike from step
 * to step, so that a step costs the same however many they are, and n steps in which nothing else happens are one closed form. All other
 * sequences are "irregular" and handled one by one, as in scheduler.c. All become irregular for a step whose budget does not suffice, or whose
 * blocks do not suffice for a chunk of a prompt. Equal to simulate.c, picosecond by picosecond.
 *
 * Of a steady sequence, tokens known and computed are stored less the number of steps applied and formed so far, its end as the number of
 * applied steps at which it leaves.
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

/* Puts n_tok tokens of an irregular sequence into the step, whose blocks are taken. */
static void schedule(struct fast *x, uint32_t i, uint32_t n_tok, struct step_load *load)
{
    struct seq *q = &x->seq[i];
    struct content *c = content_of(x, i);
    if (c)
        fast_hash_blocks(x, c, q->known, q->computed + n_tok);
    (n_tok > 1 ? step_load_prompt : step_load_decode)(load, x->o->price, (uint32_t)q->computed, n_tok);
    if (q->computed + n_tok >= q->known + (q->flag & OLDER))
        q->flag |= (uint8_t)(OLDER << x->n_flight);
    q->computed += n_tok;
}

struct demand {
    uint64_t n_tok, n_block;
    uint32_t most_block; /* of a sequence */
};

/* Of all running sequences, without limits, but that the youngest does with what the others leave of the budget. */
static struct demand demand_of(struct fast *x, uint64_t budget)
{
    struct demand d = { x->n_steady, x->residue[x->crossing], 1 };
    for (uint32_t k = 0; k < x->n_irregular; k++) {
        const uint32_t i = x->irregular[k];
        struct seq *q = &x->seq[i];
        q->need = needed_tokens(x, q, i == x->last_seq ? budget - u64_min(d.n_tok, budget) : UINT64_MAX);
        d.n_tok += q->need;
        const uint32_t n_block = q->need > 0 ? new_blocks(x, q, q->need) : 0;
        d.n_block += n_block;
        d.most_block = n_block > d.most_block ? n_block : d.most_block;
    }
    return d;
}

static void count_formed(struct fast *x)
{
    x->n_formed++;
    x->crossing = class_before(x, x->crossing);
}

/* The demand of all is met, their blocks are taken. */
static void form_all(struct fast *x, struct step_load *load)
{
    x->sum_computed += x->n_steady;
    load->n_decode = x->n_steady;
    load->context[0] = x->sum_computed;
    count_formed(x);
    for (uint32_t k = 0; k < x->n_irregular; k++) {
        const uint32_t i = x->irregular[k];
        if (x->seq[i].need > 0)
            schedule(x, i, x->seq[i].need, load);
    }
}

static int preempt_last(struct fast *x, struct error *err)
{
    const uint32_t i = x->last_seq;
    struct seq *s = &x->seq[i];
    if (s->steady)
        fast_leave(x, i);
    else
        x->n_irregular--; /* the last of them */
    struct waiting q = { .request = s->request, .known = (uint32_t)s->known, .flag = s->flag & (uint32_t)~FRESH };
    q.last_ps = s->flag & FRESH ? x->applied_ps : s->last_ps;
    fast_release(x, i, s->known);
    if (x->content)
        q.content = x->content[i];
    fast_list_remove(x, i);
    x->r->t.n_preempt++;
    x->r->out[q.request].n_preempt++;
    return fast_push_front(x, &q, err);
}

/* One by one, as in scheduler.c. */
static int form_each(struct fast *x, uint64_t *budget, bool *preempted, struct step_load *load, struct error *err)
{
    fast_all_irregular(x);
    count_formed(x);
    for (uint32_t k = 0; k < x->n_irregular && *budget > 0; k++) {
        const uint32_t i = x->irregular[k], n_tok = needed_tokens(x, &x->seq[i], *budget);
        if (n_tok == 0)
            continue;
        const uint32_t n_block = new_blocks(x, &x->seq[i], n_tok);
        while (k < x->n_irregular && n_block > x->cache.n_free) {
            *preempted = true;
            if (preempt_last(x, err) != 0)
                return -1;
        }
        if (k == x->n_irregular)
            break;
        cache_take(&x->cache, n_block);
        schedule(x, i, n_tok, load);
        *budget -= n_tok;
    }
    return 0;
}

/* Where no sequence needs more than a block, there is none left when the first is preempted, and those before it have theirs. */
static int form_running(struct fast *x, uint64_t *budget, bool *preempted, struct step_load *load, struct error *err)
{
    struct demand d = demand_of(x, *budget);
    uint64_t n_taken = 0;
    if (d.n_tok > *budget || (d.n_block > x->cache.n_free && d.most_block > 1))
        return form_each(x, budget, preempted, load, err);
    while (d.n_block - n_taken > x->cache.n_free) {
        *preempted = true;
        n_taken += x->cache.n_free;
        cache_take(&x->cache, x->cache.n_free);
        if (preempt_last(x, err) != 0)
            return -1;
        d = demand_of(x, *budget);
    }
    cache_take(&x->cache, (uint32_t)(d.n_block - n_taken));
    *budget -= d.n_tok;
    form_all(x, load);
    return 0;
}

/* The first waiting request can start with at most `budget` tokens: how many; 0: it cannot. */
static uint32_t admissible(struct fast *x, uint64_t budget, uint32_t *hit)
{
    if (x->n_waiting == 0 || budget == 0 || x->n >= x->p->max_num_seqs)
        return 0;
    struct waiting *q = waiting_at(x, 0);
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
    return blocks <= x->cache.n_free ? n_tok : 0;
}

static void admit(struct fast *x, uint32_t hit)
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
    if (!x->content)
        return;
    x->content[i] = w.content;
    fast_take_hit(x, &x->content[i], hit);
}

static void form_waiting(struct fast *x, uint64_t *budget, struct step_load *load)
{
    uint32_t hit = 0;
    if (x->p->batch_until_empty && x->n > 0)
        return;
    for (uint32_t n_tok; (n_tok = admissible(x, *budget, &hit)) > 0; *budget -= n_tok) {
        admit(x, hit);
        cache_take(&x->cache, new_blocks(x, &x->seq[x->last_seq], n_tok));
        schedule(x, x->last_seq, n_tok, load);
    }
    x->refused = x->n_waiting > 0 ? waiting_at(x, 0)->request : CACHE_NONE;
}

static int form(struct fast *x, bool *formed, struct error *err)
{
    struct step_load load;
    uint64_t budget = x->p->max_num_batched_tokens;
    bool preempted = false;
    step_load_clear(&load, x->o->price);
    if (form_running(x, &budget, &preempted, &load, err) != 0)
        return -1;
    if (!preempted)
        form_waiting(x, &budget, &load);
    *formed = load.n_decode + load.n_prompt > 0;
    if (!*formed) {
        x->n_formed--;
        x->crossing = x->crossing + 1 < x->p->block_size ? x->crossing + 1 : 0;
        return 0;
    }
    struct serve_step step = { .n = 1, .start_ps = u64_max(x->now_ps, x->device_ps), .n_decode = load.n_decode, .n_prompt = load.n_prompt,
                               .n_running = x->n, .n_waiting = (uint32_t)x->n_waiting, .used_blocks = x->cache.n - x->cache.n_free };
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
            free(q->content.hash);
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
static bool is_steady(const struct fast *x, const struct seq *q, const struct content *c)
{
    const uint64_t placed = q->flag & OLDER;
    return q->flag & FRESH && placed == x->n_flight && q->computed + 1 == q->known + placed && q->known < fast_steady_until(x, q, c);
}

static void apply_irregular(struct fast *x)
{
    const uint32_t n = x->n_irregular;
    x->n_irregular = 0;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t i = x->irregular[k];
        struct seq *q = &x->seq[i];
        struct content *c = content_of(x, i);
        apply_token(x, q);
        if (q->known == q->stop) {
            end_request(x, q->request);
            x->r->t.n_wasted_tok += q->flag & OLDER;
            fast_release(x, i, q->known - 1);
            if (c)
                free(c->hash);
            fast_list_remove(x, i);
            continue;
        }
        if (c)
            fast_hash_blocks(x, c, q->known, q->computed);
        if (is_steady(x, q, c))
            fast_join(x, i);
        else
            x->irregular[x->n_irregular++] = i;
    }
}

static void apply(struct fast *x)
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
    fast_let_leave(x);
}

/* ---- a jump ------------------------------------------------------------------------------------------------------------------- */

/* Steps that are jumped over: their blocks, the class of sequences that is the first to need one after them. */
struct jump {
    struct step_run steps;
    uint64_t n;
    uint32_t n_block, crossing;
};

/* Of n steps, those for which the blocks suffice. */
static void steps_with_blocks(const struct fast *x, uint64_t n, struct jump *j)
{
    const uint32_t bs = x->p->block_size, n_free = x->cache.n_free;
    uint64_t rounds = n < bs ? 0 : n / bs; /* of a block for each */
    if (rounds * x->n_steady > n_free)
        rounds = n_free / x->n_steady;
    j->n = rounds * bs;
    j->n_block = (uint32_t)rounds * x->n_steady;
    for (j->crossing = x->crossing; j->n < n && j->n_block + x->residue[j->crossing] <= n_free; j->n++) {
        j->n_block += x->residue[j->crossing];
        j->crossing = class_before(x, j->crossing);
    }
}

/* Of n > 0 steps, those formed before the next arrival: at least the first. An asynchronous step is formed while the one before runs. */
static uint64_t steps_before(const struct fast *x, const struct step_run *steps, uint64_t arrival_ps, uint64_t n)
{
    const uint64_t start_ps = u64_max(x->now_ps, x->device_ps);
    if (arrival_ps <= start_ps)
        return 1;
    return x->n_flight + step_run_until(steps, arrival_ps - start_ps, n - x->n_flight);
}

/* A waiting request cannot be admitted however many steps pass. One that no step has tried to admit may be. */
static bool stays_blocked(struct fast *x)
{
    uint32_t hit;
    const uint32_t budget = x->p->max_num_batched_tokens;
    return x->n >= x->p->max_num_seqs || x->n >= budget || x->p->batch_until_empty ||
           (x->n_waiting > 0 && waiting_at(x, 0)->request == x->refused && admissible(x, budget - x->n, &hit) == 0);
}

/* j->n: steps that can be jumped over. */
static void steps_alike(struct fast *x, struct jump *j)
{
    j->n = 0;
    if (x->n_steady == 0 || x->n_irregular > 0 || x->n_flown > 0 || x->n_flight != (x->p->async_scheduling ? 1 : 0) ||
        x->n_steady > x->p->max_num_batched_tokens)
        return;
    const bool blocked = stays_blocked(x);
    if (!blocked && x->n_waiting > 0)
        return;
    uint64_t n = x->heap[0].n_applied - x->n_applied;
    j->steps = step_price_run(x->o->price, x->n_steady, x->sum_computed + x->n_steady);
    if (!blocked && n > 1)
        n = steps_before(x, &j->steps, arrivals_next_ps(&x->arrivals, x->now_ps), n);
    steps_with_blocks(x, n, j);
}

static int jump(struct fast *x, const struct jump *j, struct error *err)
{
    const uint32_t used = x->cache.n - x->cache.n_free;
    struct serve_step step = { .n = j->n, .n_decode = x->n_steady, .n_running = x->n, .n_waiting = (uint32_t)x->n_waiting };
    step.start_ps = u64_max(x->now_ps, x->device_ps);
    const uint64_t all_ps = step_run_ps(&j->steps, j->n);
    if (serve_check_end(x->w, step.start_ps, all_ps, err) != 0)
        return -1;
    if (x->o->work) {
        const struct step_load load = { .n_decode = x->n_steady, .context[0] = x->sum_computed + x->n_steady };
        step_work_add(x->o->work, x->o->price, &load, &x->n_steady, j->n, &step.bytes, &step.flop);
    }
    cache_take(&x->cache, j->n_block);
    x->crossing = j->crossing;
    x->sum_computed += j->n * x->n_steady;
    x->n_formed += j->n;
    x->n_applied += j->n;
    if (x->n_flight > 0)
        histogram_add(&x->r->gap, x->flight_ps[0] - x->applied_ps, x->n_steady);
    histogram_add_run(&x->r->gap, j->steps.first_ps, j->steps.by_ps, j->n - x->n_flight, x->n_steady);
    step.end_ps = step.start_ps + all_ps;
    const uint64_t last_ps = j->steps.first_ps + (j->n - 1) * j->steps.by_ps; /* the last step alone */
    x->now_ps = x->applied_ps = x->n_flight > 0 ? step.end_ps - last_ps : step.end_ps;
    x->device_ps = x->flight_ps[0] = step.end_ps;
    step.used_blocks = x->cache.n - x->cache.n_free;
    serve_note_steps(x->r, x->o, &step, used);
    fast_let_leave(x);
    return 0;
}

/* ---- a simulation ---------------------------------------------------------------------------------------------------------------- */

static int run(struct fast *x, struct error *err)
{
    const size_t most = x->p->async_scheduling ? MOST_FLIGHT : 1;
    for (uint64_t n = 0;; n++) {
        struct jump j;
        bool formed = false;
        if (n % 4096 == 0 && interrupt_check(err) != 0)
            return -1;
        if (fast_take_arrivals(x, err) != 0)
            return -1;
        steps_alike(x, &j);
        if (j.n > 1) {
            if (jump(x, &j, err) != 0)
                return -1;
            continue;
        }
        if (form(x, &formed, err) != 0)
            return -1;
        if (formed && x->n_flight < most)
            continue;
        if (x->n_flight > 0) {
            apply(x);
            continue;
        }
        const uint64_t next_ps = arrivals_next_ps(&x->arrivals, x->now_ps);
        if (next_ps == UINT64_MAX)
            return x->n + x->n_waiting == 0 ? 0 : error_set(err, ERROR_INPUT, "%s: requests wait for KV blocks that never become free", x->w->name);
        x->now_ps = next_ps;
    }
}

/* What may be found by other requests. errors: out of memory */
static int content_init(struct fast *x, struct error *err)
{
    bool content = false;
    for (size_t i = 0; x->p->enable_prefix_caching && i < x->w->n && !content; i++)
        content = x->w->r[i].n_run > 0;
    if (cache_init(&x->cache, x->o->n_block, content, err) != 0)
        return -1;
    if (!content)
        return 0;
    x->content = malloc(x->cap * sizeof *x->content);
    if (!x->content)
        return error_oom(err, x->cap * sizeof *x->content, "the running sequences");
    return run_starts_init(&x->starts, x->w, err);
}

static int fast_init(struct fast *x, struct error *err)
{
    x->n_reserve = (uint32_t)(x->p->watermark * x->o->n_block);
    x->per_block = (UINT64_C(1) << 63) / x->p->block_size + 1;
    x->cap = (uint32_t)u64_min(x->p->max_num_seqs, x->w->n);
    x->ring_cap = 64;
    x->first_seq = x->last_seq = NO_SEQ;
    x->refused = CACHE_NONE;
    const size_t n = x->cap;
    x->seq = malloc(n * sizeof *x->seq);
    x->spare = malloc(n * sizeof *x->spare);
    x->irregular = malloc(n * sizeof *x->irregular);
    x->heap = malloc(n * sizeof *x->heap);
    x->residue = calloc(x->p->block_size, sizeof *x->residue);
    x->ring = malloc(x->ring_cap * sizeof *x->ring);
    if (!x->seq || !x->spare || !x->irregular || !x->heap || !x->residue || !x->ring)
        return error_oom(err, n * sizeof *x->seq, "the running sequences");
    while (x->n_spare < x->cap) {
        x->spare[x->n_spare] = x->cap - 1 - x->n_spare;
        x->n_spare++;
    }
    return content_init(x, err) == 0 ? arrivals_init(&x->arrivals, x->w, x->o->max_concurrency, x->o->gap_scale, err) : -1;
}

static void fast_free(struct fast *x)
{
    for (uint32_t i = x->first_seq; x->content && i != NO_SEQ; i = x->seq[i].next)
        free(x->content[i].hash);
    for (size_t i = 0; i < x->n_waiting; i++)
        free(waiting_at(x, i)->content.hash);
    free(x->seq);
    free(x->content);
    free(x->spare);
    free(x->irregular);
    free(x->heap);
    free(x->residue);
    free(x->ring);
    run_starts_free(&x->starts);
    cache_free(&x->cache);
    arrivals_free(&x->arrivals);
}

int serve_jumping(struct serve_result *r, const struct serve_workload *w, const struct serve_options *o, struct error *err)
{
    struct fast x = { .w = w, .o = o, .p = o->policy, .r = r };
    int rc = fast_init(&x, err);
    if (rc == 0)
        rc = run(&x, err);
    r->t.end_ps = x.now_ps;
    r->t.n_evicted = x.cache.n_evicted;
    fast_free(&x);
    return rc;
}
