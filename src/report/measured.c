/* roofcast report: measurements of others under a machine's roofs: rows, the notes on them, the chart. methods.md (67) */
#include "report/measured.h"
#include "base/environment.h"
#include "base/notify.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ------------------------------------------------------------------------------- */

#define AT(m) COLUMN_AT(struct report_row, m)
static const struct column report_columns[] = {
    { "model", "model", COL_TEXT, NULL, COL_MAJOR, AT(model), EMPTY_VALUE, NULL, "as the file has it" },
    { "type", "type", COL_TEXT, NULL, COL_MEDIUM, AT(type), EMPTY_VALUE, NULL, "used for bytes and FLOP" },
    { "hw", "hw", COL_TEXT, NULL, COL_MEDIUM, AT(hw), EMPTY_VALUE, NULL, "id of the profile; `\"\"`: none" },
    { "engine", "engine", COL_TEXT, NULL, COL_MEDIUM, AT(engine), EMPTY_VALUE, NULL, "normalized" },
    { "n_devices", "devices", COL_INT, NULL, COL_MINOR, AT(n_devices), EMPTY_VALUE, NULL, NULL },
    { "test", "test", COL_TEXT, NULL, COL_KEY, AT(test), EMPTY_VALUE, NULL, "`pp512`, `tg128@d4096`, `req1024+128`; of a server's latencies `req1024+128x16 "
      "ttft`, of ops `mlp_up_proj m=512`, of collectives `all_reduce 2048 B`" },
    { "phase", NULL, COL_TEXT, NULL, COL_DATA, AT(phase), EMPTY_VALUE, NULL, NULL },
    { "tok_s", "tokens/s", COL_FLOAT, "tokens/s", COL_KEY, AT(tok_s), EMPTY_NULL, NULL, "measured; null: a latency" },
    { "seconds", NULL, COL_SECONDS, "s", COL_DATA, AT(seconds), EMPTY_NULL, NULL, "measured: of the prompt, of a mean decode step, of all requests" },
    { "bytes", NULL, COL_SI, "B", COL_DATA, AT(bytes), EMPTY_NULL, NULL, "weights and KV cache that a device reads and writes in that time" },
    { "flop", NULL, COL_SI, "FLOP", COL_DATA, AT(flop), EMPTY_NULL, NULL, NULL },
    { "ai", "FLOP/B", COL_FLOAT, "FLOP/B", COL_MINOR, AT(ai), EMPTY_NULL, NULL, NULL },
    { "bytes_s", "bandwidth", COL_SI, "B/s", COL_KEY, AT(bytes_s), EMPTY_NULL, NULL, NULL },
    { "mbu", "MBU", COL_FRACTION, NULL, COL_KEY, AT(mbu), EMPTY_NULL, NULL, "of the memory bandwidth" },
    { "flop_s", "FLOP/s", COL_SI, "FLOP/s", COL_MEDIUM, AT(flop_s), EMPTY_NULL, NULL, NULL },
    { "mfu", "MFU", COL_FRACTION, NULL, COL_MAJOR, AT(mfu), EMPTY_NULL, NULL, "of the peak" },
    { "bound", "bound", COL_TEXT, NULL, COL_KEY, AT(bound), EMPTY_NULL, "`\"memory\"` or `\"compute\"` or null", "the lower roof at this intensity" },
    { "roof_fraction", "% of roof", COL_FRACTION, NULL, COL_MAJOR, AT(roof_fraction), EMPTY_NULL, NULL, "time at the roofline / time "
      "measured" },
    { "math", NULL, COL_TEXT, NULL, COL_DATA, AT(math), EMPTY_NULL, NULL, "operand type of most FLOP, whose peak is used" },
    { "peak_flop_s", NULL, COL_SI, "FLOP/s", COL_DATA, AT(peak_flop_s), EMPTY_NULL, NULL, NULL },
    { "peak_bytes_s", NULL, COL_SI, "B/s", COL_DATA, AT(peak_bytes_s), EMPTY_NULL, NULL, NULL },
    { "reason", "note", COL_TEXT, NULL, COL_MEDIUM, AT(reason), EMPTY_NULL, NULL, "why there are no figures, values taken from `--hardware`, assumptions for "
      "missing fields" },
};
#undef AT
const struct table_fields report_fields = { "report.row", report_columns, ARRAY_LEN(report_columns) };

