/*
 * The command that starts a deployment. Options of vLLM: its EngineArgs; of llama-server: its README. Confidence:
 * medium for names of quantization methods, which change between releases.
 */
#include "cli/capacity.h"
#include <string.h>

/* How vLLM takes a type: by --quantization, or --dtype alone. A checkpoint's own method needs no option; it is given so that another
 * checkpoint is refused. */
static const struct {
    const char *type, *quantization, *dtype;
} methods[] = {
    { "F16", NULL, "float16" },
    { "BF16", NULL, "bfloat16" },
    { "F32", NULL, "float32" },
    { "FP8", "fp8", NULL },
    { "FP8_BLOCK", "fp8", NULL },
    { "FP8_CHANNEL", "compressed-tensors", NULL },
    { "FP8_W8A16", "compressed-tensors", NULL },
    { "INT8", "compressed-tensors", NULL },
    { "INT8_W8A16", "compressed-tensors", NULL },
    { "W4A16", "compressed-tensors", NULL },
    { "W4A8_FP8", "compressed-tensors", NULL },
    { "W4A8_INT8", "compressed-tensors", NULL },
    { "NVFP4A16", "compressed-tensors", NULL },
    { "AWQ", "awq_marlin", NULL },
    { "GPTQ", "gptq_marlin", NULL },
    { "NVFP4", "modelopt_fp4", NULL },
    { "NVFP4_FFN", "modelopt_fp4", NULL },
    { "MXFP4_EXPERTS", "mxfp4", NULL },
    { "MXFP4", "mxfp4", NULL },
};

/* A name in a command of a shell. */
static void add_name(struct strbuf *b, const char *name)
{
    const bool plain = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+:") == strlen(name);
    if (plain) {
        strbuf_adds(b, name);
        return;
    }
    strbuf_adds(b, "'");
    for (; *name; name++)
        strbuf_adds(b, *name == '\'' ? "'\\''" : (const char[]){ *name, '\0' });
    strbuf_adds(b, "'");
}

static void add_quantization(struct strbuf *b, const struct model *m)
{
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (strcmp(m->type_name, methods[i].type) == 0) {
            strbuf_addf(b, " --%s %s", methods[i].dtype ? "dtype" : "quantization", methods[i].dtype ? methods[i].dtype : methods[i].quantization);
            return;
        }
    strbuf_adds(b, " --quantization gguf");
}

