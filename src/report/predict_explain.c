/* roofcast predict --explain: where a phase's seconds come from, as fields of its row and as text of 120 columns. */
#include "predict/explain.h"
#include "report/fields.h"
#include "report/predict_report.h"
#include <math.h>
#include <string.h>

/* ---- as JSON ---------------------------------------------------------------------------------- */

static const char *type_of(const struct op *op, const struct subject *s)
{
    if (op->kind == OP_ATTENTION || op->kind == OP_KV_STORE)
        return dtype_name(s->o.type_k);
    return op->w ? dtype_name(op->w->type) : NULL;
}

/* "W4A16": bits of the weights and of what they are multiplied with, where a checkpoint says it. (4) */
static const char *scheme_of(char *buf, size_t n, const struct op *op)
{
    static const unsigned act_bits[] = { [SCHEME_FP16] = 16, [SCHEME_BF16] = 16, [SCHEME_FP8] = 8, [SCHEME_INT8] = 8,
                                         [SCHEME_FP4] = 4 };
    if (!op->w || op->w->scheme == SCHEME_BY_TYPE)
        return NULL;
    snprintf(buf, n, "W%.0fA%u", floor(dtype_bits(op->w->type)), act_bits[op->w->scheme]);
    return buf;
}

static json_t *shape_json(const struct op *op)
{
    char text[64];
    uint64_t rows, cols;
    op_weight_shape(op, &rows, &cols);
    if (op->kind == OP_ATTENTION)
        snprintf(text, sizeof text, "%u heads, %u of keys, of %u", op->n_head, op->n_head_kv, op->head_dim);
    else if (op_n_matrix(op) > 1)
        snprintf(text, sizeof text, "%u x [%llu x %llu]", op_n_matrix(op), (unsigned long long)(rows / op_n_matrix(op)),
                 (unsigned long long)cols);
    else if (rows > 1)
        snprintf(text, sizeof text, "[%llu x %llu]", (unsigned long long)rows, (unsigned long long)cols);
    else
        snprintf(text, sizeof text, "%llu", (unsigned long long)cols);
    return json_string(text);
}

static json_t *formula_json(const char *text)
{
    return *text ? json_text(text) : json_null();
}

static json_t *class_json(const struct explain_class *c, const struct subject *s)
{
    const char *type = type_of(&c->op, s);
    json_t *j = json_object();
    int bad = json_object_set_new(j, "role", json_string(op_role_name(c->op.role)));
    bad |= json_object_set_new(j, "op", json_string(op_kind_name(c->op.kind)));
    bad |= json_object_set_new(j, "phase", json_string(phase_name(c->phase)));
    bad |= json_object_set_new(j, "times", json_num(c->times));
    bad |= json_object_set_new(j, "count", json_num(c->sum.count));
    bad |= json_object_set_new(j, "n_pass", json_num(c->n_pass));
    bad |= json_object_set_new(j, "shape", shape_json(&c->op));
    bad |= json_object_set_new(j, "type", type ? json_string(type) : json_null());
    char scheme[24];
    const char *says = scheme_of(scheme, sizeof scheme, &c->op);
    bad |= json_object_set_new(j, "scheme", says ? json_string(says) : json_null());
    bad |= json_object_set_new(j, "math", c->sum.cost.flop > 0 ? json_string(math_name(c->sum.math)) : json_null());
    bad |= json_object_set_new(j, "roof", *c->roof ? json_string(c->roof) : json_null());
    bad |= json_object_set_new(j, "kernel", c->sum.alone ? json_string(c->sum.alone) : json_null());
    bad |= json_object_set_new(j, "weight_formula", formula_json(c->weight));
    bad |= json_object_set_new(j, "act_formula", formula_json(c->act));
    bad |= json_object_set_new(j, "kv_formula", formula_json(c->kv));
    bad |= json_object_set_new(j, "flop_formula", formula_json(c->flop));
    bad |= json_object_set_new(j, "link_formula", formula_json(c->link));
    bad |= fields_cost(j, &c->sum.cost);
    bad |= json_object_set_new(j, "link_bytes", json_num(c->sum.cost.link_bytes));
    bad |= json_object_set_new(j, "act_in_cache", json_boolean(c->act_in_cache));
    bad |= json_object_set_new(j, "memory_s", json_num(c->sum.memory_s));
    bad |= json_object_set_new(j, "compute_s", json_num(c->sum.compute_s));
    bad |= json_object_set_new(j, "link_s", json_num(c->sum.link_s));
    bad |= json_object_set_new(j, "launch_s", json_num(c->launch_s));
    bad |= json_object_set_new(j, "seconds", json_num(c->sum.seconds));
    bad |= json_object_set_new(j, "bound", json_string(bound_name(c->sum.bound)));
    if (bad == 0)
        return j;
    json_decref(j);
    return NULL;
}

