/* Passes of a row: number, tokens, devices. methods.md (55) */
#include "cost/memory.h"
#include "cost/offload.h"
#include "dataset/stacks.h"
#include "dataset/workload_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Default lengths of a request: ShareGPT's means; cached tokens of a short generation. */
enum { GUESS_PROMPT = 220, GUESS_OUT = 200, GUESS_SHORT = 64, GUESS_PREFILL = 512, GUESS_SEQUENCES = 64 };
/* Decode replicas of a disaggregated server: the median of rows that state it. */
enum { GUESS_COPIES = 2 };
static const double MEMORY_USED = 0.9; /* vLLM's default gpu_memory_utilization */

int workload_reject(struct workload *out, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(out->reason, sizeof out->reason, fmt, ap);
    va_end(ap);
    return 0;
}

static double or_guess(struct workload *out, double v, double otherwise, unsigned guess)
{
    if (!isnan(v))
        return v;
    out->guesses |= guess;
    return otherwise;
}

static uint32_t count(double v)
{
    return (uint32_t)fmax(1, fmin(round(v), 1e9));
}

/* ---- passes ---------------------------------------------------------------------------------------------- */

/* Prompts of n tokens of n_seq sequences; n_ubatch 0: in one pass. */
static int add_prefill(struct workload *out, const struct row_model *s, double n, double depth, double n_seq, double n_ubatch,
                       double times, struct error *err)
{
    struct pass_group g[2];
    const double most = n_ubatch > 0 ? n_ubatch : n * n_seq;
    const size_t n_group = prefill_groups(count(n), (uint32_t)depth, count(most), count(n_seq), g);
    for (size_t i = 0; i < n_group; i++) {
        const struct pass_request r = { PHASE_PREFILL, times * g[i].n, g[i].p, 1 };
        if (work_add(out, s, &r, err) != 0)
            return -1;
    }
    return 0;
}

/* n steps after a prompt, at their mean depth. */
static int add_steps(struct workload *out, const struct row_model *s, double prompt, double n_seq, double n, struct error *err)
{
    const struct pass_request r = { PHASE_DECODE, count(n), decode_pass(count(prompt), count(n_seq)), count(n) };
    return work_add(out, s, &r, err);
}

static int add_decode(struct workload *out, const struct row_model *s, double context, double n_seq, double times, struct error *err)
{
    const struct pass_request r = { PHASE_DECODE, times, decode_pass((uint32_t)fmax(0, round(context)), count(n_seq)), 1 };
    return work_add(out, s, &r, err);
}

/* ---- rates ------------------------------------------------------------------------------------------------- */

static enum split split_of(const struct measurement *m, const struct stack *stack)
{
    if (m->n_devices < 2)
        return SPLIT_NONE;
    if (m->tags & TAG_LAYER_SPLIT)
        return SPLIT_LAYER;
    if (m->tags & TAG_DATA_PARALLEL)
        return SPLIT_DATA;
    if (m->tags & TAG_TENSOR_PARALLEL)
        return SPLIT_TENSOR;
    return stack_trait(stack, ENGINE_BY_LAYER) > 0 ? SPLIT_LAYER : SPLIT_TENSOR;
}

/* Sequences whose KV cache fits in memory next to the weights; NaN: unknown, or none fits. */
static double capacity(const struct workload *p, const struct row_model *s, double positions)
{
    const struct cost_options o = { .act_elem_bytes = p->roofs->act_elem_bytes, .type_k = p->type_k, .type_v = p->type_v };
    const double kv = cost_kv_bytes_token(&s->ops, &o) * s->kv_share * positions + cost_state_bytes_sequence(&s->ops);
    const double room = p->machine->h.mem_bytes.value * p->n_devices * MEMORY_USED - p->model_bytes;
    return kv > 0 && room > kv ? room / kv : NAN;
}

/* Sequences of the most loaded device. */
static double sequences_each(const struct workload *p)
{
    return fmax(1, ceil(p->batch / (p->split == SPLIT_DATA ? p->n_devices : 1)));
}

/* Prompt tokens per pass: the row's, its source's script's, or the stack's default. methods.md (55) */
static double ubatch_of(const struct workload *p, const struct measurement *m)
{
    const struct rule_fact fact[KEY_COUNT] = { [KEY_STACK] = { .text = p->stack->id }, [KEY_ORIGIN] = { .text = m->source } };
    if (m->n_ubatch == 0 && m->context > 0)
        return stacks_value(TABLE_SCRIPTS, 0, fact, p->stack->n_ubatch);
    return m->n_ubatch > 0 ? m->n_ubatch : p->stack->n_ubatch;
}

