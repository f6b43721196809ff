/* The rows of `roofcast list stacks`: software, its fitted constants, and which machines are predicted with it. */
#include "learn/constants.h"
#include "learn/software.h"
#include "report/list.h"
#include <math.h>
#include <string.h>

const struct column list_stack_cols[] = {
    { "name", "stack", COL_TEXT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "n_rows", "rows", COL_INT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "n_ubatch", "tokens a pass", COL_INT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "bandwidth", "bandwidth", COL_FLOAT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "bandwidth_spread", "x/", COL_FLOAT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "compute", "compute", COL_FLOAT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "compute_spread", "x/", COL_FLOAT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "launch_s", "launch", COL_SECONDS, "", COL_MAJOR, COLUMN_BY_KEY },
    { "launch_spread", "x/", COL_FLOAT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "default_for", "default for", COL_TEXT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "source", NULL, COL_TEXT, "", COL_DATA, COLUMN_BY_KEY },
};
const size_t list_n_stack_cols = ARRAY_LEN(list_stack_cols);

/* "launch stack=vllm", "compute format=vllm 4 bits", "kv era=vllm before 2024-08" are vllm's; not those of vllm-x. */
static bool is_of(const char *name, const char *stack)
{
    static const char *const dims[] = { " stack=", " format=", " era=" };
    for (size_t i = 0; i < ARRAY_LEN(dims); i++) {
        const char *at = strstr(name, dims[i]);
        const size_t n = strlen(stack);
        if (at && strncmp(at + strlen(dims[i]), stack, n) == 0 && strchr(" ", at[strlen(dims[i]) + n]))
            return true;
    }
    return false;
}

static const struct constant *find(const struct constants *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->c[i].name, name) == 0)
            return &c->c[i];
    return NULL;
}

/* What all share times what sets the stack apart, and that one's spread; NaN where the stack was not measured. */
static int put_slot(json_t *j, const struct constants *c, enum time_slot s, const char *stack, const char *key)
{
    char name[96], spread[64];
    snprintf(name, sizeof name, "%s stack=%s", time_slot_name(s), stack);
    const struct constant *own = find(c, name), *all = find(c, time_slot_name(s));
    const double ln = own && all ? own->value + all->value : NAN;
    snprintf(spread, sizeof spread, "%.32s_spread", time_slot_name(s));
    return json_object_set_new(j, key, json_num(time_slot_value(s, ln))) |
           json_object_set_new(j, spread, json_num(own ? exp(own->sd) : NAN));
}

static json_t *constants_json(const struct constants *c, const char *stack)
{
    json_t *list = json_array();
    int bad = !list;
    for (size_t i = 0; i < c->n && !bad; i++)
        if (is_of(c->c[i].name, stack))
            bad = json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:I}", "name", c->c[i].name, "value", exp(c->c[i].value),
                                                        "spread", exp(c->c[i].sd), "n_rows", (json_int_t)c->c[i].n_row));
    if (!bad)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *stack_json(const struct stack *s, const struct constants *c)
{
    char text[256], name[96];
    snprintf(name, sizeof name, "%s stack=%s", time_slot_name(TIME_BANDWIDTH), s->id);
    const struct constant *own = find(c, name);
    software_default_for(s->id, text, sizeof text);
    json_t *j = json_object();
    int bad = json_object_set_new(j, "name", json_string(s->id));
    bad |= json_object_set_new(j, "n_ubatch", json_integer(s->n_ubatch));
    bad |= json_object_set_new(j, "fused", json_boolean(s->fused));
    bad |= json_object_set_new(j, "n_rows", json_integer(own ? (json_int_t)own->n_row : 0));
    bad |= put_slot(j, c, TIME_BANDWIDTH, s->id, "bandwidth");
    bad |= put_slot(j, c, TIME_COMPUTE, s->id, "compute");
    bad |= put_slot(j, c, TIME_LAUNCH, s->id, "launch_s");
    bad |= json_object_set_new(j, "default_for", *text ? json_string(text) : json_null());
    bad |= json_object_set_new(j, "source", *c->source ? json_string(c->source) : json_null());
    bad |= json_object_set_new(j, "constants", constants_json(c, s->id));
    if (!bad)
        return j;
    json_decref(j);
    return NULL;
}

int list_stacks(json_t *rows, struct error *err)
{
    struct constants_file f = { 0 };
    const struct stack *s;
    struct error e = { 0 };
    int rc = constants_find(&f, "constants", &e);
    if (rc != 0 && e.kind != ERROR_UNAVAILABLE) {
        *err = e;
        return -1;
    }
    rc = 0;
    for (size_t i = 0; (s = stack_at(i)) != NULL && rc == 0; i++)
        rc = list_add_row(rows, stack_json(s, &f.kind[FITTED_RATE]), err);
    constants_free(&f);
    return rc;
}
