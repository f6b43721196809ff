/* The documents that `roofcast plot` reads: a run, an analysis, a prediction or a profile,
 * as doc/formats.md has them. */
#include "cli/plot.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void plot_free(struct plot *p)
{
    free(p->item);
    hwprofile_free(&p->roofs);
    strbuf_free(&p->notes);
    *p = (struct plot){ 0 };
}

/* ---- small readers: absent fields leave "", NaN ---------------------------------------
 */

static const char *text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static double number(const json_t *o, const char *key)
{
    const json_t *j = json_object_get(o, key);
    return json_is_number(j) ? json_number_value(j) : NAN;
}

#define COPY(to, from) copy((to), sizeof(to), (from))
static void copy(char *to, size_t size, const char *from)
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
    double v = number(o, key);
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

/*
 * Several tests of a phase (depths, prompts) would lie on one another: the first is drawn,
 * or the one that --test names. chosen: the tests drawn so far, "pp512, tg128".
 */
static bool test_wanted(struct plot *p, const struct plot_options *o, const char *phase,
                        const char *test, char chosen[2][48])
{
    int k = strcmp(phase, "prefill") == 0 ? 0 : 1;
    if (!phase_wanted(o, phase) || (o->test && *test && strcmp(o->test, test) != 0))
        return false;
    if (!*chosen[k]) {
        copy(chosen[k], sizeof chosen[k], *test ? test : phase);
        size_t n = strlen(p->tests);
        snprintf(p->tests + n, sizeof p->tests - n, "%s%s", n ? ", " : "", chosen[k]);
    }
    return strcmp(chosen[k], *test ? test : phase) == 0;
}

/* Add one row with bytes and FLOP to its role (or op). */
static int add_row(struct plot *p, const struct plot_options *o, const json_t *row,
                   const char *phase, struct error *err)
{
    char label[48];
    const json_t *layer = json_object_get(row, "layer");
    if (o->by_op && json_is_integer(layer) && json_integer_value(layer) >= 0)
        snprintf(label, sizeof label, "%.32s.%d", text(row, "role"),
                 (int)json_integer_value(layer));
    else
        snprintf(label, sizeof label, "%.40s", text(row, "role"));
    if (!*label)
        return error_set(err, ERROR_INPUT, "%s: a row without \"role\"", o->doc);
    struct plot_item *it = find_item(p, phase, label);
    it = it ? it : new_item(p, phase, label, err);
    if (!it)
        return -1;
    double bytes = or_zero(number(row, "weight_bytes")) + or_zero(number(row, "act_bytes")) +
                   or_zero(number(row, "kv_bytes"));
    it->bytes += bytes;
    it->flop += or_zero(number(row, "flop"));
    it->seconds += p->kind == PLOT_ANALYSIS ? 0 : or_zero(number(row, "seconds"));
    COPY(it->op, text(row, "op"));
    COPY(it->type, text(row, "type"));
    return 0;
}

/* ---- ceilings in the document
 * ------------------------------------------------------------------- */

