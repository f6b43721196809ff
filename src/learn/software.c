/* Constants for predictions: machine, stack and model as a row of score, with the fit's constants. */
#include "learn/software.h"
#include "learn/constants.h"
#include "learn/fitted.h"
#include "stacks/effects.h"
#include "stacks/stack_traits.h"
#include "stacks/priors.h"
#include "stacks/units.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A machine with anchors. */
struct anchored_machine {
    char *id; /* of its profile */
    const struct stack *stack; /* of its first anchor */
    char *source;              /* who measured the first of them, and predicts now */
    void *params;              /* its own, with several machines; NULL: the common ones */
};

struct software {
    struct time_source source; /* context: the software */
    const struct stack *stack; /* NULL: by machine */
    const struct stack *server; /* of machines without measured kernels, where stack is NULL; NULL: their defaults */
    bool materialized, served;
    bool borrowed;             /* what follows is another's */
    void *params;              /* of time_model_fitted */
    struct anchored_machine *own;           /* of anchors */
    size_t n_own;
};

static const struct anchored_machine *anchored_machine_of(const struct software *s, const struct hwprofile *h)
{
    for (size_t i = 0; i < s->n_own; i++)
        if (strcmp(s->own[i].id, h->id) == 0)
            return &s->own[i];
    return NULL;
}

static void *params_of(const struct software *s, const struct hwprofile *h)
{
    const struct anchored_machine *own = anchored_machine_of(s, h);
    return own && own->params ? own->params : s->params;
}

/* ---- which stack ------------------------------------------------------------------------------ */

const struct stack *software_default(const struct hwprofile *h, enum weights w)
{
    const enum maker maker = strcmp(h->vendor, "NVIDIA") == 0 ? MAKER_NVIDIA : strcmp(h->vendor, "AMD") == 0 ? MAKER_AMD : MAKER_OTHER;
    const struct rule_fact fact[KEY_COUNT] = {
        [KEY_KIND] = { .number = h->kind },
        [KEY_VENDOR] = { .text = h->vendor },
        [KEY_CLASS] = { .text = machine_class(h) },
        [KEY_GENERATION] = { .number = stack_traits_generation(maker, h->name) },
        [KEY_WEIGHTS] = { .number = w },
        [KEY_PROFILED] = { .number = h->n_ceiling > 0 },
    };
    return stack_named(stack_defaults[(size_t)stacks_value(TABLE_DEFAULTS, 0, fact, 0)]);
}

static const struct rule_condition *condition(const struct rule *r, enum stack_key key)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->when[i].key == key)
            return &r->when[i];
    return NULL;
}

/* "NVIDIA datacenter GPU (GGUF types)" of a row of defaults, added to buf. */
static void add_default(char *buf, size_t size, const struct rule *r)
{
    static const char *const notes[1 << WEIGHTS_COUNT] = {
        [1] = " (GGUF types)", [3] = " (GGUF types, 16 bits)", [6] = " (not GGUF types)", [4] = " (AWQ, FP8, ...)", [7] = "",
    };
    static const char *const kinds[] = { [HW_CPU] = "CPU", [HW_GPU] = "GPU", [HW_APU] = "APU", [HW_NPU] = "NPU" };
    const struct rule_condition *kind = condition(r, KEY_KIND), *vendor = condition(r, KEY_VENDOR), *class = condition(r, KEY_CLASS),
                                *weights = condition(r, KEY_WEIGHTS);
    size_t k = 0;
    while (k < HW_NPU && kind && !(kind->words >> k & 1))
        k++;
    const size_t n = strlen(buf);
    if (n < size)
        snprintf(buf + n, size - n, "%s%s%s%s%s", n ? ", " : "", vendor ? vendor->text[0] : k == HW_CPU ? "" : "any other",
                 k == HW_CPU ? "" : " ", class ? class->text[0] : kinds[k], condition(r, KEY_PROFILED) ? ", profiled" : notes[weights ? weights->words & 7 : 7]);
}

const char *software_default_for(const char *stack, char *buf, size_t size)
{
    const struct rules *r = stacks();
    snprintf(buf, size, "%s", "");
    for (size_t i = 0; r->table && i < r->table[TABLE_DEFAULTS].n; i++) {
        const struct rule *row = &r->table[TABLE_DEFAULTS].row[i];
        if (row->value[1] == 0 && strcmp(stack_defaults[(size_t)row->value[0]], stack) == 0)
            add_default(buf, size, row);
    }
    return buf;
}

