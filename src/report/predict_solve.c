/* roofcast predict --solve: the value that reaches a target, a row per question. */
#include "report/fields.h"
#include "report/predict_report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct solve_row {
    const char *model, *hw, *guess, *reason, *note, *type, *layout, *question, *unknown, *bound;
    uint32_t n_devices, n_prompt, n_gen, n_depth, n_batch;
    struct solution a;
    struct figure tok_s, ttft_s, itl_s; /* at the answer, else at the nearest value */
};
const size_t predict_solve_row_size = sizeof(struct solve_row);

#define AT(m) COLUMN_AT(struct solve_row, m)
static const struct column predict_solve_columns[] = {
    { "model", "model", COL_TEXT, NULL, COL_DATA, AT(model), EMPTY_VALUE, NULL, NULL },
    { "hw", "hw", COL_TEXT, NULL, COL_MAJOR, AT(hw), EMPTY_NULL, NULL, "null: the machine is the unknown" },
    { "guess", NULL, COL_TEXT, NULL, COL_DATA, AT(guess), EMPTY_NULL, NULL, "as in `predict.row`, as are the next two" },
    { "reason", NULL, COL_TEXT, NULL, COL_DATA, AT(reason), EMPTY_NULL, NULL, NULL },
    { "type", NULL, COL_TEXT, NULL, COL_DATA, AT(type), EMPTY_VALUE, NULL, NULL },
    { "n_devices", NULL, COL_INT, NULL, COL_DATA, AT(n_devices), EMPTY_VALUE, NULL, "as asked, as are the next five" },
    { "layout", "devices", COL_TEXT, NULL, COL_MAJOR, AT(layout), EMPTY_VALUE, NULL, NULL },
    { "n_prompt", NULL, COL_INT, "tokens", COL_DATA, AT(n_prompt), EMPTY_VALUE, NULL, NULL },
    { "n_gen", NULL, COL_INT, "tokens", COL_DATA, AT(n_gen), EMPTY_VALUE, NULL, NULL },
    { "n_depth", "depth", COL_INT, "tokens", COL_MAJOR, AT(n_depth), EMPTY_VALUE, NULL, NULL },
    { "n_batch", "batch", COL_INT, NULL, COL_MAJOR, AT(n_batch), EMPTY_VALUE, NULL, NULL },
    { "note", NULL, COL_TEXT, NULL, COL_DATA, AT(note), EMPTY_NULL, NULL, NULL },
    { "question", "question", COL_TEXT, NULL, COL_MAJOR, AT(question), EMPTY_VALUE, NULL, "as asked" },
    { "unknown", NULL, COL_TEXT, NULL, COL_DATA, AT(unknown), EMPTY_VALUE, NULL, NULL },
    { "found", NULL, COL_BOOL, NULL, COL_DATA, AT(a.found), EMPTY_VALUE, NULL, NULL },
    { "value", NULL, COL_FLOAT, NULL, COL_DATA, AT(a.value), EMPTY_NULL, NULL, "in `unit`; null: no value reaches the target, or the unknown is a machine" },
    { "unit", NULL, COL_TEXT, NULL, COL_DATA, AT(a.unit), EMPTY_VALUE, NULL, "`\"B/s\"`, `\"x\"` (factor on every peak), `\"tokens\"` (context before prompt and "
      "generation), `\"sequences\"`, `\"devices\"`" },
    { "value_optimistic", NULL, COL_FLOAT, NULL, COL_DATA, AT(a.value_optimistic), EMPTY_NULL, NULL, "`value` at the fast end of the 90 % interval (target reached with 5 % probability); `value_conservative`: at the "
      "slow end (95 %); null: no such value, no interval, or a machine" },
    { "value_conservative", NULL, COL_FLOAT, NULL, COL_DATA, AT(a.value_conservative), EMPTY_NULL, NULL, NULL },
    { "value_nearest", NULL, COL_FLOAT, NULL, COL_DATA, AT(a.value_nearest), EMPTY_NULL, NULL, "if not found: the context, batch or tp that comes nearest" },
    { "chance", NULL, COL_FRACTION, NULL, COL_DATA, AT(a.chance), EMPTY_NULL, NULL, "probability that the target is reached at `value` or `machine`; if not found, at "
      "the nearest value (the maximum of bandwidth or compute), methods.md (54), (63); null: no interval, or target `fits`" },
    { "machine", NULL, COL_TEXT, NULL, COL_DATA, AT(a.machine), EMPTY_NULL, NULL, NULL },
    { "machine_optimistic", NULL, COL_TEXT, NULL, COL_DATA, AT(a.machine_optimistic), EMPTY_NULL, NULL, "as `value_optimistic` and `value_conservative`" },
    { "machine_conservative", NULL, COL_TEXT, NULL, COL_DATA, AT(a.machine_conservative), EMPTY_NULL, NULL, NULL },
    { "machine_nearest", NULL, COL_TEXT, NULL, COL_DATA, AT(a.machine_nearest), EMPTY_NULL, NULL, "if not found: the machine that comes nearest; null: none "
      "holds the model" },
    { "tok_s", NULL, COL_FLOAT, "tokens/s", COL_DATA, AT(tok_s.value), EMPTY_NULL, NULL, "of the phase in question" },
    { "tok_s_lo", NULL, COL_FLOAT, "tokens/s", COL_DATA, AT(tok_s.lo), EMPTY_NULL, NULL, NULL },
    { "tok_s_hi", NULL, COL_FLOAT, "tokens/s", COL_DATA, AT(tok_s.hi), EMPTY_NULL, NULL, NULL },
    { "ttft_s", NULL, COL_SECONDS, "s", COL_DATA, AT(ttft_s.value), EMPTY_NULL, NULL, NULL },
    { "ttft_s_lo", NULL, COL_SECONDS, "s", COL_DATA, AT(ttft_s.lo), EMPTY_NULL, NULL, NULL },
    { "ttft_s_hi", NULL, COL_SECONDS, "s", COL_DATA, AT(ttft_s.hi), EMPTY_NULL, NULL, NULL },
    { "itl_s", NULL, COL_SECONDS, "s", COL_DATA, AT(itl_s.value), EMPTY_NULL, NULL, NULL },
    { "itl_s_lo", NULL, COL_SECONDS, "s", COL_DATA, AT(itl_s.lo), EMPTY_NULL, NULL, NULL },
    { "itl_s_hi", NULL, COL_SECONDS, "s", COL_DATA, AT(itl_s.hi), EMPTY_NULL, NULL, NULL },
    { "stack", NULL, COL_TEXT, NULL, COL_DATA, AT(a.r.stack), EMPTY_NULL, NULL, "as in `predict.row`" },
    { "basis", NULL, COL_TEXT, NULL, COL_DATA, AT(a.r.basis), EMPTY_NULL, NULL, NULL },
    { "bound", NULL, COL_TEXT, NULL, COL_DATA, AT(bound), EMPTY_NULL, "`\"memory\"` or `\"compute\"` or `\"launch\"` or `\"link\"` or null", "of that phase" },
    { "fits", NULL, COL_BOOL, NULL, COL_DATA, AT(a.r.fits), EMPTY_NULL, NULL, NULL },
    { "need_bytes", NULL, COL_SI, "B", COL_DATA, AT(a.r.need_bytes), EMPTY_VALUE, NULL, NULL },
    { "memory_bytes", NULL, COL_SI, "B", COL_DATA, AT(a.r.mem_bytes), EMPTY_NULL, NULL, NULL },
    { "usable_bytes", NULL, COL_SI, "B", COL_DATA, AT(a.r.usable_bytes), EMPTY_NULL, NULL, NULL },
    { "answer", "answer", COL_TEXT, NULL, COL_MAJOR, AT(a.text), EMPTY_VALUE, NULL, "in words" },
};
#undef AT
const struct table_fields predict_solve_fields = { "solve.row", predict_solve_columns, ARRAY_LEN(predict_solve_columns) };