static int add_ceilings(struct plot *p, const json_t *ceilings, struct error *err)
{
    size_t i;
    json_t *j;
    json_array_foreach(ceilings, i, j)
    {
        struct ceiling c = {
            .value = number(j, "value"), .clock_hz = NAN, .ci_lo = NAN, .ci_hi = NAN
        };
        COPY(c.name, text(j, "name"));
        COPY(c.kind, text(j, "kind"));
        COPY(c.dtype, text(j, "dtype"));
        COPY(c.isa, text(j, "isa"));
        COPY(c.level, text(j, "level"));
        COPY(c.unit, text(j, "unit"));
        c.n_threads = count(j, "n_threads");
        if (c.value > 0 && hwprofile_add_ceiling(&p->roofs, &c, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- each kind of document
 * ------------------------------------------------------------------------ */

/* One point for the whole pass as the row counts it, one more where DRAM traffic was
 * counted. */
static int add_whole(struct plot *p, const json_t *row, struct error *err)
{
    char label[48];
    double flop_s = number(row, "flop_s"), bytes_s = number(row, "bytes_s"),
           dram = number(row, "dram_bytes_s");
    for (int counted = 0; counted <= 1; counted++) {
        double b = counted ? dram : bytes_s;
        if (!(b > 0) || !(flop_s > 0))
            continue;
        snprintf(label, sizeof label, "%.24s, %s", text(row, "test"),
                 counted ? "DRAM counters" : "all ops");
        struct plot_item *it = new_item(p, text(row, "phase"), label, err);
        if (!it)
            return -1;
        it->whole = true;
        it->counted = counted;
        it->bytes = b;
        it->flop = flop_s;
        it->seconds = 1;
    }
    if (isnan(dram) && *text(row, "dram_reason") && strcmp(text(row, "phase"), "decode") == 0)
        strbuf_addf(&p->notes, "DRAM bytes by hardware counters: unavailable: %s\n",
                    text(row, "dram_reason"));
    return 0;
}

static int read_run(struct plot *p, const struct plot_options *o, const json_t *doc,
                    struct error *err)
{
    char chosen[2][48] = { "", "" };
    const json_t *prov = json_object_get(doc, "provenance");
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(doc, "rows"), i, row)
    {
        if (!test_wanted(p, o, text(row, "phase"), text(row, "test"), chosen)) {
            if (phase_wanted(o, text(row, "phase")))
                strbuf_addf(&p->notes, "not drawn: %s (choose it with --test)\n",
                            text(row, "test"));
            continue;
        }
        COPY(p->model, text(row, "model"));
        COPY(p->type, text(row, "type"));
        if (add_whole(p, row, err) != 0)
            return -1;
    }
    json_array_foreach(json_object_get(doc, "ops"), i,
                       row) if (test_wanted(p, o, text(row, "phase"), text(row, "test"), chosen) &&
                                add_row(p, o, row, text(row, "phase"), err) != 0) return -1;
    COPY(p->machine, text(prov, "cpu"));
    COPY(p->date, text(prov, "date"));
    p->n_threads = count(prov, "n_threads");
    snprintf(p->detail, sizeof p->detail, "%d thread%s, kernels %s", p->n_threads,
             p->n_threads == 1 ? "" : "s", text(prov, "isa"));
    return add_ceilings(p, json_object_get(doc, "ceilings"), err);
}

static int read_analysis(struct plot *p, const struct plot_options *o, const json_t *doc,
                         struct error *err)
{
    size_t i;
    json_t *row;
    COPY(p->model, text(doc, "model"));
    COPY(p->type, text(doc, "type"));
    snprintf(p->tests, sizeof p->tests, "prefill of %.0f tokens, decode of %.0f, from depth %.0f",
             or_zero(number(doc, "n_prompt")), or_zero(number(doc, "n_gen")),
             or_zero(number(doc, "n_depth")));
    json_array_foreach(json_object_get(doc, "rows"), i,
                       row) if (phase_wanted(o, text(row, "phase")) &&
                                add_row(p, o, row, text(row, "phase"), err) != 0) return -1;
    return 0;
}

/* Whether a prediction's row is about the machine that is drawn; "" takes the first one's
 * name. */
static bool same_machine(struct plot *p, const json_t *row)
{
    if (!*p->hw)
        COPY(p->hw, text(row, "hw"));
    return strcmp(p->hw, text(row, "hw")) == 0;
}

static int read_prediction(struct plot *p, const struct plot_options *o, const json_t *doc,
                           struct error *err)
{
    char chosen[2][48] = { "", "" };
    size_t i, k;
    json_t *row, *role;
    bool other = false;
    json_array_foreach(json_object_get(doc, "rows"), i, row)
    {
        if (!same_machine(p, row)) {
            other = true;
            continue;
        }
        if (!test_wanted(p, o, text(row, "phase"), text(row, "test"), chosen))
            continue;
        COPY(p->model, text(row, "model"));
        COPY(p->type, text(row, "type"));
        if (*text(row, "role") && add_row(p, o, row, text(row, "phase"), err) != 0)
            return -1;
        json_array_foreach(json_object_get(row, "roles"), k,
                           role) if (add_row(p, o, role, text(row, "phase"), err) != 0) return -1;
    }
    if (p->n_item == 0)
        return error_set(err, ERROR_INPUT, "%s: no prediction for %s%s%s in it", o->doc,
                         *p->hw ? p->hw : "any machine", o->test ? " and test " : "",
                         o->test ? o->test : "");
    if (json_is_boolean(json_object_get(doc, "roof")))
        COPY(p->detail, json_is_true(json_object_get(doc, "roof"))
                            ? "; the bound itself, no efficiency factors"
                            : "; with the machine's efficiency factors");
    if (other)
        strbuf_addf(&p->notes,
                    "drawn: %s; the file has other machines too (choose one with --hw)\n", p->hw);
    return 0;
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

/* The profile goes first: the document's own ceilings are added to it. */
static int load_profile(struct plot *p, const char *spec, struct error *err)
{
    if (cli_hwprofile_load(&p->roofs, spec, err) != 0) {
        p->roofs = (struct hwprofile){ 0 };
        return -1;
    }
    p->have_profile = true;
    COPY(p->hw, p->roofs.id);
    COPY(p->machine, p->roofs.name);
    COPY(p->date, p->roofs.date);
    return 0;
}

/* A prediction names its machines; where the name says nothing here, the row's own two
 * roofs serve. */
static int prediction_roofs(struct plot *p, const json_t *doc, struct error *err)
{
    struct error ignored;
    char hw[sizeof p->hw];
    COPY(hw, p->hw);
    if (p->have_profile || load_profile(p, hw, &ignored) == 0)
        return 0;
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(doc, "rows"), i, row)
    {
        if (strcmp(text(row, "hw"), hw) != 0)
            continue;
        struct ceiling memory = { .value = number(row, "bandwidth_bytes_s"),
                                  .kind = "bandwidth",
                                  .level = "DRAM" };
        struct ceiling peak = { .value = number(row, "peak_flop_s"), .kind = "compute" };
        COPY(peak.dtype, text(row, "math"));
        COPY(p->machine, hw);
        if ((memory.value > 0 && hwprofile_add_ceiling(&p->roofs, &memory, err) != 0) ||
            (peak.value > 0 && hwprofile_add_ceiling(&p->roofs, &peak, err) != 0))
            return -1;
    }
    return 0;
}

static int read_doc(struct plot *p, const struct plot_options *o, const json_t *doc,
                    struct error *err)
{
    if (read_kind(p, o, doc, err) != 0)
        return -1;
    if (o->hw && load_profile(p, o->hw, err) != 0)
        return -1;
    switch (p->kind) {
    case PLOT_RUN:
        return read_run(p, o, doc, err);
    case PLOT_ANALYSIS:
        return read_analysis(p, o, doc, err);
    case PLOT_PREDICTION:
        return read_prediction(p, o, doc, err) != 0 ? -1 : prediction_roofs(p, doc, err);
    case PLOT_PROFILE:
        return o->hw ? error_set(err, ERROR_USAGE,
                                 "%s is a profile itself: --hw is for runs, analyses, predictions",
                                 o->doc)
                     : load_profile(p, o->doc, err);
    }
    return -1;
}

int plot_read(struct plot *p, const struct plot_options *o, struct error *err)
{
    *p = (struct plot){ 0 };
    json_t *doc = json_load_path(o->doc, err);
    if (!doc)
        return -1;
    int rc = read_doc(p, o, doc, err);
    json_decref(doc);
    if (rc != 0)
        plot_free(p);
    return rc;
}
