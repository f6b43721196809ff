/* What a scene's figures rest on: the op list as forms, constants, roofs. */
#include "report/html_step_data.h"
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- an op list as forms ----------------------------------------------------------------------------- */

/* On one device passes share no experts: expert_groups is 1. */
#define OF_FORM(member) { #member, offsetof(struct cost_form, member) }
static const struct {
    const char *name;
    size_t at;
} coefficients[] = {
    OF_FORM(form_tok), OF_FORM(window), OF_FORM(n_top), OF_FORM(n_expert), OF_FORM(n_expert_used), OF_FORM(weight), OF_FORM(weight_tok),
    OF_FORM(weight_expert), OF_FORM(act_in_tok), OF_FORM(act_out_tok), OF_FORM(act_present), OF_FORM(act_score), OF_FORM(kv_tok),
    OF_FORM(kv_seq), OF_FORM(kv_present), OF_FORM(flop_tok), OF_FORM(flop_seen), OF_FORM(flop_present),
};

/* "{"role":...,"count":...,"fastest":...,coefficients that are not 0}" */
static size_t write_form(struct step_data *d, const struct op_class *c, const struct roofs *r, struct error *err)
{
    struct strbuf b = { 0 };
    strbuf_adds(&b, "{\"role\":");
    step_json_text(&b, op_role_name(c->op.role));
    strbuf_addf(&b, ",\"count\":%.7g,\"fastest\":", c->count);
    step_json_number(&b, r->fastest[roofs_class(r, c)].flop_s);
    if (c->form.form != FORM_ALWAYS)
        strbuf_addf(&b, ",\"form\":\"%s\"", c->form.form == FORM_EXPANDED ? "expanded" : "absorbed");
    if (c->form.out_rows)
        strbuf_adds(&b, ",\"out_rows\":1");
    if (c->form.chunked)
        strbuf_adds(&b, ",\"chunked\":1");
    for (size_t i = 0; i < ARRAY_LEN(coefficients); i++) {
        double v;
        memcpy(&v, (const char *)&c->form + coefficients[i].at, sizeof v);
        if (v != 0)
            strbuf_addf(&b, ",\"%s\":%.15g", coefficients[i].name, isinf(v) ? DBL_MAX : v);
    }
    strbuf_adds(&b, "}");
    return step_pool_add(&d->form, &b, err);
}

int step_forms_write(struct strbuf *to, struct step_data *d, const struct estimator *e, struct error *err)
{
    strbuf_adds(to, "\"forms\":[");
    for (size_t i = 0; i < e->step.n; i++) {
        const size_t k = write_form(d, &e->step.c[i], &e->roofs, err);
        if (k == SIZE_MAX)
            return -1;
        strbuf_addf(to, "%s%zu", i > 0 ? "," : "", k);
    }
    strbuf_adds(to, "]");
    return 0;
}

/* ---- constants ------------------------------------------------------------------------------------------ */

static size_t write_constants(struct step_data *d, const double *parameter, struct error *err)
{
    struct strbuf b = { 0 };
    for (int i = 0; i < TIME_PARAMETER_COUNT; i++) {
        strbuf_addf(&b, "%c\"%s\":", i > 0 ? ',' : '{', time_parameter_name((enum time_parameter)i));
        step_json_number(&b, parameter[i]);
    }
    strbuf_adds(&b, "}");
    return step_pool_add(&d->constants, &b, err);
}

/* "{"CASE":number,...}: natural logarithms; without constants case 0 is all ones. */
int step_constants_write(struct strbuf *to, struct step_data *d, const struct estimator *e, struct error *err)
{
    static const double ones[TIME_PARAMETER_COUNT] = { 0 };
    const char *comma = "";
    strbuf_adds(to, "{");
    for (unsigned c = 0; c < TIME_CASES; c++) {
        const struct time_constants *k = e->roofs.time ? e->timing.of[c] : NULL;
        if (c & (TIME_CASE_REQUEST | TIME_CASE_DEVICES) || (e->roofs.time ? !k : c > 0))
            continue;
        const size_t i = write_constants(d, k ? k->parameter : ones, err);
        if (i == SIZE_MAX)
            return -1;
        strbuf_addf(to, "%s\"%u\":%zu", comma, c, i);
        comma = ",";
    }
    strbuf_adds(to, "}");
    return 0;
}

bool step_same_constants(const struct estimator *a, const struct estimator *b)
{
    bool same = (a->roofs.time != NULL) == (b->roofs.time != NULL);
    for (unsigned c = 0; same && a->roofs.time && c < TIME_CASES; c++) {
        const struct time_constants *x = a->timing.of[c], *y = b->timing.of[c];
        same = (!x && !y) || (x && y && memcmp(x->parameter, y->parameter, sizeof x->parameter) == 0);
    }
    return same;
}

/* ---- roofs ---------------------------------------------------------------------------------------------- */

/* Bandwidth, and the fastest units for the largest product: utilisation is of these. */
void step_roofs_write(struct strbuf *to, const struct estimator *e)
{
    double most = 0;
    const struct peak *peak = NULL;
    for (size_t i = 0; i < e->step.n; i++) {
        const struct op_class *c = &e->step.c[i];
        if (!op_is_product(&c->op) || c->form.flop_tok * c->count <= most)
            continue;
        most = c->form.flop_tok * c->count;
        peak = &e->roofs.fastest[roofs_class(&e->roofs, c)];
    }
    strbuf_adds(to, "\"bytes_s\":");
    step_json_number(to, e->roofs.bytes_s);
    strbuf_adds(to, ",\"peak_flop_s\":");
    step_json_number(to, peak ? peak->flop_s : NAN);
    strbuf_addf(to, ",\"math\":\"%s\",\"llc_pass_bytes\":", peak ? math_name(peak->math) : "");
    step_json_number(to, e->roofs.llc_pass_bytes);
    strbuf_adds(to, ",\"held_bytes\":");
    step_json_number(to, e->step.held_bytes);
    strbuf_adds(to, ",\"held_position\":");
    step_json_number(to, e->step.held_position);
}
