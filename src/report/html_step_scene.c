/* A scene's data: op lists as forms, constants, and features of every setting of the sliders. */
#include "dataset/machine.h"
#include "learn/software.h"
#include "predict/whatif.h"
#include "report/html_step_data.h"
#include "timing/rescale.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Stops of the sliders. Contexts have none: features are columns against them. */
static const uint32_t prompts[] = { 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768 };
static const uint32_t batches[] = { 1, 2, 4, 8, 16, 32, 64 };
static const uint32_t drafts[] = { 0, 1, 2, 4, 8 };
static const double bandwidths[] = { 0.5, 0.75, 1, 1.25, 1.5, 2, 4 };
static const char *const types[] = { "F16", "FP8", "Q8_0", "Q4_K_M", "AWQ" };
enum { N_BANDWIDTH = ARRAY_LEN(bandwidths) };
/* Largest of them by kind of machine: on CPUs longer prompts take minutes, and measured kernels have features of their own at each bandwidth. */
struct limits_of {
    uint32_t n_prompt, n_batch, n_context;
};

static struct limits_of limits_of(const struct model *m, const struct hwprofile *h)
{
    struct limits_of l = h->kind == HW_CPU ? (struct limits_of){ 8192, 16, 32768 } : (struct limits_of){ 32768, 64, 131072 };
    if (m->hp.n_ctx_train > 0 && m->hp.n_ctx_train < l.n_context)
        l.n_context = m->hp.n_ctx_train;
    if (l.n_prompt > l.n_context)
        l.n_prompt = l.n_context;
    return l;
}

static size_t n_within(const uint32_t *v, size_t n, uint32_t most)
{
    while (n > 1 && v[n - 1] > most)
        n--;
    return n;
}

/* ---- settings ------------------------------------------------------------------------------------------- */

/* A model of one type on a machine, with one type of the cache, at each of the bandwidths. */
struct setting {
    struct step_data *d;
    const struct op_classes *classes;
    const struct hwprofile *h;
    struct predict_options o;
    struct limits_of most;
    struct estimator *e[N_BANDWIDTH];
    struct step_model rest[N_BANDWIDTH]; /* without attention that has its own constants in a step */
    double memory[PHASE_COUNT][N_BANDWIDTH]; /* memory seconds over those now */
    bool scales;                             /* other bandwidths change memory seconds alone */
};

static struct step_sample sample_of(const struct setting *s, size_t i, enum phase phase, uint32_t n_tok, uint32_t n_seq)
{
    const struct estimator *e = s->e[i];
    return (struct step_sample){ .step = phase == PHASE_PREFILL ? &e->step : &s->rest[i], .all = &e->step, .roofs = &e->roofs, .phase = phase, .n_tok = n_tok, .n_seq = n_seq,
                                 .n_ubatch = s->o.n_ubatch, .n_context = s->most.n_context };
}

static int init_estimator(struct setting *s, size_t i, struct error *err)
{
    struct hwprofile h;
    struct whatif w = { .n = 0 };
    char text[40];
    struct predict_options o = s->o;
    if (!(s->e[i] = calloc(1, sizeof *s->e[i])))
        return error_oom(err, sizeof *s->e[i], "the data of the section");
    if (bandwidths[i] == 1)
        return estimator_init(s->e[i], s->classes, s->h, &o, err);
    snprintf(text, sizeof text, "bandwidth=x%g", bandwidths[i]);
    if (whatif_profile(&h, s->h, err) != 0)
        return -1;
    int rc = whatif_parse(&w, text, err) != 0 || whatif_apply(&w, &h, &o, err) != 0 ? -1 : 0;
    rc = rc == 0 ? estimator_init(s->e[i], s->classes, &h, &o, err) : rc;
    whatif_profile_free(&h);
    return rc;
}

static void free_estimators(struct setting *s)
{
    for (size_t i = 0; i < N_BANDWIDTH; i++)
        if (s->e[i]) {
            estimator_free(s->e[i]);
            free(s->e[i]);
            free(s->rest[i].c);
        }
}

/* Index of the machine's own bandwidth. */
enum { NOW = 2 };

static const struct estimator *now_of(const struct setting *s)
{
    return s->e[NOW];
}

/* Pair of points to compare, too large for a small stack. */
struct pair {
    struct step_point now, then;
};

