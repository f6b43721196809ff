#include "cli/serve.h"
#include "bench/bench.h"
#include "ceilings/ceilings.h"
#include "cli/cli.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_BLOCK = 16 };

/* ---- the policy -------------------------------------------------------------------------------------------------------- */

static int make_policy(struct serve_setup *s, const struct deployment_options *x, const struct serve_workload_sum *w, struct error *err)
{
    const struct policy_device cpu = { .memory_bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE), .engine = true };
    struct policy *p = &s->policy;
    if (deployment_policy(p, &cpu, x, w, s->m.hp.n_ctx_train, err) != 0)
        return -1;
    if (s->m.hp.n_ctx_train > 0 && p->max_model_len > s->m.hp.n_ctx_train)
        notify_warn("max-model-len is %u: %s was trained on %u positions", p->max_model_len, s->m.name, s->m.hp.n_ctx_train);
    s->block_size = p->kind == POLICY_VLLM ? p->block_size : DEFAULT_BLOCK;
    if (s->block_size < 8 || s->block_size > 128 || (s->block_size & (s->block_size - 1)) != 0)
        return error_set(err, ERROR_USAGE, "--block-size: the engine's blocks have 8, 16, 32, 64 or 128 positions; found %u", s->block_size);
    return 0;
}

double serve_position_bytes(const struct serve_setup *s, const struct op_list *ops)
{
    double bytes = 0;
    for (size_t i = 0; i < ops->n; i++)
        if (ops->ops[i].kind == OP_KV_STORE)
            bytes += ops->ops[i].n_head_kv * (double)(dtype_row_bytes(s->engine.type_k, ops->ops[i].head_dim) +
                                                      dtype_row_bytes(s->engine.type_v, ops->ops[i].head_dim_v));
    return bytes;
}

/* Layer groups as the model has them, where the policy frees what leaves a window. *position_bytes: of a position in a block. */
static int make_groups(struct serve_setup *s, struct kv_groups *g, double *position_bytes, struct error *err)
{
    struct op_list ops;
    uint32_t n_layer = 0;
    if (op_list_build(&ops, &s->m, err) != 0)
        return -1;
    *g = kv_groups_of_ops(&ops);
    *position_bytes = serve_position_bytes(s, &ops);
    for (size_t i = 0; i < ops.n; i++)
        n_layer += ops.ops[i].kind == OP_KV_STORE;
    op_list_free(&ops);
    if (s->policy.kind == POLICY_VLLM && g->n > 1) {
        s->policy.n_group = g->n;
        memcpy(s->policy.window, g->window, sizeof g->window);
        memcpy(s->policy.n_layer, g->n_layer, sizeof g->n_layer);
        *position_bytes *= (double)g->size / n_layer; /* a block's layers */
    } else {
        *g = (struct kv_groups){ 0 };
    }
    return 0;
}

/* ---- the KV cache ------------------------------------------------------------------------------------------------------ */

/* Blocks that sequences of n_position positions take, whatever the policy counts in. */
static uint64_t blocks_of(const struct serve_setup *s, uint64_t n_position)
{
    return s->policy.kind == POLICY_VLLM ? scheduler_blocks_of(&s->policy, n_position) : u64_ceil_div(n_position, s->block_size) + 1;
}

/* max_model_len 0 in x: as long as the pool has room for. */
static int fit_length(struct serve_setup *s, const struct deployment_options *x, struct error *err)
{
    const uint32_t trained = s->policy.max_model_len;
    const uint32_t slack = s->policy.num_speculative_tokens + s->policy.look_ahead + s->policy.async_scheduling;
    uint32_t n = trained;
    while (n > s->block_size && blocks_of(s, (uint64_t)n + slack) > s->n_block)
        n -= n % s->block_size ? n % s->block_size : s->block_size;
    if (n == trained)
        return 0;
    if (x->max_model_len > 0 || n <= s->block_size)
        return error_set(err, ERROR_USAGE, "a sequence of --max-model-len %u takes %llu KV blocks of %u positions: there are %u (--kv-cache-memory, "
                         "--num-gpu-blocks-override)", trained, (unsigned long long)blocks_of(s, (uint64_t)trained + slack), s->block_size, s->n_block);
    policy_set_model_len(&s->policy, n);
    notify_note("max-model-len is %u: the KV cache has room for no longer a sequence; the model was trained on %u positions", n, trained);
    return policy_check(&s->policy, err);
}

