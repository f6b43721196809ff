/* The Pareto front of `roofcast plot`: tokens/s of a user against tokens/s of a device, of deployments or of a prediction's batches. */
#include "base/label.h"
#include "report/plot_kinds.h"
#include "report/serving_report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of capacity -o json that meet the objective: their number, -1: error. */
static int of_capacity(struct serving_config **out, const json_t *doc, struct error *err)
{
    const json_t *rows = json_object_get(doc, "rows");
    struct serving_config *x = calloc(json_array_size(rows) + 1, sizeof *x);
    int n = 0;
    if (!x)
        return error_oom(err, json_array_size(rows) * sizeof *x, "deployments");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *r = json_array_get(rows, i);
        const double rate = json_find_number(r, "rate"), device = json_find_number(r, "device_tok_s");
        if (!(device > 0))
            continue;
        x[n] = (struct serving_config){ .user_tok_s = json_find_number(r, "user_tok_s"), .device_tok_s = device,
                                        .device_lo = device * json_find_number(r, "rate_90") / rate, .device_hi = device * json_find_number(r, "rate_10") / rate };
        label_fit(x[n].group, sizeof x[n].group, json_find_text(r, "hw"));
        snprintf(x[n++].name, sizeof x->name, "%.12s, %.24s", json_find_text(r, "type"), json_find_text(r, "layout"));
    }
    *out = x;
    return n;
}

static int of_prediction(struct serving_config **out, const struct plot_prediction *p, struct strbuf *notes, struct error *err)
{
    struct serving_config *x = calloc(p->n_row + 1, sizeof *x);
    int n = 0;
    if (!x)
        return error_oom(err, p->n_row * sizeof *x, "batches");
    for (size_t i = 0; i < p->n_row; i++) {
        const struct plot_predicted *r = &p->row[i];
        if (strcmp(r->phase, "decode") != 0 || *r->whole.role || !(r->tok_s > 0))
            continue;
        if (r->fits == 0) {
            strbuf_addf(notes, "not drawn: %s, %s: it does not fit the memory\n", r->hw, r->test);
            continue;
        }
        const double devices = r->n_devices > 0 ? r->n_devices : 1;
        x[n] = (struct serving_config){ .user_tok_s = r->tok_s / (double)r->n_batch, .device_tok_s = r->tok_s / devices, .device_lo = r->tok_s_lo / devices,
                                        .device_hi = r->tok_s_hi / devices };
        label_fit(x[n].group, sizeof x[n].group, r->hw);
        snprintf(x[n++].name, sizeof x->name, "batch %lld", (long long)r->n_batch);
    }
    *out = x;
    return n;
}

int plot_pareto(const struct plot_options *o, const struct plot_subject *s, const char *style, struct strbuf *notes, struct error *err)
{
    struct serving_chart c = { .style = style, .out_base = o->out, .formats = o->formats };
    struct plot_prediction mine = { 0 };
    struct serving_config *x = NULL;
    const bool capacity = s->doc && strcmp(json_find_text(s->doc, "schema"), "roofcast.capacity") == 0;
    const struct plot_prediction *p = capacity ? NULL : plot_subject_prediction(&mine, o, s, err);
    const int n = capacity ? of_capacity(&x, s->doc, err) : p ? of_prediction(&x, p, notes, err) : -1;
    int rc = n < 0 ? -1 : n > 0 ? 0 : error_set(err, ERROR_INPUT, "%s: no deployment to draw: --chart pareto reads %s", o->doc, charts[PLOT_PARETO].reads);
    if (rc == 0 && capacity) {
        snprintf(c.title, sizeof c.title, "%.60s: %.90s", json_find_text(json_array_get(json_object_get(s->doc, "rows"), 0), "model"), json_find_text(s->doc, "slo"));
        snprintf(c.subtitle, sizeof c.subtitle, "%.160s; bars: probability 0.9 to 0.1 of meeting the objective", json_find_text(s->doc, "workload"));
    } else if (rc == 0) {
        snprintf(c.title, sizeof c.title, "%.60s, %.24s: a user's rate against a device's", p->row[0].model, p->row[0].type);
        snprintf(c.subtitle, sizeof c.subtitle, "Decode, predicted, context of %lld tokens; bars: 90 %% interval", (long long)p->row[0].n_depth);
    }
    if (rc == 0 && o->title)
        snprintf(c.title, sizeof c.title, "%.150s", o->title);
    rc = rc ? rc : serving_chart_pareto(&c, x, (size_t)n, notes, err);
    free(x);
    plot_prediction_free(&mine);
    return rc;
}