static int add_prefill_rate(struct workload *out, const struct measurement *m, const struct row_model *s, struct error *err)
{
    out->prompt = or_guess(out, m->prompt > 0 ? m->prompt : NAN, GUESS_PREFILL, GUESS_LENGTH);
    out->context = or_guess(out, m->context, 0, 0);
    out->batch = or_guess(out, m->batch, 1, GUESS_BATCH);
    out->measured_s = out->prompt * out->batch / m->value;
    const double ubatch = ubatch_of(out, m);
    return add_prefill(out, s, out->prompt, out->context, sequences_each(out), ubatch, 1, err);
}

static int add_decode_rate(struct workload *out, const struct measurement *m, const struct row_model *s, struct error *err)
{
    out->prompt = or_guess(out, m->prompt, 0, 0);
    out->context = or_guess(out, m->context, out->prompt + GUESS_SHORT, GUESS_CONTEXT);
    out->batch = or_guess(out, m->batch, 1, GUESS_BATCH);
    out->measured_s = out->batch / m->value;
    return add_decode(out, s, out->context, sequences_each(out), 1, err);
}

/* Whole requests, from the first byte to the last token; one wave of several. */
static int add_request_rate(struct workload *out, const struct measurement *m, const struct row_model *s, struct error *err)
{
    out->prompt = or_guess(out, m->prompt > 0 ? m->prompt : NAN, GUESS_PROMPT, GUESS_LENGTH);
    const double half = m->context > out->prompt ? m->context - out->prompt : NAN;
    out->out = or_guess(out, m->out > 0 ? m->out : 2 * half, GUESS_OUT, GUESS_LENGTH);
    out->context = out->prompt + out->out / 2;
    const double room = capacity(out, s, out->prompt + out->out), copies = out->split == SPLIT_DATA ? out->n_devices : 1;
    const double at_once = copies * stack_trait(out->stack, ENGINE_SEQUENCES);
    const double most = isnan(room) ? at_once : fmin(room, at_once);
    out->batch = or_guess(out, m->batch, floor(isnan(room) ? GUESS_SEQUENCES : most), GUESS_BATCH);
    if (out->batch > most && out->batch > 1) { /* more requests than run concurrently */
        out->batch = fmax(1, floor(most));
        out->guesses |= GUESS_BATCH;
    }
    const double per_request = m->tags & TAG_TOTAL_TOKENS ? out->prompt + out->out : out->out;
    const double n_seq = sequences_each(out), ubatch = m->n_ubatch > 0 ? m->n_ubatch : out->stack->n_ubatch;
    out->measured_s = out->batch * per_request / m->value;
    if (add_prefill(out, s, out->prompt, 0, n_seq, ubatch, 1, err) != 0)
        return -1;
    return out->out > 1 ? add_steps(out, s, out->prompt, n_seq, out->out - 1, err) : 0;
}

static int add_phase(struct workload *out, const struct measurement *m, const struct row_model *s, struct error *err)
{
    switch (m->phase) {
    case MEASURE_PREFILL:
        return add_prefill_rate(out, m, s, err);
    case MEASURE_DECODE:
        return add_decode_rate(out, m, s, err);
    case MEASURE_REQUEST:
        return add_request_rate(out, m, s, err);
    case MEASURE_NO_PHASE:
        break;
    }
    return workload_reject(out, "a rate of no phase");
}

int workload_add_rate(struct workload *out, const struct measurement *m, const struct row_model *s, struct error *err)
{
    struct offload_split split;
    out->split = split_of(m, out->stack);
    const uint32_t n = (uint32_t)m->n_devices;
    const struct layout l = { .tp = out->split == SPLIT_TENSOR ? n : 1,
                              .pp = out->split != SPLIT_LAYER ? 1 : n < out->n_layer ? n : out->n_layer };
    if (choose_layout(out, s, &l, err) != 0 || workload_offload(out, &split, s, err) != 0)
        return -1;
    const int rc = out->reason[0] ? 0 : add_phase(out, m, s, err);
    if (out->split_offload)
        offload_split_free(&split);
    out->split_offload = NULL;
    return rc;
}

/* ---- servers ------------------------------------------------------------------------------------------------- */

static uint32_t at_least_one(int n)
{
    return n > 0 ? (uint32_t)n : 1;
}

static struct layout layout_of(const struct measure_layout *l)
{
    return (struct layout){ .tp = at_least_one(l->tp), .pp = at_least_one(l->pp), .dp = at_least_one(l->dp),
                            .ep = at_least_one(l->ep) };
}

