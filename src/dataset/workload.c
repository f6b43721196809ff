/* Builds workloads, with caches of machines and models. */
#include "base/label.h"
#include "dataset/stacks.h"
#include "dataset/workload_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct workload_builder *workload_builder_new(const struct measure_hws *hws, const char *own, struct error *err)
{
    struct workload_builder *p = calloc(1, sizeof *p);
    if (!p) {
        error_oom(err, sizeof *p, "a workload builder");
        return NULL;
    }
    p->hws = hws;
    p->own = own;
    return p;
}

void workload_builder_drop_models(struct workload_builder *p)
{
    for (size_t i = 0; i < p->n_model; i++) {
        row_model_free(p->model[i]);
        free(p->model[i]);
    }
    p->n_model = 0;
}

void workload_builder_free(struct workload_builder *p)
{
    if (!p)
        return;
    workload_builder_drop_models(p);
    presets_free(&p->presets);
    for (size_t i = 0; i < p->n_machine; i++) {
        machine_free(p->machine[i]);
        free(p->machine[i]);
    }
    free(p->machine);
    free(p);
}

/* Appends a machine; NULL: out of memory. */
static struct machine *new_machine(struct workload_builder *p, struct error *err)
{
    struct machine **more = realloc(p->machine, (p->n_machine + 1) * sizeof *more);
    if (more)
        p->machine = more;
    struct machine *m = more ? calloc(1, sizeof *m) : NULL;
    if (m)
        p->machine[p->n_machine++] = m;
    else
        error_oom(err, sizeof *m, "machines");
    return m;
}

/* Moves the n-th model to the front. */
static struct row_model *move_to_front(struct workload_builder *p, size_t n)
{
    struct row_model *s = p->model[n];
    memmove(&p->model[1], &p->model[0], n * sizeof *p->model);
    p->model[0] = s;
    return s;
}

/* New model at the front; evicts the least recently used. */
static struct row_model *new_model(struct workload_builder *p, struct error *err)
{
    struct row_model *s = calloc(1, sizeof *s);
    if (!s) {
        error_oom(err, sizeof *s, "models");
        return NULL;
    }
    if (p->n_model == WORKLOAD_MODELS) {
        row_model_free(p->model[--p->n_model]);
        free(p->model[p->n_model]);
    }
    p->model[p->n_model] = s;
    return move_to_front(p, p->n_model++);
}

const struct machine *workload_builder_machine(struct workload_builder *p, const char *hardware, bool server, struct error *err)
{
    char name[sizeof p->machine[0]->hardware];
    label_fit(name, sizeof name, hardware);
    for (size_t i = 0; i < p->n_machine; i++)
        if (strcmp(p->machine[i]->hardware, name) == 0)
            return p->machine[i];
    struct machine *m = new_machine(p, err);
    return m && machine_find(m, hardware, server, p->hws, p->own, err) == 0 && (m->roofs = roofs_cache_new(err)) ? m : NULL;
}

const struct row_model *workload_builder_model(struct workload_builder *p, const struct measurement *row, const struct stack *stack, struct error *err)
{
    char key[sizeof p->model[0]->key];
    row_model_key(key, sizeof key, row, stack);
    for (size_t i = 0; i < p->n_model; i++)
        if (strcmp(p->model[i]->key, key) == 0)
            return move_to_front(p, i);
    struct row_model *s = new_model(p, err);
    return s && row_model_load(s, row, stack, &p->presets, err) == 0 ? s : NULL;
}

/* ---- a row --------------------------------------------------------------------------------------------- */

/* Parameters of all tensors; *active: those used by a token, without unselected experts and the embedding table. */
static double count_params(const struct row_model *s, double *active)
{
    const struct hparams *hp = &s->m.hp;
    double all = (double)s->m.n_params, experts = 0, visited = 0;
    for (size_t i = 0; i < s->m.n_tensors; i++) {
        const struct tensor *t = &s->m.tensors[i];
        const double n = (double)t->rows * (double)t->cols;
        all += n * (row_model_share(s, t) - 1);
        if (hp->n_expert > 0 && row_model_is_expert(t)) {
            experts += n * row_model_share(s, t);
            visited += n * s->width * hp->n_expert_used / hp->n_expert;
        }
    }
    *active = all - experts + visited - (hp->tied ? 0 : (double)hp->n_vocab * hp->n_embd);
    return all;
}

