/* Traits of engines and machines from names and dates. methods.md (36), (43) */
#include "stacks/priors.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the engine's age ------------------------------------------------------------------------------- */

/* llama.cpp's newest build at the beginning of a month. */
static int build_of(int year, int month)
{
    const struct rule_fact fact[KEY_COUNT] = { [KEY_MONTH] = { .number = 100 * year + month } };
    return (int)stacks_value(TABLE_BUILDS, 0, fact, 1);
}

/* Three to five digits without a following letter (a commit hash); 0: none. */
static int build_at(const char *s)
{
    const size_t n = strspn(s, "0123456789");
    return n >= 3 && n <= 5 && !isalnum((unsigned char)s[n]) ? atoi(s) : 0;
}

/* "(2824)" at s, after a commit. */
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

/* "b9436". In notes "b2048" is a batch size. */
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

/* Forks (ik_llama.cpp) and wrappers (ollama, LM Studio) number builds differently; unnamed engines count as llama.cpp. */
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

int stack_traits_build(const struct measurement *m)
{
    enum { MIDDLE = 6 }; /* of a year without month */
    int year, month;
    const int build = is_llama_cpp(m->engine) ? build_said(m) : 0;
    if (build > 0)
        return build;
    return measure_date(m->date, &year, &month) == MEASURE_DATE && year >= MEASURE_FIRST_YEAR ? build_of(year, month > 0 ? month : MIDDLE) : 0;
}

/* The month at whose beginning that build was new. */
static int month_of_build(int build)
{
    enum { FIRST_YEAR = 2023, LAST_YEAR = 2040, DECEMBER = 12 };
    int month = 0, latest = 0;
    for (int i = FIRST_YEAR * DECEMBER; i < LAST_YEAR * DECEMBER; i++) {
        const int newest = build_of(i / DECEMBER, i % DECEMBER + 1);
        if (newest > latest && newest <= build) {
            latest = newest;
            month = 100 * (i / DECEMBER) + i % DECEMBER + 1;
        }
    }
    return month;
}

int stack_traits_month(const struct workload *p)
{
    enum { MIDDLE = 6 };
    const struct measurement *m = p->m;
    const struct rule_fact fact[KEY_COUNT] = { [KEY_STACK] = { .text = p->stack ? p->stack->id : NULL }, [KEY_RELEASE] = { .text = m->date } };
    const int build = is_llama_cpp(m->engine) ? build_said(m) : 0;
    int year, month;
    if (measure_date(m->date, &year, &month) == MEASURE_DATE && year >= MEASURE_FIRST_YEAR)
        return 100 * year + (month > 0 ? month : MIDDLE);
    return build > 0 ? month_of_build(build) : (int)stacks_value(TABLE_RELEASES, 0, fact, 0);
}

const char *stack_traits_type(const struct stack_traits *f)
{
    const char *quant = f->p->m->quant;
    return quant && quant[0] ? quant : f->p->type;
}

/* ---- the machine ------------------------------------------------------------------------------------- */

static enum maker maker_of(const struct workload *p)
{
    for (int i = 0; i < MAKER_OTHER; i++)
        if (strcmp(p->machine->h.vendor, stack_makers[i]) == 0 || strncmp(p->machine->hardware, stack_makers[i], strlen(stack_makers[i])) == 0)
            return (enum maker)i;
    return MAKER_OTHER;
}

static void set_vendor(struct stack_traits *f, const struct machine *m)
{
    if (m->h.vendor[0] && strcmp(m->h.vendor, "?") != 0)
        snprintf(f->vendor, sizeof f->vendor, "%s", m->h.vendor);
    else
        snprintf(f->vendor, sizeof f->vendor, "%.*s", (int)strcspn(m->hardware, " "), m->hardware);
}

double stack_traits_peak(const struct stack_traits *f, enum math m)
{
    const struct peak *q = &f->p->roofs->peak[m];
    return q->flop_s > 0 && !q->derived ? q->flop_s : 0;
}

enum generation stack_traits_generation(enum maker maker, const char *name)
{
    const struct rule_fact fact[KEY_COUNT] = { [KEY_MAKER] = { .number = maker }, [KEY_NAME] = { .text = name }, [KEY_WORD] = { .text = name } };
    return (enum generation)stacks_value(TABLE_GENERATIONS, 0, fact, GENERATION_OTHER);
}