static const char order[] =
    "model hw type layout n_devices n_prompt n_gen n_depth n_batch question unknown found value unit value_optimistic value_conservative value_nearest chance "
    "stack basis machine machine_optimistic machine_conservative machine_nearest tok_s tok_s_lo tok_s_hi ttft_s ttft_s_lo ttft_s_hi itl_s itl_s_lo itl_s_hi "
    "bound fits need_bytes memory_bytes usable_bytes guess note reason answer";

static void put_scenario(struct solve_row *w, struct table_rows *rows, const struct subject *s)
{
    char text[256];
    w->model = s->m->name;
    w->hw = *s->h->id ? table_text(rows, fields_machine_name(text, sizeof text, s->h)) : NULL;
    w->guess = s->h->guess_ln_sd > 0 ? table_text(rows, s->h->guess_class) : NULL;
    w->reason = table_text(rows, s->reason);
    w->type = s->m->type_name;
    w->layout = table_text(rows, layout_text(text, sizeof text, &s->o.layout));
    w->n_devices = layout_devices(&s->o.layout);
    w->n_prompt = s->o.n_prompt;
    w->n_gen = s->o.n_gen;
    w->n_depth = s->o.n_depth;
    w->n_batch = s->o.n_batch;
}

/* The prediction at the answer, else at the nearest value. */
static void put_there(struct solve_row *w, const struct question *q, const struct predict_result *r)
{
    const struct prediction *p = q->phase == PHASE_PREFILL ? &r->prefill : &r->decode;
    w->tok_s = predict_rate(p->tok_s, p);
    w->tok_s.value = p->seconds > 0 ? p->tok_s : NAN;
    w->ttft_s = predict_seconds(r->ttft_s, &r->prefill);
    w->ttft_s.value = r->prefill.seconds > 0 ? r->ttft_s : NAN;
    w->itl_s = predict_seconds(r->itl_s, &r->decode);
    w->itl_s.value = r->decode.seconds > 0 ? r->itl_s : NAN;
    w->bound = p->seconds > 0 ? bound_name(p->bound) : NULL;
}

