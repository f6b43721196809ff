/* What names and dates say of engines and machines. methods.md (36), (43) */
#include "stacks/priors.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- the engine's age ------------------------------------------------------------------------------- */

/* llama.cpp's newest build at the beginning of a month. Source: its release tags; since August 2026 estimates, on a line from June's to b10830,
 * which pull request 28912 has in mid September. */
static const struct {
    int year, month, build;
} tags[] = {
    { 2023, 6, 600 },   { 2023, 9, 1150 },  { 2023, 12, 1590 }, { 2024, 3, 2300 },  { 2024, 6, 3100 }, { 2024, 8, 3500 },
    { 2024, 10, 3850 }, { 2024, 12, 4230 }, { 2025, 2, 4600 },  { 2025, 4, 5020 },  { 2025, 6, 5560 }, { 2025, 8, 6060 },
    { 2025, 10, 6660 }, { 2025, 12, 7210 }, { 2026, 2, 7900 },  { 2026, 4, 8600 },  { 2026, 6, 9440 },
    { 2026, 8, 10200 }, { 2026, 10, 11000 },
};
enum {
    AUGUST_2024 = 3500,  /* graphs of kernels, attention in one of them */
    BENCH_FLASH = 9437,  /* llama-bench asks for -fa auto by itself, not 0: pull request 23714 (May 2026) */
};

/* From a month on. */
static int build_of(int year, int month)
{
    int build = 1;
    for (size_t i = 0; i < ARRAY_LEN(tags); i++)
        if (year > tags[i].year || (year == tags[i].year && month >= tags[i].month))
            build = tags[i].build;
    return build;
}

/* Of three to five digits that no letter follows, as one of a commit would; 0: there is none. */
static int build_at(const char *s)
{
    const size_t n = strspn(s, "0123456789");
    return n >= 3 && n <= 5 && !isalnum((unsigned char)s[n]) ? atoi(s) : 0;
}

/* "(2824)" at s, behind a commit. */
static int build_in_parentheses(const char *s)
{
    return *s == '(' && s[1 + strspn(s + 1, "0123456789")] == ')' ? build_at(s + 1) : 0;
}

static int build_behind_commit(const char *s)
{
    int build = 0;
    while (build == 0 && (s = strchr(s, '(')) != NULL)
        build = build_in_parentheses(s++);
    return build;
}

/* "build 9436", "build: 9436", "Build=b9436", "build: 4426e298 (2824)" */
static int build_named(const char *s)
{
    static const char word[] = "build";
    int build = 0;
    for (const char *p = s; build == 0 && (p = strcasestr(p, word)) != NULL; p += sizeof word - 1) {
        const char *v = p + sizeof word - 1;
        if ((p > s && isalnum((unsigned char)p[-1])) || !*v || !strchr(" :=#", *v))
            continue;
        v += strspn(v, " :=#");
        const char *const commit = v + strspn(v, "0123456789abcdef");
        build = build_at(v + (*v == 'b'));
        build = build == 0 && *commit == ' ' ? build_in_parentheses(commit + 1) : build;
    }
    return build;
}

/* "b9436". In notes "b2048" is rather a batch. */
static int build_short(const char *s, bool notes)
{
    for (const char *b = s; *b; b++) {
        const size_t n = *b == 'b' && (b == s || !isalnum((unsigned char)b[-1])) ? strspn(b + 1, "0123456789") : 0;
        const int build = n >= 4 ? build_at(b + 1) : 0;
        if (build > 0 && !(notes && (build & (build - 1)) == 0))
            return build;
    }
    return 0;
}

/* Forks (ik_llama.cpp) and programs around it (ollama, LM Studio) count builds of their own; nothing says that it is another. */
static bool is_llama_cpp(const char *engine)
{
    static const char *const names[] = { "llama.cpp", "llamacpp", "llama-bench", "llama-server", "llama-cli" };
    bool any = !*engine;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        any |= strcasestr(engine, names[i]) != NULL;
    return any && stack_find(engine, "")->family != STACK_IK;
}

