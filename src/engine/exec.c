/*
 * exec: one forward pass. All threads execute the same op list; an op splits rows, tokens or heads among them, and barriers are where
 * plan.c found a dependence (after every op when ops are timed). exec_*.c count work from their loop bounds.
 */
#include "engine/internal.h"
#include <math.h>
#include <string.h>

static exec_fn *const execs[OP_KIND_COUNT] = {
    [OP_EMBED] = exec_embed,
    [OP_RMS_NORM] = exec_norm,
    [OP_MATMUL] = exec_matmul,
    [OP_HEAD_MATMUL] = exec_head_matmul,
    [OP_ROPE] = exec_rope,
    [OP_KV_STORE] = exec_kv_store,
    [OP_KV_EXPAND] = exec_kv_expand,
    [OP_ATTENTION] = exec_attention,
    [OP_GLU] = exec_glu,
    [OP_ADD] = exec_add,
    [OP_ROUTE] = exec_route,
    [OP_EXPERT_MATMUL] = exec_expert_matmul,
    [OP_EXPERT_SUM] = exec_expert_sum,
    [OP_SOFTCAP] = exec_softcap,
};

static void work_add(struct work *sum, const struct work *w)
{
    sum->weight_bytes += w->weight_bytes;
    sum->kv_bytes += w->kv_bytes;
    sum->act_bytes += w->act_bytes;
    sum->flop += w->flop;
}

/* Thread 0, after the op: adds time and work to the sample and publishes software events. */
static void close_op(struct engine *e, size_t i, int nt)
{
    struct op_sample *s = &e->sample[i];
    const uint64_t now = clock_now_ns();
    s->seconds += (double)(now - e->clock_ns) * 1e-9;
    s->n++;
    struct work w = { 0 };
    for (int t = 0; t < nt; t++)
        work_add(&w, &e->thread[t].work[i]);
    e->published.bytes += (long long)(w.weight_bytes + w.kv_bytes + w.act_bytes);
    e->published.flop += (long long)w.flop;
}

/* Adds the counts since *before to *sum. */
static void count(struct engine *e, struct counter_sample *sum, int tid, struct counter_sample *before)
{
    struct counter_sample now, d;
    counters_read(e->c, tid, &now);
    counter_sample_diff(&d, before, &now);
    counter_sample_add(sum, &d);
    *before = now;
}

/* End of pass: adds its work to samples, total and published counts. */
static void close_pass(struct engine *e, int nt)
{
    struct work pass = { 0 };
    for (size_t i = 0; i < e->ops.n; i++)
        for (int t = 0; t < nt; t++) {
            work_add(&e->sample[i].work, &e->thread[t].work[i]);
            work_add(&pass, &e->thread[t].work[i]);
        }
    work_add(&e->total, &pass);
    e->published.bytes = e->published_before.bytes + (long long)(pass.weight_bytes + pass.kv_bytes + pass.act_bytes);
    e->published.flop = e->published_before.flop + (long long)pass.flop;
    e->published.tokens += e->pass.n_tok;
}

static void rope_positions(struct engine *e, size_t table, int tid, int nt)
{
    const uint32_t half = e->ops.rope[table].n_rot / 2;
    const double *freq = e->rope_freq[table], amplitude = e->rope_amplitude[table];
    const size_t t1 = engine_split(e->pass.n_tok, 1, tid + 1, nt);
    for (size_t t = engine_split(e->pass.n_tok, 1, tid, nt); t < t1; t++)
        for (uint32_t k = 0; k < half; k++) {
            const double angle = (double)engine_position(e, t) * freq[k];
            float *cs = e->rope[table] + (t * half + k) * 2;
            cs[0] = (float)(amplitude * cos(angle));
            cs[1] = (float)(amplitude * sin(angle));
        }
}

/* Barrier first, and the clock starts after it, so that the marker tool's time is excluded. */
static void open_region(struct engine *e, size_t i, int tid)
{
    if (!regions_by_role(e))
        return;
    regions_op_start(e, i);
    team_barrier(e->team);
    if (tid == 0)
        e->clock_ns = clock_now_ns();
}

/* Thread 0 has published the op's counts by now. */
static void close_region(struct engine *e, size_t i)
{
    if (!regions_by_role(e))
        return;
    team_barrier(e->team);
    regions_op_stop(e, i);
}

static void pass_main(void *arg, int tid, int nt)
{
    struct engine *e = arg;
    struct work *work = e->thread[tid].work;
    struct counter_sample before, start;
    memset(work, 0, e->ops.n * sizeof *work);
    for (size_t i = 0; i < e->ops.n; i++)
        atomic_store_explicit(&e->thread[tid].next[i], 0, memory_order_relaxed);
    for (size_t r = 0; r < e->ops.n_rope; r++)
        rope_positions(e, r, tid, nt);
    team_barrier(e->team);
    if (tid == 0)
        e->clock_ns = clock_now_ns();
    if (e->counting) {
        counters_read(e->c, tid, &start);
        before = start;
    }
    for (size_t i = 0; i < e->ops.n; i++) {
        if (e->sync[i].fused_away && !e->per_op)
            continue;
        /* Also for a skipped op: its barrier separates others. */
        if (e->sync[i].barrier[e->pass.n_tok == 1] && !e->per_op)
            team_barrier(e->team);
        if (op_n_tok(&e->ops.ops[i], &e->pass) == 0)
            continue;
        if (e->per_op)
            open_region(e, i, tid);
        execs[e->ops.ops[i].kind](e, i, &work[i], tid, nt);
        if (!e->per_op)
            continue;
        team_barrier(e->team);
        if (tid == 0)
            close_op(e, i, nt);
        if (e->counting)
            count(e, &e->thread[tid].counters[i], tid, &before);
        close_region(e, i);
        /* Op boundary: time is taken before any thread starts the next op. */
        team_barrier(e->team);
        if (tid == 0)
            e->clock_ns = clock_now_ns();
    }
    if (!e->counting)
        return;
    team_barrier(e->team); /* thread 0 publishes the counts of all threads */
    if (tid == 0)
        close_pass(e, nt);
    count(e, &e->thread[tid].counted, tid, &start);
}

void engine_run_pass(struct engine *e)
{
    e->published_before = e->published;
    team_run(e->team, pass_main, e);
    e->n_counted += e->counting;
    if (!e->counting)
        close_pass(e, team_size(e->team));
}