/* Whether the sample at bandwidth i is that now with other memory seconds. */
static bool scales_at(struct setting *s, size_t i, enum phase phase, uint32_t n_tok, uint32_t n_seq, uint32_t context, struct pair *p)
{
    const struct step_sample a = sample_of(s, NOW, phase, n_tok, n_seq), b = sample_of(s, i, phase, n_tok, n_seq);
    step_sample_at(&p->now, &a, context);
    step_sample_at(&p->then, &b, context);
    return s->scales && step_point_scales(&p->now, &p->then, bandwidths[i], &s->memory[phase][i]);
}

static bool scales_everywhere(struct setting *s, enum phase phase, uint32_t n_tok, uint32_t n_seq, struct pair *p)
{
    static const uint32_t at[] = { 0, 1000, 3000, UINT32_MAX };
    bool scales = true;
    for (size_t i = 0; i < N_BANDWIDTH && scales; i++)
        for (size_t k = 0; k < ARRAY_LEN(at) && scales; k++)
            scales = scales_at(s, i, phase, n_tok, n_seq, at[k] < s->most.n_context ? at[k] : s->most.n_context, p);
    return scales;
}

/* Changes of memory seconds with the bandwidth. A prompt and a pass of several tokens have no kernels with seconds of their own. */
static void find_scales(struct setting *s, struct pair *p)
{
    s->scales = now_of(s)->roofs.time != NULL;
    for (size_t i = 0; i < N_BANDWIDTH; i++) {
        s->memory[PHASE_PREFILL][i] = s->memory[PHASE_DECODE][i] = NAN;
        s->scales = s->scales && step_same_constants(now_of(s), s->e[i]);
    }
    for (size_t i = 0; i < N_BANDWIDTH; i++) {
        (void)scales_at(s, i, PHASE_PREFILL, 512, 1, 0, p);
        (void)scales_at(s, i, PHASE_DECODE, 2, 1, 0, p);
    }
}

/* A number, or one by bandwidth. */
static int write_samples(struct strbuf *to, struct setting *s, enum phase phase, uint32_t n_tok, uint32_t n_seq, struct pair *p, struct error *err)
{
    const bool one = scales_everywhere(s, phase, n_tok, n_seq, p);
    for (size_t i = 0; i < (one ? 1 : N_BANDWIDTH); i++) {
        const struct step_sample x = sample_of(s, one ? NOW : i, phase, n_tok, n_seq);
        const size_t number = step_sample_write(s->d, &x, err);
        if (number == SIZE_MAX || interrupt_check(err) != 0)
            return -1;
        strbuf_addf(to, "%s%zu", one ? "" : i > 0 ? "," : "[", number);
    }
    strbuf_adds(to, one ? "" : "]");
    return 0;
}

/* "prefill":[[samples by batch] by prompt] */
static int write_phase(struct strbuf *to, struct setting *s, enum phase phase, struct pair *p, struct error *err)
{
    const bool prompt = phase == PHASE_PREFILL;
    const size_t n = prompt ? n_within(prompts, ARRAY_LEN(prompts), s->most.n_prompt) : ARRAY_LEN(drafts);
    const size_t n_batch = n_within(batches, ARRAY_LEN(batches), s->most.n_batch);
    strbuf_addf(to, ",\"%s\":[", prompt ? "prefill" : "step");
    for (size_t i = 0; i < n; i++) {
        strbuf_adds(to, i > 0 ? ",[" : "[");
        for (size_t k = 0; k < n_batch; k++) {
            strbuf_adds(to, k > 0 ? "," : "");
            if (write_samples(to, s, phase, prompt ? prompts[i] : drafts[i] + 1, batches[k], p, err) != 0)
                return -1;
        }
        strbuf_adds(to, "]");
    }
    strbuf_adds(to, "]");
    return 0;
}

/* Constants at each bandwidth, one where they are the same. */
static int write_all_cases(struct strbuf *to, const struct setting *s, struct error *err)
{
    strbuf_adds(to, ",\"constants\":[");
    for (size_t i = 0; i < (s->scales ? 1 : N_BANDWIDTH); i++) {
        strbuf_adds(to, i > 0 ? "," : "");
        if (step_constants_write(to, s->d, s->scales ? now_of(s) : s->e[i], err) != 0)
            return -1;
    }
    strbuf_adds(to, "]");
    return 0;
}

