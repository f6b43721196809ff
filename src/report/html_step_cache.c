/* Types of the KV cache of a scene, and the 90 % interval of each. */
#include "predict/predict.h"
#include "report/html_step_data.h"
#include <stdio.h>

static const struct step_cache always[STEP_CACHES - 1] = { { DTYPE_F16, DTYPE_F16 }, { DTYPE_Q8_0, DTYPE_Q8_0 } };

/* A type by name; `otherwise` where there is no name, or no such type. */
static enum dtype kv_type(const char *name, enum dtype otherwise)
{
    enum dtype t;
    struct error ignored = { 0 };
    return name && dtype_get_kv(&t, name, &ignored) == 0 ? t : otherwise;
}

size_t step_caches_list(struct step_cache out[STEP_CACHES], const struct html_step_scene *s)
{
    size_t n = 0;
    const enum dtype k = kv_type(s->type_k, DTYPE_F16), v = kv_type(s->type_v, k);
    out[n++] = (struct step_cache){ k, v };
    for (size_t i = 0; i < ARRAY_LEN(always); i++)
        if (always[i].k != k || always[i].v != v)
            out[n++] = always[i];
    return n;
}

void step_cache_name_write(struct strbuf *to, const struct predict_options *o)
{
    char text[48];
    if (o->type_k == o->type_v)
        snprintf(text, sizeof text, "%s", dtype_name(o->type_k));
    else
        snprintf(text, sizeof text, "%s, values %s", dtype_name(o->type_k), dtype_name(o->type_v));
    step_json_text(to, text);
}

int step_interval_write(struct strbuf *to, const struct op_classes *classes, const struct hwprofile *h, const struct predict_options *o, struct error *err)
{
    struct predict_result prompt, step;
    struct predict_options after = *o;
    after.n_depth = o->n_prompt;
    if (predict_classes(&prompt, classes, h, o, err) != 0 || predict_classes(&step, classes, h, &after, err) != 0)
        return -1;
    const struct prediction *const phase[] = { &prompt.prefill, &step.decode };
    for (size_t i = 0; i < ARRAY_LEN(phase); i++) {
        const struct prediction_factors x = prediction_factors(phase[i]->seconds, phase[i]->sd_s, phase[i]->sd_fast_s);
        strbuf_adds(to, i == 0 ? "\"interval_prefill\":[" : "],\"interval_step\":[");
        step_json_number(to, 1 / x.faster);
        strbuf_adds(to, ",");
        step_json_number(to, x.slower);
    }
    strbuf_adds(to, "]");
    return 0;
}
