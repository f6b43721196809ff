/* The documents that `roofcast plot` reads: a run, an analysis, a prediction or a profile,
 * as doc/formats.md has them. */
#include "predict/finding.h"
#include "report/plot.h"
#include "run/run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void plot_free(struct plot *p)
{
    free(p->item);
    free(p->counted);
    hwprofile_free(&p->roofs);
    strbuf_free(&p->notes);
    *p = (struct plot){ 0 };
}

/* ---- small readers -------------------------------------------------------------------- */

#define COPY(to, from) plot_copy((to), sizeof(to), (from))
void plot_copy(char *to, size_t size, const char *from)
{
    size_t n = strnlen(from, size - 1);
    for (size_t i = 0; i < n; i++) /* names are printed too: no control characters */
        to[i] = (unsigned char)from[i] < ' ' || from[i] == 127 ? '?' : from[i];
    to[n] = 0;
}

static double or_zero(double v)
{
    return isnan(v) ? 0 : v;
}

/* A count: 0 when absent or absurd. */
static int count(const json_t *o, const char *key)
{
    double v = json_find_number(o, key);
    return v >= 0 && v <= 1 << 20 ? (int)v : 0;
}

/* ---- items
 * ---------------------------------------------------------------------------------- */

static struct plot_item *find_item(struct plot *p, const char *phase, const char *label)
{
    for (size_t i = 0; i < p->n_item; i++)
        if (strcmp(p->item[i].phase, phase) == 0 && strcmp(p->item[i].label, label) == 0)
            return &p->item[i];
    return NULL;
}

static struct plot_item *new_item(struct plot *p, const char *phase, const char *label,
                                  struct error *err)
{
    struct plot_item *v = realloc(p->item, (p->n_item + 1) * sizeof *v);
    if (!v) {
        error_oom(err, (p->n_item + 1) * sizeof *v, "points");
        return NULL;
    }
    p->item = v;
    v += p->n_item++;
    *v = (struct plot_item){ 0 };
    COPY(v->phase, phase);
    COPY(v->label, label);
    return v;
}

static bool phase_wanted(const struct plot_options *o, const char *phase)
{
    return !o->phase || strcmp(o->phase, phase) == 0;
}

/* Which tests are drawn. Several of a phase (depths, prompts) would lie on one another: the
 * first is, or the one that --test names. */
struct chosen {
    char test[2][48];     /* of prefill and decode; "": none yet */
    struct strbuf others; /* not drawn though of a phase that is */
    struct strbuf all;    /* every test of the file, for messages */
    char last[48];
};

static void chosen_free(struct chosen *c)
{
    strbuf_free(&c->others);
    strbuf_free(&c->all);
}

static void add_name(struct strbuf *b, const char *name)
{
    char clean[48];
    COPY(clean, name);
    strbuf_addf(b, "%s%s", b->len ? ", " : "", clean);
}

static bool test_wanted(struct plot *p, const struct plot_options *o, struct chosen *c,
                        const char *phase, const char *test)
{
    char *mine = c->test[strcmp(phase, "prefill") == 0 ? 0 : 1];
    bool again = strcmp(c->last, test) == 0; /* rows of one test follow one another */
    if (!again) {
        add_name(&c->all, test);
        COPY(c->last, test);
    }
    if (!phase_wanted(o, phase))
        return false;
    if (!*mine && (!o->test || strcmp(o->test, test) == 0)) {
        plot_copy(mine, sizeof c->test[0], test);
        size_t n = strlen(p->tests);
        snprintf(p->tests + n, sizeof p->tests - n, "%s%s", n ? ", " : "", mine);
    }
    bool wanted = *mine && strcmp(mine, test) == 0;
    if (!wanted && !again)
        add_name(&c->others, test);
    return wanted;
}

/* The op rows come after: they belong to a test that is drawn, or not. */
static bool test_drawn(const struct chosen *c, const char *phase, const char *test)
{
    const char *mine = c->test[strcmp(phase, "prefill") == 0 ? 0 : 1];
    return *mine && strcmp(mine, test) == 0;
}

