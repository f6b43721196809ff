/* Measurements of others as plain rows. */
#include "dataset/measure.h"
#include "lib/internal.h"
#include <stdlib.h>

struct roofcast_data {
    struct measurements l; /* texts point into it */
    struct roofcast_data_row *row; /* [l.n] */
};

static void fill_row(struct roofcast_data_row *out, const struct measurement *m)
{
    *out = (struct roofcast_data_row){
        .id = m->id, .source = m->source, .date = m->date, .line = m->line, .hardware = m->hardware, .engine = m->engine,
        .version = m->version, .model = m->model, .type = m->quant, .stack = stack_find(m->engine, m->hardware)->id,
        .phase = measure_phase_name(m->phase), .metric = measure_metric_name(m->metric), .value = m->value, .n_devices = m->n_devices,
        .n_threads = m->n_threads, .n_prompt = m->prompt, .n_context = m->context, .n_batch = m->batch, .n_gen = m->out,
        .concurrency = m->concurrency, .doubtful = (m->tags & TAG_SUSPECT) != 0, .notes = m->notes,
    };
}

struct roofcast_data *roofcast_data_load(const char *path, struct roofcast_error *err)
{
    struct error e = { 0 };
    struct roofcast_data *d = calloc(1, sizeof *d);
    const struct measure_context x = { .hardware = "" };
    if (!d) {
        lib_error(err, ROOFCAST_ERROR_SYSTEM, "out of memory: measurements");
        return NULL;
    }
    if (measure_load(&d->l, path, &x, &e) != 0) {
        free(d);
        lib_fail(err, &e);
        return NULL;
    }
    d->row = calloc(d->l.n + 1, sizeof *d->row);
    if (!d->row) {
        roofcast_data_free(d);
        lib_error(err, ROOFCAST_ERROR_SYSTEM, "out of memory: measurements");
        return NULL;
    }
    for (size_t i = 0; i < d->l.n; i++)
        fill_row(&d->row[i], &d->l.row[i]);
    return d;
}

void roofcast_data_free(struct roofcast_data *d)
{
    if (!d)
        return;
    measure_free(&d->l);
    free(d->row);
    free(d);
}

const char *roofcast_data_format(const struct roofcast_data *d)
{
    return measure_file_name(d->l.file);
}

size_t roofcast_data_n_row(const struct roofcast_data *d)
{
    return d->l.n;
}

const struct roofcast_data_row *roofcast_data_row(const struct roofcast_data *d, size_t i)
{
    return i < d->l.n ? &d->row[i] : NULL;
}
