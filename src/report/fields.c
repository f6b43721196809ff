/* JSON fields common to several documents. */
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

int fields_cost(json_t *j, const struct cost *c)
{
    int bad = json_object_set_new(j, "weight_bytes", json_num(c->weight_bytes));
    bad |= json_object_set_new(j, "act_bytes", json_num(c->act_bytes));
    bad |= json_object_set_new(j, "kv_bytes", json_num(c->kv_bytes));
    bad |= json_object_set_new(j, "flop", json_num(c->flop));
    bad |= json_object_set_new(j, "ai", json_num(cost_ai(c)));
    return bad;
}
