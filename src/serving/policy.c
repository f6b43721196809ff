/* Policies and their defaults. Source: vLLM (vllm/v1/core/sched/scheduler.py, vllm/config), llama.cpp (tools/server). */
#include "serving/policy.h"
#include "cost/memory.h"
#include "hwprofile/hwprofile.h"
#include <string.h>

static const struct {
    const char *name, *help;
} policies[] = {
    { "vllm-0.27", "continuous batching, chunked prompts, prefix cache, whole prompts admitted; the default" },
    { "vllm-0.15", "the same without the admission of whole prompts; any vllm-0.N is understood" },
    { "llama-server", "slots: one token of each, then prompts slot by slot until a batch is full" },
    { "static", "batches that start together and end together, before continuous batching" },
    { "one-by-one", "one request at a time" },
};

/* Releases from which a default holds. */
enum {
    RELEASE_V1 = 8,          /* 0.8: the scheduler of V1 is the default */
    RELEASE_ASYNC = 14,      /* 0.14.0: --async-scheduling (vllm#27614) */
    RELEASE_WHOLE_PROMPT = 19, /* scheduler_reserve_full_isl (vllm#37307); set in the configuration that a run of 0.19.0 printed */
    RELEASE_LARGE = 30,      /* budget of 16,384 tokens from 160 GiB on */
};

static const double GIB = 1024.0 * 1024 * 1024;

struct policy_device policy_device_of(const struct hwprofile *h)
{
    return (struct policy_device){ .memory_bytes = h->mem_bytes.value, .is_gpu = h->kind == HW_GPU || h->kind == HW_NPU,
                                   .is_a100 = strcasestr(h->name, "a100") || strstr(h->id, "a100") };
}

const char *policy_name(size_t i)
{
    return i < ARRAY_LEN(policies) ? policies[i].name : NULL;
}

const char *policy_help(size_t i)
{
    return i < ARRAY_LEN(policies) ? policies[i].help : NULL;
}

static void vllm_defaults(struct policy *p, const struct policy_device *d)
{
    const unsigned release = p->release;
    const bool large = d->is_gpu && !d->is_a100 && d->memory_bytes >= 70 * GIB;
    const bool largest = large && d->memory_bytes >= 160 * GIB && release >= RELEASE_LARGE;
    p->max_num_batched_tokens = d->engine ? 512 : largest ? 16384 : large ? 8192 : 2048;
    p->max_num_seqs = large ? 1024 : 256;
    p->block_size = 16;
    p->enable_chunked_prefill = p->enable_prefix_caching = true;
    p->async_scheduling = release >= RELEASE_ASYNC && !d->engine;
    p->scheduler_reserve_full_isl = release >= RELEASE_WHOLE_PROMPT;
}

static void llama_server_defaults(struct policy *p)
{
    p->kind = POLICY_LLAMA_SERVER;
    p->release = 0;
    p->max_num_seqs = 4;
    p->max_num_batched_tokens = 2048;
    p->n_ubatch = 512;
    p->block_size = 1;
}

/* Prompts whole; the budget is the longest prompt's. */
static void simple_defaults(struct policy *p, uint32_t max_num_seqs)
{
    p->max_num_seqs = max_num_seqs;
    p->block_size = 16;
    p->scheduler_reserve_full_isl = true;
    p->batch_until_empty = max_num_seqs > 1;
}

static int unknown(const char *name, struct error *err)
{
    size_t best = 0;
    for (size_t i = 1; i < ARRAY_LEN(policies); i++)
        if (edit_distance(name, policies[i].name) < edit_distance(name, policies[best].name))
            best = i;
    return error_set(err, ERROR_USAGE, "unknown policy \"%s\": did you mean %s? Expected vllm-0.N, llama-server, static or one-by-one", name, policies[best].name);
}

int policy_init(struct policy *p, const char *name, const struct policy_device *d, struct error *err)
{
    const unsigned own = strncmp(name, "vllm-", 5) == 0 ? memory_release_find(name) : 0;
    *p = (struct policy){ .name = name, .kind = POLICY_VLLM, .release = own > 0 ? own : memory_release_find(policies[0].name), .n_group = 1 };
    if (own > 0 && (own < RELEASE_V1 || own > MEMORY_NEWEST))
        return error_set(err, ERROR_USAGE, "policy \"%s\": expected a release from vllm-0.%d, whose scheduler is V1's, to vllm-0.%d", name, RELEASE_V1,
                         MEMORY_NEWEST);
    if (own > 0 || strcmp(name, "vllm") == 0)
        vllm_defaults(p, d);
    else if (strcmp(name, "llama-server") == 0)
        llama_server_defaults(p);
    else if (strcmp(name, "static") == 0)
        simple_defaults(p, 32);
    else if (strcmp(name, "one-by-one") == 0)
        simple_defaults(p, 1);
    else
        return unknown(name, err);
    return 0;
}