/* Work and rates of a device in the measured time, and its roofs. (67) */
struct placed {
    double seconds, bytes, flop, ai, bytes_s, flop_s, peak_bytes_s, peak_flop_s, roof_s;
    enum math math;
    bool memory;
};

static void add_phase(struct placed *x, double flop_math[MATH_COUNT], const struct workload *p, enum phase phase)
{
    const struct work_sum s = work_sum(p, phase);
    x->bytes += s.cost.weight_bytes + s.cost.kv_bytes;
    x->flop += s.cost.flop;
    for (int m = 0; m < MATH_COUNT; m++)
        flop_math[m] += s.flop_math[m];
}

/* A server's TTFT has a prefill, its TPOT a decode step. */
static bool has_phase(const struct workload *p, enum phase phase)
{
    return p->m->kind != MEASURE_SERVING || (p->m->metric == METRIC_TTFT) == (phase == PHASE_PREFILL);
}

/* Activations stay on the chip, as for the roofline bound; each operand type at its own peak. */
static struct placed place(const struct workload *p)
{
    struct placed x = { .seconds = p->measured_s, .peak_bytes_s = p->roofs->bytes_s };
    double flop[MATH_COUNT] = { 0 };
    if (has_phase(p, PHASE_PREFILL))
        add_phase(&x, flop, p, PHASE_PREFILL);
    if (has_phase(p, PHASE_DECODE))
        add_phase(&x, flop, p, PHASE_DECODE);
    for (int m = 0; m < MATH_COUNT; m++)
        x.math = flop[m] > flop[x.math] ? (enum math)m : x.math;
    const double memory_s = x.bytes / x.peak_bytes_s, compute_s = work_compute_s(p, flop);
    x.peak_flop_s = p->roofs->peak[x.math].flop_s;
    x.ai = x.flop / x.bytes;
    x.bytes_s = x.bytes / x.seconds;
    x.flop_s = x.flop / x.seconds;
    x.memory = memory_s >= compute_s;
    x.roof_s = fmax(memory_s, compute_s);
    return x;
}

/* The estimated count, else the file's; nothing if both are unknown. */
static void add_count(struct strbuf *b, const char *before, double priced, double said)
{
    const double v = isnan(priced) ? said : priced;
    strbuf_adds(b, before);
    if (!isnan(v))
        strbuf_addf(b, "%.10g", round(10 * v) / 10); /* users by Little's law need not be whole */
}

static void add_depth(struct strbuf *b, const struct workload *p)
{
    const struct measurement *m = p->m;
    const double depth = m->phase == MEASURE_PREFILL ? p->context : m->phase == MEASURE_DECODE ? m->prompt : 0;
    if (depth > 0)
        strbuf_addf(b, "@d%g", depth);
    else if (m->kind == MEASURE_SERVING)
        strbuf_addf(b, " %s", measure_metric_name(m->metric));
}

/* NULL: no memory. */
static const char *test_name(const struct workload *p, char *buf, size_t n)
{
    const struct measurement *m = p->m;
    struct strbuf b = { 0 };
    if (m->kind == MEASURE_OP) {
        strbuf_addf(&b, "%s m=%.10g", m->op, m->m);
    } else if (m->kind == MEASURE_KERNEL) {
        strbuf_addf(&b, "%s", m->op);
        if (m->batch > 0)
            strbuf_addf(&b, " %.10g heads of %.10g, %.10g of keys x%.10g@d%.10g", m->n_head, m->head_dim, m->n_kv, m->batch, m->context);
    } else if (m->kind == MEASURE_ALL_REDUCE) {
        strbuf_addf(&b, "all_reduce %.10g B", m->bytes);
    } else {
        if (m->phase == MEASURE_PREFILL)
            add_count(&b, "pp", p->prompt, m->prompt);
        else if (m->phase == MEASURE_DECODE)
            add_count(&b, "tg", m->out > 0 ? m->out : 1, NAN);
        else {
            add_count(&b, "req", p->prompt, m->prompt);
            add_count(&b, "+", p->out, m->out);
        }
        if (p->batch > 1)
            add_count(&b, "x", p->batch, NAN);
        add_depth(&b, p);
    }
    const char *text = strbuf_text(&b, "the name of a test", NULL);
    snprintf(buf, n, "%s", text ? text : "");
    strbuf_free(&b);
    return text ? buf : NULL;
}

