/* The sides of a comparison: profiles and measurements of other programs; runs and predictions in comparison_run.c. */
#include "report/comparison_internal.h"
#include "cost/cost.h"
#include "dataset/measure.h"
#include "model/offload.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *compare_kind_name(enum compare_kind k)
{
    switch (k) {
    case COMPARE_RUN:
        return "run";
    case COMPARE_PROFILE:
        return "profile";
    case COMPARE_PREDICTION:
        return "prediction";
    case COMPARE_MEASUREMENTS:
        return "measurements";
    }
    return "";
}

const char *compare_setting_name(enum compare_setting s)
{
    static const char *const names[COMPARE_SETTINGS] = { "type", "threads", "ubatch", "type_k", "type_v", "machine", "GPU layers", "part on the host", "flash attention" };
    return names[s];
}

/* ---- entries ------------------------------------------------------------------------------------------------ */

const char *compare_text(struct compare_side *s, const char *text)
{
    const char *const kept = table_text(&s->entry, text);
    return kept ? kept : "";
}

const char *compare_count(struct compare_side *s, double n)
{
    char text[32] = "";
    if (n > 0)
        snprintf(text, sizeof text, "%.10g", n);
    return compare_text(s, text);
}

struct compare_entry *compare_entry_new(struct compare_side *s)
{
    struct compare_entry *const e = table_add(&s->entry);
    e->model = e->test = e->unit = "";
    for (int i = 0; i < COMPARE_SETTINGS; i++)
        e->setting[i] = "";
    e->ln_sd = NAN;
    e->sample = s->sample.n;
    return e;
}

void compare_entry_close(struct compare_side *s, struct compare_entry *e)
{
    double *const ln = malloc((e->n_sample + 1) * sizeof *ln);
    if (!ln)
        interrupt_end_without_memory();
    e->probed = e->n_sample > 0;
    for (size_t i = 0; i < e->n_sample; i++) {
        const struct compare_sample *const x = table_row(&s->sample, e->sample + i);
        ln[i] = log(x->rate);
        e->probed = e->probed && (e->compute ? x->flop_s : x->bytes_s) > 0;
    }
    if (e->n_sample > 0) {
        e->n = e->n_sample;
        e->ln_sd = e->n > 1 ? stats_sd(ln, e->n_sample) : NAN;
    }
    free(ln);
}

/* Description of a side, from its first file. */
static void describe(struct compare_side *s, const char *text)
{
    if (!s->what)
        s->what = compare_text(s, text);
}

/* ---- profiles ------------------------------------------------------------------------------------------------- */

/* A datasheet value: without interval. */
static void read_stated(struct compare_side *s, const struct hw_value *v, const char *what, const char *unit)
{
    char text[64];
    if (!(v->value > 0))
        return;
    struct compare_entry *const e = compare_entry_new(s);
    snprintf(text, sizeof text, "stated %s", what);
    e->test = compare_text(s, text);
    e->unit = unit;
    e->value = v->value;
}

static int read_profile(struct compare_side *s, const struct hwprofile *h, struct error *err)
{
    char text[192];
    read_stated(s, &h->mem_bw, "bandwidth", "B/s");
    for (int m = 0; m < MATH_COUNT; m++)
        read_stated(s, &h->peak[m], math_name((enum math)m), math_integer((enum math)m) ? "OP/s" : "FLOP/s");
    for (size_t i = 0; i < h->n_ceiling; i++) {
        const struct ceiling *const c = &h->ceiling[i];
        if (!(c->value > 0))
            continue;
        struct compare_entry *const e = compare_entry_new(s);
        const double between = isnan(c->between_rounds) ? h->noise.between : c->between_rounds;
        e->test = compare_text(s, c->name);
        e->unit = compare_text(s, c->unit);
        e->lower = strcmp(c->unit, "s") == 0;
        e->value = c->value;
        if (c->ci_lo > 0 && c->ci_hi >= c->ci_lo) /* methods.md (29) */
            e->ln_sd = hypot(log(c->ci_hi / c->ci_lo) / 3.92, isnan(between) ? 0 : between);
    }
    snprintf(text, sizeof text, "%.100s%s%.24s%s%.32s", h->name, *h->date ? ", " : "", h->date, *h->roofcast ? ", roofcast " : "", h->roofcast);
    describe(s, text);
    return s->entry.n > 0 ? 0 : error_set(err, ERROR_INPUT, "%.300s: a profile with neither ceilings nor stated values", h->path);
}