static int build_said(const struct measurement *m)
{
    if (m->build > 0)
        return m->build;
    int build = build_behind_commit(m->date);
    build = build > 0 ? build : build_named(m->date);
    build = build > 0 ? build : build_short(m->date, false);
    build = build > 0 ? build : build_named(m->notes);
    return build > 0 ? build : build_short(m->notes, true);
}

int facts_build(const struct measurement *m)
{
    enum { MIDDLE = 6 }; /* of a year alone */
    int year, month;
    const int build = is_llama_cpp(m->engine) ? build_said(m) : 0;
    if (build > 0)
        return build;
    return measure_date(m->date, &year, &month) == MEASURE_DATE && year >= MEASURE_FIRST_YEAR ? build_of(year, month > 0 ? month : MIDDLE) : 0;
}

bool facts_since(const struct facts *f, int build)
{
    return f->build == 0 || f->build >= build;
}

bool facts_few_limits(const struct facts *f)
{
    enum { CUDA_LIMITS = 10300, ROCM_LIMITS = 9200 }; /* builds as of those months */
    return f->has_matrix && !f->volta && facts_since(f, f->products == BACK_END_ROCM ? ROCM_LIMITS : CUDA_LIMITS);
}

bool facts_one_step(const struct facts *f)
{
    return f->p->m->kind != MEASURE_ALL_REDUCE && f->p->stack->family == STACK_SERVER && (f->maker == MAKER_NVIDIA || f->maker == MAKER_AMD);
}

const char *facts_type(const struct facts *f)
{
    const char *quant = f->p->m->quant;
    return quant && quant[0] ? quant : f->p->type;
}

/* ---- the machine ------------------------------------------------------------------------------------- */

static const char *const makers[] = { [MAKER_NVIDIA] = "NVIDIA", [MAKER_AMD] = "AMD", [MAKER_INTEL] = "Intel", [MAKER_APPLE] = "Apple" };

static enum maker maker_of(const struct priced *p)
{
    for (int i = 0; i < MAKER_OTHER; i++)
        if (strcmp(p->machine->h.vendor, makers[i]) == 0 || strncmp(p->machine->hardware, makers[i], strlen(makers[i])) == 0)
            return (enum maker)i;
    return MAKER_OTHER;
}

static void set_vendor(struct facts *f, const struct machine *m)
{
    if (m->h.vendor[0] && strcmp(m->h.vendor, "?") != 0)
        snprintf(f->vendor, sizeof f->vendor, "%s", m->h.vendor);
    else
        snprintf(f->vendor, sizeof f->vendor, "%.*s", (int)strcspn(m->hardware, " "), m->hardware);
}

static bool has_any(const char *name, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strstr(name, words[i]))
            return true;
    return false;
}

static bool named(const struct priced *p, const char *const *words, size_t n)
{
    return has_any(p->machine->hardware, words, n) || has_any(p->machine->h.name, words, n);
}

double facts_peak(const struct facts *f, enum math m)
{
    const struct peak *q = &f->p->roofs->peak[m];
    return q->flop_s > 0 && !q->derived ? q->flop_s : 0;
}

/* By name: profiles of GPUs without tensor cores and of ones nobody stated FP16 of look alike. */
bool facts_named_before_volta(const char *name)
{
    static const char *const words[] = { "GTX 7",   "GTX 9",    "GTX 10",   "GT 10",   "TITAN X", "Titan X", "Quadro M", "Quadro P", "Tesla K",
                                         "Tesla M", "Tesla P",  "P100",     "P102",    "P104",    "P106",    "P40",      "P4 ",      "NVIDIA P4",
                                         "MX1",     "MX2",      "MX3",      "K80" };
    return has_any(name, words, ARRAY_LEN(words));
}

static bool is_before_volta(const struct priced *p)
{
    return facts_named_before_volta(p->machine->hardware) || facts_named_before_volta(p->machine->h.name);
}