/* As llama.cpp and vLLM spell a type of the KV cache. */
static void add_type(struct strbuf *b, const char *option, enum dtype t)
{
    strbuf_addf(b, " %s ", option);
    for (const char *c = dtype_name(t); *c; c++)
        strbuf_addf(b, "%c", *c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
}

static void add_flag(struct strbuf *b, enum choice c, const char *name)
{
    if (c != CHOICE_DEFAULT)
        strbuf_addf(b, " --%s%s", c == CHOICE_ON ? "" : "no-", name);
}

/* Where the user chose. */
static void add_chosen(struct strbuf *b, const struct deployment_options *x)
{
    add_flag(b, x->enable_prefix_caching, "enable-prefix-caching");
    add_flag(b, x->enable_chunked_prefill, "enable-chunked-prefill");
    add_flag(b, x->async_scheduling, "async-scheduling");
    if (x->cuda_graphs == CHOICE_OFF)
        strbuf_adds(b, " --enforce-eager");
    if (x->gpu_memory_utilization > 0)
        strbuf_addf(b, " --gpu-memory-utilization %g", x->gpu_memory_utilization);
    if (x->num_gpu_blocks_override > 0)
        strbuf_addf(b, " --num-gpu-blocks-override %u", x->num_gpu_blocks_override);
    if (x->block_size > 0)
        strbuf_addf(b, " --block-size %u", x->block_size);
    if (x->long_prefill_token_threshold > 0)
        strbuf_addf(b, " --long-prefill-token-threshold %u", x->long_prefill_token_threshold);
    if (x->watermark > 0)
        strbuf_addf(b, " --watermark %g", x->watermark);
    if (x->kv_offloading_gib > 0)
        strbuf_addf(b, " --kv-offloading-size %g --kv-offloading-backend native", x->kv_offloading_gib);
    if (x->priority)
        strbuf_adds(b, " --scheduling-policy priority");
}

static void vllm(struct strbuf *b, const struct capacity_type *t, const struct campaign_cell *cell, const struct campaign_result *r)
{
    const struct policy *p = &r->policy;
    const struct layout *l = &cell->predict.layout;
    const uint64_t most = r->n_block * p->block_size; /* vLLM does not start where one sequence of max-model-len has no room */
    strbuf_adds(b, "vllm serve ");
    add_name(b, t->model.m.name);
    add_quantization(b, &t->model.m);
    if (t->cli.price.type_k != DTYPE_F16 && t->cli.price.type_k != DTYPE_BF16)
        add_type(b, "--kv-cache-dtype", t->cli.price.type_k);
    if (l->tp > 1)
        strbuf_addf(b, " --tensor-parallel-size %u", l->tp);
    if (l->pp > 1)
        strbuf_addf(b, " --pipeline-parallel-size %u", l->pp);
    if (l->dp > 1)
        strbuf_addf(b, " --data-parallel-size %u", l->dp);
    if (l->ep > 1)
        strbuf_adds(b, " --enable-expert-parallel");
    strbuf_addf(b, " --max-num-seqs %u --max-num-batched-tokens %u --max-model-len %llu", p->max_num_seqs, p->max_num_batched_tokens,
                (unsigned long long)u64_min(p->max_model_len, most));
    add_chosen(b, &cell->deploy);
    if (p->num_speculative_tokens > 0)
        strbuf_addf(b, " --speculative-config '{%s, \"num_speculative_tokens\": %u}'",
                    serving_is_mtp(&t->cli) ? "\"method\": \"mtp\"" : "\"model\": \"DRAFT\"", p->num_speculative_tokens);
}

static void llama_server(struct strbuf *b, const struct capacity_type *t, const struct campaign_cell *cell, const struct campaign_result *r)
{
    const struct policy *p = &r->policy;
    const struct layout *l = &cell->predict.layout;
    const struct model *m = &t->model.m;
    const uint64_t most = (uint64_t)p->max_num_seqs * p->max_model_len; /* positions of all slots */
    char file[192];
    snprintf(file, sizeof file, "%s-%s.gguf", m->name, m->type_name);
    strbuf_adds(b, "llama-server -m ");
    add_name(b, m->gguf ? m->path : file);
    strbuf_addf(b, " -ngl 99 -np %u --kv-unified -c %llu -b %u -ub %u", p->max_num_seqs, (unsigned long long)u64_min(r->n_block * p->block_size, most),
                p->max_num_batched_tokens, p->n_ubatch);
    if (t->cli.price.type_k != DTYPE_F16)
        add_type(b, "-ctk", t->cli.price.type_k);
    if (t->cli.price.type_v != DTYPE_F16)
        add_type(b, "-ctv", t->cli.price.type_v);
    if (l->tp > 1)
        strbuf_adds(b, " -sm row");
    else if (l->pp > 1)
        strbuf_adds(b, " -sm layer");
    if (p->num_speculative_tokens > 0)
        strbuf_addf(b, " %s --spec-draft-n-max %u", serving_is_mtp(&t->cli) ? "--spec-type draft-mtp" : "-md DRAFT.gguf", p->num_speculative_tokens);
}

void capacity_launch(struct strbuf *out, const struct capacity_type *t, const struct campaign_cell *cell, const struct campaign_result *r)
{
    if (r->policy.kind == POLICY_LLAMA_SERVER)
        llama_server(out, t, cell, r);
    else if (strncmp(r->policy.name, "vllm", 4) == 0)
        vllm(out, t, cell, r);
    else
        strbuf_adds(out, "-");
}