/* By the largest matrix. */
static bool is_gguf(const struct model *m)
{
    const struct tensor *largest = NULL;
    for (size_t i = 0; i < m->n_tensors; i++)
        if (!largest || m->tensors[i].bytes > largest->bytes)
            largest = &m->tensors[i];
    return largest && largest->scheme == SCHEME_BY_TYPE && dtype_bits(largest->type) < 16;
}

enum weights software_weights(const struct model *m)
{
    for (size_t i = 0; i < m->n_tensors; i++)
        if (m->tensors[i].scheme != SCHEME_BY_TYPE)
            return WEIGHTS_CHECKPOINT;
    return is_gguf(m) ? WEIGHTS_GGUF : WEIGHTS_PLAIN;
}

bool software_loads(const struct stack *s, const struct model *m)
{
    return stack_trait(s, ENGINE_OWN_FILES) == 0 || software_weights(m) != WEIGHTS_CHECKPOINT;
}

/* ---- a row ---------------------------------------------------------------------------------------- */

/* The query of a prediction as a row of measurements without further details. */
struct query {
    struct measurement m;
    struct machine machine;
    struct workload p;
    struct roofs roofs;
    struct stack_traits traits;
    struct step c[2]; /* most of a prompt's arithmetic: determines its math units */
    struct work_pass pass;
    struct query *served; /* the same as a row of a server's steps, adjacent in memory; NULL: none */
};

enum { PROMPT = 512, FEW = 32 }; /* tokens of a pass: units are the same from TIME_PROMPT on, and below it from 9 (43) */

static bool is_embedding(const struct tensor *t)
{
    return strncmp(t->name, "token_embd", 10) == 0;
}

/* The type of most weights, as in a file's name. Not that of the largest matrix, often the LM head's, nor of an embedding table, which
 * dominates small models. */
static enum dtype main_type(const struct model *m)
{
    struct {
        enum dtype type;
        double n;
    } of[16]; /* files have a few; types of checkpoints are numbers beyond DTYPE_COUNT */
    size_t n = 0, most = 0;
    for (size_t i = 0; i < m->n_tensors; i++) {
        const struct tensor *t = &m->tensors[i];
        size_t k = 0;
        while (k < n && of[k].type != t->type)
            k++;
        if (k == ARRAY_LEN(of) || is_embedding(t))
            continue;
        if (k == n) {
            of[n].type = t->type;
            of[n++].n = 0;
        }
        of[k].n += (double)t->rows * (double)t->cols;
    }
    for (size_t k = 1; k < n; k++)
        if (of[k].n > of[most].n)
            most = k;
    return n > 0 ? of[most].type : DTYPE_F32;
}

/* The largest matrix, and attention. */
static void query_pass(struct query *x, const struct model *m)
{
    const struct tensor *w = NULL;
    for (size_t i = 0; i < m->n_tensors; i++)
        if (!is_embedding(&m->tensors[i]) && (!w || m->tensors[i].bytes > w->bytes))
            w = &m->tensors[i];
    const struct op product = { .kind = OP_MATMUL, .w = w };
    const uint32_t shared = m->hp.n_head_kv > 0 ? m->hp.n_head_kv : 1;
    x->c[0] = (struct step){ .kind = OP_ATTENTION, .n_tok = PROMPT, .head_dim = m->hp.head_dim, .group = (double)m->hp.n_head / shared };
    x->c[1] = (struct step){ .kind = OP_MATMUL, .n_tok = PROMPT, .count = 1, .cost = { .flop = 1 } };
    if (w) {
        x->c[1].math = roofs_math(x->p.roofs, &product);
        x->c[1].bits = cost_weight_bits(w);
        snprintf(x->p.type, sizeof x->p.type, "%s", dtype_name(main_type(m)));
    }
    x->pass = (struct work_pass){ .at = { .phase = PHASE_PREFILL, .n_tok = PROMPT, .n_seq = 1 }, .times = 1, .c = x->c, .n = w ? 2 : 1 };
    x->p.pass = &x->pass;
    x->p.n_pass = 1;
}

static const struct stack *stack_for(const struct software *s, const struct hwprofile *h, const struct model *m)
{
    const struct anchored_machine *own = anchored_machine_of(s, h); /* anchors of the machine apply */
    return s->stack ? s->stack : s->server && !hwprofile_has_kernels(h) ? s->server : own ? own->stack : software_default(h, software_weights(m));
}

/* A row of a server's steps from now on. */
static void query_serve(struct query *x)
{
    x->m.server_step = true;
}

