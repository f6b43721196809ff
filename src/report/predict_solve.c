/* roofcast predict --solve: which value reaches a target, a row an answer. */
#include "report/fields.h"
#include "report/predict_report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct column columns[] = {
    { "model", "model", COL_TEXT, NULL, true },
    { "hw", "hw", COL_TEXT, NULL, false },
    { "type", "type", COL_TEXT, NULL, true },
    { "layout", "devices", COL_TEXT, NULL, false },
    { "n_devices", NULL, COL_INT, NULL, true },
    { "n_prompt", NULL, COL_INT, NULL, true },
    { "n_gen", NULL, COL_INT, NULL, true },
    { "n_depth", "depth", COL_INT, NULL, false },
    { "n_batch", "batch", COL_INT, NULL, false },
    { "question", "question", COL_TEXT, NULL, false },
    { "unknown", NULL, COL_TEXT, NULL, true },
    { "found", NULL, COL_BOOL, NULL, true },
    { "value", NULL, COL_FLOAT, NULL, true },
    { "unit", NULL, COL_TEXT, NULL, true },
    { "value_good", NULL, COL_FLOAT, NULL, true },
    { "value_safe", NULL, COL_FLOAT, NULL, true },
    { "value_nearest", NULL, COL_FLOAT, NULL, true },
    { "chance", NULL, COL_FRACTION, NULL, true },
    { "stack", NULL, COL_TEXT, NULL, true },
    { "basis", NULL, COL_TEXT, NULL, true },
    { "machine", NULL, COL_TEXT, NULL, true },
    { "machine_good", NULL, COL_TEXT, NULL, true },
    { "machine_safe", NULL, COL_TEXT, NULL, true },
    { "machine_nearest", NULL, COL_TEXT, NULL, true },
    { "tok_s", NULL, COL_FLOAT, NULL, true },
    { "tok_s_lo", NULL, COL_FLOAT, NULL, true },
    { "tok_s_hi", NULL, COL_FLOAT, NULL, true },
    { "ttft_s", NULL, COL_SECONDS, NULL, true },
    { "ttft_s_lo", NULL, COL_SECONDS, NULL, true },
    { "ttft_s_hi", NULL, COL_SECONDS, NULL, true },
    { "itl_s", NULL, COL_SECONDS, NULL, true },
    { "itl_s_lo", NULL, COL_SECONDS, NULL, true },
    { "itl_s_hi", NULL, COL_SECONDS, NULL, true },
    { "bound", NULL, COL_TEXT, NULL, true },
    { "fits", NULL, COL_BOOL, NULL, true },
    { "need_bytes", NULL, COL_SI, "B", true },
    { "memory_bytes", NULL, COL_SI, "B", true },
    { "usable_bytes", NULL, COL_SI, "B", true },
    { "guess", NULL, COL_TEXT, NULL, COL_DATA },
    { "note", NULL, COL_TEXT, NULL, COL_DATA },
    { "reason", NULL, COL_TEXT, NULL, COL_DATA },
    { "answer", "answer", COL_TEXT, NULL, false },
};

static int put_scenario(json_t *j, const struct subject *s)
{
    int bad = json_object_set_new(j, "model", json_string(s->m->name));
    bad |= *s->h->id ? fields_machine(j, s->h) : json_object_set_new(j, "hw", json_null()) | json_object_set_new(j, "guess", json_null());
    bad |= json_object_set_new(j, "reason", s->reason ? json_text(s->reason) : json_null());
    bad |= json_object_set_new(j, "type", json_string(s->m->type_name));
    bad |= fields_layout(j, &s->o.layout);
    bad |= json_object_set_new(j, "n_prompt", json_integer(s->o.n_prompt));
    bad |= json_object_set_new(j, "n_gen", json_integer(s->o.n_gen));
    bad |= json_object_set_new(j, "n_depth", json_integer(s->o.n_depth));
    bad |= json_object_set_new(j, "n_batch", json_integer(s->o.n_batch));
    return bad;
}

/* Where the answer is found, what is predicted there; else what comes nearest. */
static int put_there(json_t *j, const struct question *q, const struct predict_result *r)
{
    const struct prediction *p = q->phase == PHASE_PREFILL ? &r->prefill : &r->decode;
    int bad = json_object_set_new(j, "tok_s", json_num(p->seconds > 0 ? p->tok_s : NAN));
    bad |= predict_put_rate_interval(j, "tok_s", p->tok_s, p);
    bad |= json_object_set_new(j, "ttft_s", json_num(r->prefill.seconds > 0 ? r->ttft_s : NAN));
    bad |= predict_put_seconds_interval(j, "ttft_s", r->ttft_s, &r->prefill);
    bad |= json_object_set_new(j, "itl_s", json_num(r->decode.seconds > 0 ? r->itl_s : NAN));
    bad |= predict_put_seconds_interval(j, "itl_s", r->itl_s, &r->decode);
    bad |= json_object_set_new(j, "stack", r->stack ? json_string(r->stack) : json_null());
    bad |= json_object_set_new(j, "basis", r->basis ? json_string(r->basis) : json_null());
    bad |= json_object_set_new(j, "bound", p->seconds > 0 ? json_string(bound_name(p->bound)) : json_null());
    bad |= json_object_set_new(j, "fits", r->fits < 0 ? json_null() : json_boolean(r->fits));
    bad |= json_object_set_new(j, "need_bytes", json_num(r->need_bytes));
    bad |= json_object_set_new(j, "memory_bytes", json_num(r->mem_bytes));
    bad |= json_object_set_new(j, "usable_bytes", json_num(r->usable_bytes));
    return bad;
}