static double count_bytes(const struct row_model *s)
{
    double bytes = (double)s->m.weight_bytes;
    for (size_t i = 0; i < s->m.n_tensors; i++)
        bytes += (double)s->m.tensors[i].bytes * (row_model_share(s, &s->m.tensors[i]) - 1);
    return bytes;
}

static void describe(struct workload *out, const struct row_model *s)
{
    const struct hparams *hp = &s->m.hp;
    snprintf(out->preset, sizeof out->preset, "%s", s->preset);
    snprintf(out->type, sizeof out->type, "%s", s->type);
    snprintf(out->note, sizeof out->note, "%.255s%s%.140s", s->note, s->note[0] && *out->m->remark ? "; " : "", out->m->remark);
    out->n_params = count_params(s, &out->n_active);
    out->model_bytes = count_bytes(s) * (isnan(s->scale) ? 1 : s->scale);
    out->bits_weight = 8 * out->model_bytes / out->n_params;
    out->n_layer = hp->n_layer;
    out->n_embd = hp->n_embd;
    out->n_expert = hp->n_expert;
    out->n_expert_used = hp->n_expert_used;
    out->moe = hp->n_expert > 0;
    out->hybrid = (out->m->tags & TAG_HYBRID) || hp->hybrid.n_head > 0;
    out->guesses |= s->guesses;
}

/* Without roofs there is no workload; out of memory is an error. */
static int init_roofs(struct workload *out, const struct measurement *m, struct error *err)
{
    struct error e = { 0 };
    out->roofs = machine_roofs(out->machine, m->n_threads, out->machine->link_bytes_s, out->machine->link_latency_s, &e);
    if (!out->roofs && error_is_fatal(&e))
        return error_set(err, e.kind, "%s", e.msg);
    if (!out->roofs)
        return workload_reject(out, "%.250s", e.msg);
    return interrupt_check(err);
}

static bool has_model(enum measure_kind k)
{
    return k == MEASURE_RATE || k == MEASURE_SERVING;
}

/* KV cache of a row without a cache type: FP8 where the engine's default, else the type of the activations. */
static bool has_narrow_cache(const struct workload *out)
{
    const struct rule_fact fact[KEY_COUNT] = { [KEY_STACK] = { .text = out->stack->id },
                                               [KEY_KIND] = { .number = out->machine->h.kind },
                                               [KEY_FP4_PEAK] = { .number = out->machine->h.peak[MATH_FP4].value > 0 },
                                               [KEY_TYPE] = { .text = out->type } };
    const double late[KEY_LATE_COUNT] = { [KEY_BITS] = out->bits_weight, [KEY_SERVING] = out->m->kind == MEASURE_SERVING };
    return rules_first(stacks(), TABLE_NARROW_CACHE, rules_select(stacks(), TABLE_NARROW_CACHE, fact), late) != NULL;
}

/* KV cache type in the name of the weight type: "W4A8KV4", "NVFP4+FP8KV". */
static const struct dtype_info *named_cache(const char *quant)
{
    static const struct {
        const char *word, *type;
    } words[] = { { "kv4", "Q4_0" }, { "kv8", "FP8" }, { "fp8kv", "FP8" }, { "fp8-kv", "FP8" } };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcasestr(quant, words[i].word))
            return dtype_find_name(words[i].type);
    return NULL;
}

