/* Predictions of a GPU and its host. methods.md (111) */
#include "predict/offload_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what can be predicted ------------------------------------------------------------------------------------ */

int offload_check(const struct predict_options *o, const struct hwprofile *h, struct error *err)
{
    const struct predict_offload *f = o->offload;
    if (layout_devices(&o->layout) > 1 || o->layout.ep > 1)
        return error_set(err, ERROR_USAGE, "cannot predict: layers or experts on the host with one GPU only, found --tp, --pp, --dp or --ep");
    if (o->weights_bytes > 0)
        return error_set(err, ERROR_USAGE, "cannot predict: --weights-gb has no tensors to keep on the host");
    if (h->kind != HW_GPU)
        return error_set(err, ERROR_INPUT, "cannot predict: %s shares its memory with its CPU: there is nothing to offload (-ngl, --n-cpu-moe and -ot are for GPUs)",
                         h->id);
    if (f->host->kind != HW_CPU)
        return error_set(err, ERROR_INPUT, "cannot predict: host %s is a %s: expected a CPU", f->host->id, hw_kind_name(f->host->kind));
    return 0;
}

/* Software without such options has none on the host, whatever the GPU is left with. */
static int check_stack(const struct offload_asked *a, struct error *err)
{
    const struct predict_options own = offload_device_options(a->o, OFFLOAD_GPU);
    struct estimator e;
    if (estimator_init(&e, a->l, a->h, &own, err) != 0)
        return -1;
    const char *const stack = e.timing.stack;
    estimator_free(&e);
    if (!stack || strncmp(stack, "llama.cpp", 9) == 0 || strncmp(stack, "ik_llama", 8) == 0)
        return 0;
    return error_set(err, ERROR_USAGE, "cannot predict: %s keeps no layers or experts on the host as -ngl, --n-cpu-moe and -ot say: --stack llama.cpp-cuda does", stack);
}

/* ---- a device's part of a phase --------------------------------------------------------------------------------- */

/* The parts of a phase, added up. */
struct whole {
    struct prediction p;
    double var_s, var_fast_s; /* of its seconds: devices err independently */
    struct error_parts parts;
    double longest_s;         /* of one part: its roofs are shown */
};

struct predict_options offload_device_options(const struct predict_options *o, enum offload_device d)
{
    struct predict_options own = *o;
    own.offload = NULL;
    own.devices = NULL;
    own.roles = NULL;
    if (d == OFFLOAD_GPU) {
        own.n_threads = 0;
        return own;
    }
    own.time = o->offload->host_time;
    own.n_change = 0; /* changes are of the GPU's software */
    own.last = NULL;
    own.server = false;
    return own;
}

static void add_roles(struct step *to, const struct step *from)
{
    for (int i = 0; to && i < ROLE_COUNT; i++) {
        const bool first = !(to[i].seconds > 0);
        if (!(from[i].seconds > 0) && cost_bytes(&from[i].cost) == 0)
            continue;
        to[i].bound = first || from[i].seconds > to[i].seconds ? from[i].bound : to[i].bound;
        to[i].math = first || to[i].math == from[i].math ? from[i].math : MATH_COUNT;
        to[i].seconds += from[i].seconds;
        to[i].cost = cost_add(to[i].cost, from[i].cost);
    }
}