static bool is_volta(const struct priced *p)
{
    static const char *const words[] = { "V100", "TITAN V", "Titan V", "GV100", "Xavier" };
    return named(p, words, ARRAY_LEN(words));
}

/* Generations of AMD without matrix units: before RDNA3, and before CDNA. */
bool facts_amd_before_matrix(const char *name)
{
    static const char *const words[] = { "RX 4", "RX 5", "RX 6", "Vega", "Radeon VII", "W5", "W6", "680M", "660M", "MI25", "MI50", "MI60" };
    return has_any(name, words, ARRAY_LEN(words));
}

static bool amd_before_matrix(const struct priced *p)
{
    return facts_amd_before_matrix(p->machine->hardware) || facts_amd_before_matrix(p->machine->h.name);
}

/* One of the words between blanks and hyphens of the profile's name, else of the machine's. */
static bool has_word(const struct facts *f, const char *const *words, size_t n)
{
    char name[sizeof f->p->machine->hardware];
    snprintf(name, sizeof name, "%s", f->p->machine->h.name[0] ? f->p->machine->h.name : f->p->machine->hardware);
    for (char *state, *w = strtok_r(name, " -", &state); w; w = strtok_r(NULL, " -", &state))
        for (size_t i = 0; i < n; i++)
            if (strcmp(w, words[i]) == 0)
                return true;
    return false;
}

/*
 * NVIDIA's cards for servers whose memory is GDDR6 come with ECC on (workstations' come with it off; HBM has bits of its own for it):
 * of 48 GiB an A40 shows 45; a P40's GDDR5 is the same (recalled). By name: a datasheet gives the bandwidth without. Source: NVIDIA's A40,
 * L40S and L4 product briefs, ECC; nvidia-smi's totals (46068, 46068, 23034 MiB).
 */
static bool has_inline_ecc(const struct facts *f)
{
    static const char *const words[] = { "A40", "A10", "A16", "A2", "L40", "L40S", "L20", "L4", "T4", "A10G", "P40" };
    return f->maker == MAKER_NVIDIA && strcmp(f->p->machine->class_name, "datacenter GPU") == 0 && has_word(f, words, ARRAY_LEN(words));
}

/* Turing's small chips (TU116, TU117) under names that do not begin with GTX 16. */
static bool is_small_turing(const struct facts *f)
{
    static const char *const words[] = { "T400", "T500", "T550", "T600", "T1000", "T1200", "T2000", "MX450", "MX550" };
    static const char *const gtx[] = { "GTX 16" };
    return has_word(f, words, ARRAY_LEN(words)) || named(f->p, gtx, 1);
}

static bool is_turing(const struct facts *f)
{
    static const char *const words[] = { "T4" }, *const names[] = { "RTX 2060", "RTX 2070", "RTX 2080", "TITAN RTX", "Quadro RTX" };
    return is_small_turing(f) || has_word(f, words, ARRAY_LEN(words)) || named(f->p, names, ARRAY_LEN(names));
}

/* Source: CUDA C++ Programming Guide, throughput of arithmetic instructions: 64 results a cycle of FP32, and 64 of integers, for 7.x and 8.0. */
static bool has_integers_apart(const struct facts *f)
{
    static const char *const words[] = { "A100", "A800", "A30" };
    return f->maker == MAKER_NVIDIA && (f->volta || is_turing(f) || has_word(f, words, ARRAY_LEN(words)));
}

/* Not an H20, of which less is left than that instruction reaches. */
static bool is_hopper(const struct facts *f)
{
    static const char *const words[] = { "H100", "H200", "H800" };
    return named(f->p, words, ARRAY_LEN(words));
}