static void write_list(struct strbuf *to, const char *key, const double *v, size_t n)
{
    strbuf_addf(to, "\"%s\":[", key);
    for (size_t i = 0; i < n; i++) {
        strbuf_adds(to, i > 0 ? "," : "");
        step_json_number(to, v[i]);
    }
    strbuf_adds(to, "]");
}

static void write_integers(struct strbuf *to, const char *key, const uint32_t *v, size_t n)
{
    strbuf_addf(to, "\"%s\":[", key);
    for (size_t i = 0; i < n; i++)
        strbuf_addf(to, "%s%u", i > 0 ? "," : "", v[i]);
    strbuf_adds(to, "]");
}

static int write_seconds(struct strbuf *to, struct setting *s, struct error *err)
{
    struct pair *p = calloc(1, sizeof *p);
    if (!p)
        return error_oom(err, sizeof *p, "the data of the section");
    find_scales(s, p);
    if (s->scales) {
        strbuf_adds(to, ",");
        write_list(to, "memory_prefill", s->memory[PHASE_PREFILL], N_BANDWIDTH);
        strbuf_adds(to, ",");
        write_list(to, "memory_step", s->memory[PHASE_DECODE], N_BANDWIDTH);
    }
    int rc = write_all_cases(to, s, err);
    rc = rc == 0 ? write_phase(to, s, PHASE_PREFILL, p, err) : rc;
    rc = rc == 0 ? write_phase(to, s, PHASE_DECODE, p, err) : rc;
    free(p);
    return rc;
}

/* One type of the cache: roofs, forms, and the features of all settings. */
static int write_setting(struct strbuf *to, struct setting *s, struct error *err)
{
    for (size_t i = 0; i < N_BANDWIDTH; i++)
        if (init_estimator(s, i, err) != 0 || step_without_own(&s->rest[i], &s->e[i]->step, &s->e[i]->roofs, err) != 0)
            return -1;
    strbuf_adds(to, "{\"name\":");
    step_cache_name_write(to, &s->o);
    strbuf_adds(to, ",");
    step_roofs_write(to, now_of(s));
    strbuf_addf(to, ",\"n_ubatch\":%u,\"measured\":%s,\"guessed\":%s,", s->o.n_ubatch, now_of(s)->roofs.time ? "false" : "true",
                s->h->guess_ln_sd > 0 ? "true" : "false");
    if (step_interval_write(to, s->classes, s->h, &s->o, err) != 0)
        return -1;
    strbuf_adds(to, ",");
    if (step_forms_write(to, s->d, now_of(s), err) != 0 || write_seconds(to, s, err) != 0)
        return -1;
    strbuf_adds(to, "}");
    return 0;
}

/* ---- types ----------------------------------------------------------------------------------------------- */

/* Nothing was refused but this setting: an error of input or usage becomes a missing entry. */
static bool is_refused(const struct error *err)
{
    return err->kind == ERROR_INPUT || err->kind == ERROR_USAGE;
}

/* An entry of a list, appended if it is kept; b is freed. n: of those before it. */
static bool end_entry(struct strbuf *to, struct strbuf *b, bool keep, size_t *n)
{
    if (keep) {
        strbuf_adds(to, (*n)++ > 0 ? "," : "");
        strbuf_add(to, b->s, b->len);
    }
    to->oom |= b->oom;
    strbuf_free(b);
    return keep;
}

static int write_caches(struct strbuf *to, struct step_data *d, const struct model *m, const struct op_classes *classes, const struct step_source *x, struct error *err)
{
    struct step_cache kv[STEP_CACHES];
    const size_t n_kv = step_caches_list(kv, x->scene);
    const struct hwprofile *h = x->h;
    size_t n = 0;
    struct error why = { 0 };
    for (size_t i = 0; i < n_kv; i++) {
        struct strbuf b = { 0 };
        struct error refused = { 0 };
        struct setting s = { .d = d, .classes = classes, .h = h, .most = limits_of(m, h) };
        s.o = (struct predict_options){ .time = x->time, .weights_bytes = NAN, .n_prompt = 512, .n_gen = 1, .n_batch = 1,
                                        .n_ubatch = time_ubatch(x->time, h, m), .type_k = kv[i].k, .type_v = kv[i].v };
        const int rc = write_setting(&b, &s, &refused);
        free_estimators(&s);
        if (end_entry(to, &b, rc == 0, &n))
            continue;
        why = refused;
        if (!is_refused(&refused))
            break;
    }
    if (n > 0 && (why.kind == ERROR_NONE || is_refused(&why)))
        return 0;
    *err = why;
    return -1;
}