/* The roofs shown are those of the longest part. */
static void add_part(struct whole *w, const struct prediction *p, enum offload_device d)
{
    struct prediction *to = &w->p;
    struct step *const role = to->role;
    const struct prediction before = *to;
    if (!(p->seconds > 0))
        return;
    if (p->seconds > w->longest_s) {
        w->longest_s = p->seconds;
        *to = *p;
        to->host_roofs = d == OFFLOAD_HOST;
        to->role = role;
        to->cost = before.cost;
        memcpy(to->bound_s, before.bound_s, sizeof to->bound_s);
    }
    to->cost = cost_add(to->cost, p->cost);
    to->seconds = before.seconds + p->seconds;
    to->least_s = before.least_s + p->least_s;
    to->memory_s = before.memory_s + p->memory_s;
    to->compute_s = before.compute_s + p->compute_s;
    to->link_s = before.link_s + p->link_s;
    for (int b = 0; b < BOUND_COUNT; b++)
        to->bound_s[b] += p->bound_s[b];
    w->var_s += p->sd_s * p->sd_s;
    w->var_fast_s += p->sd_fast_s * p->sd_fast_s;
    for (int i = 0; i < ERROR_PARTS; i++) /* in seconds until the end */
        w->parts.of[i] += p->parts.of[i] * p->seconds;
    w->parts.left = hypot(w->parts.left, p->parts.left * p->seconds);
    w->parts.machine = hypot(w->parts.machine, p->parts.machine * p->seconds);
    if (role)
        add_roles(role, p->role);
}

static void note_device(struct predict_device *d, enum phase phase, const struct prediction *p, const struct roofs *r)
{
    if (!d || !(p->seconds > 0))
        return;
    if (p->seconds > d->phase[phase].seconds)
        d->phase[phase].bound = p->bound;
    d->phase[phase].seconds += p->seconds;
    d->phase[phase].bytes += p->cost.weight_bytes + p->cost.kv_bytes;
    d->phase[phase].mbu = d->phase[phase].bytes / d->phase[phase].seconds / r->bytes_s;
}

static int price_device(struct whole *w, const struct offload_asked *a, const struct offload_passes *x, enum offload_device d, const struct scenario *sc,
                        enum phase phase, struct error *err)
{
    const struct predict_options own = offload_device_options(a->o, d);
    struct step *role = calloc(ROLE_COUNT, sizeof *role);
    struct prediction p = { .role = role };
    struct phase_pricing pricing;
    struct estimator e;
    if (!role)
        return error_oom(err, ROLE_COUNT * sizeof *role, "roles");
    if (x->on[d].ops.n == 0) {
        free(role);
        return 0;
    }
    if (estimator_init(&e, &x->on[d].classes, d == OFFLOAD_GPU ? a->h : a->o->offload->host, &own, err) != 0) {
        free(role);
        return -1;
    }
    e.roofs.parts = true;
    phase_begin(&pricing, &e.roofs, &p);
    const struct step_sum sum = phase == PHASE_PREFILL ? step_prefill(&e.step, &e.roofs, sc, phase_add, &pricing)
                                                       : step_decode(&e.step, &e.roofs, sc, phase_add, &pricing);
    phase_end(&pricing, &sum, 1);
    if (d == OFFLOAD_GPU || !a->r->stack) {
        a->r->stack = e.timing.stack;
        a->r->basis = e.timing.stack ? time_basis_name(e.timing.basis) : NULL;
    }
    note_device(a->device ? &a->device[d] : NULL, phase, &p, &e.roofs);
    add_part(w, &p, d);
    estimator_free(&e);
    free(role);
    return 0;
}

/* ---- the bus's part --------------------------------------------------------------------------------------------- */

static void add_traffic(struct whole *w, const struct offload_asked *a, const struct offload_traffic *t, double n_pass, enum phase phase)
{
    const struct offload_bus *b = a->bus;
    const double seconds = n_pass * offload_bus_s(b, t), bytes = n_pass * (t->act_bytes + t->copied_bytes);
    if (seconds == 0 && bytes == 0)
        return;
    w->p.seconds += seconds;
    w->p.link_s += seconds;
    w->p.least_s += bytes / b->peak_bytes_s;
    w->p.bound_s[BOUND_LINK] += seconds;
    w->p.cost.link_bytes += bytes;
    w->var_s += pow(b->ln_sd * seconds, 2);
    w->var_fast_s += pow(b->ln_sd * seconds, 2);
    w->parts.left = hypot(w->parts.left, b->ln_sd * seconds);
    if (w->p.role) {
        struct step *role = &w->p.role[ROLE_COMM_STAGE];
        *role = (struct step){ .role = ROLE_COMM_STAGE, .math = MATH_COUNT, .bound = BOUND_LINK, .seconds = role->seconds + seconds, .cost = role->cost };
        role->cost.link_bytes += bytes;
    }
    if (a->device) {
        a->device[DEVICE_BUS].phase[phase].seconds += seconds;
        a->device[DEVICE_BUS].phase[phase].bytes += bytes;
        a->device[DEVICE_BUS].phase[phase].bound = BOUND_LINK;
        a->device[DEVICE_BUS].phase[phase].mbu = a->device[DEVICE_BUS].phase[phase].bytes / a->device[DEVICE_BUS].phase[phase].seconds / b->peak_bytes_s;
    }
}

