/* roofcast predict --explain: where a phase's seconds come from, as rows and as text of 120 columns. */
#include "report/predict_report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A class of ops, and its names. */
struct class_row {
    struct explain_class c;
    const char *role, *op, *phase, *type, *math, *bound;
    char shape[64], scheme[24];
    double ai;
};

#define AT(m) COLUMN_AT(struct class_row, m)
static const struct column predict_class_columns[] = {
    { "role", NULL, COL_TEXT, NULL, COL_DATA, AT(role), EMPTY_VALUE, NULL, NULL },
    { "op", NULL, COL_TEXT, NULL, COL_DATA, AT(op), EMPTY_VALUE, NULL, NULL },
    { "phase", NULL, COL_TEXT, NULL, COL_DATA, AT(phase), EMPTY_VALUE, "`\"prefill\"` or `\"decode\"`", NULL },
    { "times", NULL, COL_FLOAT, NULL, COL_DATA, AT(c.times), EMPTY_VALUE, NULL, "such phases: of a request, whose steps are told as their mean, its `n_gen - 1` "
      "steps; else 1" },
    { "count", NULL, COL_FLOAT, NULL, COL_DATA, AT(c.sum.count), EMPTY_VALUE, NULL, "ops per pass" },
    { "n_pass", NULL, COL_FLOAT, NULL, COL_DATA, AT(c.n_pass), EMPTY_VALUE, NULL, "passes that run them" },
    { "shape", NULL, COL_TEXT, NULL, COL_DATA, AT(shape), EMPTY_VALUE, NULL, NULL },
    { "type", NULL, COL_TEXT, NULL, COL_DATA, AT(type), EMPTY_NULL, NULL, "of the weights, or of the cache" },
    { "scheme", NULL, COL_TEXT, NULL, COL_DATA, AT(scheme), EMPTY_NULL, NULL, "of a checkpoint's products: bits of weights and activations, `W4A16`" },
    { "math", NULL, COL_TEXT, NULL, COL_DATA, AT(math), EMPTY_NULL, NULL, "operand type whose peak is used" },
    { "roof", NULL, COL_TEXT, NULL, COL_DATA, AT(c.roof), EMPTY_NULL, NULL, "the measured kernels used as roofs (methods.md (29)); null: "
      "bandwidth and peak" },
    { "kernel", NULL, COL_TEXT, NULL, COL_DATA, AT(c.sum.alone), EMPTY_NULL, NULL, "the kernel of the stack that runs it, one of `priors.attention_kernels`, whose "
      "seconds are its own (46); null: as the others" },
    { "weight_formula", NULL, COL_TEXT, NULL, COL_DATA, AT(c.weight), EMPTY_NULL, NULL, NULL },
    { "act_formula", NULL, COL_TEXT, NULL, COL_DATA, AT(c.act), EMPTY_NULL, NULL, NULL },
    { "kv_formula", NULL, COL_TEXT, NULL, COL_DATA, AT(c.kv), EMPTY_NULL, NULL, NULL },
    { "flop_formula", NULL, COL_TEXT, NULL, COL_DATA, AT(c.flop), EMPTY_NULL, NULL, NULL },
    { "link_formula", NULL, COL_TEXT, NULL, COL_DATA, AT(c.link), EMPTY_NULL, NULL, NULL },
    { "weight_bytes", NULL, COL_SI, "B", COL_DATA, AT(c.sum.cost.weight_bytes), EMPTY_VALUE, NULL, NULL },
    { "act_bytes", NULL, COL_SI, "B", COL_DATA, AT(c.sum.cost.act_bytes), EMPTY_VALUE, NULL, NULL },
    { "kv_bytes", NULL, COL_SI, "B", COL_DATA, AT(c.sum.cost.kv_bytes), EMPTY_VALUE, NULL, NULL },
    { "flop", NULL, COL_SI, "FLOP", COL_DATA, AT(c.sum.cost.flop), EMPTY_VALUE, NULL, NULL },
    { "ai", NULL, COL_FLOAT, "FLOP/B", COL_DATA, AT(ai), EMPTY_NULL, NULL, NULL },
    { "link_bytes", NULL, COL_SI, "B", COL_DATA, AT(c.sum.cost.link_bytes), EMPTY_VALUE, NULL, NULL },
    { "act_in_cache", NULL, COL_BOOL, NULL, COL_DATA, AT(c.act_in_cache), EMPTY_VALUE, NULL, "activations stay in the last-level cache" },
    { "memory_s", NULL, COL_SECONDS, "s", COL_DATA, AT(c.sum.memory_s), EMPTY_VALUE, NULL, NULL },
    { "compute_s", NULL, COL_SECONDS, "s", COL_DATA, AT(c.sum.compute_s), EMPTY_VALUE, NULL, NULL },
    { "link_s", NULL, COL_SECONDS, "s", COL_DATA, AT(c.sum.link_s), EMPTY_VALUE, NULL, NULL },
    { "launch_s", NULL, COL_SECONDS, "s", COL_DATA, AT(c.launch_s), EMPTY_VALUE, NULL, NULL },
    { "seconds", NULL, COL_SECONDS, "s", COL_DATA, AT(c.sum.seconds), EMPTY_VALUE, NULL, NULL },
    { "bound", NULL, COL_TEXT, NULL, COL_DATA, AT(bound), EMPTY_VALUE, "`\"memory\"` or `\"compute\"` or `\"launch\"` or `\"link\"`", NULL },
};
#undef AT
const struct table_fields predict_class_fields = { "predict.class", predict_class_columns, ARRAY_LEN(predict_class_columns) };
#define AT(m) COLUMN_AT(struct explain_constant, m)
static const struct column predict_constant_columns[] = {
    { "name", NULL, COL_TEXT, NULL, COL_DATA, AT(name), EMPTY_VALUE, NULL, NULL },
    { "value", NULL, COL_FLOAT, NULL, COL_DATA, AT(value), EMPTY_NULL, NULL, "in `unit`; null: no limit" },
    { "unit", NULL, COL_TEXT, NULL, COL_DATA, AT(unit), EMPTY_VALUE, NULL, "`\"\"`: a plain number" },
    { "source", NULL, COL_TEXT, NULL, COL_DATA, AT(source), EMPTY_VALUE, NULL, NULL },
    { "formula", NULL, COL_TEXT, NULL, COL_DATA, AT(formula), EMPTY_VALUE, NULL, "its number in `doc/methods.md`" },
    { "spread", NULL, COL_FLOAT, NULL, COL_DATA, AT(spread), EMPTY_NULL, NULL, "uncertainty factor, exp of the standard deviation of its logarithm (tables: 90 %, that is `spread`^1.645); null: "
      "not a constant of the stack" },
    { "share", NULL, COL_FRACTION, "fraction", COL_DATA, AT(share), EMPTY_NULL, NULL, "of the variance of the 90 % interval; all add up to 1" },
};
#undef AT
const struct table_fields predict_constant_fields = { "predict.constant", predict_constant_columns, ARRAY_LEN(predict_constant_columns) };