/* Error for a test or a phase that is not in the file. */
static int check_chosen(const struct chosen *c, const struct plot_options *o, struct error *err)
{
    if (*c->test[0] || *c->test[1])
        return 0;
    const char *all = strbuf_text(&c->all, "the names of tests", err);
    if (!all)
        return -1;
    if (!*all)
        return error_set(err, ERROR_INPUT, "%s: field \"rows\": expected tests, found none", o->doc);
    return error_set(err, ERROR_USAGE, "%s: no %s%stest%s%s%s in it; it has %.300s", o->doc,
                     o->phase ? o->phase : "", o->phase ? " " : "", o->test ? " \"" : "",
                     o->test ? o->test : "", o->test ? "\"" : "", all);
}

void plot_op_label(char *buf, size_t n, const struct plot_options *o, const char *role, int64_t layer)
{
    if (o->by_op && layer >= 0)
        snprintf(buf, n, "%.32s.%d", role, (int)layer);
    else
        snprintf(buf, n, "%.40s", role);
}

/* Add one row with bytes and FLOP to its role (or op). */
static int add_row(struct plot *p, const struct plot_options *o, const struct plot_source *r,
                   struct error *err)
{
    char label[48];
    plot_op_label(label, sizeof label, o, r->role, r->layer);
    struct plot_item *it = find_item(p, r->phase, label);
    it = it ? it : new_item(p, r->phase, label, err);
    if (!it)
        return -1;
    it->bytes += r->bytes;
    it->flop += r->flop;
    it->seconds += r->seconds;
    COPY(it->op, r->op);
    COPY(it->type, r->type);
    return 0;
}

/* ---- rows that have no parser of their own -------------------------------------------- */

#define NUMBER_MAX 1e24 /* as in runs */

static int get_amount(const json_t *row, const char *ctx, const char *key, double *v,
                      struct error *err)
{
    if (json_get_num(row, ctx, key, v, err) != 0)
        return -1;
    if (*v >= 0 && *v <= NUMBER_MAX)
        return 0;
    return error_set(err, ERROR_INPUT, "%s: field \"%s\": expected 0 to %g, found %g", ctx, key,
                     NUMBER_MAX, *v);
}

int plot_read_phase(const json_t *row, const char *ctx, const char **phase, struct error *err)
{
    if (json_get_str(row, ctx, "phase", phase, err) != 0)
        return -1;
    if (strcmp(*phase, "prefill") == 0 || strcmp(*phase, "decode") == 0)
        return 0;
    return error_set(err, ERROR_INPUT,
                     "%s: field \"phase\": expected \"prefill\" or \"decode\", found \"%.64s\"", ctx,
                     *phase);
}

/* Role, op, type, layer and amounts; the phase is the caller's. Absent texts are "". */
int plot_read_source(struct plot_source *r, const json_t *row, const char *ctx, bool timed, struct error *err)
{
    double weights, act, kv;
    const char *phase = r->phase;
    *r = (struct plot_source){ .phase = phase, .role = "", .op = "", .type = "", .layer = -1 };
    if (json_get_str_opt(row, ctx, "role", &r->role, err) != 0 ||
        json_get_str_opt(row, ctx, "op", &r->op, err) != 0 ||
        json_get_str_opt(row, ctx, "type", &r->type, err) != 0 ||
        json_get_int_opt(row, ctx, "layer", -1, 1 << 20, &r->layer, err) != 0 ||
        get_amount(row, ctx, "weight_bytes", &weights, err) != 0 ||
        get_amount(row, ctx, "act_bytes", &act, err) != 0 ||
        get_amount(row, ctx, "kv_bytes", &kv, err) != 0 ||
        get_amount(row, ctx, "flop", &r->flop, err) != 0 ||
        (timed && get_amount(row, ctx, "seconds", &r->seconds, err) != 0))
        return -1;
    r->bytes = weights + act + kv;
    if (timed && r->flop > 0 && !(r->seconds > 0))
        return error_set(err, ERROR_INPUT, "%s: field \"seconds\": expected more than 0, found %g",
                         ctx, r->seconds);
    return 0;
}

/* ---- ceilings in the document
 * ------------------------------------------------------------------- */

/* run_from_json has checked them. The arithmetic probed adjacent to a test that is drawn is the
 * one its points use. */