static void begin(struct whole *w, struct step *role)
{
    *w = (struct whole){ .p = { .role = role } };
    for (int i = 0; role && i < ROLE_COUNT; i++)
        role[i] = (struct step){ .role = (enum op_role)i };
}

static void end(struct whole *w, const struct predict_options *o, double n_tok)
{
    struct prediction *p = &w->p;
    const double sd_s = sqrt(w->var_s), fast_s = sqrt(w->var_fast_s);
    p->bound = bound_largest(p->bound_s);
    p->tok_s = n_tok / p->seconds;
    p->sd_s = o->roof ? NAN : sd_s;
    p->sd_fast_s = o->roof ? NAN : w->parts.machine > 0 ? fast_s : spread_within(p->seconds, fast_s, p->least_s);
    for (int i = 0; i < ERROR_PARTS; i++)
        w->parts.of[i] /= p->seconds;
    w->parts.left /= p->seconds;
    w->parts.machine /= p->seconds;
    p->parts = w->parts;
}

/* ---- phases --------------------------------------------------------------------------------------------------- */

static struct cost_options cost_of(const struct predict_options *o)
{
    return (struct cost_options){ .act_elem_bytes = 2, .type_k = o->type_k, .type_v = o->type_v, .routing = o->routing, .materialized = o->materialized };
}

/* Passes of one kind of a prompt: n tokens of each sequence from depth on; continued: passes of the other kind follow. */
static int price_prompt(struct whole *w, const struct offload_asked *a, const struct offload_passes *x, uint32_t n, uint32_t depth, bool continued,
                        struct error *err)
{
    const struct scenario sc = { n, 0, depth, a->o->n_batch, a->o->n_ubatch, continued };
    const struct cost_options c = cost_of(a->o);
    struct pass_group g[2];
    for (int d = 0; d < OFFLOAD_DEVICES; d++)
        if (price_device(w, a, x, (enum offload_device)d, &sc, PHASE_PREFILL, err) != 0)
            return -1;
    const size_t n_group = prefill_groups(n, depth, a->o->n_ubatch, a->o->n_batch, g);
    for (size_t i = 0; i < n_group; i++) {
        g[i].p.n_out = continued ? 0 : g[i].p.n_out;
        const struct offload_traffic t = offload_traffic(x, &c, &g[i].p);
        add_traffic(w, a, &t, g[i].n, PHASE_PREFILL);
    }
    return 0;
}

/* The last pass of a prompt may have too few tokens for the GPU to multiply the host's weights. */
static int price_prefill(struct prediction *out, const struct offload_asked *a, const struct offload_split *s, struct step *role, struct error *err)
{
    const struct predict_options *o = a->o;
    struct pass_group g[2];
    struct whole w;
    const size_t n = prefill_groups(o->n_prompt, o->n_depth, o->n_ubatch, o->n_batch, g);
    const struct offload_passes *first = offload_passes_of(s, g[0].p.n_tok), *last = offload_passes_of(s, g[n - 1].p.n_tok);
    const uint32_t tail = first == last ? 0 : g[n - 1].p.n_tok / o->n_batch;
    begin(&w, role);
    if (price_prompt(&w, a, first, o->n_prompt - tail, o->n_depth, tail > 0, err) != 0 ||
        (tail > 0 && price_prompt(&w, a, last, tail, o->n_depth + o->n_prompt - tail, false, err) != 0))
        return -1;
    end(&w, o, (double)o->n_prompt * o->n_batch);
    *out = w.p;
    return 0;
}

