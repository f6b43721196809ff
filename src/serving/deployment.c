#include "serving/deployment.h"
#include "predict/speculate.h"
#include "serving/generate.h"
#include "serving/scheduler.h"
#include <math.h>
#include <string.h>

static bool chosen(enum choice c, bool by_default)
{
    return c == CHOICE_DEFAULT ? by_default : c == CHOICE_ON;
}

static uint32_t given(uint32_t v, uint32_t by_default)
{
    return v > 0 ? v : by_default;
}

int deployment_policy(struct policy *p, const struct policy_device *device, const struct deployment_options *x, const struct serve_workload_sum *w,
                      uint32_t n_ctx_train, struct error *err)
{
    if (policy_init(p, x->policy ? x->policy : policy_name(0), device, err) != 0)
        return -1;
    p->max_num_seqs = given(x->max_num_seqs, p->max_num_seqs);
    if (device->engine && p->max_num_batched_tokens < p->max_num_seqs)
        p->max_num_batched_tokens = p->max_num_seqs;
    p->max_num_batched_tokens = given(x->max_num_batched_tokens, p->max_num_batched_tokens);
    p->block_size = given(x->block_size, p->block_size);
    p->long_prefill_token_threshold = x->long_prefill_token_threshold;
    p->enable_prefix_caching = chosen(x->enable_prefix_caching, p->enable_prefix_caching);
    p->enable_chunked_prefill = chosen(x->enable_chunked_prefill, p->enable_chunked_prefill);
    p->async_scheduling = chosen(x->async_scheduling, p->async_scheduling);
    p->scheduler_reserve_full_isl = chosen(x->whole_prompt, p->scheduler_reserve_full_isl);
    p->priority = x->priority;
    p->watermark = isnan(x->watermark) ? p->watermark : x->watermark;
    p->num_speculative_tokens = x->num_speculative_tokens;
    p->look_ahead = x->look_ahead;
    /* As the model was trained; a policy that teaches, which takes prompts whole, as the longest request is. */
    const uint32_t trained = n_ctx_train > 0 ? n_ctx_train : w->most_tokens + 1;
    const bool whole = p->kind == POLICY_VLLM && !p->enable_chunked_prefill && x->enable_chunked_prefill == CHOICE_DEFAULT && w->most_tokens > 0;
    policy_set_model_len(p, given(x->max_model_len, whole && w->most_tokens < trained ? w->most_tokens + 1 : trained));
    if (x->enable_chunked_prefill != CHOICE_DEFAULT && strncmp(p->name, "vllm", 4) != 0)
        return error_set(err, ERROR_USAGE, "enable-chunked-prefill: %s has no choice", p->name);
    if (p->kind == POLICY_LLAMA_SERVER && (x->kv_offloading_gib > 0 || x->enable_prefix_caching != CHOICE_DEFAULT))
        return error_set(err, ERROR_USAGE, "%s", x->kv_offloading_gib > 0 ? "kv-offloading-size: llama-server has none"
                                                                         : "enable-prefix-caching: llama-server has no choice, its slots keep what they computed");
    if (x->max_num_batched_tokens > 0) /* not raised in silence */
        p->max_num_batched_tokens = x->max_num_batched_tokens;
    if (strcmp(p->name, "one-by-one") == 0 && p->max_num_seqs != 1)
        return error_set(err, ERROR_USAGE, "max-num-seqs is %u: one-by-one has 1", p->max_num_seqs);
    return policy_check(p, err);
}

static struct memory_options memory_of(const struct deployment *d, const struct hwprofile *h, const struct predict_options *o,
                                       const struct deployment_options *x)
{
    const struct policy *p = &d->policy;
    struct memory_options m = memory_defaults(h, p->release > 0 ? p->release : MEMORY_ALONE);
    m.layout = o->layout;
    m.layout.dp = 1;
    m.type_k = o->type_k;
    m.type_v = o->type_v;
    m.block = p->block_size;
    m.max_batched_tokens = p->kind == POLICY_VLLM ? p->max_num_batched_tokens : p->n_ubatch;
    m.max_seqs = p->max_num_seqs;
    if (!isnan(x->gpu_memory_utilization))
        m.utilization = x->gpu_memory_utilization;
    return m;
}

