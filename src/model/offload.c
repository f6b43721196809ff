/* Tensors on the GPU or on the host, by llama.cpp's options. methods.md (111) */
#include "model/offload.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum { MATCH_STEPS = 100000, MAX_PATTERN = 512 };

bool offload_is_given(const struct offload_rule *r)
{
    return r->n_gpu_layers != OFFLOAD_ALL || r->n_cpu_moe != 0 || r->n_override > 0 || r->host_kv;
}

static size_t add_number(char *buf, size_t size, size_t at, const char *option, int n)
{
    if (at >= size)
        return at;
    if (n == OFFLOAD_AUTO)
        return at + (size_t)snprintf(buf + at, size - at, "%s%s auto", at ? " " : "", option);
    if (n >= OFFLOAD_ALL)
        return at + (size_t)snprintf(buf + at, size - at, "%s%s all", at ? " " : "", option);
    return at + (size_t)snprintf(buf + at, size - at, "%s%s %d", at ? " " : "", option, n);
}

const char *offload_text(char *buf, size_t size, const struct offload_rule *r)
{
    size_t at = 0;
    *buf = 0;
    if (r->n_gpu_layers != OFFLOAD_ALL)
        at = add_number(buf, size, at, "-ngl", r->n_gpu_layers);
    if (r->n_cpu_moe != 0)
        at = add_number(buf, size, at, "--n-cpu-moe", r->n_cpu_moe);
    for (size_t i = 0; i < r->n_override && at < size; i++)
        at += (size_t)snprintf(buf + at, size - at, "%s-ot %s", at ? " " : "", r->override[i]);
    const struct {
        bool given;
        const char *name;
    } flags[] = { { r->host_kv, "--no-kv-offload" }, { r->host_multiplies, "--no-op-offload" }, { r->pinned, "--no-mmap" } };
    for (size_t i = 0; i < ARRAY_LEN(flags) && at < size; i++)
        at += flags[i].given ? (size_t)snprintf(buf + at, size - at, "%s%s", at ? " " : "", flags[i].name) : 0;
    return buf;
}

double offload_copied_tokens(const char *stack, const struct hparams *hp)
{
    const bool each = stack && strncmp(stack, "ik_llama", 8) == 0 && hp->n_expert > 0 && hp->n_expert_used > 0;
    return OFFLOAD_COPIED_TOKENS * (each ? (double)hp->n_expert / hp->n_expert_used : 1);
}

/* ---- names of tensors ------------------------------------------------------------------------------------ */

/* "blk.17.ffn_up.weight" -> 17; -1: outside the blocks. */
static int block_of(const char *name)
{
    int block, n = 0;
    return sscanf(name, "blk.%6d.%n", &block, &n) == 1 && n > 0 ? block : -1;
}

/* \.ffn_(up|down|gate|gate_up)_(ch|)exps */
bool offload_is_expert(const char *tensor)
{
    static const char *const parts[] = { ".ffn_up_", ".ffn_down_", ".ffn_gate_", ".ffn_gate_up_" };
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        const char *s = strstr(tensor, parts[i]);
        if (s && (strncmp(s + strlen(parts[i]), "exps", 4) == 0 || strncmp(s + strlen(parts[i]), "chexps", 6) == 0))
            return true;
    }
    return false;
}

int offload_last_expert_block(const struct model *m)
{
    int last = 0;
    for (size_t i = 0; i < m->n_tensors; i++)
        if (offload_is_expert(m->tensors[i].name) && block_of(m->tensors[i].name) + 1 > last)
            last = block_of(m->tensors[i].name) + 1;
    return last;
}

/* Tables whose rows are looked up by token or position. */
static bool is_input(const char *name)
{
    return strncmp(name, "token_embd", 10) == 0 || strncmp(name, "per_layer_token_embd", 20) == 0 || strncmp(name, "position_embd", 13) == 0 ||
           strncmp(name, "token_types", 11) == 0;
}

/* ---- patterns ---------------------------------------------------------------------------------------------- */

struct pattern {
    pcre2_code *code;
    const char *option; /* not owned */
    enum offload_device device;
};

