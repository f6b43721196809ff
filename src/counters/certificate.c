/* counters/certificate.c: calibration results as JSON. */
#include "counters/internal.h"

static json_t *numbers(const double *x, size_t n)
{
    json_t *a = json_array();
    int bad = 0;
    for (size_t i = 0; i < n; i++)
        bad |= json_array_append_new(a, json_num(x[i]));
    if (!bad)
        return a;
    json_decref(a);
    return NULL;
}

static json_t *event_json(const struct counters *c, const struct counter_event *e, const char *date)
{
    const struct counter_check *k = &e->check;
    json_t *known = numbers(k->known, COUNTER_CHECK_SIZES), *counted = numbers(k->counted, COUNTER_CHECK_SIZES);
    json_t *ratio = json_num(k->ratio);
    if (known && counted && ratio)
        return json_pack("{s:s, s:s, s:s, s:s*, s:s, s:f, s:i, s:b, s:s, s:s*, s:o, s:o, s:o, s:s*, s:s}", "backend",
                         c->backend->name, "event", e->name, "field", counter_field_name(e->field), "units",
                         e->units[0] ? e->units : NULL, "source", number_source_name(e->source), "scale", e->scale, "set",
                         e->set, "shared", (int)e->shared, "class", counter_class_name(k->class), "work",
                         k->work[0] ? k->work : NULL, "ratio", ratio, "known", known, "counted", counted, "why",
                         k->why[0] ? k->why : NULL, "date", date);
    json_decref(known);
    json_decref(counted);
    json_decref(ratio);
    return NULL;
}

json_t *counters_certificate(const struct counters *c)
{
    char date[32];
    json_t *a = json_array();
    int bad = 0;
    clock_date(date, sizeof date);
    for (size_t i = 0; i < c->n_event; i++)
        if (!counter_field_is_sw(c->event[i].field))
            bad |= json_array_append_new(a, event_json(c, &c->event[i], date));
    if (!bad)
        return a;
    json_decref(a);
    return NULL;
}