static int query_init(struct query *x, const struct software *s, const struct hwprofile *h, const struct model *m, struct error *err)
{
    const struct predict_options o = { .weights_bytes = NAN };
    const struct anchored_machine *own = anchored_machine_of(s, h);
    x->m = (struct measurement){ .kind = MEASURE_RATE, .phase = MEASURE_DECODE, .metric = METRIC_TOK_S, .value = NAN, .id = "",
                                 .source = own ? own->source : "prediction", .hardware = h->id, .engine = "", .version = "", .model = "", .quant = "",
                                 .date = "", .notes = "", .assumed = "", .label = "", .n_devices = 1, .type_k = "", .type_v = "", .op = "",
                                 .topology = "", .mode = "", .prompt = NAN, .flash_stated = true, .flash = !s->materialized };
    x->machine = (struct machine){ .loaded = true, .ln_sd = h->guess_ln_sd };
    snprintf(x->machine.hardware, sizeof x->machine.hardware, "%s", h->id);
    snprintf(x->machine.profile, sizeof x->machine.profile, "%s", h->id);
    snprintf(x->machine.class_name, sizeof x->machine.class_name, "%s", machine_class(h));
    snprintf(x->machine.h.vendor, sizeof x->machine.h.vendor, "%s", h->vendor);
    snprintf(x->machine.h.name, sizeof x->machine.h.name, "%s", h->name);
    x->machine.h.kind = h->kind;
    x->machine.h.n_cores = h->n_cores;
    x->machine.h.clock_hz = h->clock_hz;
    x->machine.h.cache_bytes = h->cache_bytes;
    x->machine.h.link = h->link; /* the caller's */
    x->machine.h.n_link = h->n_link;
    x->machine.h.peak[MATH_FP32] = h->peak[MATH_FP32];
    x->machine.h.peak[MATH_FP4] = h->peak[MATH_FP4];
    x->p = (struct workload){ .m = &x->m, .machine = &x->machine, .moe = m->hp.n_expert > 0, .n_devices = 1,
                            .stack = stack_for(s, h, m), .guesses = h->guess_ln_sd > 0 ? GUESS_PEAK | GUESS_BANDWIDTH : 0,
                            .bits_weight = 8 * (double)m->weight_bytes / (double)m->n_params };
    snprintf(x->p.preset, sizeof x->p.preset, "%.63s", m->name);
    if (roofs_init(&x->roofs, h, &o, err) != 0)
        return -1;
    roofs_free(&x->roofs); /* of the measured kernels, which have no constants */
    x->p.roofs = &x->roofs;
    query_pass(x, m);
    stack_traits_init(&x->traits, &x->p);
    return 0;
}

/* The row in a case; TIME_CASE_PROMPT is that of query_init(). */
static const struct stack_traits *of_case(struct query *x, unsigned which)
{
    const bool prompt = which & TIME_CASE_PROMPT, small_batch = prompt && which & TIME_CASE_SMALL_BATCH;
    x->m.phase = which & TIME_CASE_REQUEST ? MEASURE_REQUEST : prompt ? MEASURE_PREFILL : MEASURE_DECODE;
    x->m.prompt = small_batch ? FEW : NAN;
    x->c[0].n_tok = x->c[1].n_tok = x->pass.at.n_tok = small_batch ? FEW : PROMPT;
    x->pass.at.n_seq = which & TIME_CASE_BATCHED ? 2 : 1;
    return &x->traits;
}

/* The fit has "bandwidth hardware=rtx-4090". */
static bool has_effect(const void *params, enum fitted_kind of, const struct fitted_row *r, enum time_parameter parameter, enum dimension d,
                       const char *name)
{
    char text[FIT_MAX_NAME];
    (void)fit_name_add(text, fit_name_begin(text, time_parameter_name(parameter)), name, r->dim[d]);
    return *r->dim[d] && fit_find(fitted_fit_of(params, of), text) != FIT_NO_EFFECT;
}

static enum time_basis basis_of(const struct software *s, const struct hwprofile *h, const struct query *x)
{
    struct fitted_row r;
    if (hwprofile_has_kernels(h) && strcmp(x->p.stack->id, "roofcast") == 0)
        return TIME_BY_KERNELS;
    fitted_row_of_case(&r, &x->traits, 0);
    const void *params = params_of(s, h);
    const bool machine = has_effect(params, FITTED_DECODE, &r, TIME_BANDWIDTH, DIM_HARDWARE, "hardware");
    for (int k = FITTED_RATE; machine && k <= FITTED_DECODE; k++)
        if (has_effect(params, (enum fitted_kind)k, &r, TIME_LAUNCH, DIM_PLACE, "place")) /* with this stack */
            return TIME_BY_MACHINE;
    return machine || has_effect(params, FITTED_DECODE, &r, TIME_BANDWIDTH, DIM_CLASS, "class") ? TIME_BY_CLASS : TIME_BY_PRIORS;
}