/* Layer groups that share the pool. Returns the part of a block of all layers that a group's takes; 1: all layers alike. */
static double set_groups(struct policy *p, const struct op_classes *classes)
{
    uint32_t full = 0, windowed = 0, window = 0;
    for (size_t i = 0; i < classes->n; i++) {
        const struct op *op = &classes->c[i].op;
        if (op->kind != OP_ATTENTION)
            continue;
        const uint32_t n = (uint32_t)(classes->c[i].count + 0.5);
        *(op->window > 0 ? &windowed : &full) += n;
        window = op->window > window ? op->window : window;
    }
    const struct kv_groups g = kv_groups_of(full, windowed, window);
    if (g.n == 1 || p->kind != POLICY_VLLM)
        return 1;
    p->n_group = g.n;
    memcpy(p->window, g.window, sizeof g.window);
    memcpy(p->n_layer, g.n_layer, sizeof g.n_layer);
    return (double)g.size / (full + windowed);
}

enum { MOST_BLOCKS = 1 << 26 }; /* each takes some 30 bytes where prompts share prefixes */

double deployment_engine_blocks(uint32_t max_num_seqs, uint64_t blocks_a_sequence, double memory_bytes, double block_bytes)
{
    return fmin(floor(memory_bytes / 4 / block_bytes), max_num_seqs * (double)blocks_a_sequence);
}

/* Blocks that fit with a draft model's weights, each with the draft model's keys and values of its positions. */
static double blocks_with_draft(const struct deployment *d, const struct op_classes *draft, const struct predict_options *o)
{
    enum { MANY = 64 };
    const struct cost_options kv = { .type_k = o->type_k, .type_v = o->type_v };
    const uint64_t positions = (uint64_t)MANY * d->policy.block_size;
    const double block = d->plan.block_bytes + step_kv_bytes(draft, &d->draft_layout, &kv, positions, d->policy.block_size) / MANY;
    return fmax(0, floor((d->plan.blocks * d->plan.block_bytes - step_weight_bytes(draft, &d->draft_layout)) / block));
}

/* Of vLLM's blocks the first one is the null block. engine: the default is the engine's. */
static int set_blocks(struct deployment *d, const struct op_classes *classes, const struct hwprofile *h, const struct predict_options *o,
                      const struct deployment_options *x, bool engine, struct error *err)
{
    const struct memory_options m = memory_of(d, h, o, x);
    if (x->num_gpu_blocks_override == 1 || x->num_gpu_blocks_override > MOST_BLOCKS)
        return error_set(err, ERROR_USAGE, "num-gpu-blocks-override is %u: expected 2 to %d", x->num_gpu_blocks_override, MOST_BLOCKS);
    if (memory_model_init(&d->memory, classes, h, &m, err) != 0)
        return -1;
    d->plan = memory_plan(&d->memory);
    if (x->draft && x->num_speculative_tokens > 0)
        d->plan.blocks = blocks_with_draft(d, x->draft, o);
    const double part = set_groups(&d->policy, classes);
    double blocks = x->num_gpu_blocks_override > 0 ? x->num_gpu_blocks_override : floor(d->plan.blocks / part);
    if (engine && !isnan(blocks) && x->num_gpu_blocks_override == 0 && isnan(x->gpu_memory_utilization) && d->policy.kind == POLICY_VLLM)
        blocks = fmin(blocks, deployment_engine_blocks(d->policy.max_num_seqs, scheduler_blocks_of(&d->policy, d->policy.max_model_len),
                                                       h->mem_bytes.value, d->plan.block_bytes * part) + 1);
    if (isnan(blocks))
        return error_set(err, ERROR_INPUT, "cannot simulate: the profile of %s has no memory size: give --num-gpu-blocks-override", h->id);
    if (blocks < 2)
        return error_set(err, ERROR_INPUT, "cannot simulate: %s leaves no memory for a KV cache on %s: %.3g GB are missing", classes->m->name, h->id,
                         fmax(0, -d->plan.free_bytes) / 1e9);
    d->n_block = (uint32_t)fmin(blocks - 1, UINT32_MAX - 1);
    d->policy.n_host_block = (uint32_t)fmin(x->kv_offloading_gib * 1024 * 1024 * 1024 / (d->plan.block_bytes * d->n_device), UINT32_MAX - 1);
    return 0;
}

int deployment_draw(struct deployment *d, uint64_t draw, uint64_t seed, struct error *err)
{
    d->clock.draw = draw;
    d->clock.seed = seed;
    return model_clock(&d->price, &d->estimator, &d->policy, &d->clock, err);
}