/* A step of a server with an unknown number of users. */
static bool is_of_guessed_users(const struct workload *p)
{
    return p->m->kind == MEASURE_SERVING && p->m->metric == METRIC_TPOT && (p->guesses & GUESS_BATCH);
}

/* A fraction of a guessed roof is meaningless; two devices that work in turn have no common one. */
static bool can_place(const struct workload *p)
{
    const bool passes = p->m->kind == MEASURE_RATE || p->m->kind == MEASURE_SERVING;
    return !p->reason[0] && passes && p->measured_s > 0 && !p->host && !(p->machine->ln_sd > 0) && !is_of_guessed_users(p);
}

/* Larger fractions of a roof are not explained by clock variation or rounding. */
static const double ABOVE = 1.03;

/* Contents of a server's latency in addition to the pass. */
static const char *added_to_pass(const struct workload *p)
{
    if (p->m->kind != MEASURE_SERVING)
        return "";
    if (p->m->metric == METRIC_TTFT)
        return p->n_users > 1 ? "bytes and FLOP of one prompt; the time includes queueing and the server's own work"
                              : "bytes and FLOP of one prompt; the time includes the server's own work";
    return p->batch > 1 && strcmp(p->m->mode, "disagg") != 0 ? "one decode step of the running sequences; prefills between steps are not counted" : "";
}

/* Why a row cannot be drawn, or remarks on it; "": none, NULL: out of memory. */
static const char *remark(const struct workload *p, char *buf, size_t size)
{
    struct strbuf b = { 0 };
    char excess[256];
    if (p->reason[0])
        return p->reason;
    switch (p->m->kind) {
    case MEASURE_OP:
        return "a single op: use roofcast score";
    case MEASURE_KERNEL:
        return "a single kernel: use roofcast score";
    case MEASURE_ALL_REDUCE:
        return "a collective between devices: use roofcast score";
    case MEASURE_SERVING:
    case MEASURE_RATE:
        break;
    }
    if (p->host) {
        snprintf(buf, size, "%.80s runs a part of the model: no roof of one device; roofcast score predicts both", p->host->machine->hardware);
        return buf;
    }
    if (p->machine->ln_sd > 0) {
        snprintf(buf, size, "unknown bandwidth of \"%.80s\": state it with --hardware", p->machine->hardware);
        return buf;
    }
    if (is_of_guessed_users(p))
        return "unknown number of sequences per step";
    const struct placed x = place(p);
    if (p->guesses & GUESS_BATCH)
        strbuf_addf(&b, "guessed: %g concurrent sequences", p->batch);
    if (p->guesses & (GUESS_MODEL | GUESS_ACTIVE))
        strbuf_addf(&b, "%sguessed (no preset): %s; bytes and FLOP are estimates (score prints their interval)", b.len ? "; " : "",
                    p->guesses & GUESS_ACTIVE ? "the model's dimensions and active parameters" : "the model's dimensions");
    if (workload_is_offloaded(p))
        strbuf_addf(&b, "%spartly offloaded: the rest runs on the CPU", b.len ? "; " : "");
    if (*roof_violation_text(p, excess, sizeof excess))
        strbuf_addf(&b, "%s%s", b.len ? "; " : "", excess);
    else if (x.flop_s > ABOVE * x.peak_flop_s)
        strbuf_addf(&b, "%sabove the peak of %s: the kernels use another type (INT8, or 16-bit accumulation)", b.len ? "; " : "",
                    math_name(x.math));
    if (x.bytes_s > ABOVE * x.peak_bytes_s && !*excess)
        strbuf_addf(&b, "%sabove the bandwidth: %s", b.len ? "; " : "", p->m->kind == MEASURE_SERVING ?
                    "steps had fewer sequences, or decoding was speculative" : "some of these bytes were served by caches");
    if (*added_to_pass(p))
        strbuf_addf(&b, "%s%s", b.len ? "; " : "", added_to_pass(p));
    if (p->note[0])
        strbuf_addf(&b, "%s%s", b.len ? "; " : "", p->note);
    if (p->machine->note[0])
        strbuf_addf(&b, "%s%s", b.len ? "; " : "", p->machine->note);
    if (*p->m->assumed)
        strbuf_addf(&b, "%s%s", b.len ? "; " : "", p->m->assumed);
    const char *text = strbuf_text(&b, "a remark", NULL);
    snprintf(buf, size, "%s", text ? text : "");
    strbuf_free(&b);
    return text ? buf : NULL;
}