static int choose_blocks(struct serve_setup *s, const struct serve_setup_options *o, const struct deployment_options *x, double position_bytes,
                         struct error *err)
{
    const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE), block_bytes = position_bytes * s->block_size;
    double n = o->kv_bytes > 0 ? floor(o->kv_bytes / block_bytes)
                               : deployment_engine_blocks(s->policy.max_num_seqs, blocks_of(s, s->policy.max_model_len), memory, block_bytes);
    if (x->num_gpu_blocks_override > 0)
        n = x->num_gpu_blocks_override - 1; /* less vLLM's null block */
    if (!(n >= 2 && n < 1 << 26))
        return error_set(err, ERROR_USAGE, "a KV cache of %.3g blocks of %.3g kB: expected 2 to %d (--kv-cache-memory, --num-gpu-blocks-override)", n,
                         block_bytes / 1e3, 1 << 26);
    s->n_block = (uint32_t)n;
    return fit_length(s, x, err);
}

/* ---- set-up ------------------------------------------------------------------------------------------------------------ */

static int make_engine(struct serve_setup *s, const struct kv_groups *g, bool batch_invariant, struct error *err)
{
    const struct policy *p = &s->policy;
    struct engine_options eo = setup_engine_options(&s->machine, &s->engine);
    eo.n_ctx = p->max_model_len;
    eo.n_ubatch = p->n_ubatch > 0 ? p->n_ubatch : p->max_num_batched_tokens;
    eo.n_seq = (uint32_t)u64_min(p->max_num_seqs, eo.n_ubatch);
    eo.n_out_max = (uint32_t)u64_min(eo.n_ubatch, (uint64_t)p->max_num_seqs * (1 + p->num_speculative_tokens));
    eo.n_block = s->n_block;
    eo.block_size = s->block_size;
    eo.groups = *g;
    eo.batch_invariant = batch_invariant;
    eo.hidden = s->nextn;
    s->e = engine_new(&s->m, &eo, err);
    return s->e ? 0 : -1;
}

int serve_setup_init(struct serve_setup *s, const struct serve_setup_options *o, const struct deployment_options *x, const struct serve_workload_sum *w,
                     struct error *err)
{
    struct kv_groups g;
    double position_bytes;
    *s = (struct serve_setup){ .engine = o->engine };
    if (setup_model_open(&s->m, o->model, err) != 0)
        return -1;
    if (make_policy(s, x, w, err) == 0 && make_groups(s, &g, &position_bytes, err) == 0 && loop_check_policy(&s->policy, err) == 0 && serve_drafter_init(s, o, &position_bytes, err) == 0 &&
        choose_blocks(s, o, x, position_bytes, err) == 0 && setup_init(&s->machine, o->threads, &s->engine, err) == 0 && make_engine(s, &g, o->batch_invariant, err) == 0 &&
        serve_draft_engine_init(s, err) == 0) {
        setup_note_scales(&s->engine, s->e);
        return 0;
    }
    serve_setup_free(s);
    return -1;
}

int serve_probe(struct serve_setup *s, struct error *err)
{
    const struct ceilings_options o = { .effort = CEILINGS_BRIEF, .n_threads = s->machine.n_threads, .cpu_flags = s->machine.cpu_flags, .cpus = &s->machine.cpus };
    struct ceilings_prober *p = ceilings_prober_new(bench_math(s->e), s->machine.n_threads, &o, err);
    struct ceilings_probed now;
    struct step_work *w = &s->peaks;
    const int rc = p ? ceilings_probe(p, &now, err) : -1;
    if (rc == 0) {
        w->peak_bytes_s = w->peak_bytes_s > 0 ? (w->peak_bytes_s + now.dram.value) / 2 : now.dram.value;
        w->peak_flop_s = w->peak_flop_s > 0 ? (w->peak_flop_s + now.peak.value) / 2 : now.peak.value;
    }
    ceilings_prober_free(p);
    return rc;
}

void serve_setup_free(struct serve_setup *s)
{
    if (s->drafter.free)
        s->drafter.free(s->drafter.ctx);
    engine_free(s->e);
    setup_free(&s->machine);
    model_free(&s->draft);
    model_free(&s->m);
}

struct loop_options serve_loop_options(const struct serve_setup *s, const struct serve_setup_options *o, uint64_t seed)
{
    struct loop_options l = { .policy = s->policy, .n_block = s->n_block, .seed = seed, .drafter = s->drafter, .forced_accept = o->n_rate > 0 };
    for (uint32_t i = 0; i < POLICY_MAX_DRAFT && o->n_rate > 0; i++)
        l.accept[i] = o->rates[i < o->n_rate ? i : o->n_rate - 1];
    return l;
}
