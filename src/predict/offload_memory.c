/* Memory of a GPU and its host, and the largest part of a model that fits the GPU. methods.md (111) */
#include "predict/offload_internal.h"
#include <math.h>
#include <stdlib.h>

/* Tokens of the largest pass, of the prompt or of a decode step. */
static double largest_pass(const struct predict_options *o)
{
    struct pass_group g[2];
    const size_t n = prefill_groups(o->n_prompt, o->n_depth, o->n_ubatch, o->n_batch, g);
    return fmax(n > 0 ? g[0].p.n_tok : 0, o->n_gen > 0 ? o->n_batch : 0);
}

/* The GPU also has room for the largest weights that are copied to it, and for all buffers of a prompt's pass. */
static int fit_device(struct predict_result *out, const struct offload_asked *a, const struct offload_split *s, enum offload_device d, struct error *err)
{
    const struct predict_options own = offload_device_options(a->o, d);
    const struct hwprofile *h = d == OFFLOAD_GPU ? a->h : a->o->offload->host;
    const struct roofs elems = { .act_elem_bytes = d == OFFLOAD_GPU ? 2 : 4 };
    struct predict_result many = { .act_peak_bytes = 0 };
    if (memory_fit(out, &s->few.on[d].classes, h, &elems, &own, err) != 0)
        return -1;
    if (s->many.n_split >= 0 && memory_fit(&many, &s->many.on[d].classes, h, &elems, &own, err) != 0)
        return -1;
    const double room = offload_passes_of(s, largest_pass(a->o)) == &s->many ? s->many.copied_most_bytes : 0;
    const double act = d == OFFLOAD_GPU ? fmax(out->act_peak_bytes, many.act_peak_bytes + room) : out->act_peak_bytes;
    out->need_bytes += act - out->act_peak_bytes;
    out->act_peak_bytes = act;
    out->fits = !(out->mem_bytes > 0) || isnan(out->need_bytes) ? -1 : out->need_bytes <= out->usable_bytes;
    return 0;
}

static void note_memory(struct predict_device *d, const struct predict_result *m)
{
    d->weight_bytes = m->weight_total_bytes;
    d->kv_bytes = m->kv_total_bytes;
    d->act_bytes = m->act_peak_bytes;
    d->need_bytes = m->need_bytes;
    d->usable_bytes = m->usable_bytes;
    d->fits = m->fits;
}

int offload_fit_devices(const struct offload_asked *a, const struct offload_split *s, struct error *err)
{
    struct predict_result host = *a->r;
    if (fit_device(a->r, a, s, OFFLOAD_GPU, err) != 0 || fit_device(&host, a, s, OFFLOAD_HOST, err) != 0)
        return -1;
    if (a->device) {
        note_memory(&a->device[DEVICE_GPU], a->r);
        note_memory(&a->device[DEVICE_HOST], &host);
    }
    a->r->fits = a->r->fits == 0 || host.fits == 0 ? 0 : a->r->fits < 0 || host.fits < 0 ? -1 : 1;
    return 0;
}

/* ---- the largest part that fits ---------------------------------------------------------------------------------- */

/* 1: fits the GPU; -1: error. */
static int fits_gpu(const struct offload_asked *a, const struct offload_rule *rule, struct error *err)
{
    struct offload_split s;
    struct predict_result r = { .fits = 0 };
    if (offload_split_init(&s, rule, a->l->m, a->l->ops, err) != 0)
        return -1;
    const struct predict_options plain = offload_device_options(a->o, OFFLOAD_GPU);
    const struct roofs elems = { .act_elem_bytes = 2 };
    const int rc = s.alone ? memory_fit(&r, a->l, a->h, &elems, &plain, err) : fit_device(&r, a, &s, OFFLOAD_GPU, err);
    offload_split_free(&s);
    return rc != 0 ? -1 : r.fits == 1;
}

/* The number nearest to `best` that fits, between it and `worst`, which frees most of the GPU; memory is monotone. */
static int nearest(const struct offload_asked *a, struct offload_rule *rule, int *number, int best, int worst, struct error *err)
{
    *number = worst;
    int fits = fits_gpu(a, rule, err);
    if (fits != 1)
        return fits;
    *number = best;
    fits = fits_gpu(a, rule, err);
    int no = best, yes = fits == 1 ? best : worst;
    while (fits >= 0 && abs(no - yes) > 1) {
        *number = no + (yes - no) / 2;
        fits = fits_gpu(a, rule, err);
        *(fits == 1 ? &yes : &no) = *number;
    }
    *number = yes;
    return fits < 0 ? -1 : 1;
}

int offload_fit(struct offload_rule *rule, const struct op_classes *l, const struct hwprofile *h, const struct predict_options *o, struct error *err)
{
    struct predict_result unused;
    const struct offload_asked a = { o, h, l, NULL, NULL, &unused };
    const bool layers = rule->n_gpu_layers == OFFLOAD_AUTO, experts = rule->n_cpu_moe == OFFLOAD_AUTO;
    const int all = (int)l->m->hp.n_layer + 1, last = offload_last_expert_block(l->m);
    if (!layers && !experts)
        return 0;
    if (!(h->mem_bytes.value > 0))
        return error_set(err, ERROR_INPUT, "cannot predict: the profile of %s has no memory size: give numbers in place of auto", h->id);
    if (layers)
        rule->n_gpu_layers = all;
    if (experts)
        rule->n_cpu_moe = 0;
    int rc = experts ? nearest(&a, rule, &rule->n_cpu_moe, 0, last, err) : 0;
    if (rc == 0 && layers)
        rc = nearest(&a, rule, &rule->n_gpu_layers, all, 0, err);
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    (void)error_set(err, ERROR_INPUT, "cannot predict: %s does not fit %s at this context with %s", l->m->name, h->id,
                    experts && !layers ? "all experts on the host: -ngl auto moves layers too" : "any number of layers on the host");
    return 1;
}