/* The draft model with the target's tensor parallelism where that divides it, else whole copies. */
static int init_draft(struct deployment *d, const struct op_classes *draft, const struct op_classes *target, const struct hwprofile *h,
                      const struct predict_options *o, struct error *err)
{
    struct error not_divided = { 0 };
    struct predict_options own = *o;
    if (draft->m->hp.n_vocab != target->m->hp.n_vocab)
        return error_set(err, ERROR_USAGE, "the draft model %s has a vocabulary of %u tokens, %s one of %u: drafts must share it", draft->m->name,
                         draft->m->hp.n_vocab, target->m->name, target->m->hp.n_vocab);
    own.layout = (struct layout){ .tp = o->layout.tp, .dp = 1 };
    if (layout_check(&own.layout, draft, &not_divided) != 0)
        own.layout.tp = 1;
    d->draft_layout = own.layout;
    return estimator_init(&d->draft, draft, h, &own, err);
}

/* All but the estimators, which must be there unless `first`. */
static int settle(struct deployment *d, const struct op_classes *classes, const struct hwprofile *h, const struct predict_options *o,
                  const struct deployment_options *x, const struct serve_workload *w, bool first, struct error *err)
{
    const struct serve_workload_sum sum = w ? serve_workload_sum(w) : (struct serve_workload_sum){ 0 };
    struct predict_options one = *o;
    one.layout.dp = 1;
    const uint64_t n = w ? w->n : 1;
    d->clock = (struct clock_options){ .graphs = chosen(x->cuda_graphs, h->kind == HW_GPU), .blackwell = h->mem_bytes.value > 170e9,
                                       .context = (uint32_t)((sum.n_in + sum.n_out / 2) / n) };
    struct policy_device device = policy_device_of(h);
    if (first && (estimator_init(&d->estimator, classes, h, &one, err) != 0 || (x->draft && init_draft(d, x->draft, classes, h, &one, err) != 0)))
        return -1;
    d->clock.draft = x->draft ? &d->draft : NULL;
    const struct spec_tokens tokens = spec_tokens(&(struct acceptance){ x->accept, ARRAY_LEN(x->accept) }, x->num_speculative_tokens);
    d->clock.draft_first = spec_first_tokens(x->draft_nextn ? SPEC_MTP : SPEC_MODEL, &tokens);
    device.engine = o->time && d->estimator.timing.basis == TIME_BY_KERNELS;
    if (deployment_policy(&d->policy, &device, x, &sum, classes->m->hp.n_ctx_train, err) != 0 || set_blocks(d, classes, h, o, x, device.engine, err) != 0 ||
        step_price_alloc(&d->price, &d->policy, err) != 0)
        return -1;
    return deployment_draw(d, 0, 0, err);
}

int deployment_init(struct deployment *d, const struct op_classes *classes, const struct hwprofile *h, const struct predict_options *o,
                    const struct deployment_options *x, const struct serve_workload *w, struct error *err)
{
    struct layout one = o->layout;
    one.dp = 1;
    *d = (struct deployment){ .n_device = layout_devices(&one), .n_replica = o->layout.dp > 1 ? o->layout.dp : 1 };
    if (settle(d, classes, h, o, x, w, true, err) == 0)
        return 0;
    deployment_free(d);
    return -1;
}

int deployment_change(struct deployment *d, const struct op_classes *classes, const struct hwprofile *h, const struct predict_options *o,
                      const struct deployment_options *x, const struct serve_workload *w, struct error *err)
{
    memory_model_free(&d->memory);
    step_price_free(&d->price);
    step_work_free(&d->work);
    d->memory = (struct memory_model){ 0 };
    d->price = (struct step_price){ 0 };
    return settle(d, classes, h, o, x, w, false, err);
}

void deployment_free(struct deployment *d)
{
    memory_model_free(&d->memory);
    estimator_free(&d->estimator);
    estimator_free(&d->draft);
    step_price_free(&d->price);
    step_work_free(&d->work);
}

int deployment_count_work(struct deployment *d, struct error *err)
{
    return step_work_init(&d->work, &d->estimator, &d->policy, &d->clock, err);
}

struct serve_options deployment_serve_options(const struct deployment *d, const struct deployment_options *x, uint64_t seed)
{
    struct serve_options o = { .policy = &d->policy, .price = &d->price, .work = d->work.model.weight_bytes ? &d->work : NULL, .n_block = d->n_block, .n_replica = d->n_replica,
                               .kv_token_bytes = d->plan.kv_token_bytes * d->n_device, .seed = seed };
    memcpy(o.accept, x->accept, sizeof o.accept);
    return o;
}

int deployment_identify(struct serve_workload *w, const struct serve_options *run, struct error *err)
{
    struct serve_result r;
    if (!run->policy->enable_prefix_caching || serve_workload_identified(w))
        return 0;
    if (serve_simulate(&r, w, run, err) != 0)
        return -1;
    const bool preempts = r.t.n_preempt > 0;
    serve_result_free(&r);
    return preempts ? serve_workload_identify(w, err) : 0;
}