/* Tensor cores are twice or more the vector units (P100 and Turing's small chips have FP16 at twice the rate, and none); XMX eight times. */
static bool has_matrix(const struct facts *f)
{
    static const char *const gtx[] = { "GTX" }, *const rtx[] = { "RTX" };
    const double fp16 = facts_peak(f, MATH_FP16), fp32 = facts_peak(f, MATH_FP32);
    switch (f->maker) {
    case MAKER_NVIDIA:
        return !f->before_volta && !is_small_turing(f) && !named(f->p, gtx, 1) && (fp16 > 1.5 * fp32 || named(f->p, rtx, 1));
    case MAKER_AMD:
        return !amd_before_matrix(f->p) && fp16 > 1.5 * fp32;
    case MAKER_INTEL:
        return fp16 > 3 * fp32;
    case MAKER_APPLE:
        return false;
    case MAKER_OTHER:
        break;
    }
    return fp16 > 1.5 * fp32;
}

/*
 * With 16-bit sums GeForce cards multiply twice as fast as with 32-bit ones, which is what their 16-bit figure is for: 4 times
 * the vector units' rate since Ampere, 8 times on Turing. Other cards lose nothing with 32-bit sums. Source: whitepapers of
 * GA102 (table 3), AD102 (table 2), TU102 (table 1).
 */
static bool half_sums(const struct facts *f)
{
    static const char *const turing[] = { "RTX 20", "TITAN RTX" };
    const bool geforce = f->maker == MAKER_NVIDIA && strcmp(f->p->machine->class_name, "consumer GPU") == 0;
    const double full = (named(f->p, turing, ARRAY_LEN(turing)) ? 8 : 4) * facts_peak(f, MATH_FP32);
    return geforce && f->p->roofs->peak[MATH_FP16].flop_s < 0.75 * full;
}

/* By name, as a figure of FP8 is what Ada's have too. */
static bool has_warp_groups(const struct facts *f)
{
    static const char *const words[] = { "H100", "H200", "H800", "H20", "B100", "B200", "B300", "GB200", "GB300" };
    return f->maker == MAKER_NVIDIA && named(f->p, words, ARRAY_LEN(words));
}

static void set_machine(struct facts *f)
{
    f->maker = maker_of(f->p);
    set_vendor(f, f->p->machine);
    f->cpu = f->p->machine->h.kind == HW_CPU;
    f->before_volta = f->maker == MAKER_NVIDIA && is_before_volta(f->p);
    f->volta = f->maker == MAKER_NVIDIA && is_volta(f->p);
    f->integers_apart = has_integers_apart(f);
    f->two_issue = f->maker == MAKER_AMD && !amd_before_matrix(f->p);
    f->has_matrix = has_matrix(f);
    f->half_sums = half_sums(f);
    f->inline_ecc = has_inline_ecc(f);
    f->warp_groups = has_warp_groups(f);
    f->before_ampere = f->maker == MAKER_NVIDIA && (f->before_volta || f->volta || is_turing(f));
    f->hopper = f->maker == MAKER_NVIDIA && is_hopper(f);
    const double cache = f->p->machine->h.cache_bytes.value;
    f->cache_bytes = !f->cpu && cache > 0 ? cache : 0;
    f->ranks = strcmp(f->vendor, "AWS") == 0 ? 2 : 1;
}

/* ---- the engine -------------------------------------------------------------------------------------------- */

static enum back_end back_end_of(const struct stack *s)
{
    static const char *const ids[] = { [BACK_END_CUDA] = "llama.cpp-cuda", [BACK_END_ROCM] = "llama.cpp-rocm",
                                       [BACK_END_VULKAN] = "llama.cpp-vulkan", [BACK_END_SYCL] = "llama.cpp-sycl" };
    for (int i = 0; i < BACK_END_OTHER; i++)
        if (strcmp(s->id, ids[i]) == 0)
            return (enum back_end)i;
    return BACK_END_OTHER;
}

static enum back_end products_of(const struct facts *f)
{
    const struct stack *s = f->p->stack;
    const bool ollama = strcmp(s->id, "ollama") == 0;
    if (f->maker == MAKER_NVIDIA && (ollama || s->family == STACK_IK))
        return BACK_END_CUDA;
    return f->maker == MAKER_AMD && ollama ? BACK_END_ROCM : f->back_end;
}