static void add_answer(struct table_rows *rows, const struct subject *s, const struct question *q, const struct solution *a)
{
    struct solve_row *w = table_add(rows);
    char text[256];
    put_scenario(w, rows, s);
    w->note = table_text(rows, software_note(text, sizeof text, s->m, a->r.stack, s->o.n_batch));
    snprintf(text, sizeof text, "%.*s", (int)strcspn(q->text, ":="), q->text);
    w->question = q->text;
    w->unknown = table_text(rows, text);
    w->a = *a;
    put_there(w, q, &a->r);
}

void predict_solve_add_reason(struct table_rows *rows, const struct subject *s, const char *reason)
{
    const struct predict_ask *a = &s->cli->ask;
    const struct prediction none = prediction_none();
    struct subject x = *s;
    x.reason = reason;
    for (size_t i = 0; i < a->n_question; i++) {
        struct solution unknown = { .value = NAN, .value_optimistic = NAN, .value_conservative = NAN, .value_nearest = NAN, .chance = NAN, .unit = "",
                                    .r = { .prefill = none, .decode = none, .ttft_s = NAN, .itl_s = NAN, .fits = -1, .need_bytes = NAN, .mem_bytes = NAN, .usable_bytes = NAN } };
        snprintf(unknown.text, sizeof unknown.text, "%s", reason);
        add_answer(rows, &x, &a->questions[i], &unknown);
    }
}

int predict_solve_rows(struct table_rows *rows, const struct subject *s, struct error *err)
{
    const struct predict_ask *a = &s->cli->ask;
    for (size_t i = 0; i < a->n_question; i++) {
        struct solution found;
        if (solve(&found, &a->questions[i], s->m, s->h, &s->o, err) != 0)
            return -1;
        add_answer(rows, s, &a->questions[i], &found);
    }
    return 0;
}

int predict_solve_print(const struct table_rows *rows, const struct predict_cli *o, const struct model *m, struct error *err)
{
    json_t *meta = predict_meta(o, m);
    const struct table d = { "roofcast.solve", 1, meta, predict_solve_columns, ARRAY_LEN(predict_solve_columns), rows, order };
    int rc = meta ? 0 : error_oom(err, 0, "the answers");
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