static int load_profile(struct compare_side *s, const char *name, const void *data, size_t size, struct error *err)
{
    struct hwprofile h;
    const char *path = name;
    if (!data && hwprofile_this_path(&path, name, err) != 0)
        return -1;
    if ((data ? hwprofile_parse(&h, name, data, size, err) : hwprofile_load(&h, path, err)) != 0)
        return -1;
    const int rc = read_profile(s, &h, err);
    hwprofile_free(&h);
    return rc;
}

/* ---- measurements of others ------------------------------------------------------------------------------------- */

static uint32_t count_of(double n)
{
    return n >= 1 && n <= 1e9 ? (uint32_t)n : 0;
}

/* As bench names its tests; "req512+128", "req1024+128x16 ttft" for what has both phases. */
static void name_test(char *buf, size_t size, const struct measurement *m)
{
    const uint32_t batch = count_of(m->batch), out = count_of(m->out), prompt = count_of(m->prompt);
    const double users = m->concurrency > 1 ? m->concurrency : m->batch;
    char many[32] = "", depth[24] = "";
    if (m->kind == MEASURE_RATE && m->phase == MEASURE_PREFILL) {
        phase_test_name(buf, size, PHASE_PREFILL, prompt, batch, count_of(m->context));
        return;
    }
    if (m->kind == MEASURE_RATE && m->phase == MEASURE_DECODE) {
        phase_test_name(buf, size, PHASE_DECODE, out ? out : 1, batch, prompt);
        return;
    }
    if (users > 1)
        snprintf(many, sizeof many, "x%.6g", users);
    if (m->kind == MEASURE_RATE && m->context - m->out / 2 > m->prompt)
        snprintf(depth, sizeof depth, "@d%u", count_of(m->context - m->prompt - m->out / 2));
    snprintf(buf, size, "req%u+%u%s%s%s%s", prompt, out, many, depth, m->kind == MEASURE_SERVING ? " " : "", m->kind == MEASURE_SERVING ? measure_metric_name(m->metric) : "");
}

/* "--n-cpu-moe 20 -ot exps=CPU"; "": nothing but what GPU layers say. */
static const char *host_part(struct compare_side *s, const struct measure_offload *f)
{
    struct offload_rule r = OFFLOAD_RULE_NONE;
    char text[256];
    r.n_cpu_moe = f->n_cpu_moe;
    r.host_kv = f->host_kv;
    r.host_multiplies = f->host_multiplies && f->stated;
    if (f->override && *f->override)
        r.override[r.n_override++] = f->override;
    return compare_text(s, offload_text(text, sizeof text, &r));
}

static void read_measurement(struct compare_side *s, const struct measurement *m, bool llama_bench)
{
    enum { LLAMA_BENCH_REPETITIONS = 5 }; /* of -r; its csv, sql and md do not say */
    char test[96];
    struct compare_entry *const e = compare_entry_new(s);
    name_test(test, sizeof test, m);
    e->model = compare_text(s, m->model);
    e->test = compare_text(s, test);
    e->lower = m->metric != METRIC_TOK_S;
    e->unit = e->lower ? "s" : "tokens/s";
    e->value = m->value;
    e->setting[SETTING_TYPE] = compare_text(s, m->quant);
    e->setting[SETTING_THREADS] = compare_count(s, m->n_threads);
    e->setting[SETTING_UBATCH] = compare_count(s, m->n_ubatch);
    e->setting[SETTING_TYPE_K] = compare_text(s, m->type_k);
    e->setting[SETTING_TYPE_V] = compare_text(s, m->type_v);
    e->setting[SETTING_MACHINE] = compare_text(s, strcmp(m->named, "?") == 0 ? "" : *m->named ? m->named : m->hardware);
    e->setting[SETTING_LAYERS] = compare_count(s, m->n_gpu_layers);
    e->setting[SETTING_HOST] = host_part(s, &m->offload);
    e->setting[SETTING_FLASH] = !m->flash_stated ? "" : m->flash ? "on" : "off";
    if (m->sd > 0 && llama_bench) { /* 0: of one repetition, or rounded */
        e->ln_sd = m->sd / m->value;
        e->n = LLAMA_BENCH_REPETITIONS;
        e->n_assumed = true;
    }
    for (size_t i = 0; i < m->n_sample; i++, e->n_sample++)
        *(struct compare_sample *)table_add(&s->sample) = (struct compare_sample){ m->sample[i], NAN, NAN };
    e->n_assumed = e->n_assumed && m->n_sample == 0;
    compare_entry_close(s, e);
}