const char *stack_traits_lineage(const struct workload *p)
{
    const struct machine *m = p->machine;
    const struct rule_fact fact[KEY_COUNT] = { [KEY_MAKER] = { .number = maker_of(p) }, [KEY_KIND] = { .number = m->h.kind },
                                               [KEY_NAME] = { .text = m->hardware, .also = m->h.name } };
    const int l = (int)stacks_value(TABLE_LINEAGES, 0, fact, 0);
    return l > 0 ? machine_lineages[l] : m->class_name;
}

/* Rate of 16 bits over FP32. */
static double rate(double fp16, double fp32)
{
    return fp16 / fp32;
}

static void know_machine(struct rule_fact *fact, const struct stack_traits *f)
{
    const struct machine *m = f->p->machine;
    const struct hwprofile *h = &m->h;
    const double fp32 = stack_traits_peak(f, MATH_FP32), cycles = h->n_cores * h->clock_hz.value;
    fact[KEY_MAKER].number = f->maker;
    fact[KEY_VENDOR].text = f->vendor;
    fact[KEY_CLASS].text = m->class_name;
    fact[KEY_KIND].number = h->kind;
    fact[KEY_NAME] = (struct rule_fact){ .text = m->hardware, .also = h->name };
    fact[KEY_WORD].text = h->name[0] ? h->name : m->hardware;
    fact[KEY_FP16_RATE].number = rate(stack_traits_peak(f, MATH_FP16), fp32);
    fact[KEY_ANY_FP16_RATE].number = rate(f->p->roofs->peak[MATH_FP16].flop_s, fp32);
    fact[KEY_FP4_PEAK].number = h->peak[MATH_FP4].value > 0;
    fact[KEY_FLOP_CYCLE].number = cycles > 0 ? h->peak[MATH_FP32].value / cycles : NAN;
}

static void set_machine(struct stack_traits *f, struct rule_fact *fact)
{
    const double cache = f->p->machine->h.cache_bytes.value;
    f->maker = maker_of(f->p);
    set_vendor(f, f->p->machine);
    f->cpu = f->p->machine->h.kind == HW_CPU;
    know_machine(fact, f);
    f->generation = (enum generation)stacks_value(TABLE_GENERATIONS, 0, fact, GENERATION_OTHER);
    fact[KEY_GENERATION].number = f->generation;
    f->has_matrix = stacks_value(TABLE_MATRIX_UNITS, 0, fact, 0) > 0;
    fact[KEY_MATRIX].number = f->has_matrix;
    f->issued = stacks_value(TABLE_LANES, 0, fact, 1);
    f->integers = stacks_value(TABLE_ISSUE, 0, fact, 1);
    f->in_turns = stacks_value(TABLE_ISSUE, 1, fact, 1);
    f->half_sums = stacks_value(TABLE_HALF_SUMS, 0, fact, 1);
    f->inline_ecc = stacks_value(TABLE_CHECK_BYTES, 0, fact, 0) > 0;
    f->mma_rows = stacks_value(TABLE_MMA_ROWS, 0, fact, 1);
    f->x86 = stacks_value(TABLE_CORES, 0, fact, 0) > 0;
    f->core_flop = stacks_value(TABLE_CORES, 1, fact, NAN);
    f->core_instructions = stacks_value(TABLE_CORES, 2, fact, NAN);
    f->cache_bytes = !f->cpu && cache > 0 ? cache : 0;
    f->ranks = (uint32_t)stacks_value(TABLE_RANKS, 0, fact, 1);
}

/* ---- the engine -------------------------------------------------------------------------------------------- */

static void know_row(struct rule_fact *fact, const struct stack_traits *f)
{
    const struct workload *p = f->p;
    const struct measurement *m = p->m;
    fact[KEY_STACK].text = p->stack->id;
    fact[KEY_FAMILY].number = p->stack->family;
    fact[KEY_FUSED].number = p->stack->fused;
    fact[KEY_BUILD].number = f->build > 0 ? f->build : INFINITY; /* an engine without a version is current */
    fact[KEY_DATED].number = f->build > 0;
    fact[KEY_MOE].number = p->moe;
    fact[KEY_BEHIND].number = m->phase == MEASURE_PREFILL && m->context > 0;
    fact[KEY_TYPE].text = fact[KEY_TYPE_HAS].text = stack_traits_type(f);
    fact[KEY_PRICED].text = p->type;
    fact[KEY_QUANT].text = m->quant;
    fact[KEY_ENGINE].text = m->engine;
    fact[KEY_VERSION].text = m->version;
    fact[KEY_NOTES].text = m->notes;
    fact[KEY_SCHEME] = (struct rule_fact){ .text = m->engine, .also = m->quant };
    fact[KEY_KERNEL].text = m->kernel;
    fact[KEY_ORIGIN].text = m->source;
    fact[KEY_MODE].text = m->mode;
    fact[KEY_DP].number = p->layout.dp;
    fact[KEY_USERS].number = p->n_users;
}