/* Limits of published server benchmarks, which rarely state them. */
enum { BENCHMARK_TOKENS = 8192, BENCHMARK_SEQS = 256 };

/*
 * Maximum running sequences: KV caches of `positions` positions that fit in memory. of_rest: the server takes that part of what the weights
 * leave, as TensorRT-LLM's free_gpu_memory_fraction, not of all memory. (51)
 */
static int running(struct workload *out, const struct row_model *s, double positions, bool of_rest, double *most, struct error *err)
{
    struct memory_options o = memory_defaults(&out->machine->h, MEMORY_OLDEST);
    struct memory_model m;
    struct error e = { 0 };
    o.max_batched_tokens = BENCHMARK_TOKENS;
    o.max_seqs = BENCHMARK_SEQS;
    o.layout = out->layout;
    o.type_k = out->type_k;
    o.type_v = out->type_v;
    *most = NAN;
    if (of_rest)
        o.utilization = 1 - (1 - o.utilization) * fmax(0, 1 - out->model_bytes / layout_devices(&out->layout) / out->machine->h.mem_bytes.value);
    if (memory_model_init(&m, &s->classes, &out->machine->h, &o, &e) != 0)
        return error_is_fatal(&e) ? error_set(err, e.kind, "%s", e.msg) : interrupt_check(err);
    *most = memory_max_batch(&m, (uint64_t)positions);
    memory_model_free(&m);
    return 0;
}

/* A prompt on the prefill devices, then a step of the running sequences at their mean context. */
int workload_add_serving(struct workload *out, const struct measurement *m, const struct row_model *s, struct error *err)
{
    const struct layout first = layout_of(&m->prefill), later = layout_of(&m->decode);
    const bool stated = strcmp(m->mode, "disagg") != 0 || m->decode.workers > 0;
    const double copies = stated ? at_least_one(m->decode.workers) : GUESS_COPIES, dp = later.dp;
    double most;
    out->split = layout_devices(&later) > 1 ? SPLIT_TENSOR : SPLIT_NONE;
    out->prompt = m->prompt;
    out->out = m->out;
    out->context = m->prompt + m->out / 2;
    out->n_users = or_guess(out, m->concurrency, m->decode.batch * dp * copies, GUESS_BATCH);
    if (isnan(out->n_users))
        return workload_reject(out, "neither a concurrency nor a batch size");
    if (!stated)
        out->guesses |= GUESS_BATCH;
    out->batch = fmax(1, out->n_users / copies);
    out->measured_s = m->value * (m->metric == METRIC_TPOT ? m->step_tokens : 1); /* of a step */
    if (choose_layout(out, s, &first, err) != 0 ||
        add_prefill(out, s, m->prompt, 0, 1, out->stack->n_ubatch, 1, err) != 0 || choose_layout(out, s, &later, err) != 0 ||
        running(out, s, out->context, false, &most, err) != 0 ||
        running(out, s, out->context, strcmp(out->stack->id, "vllm") != 0, &out->fits, err) != 0)
        return -1;
    if (most >= 1 && most < out->batch)
        out->batch = most;
    return add_decode(out, s, out->context, ceil(out->batch / dp), 1, err);
}

/* ---- ops ------------------------------------------------------------------------------------------------------ */

/* false: not a product's name; *role is ROLE_FFN_UP. */
static bool is_product(const char *op, enum op_role *role)
{
    static const struct {
        const char *name;
        enum op_role role;
    } roles[] = { { "attn_pre_proj", ROLE_ATTN_QKV }, { "attn_post_proj", ROLE_ATTN_OUTPUT }, { "mlp_up_proj", ROLE_FFN_GATE_UP },
                  { "mlp_down_proj", ROLE_FFN_DOWN } };
    for (size_t i = 0; i < ARRAY_LEN(roles); i++)
        if (strcmp(roles[i].name, op) == 0) {
            *role = roles[i].role;
            return true;
        }
    *role = ROLE_FFN_UP;
    return false;
}

enum { HALF = 2 }; /* bytes of an FP16 element */