/* KV cache types of the row, where the model supports them. */
static void cache_types(struct workload *out, const struct row_model *s)
{
    const struct measurement *m = out->m;
    const struct dtype_info *k = *m->type_k ? dtype_find_name(m->type_k) : NULL, *v = *m->type_v ? dtype_find_name(m->type_v) : NULL;
    if (!k && !v)
        k = v = named_cache(m->quant);
    if (!k && !v && has_narrow_cache(out))
        k = v = dtype_find_name("FP8");
    const struct cost_options o = { .act_elem_bytes = 2, .type_k = k ? k->id : DTYPE_F16, .type_v = v ? v->id : DTYPE_F16 };
    struct error e = { 0 };
    if (cost_check_kv(&s->ops, &o, &e) != 0)
        return;
    out->type_k = o.type_k;
    out->type_v = o.type_v;
}

static bool is_narrow(enum math m)
{
    return m == MATH_FP8 || m == MATH_INT8 || m == MATH_FP4 || m == MATH_INT4;
}

/* Marks operands converted to wider types: no unit for them, or an unknown peak. (26) */
static void note_widened(struct workload *out)
{
    for (size_t i = 0; i < out->n_pass && !out->roofs->cpu; i++)
        for (size_t k = 0; k < out->pass[i].n; k++) {
            const struct step *w = &out->pass[i].c[k];
            if (w->rows > 0 && is_narrow(w->math) && out->roofs->peak[w->math].derived)
                out->guesses |= GUESS_PEAK;
        }
}

/* Range of measured over expected bytes: experts touched vary, tables may or may not be read. Beyond it is another model. */
static const double READ_RANGE = 1.5;

static bool is_that_model(const struct workload *out)
{
    const double read = work_sum(out, out->m->phase == MEASURE_PREFILL ? PHASE_PREFILL : PHASE_DECODE).cost.weight_bytes, x = out->m->read_bytes / read;
    return !(x > 0) || (x < READ_RANGE && x > 1 / READ_RANGE);
}

static int add_model(struct workload_builder *p, const struct measurement *m, struct workload *out, struct error *err)
{
    const struct row_model *s = workload_builder_model(p, m, out->stack, err);
    if (!s)
        return -1;
    if (!s->loaded)
        return workload_reject(out, "%.250s", s->reason);
    struct error too_many = { 0 };
    const bool both = m->kind == MEASURE_SERVING ? m->metric == METRIC_TPOT : m->kind == MEASURE_RATE && m->phase == MEASURE_REQUEST;
    if (time_check(&s->classes, both, &too_many) != 0)
        return workload_reject(out, "%.250s", too_many.msg);
    describe(out, s);
    cache_types(out, s);
    int rc = m->kind == MEASURE_RATE ? workload_add_rate(out, m, s, err) : workload_add_serving(out, m, s, err);
    if (rc != 0 && err->kind == ERROR_USAGE) { /* the layout is invalid for this row only */
        const struct error e = *err;
        *err = (struct error){ 0 };
        rc = workload_reject(out, "%.250s", e.msg);
    }
    if (rc == 0 && !out->reason[0] && !is_that_model(out))
        return workload_reject(out, "%.3g GB of weights read per pass, unlike %.64s: another model of that name", m->read_bytes / 1e9,
                        out->preset[0] ? out->preset : m->model);
    note_widened(out);
    return rc;
}

/* Small kernels depend on the model, if it is known. */
static int add_op(struct workload_builder *p, const struct measurement *m, struct workload *out, struct error *err)
{
    const struct row_model *s = workload_builder_model(p, m, out->stack, err);
    return s ? workload_add_op(out, m, s->loaded && s->preset[0] ? s : NULL, err) : -1;
}

/* Back end of llama.cpp where neither engine nor machine names one: the default of its builds. */
static const struct stack *stack_on(const struct measurement *m, const struct machine *on)
{
    const struct stack *const s = stack_find(m->engine, m->hardware);
    const char *const any = "llama.cpp";
    if (on->loaded && on->h.kind == HW_CPU && s->family == STACK_LLAMA_CPP && strncmp(s->id, any, strlen(any)) == 0)
        return stack_named("llama.cpp-cpu"); /* GPU build without a GPU */
    if (!on->loaded || strcmp(stack_find(m->engine, "")->id, any) != 0)
        return s;
    if (strcmp(s->id, any) != 0 && on->h.kind != HW_CPU)
        return s;
    const struct rule_fact fact[KEY_COUNT] = { [KEY_KIND] = { .number = on->h.kind }, [KEY_VENDOR] = { .text = on->h.vendor } };
    const size_t build = (size_t)stacks_value(TABLE_MACHINE_BUILDS, 0, fact, 0);
    return build > 0 ? stack_named(stack_defaults[build]) : s;
}

