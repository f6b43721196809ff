/* Maps a config.json's module list ("lm_head", "model.layers.0.mlp", "re:.*self_attn.*"; Hugging Face names) to tensors (GGUF
 * names). */
#include "model/checkpoint.h"
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

/* Module names of the families; the first listed one applies. */
static const struct {
    const char *role; /* after "blk.N." */
    const char *modules[4];
} roles[] = {
    { "attn_q.weight", { "self_attn.q_proj" } },
    { "attn_k.weight", { "self_attn.k_proj" } },
    { "attn_v.weight", { "self_attn.v_proj" } },
    { "attn_qkv.weight", { "self_attn.qkv_proj" } },
    { "attn_output.weight", { "self_attn.o_proj" } },
    { "attn_q_a.weight", { "self_attn.q_a_proj" } },
    { "attn_q_b.weight", { "self_attn.q_b_proj" } },
    { "attn_kv_a_mqa.weight", { "self_attn.kv_a_proj_with_mqa" } },
    { "attn_kv_b.weight", { "self_attn.kv_b_proj" } },
    { "ffn_gate.weight", { "mlp.gate_proj", "feed_forward.gate_proj", "feed_forward.w1" } },
    { "ffn_up.weight", { "mlp.up_proj", "mlp.gate_up_proj", "feed_forward.up_proj", "feed_forward.w3" } },
    { "ffn_down.weight", { "mlp.down_proj", "feed_forward.down_proj", "feed_forward.w2" } },
    { "ffn_gate_exps.weight", { "mlp.experts.0.gate_proj", "block_sparse_moe.experts.0.w1", "feed_forward.experts.0.gate_proj" } },
    { "ffn_up_exps.weight", { "mlp.experts.0.up_proj", "block_sparse_moe.experts.0.w3", "feed_forward.experts.0.up_proj" } },
    { "ffn_down_exps.weight", { "mlp.experts.0.down_proj", "block_sparse_moe.experts.0.w2", "feed_forward.experts.0.down_proj" } },
    { "ffn_gate_shexp.weight", { "mlp.shared_experts.gate_proj", "mlp.shared_expert.gate_proj", "feed_forward.shared_expert.gate_proj" } },
    { "ffn_up_shexp.weight", { "mlp.shared_experts.up_proj", "mlp.shared_expert.up_proj", "feed_forward.shared_expert.up_proj" } },
    { "ffn_down_shexp.weight", { "mlp.shared_experts.down_proj", "mlp.shared_expert.down_proj", "feed_forward.shared_expert.down_proj" } },
};

/* PCRE2 match limit: patterns from a file must terminate. */
enum { MAX_STEPS = 20000 };

/* Anchored at the start, as Python's re.match(). */
static int expression_matches(const char *what, const char *pattern, const char *name, struct error *err)
{
    int code = 0, rc = PCRE2_ERROR_NOMEMORY;
    PCRE2_SIZE at = 0;
    pcre2_code *re = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_ANCHORED, &code, &at, NULL);
    if (!re)
        return error_set(err, ERROR_INPUT, "%s: \"re:%.64s\": not a regular expression (byte %zu)", what, pattern, (size_t)at);
    pcre2_match_data *match = pcre2_match_data_create_from_pattern(re, NULL);
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    if (match && limits) {
        pcre2_set_match_limit(limits, MAX_STEPS);
        rc = pcre2_match(re, (PCRE2_SPTR)name, PCRE2_ZERO_TERMINATED, 0, 0, match, limits);
    }
    pcre2_match_context_free(limits);
    pcre2_match_data_free(match);
    pcre2_code_free(re);
    if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
        return error_set(err, ERROR_INPUT, "%s: \"re:%.64s\": matching takes too many steps", what, pattern);
    return rc >= 0;
}

/* The text occurs in the name at dot boundaries: "self_attn", "model.layers.0", "layers.0.mlp". */
static bool is_part(const char *part, const char *name)
{
    const size_t n = strlen(part);
    for (const char *p = name; n > 0 && (p = strstr(p, part)); p++)
        if ((p == name || p[-1] == '.') && (p[n] == 0 || p[n] == '.'))
            return true;
    return false;
}

