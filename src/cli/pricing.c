/* Options that analyze, predict, sweep and memory share: model, types, layout, routing, software. */
#include "cli/pricing.h"
#include "bench/routing.h"
#include "model/nextn.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int pricing_model(struct model *m, const char *spec, const char *type, struct error *err)
{
    if (!spec)
        return error_set(err, ERROR_USAGE, "no MODEL: expected a .gguf file, a Hugging Face config.json, or a name (`roofcast list models`)");
    if (model_load(m, spec, type, err) != 0)
        return -1;
    if (*m->note)
        notify_note("%s: %s", m->name, m->note);
    return 0;
}

void pricing_take_kv(const struct model *m, bool said, enum dtype *k, enum dtype *v)
{
    if (said || !m->kv_type_given)
        return;
    *k = *v = m->kv_type;
    notify_note("%s: KV cache type %s from its quantization_config (--kv-type overrides)", m->name, dtype_name(m->kv_type));
}

int pricing_type(const char **type, char *buf, size_t size, const char *arg, const char *option, struct error *err)
{
    struct quant_name q;
    if (!*arg || model_knows_type(arg) || !model_type_named(&q, arg))
        return cli_text(type, arg);
    if (q.bits > 0)
        return error_set(err, ERROR_USAGE, "%s %.64s: %g bits per weight, which no supported type has: expected one of `roofcast list types`, the "
                         "nearest is %s", option, arg, q.bits, q.type);
    snprintf(buf, size, "%s", q.type);
    notify_note("%s %s: estimated as %s", option, arg, buf);
    return cli_text(type, buf);
}

int pricing_kv_type(enum dtype *k, enum dtype *v, const char *arg, struct error *err)
{
    if (dtype_get_kv(k, arg, err) != 0)
        return -1;
    *v = *k;
    return 0;
}

static int parse_count(const char *arg, const char *what, uint32_t *out, struct error *err)
{
    int64_t v;
    if (parse_int(arg, 1, 65536, what, &v, err) != 0)
        return -1;
    *out = (uint32_t)v;
    return 0;
}

static bool is_file(const char *arg)
{
    FILE *f = fopen(arg, "rb");
    if (f)
        fclose(f);
    return f != NULL || strchr(arg, '.') || strchr(arg, '/');
}

static int parse_routing(const char *arg, struct pricing_options *o, struct error *err)
{
    struct routing *r = &o->routing;
    pricing_free(o);
    *r = (struct routing){ 0 };
    if (strncmp(arg, "zipf:", 5) == 0)
        return parse_double(arg + 5, 0, 10, "--routing zipf", &r->zipf, err);
    if (strcmp(arg, "uniform") == 0)
        return 0;
    if (is_file(arg))
        return routing_load(r, &o->recorded, arg, err);
    return error_set(err, ERROR_USAGE, "--routing: expected uniform, zipf:S or a saved run, found \"%s\"", arg);
}

int pricing_attention(bool *materialized, const char *arg, struct error *err)
{
    *materialized = strcmp(arg, "materialized") == 0;
    return *materialized || strcmp(arg, "flash") == 0
               ? 0
               : error_set(err, ERROR_USAGE, "--attention: expected flash or materialized, found \"%s\"", arg);
}

int pricing_parse(int key, const char *arg, struct pricing_options *o, struct error *err)
{
    switch (key) {
    case 'q':
        return pricing_type(&o->type, o->type_named, sizeof o->type_named, arg, "-q", err);
    case PRICING_KV:
        o->kv_type_given = true;
        return pricing_kv_type(&o->type_k, &o->type_v, arg, err);
    case PRICING_CTK:
        o->kv_type_given = true;
        return dtype_get_kv(&o->type_k, arg, err);
    case PRICING_CTV:
        o->kv_type_given = true;
        return dtype_get_kv(&o->type_v, arg, err);
    case PRICING_TP:
        return parse_count(arg, "--tp", &o->layout.tp, err);
    case PRICING_PP:
        return parse_count(arg, "--pp", &o->layout.pp, err);
    case PRICING_DP:
        return parse_count(arg, "--dp", &o->layout.dp, err);
    case PRICING_EP:
        return parse_count(arg, "--ep", &o->layout.ep, err);
    case PRICING_ATTENTION:
        return pricing_attention(&o->materialized, arg, err);
    case PRICING_ROUTING:
        return parse_routing(arg, o, err);
    default:
        return CLI_UNKNOWN;
    }
}

int software_parse(int key, const char *arg, struct software_options *o, struct error *err)
{
    switch (key) {
    case SOFTWARE_STACK:
        return cli_text(&o->stack, arg);
    case SOFTWARE_ANCHOR:
        if (o->anchor)
            return error_set(err, ERROR_USAGE, "--anchor is given twice: merge \"%.100s\" and \"%.100s\" into one file", o->anchor, arg);
        return cli_text(&o->anchor, arg);
    case SOFTWARE_SLO:
        o->slo = arg;
        return limits_parse(&o->limits, arg, err);
    case MEASURED_INPUT:
    case MEASURED_OUTPUT:
    case MEASURED_BATCH:
        return measured_parse(key, arg, &o->of_anchor, err);
    default:
        return CLI_UNKNOWN;
    }
}

void pricing_note_nextn(const struct model *m)
{
    if (m->hp.n_layer_nextn == 0)
        notify_note("%s has no known multi-token prediction layer: estimated as a copy of its last layer", m->name);
    else if (m->gguf && nextn_n_layer(m) == 0)
        notify_note("%s: nextn_predict_layers is %u, but the file has no nextn.eh_proj tensor: the multi-token prediction layer is estimated as a copy of the last layer",
                    m->path, m->hp.n_layer_nextn);
}