/* ---- as rows ---------------------------------------------------------------------------------- */

static const char *type_of(const struct op *op, const struct subject *s)
{
    if (op->kind == OP_ATTENTION || op->kind == OP_KV_STORE)
        return dtype_name(s->o.type_k);
    return op->w ? dtype_name(op->w->type) : NULL;
}

/* "W4A16": bits of weights and activations of a checkpoint. (4) */
static void scheme_of(char *buf, size_t n, const struct op *op)
{
    static const unsigned act_bits[] = { [SCHEME_FP16] = 16, [SCHEME_BF16] = 16, [SCHEME_FP8] = 8, [SCHEME_INT8] = 8,
                                         [SCHEME_FP4] = 4 };
    if (op->w && op->w->scheme != SCHEME_BY_TYPE)
        snprintf(buf, n, "W%.0fA%u", floor(dtype_bits(op->w->type)), act_bits[op->w->scheme]);
}

static void shape_of(char *text, size_t n, const struct op *op)
{
    uint64_t rows, cols;
    op_weight_shape(op, &rows, &cols);
    if (op->kind == OP_ATTENTION)
        snprintf(text, n, "%u heads, %u of keys, of %u", op->n_head, op->n_head_kv, op->head_dim);
    else if (op_n_matrix(op) > 1)
        snprintf(text, n, "%u x [%llu x %llu]", op_n_matrix(op), (unsigned long long)(rows / op_n_matrix(op)),
                 (unsigned long long)cols);
    else if (rows > 1)
        snprintf(text, n, "[%llu x %llu]", (unsigned long long)rows, (unsigned long long)cols);
    else
        snprintf(text, n, "%llu", (unsigned long long)cols);
}