int workload_init(struct workload_builder *p, const struct measurement *m, struct workload *out, struct error *err)
{
    *out = (struct workload){ .m = m, .builder = p, .stack = stack_find(m->engine, m->hardware), .n_devices = m->n_devices, .replication = 1,
                            .type_k = DTYPE_F16, .type_v = DTYPE_F16, .n_params = NAN, .n_active = NAN, .bits_weight = NAN,
                            .model_bytes = NAN, .measured_s = NAN, .batch = NAN, .prompt = NAN, .context = NAN, .out = NAN,
                            .n_users = NAN, .n_ahead = NAN, .fits = NAN };
    out->machine = workload_builder_machine(p, m->hardware, m->kind != MEASURE_RATE, err);
    if (!out->machine)
        return -1;
    out->stack = stack_on(m, out->machine);
    if (!out->machine->loaded)
        return workload_reject(out, "%s", out->machine->reason);
    out->guesses |= *m->assumed ? GUESS_LENGTH : 0U;
    out->guesses |= out->machine->guesses & ~(unsigned)(m->n_devices > 1 || m->n_ranks > 1 ? 0 : GUESS_LINK);
    int rc = init_roofs(out, m, err);
    if (rc == 0 && !out->reason[0] && has_model(m->kind))
        rc = add_model(p, m, out, err);
    else if (rc == 0 && !out->reason[0] && m->kind == MEASURE_KERNEL)
        rc = workload_add_gpu_kernel(out, m, err);
    else if (rc == 0 && !out->reason[0])
        rc = m->kind == MEASURE_OP ? add_op(p, m, out, err) : workload_add_all_reduce(out, m, err);
    if (rc != 0)
        workload_free(out);
    return rc;
}

int workload_of_pass(const struct workload *p, enum phase phase, uint32_t n_tok, uint32_t n_past, uint32_t n_seq, struct workload *out,
                     struct error *err)
{
    const struct pass_request r = { phase, 1, { .n_tok = n_tok, .n_past = n_past, .n_seq = n_seq }, 1 };
    const struct row_model *s = workload_builder_model(p->builder, p->m, p->stack, err);
    if (!s)
        return -1;
    *out = *p;
    out->host = NULL;
    out->pass = NULL;
    out->n_pass = 0;
    out->borrowed = false;
    return work_add(out, s, &r, err);
}

/* Bitwise comparison; differing padding only costs memory. */
static bool is_same_work(const struct workload *a, const struct workload *b)
{
    bool same = a->n_pass == b->n_pass && a->n_pass > 0;
    for (size_t i = 0; same && i < a->n_pass; i++) {
        struct work_pass x = a->pass[i];
        x.c = b->pass[i].c;
        same = memcmp(&x, &b->pass[i], sizeof x) == 0 && memcmp(a->pass[i].c, b->pass[i].c, x.n * sizeof *x.c) == 0;
    }
    return same;
}

void workload_share_passes(struct workload *p, const struct workload *before)
{
    if (p->host || before->host || !is_same_work(p, before))
        return;
    struct work_pass *const pass = before->pass;
    const size_t n = before->n_pass;
    workload_free(p);
    p->pass = pass;
    p->n_pass = n;
    p->borrowed = true;
}

void workload_free(struct workload *p)
{
    if (p->host)
        workload_free(p->host);
    free(p->host);
    p->host = NULL;
    for (size_t i = 0; i < p->n_pass && !p->borrowed; i++)
        free(p->pass[i].c);
    if (!p->borrowed)
        free(p->pass);
    p->pass = NULL;
    p->n_pass = 0;
    p->borrowed = false;
}
