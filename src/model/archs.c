/* Table of architectures, one per arch_<name>.c. */
#include "model/arch.h"
#include <string.h>

extern const struct arch arch_llama, arch_smollm3, arch_qwen2, arch_qwen3, arch_qwen3moe, arch_gemma2, arch_gemma3,
    arch_phi3, arch_olmo2, arch_gpt_oss, arch_deepseek2, arch_gemma, arch_qwen2moe, arch_olmoe, arch_internlm2, arch_chatglm,
    arch_glm4moe, arch_deepseek, arch_minimax_m2, arch_granite, arch_granitemoe, arch_llama4, arch_grok, arch_dbrx, arch_phimoe,
    arch_qwen3next, arch_qwen35, arch_qwen35moe, arch_jamba, arch_granitehybrid, arch_nemotron_h, arch_falcon_h1, arch_deepseek32,
    arch_lfm2, arch_lfm2moe, arch_deepseek4;
extern const struct arch arch_gpt2, arch_opt, arch_gptneox, arch_gptj, arch_bloom, arch_falcon, arch_mpt, arch_phi2,
    arch_phi3small, arch_stablelm, arch_command_r, arch_cohere2, arch_starcoder2,
    arch_gemma4, arch_glm4;

static const struct arch *const archs[] = {
    &arch_llama,  &arch_smollm3, &arch_qwen2, &arch_qwen3,   &arch_qwen3moe,  &arch_gemma2,
    &arch_gemma3, &arch_phi3,    &arch_olmo2, &arch_gpt_oss, &arch_deepseek2,
    /* predicted only */
    &arch_gemma, &arch_qwen2moe, &arch_olmoe, &arch_internlm2, &arch_chatglm, &arch_glm4moe, &arch_deepseek,
    &arch_minimax_m2, &arch_granite, &arch_granitemoe, &arch_llama4, &arch_grok, &arch_dbrx, &arch_phimoe,
    /* predicted only: hybrids and sparse attention */
    &arch_qwen3next, &arch_qwen35, &arch_qwen35moe, &arch_jamba, &arch_granitehybrid, &arch_nemotron_h, &arch_falcon_h1,
    &arch_deepseek32, &arch_deepseek4, &arch_lfm2, &arch_lfm2moe,
    &arch_gpt2, &arch_opt, &arch_gptneox, &arch_gptj, &arch_bloom, &arch_falcon, &arch_mpt, &arch_phi2, &arch_phi3small,
    &arch_stablelm, &arch_command_r, &arch_cohere2, &arch_starcoder2, &arch_gemma4, &arch_glm4,
};

const struct arch *arch_at(size_t i)
{
    return i < ARRAY_LEN(archs) ? archs[i] : NULL;
}

const struct arch *arch_find(const char *name, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(archs); i++)
        if (strlen(archs[i]->name) == len && memcmp(archs[i]->name, name, len) == 0)
            return archs[i];
    return NULL;
}

const struct arch *arch_find_hf(const char *model_type, const char *class_name)
{
    for (size_t i = 0; i < ARRAY_LEN(archs); i++)
        for (size_t k = 0; k < ARRAY_LEN(archs[i]->hf) && archs[i]->hf[k].model_type; k++)
            if (model_type ? strcmp(archs[i]->hf[k].model_type, model_type) == 0
                           : strcmp(archs[i]->hf[k].class_name, class_name) == 0)
                return archs[i];
    return NULL;
}

bool model_arch_at(size_t i, struct arch_info *out)
{
    const struct arch *a = arch_at(i);
    if (!a)
        return false;
    *out = (struct arch_info){ .name = a->name, .experts = a->has & ARCH_EXPERTS, .windows = a->has & ARCH_WINDOW,
                               .predict_only = a->has & ARCH_PREDICT_ONLY };
    for (size_t k = 0, len = 0; k < ARRAY_LEN(a->hf) && a->hf[k].model_type && len < sizeof out->model_types; k++)
        if (k == 0 || strcmp(a->hf[k].model_type, a->hf[k - 1].model_type) != 0)
            len += (size_t)snprintf(out->model_types + len, sizeof out->model_types - len, "%s%s", k ? ", " : "",
                                    a->hf[k].model_type);
    return true;
}

const struct hparams *arch_defaults(const struct arch *a)
{
    static const struct hparams none = { 0 };
    return a->defaults ? a->defaults : &none;
}

const char *arch_names(char *buf, size_t n)
{
    size_t len = 0;
    buf[0] = 0;
    for (size_t i = 0; i < ARRAY_LEN(archs) && len < n; i++)
        len += (size_t)snprintf(buf + len, n - len, "%s%s", i ? ", " : "", archs[i]->name);
    return buf;
}