/* Rows do not count materialized scores: their engines' constants include the cost (36), (43). */
static void refine(const void *what, const struct step_pass *at, bool decode, struct step *c, struct refinement *how)
{
    const struct query *x = what;
    if (x->served && at->phase == PHASE_DECODE) {
        x = x->served;
        c->bits = 0; /* products run in their weights' type */
    }
    if (!x->m.flash && c->kind == OP_ATTENTION) {
        const struct cost_options o = { .act_elem_bytes = x->p.roofs->act_elem_bytes };
        const double keys = at->n_past + at->n_tok / fmax(at->n_seq, 1);
        c->cost.act_bytes = fmax(0, c->cost.act_bytes - cost_score_bytes(c->n_head, &o) * at->n_tok * keys);
    }
    fitted_refine(&x->traits, at, decode, c, how);
}

static int timing(const void *context, const struct hwprofile *h, const struct model *m, uint64_t cases, struct timing *out,
                  struct error *err)
{
    const struct software *s = context;
    const bool served = s->served && stack_for(s, h, m)->family == STACK_SERVER;
    struct query *x = calloc(2, sizeof *x);
    if (!x)
        return error_oom(err, 2 * sizeof *x, "constants");
    if (query_init(x, s, h, m, err) != 0 || (served && query_init(&x[1], s, h, m, err) != 0)) {
        free(x);
        return -1;
    }
    if (served) {
        query_serve(&x[1]);
        x->served = &x[1];
    }
    out->what = x;
    out->stack = x->p.stack->id;
    out->absorbed = x->traits.absorbed;
    out->copies = x->traits.copies;
    out->basis = basis_of(s, h, x);
    out->kernel_sd = prior(PRIOR_KERNELS_LEFT);
    out->which = fitted_case;
    if (out->basis != TIME_BY_KERNELS && timing_alloc(out, cases, err) != 0)
        return -1;
    for (unsigned c = 0; c < TIME_CASES; c++)
        if (out->of[c])
            fitted_constants(params_of(s, h), of_case(served && !(c & (TIME_CASE_PROMPT | TIME_CASE_REQUEST)) ? x->served : x, c), c, out->of[c]);
    (void)of_case(x, 0);
    out->one_step = x->traits.one_step;
    out->served = served;
    out->refine = refine;
    return 0;
}

/* ---- as text ----------------------------------------------------------------------------------------- */

static uint32_t n_ubatch(const void *context, const struct hwprofile *h, const struct model *m)
{
    return (uint32_t)stack_for(context, h, m)->n_ubatch;
}

static bool serves(const void *context, const struct hwprofile *h, const struct model *m)
{
    const struct stack *s = stack_for(context, h, m);
    const struct rule_fact fact[KEY_COUNT] = { [KEY_STACK] = { .text = s->id }, [KEY_FAMILY] = { .number = s->family }, [KEY_KIND] = { .number = h->kind } };
    return stacks_value(TABLE_SERVERS, 0, fact, 0) > 0;
}

/* "0.8717 x 1.159 class=NVIDIA consumer GPU x 1.03 stack=llama.cpp-cuda; throughput.csv" */
static const char *explain(const void *context, const struct hwprofile *h, const struct model *m, unsigned which,
                           enum time_parameter parameter, char *buf, size_t size)
{
    const struct software *s = context;
    struct query *x = calloc(1, sizeof *x);
    struct error unused = { 0 };
    struct fitted_row r;
    struct fit_row row;
    snprintf(buf, size, "fitted");
    if (!x)
        return buf;
    if (query_init(x, s, h, m, &unused) != 0) {
        free(x);
        return buf;
    }
    fitted_row_of_case(&r, of_case(x, which), which);
    const void *params = params_of(s, h);
    const struct fit *f = fitted_fit_of(params, r.kind);
    fitted_row_predict(f, &r, &row);
    size_t n = 0;
    uint64_t from = 0;
    char files[256];
    for (int k = 0; k < FIT_MAX_EFFECTS && n < size; k++) {
        const uint16_t e = row.effect[parameter][k];
        const char *of = e == FIT_NO_EFFECT ? NULL : strchr(f->effect[e].name, ' ');
        if (e == FIT_NO_EFFECT)
            continue;
        from |= f->effect[e].from;
        n += (size_t)snprintf(buf + n, size - n, "%s%.4g%s", n ? " x " : "", exp(f->effect[e].value), of ? of : "");
    }
    if (row.prior_var[parameter] > 0 && n < size)
        n += (size_t)snprintf(buf + n, size - n, "%sno separate measurement: */ %.3g (90 %%, priors.json)", n ? "; " : "", exp(PREDICT_Z90 * sqrt(row.prior_var[parameter])));
    if (n == 0)
        snprintf(buf, size, "no separate measurement");
    else if (n < size)
        snprintf(buf + n, size - n, "; %s", from ? constants_from(files, sizeof files, fitted_source(params, r.kind), from) : "prior: priors.json");
    free(x);
    return buf;
}