int workload_add_op(struct workload *out, const struct measurement *m, const struct row_model *s, struct error *err)
{
    struct step c = { .count = 1, .n_tok = m->m, .math = MATH_FP16 };
    struct work_pass pass = { .at = { .phase = PHASE_PREFILL, .n_tok = m->m, .n_seq = 1 } };
    out->measured_s = m->value;
    out->batch = m->m;
    const bool product = is_product(m->op, &c.role);
    if (m->n > 0) {
        if (!product)
            snprintf(out->note, sizeof out->note, "unknown product \"%.64s\": assumed %.9g tokens by a [%.9g, %.9g] weight, from m, k and n", m->op,
                     m->m, m->k, m->n);
        c.kind = OP_MATMUL;
        c.rows = m->n;
        c.cols = m->k;
        c.bits = 16;
        c.cost = (struct cost){ .weight_bytes = HALF * m->k * m->n, .act_bytes = HALF * m->m * (m->k + m->n), .flop = 2 * m->m * m->k * m->n };
    } else if (product) {
        return workload_reject(out, "column \"n\": op \"%.64s\" is a product of m tokens by a [k, n] weight, and the row has no n", m->op);
    } else if (!small_kernel(&pass, &c, m, s)) {
        return workload_reject(out, "column \"op\": unknown op \"%.64s\"; without n it is not a product", m->op);
    }
    return work_add_step(out, &pass, &c, err);
}

int workload_add_all_reduce(struct workload *out, const struct measurement *m, struct error *err)
{
    const double n = m->n_devices;
    const struct step c = { .kind = OP_ALL_REDUCE, .role = ROLE_COMM_ATTN, .count = 1, .n_tok = 1, .math = MATH_FP32, .n_comm = (uint32_t)n,
                            .cost = { .link_bytes = 2 * (n - 1) / n * m->bytes } };
    const struct work_pass pass = { .at = { .phase = PHASE_PREFILL, .n_tok = 1, .n_seq = 1 }, .sum = { .comm_bytes = m->bytes } };
    out->measured_s = m->value;
    out->split = SPLIT_TENSOR;
    return work_add_step(out, &pass, &c, err);
}

/* ---- kernels of servers' engines ------------------------------------------------------------------------------- */

/* Attention of one new token per sequence has a pass (11); the families of other kernels (stacks/family.h) read the measurement. */
int workload_add_gpu_kernel(struct workload *out, const struct measurement *m, struct error *err)
{
    out->measured_s = m->value;
    if (strcmp(m->op, "generation_attention") != 0)
        return 0;
    if (!(m->batch > 0) || !(m->n_head > 0) || !(m->n_kv > 0) || !(m->head_dim > 0) || isnan(m->context))
        return workload_reject(out, "generation_attention needs batch_size, num_heads, num_key_value_heads, head_dim and step");
    const struct dtype_info *type = dtype_find_name(m->type_k);
    struct error e = { 0 };
    if (!type)
        return workload_reject(out, "column \"kv_cache_dtype\": no type \"%.64s\" is known", m->type_k);
    if (dtype_check_kv_priced(type->id, "keys", (uint32_t)m->head_dim, &e) != 0)
        return workload_reject(out, "column \"kv_cache_dtype\": %.200s", e.msg);
    if (m->prompt > 1)
        return workload_reject(out, "column \"isl\": %g tokens a sequence; only one is supported", m->prompt);
    const double keys = m->window > 0 ? fmin(m->window, m->context + 1) : m->context + 1;
    out->type_k = out->type_v = type->id;
    out->batch = m->batch;
    out->context = m->context;
    const struct work_pass pass = { .at = { PHASE_DECODE, m->batch, m->context, m->batch } };
    struct step c = { .kind = OP_ATTENTION, .role = ROLE_ATTN_CORE, .math = MATH_BF16, .count = 1, .n_tok = m->batch, .n_head = m->n_head,
                      .head_dim = m->head_dim, .group = m->n_head / m->n_kv };
    c.cost = (struct cost){ .kv_bytes = 2 * m->batch * m->n_kv * keys * dtype_row_bytes(type->id, (uint64_t)m->head_dim),
                            .act_bytes = HALF * 2 * m->batch * m->n_head * m->head_dim, .flop = 4 * m->batch * m->n_head * m->head_dim * keys };
    return work_add_step(out, &pass, &c, err);
}

struct workload *workload_rows(const struct measurements *l, struct workload_builder *p, struct error *err)
{
    struct workload *rows = calloc(l->n + 1, sizeof *rows);
    if (!rows)
        error_oom(err, l->n * sizeof *rows, "rows");
    for (size_t i = 0; rows && i < l->n; i++) {
        if (workload_init(p, &l->row[i], &rows[i], err) != 0) {
            workload_rows_free(rows, i);
            return NULL;
        }
        if (i > 0)
            workload_share_passes(&rows[i], &rows[i - 1]);
    }
    workload_builder_drop_models(p);
    return rows;
}

void workload_rows_free(struct workload *rows, size_t n)
{
    for (size_t i = 0; rows && i < n; i++)
        workload_free(&rows[i]);
    free(rows);
}