static int check_range(const char *what, uint32_t v, uint32_t lo, uint32_t hi, struct error *err)
{
    return v >= lo && v <= hi ? 0 : error_set(err, ERROR_USAGE, "%s is %u: expected %u to %u", what, v, lo, hi);
}

static int check_together(const struct policy *p, struct error *err)
{
    if (p->max_num_batched_tokens < p->max_num_seqs)
        return error_set(err, ERROR_USAGE, "max-num-batched-tokens is %u: expected at least max-num-seqs, %u", p->max_num_batched_tokens,
                         p->max_num_seqs);
    if (p->kind == POLICY_VLLM && !p->enable_chunked_prefill && p->max_num_batched_tokens < p->max_model_len)
        return error_set(err, ERROR_USAGE, "max-num-batched-tokens is %u: without chunked prefill expected at least max-model-len, %u",
                         p->max_num_batched_tokens, p->max_model_len);
    if (p->kind == POLICY_LLAMA_SERVER && p->block_size != 1)
        return error_set(err, ERROR_USAGE, "block-size is %u: llama-server has no blocks, expected 1", p->block_size);
    const char *absent = p->watermark > 0                          ? "watermark"
                         : p->async_scheduling                     ? "async-scheduling"
                         : p->long_prefill_token_threshold > 0     ? "long-prefill-token-threshold"
                         : p->n_host_block > 0                     ? "kv-offloading-size"
                         : p->priority                             ? "scheduling-policy priority"
                                                                   : NULL;
    if (p->kind == POLICY_LLAMA_SERVER && absent)
        return error_set(err, ERROR_USAGE, "%s: llama-server has none", absent);
    if (p->look_ahead > p->num_speculative_tokens)
        return error_set(err, ERROR_USAGE, "%u slots of look-ahead for %u drafted tokens", p->look_ahead, p->num_speculative_tokens);
    return 0;
}

int policy_check(const struct policy *p, struct error *err)
{
    if (check_range("max-num-seqs", p->max_num_seqs, 1, 1 << 20, err) != 0 ||
        check_range("max-num-batched-tokens", p->max_num_batched_tokens, 1, SERVE_MAX_BATCH_TOKENS, err) != 0 ||
        check_range("max-model-len", p->max_model_len, 2, 1 << 27, err) != 0 ||
        check_range("block-size", p->block_size, 1, 1 << 20, err) != 0 ||
        check_range("num-speculative-tokens", p->num_speculative_tokens, 0, POLICY_MAX_DRAFT, err) != 0 ||
        check_range("groups of layers", p->n_group, 1, POLICY_MAX_GROUPS, err) != 0)
        return -1;
    if (!(p->watermark >= 0 && p->watermark < 1))
        return error_set(err, ERROR_USAGE, "watermark is %g: expected 0 to 1, a fraction of the blocks", p->watermark);
    return check_together(p, err);
}

void policy_set_model_len(struct policy *p, uint32_t max_model_len)
{
    p->max_model_len = max_model_len;
    if (p->kind != POLICY_VLLM || p->enable_chunked_prefill)
        return;
    const uint64_t most = u64_min((uint64_t)max_model_len * (p->batch_until_empty ? p->max_num_seqs : 1), SERVE_MAX_BATCH_TOKENS);
    p->max_num_batched_tokens = (uint32_t)u64_max(most, u64_max(max_model_len, p->max_num_batched_tokens));
}

uint32_t policy_graph_max(const struct policy *p, bool blackwell)
{
    const uint64_t most = u64_min(2 * (uint64_t)p->max_num_seqs * (1 + p->num_speculative_tokens), blackwell ? 1024 : 512);
    return (uint32_t)u64_min(p->max_num_batched_tokens, most);
}

uint32_t policy_graph_size(uint32_t n_tok, uint32_t max)
{
    if (n_tok > max || n_tok <= 2)
        return n_tok;
    const uint32_t step = n_tok <= 4 ? 4 : n_tok <= 248 ? 8 : 16;
    const uint32_t size = (n_tok + step - 1) / step * step;
    return size < max ? size : max;
}