/* ---- all of it ------------------------------------------------------------------------------------------- */

static int fit_anchors(void **params, const struct workload *const *anchor, size_t n, struct error *err)
{
    const struct fit_scope scope = { .leave = LEAVE_NOTHING, .left_out = "", .anchor = anchor, .n_anchor = n };
    return time_model_fitted.fit(params, NULL, 0, &scope, err);
}

static bool is_first_of_machine(const struct workload *const *anchor, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(anchor[k]->machine->h.id, anchor[i]->machine->h.id) == 0)
            return false;
    return true;
}

/* Each machine with the stack of its first row. */
static int list_machines(struct software *s, const struct workload *const *anchor, size_t n, struct error *err)
{
    s->own = calloc(n + 1, sizeof *s->own);
    if (!s->own)
        return error_oom(err, n * sizeof *s->own, "machines of anchors");
    for (size_t i = 0; i < n; i++) {
        if (!is_first_of_machine(anchor, i))
            continue;
        struct anchored_machine *own = &s->own[s->n_own++];
        *own = (struct anchored_machine){ .id = strdup(anchor[i]->machine->h.id), .stack = anchor[i]->stack, .source = strdup(anchor[i]->m->source) };
        if (!own->id || !own->source)
            return error_oom(err, sizeof anchor[i]->machine->h.id, "machines of anchors");
    }
    return 0;
}

/* Anchors of a machine (sigma 2 %) bias the software's constants: machines with anchors have separate constants. (62) */
static int fit_each(struct software *s, const struct workload *const *anchor, size_t n, struct error *err)
{
    const struct workload **row = calloc(n, sizeof *row);
    int rc = row ? 0 : error_oom(err, n * sizeof *row, "anchors of several machines");
    for (size_t i = 0; i < s->n_own && rc == 0; i++) {
        size_t n_row = 0;
        for (size_t k = 0; k < n; k++)
            if (strcmp(anchor[k]->machine->h.id, s->own[i].id) == 0)
                row[n_row++] = anchor[k];
        rc = fit_anchors(&s->own[i].params, row, n_row, err);
    }
    free(row);
    return rc;
}

struct software *software_new(const struct stack *stack, bool materialized, const struct workload *const *anchor, size_t n_anchor,
                              struct error *err)
{
    struct software *s = calloc(1, sizeof *s);
    if (!s) {
        error_oom(err, sizeof *s, "constants");
        return NULL;
    }
    if (classes_load(err) != 0 || stacks_load(err) != 0) {
        free(s);
        return NULL;
    }
    s->stack = stack;
    s->materialized = materialized;
    s->source = (struct time_source){ s, timing, explain, n_ubatch, serves };
    if (list_machines(s, anchor, n_anchor, err) == 0 && fit_anchors(&s->params, anchor, s->n_own > 1 ? 0 : n_anchor, err) == 0 &&
        (s->n_own < 2 || fit_each(s, anchor, n_anchor, err) == 0))
        return s;
    software_free(s);
    return NULL;
}

void software_serve(struct software *s)
{
    s->served = true;
}

void software_set_server(struct software *s, const struct stack *server)
{
    s->server = server;
}

struct software *software_serving(const struct software *s, struct error *err)
{
    struct software *x = malloc(sizeof *x);
    if (!x) {
        error_oom(err, sizeof *x, "constants");
        return NULL;
    }
    *x = *s;
    x->source.context = x;
    x->served = x->borrowed = true;
    return x;
}

void software_free(struct software *s)
{
    if (!s)
        return;
    if (s->borrowed) {
        free(s);
        return;
    }
    if (s->params)
        time_model_fitted.free(s->params);
    for (size_t i = 0; i < s->n_own; i++) {
        if (s->own[i].params)
            time_model_fitted.free(s->own[i].params);
        free(s->own[i].id);
        free(s->own[i].source);
    }
    free(s->own);
    free(s);
}

const struct time_source *software_source(const struct software *s)
{
    return &s->source;
}