void measured_add_row(struct table_rows *rows, const struct workload *p)
{
    char test[96], text[512];
    const bool has = can_place(p);
    const struct placed none = { NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, MATH_FP16, false }, x = has ? place(p) : none;
    const char *why = remark(p, text, sizeof text);
    if (!why || !test_name(p, test, sizeof test))
        interrupt_end_without_memory();
    *(struct report_row *)table_add(rows) = (struct report_row){
        .model = p->m->model, .type = p->type, .hw = p->machine->profile, .engine = p->stack->id, .n_devices = p->m->n_devices, .test = table_text(rows, test),
        .phase = measure_phase_name(p->m->phase), .tok_s = p->m->metric == METRIC_TOK_S ? p->m->value : NAN, .seconds = p->measured_s, .bytes = x.bytes,
        .flop = x.flop, .ai = x.ai, .bytes_s = x.bytes_s, .mbu = x.bytes_s / x.peak_bytes_s, .flop_s = x.flop_s, .mfu = x.flop_s / x.peak_flop_s,
        .bound = !has ? NULL : x.memory ? "memory" : "compute", .roof_fraction = x.roof_s / x.seconds, .math = has ? math_name(x.math) : NULL,
        .peak_flop_s = x.peak_flop_s, .peak_bytes_s = x.peak_bytes_s, .reason = table_text(rows, why),
    };
}

/* ---- the chart -------------------------------------------------------------------------------------------------- */

static int add_roof(struct roofline_chart *c, const char *label, double bytes_s, double flop_s)
{
    struct chart_roof *r = realloc(c->roof, (c->n_roof + 1) * sizeof *r);
    if (!r)
        return -1;
    c->roof = r;
    r[c->n_roof] = (struct chart_roof){ .bytes_s = bytes_s, .flop_s = flop_s, .spec = true };
    char value[32];
    units_si(value, sizeof value, isnan(bytes_s) ? flop_s : bytes_s, isnan(bytes_s) ? strncmp(label, "int", 3) == 0 ? "OP/s" : "FLOP/s" : "B/s");
    snprintf(r[c->n_roof++].label, sizeof r->label, "%.24s %.32s", label, value);
    return 0;
}

/* The memory roof, and the peak of every operand type in use. */
static int add_roofs(struct roofline_chart *c, const struct workload *rows, size_t n)
{
    bool seen[MATH_COUNT] = { false };
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (!can_place(&rows[i]))
            continue;
        const struct placed x = place(&rows[i]);
        if (c->n_roof == 0)
            rc = add_roof(c, "memory", x.peak_bytes_s, NAN);
        if (rc == 0 && !seen[x.math])
            rc = add_roof(c, math_name(x.math), NAN, x.peak_flop_s);
        seen[x.math] = true;
    }
    return rc;
}