static json_t *constant_json(const struct explain_constant *k)
{
    return json_pack("{s:s, s:o, s:s, s:s, s:s, s:o, s:o}", "name", k->name, "value", json_num(k->value), "unit", k->unit, "source",
                     k->source, "formula", k->formula, "spread", json_num(k->spread), "share", json_num(k->share));
}

static int put_all(json_t *j, const struct explain *e, const struct subject *s)
{
    json_t *classes = json_array(), *constants = json_array();
    int bad = json_object_set_new(j, "explain", classes) | json_object_set_new(j, "constants", constants);
    for (size_t i = 0; i < e->n; i++)
        bad |= json_array_append_new(classes, class_json(&e->c[i], s));
    for (size_t i = 0; i < e->n_k; i++)
        bad |= json_array_append_new(constants, constant_json(&e->k[i]));
    bad |= json_object_set_new(j, "n_pass", json_num(e->n_pass));
    bad |= json_object_set_new(j, "explain_s", json_num(e->sum_s));
    bad |= json_object_set_new(j, "pipeline", json_num(e->pipeline));
    return bad;
}

int predict_put_explain(json_t *j, const struct subject *s, struct error *err)
{
    struct explain e;
    const int rc = s->request ? explain_request(&e, s->m, s->h, &s->o, s->request, err)
                              : explain_init(&e, s->m, s->h, &s->o, s->phase, err);
    if (rc != 0)
        return -1;
    const int bad = put_all(j, &e, s);
    explain_free(&e);
    return bad ? error_oom(err, 0, "an explanation") : 0;
}

/* ---- as text ------------------------------------------------------------------------------------ */

static const char *seconds_text(char *buf, size_t n, double s)
{
    return s == 0 ? "0" : units_si(buf, n, s, "s");
}

/* "  weights  32 x 14336 rows x 4352 B                                  = 2.00 GB", a line or two. */
static void print_side(const json_t *c, const char *what, const char *formula, const char *key, const char *unit,
                       const char *note)
{
    const char *f = predict_text(c, formula);
    char v[40];
    if (!*f)
        return;
    report_text(13, "    %-8s %-72s = %s%s\n", what, f, units_si(v, sizeof v, predict_number(c, key), unit), note);
}

/* " (154 TFLOP/s)": what e_c and the peak of the units come to; "" where nothing is computed. */
static const char *rate_text(char *buf, size_t n, const json_t *c)
{
    const double rate = predict_number(c, "flop") / predict_number(c, "compute_s");
    char v[40];
    *buf = 0;
    if (isfinite(rate) && rate > 0)
        snprintf(buf, n, " (%s)", units_si(v, sizeof v, rate, "FLOP/s"));
    return buf;
}

static void print_class(const json_t *c)
{
    char head[128], a[40], b[40], l[40], s[40], r[48], sides[160];
    const char *type = predict_text(c, "type"), *math = predict_text(c, "math");
    snprintf(head, sizeof head, "%s: %.10g x %s%s%s%s%s%s", predict_text(c, "role"), predict_number(c, "count"),
             predict_text(c, "op"), *predict_text(c, "shape") ? " " : "", predict_text(c, "shape"), *type ? " " : "", type,
             *math ? ", " : "");
    const char *scheme = predict_text(c, "scheme");
    report_text(4, "  %s%s%s%s\n", head, math, *scheme ? " " : "", scheme);
    print_side(c, "weights", "weight_formula", "weight_bytes", "B", "");
    print_side(c, "KV", "kv_formula", "kv_bytes", "B", "");
    print_side(c, "act", "act_formula", "act_bytes", "B", json_is_true(json_object_get(c, "act_in_cache")) ? " (cache)" : "");
    print_side(c, "FLOP", "flop_formula", "flop", "", "");
    print_side(c, "sent", "link_formula", "link_bytes", "B", "");
    if (*predict_text(c, "roof"))
        report_text(13, "    kernel   %s (29)\n", predict_text(c, "roof"));
    if (*predict_text(c, "kernel"))
        report_text(13, "    kernel   %s, seconds of its own: (46)\n", predict_text(c, "kernel"));
    if (predict_number(c, "link_s") > 0)
        snprintf(sides, sizeof sides, "links %s", seconds_text(a, sizeof a, predict_number(c, "link_s")));
    else
        snprintf(sides, sizeof sides, "memory %s, compute %s%s", seconds_text(a, sizeof a, predict_number(c, "memory_s")),
                 seconds_text(b, sizeof b, predict_number(c, "compute_s")), rate_text(r, sizeof r, c));
    report_text(6, "    %s, launch %s: %s-bound, %s\n", sides, seconds_text(l, sizeof l, predict_number(c, "launch_s")), predict_text(c, "bound"),
                seconds_text(s, sizeof s, predict_number(c, "seconds")));
}