static void put_class(struct class_row *w, const struct explain_class *c, const struct subject *s)
{
    w->c = *c;
    w->role = op_role_name(c->op.role);
    w->op = op_kind_name(c->op.kind);
    w->phase = phase_name(c->phase);
    w->type = type_of(&c->op, s);
    w->math = c->sum.cost.flop > 0 ? math_name(c->sum.math) : NULL;
    w->bound = bound_name(c->sum.bound);
    w->ai = cost_ai(&c->sum.cost);
    shape_of(w->shape, sizeof w->shape, &c->op);
    scheme_of(w->scheme, sizeof w->scheme, &c->op);
}

int predict_put_explain(struct predict_row *w, const struct subject *s, struct error *err)
{
    struct explain e;
    struct explained *x = w->explained = calloc(1, sizeof *x);
    if (!x)
        return error_oom(err, sizeof *x, "an explanation");
    if ((s->request ? explain_request(&e, s->m, s->h, &s->o, s->request, err) : explain_init(&e, s->m, s->h, &s->o, s->phase, err)) != 0)
        return -1;
    *x = (struct explained){ { .size = sizeof(struct class_row) }, { .size = sizeof *e.k } };
    for (size_t i = 0; i < e.n; i++)
        put_class(table_add(&x->classes), &e.c[i], s);
    for (size_t i = 0; i < e.n_k; i++)
        memcpy(table_add(&x->constants), &e.k[i], sizeof e.k[i]);
    w->n_pass = e.n_pass;
    w->explain_s = e.sum_s;
    w->pipeline = e.pipeline;
    explain_free(&e);
    return 0;
}

void predict_nest_explain(struct table_rows *rows, struct predict_row *w)
{
    const struct table classes = { .cols = predict_class_columns, .n_cols = ARRAY_LEN(predict_class_columns), .rows = &w->explained->classes },
                       constants = { .cols = predict_constant_columns, .n_cols = ARRAY_LEN(predict_constant_columns), .rows = &w->explained->constants };
    w->classes_json = table_keep_json(rows, table_rows_json(&classes));
    w->constants_json = table_keep_json(rows, table_rows_json(&constants));
}

/* ---- as text ------------------------------------------------------------------------------------ */

static const char *seconds_text(char *buf, size_t n, double s)
{
    return s == 0 ? "0" : units_si(buf, n, s, "s");
}

/* "  weights  32 x 14336 rows x 4352 B                                  = 2.00 GB" */
static void print_side(const char *what, const char *formula, double value, const char *unit, const char *note)
{
    char v[40];
    if (*formula)
        report_text(13, "    %-8s %-72s = %s%s\n", what, formula, units_si(v, sizeof v, value, unit), note);
}

/* " (154 TFLOP/s)": effective throughput, e_c times the peak of the math units; "": no FLOP. */
static const char *rate_text(char *buf, size_t n, const struct explain_class *c)
{
    const double rate = c->sum.cost.flop / c->sum.compute_s;
    char v[40];
    *buf = 0;
    if (isfinite(rate) && rate > 0)
        snprintf(buf, n, " (%s)", units_si(v, sizeof v, rate, "FLOP/s"));
    return buf;
}

static void print_class(const struct class_row *w)
{
    const struct explain_class *c = &w->c;
    char head[128], a[40], b[40], l[40], s[40], r[48], sides[160];
    snprintf(head, sizeof head, "%s: %.10g x %s%s%s%s%s%s", w->role, c->sum.count, w->op, *w->shape ? " " : "", w->shape, w->type ? " " : "",
             w->type ? w->type : "", w->math ? ", " : "");
    report_text(4, "  %s%s%s%s\n", head, w->math ? w->math : "", *w->scheme ? " " : "", w->scheme);
    print_side("weights", c->weight, c->sum.cost.weight_bytes, "B", "");
    print_side("KV", c->kv, c->sum.cost.kv_bytes, "B", "");
    print_side("act", c->act, c->sum.cost.act_bytes, "B", c->act_in_cache ? " (cache)" : "");
    print_side("FLOP", c->flop, c->sum.cost.flop, "", "");
    print_side("sent", c->link, c->sum.cost.link_bytes, "B", "");
    if (*c->roof)
        report_text(13, "    kernel   %s (29)\n", c->roof);
    if (c->sum.alone)
        report_text(13, "    kernel   %s, kernel model (46)\n", c->sum.alone);
    if (c->sum.link_s > 0)
        snprintf(sides, sizeof sides, "links %s", seconds_text(a, sizeof a, c->sum.link_s));
    else
        snprintf(sides, sizeof sides, "memory %s, compute %s%s", seconds_text(a, sizeof a, c->sum.memory_s), seconds_text(b, sizeof b, c->sum.compute_s),
                 rate_text(r, sizeof r, c));
    report_text(6, "    %s, launch %s: %s-bound, %s\n", sides, seconds_text(l, sizeof l, c->launch_s), w->bound, seconds_text(s, sizeof s, c->sum.seconds));
}