static int add_ceilings(struct plot *p, const json_t *ceilings, const struct chosen *drawn,
                        struct error *err)
{
    for (size_t i = 0; i < json_array_size(ceilings); i++) {
        const json_t *j = json_array_get(ceilings, i);
        struct ceiling c = {
            .value = json_find_number(j, "value"), .clock_hz = NAN, .ci_lo = NAN, .ci_hi = NAN
        };
        COPY(c.name, json_find_text(j, "name"));
        COPY(c.kind, json_find_text(j, "kind"));
        COPY(c.op, json_find_text(j, "op"));
        COPY(c.pages, json_find_text(j, "pages"));
        COPY(c.node, json_find_text(j, "node"));
        COPY(c.dtype, json_find_text(j, "dtype"));
        COPY(c.isa, json_find_text(j, "isa"));
        COPY(c.level, json_find_text(j, "level"));
        COPY(c.unit, json_find_text(j, "unit"));
        c.n_threads = count(j, "n_threads");
        const char *test = json_find_text(j, "test");
        int m = strcmp(c.kind, "compute") == 0 ? math_find(c.dtype) : -1;
        if (m >= 0 && (!*test || strcmp(test, drawn->test[0]) == 0 ||
                       strcmp(test, drawn->test[1]) == 0))
            p->math[m] = true;
        if (hwprofile_add_ceiling(&p->roofs, &c, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- each kind of document
 * ------------------------------------------------------------------------ */

/* Bytes a second as the ops count them, activations included, so that the whole lies among its ops; what the row
 * has where a part is unknown. */
static double whole_bytes_s(const struct run_row *row)
{
    const double bytes = row->weight_bytes + row->act_bytes + row->kv_bytes;
    return bytes > 0 && row->flop > 0 ? row->flop_s * bytes / row->flop : row->bytes_s;
}

/* One point for the whole pass as the row counts it, one more where DRAM traffic was
 * counted. */
static int add_whole(struct plot *p, const struct run_row *row, struct error *err)
{
    char label[48];
    for (int counted = 0; counted <= 1; counted++) {
        double b = counted ? row->dram_bytes_s : whole_bytes_s(row);
        if (!(b > 0) || !(row->flop_s > 0))
            continue;
        snprintf(label, sizeof label, "%.24s, %s", row->test,
                 counted ? "DRAM counters" : "all ops");
        struct plot_item *it = new_item(p, row->phase, label, err);
        if (!it)
            return -1;
        it->whole = true;
        it->counted = counted;
        it->bytes = b;
        it->flop = row->flop_s;
        it->seconds = 1;
    }
    if (isnan(row->dram_bytes_s) && *row->dram_reason && strcmp(row->phase, "decode") == 0)
        strbuf_addf(&p->notes, "DRAM bytes by hardware counters: unavailable: %s\n",
                    row->dram_reason);
    return 0;
}

/* Notes the points of drawn tests above their roofs, with the cause. */
static int note_findings(struct plot *p, const struct run *r, const struct chosen *c, struct error *err)
{
    struct finding *f;
    size_t n;
    if (findings_of_run(&f, &n, r, p->have_profile ? &p->roofs : NULL, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        char test[48], role[24], rate[32], roof[32];
        if (strcmp(f[i].test, c->test[0]) != 0 && strcmp(f[i].test, c->test[1]) != 0)
            continue;
        COPY(test, f[i].test);
        COPY(role, f[i].role);
        strbuf_addf(&p->notes, "above the roof: %s%s%s, %s: %s of %s; %s\n", test, *role ? " " : "", role, f[i].what,
                    units_si(rate, sizeof rate, f[i].rate, f[i].unit), units_si(roof, sizeof roof, f[i].roof, f[i].unit), f[i].text);
    }
    free(f);
    return 0;
}

static int add_run_rows(struct plot *p, const struct plot_options *o, const struct run *r,
                        struct chosen *c, struct error *err)
{
    for (size_t i = 0; i < r->n_row; i++) {
        const struct run_row *row = &r->row[i];
        if (!test_wanted(p, o, c, row->phase, row->test))
            continue;
        COPY(p->model, row->model);
        COPY(p->type, row->type);
        plot_set_shape(p, row);
        if (add_whole(p, row, err) != 0)
            return -1;
    }
    if (check_chosen(c, o, err) != 0)
        return -1;
    if (c->others.len)
        strbuf_addf(&p->notes, "not drawn: %s (choose one with --test)\n", c->others.s);
    p->notes.oom |= c->others.oom;
    for (size_t i = 0; i < r->n_op; i++) {
        const struct run_op *op = &r->op[i];
        struct plot_source s = { .phase = op->phase,
                            .role = op->role,
                            .op = op->op,
                            .type = op->type,
                            .layer = op->layer,
                            .bytes = or_zero(op->weight_bytes) + or_zero(op->act_bytes) +
                                     or_zero(op->kv_bytes),
                            .flop = or_zero(op->flop),
                            .seconds = op->seconds };
        if (!*op->role)
            return error_set(err, ERROR_INPUT, "%s: ops[%zu]: field \"role\": expected a name",
                             o->doc, i);
        if (test_drawn(c, op->phase, op->test) && add_row(p, o, &s, err) != 0)
            return -1;
    }
    if (plot_add_counted(p, r, err) != 0 || note_findings(p, r, c, err) != 0)
        return -1;
    return add_ceilings(p, r->ceilings, c, err);
}

static int read_run(struct plot *p, const struct plot_options *o, const json_t *doc,
                    struct error *err)
{
    struct run r;
    struct chosen c = { 0 };
    if (run_from_json(&r, doc, o->doc, json_find_text(doc, "schema"), err) != 0)
        return -1;
    COPY(p->machine, r.prov.cpu);
    COPY(p->date, r.prov.date);
    p->n_threads = r.prov.n_threads;
    snprintf(p->detail, sizeof p->detail, "%d thread%s, kernels %s", p->n_threads,
             p->n_threads == 1 ? "" : "s", r.prov.isa);
    int rc = add_run_rows(p, o, &r, &c, err);
    chosen_free(&c);
    run_free(&r);
    return rc;
}

static int read_analysis(struct plot *p, const struct plot_options *o, const json_t *doc,
                         struct error *err)
{
    size_t i;
    json_t *row;
    char ctx[320];
    double n_prompt, n_gen, n_depth;
    if (o->test)
        return error_set(err, ERROR_USAGE, "%s: an analysis has no tests: --test is for runs and predictions",
                         o->doc);
    if (get_amount(doc, o->doc, "n_prompt", &n_prompt, err) != 0 ||
        get_amount(doc, o->doc, "n_gen", &n_gen, err) != 0 ||
        get_amount(doc, o->doc, "n_depth", &n_depth, err) != 0)
        return -1;
    COPY(p->model, json_find_text(doc, "model"));
    COPY(p->type, json_find_text(doc, "type"));
    snprintf(p->tests, sizeof p->tests, "prefill of %.0f tokens, decode of %.0f, from depth %.0f",
             n_prompt, n_gen, n_depth);
    json_array_foreach(json_object_get(doc, "rows"), i, row)
    {
        struct plot_source s = { 0 };
        snprintf(ctx, sizeof ctx, "%.280s: rows[%zu]", o->doc, i);
        if (plot_read_phase(row, ctx, &s.phase, err) != 0 || plot_read_source(&s, row, ctx, false, err) != 0)
            return -1;
        if (!*s.role)
            return error_set(err, ERROR_INPUT,
                             "%s: field \"role\": expected a name, found none (an analysis --by layer "
                             "has no points; --by op and --by role have)",
                             ctx);
        if (phase_wanted(o, s.phase) && add_row(p, o, &s, err) != 0)
            return -1;
    }
    if (p->n_item == 0)
        return error_set(err, o->phase ? ERROR_USAGE : ERROR_INPUT, "%s: no %s%srows in it", o->doc,
                         o->phase ? o->phase : "", o->phase ? " " : "");
    return 0;
}

/* Whether a prediction's row is about the machine that is drawn; "" takes the first one's
 * name. */
static bool same_machine(struct plot *p, const struct plot_predicted *r)
{
    if (!*p->hw)
        COPY(p->hw, r->hw);
    return strcmp(p->hw, r->hw) == 0;
}

static int add_work(struct plot *p, const struct plot_options *o, const char *phase, const struct plot_work *w, struct error *err)
{
    const struct plot_source s = { .phase = phase, .role = w->role, .op = "", .type = "", .layer = -1,
                                   .bytes = w->bytes, .flop = w->flop, .seconds = w->seconds };
    return add_row(p, o, &s, err);
}

/* A row of a phase has its roles within; with --by role it is one itself. */
static int add_predicted(struct plot *p, const struct plot_options *o, const struct plot_predicted *r, struct error *err)
{
    int rc = *r->whole.role ? add_work(p, o, r->phase, &r->whole, err) : 0;
    for (size_t k = 0; k < r->n_role && rc == 0; k++)
        rc = add_work(p, o, r->phase, &r->role[k], err);
    return rc;
}

static const struct plot_item *last_of(const struct plot *p, const char *phase)
{
    for (size_t i = p->n_item; i > 0; i--)
        if (strcmp(p->item[i - 1].phase, phase) == 0)
            return &p->item[i - 1];
    return NULL;
}

/* A whole phase as a point; a new line begins if more than one list advances. */
static int add_step(struct plot *p, const struct plot_options *o, const struct plot_predicted *r, struct error *err)
{
    if (*r->whole.role)
        return error_set(err, ERROR_USAGE, "%s: a prediction --by role has no whole phases, which --trajectory and several machines are drawn by", o->doc);
    const struct plot_item *before = last_of(p, r->phase);
    const bool join = o->trajectory && before && (before->n_depth == r->n_depth || before->n_batch == r->n_batch);
    struct plot_item *it = new_item(p, r->phase, r->test, err);
    if (!it)
        return -1;
    it->bytes = r->whole.bytes;
    it->flop = r->whole.flop;
    it->seconds = r->whole.seconds;
    it->whole = true;
    it->join = join;
    it->n_depth = r->n_depth;
    it->n_batch = r->n_batch;
    return 0;
}

/* Every test is drawn, or the one that is named. */
static bool step_wanted(const struct plot_options *o, struct chosen *c, const char *phase, const char *test)
{
    add_name(&c->all, test);
    if (!phase_wanted(o, phase) || (o->test && strcmp(o->test, test) != 0))
        return false;
    plot_copy(c->test[strcmp(phase, "prefill") == 0 ? 0 : 1], sizeof c->test[0], test);
    return true;
}

/* The constants of the prediction. methods.md (62) */
static void note_constants(struct plot *p, const struct plot_predicted *r)
{
    static const struct {
        const char *basis, *before, *after;
    } bases[] = {
        { "machine", "constants of ", " on this machine" }, { "class", "constants of ", " on machines of this class" },
        { "priors", "constants of ", ", assumed" },         { "kernels", "measured kernels of ", "" },
    };
    for (size_t i = 0; i < ARRAY_LEN(bases); i++)
        if (*r->stack && strcmp(bases[i].basis, r->basis) == 0)
            snprintf(p->constants, sizeof p->constants, "%s%s%s", bases[i].before, r->stack, bases[i].after);
}

static int add_prediction_row(struct plot *p, const struct plot_options *o, const struct plot_predicted *r, struct chosen *c, struct error *err)
{
    if (!(o->whole ? step_wanted(o, c, r->phase, r->test) : test_wanted(p, o, c, r->phase, r->test)))
        return 0;
    if (plot_check_one_machine(r, o->doc, err) != 0)
        return -1;
    COPY(p->model, r->model);
    COPY(p->type, r->type);
    const int m = *r->math ? math_find(r->math) : -1;
    if (m >= 0)
        p->math[m] = true;
    note_constants(p, r);
    return (o->whole ? add_step : add_predicted)(p, o, r, err);
}

static int add_prediction_rows(struct plot *p, const struct plot_options *o, const struct plot_prediction *x, struct chosen *c, struct error *err)
{
    bool other = false;
    for (size_t i = 0; i < x->n_row; i++) {
        const bool mine = same_machine(p, &x->row[i]);
        other |= !mine;
        if (mine && add_prediction_row(p, o, &x->row[i], c, err) != 0)
            return -1;
    }
    if (c->all.len == 0)
        return error_set(err, ERROR_INPUT, "%s: no prediction for %s in it", o->doc,
                         *p->hw ? p->hw : "any machine");
    if (check_chosen(c, o, err) != 0)
        return -1;
    if (o->trajectory)
        snprintf(p->tests, sizeof p->tests, "whole phases of %zu tests, joined in their order", p->n_item);
    if (c->others.len)
        strbuf_addf(&p->notes, "not drawn: %s (choose one with --test)\n", c->others.s);
    p->notes.oom |= c->others.oom;
    if (x->roof == 1)
        COPY(p->detail, "; the bound itself, no efficiency factors");
    else if (*p->constants)
        snprintf(p->detail, sizeof p->detail, "; %s", p->constants);
    else if (x->roof == 0)
        COPY(p->detail, "; with the profile's efficiency factors");
    if (other && !o->hw)
        strbuf_addf(&p->notes,
                    "drawn: %s; the file has other machines too (choose one with --hw)\n", p->hw);
    return 0;
}

static int add_prediction(struct plot *p, const struct plot_options *o, const struct plot_prediction *x, struct error *err)
{
    struct chosen c = { 0 };
    p->kind = PLOT_PREDICTION;
    const int rc = add_prediction_rows(p, o, x, &c, err);
    chosen_free(&c);
    return rc ? rc : plot_prediction_roofs(p, x, err);
}

static int read_prediction(struct plot *p, const struct plot_options *o, const json_t *doc, struct error *err)
{
    struct plot_prediction x;
    int rc = plot_prediction_read(&x, doc, o->doc, err);
    rc = rc ? rc : add_prediction(p, o, &x, err);
    plot_prediction_free(&x);
    return rc;
}

/* ---- which document
 * ---------------------------------------------------------------------------------- */

static const struct {
    const char *schema;
    enum plot_kind kind;
} schemas[] = {
    { "roofcast.run", PLOT_RUN },           { "roofcast.bench", PLOT_RUN },
    { "roofcast.analyze", PLOT_ANALYSIS },  { "roofcast.predict", PLOT_PREDICTION },
    { "roofcast.hwprofile", PLOT_PROFILE },
};

bool plot_is_document(const json_t *doc)
{
    return json_is_object(doc) && strncmp(json_find_text(doc, "schema"), "roofcast.", 9) == 0;
}

static int read_kind(struct plot *p, const struct plot_options *o, const json_t *doc,
                     struct error *err)
{
    const char *schema;
    if (!json_is_object(doc))
        return error_set(err, ERROR_INPUT, "%s: expected a JSON object", o->doc);
    if (json_get_str(doc, o->doc, "schema", &schema, err) != 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(schemas); i++)
        if (strcmp(schemas[i].schema, schema) == 0) {
            p->kind = schemas[i].kind;
            if (p->kind != PLOT_PROFILE && !json_is_array(json_object_get(doc, "rows")))
                return error_set(err, ERROR_INPUT, "%s: field \"rows\": expected an array", o->doc);
            return json_check_schema(doc, o->doc, schema, 1, err);
        }
    return error_set(err, ERROR_INPUT,
                     "%s: schema \"%.64s\": expected a run (bench --save), an analysis "
                     "(analyze -o json), a "
                     "prediction (predict -o json) or a hardware profile",
                     o->doc, schema);
}

static int read_doc(struct plot *p, const struct plot_options *o, const json_t *doc,
                    struct error *err)
{
    if (read_kind(p, o, doc, err) != 0)
        return -1;
    if (o->trajectory && p->kind != PLOT_PREDICTION)
        return error_set(err, ERROR_USAGE, "%s: --trajectory is for predictions (predict -b 1,2,4,... -o json)", o->doc);
    if (o->hw && plot_load_profile(p, o->hw, err) != 0)
        return -1;
    switch (p->kind) {
    case PLOT_RUN:
        return read_run(p, o, doc, err);
    case PLOT_ANALYSIS:
        return read_analysis(p, o, doc, err);
    case PLOT_PREDICTION:
        return read_prediction(p, o, doc, err);
    case PLOT_PROFILE:
        return o->hw ? error_set(err, ERROR_USAGE,
                                 "%s is a profile itself: --hw is for runs, analyses, predictions",
                                 o->doc)
                     : plot_load_profile(p, o->doc, err);
    }
    return -1;
}

int plot_read(struct plot *p, const struct plot_options *o, const struct plot_subject *s, struct error *err)
{
    *p = (struct plot){ .kind = PLOT_PROFILE };
    int rc;
    if (s->doc)
        rc = read_doc(p, o, s->doc, err);
    else if (s->prediction.n_row > 0)
        rc = o->hw && plot_load_profile(p, o->hw, err) != 0 ? -1 : add_prediction(p, o, &s->prediction, err);
    else
        rc = plot_load_profile(p, o->doc, err);
    if (rc != 0)
        plot_free(p);
    return rc;
}