/* Wildcard match; '*' is any text. */
static bool fits(const char *pattern, const char *name)
{
    const char *star = NULL, *from = NULL;
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            from = name;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (star) { /* backtrack: extend the last star */
            pattern = star + 1;
            name = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == 0;
}

static int entry_matches(const char *what, const char *entry, const char *name, struct error *err)
{
    char below[300];
    if (strncmp(entry, "re:", 3) == 0)
        return expression_matches(what, entry + 3, name, err);
    if (!strchr(entry, '*'))
        return is_part(entry, name);
    snprintf(below, sizeof below, "%.256s.*", entry);
    return fits(entry, name) || fits(below, name);
}

/* An entry for one expert: tensors here hold all of them. */
static bool of_one_expert(const char *entry)
{
    const char *p = strstr(entry, "experts.");
    return strncmp(entry, "re:", 3) != 0 && p && p[8] >= '0' && p[8] <= '9';
}

static int list_matches(const json_t *list, const char *what, const char *name, struct error *err)
{
    size_t i;
    const json_t *v;
    json_array_foreach(list, i, v)
    {
        const char *entry = json_string_value(v);
        if (!entry)
            return error_set(err, ERROR_INPUT, "%s: modules that are not quantized: entry %zu: expected a string, found %s",
                             what, i, json_type_name(v));
        if (strlen(entry) > 256 || of_one_expert(entry))
            return error_set(err, ERROR_INPUT, "%s: modules that are not quantized: \"%.64s\": expected a name of at most 256 "
                             "bytes that is not of one expert", what, entry);
        const int found = entry_matches(what, entry, name, err);
        if (found != 0)
            return found;
    }
    return 0;
}

int module_listed(const json_t *list, const char *what, const char *tensor, struct error *err)
{
    unsigned layer;
    int at = 0, found = 0;
    char name[128];
    if (sscanf(tensor, "blk.%5u.%n", &layer, &at) != 1 || at == 0)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(roles); i++)
        if (strcmp(tensor + at, roles[i].role) == 0)
            for (size_t k = 0; k < ARRAY_LEN(roles[i].modules) && roles[i].modules[k] && found == 0; k++) {
                snprintf(name, sizeof name, "model.layers.%u.%s", layer, roles[i].modules[k]);
                found = list_matches(list, what, name, err);
            }
    return found;
}

/* Prefixes of "layers.0." or "embed_tokens", in plain and wrapped models. */
static const char *const before[] = { "model.", "language_model.model.", "model.language_model.", "" };

/* MLX-only names: experts are one module. */
static const struct {
    const char *role, *module;
} of_mlx[] = {
    { "ffn_gate_exps.weight", "mlp.switch_mlp.gate_proj" },
    { "ffn_up_exps.weight", "mlp.switch_mlp.up_proj" },
    { "ffn_down_exps.weight", "mlp.switch_mlp.down_proj" },
    { "ffn_gate_exps.weight", "block_sparse_moe.switch_mlp.gate_proj" },
    { "ffn_up_exps.weight", "block_sparse_moe.switch_mlp.up_proj" },
    { "ffn_down_exps.weight", "block_sparse_moe.switch_mlp.down_proj" },
    { "ffn_gate_exps.weight", "mlp.experts.gate_proj" },
    { "ffn_up_exps.weight", "mlp.experts.up_proj" },
    { "ffn_down_exps.weight", "mlp.experts.down_proj" },
};

/* Role and name of module i; false past the end. */
static bool module_at(size_t i, const char **role, const char **module)
{
    enum { MOST = ARRAY_LEN(roles[0].modules) };
    const size_t n = ARRAY_LEN(roles) * MOST;
    if (i >= n + ARRAY_LEN(of_mlx))
        return false;
    *role = i < n ? roles[i / MOST].role : of_mlx[i - n].role;
    *module = i < n ? roles[i / MOST].modules[i % MOST] : of_mlx[i - n].module;
    return true;
}

static const json_t *find_named(const json_t *o, const char *name)
{
    char key[160];
    for (size_t i = 0; i < ARRAY_LEN(before); i++) {
        snprintf(key, sizeof key, "%s%s", before[i], name);
        const json_t *const v = json_object_get(o, key);
        if (v)
            return v;
    }
    return NULL;
}

const json_t *module_find(const json_t *o, const char *tensor)
{
    unsigned layer;
    int at = 0;
    char name[128];
    const char *role, *module;
    const json_t *v = NULL;
    if (!o)
        return NULL;
    if (strcmp(tensor, "token_embd.weight") == 0)
        return find_named(o, "embed_tokens");
    if (strcmp(tensor, "output.weight") == 0)
        return (v = json_object_get(o, "lm_head")) ? v : json_object_get(o, "language_model.lm_head");
    if (sscanf(tensor, "blk.%5u.%n", &layer, &at) != 1 || at == 0)
        return NULL;
    for (size_t i = 0; !v && module_at(i, &role, &module); i++)
        if (module && strcmp(tensor + at, role) == 0) {
            snprintf(name, sizeof name, "layers.%u.%s", layer, module);
            v = find_named(o, name);
        }
    return v;
}

bool module_known(const char *name)
{
    unsigned layer;
    int at = 0;
    const char *role, *module;
    const char *const in = strstr(name, "layers.");
    if (!in || sscanf(in, "layers.%5u.%n", &layer, &at) != 1 || at == 0)
        return strstr(name, "embed_tokens") || strstr(name, "lm_head");
    for (size_t i = 0; module_at(i, &role, &module); i++)
        if (module && strcmp(in + at, module) == 0)
            return true;
    return false;
}