static void print_constant(const struct explain_constant *k)
{
    char v[40], spread[64] = "";
    if (!isfinite(k->value))
        snprintf(v, sizeof v, "no limit");
    else if (!*k->unit)
        snprintf(v, sizeof v, "%.4g", k->value);
    else if (k->value == 0)
        snprintf(v, sizeof v, "0");
    else
        units_si(v, sizeof v, k->value, k->unit);
    if (isfinite(k->share))
        snprintf(spread, sizeof spread, "*/ %.3g (90 %%), %.1f %% of the interval: ", pow(k->spread, PREDICT_Z90), 100 * k->share);
    report_text_within(120, 46, "  %-22s %-14s %-5s %s%s\n", k->name, v, k->formula, spread, k->source);
}

/* Whether the row uses constants of a stack, not measured kernels. */
static bool has_constants(const struct predict_row *row)
{
    return row->stack && strcmp(row->basis ? row->basis : "", "kernels") != 0;
}

/* The sum with all digits, and the seconds of the table. */
static void print_total(const struct predict_row *row)
{
    const double n = row->n_batch, tokens = strcmp(row->phase, "prefill") == 0   ? n * row->n_prompt
                                            : strcmp(row->phase, "request") == 0 ? n * row->n_gen
                                                                                 : n;
    printf("  sum of the classes: %.17g s\n", row->explain_s);
    if (fabs(row->pipeline - 1) > 1e-12)
        report_text(4, "  x %.10g: %s\n", row->pipeline,
                    has_constants(row) ? "per-pass cost in addition to the ops, and overlap of fused ops (35), (24)"
                                       : "pipeline overlap: the slowest stage sets the rate (24)");
    printf("  %.10g tokens / %.17g s = %.17g tokens/s\n", tokens, row->seconds.value, row->tok_s.value);
}

/* Heading of a phase of a request. */
static void print_part(enum phase phase, double times)
{
    if (phase == PHASE_PREFILL)
        printf("  prompt:\n");
    else
        printf("  %.10g decode step%s, mean:\n", times, times == 1 ? "" : "s");
}

static void print_row(const struct predict_row *row)
{
    const struct explained *x = row->explained;
    const bool request = strcmp(row->phase, "request") == 0;
    report_text(0, "\n%s, %s on %s, %s: %.10g pass%s\n\n", row->phase, row->test, row->hw, row->layout, row->n_pass, row->n_pass == 1 ? "" : "es");
    for (size_t i = 0; i < x->classes.n; i++) {
        const struct class_row *w = table_row(&x->classes, i), *before = i ? table_row(&x->classes, i - 1) : NULL;
        if (request && (!before || before->c.phase != w->c.phase))
            print_part(w->c.phase, w->c.times);
        print_class(w);
    }
    print_total(row);
    printf("\n");
    for (size_t i = 0; i < x->constants.n; i++)
        print_constant(table_row(&x->constants, i));
}

void predict_print_explain(const struct table_rows *rows)
{
    if (has_constants(table_row(rows, 0)))
        report_text(0, "\nTime of an op: p-norm of (weights + KV + act) / (e_b W) and FLOP / (e_c peak) + weight conversion, plus launch:\n"
                    "doc/methods.md (35), (62). peak: of the kernels' math units (43), in parentheses their effective throughput; bytes and\n"
                    "FLOP: (5)-(19); between devices: (47). Formulas cover all ops of a line; decode is the mean of its steps (21).\n");
    else
        report_text(0, "\nTime of an op: max((weights + KV) / (e_b W) + act / (e_b W or the cache bandwidth), FLOP / (e_c peak)) + launch:\n"
                    "doc/methods.md (26); bytes and FLOP: (5)-(19); between devices: (24). Formulas cover all ops of a line; decode is the\n"
                    "mean of its steps (21).\n");
    for (size_t i = 0; i < rows->n; i++) {
        const struct predict_row *row = table_row(rows, i);
        if (row->explained)
            print_row(row);
    }
}
