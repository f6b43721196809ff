/* A simulation over time, for programs. */
#include "report/serving_report.h"
#include <math.h>
#include <string.h>

enum { MOST = 64 }; /* intervals */

/* Of the time series: an integral, and what its mean is divided by; NaN: not known. */
struct field {
    const char *key;
    size_t offset;
    double by;
};

static double integral(const struct timeline *t, size_t offset, size_t from, size_t to)
{
    double sum = 0;
    for (size_t i = from; i < to && i < t->n; i++) {
        double v;
        memcpy(&v, (const char *)&t->point[i] + offset, sizeof v);
        sum += v;
    }
    return sum;
}

/* So many points of the time series are one interval. */
static size_t joined(const struct timeline *t)
{
    return (t->n + MOST - 1) / MOST;
}

static json_t *means(const struct timeline *t, const struct field *f)
{
    const size_t n = joined(t);
    json_t *a = json_array();
    for (size_t i = 0; i < t->n; i += n)
        json_array_append_new(a, json_num(integral(t, f->offset, i, i + n) / ((double)n * timeline_width_s(t)) / f->by));
    return a;
}

#define POINT(member) offsetof(struct timeline_point, member)
json_t *serving_timeline_json(const struct serving_subject *s)
{
    const struct timeline *t = s->timeline;
    const struct step_work *w = s->options->work;
    const double replicas = s->options->n_replica > 1 ? s->options->n_replica : 1;
    if (!t || t->n == 0)
        return json_null();
    const struct field fields[] = {
        { "batch", POINT(running_s), 1 },
        { "queue", POINT(waiting_s), 1 },
        { "kv_usage", POINT(block_s), replicas * s->options->n_block },
        { "mbu", POINT(bytes), w ? replicas * w->peak_bytes_s : NAN },
        { "mfu", POINT(flop), w ? replicas * w->peak_flop_s : NAN },
    };
    json_t *j = json_pack("{s:o}", "width_s", json_num((double)joined(t) * timeline_width_s(t)));
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        json_object_set_new(j, fields[i].key, means(t, &fields[i]));
    return j;
}