static int read_measurements(struct compare_side *s, const char *name, const void *data, size_t size, struct error *err)
{
    static const struct measure_context none = { 0 };
    struct measurements l;
    char text[192];
    int rc = measure_parse(&l, name, data, size, &none, err);
    size_t n = 0;
    for (size_t i = 0; rc == 0 && i < l.n; i++) {
        const struct measurement *const m = &l.row[i];
        if ((m->kind != MEASURE_RATE && m->kind != MEASURE_SERVING) || !(m->value > 0))
            continue;
        read_measurement(s, m, l.file == FILE_LLAMA_BENCH);
        if (n++ == 0) {
            snprintf(text, sizeof text, "%.60s%s%.32s%s%.60s%s%.24s", m->engine, *m->version ? " " : "", m->version, *m->hardware ? " on " : "", m->hardware,
                     *m->date ? ", " : "", m->date);
            describe(s, text);
        }
    }
    if (rc == 0 && n == 0)
        rc = error_set(err, ERROR_INPUT, "%.300s: no row has a rate or a latency of a model: expected results of a benchmark, a run, a profile or a prediction", name);
    measure_free(&l);
    return rc;
}

/* ---- which kind ------------------------------------------------------------------------------------------------- */

/* Of a JSON document with a schema; "": another file. The document is returned too. */
static const char *schema_of(json_t **doc, const char *name, const void *data, size_t size)
{
    struct error ignored = { 0 };
    const char *text = data;
    *doc = NULL;
    if (text_begin(name, &text, &size, &ignored) != 0)
        return "";
    while (size > 0 && strchr(" \t\r\n", *text) && *text) {
        text++;
        size--;
    }
    *doc = size > 0 && *text == '{' ? json_load_mem(name, text, size, &ignored) : NULL;
    const char *const schema = json_string_value(json_object_get(*doc, "schema"));
    return schema ? schema : "";
}

static int set_kind(struct compare_side *s, const char *name, enum compare_kind kind, struct error *err)
{
    if (s->n_file > 0 && s->kind != kind)
        return error_set(err, ERROR_INPUT, "%.300s: found %s; expected %s, as %.300s is", name, compare_kind_name(kind), compare_kind_name(s->kind), s->file);
    s->kind = kind;
    return 0;
}

static void begin(struct compare_side *s, const char *name)
{
    s->entry.size = sizeof(struct compare_entry);
    s->sample.size = sizeof(struct compare_sample);
    s->op.size = sizeof(struct compare_op);
    s->file = s->file ? s->file : compare_text(s, name);
}

int compare_side_parse(struct compare_side *s, const char *name, const void *data, size_t size, struct error *err)
{
    json_t *doc;
    const char *const schema = schema_of(&doc, name, data, size);
    int rc;
    begin(s, name);
    if (strcmp(schema, "roofcast.run") == 0 || strcmp(schema, "roofcast.bench") == 0)
        rc = set_kind(s, name, COMPARE_RUN, err) != 0 ? -1 : compare_read_run(s, name, doc, schema, err);
    else if (strcmp(schema, "roofcast.predict") == 0)
        rc = set_kind(s, name, COMPARE_PREDICTION, err) != 0 ? -1 : compare_read_prediction(s, name, doc, err);
    else if (strcmp(schema, "roofcast.hwprofile") == 0)
        rc = set_kind(s, name, COMPARE_PROFILE, err) != 0 ? -1 : load_profile(s, name, data, size, err);
    else if (strcmp(schema, "roofcast.simulate") == 0)
        rc = error_set(err, ERROR_INPUT, "%.300s: a run of a server: it is compared with another one of the same requests", name);
    else
        rc = set_kind(s, name, COMPARE_MEASUREMENTS, err) != 0 ? -1 : read_measurements(s, name, data, size, err);
    s->n_file += rc == 0;
    json_decref(doc);
    return rc;
}

int compare_side_add(struct compare_side *s, const char *name, struct error *err)
{
    struct filemap f;
    if (!hwprofile_is_path(name) && !file_exists(name)) {
        begin(s, name);
        const int rc = set_kind(s, name, COMPARE_PROFILE, err) != 0 ? -1 : load_profile(s, name, NULL, 0, err);
        s->n_file += rc == 0;
        return rc;
    }
    if (filemap_open(&f, name, err) != 0)
        return -1;
    const int rc = compare_side_parse(s, name, f.data, f.size, err);
    filemap_close(&f);
    return rc;
}

void compare_side_free(struct compare_side *s)
{
    table_rows_free(&s->entry);
    table_rows_free(&s->sample);
    table_rows_free(&s->op);
    *s = (struct compare_side){ .file = NULL };
}