static bool says_no_flash(const struct measurement *m)
{
    return m->flash_said && !m->flash;
}

static bool is_old(const struct facts *f)
{
    if (f->p->stack->family != STACK_LLAMA_CPP)
        return false;
    return f->build > 0 ? f->build < AUGUST_2024 : strstr(f->p->m->notes, "no flash attention") != NULL;
}

/* llama-bench's default was without; but whoever measures prompts behind others asks for it: of 158 rows of
 * throughput.csv that say how they ran, all but three of a CPU. */
static bool is_flash(const struct facts *f)
{
    const struct measurement *m = f->p->m;
    if (m->flash_said)
        return m->flash;
    const bool behind = m->phase == MEASURE_PREFILL && m->context > 0;
    return f->p->stack->family != STACK_LLAMA_CPP || (!f->old && (behind || facts_since(f, BENCH_FLASH)));
}

/*
 * SGLang 0.4's experts of GPTQ: steps of Qwen3's take 0.67 and 0.72 ms a layer with 3 and with 22 billion weights a token (H20, one device and
 * four), so the host dispatches their kernels one by one, whatever they read. Source: sgl-project/sglang issues 6313 (0.4.6.post2, an H20:
 * 40 % of FP8's rate) and 9574 (0.4.9.post2, an RTX 4090: far behind vLLM). (doc/notes/stacks.md)
 */
static bool dispatches_experts(const struct facts *f)
{
    const struct measurement *m = f->p->m;
    return strcmp(f->p->stack->id, "sglang") == 0 && f->p->moe && strstr(m->quant, "GPTQ") &&
           (strstr(m->engine, " 0.4.") || strncmp(m->version, "0.4.", 4) == 0);
}

/*
 * CUDA's graphs were for Ampere and later until July 2026 (pull request 25749), and are since for Volta and Turing too. Source: ggml-cuda.cu,
 * "disabling CUDA graphs due to GPU architecture". (36)
 */
enum { GRAPHS_VOLTA = 9820 }; /* a build as of that month */
static bool has_no_graphs(const struct facts *f)
{
    return f->back_end == BACK_END_CUDA && f->before_ampere && (f->before_volta || !facts_since(f, GRAPHS_VOLTA));
}

/* Stacks that differ from one kernel an op launched from compiled code. */
static double launches(const struct facts *f)
{
    if (dispatches_experts(f))
        return prior(PRIOR_PYTHON_LAUNCHES);
    if (f->old || has_no_graphs(f))
        return prior(PRIOR_OLD_LAUNCHES);
    const struct priors *p = priors();
    for (size_t i = 0; i < p->n_launches; i++)
        if (strcmp(p->launches[i].stack, f->p->stack->id) == 0)
            return p->launches[i].factor;
    return f->p->stack->fused && !f->cpu ? prior(PRIOR_FUSED_LAUNCHES) : 1;
}

/*
 * llama.cpp kept graphs of kernels for passes of one token alone until February 2026 (its pull request 19645), and for those of more than four
 * where experts are chosen it does so still. Source: ggml-cuda.cu, check_node_graph_compatibility. (37)
 */
enum { GRAPHS_BATCH = 8100, GRAPHS_EXPERTS_MOST = 4 }; /* a build as of that month */

double facts_launches(const struct facts *f, double pass_tok)
{
    const bool kept = facts_since(f, GRAPHS_BATCH) && !(f->p->moe && pass_tok > GRAPHS_EXPERTS_MOST);
    return f->back_end == BACK_END_CUDA && pass_tok > 1 && !kept ? prior(PRIOR_OLD_LAUNCHES) : f->launches;
}

void facts_init(struct facts *f, const struct priced *p)
{
    *f = (struct facts){ .p = p };
    set_machine(f);
    f->build = facts_build(p->m);
    f->back_end = back_end_of(p->stack);
    f->products = products_of(f);
    f->old = is_old(f);
    f->walks = !f->cpu && (f->old || says_no_flash(p->m));
    f->flash = is_flash(f);
    f->launches = launches(f);
}