static int add_points(struct roofline_chart *c, const struct workload *rows, size_t n)
{
    c->point = calloc(n + 1, sizeof *c->point);
    for (size_t i = 0; c->point && i < n; i++) {
        if (!can_place(&rows[i]))
            continue;
        const struct placed x = place(&rows[i]);
        struct chart_point *p = &c->point[c->n_point++];
        *p = (struct chart_point){ .ai = x.ai, .flop_s = x.flop_s, .weight = NAN };
        if (!test_name(&rows[i], p->label, sizeof p->label))
            return -1;
        snprintf(p->phase, sizeof p->phase, "%s", rows[i].m->phase == MEASURE_PREFILL || rows[i].m->metric == METRIC_TTFT ? "prefill" : "decode");
    }
    return c->point ? 0 : -1;
}

int measured_check_machine(const struct workload *rows, size_t n, const char *file, struct error *err)
{
    const struct machine *first = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!can_place(&rows[i]))
            continue;
        if (!first)
            first = rows[i].machine;
        if (first != rows[i].machine)
            return error_set(err, ERROR_INPUT, "--chart: %.150s has rows of \"%.80s\" and of \"%.80s\": expected one machine",
                             file, first->hardware, rows[i].machine->hardware);
    }
    return 0;
}

int measured_draw(const struct workload *rows, size_t n, const char *base, unsigned formats, struct error *err)
{
    char style[4096];
    struct strbuf notes = { 0 };
    struct roofline_chart c = { .style = style, .formats = formats };
    if (!environment_file(style, sizeof style, "reports/charts/roofline.gp"))
        return error_set(err, ERROR_INPUT, "%s: not found: the chart's style", style);
    snprintf(c.title, sizeof c.title, "%.70s on %.70s", rows[0].m->model, rows[0].machine->hardware);
    snprintf(c.subtitle, sizeof c.subtitle, "%.60s, results of another engine; bytes and FLOP by roofcast", rows[0].stack->id);
    int rc = add_roofs(&c, rows, n) == 0 && add_points(&c, rows, n) == 0 ? 0 : error_oom(err, n * sizeof *c.point, "a chart");
    if (rc == 0 && c.n_point == 0)
        rc = error_set(err, ERROR_INPUT, "--chart: no row can be drawn");
    rc = rc ? rc : chart_roofline(&c, base, &notes, err);
    const char *text = rc == 0 ? strbuf_text(&notes, "the notes", err) : NULL;
    rc = text ? rc : -1;
    if (text && *text)
        notify_note("%s", text);
    strbuf_free(&notes);
    free(c.roof);
    free(c.point);
    return rc;
}

/* On a terminal each note is printed once under the table, with its rows. */
static void print_notes(const struct table_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        const char *const note = ((const struct report_row *)table_row(rows, i))->reason, *sep = "";
        bool before = !note;
        for (size_t k = 0; k < i && !before; k++) {
            const struct report_row *other = table_row(rows, k);
            before = other->reason && strcmp(other->reason, note) == 0;
        }
        if (before)
            continue;
        for (size_t k = i; k < rows->n; k++) {
            const struct report_row *other = table_row(rows, k);
            if (other->reason && strcmp(other->reason, note) == 0) {
                printf("%s%s", sep, other->test);
                sep = ", ";
            }
        }
        printf(": ");
        for (const char *c = note; *c; c++) /* it contains file names */
            putchar((unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c);
        printf("\n");
    }
}

int measured_print(const struct workload *priced, size_t n, const char *file, enum report_format format, struct error *err)
{
    json_t *meta = json_pack("{s:o}", "file", json_text(file));
    struct table_rows rows = { .size = sizeof(struct report_row) };
    const bool terminal = format == REPORT_TABLE && report_width(stdout) > 0;
    struct column shown[ARRAY_LEN(report_columns)];
    const struct table d = { "roofcast.report", 1, meta, shown, ARRAY_LEN(shown), &rows, NULL };
    for (size_t i = 0; i < n; i++)
        measured_add_row(&rows, &priced[i]);
    memcpy(shown, report_columns, sizeof shown);
    if (terminal)
        columns_rank(shown, ARRAY_LEN(shown), "reason", COL_DATA);
    const int rc = report_write(NULL, format, &d, err);
    if (rc == 0 && terminal)
        print_notes(&rows);
    table_rows_free(&rows);
    json_decref(meta);
    return rc;
}