/* A model of one type, as a JSON object. */
static int write_type(struct strbuf *to, struct step_data *d, const struct step_source *x, const char *type, struct error *err)
{
    struct model m;
    struct model_classes c;
    if (model_load(&m, x->scene->model, type, err) != 0)
        return -1;
    int rc = model_classes_init(&c, &m, err);
    if (rc == 0) {
        struct timing t = { .stack = NULL };
        if (x->time)
            rc = x->time->timing(x->time->context, x->h, &m, 0, &t, err);
        const struct stack *stack = t.stack ? stack_named(t.stack) : NULL;
        if (rc == 0 && stack && !software_loads(stack, &m))
            rc = error_set(err, ERROR_INPUT, "cannot step through: %s does not load %s", stack->id, m.type_name);
        strbuf_adds(to, "{\"name\":");
        step_json_text(to, m.type_name);
        strbuf_adds(to, ",\"stack\":");
        step_json_text(to, t.stack);
        strbuf_adds(to, ",\"caches\":[");
        timing_free(&t);
        rc = rc == 0 ? write_caches(to, d, &m, &c.classes, x, err) : rc;
        strbuf_adds(to, "]}");
        model_classes_free(&c);
    }
    model_free(&m);
    return rc;
}

static int write_types(struct strbuf *to, struct step_data *d, const struct step_source *x, struct error *err)
{
    size_t n = 0;
    struct error why = { 0 };
    const bool one = x->m->gguf != NULL;
    for (size_t i = 0; i < (one ? 1 : ARRAY_LEN(types) + 1); i++) {
        const char *type = i == 0 ? x->scene->type : types[i - 1]; /* the one shown first is the first */
        struct strbuf b = { 0 };
        struct error refused = { 0 };
        if (i > 0 && strcasecmp(type, x->m->type_name) == 0)
            continue;
        const int rc = write_type(&b, d, x, type, &refused);
        if (end_entry(to, &b, rc == 0, &n))
            continue;
        if (i == 0 || !is_refused(&refused))
            why = refused;
        if ((i == 0 && type) || !is_refused(&refused))
            break;
    }
    if (n > 0 && (why.kind == ERROR_NONE || (is_refused(&why) && !x->scene->type)))
        return 0;
    *err = why;
    return -1;
}

static void write_axes(struct strbuf *to, const struct model *m, const struct hwprofile *h)
{
    const struct limits_of most = limits_of(m, h);
    write_integers(to, "prompt", prompts, n_within(prompts, ARRAY_LEN(prompts), most.n_prompt));
    strbuf_adds(to, ",");
    write_integers(to, "batch", batches, n_within(batches, ARRAY_LEN(batches), most.n_batch));
    strbuf_adds(to, ",");
    write_integers(to, "draft", drafts, ARRAY_LEN(drafts));
    strbuf_adds(to, ",");
    write_list(to, "bandwidth", bandwidths, N_BANDWIDTH);
    strbuf_addf(to, ",\"n_ctx\":%u,\"n_embd\":%u,\"n_layer\":%u,\"n_params\":%.7g", most.n_context, m->hp.n_embd, m->hp.n_layer, (double)m->n_params);
}

static int write_scene(struct strbuf *to, struct step_data *d, const struct step_source *x, struct error *err)
{
    strbuf_adds(to, "{\"model\":");
    step_json_text(to, x->m->name);
    strbuf_adds(to, ",\"machine\":");
    step_json_text(to, x->h->id);
    strbuf_adds(to, ",\"machine_name\":");
    step_json_text(to, x->h->name);
    strbuf_adds(to, ",");
    write_axes(to, x->m, x->h);
    strbuf_adds(to, ",\"types\":[");
    if (write_types(to, d, x, err) != 0)
        return -1;
    strbuf_adds(to, "]}");
    return 0;
}

int step_scene_write(struct strbuf *to, struct step_data *d, const struct html_step_scene *scene, const struct time_source *time, struct error *err)
{
    struct model m;
    struct hwprofile h;
    if (model_load(&m, scene->model, scene->type, err) != 0)
        return -1;
    int rc = machine_load(&h, scene->hw, err);
    if (rc == 0) {
        rc = write_scene(to, d, &(struct step_source){ scene, &m, &h, time }, err);
        hwprofile_free(&h);
    }
    model_free(&m);
    return rc;
}