struct patterns {
    struct pattern p[OFFLOAD_PATTERNS * 4];
    size_t n;
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

static void patterns_free(struct patterns *x)
{
    for (size_t i = 0; i < x->n; i++)
        pcre2_code_free(x->p[i].code);
    pcre2_match_data_free(x->match);
    pcre2_match_context_free(x->limits);
}

/* "CPU", "CUDA_Host" and other hosts' buffers; "CUDA0", "ROCm0", "Vulkan0", "SYCL0", "GPU": the GPU. */
static int find_device(enum offload_device *out, const char *s, size_t n, const char *option, struct error *err)
{
    size_t letters = 0;
    while (letters < n && isalpha((unsigned char)s[letters]))
        letters++;
    const bool host = (n >= 3 && strncasecmp(s, "CPU", 3) == 0) || (n > 5 && strncasecmp(s + n - 5, "_Host", 5) == 0);
    const bool gpu = letters > 0 && ((letters == n && n == 3 && strncasecmp(s, "GPU", 3) == 0) || (letters + 1 == n && s[letters] == '0'));
    if (!host && letters > 0 && letters < n && isdigit((unsigned char)s[letters]) && !gpu)
        return error_set(err, ERROR_USAGE, "-ot \"%.200s\": device %.*s: one GPU is predicted, the first", option, (int)n, s);
    if (!host && !gpu)
        return error_set(err, ERROR_USAGE, "-ot \"%.200s\": expected REGEX=CPU or REGEX=CUDA0 (ROCm0, Vulkan0, SYCL0, GPU), found device \"%.*s\"", option,
                         (int)n, s);
    *out = host ? OFFLOAD_HOST : OFFLOAD_GPU;
    return 0;
}

static int compile(struct patterns *x, const char *s, size_t n, const char *option, struct error *err)
{
    const char *const end = s + n, *eq = end;
    int code;
    PCRE2_SIZE at;
    while (eq > s && *eq != '=')
        eq--;
    if (eq == s || eq + 1 == end)
        return error_set(err, ERROR_USAGE, "-ot \"%.200s\": expected REGEX=DEVICE such as ffn_.*_exps=CPU", option);
    if (x->n == ARRAY_LEN(x->p) || n > MAX_PATTERN)
        return error_set(err, ERROR_USAGE, "-ot \"%.200s\": more than %zu patterns, or one of more than %d characters", option, ARRAY_LEN(x->p), MAX_PATTERN);
    struct pattern *p = &x->p[x->n];
    if (find_device(&p->device, eq + 1, (size_t)(end - eq - 1), option, err) != 0)
        return -1;
    p->code = pcre2_compile((PCRE2_SPTR)s, (PCRE2_SIZE)(eq - s), 0, &code, &at, NULL);
    if (!p->code) {
        PCRE2_UCHAR why[120];
        pcre2_get_error_message(code, why, sizeof why);
        return error_set(err, ERROR_USAGE, "-ot \"%.200s\": %s at character %zu", option, (char *)why, (size_t)at + 1);
    }
    p->option = option;
    x->n++;
    return 0;
}

/* The end of a class "[...]" that begins at p: its last byte; a ']' right after "[" or "[^" is a member. */
static const char *class_end(const char *p)
{
    const char *q = p + 1 + (p[1] == '^');
    for (q += *q == ']'; *q && *q != ']'; q++)
        q += *q == '\\' && q[1];
    return *q ? q : p;
}

/* The comma that ends a pattern, or the end of the text: one after a backslash or within (), [] or {} is the pattern's. */
static const char *pattern_end(const char *p)
{
    int depth = 0;
    for (; *p && (*p != ',' || depth > 0); p++) {
        if (*p == '\\' && p[1])
            p++;
        else if (*p == '[')
            p = class_end(p);
        else
            depth += *p == '(' || *p == '{' ? 1 : *p == ')' || *p == '}' ? -1 : 0;
    }
    return p;
}

/* Commas separate patterns, as in llama.cpp. */
static int compile_list(struct patterns *x, const char *option, struct error *err)
{
    for (const char *s = option;; s++) {
        const char *const end = pattern_end(s);
        if (compile(x, s, (size_t)(end - s), option, err) != 0)
            return -1;
        if (!*end)
            return 0;
        s = end;
    }
}

static int patterns_init(struct patterns *x, const struct offload_rule *r, struct error *err)
{
    *x = (struct patterns){ .match = pcre2_match_data_create(1, NULL), .limits = pcre2_match_context_create(NULL) };
    int rc = x->match && x->limits ? 0 : error_oom(err, 0, "patterns");
    if (rc == 0)
        pcre2_set_match_limit(x->limits, MATCH_STEPS);
    for (size_t i = 0; i < r->n_override && rc == 0; i++)
        rc = compile_list(x, r->override[i], err);
    return rc;
}

enum { NO_MATCH = -1, MATCH_FAILED = -2 };

/* Device of the first pattern that matches; NO_MATCH; MATCH_FAILED: a match took too many steps. */
static int match(const struct patterns *x, const char *name, struct error *err)
{
    for (size_t i = 0; i < x->n; i++) {
        const int rc = pcre2_match(x->p[i].code, (PCRE2_SPTR)name, strlen(name), 0, 0, x->match, x->limits);
        PCRE2_UCHAR why[120];
        if (rc >= 0)
            return (int)x->p[i].device;
        if (rc == PCRE2_ERROR_NOMATCH)
            continue;
        pcre2_get_error_message(rc, why, sizeof why);
        (void)error_set(err, ERROR_USAGE, "-ot \"%.200s\": %s at tensor %s: expected a pattern of at most %d steps", x->p[i].option, (char *)why, name, MATCH_STEPS);
        return MATCH_FAILED;
    }
    return NO_MATCH;
}

/* ---- places -------------------------------------------------------------------------------------------------- */

/* given: of match(), no error. */
static enum offload_device place(const struct offload_places *p, const struct offload_rule *r, int given, const char *name)
{
    const int block = block_of(name);
    if (given >= 0)
        return (enum offload_device)given;
    if (is_input(name))
        return OFFLOAD_HOST;
    if (block >= 0 && block < r->n_cpu_moe && offload_is_expert(name))
        return OFFLOAD_HOST;
    return block >= 0 && (uint32_t)block < p->m->hp.n_layer ? p->block[block] : p->output;
}

int offload_places_init(struct offload_places *p, const struct offload_rule *r, const struct model *m, struct error *err)
{
    const int n_layer = (int)m->hp.n_layer, first = r->n_gpu_layers > n_layer ? 0 : n_layer + 1 - r->n_gpu_layers;
    struct patterns x;
    *p = (struct offload_places){ .m = m, .output = r->n_gpu_layers > 0 ? OFFLOAD_GPU : OFFLOAD_HOST };
    if (r->n_gpu_layers < 0 || r->n_cpu_moe < 0)
        return error_set(err, ERROR_USAGE, "offload: a number of layers is expected, found auto");
    p->tensor = calloc(m->n_tensors + 1, sizeof *p->tensor);
    p->block = calloc((size_t)n_layer + 1, sizeof *p->block);
    if (!p->tensor || !p->block) {
        offload_places_free(p);
        return error_oom(err, m->n_tensors * sizeof *p->tensor, "places of tensors");
    }
    int rc = patterns_init(&x, r, err);
    for (int i = 0; i < n_layer; i++)
        p->block[i] = i < first ? OFFLOAD_HOST : OFFLOAD_GPU;
    for (size_t i = 0; i < m->n_tensors && rc == 0; i++) {
        const int given = match(&x, m->tensors[i].name, err);
        rc = given == MATCH_FAILED ? -1 : 0;
        p->tensor[i] = place(p, r, given, m->tensors[i].name);
    }
    for (int i = 0; i < n_layer && r->host_kv; i++)
        p->block[i] = OFFLOAD_HOST;
    patterns_free(&x);
    if (rc != 0)
        offload_places_free(p);
    return rc;
}

void offload_places_free(struct offload_places *p)
{
    free(p->tensor);
    free(p->block);
    *p = (struct offload_places){ 0 };
}

/* Ops that keep something of a sequence: keys, values, states. */
static bool has_state(const struct op *op)
{
    return op->kind == OP_KV_STORE || op->kind == OP_SSM_SCAN || op->kind == OP_CONV1D || op->kind == OP_DELTA_RULE;
}

int offload_place_of(const struct offload_places *p, const struct op *op)
{
    if (op->kind == OP_EMBED)
        return OFFLOAD_HOST;
    if (has_state(op) && op->layer >= 0)
        return (int)p->block[op->layer];
    if (!op->w || op->kind == OP_ATTENTION || op->kind == OP_ROPE)
        return -1;
    return (int)(is_input(op->w->name) ? p->output : p->tensor[op->w - p->m->tensors]); /* a tied table */
}