static void print_constant(const json_t *k)
{
    char v[40];
    const char *unit = predict_text(k, "unit");
    const double value = predict_number(k, "value");
    if (isnan(value))
        snprintf(v, sizeof v, "no limit");
    else if (!*unit)
        snprintf(v, sizeof v, "%.4g", value);
    else if (value == 0)
        snprintf(v, sizeof v, "0");
    else
        units_si(v, sizeof v, value, unit);
    char spread[64] = "";
    if (!isnan(predict_number(k, "share")))
        snprintf(spread, sizeof spread, "x/ %.3g, %.1f %% of the interval: ", predict_number(k, "spread"), 100 * predict_number(k, "share"));
    report_text_within(120, 46, "  %-22s %-14s %-5s %s%s\n", predict_text(k, "name"), v, predict_text(k, "formula"), spread, predict_text(k, "source"));
}

/* The sum, with all its digits, and the seconds of the table. */
static void print_total(const json_t *row)
{
    const char *phase = predict_text(row, "phase");
    const double pipeline = predict_number(row, "pipeline"), n = predict_number(row, "n_batch"),
                 tokens = strcmp(phase, "prefill") == 0   ? n * predict_number(row, "n_prompt")
                          : strcmp(phase, "request") == 0 ? n * predict_number(row, "n_gen")
                                                          : n;
    printf("  sum of the classes: %.17g s\n", predict_number(row, "explain_s"));
    if (fabs(pipeline - 1) > 1e-12)
        report_text(4, "  x %.10g: %s\n", pipeline,
                    *predict_text(row, "stack") && strcmp(predict_text(row, "basis"), "kernels") != 0
                        ? "what passes cost beside their ops, and what ops share when they are one (35), (24)"
                        : "passes overlap in the pipeline, the slowest stage sets the pace (24)");
    printf("  %.10g tokens / %.17g s = %.17g tokens/s\n", tokens, predict_number(row, "seconds"), predict_number(row, "tok_s"));
}

/* Of a request: what comes next, and how often. */
static void print_part(const char *phase, double times)
{
    if (strcmp(phase, "prefill") == 0)
        printf("  the prompt:\n");
    else
        printf("  %.10g step%s, the mean of them:\n", times, times == 1 ? "" : "s");
}

static void print_row(const json_t *row)
{
    size_t i;
    json_t *j;
    report_text(0, "\n%s, %s on %s, %s: %.10g pass%s\n\n", predict_text(row, "phase"), predict_text(row, "test"),
                predict_text(row, "hw"), predict_text(row, "layout"), predict_number(row, "n_pass"),
                predict_number(row, "n_pass") == 1 ? "" : "es");
    const bool request = strcmp(predict_text(row, "phase"), "request") == 0;
    const char *before = "";
    json_array_foreach(json_object_get(row, "explain"), i, j) {
        const char *phase = predict_text(j, "phase");
        if (request && strcmp(phase, before) != 0)
            print_part(phase, predict_number(j, "times"));
        before = phase;
        print_class(j);
    }
    print_total(row);
    printf("\n");
    json_array_foreach(json_object_get(row, "constants"), i, j)
        print_constant(j);
}

void predict_print_explain(const json_t *rows)
{
    size_t i;
    json_t *row;
    const json_t *first = json_array_get(rows, 0);
    if (*predict_text(first, "stack") && strcmp(predict_text(first, "basis"), "kernels") != 0)
        report_text(0, "\nSeconds of an op: ((weights + KV + act) / (e_b W) with FLOP / (e_c peak) and weights widened, as a p-norm, + launch,\n"
                    "doc/methods.md (35), (62); peak: of the units that the stack's kernels multiply on (43), behind it in parentheses what they\n"
                    "reach; bytes and FLOP (5)-(19); between devices (47). Formulas are of all ops of a line.\n"
                    "A decode step is the mean of its steps (21).\n");
         else
             report_text(0, "\nSeconds of an op: max((weights + KV) / (e_b W) + act / (e_b W or the cache's), FLOP / (e_c peak)) + launch,\n"
                "doc/methods.md (26); bytes and FLOP (5)-(19); between devices (24). Formulas are of all ops of a line.\n"
                "A decode step is the mean of its steps (21).\n");
         json_array_foreach(rows, i, row)
             if (json_object_get(row, "explain"))
                 print_row(row);
     }
