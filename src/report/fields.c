/* What several documents have, as fields of JSON objects. */
#include "report/fields.h"

int fields_kv_types(json_t *j, enum dtype k, enum dtype v)
{
    return json_object_set_new(j, "type_k", json_string(dtype_name(k))) |
           json_object_set_new(j, "type_v", json_string(dtype_name(v)));
}

const char *fields_machine_name(char *buf, size_t size, const struct hwprofile *h)
{
    snprintf(buf, size, "%s%s", h->id, h->guess_ln_sd > 0 ? "*" : "");
    return buf;
}

int fields_machine(json_t *j, const struct hwprofile *h)
{
    char name[sizeof h->id + 1];
    const int bad = json_object_set_new(j, "hw", json_string(fields_machine_name(name, sizeof name, h)));
    return bad | json_object_set_new(j, "guess", h->guess_ln_sd > 0 ? json_text(h->guess_class) : json_null());
}

int fields_layout(json_t *j, const struct layout *l)
{
    char text[64];
    int bad = json_object_set_new(j, "n_devices", json_integer(layout_devices(l)));
    return bad | json_object_set_new(j, "layout", json_string(layout_text(text, sizeof text, l)));
}

int fields_cost(json_t *j, const struct cost *c)
{
    int bad = json_object_set_new(j, "weight_bytes", json_num(c->weight_bytes));
    bad |= json_object_set_new(j, "act_bytes", json_num(c->act_bytes));
    bad |= json_object_set_new(j, "kv_bytes", json_num(c->kv_bytes));
    bad |= json_object_set_new(j, "flop", json_num(c->flop));
    bad |= json_object_set_new(j, "ai", json_num(cost_ai(c)));
    return bad;
}