static int put_machine(json_t *j, const char *key, const char *id)
{
    return json_object_set_new(j, key, *id ? json_string(id) : json_null());
}

static int add_answer(json_t *rows, const struct subject *s, const struct question *q, const struct solution *a)
{
    const size_t n = strcspn(q->text, ":=");
    json_t *j = json_object();
    char note[256];
    int bad = put_scenario(j, s);
    (void)software_note(note, sizeof note, s->m, a->r.stack, s->o.n_batch);
    bad |= json_object_set_new(j, "note", *note ? json_text(note) : json_null());
    bad |= json_object_set_new(j, "question", json_string(q->text));
    bad |= json_object_set_new(j, "unknown", json_stringn(q->text, n));
    bad |= json_object_set_new(j, "found", json_boolean(a->found));
    bad |= json_object_set_new(j, "value", json_num(a->value));
    bad |= json_object_set_new(j, "unit", json_string(a->unit));
    bad |= json_object_set_new(j, "value_good", json_num(a->value_good));
    bad |= json_object_set_new(j, "value_safe", json_num(a->value_safe));
    bad |= json_object_set_new(j, "value_nearest", json_num(a->value_nearest));
    bad |= json_object_set_new(j, "chance", json_num(a->chance));
    bad |= put_machine(j, "machine", a->machine);
    bad |= put_machine(j, "machine_good", a->machine_good);
    bad |= put_machine(j, "machine_safe", a->machine_safe);
    bad |= put_machine(j, "machine_nearest", a->machine_nearest);
    bad |= put_there(j, q, &a->r);
    bad |= json_object_set_new(j, "answer", json_text(a->text));
    return json_array_append_new(rows, j) | bad;
}

int predict_solve_add_reason(json_t *rows, const struct subject *s, const char *reason, struct error *err)
{
    const struct predict_ask *a = &s->cli->ask;
    const struct prediction none = { .seconds = NAN, .tok_s = NAN, .sd_s = NAN, .sd_fast_s = NAN };
    struct subject *x = malloc(sizeof *x); /* too much for a small stack */
    if (!x)
        return error_oom(err, sizeof *x, "an answer");
    *x = *s;
    x->reason = reason;
    int rc = 0;
    for (size_t i = 0; i < a->n_question && rc == 0; i++) {
        struct solution unknown = { .value = NAN, .value_good = NAN, .value_safe = NAN, .value_nearest = NAN, .chance = NAN, .unit = "",
                                    .r = { .prefill = none, .decode = none, .ttft_s = NAN, .itl_s = NAN, .fits = -1, .need_bytes = NAN, .mem_bytes = NAN, .usable_bytes = NAN } };
        snprintf(unknown.text, sizeof unknown.text, "%s", reason);
        if (add_answer(rows, x, &a->questions[i], &unknown) != 0)
            rc = error_oom(err, 0, "the answers");
    }
    free(x);
    return rc;
}

int predict_solve_rows(json_t *rows, const struct subject *s, struct error *err)
{
    const struct predict_ask *a = &s->cli->ask;
    for (size_t i = 0; i < a->n_question; i++) {
        struct solution found;
        if (solve(&found, &a->questions[i], s->m, s->h, &s->o, err) != 0)
            return -1;
        if (add_answer(rows, s, &a->questions[i], &found) != 0)
            return error_oom(err, 0, "the answers");
    }
    return 0;
}

int predict_solve_print(const json_t *rows, const struct predict_cli *o, const struct model *m, struct error *err)
{
    json_t *meta = json_pack("{s:s, s:s, s:b}", "model", m->name, "type", m->type_name, "roof", o->roof);
    const struct report_doc d = { "roofcast.solve", 1, meta, rows, columns, ARRAY_LEN(columns) };
    int rc = meta && predict_put_nominal(meta, o) == 0 ? 0 : error_oom(err, 0, "the answers");
    if (rc == 0 && o->save)
        rc = report_write(o->save, REPORT_JSON, &d, err);
    if (rc == 0 && o->format == REPORT_TABLE)
        report_text(0, "%s, %s\n\n", m->name, m->type_name);
    fflush(stdout);
    if (rc == 0)
        rc = report_write(NULL, o->format, &d, err);
    json_decref(meta);
    return rc;
}