static void set_engine(struct stack_traits *f, struct rule_fact *fact)
{
    const struct measurement *m = f->p->m;
    f->build = stack_traits_build(m);
    know_row(fact, f);
    f->back_end = (enum back_end)stacks_value(TABLE_BACK_ENDS, 0, fact, BACK_END_OTHER);
    fact[KEY_BACK_END].number = f->back_end;
    f->products = (enum back_end)stacks_value(TABLE_PRODUCTS, 0, fact, BACK_END_OTHER);
    fact[KEY_PRODUCTS].number = f->products;
    f->old = stacks_value(TABLE_OLD, 0, fact, 0) > 0;
    fact[KEY_OLD].number = f->old;
    f->scans = !f->cpu && (f->old || (m->flash_stated && !m->flash));
    f->flash = m->flash_stated ? m->flash : stacks_value(TABLE_FLASH, 0, fact, 0) > 0;
    fact[KEY_FLASH].number = f->flash;
    f->launches = stacks_value(TABLE_LAUNCHES, 0, fact, 1);
    f->one_step = stacks_value(TABLE_EXCHANGES, 0, fact, 0) > 0;
    f->once_bytes = f->one_step ? stacks_value(TABLE_EXCHANGES, 1, fact, 0) : 0;
    f->copies = stack_trait(f->p->stack, ENGINE_COPIES);
    f->stage_boundaries = stack_trait(f->p->stack, ENGINE_STAGE_BOUNDARIES) > 0;
    f->absorbed = stack_trait(f->p->stack, ENGINE_ABSORBED) > 0;
    f->products_factor = stacks_value(TABLE_LIBRARY_REACH, 0, fact, 1);
    f->attention_factor = stacks_value(TABLE_LIBRARY_REACH, 1, fact, 1);
    f->factor_on_matrix = stacks_value(TABLE_LIBRARY_REACH, 2, fact, 0) > 0;
    f->together = stacks_value(TABLE_SERVERS, 1, fact, 0) > 0;
    f->receive_steps = stacks_value(TABLE_RECEIVE, 0, fact, 0);
    f->own_part = stacks_value(TABLE_OWN_KERNELS, 0, fact, 1);
    f->cpu_kernels = (enum cpu_kernels)stacks_value(TABLE_CPU_KERNELS, 0, fact, CPU_OTHER);
    fact[KEY_CPU_KERNELS].number = f->cpu_kernels;
    f->server_attention = stacks_value(TABLE_SERVER_ATTENTION, 0, fact, 0) > 0;
    f->narrow_start_cycles = stacks_value(TABLE_NARROW_START, 0, fact, NAN);
}

const struct rule *stack_traits_rule(const struct stack_traits *f, enum stack_table t, const double *late)
{
    return rules_first(stacks(), t, f->rows[t], late);
}

double stack_traits_value(const struct stack_traits *f, enum stack_table t, unsigned value, const double *late, double none)
{
    const struct rule *row = stack_traits_rule(f, t, late);
    return row ? row->value[value] : none;
}

double stack_traits_launches(const struct stack_traits *f, double pass_tok)
{
    return stack_traits_value(f, TABLE_BATCH_LAUNCHES, 0, (const double[KEY_LATE_COUNT]){ [KEY_TOKENS] = pass_tok }, f->launches);
}

void stack_traits_init(struct stack_traits *f, const struct workload *p)
{
    struct rule_fact fact[KEY_COUNT] = { 0 };
    *f = (struct stack_traits){ .p = p };
    set_machine(f, fact);
    set_engine(f, fact);
    for (int t = TABLE_FIRST_LATE; t < TABLE_COUNT; t++)
        f->rows[t] = rules_select(stacks(), (size_t)t, fact);
    if (p->m->kind != MEASURE_KERNEL)
        collective_price_init(&f->collective, f);
}