static int price_decode(struct prediction *out, const struct offload_asked *a, const struct offload_split *s, struct step *role, struct error *err)
{
    const struct predict_options *o = a->o;
    const struct scenario sc = { 0, o->n_gen, o->n_depth, o->n_batch, o->n_ubatch, false };
    const struct offload_passes *x = offload_passes_of(s, o->n_batch);
    const struct pass p = decode_pass(o->n_depth + (o->n_gen - 1) / 2, o->n_batch);
    const struct cost_options c = cost_of(o);
    struct whole w;
    begin(&w, role);
    for (int d = 0; d < OFFLOAD_DEVICES; d++)
        if (price_device(&w, a, x, (enum offload_device)d, &sc, PHASE_DECODE, err) != 0)
            return -1;
    const struct offload_traffic t = offload_traffic(x, &c, &p);
    add_traffic(&w, a, &t, 1, PHASE_DECODE);
    end(&w, o, o->n_batch);
    *out = w.p;
    return 0;
}

static void name_devices(struct predict_device *d, const struct hwprofile *h, const struct hwprofile *host)
{
    static const char *const names[] = { "GPU", "CPU", "PCIe" };
    for (int i = 0; d && i < DEVICE_COUNT; i++) {
        d[i] = (struct predict_device){ .device = names[i], .weight_bytes = NAN, .kv_bytes = NAN, .act_bytes = NAN, .need_bytes = NAN, .usable_bytes = NAN,
                                        .fits = -1, .copied_tokens = NAN };
        for (int p = 0; p < PHASE_COUNT; p++)
            d[i].phase[p].mbu = NAN;
        snprintf(d[i].name, sizeof d[i].name, "%s", i == DEVICE_GPU ? h->id : i == DEVICE_HOST ? host->id : "");
    }
}

static int predict_split(struct predict_result *r, const struct offload_asked *a, const struct offload_split *s, struct error *err)
{
    const struct predict_options *o = a->o;
    if (check_stack(a, err) != 0)
        return -1;
    name_devices(a->device, a->h, o->offload->host);
    if (a->device)
        a->device[DEVICE_BUS].bus = *a->bus;
    if (a->device && s->many.n_split >= 0)
        a->device[DEVICE_BUS].copied_tokens = s->many_tokens;
    *r = (struct predict_result){ .n_devices = 1, .device = a->device };
    r->prefill = r->decode = prediction_none();
    if ((o->n_prompt > 0 && price_prefill(&r->prefill, a, s, o->roles ? o->roles->prefill : NULL, err) != 0) ||
        (o->n_gen > 0 && price_decode(&r->decode, a, s, o->roles ? o->roles->decode : NULL, err) != 0))
        return -1;
    r->ttft_s = r->prefill.seconds;
    r->itl_s = r->decode.seconds;
    return offload_fit_devices(a, s, err);
}

int predict_offloaded(struct predict_result *r, const struct op_classes *l, const struct hwprofile *h, const struct predict_options *o, struct error *err)
{
    const struct offload_bus bus = offload_bus_of(h, o->offload->rule.pinned, o->roof);
    const struct offload_asked a = { o, h, l, &bus, o->devices, r };
    struct predict_options plain = *o;
    struct offload_rule rule = o->offload->rule;
    struct offload_split s;
    if (offload_check(o, h, err) != 0 || offload_fit(&rule, l, h, o, err) != 0 || offload_split_init(&s, &rule, l->m, l->ops, err) != 0)
        return -1;
    plain.offload = NULL;
    const int rc = s.alone ? predict_classes(r, l, h, &plain, err) : predict_split(r, &a, &s, err);
    offload_split_free(&s);
    return rc;
}
