/* Files of a page: their kinds, and their tests. */
#include "report/html_internal.h"
#include "report/measured.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COPY(to, from) copy((to), sizeof(to), (from))

static void copy(char *to, size_t n, const char *from)
{
    snprintf(to, n, "%s", from ? from : "");
}

int html_kind_of(enum html_kind *kind, const json_t *doc, const char *path, struct error *err)
{
    static const struct {
        const char *schema;
        enum html_kind kind;
    } kinds[] = { { "roofcast.run", HTML_RUN }, { "roofcast.bench", HTML_RUN }, { "roofcast.predict", HTML_PREDICTION }, { "roofcast.simulate", HTML_SERVED } };
    const char *schema;
    const json_t *rows;
    if (json_get_str(doc, path, "schema", &schema, err) != 0)
        return -1;
    if (strcmp(schema, "roofcast.hwprofile") == 0)
        return error_set(err, ERROR_INPUT, "%s: a machine's profile: expected a run, a prediction, a simulation or another engine's results, and the machine with --hw", path);
    if (json_get_array(doc, path, "rows", 1 << 20, &rows, err) != 0)
        return -1;
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (!json_is_object(json_array_get(rows, i)))
            return error_set(err, ERROR_INPUT, "%s: rows[%zu]: expected an object, found %s", path, i, json_type_name(json_array_get(rows, i)));
    *kind = HTML_TABLE;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(schema, kinds[i].schema) == 0) {
            *kind = kinds[i].kind;
            return json_check_schema(doc, path, schema, 1, err);
        }
    return 0;
}

bool html_has_schema(const struct html_file *f, const char *schema)
{
    const char *s = json_string_value(json_object_get(f->doc, "schema"));
    return s && strcmp(s, schema) == 0;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static struct html_test *add_test(struct html_data *d, size_t file)
{
    struct html_tests *t = &d->tests;
    struct html_test *v = realloc(t->v, (t->n + 1) * sizeof *v);
    if (!v)
        interrupt_end_without_memory();
    t->v = v;
    v += t->n++;
    *v = (struct html_test){ .file = file, .n_batch = 1, .n_threads = NAN, .tok_s = NAN, .tok_s_lo = NAN, .tok_s_hi = NAN, .sd = NAN, .seconds = NAN, .ttft_s = NAN,
                             .itl_s = NAN, .bytes_s = NAN, .roof_bytes_s = NAN, .mbu = NAN, .flop_s = NAN, .roof_flop_s = NAN, .mfu = NAN, .memory_share = NAN,
                             .compute_share = NAN };
    return v;
}

static void add_run_row(struct html_data *d, size_t file, const struct run *run, const struct run_row *r)
{
    struct html_test *t = add_test(d, file);
    COPY(t->model, r->model);
    COPY(t->preset, r->model);
    COPY(t->type, r->type);
    COPY(t->hw, run->prov.cpu);
    COPY(t->engine, "roofcast");
    COPY(t->test, r->test);
    COPY(t->bound, r->bound);
    COPY(t->type_k, r->type_k);
    COPY(t->type_v, r->type_v);
    t->decode = strcmp(r->phase, "decode") == 0;
    t->n_prompt = r->n_prompt;
    t->n_gen = r->n_gen;
    t->n_depth = r->n_depth;
    t->n_batch = r->n_batch;
    t->n_threads = r->n_threads;
    t->n_reps = r->n_reps;
    t->tok_s = r->tok_s_mean;
    t->sd = r->tok_s_sd;
    t->seconds = r->seconds;
    t->ttft_s = r->ttft_s;
    t->itl_s = r->itl_p50_s;
    t->bytes_s = r->bytes_s;
    t->roof_bytes_s = r->ceiling_bytes_s;
    t->mbu = r->mbu;
    t->flop_s = r->flop_s;
    t->roof_flop_s = r->ceiling_flop_s;
    t->mfu = r->mfu;
    COPY(t->bytes_source, "weights and KV cache, counted by the engine");
    COPY(t->roof_source, r->ceiling_source);
}

static int add_run(struct html_data *d, size_t file, struct error *err)
{
    const struct html_file *f = &d->r->file[file];
    struct run *run = calloc(1, sizeof *run);
    if (!run)
        return error_oom(err, sizeof *run, "a run");
    if (run_from_json(run, f->doc, f->path, json_string_value(json_object_get(f->doc, "schema")), err) != 0) {
        free(run);
        return -1;
    }
    d->run[file] = run;
    for (size_t i = 0; i < run->n_row; i++)
        add_run_row(d, file, run, &run->row[i]);
    return 0;
}

/* A row of a phase of the prediction itself: no role, no change, no drafts. */
static bool is_phase(const json_t *row)
{
    const char *phase = json_find_text(row, "phase");
    return (strcmp(phase, "prefill") == 0 || strcmp(phase, "decode") == 0) && !*json_find_text(row, "role") &&
           !*json_find_text(row, "what_if") && !*json_find_text(row, "spec_kind");
}

/* "tp2 pp4", as layout_text() writes it. */
static struct layout layout_of(const char *text)
{
    struct layout l = { .tp = 0 };
    uint32_t n;
    for (const char *w = text; *w; w += strcspn(w, " "), w += strspn(w, " "))
        if (sscanf(w + 2 * (strlen(w) > 2), "%u", &n) == 1)
            *(strncmp(w, "tp", 2) == 0 ? &l.tp : strncmp(w, "pp", 2) == 0 ? &l.pp : strncmp(w, "dp", 2) == 0 ? &l.dp : &l.ep) = n;
    return l;
}

static void add_predicted(struct html_data *d, size_t file, const json_t *row)
{
    struct html_test *t = add_test(d, file);
    COPY(t->model, json_find_text(row, "model"));
    COPY(t->preset, t->model);
    COPY(t->type, json_find_text(row, "type"));
    COPY(t->hw, json_find_text(row, "hw"));
    COPY(t->engine, json_find_text(row, "stack"));
    COPY(t->test, json_find_text(row, "test"));
    COPY(t->bound, json_find_text(row, "bound"));
    COPY(t->type_k, json_find_text(row, "type_k"));
    COPY(t->type_v, json_find_text(row, "type_v"));
    COPY(t->reason, json_find_text(row, "reason"));
    t->predicted = true;
    t->shared = json_array_size(json_object_get(row, "devices")) > 0;
    t->layout = layout_of(json_find_number(row, "n_devices") > 1 ? json_find_text(row, "layout") : "");
    t->decode = strcmp(json_find_text(row, "phase"), "decode") == 0;
    t->n_prompt = json_find_number(row, "n_prompt");
    t->n_gen = json_find_number(row, "n_gen");
    t->n_depth = json_find_number(row, "n_depth");
    t->n_batch = json_find_number(row, "n_batch");
    t->tok_s = json_find_number(row, "tok_s");
    t->tok_s_lo = json_find_number(row, "tok_s_lo");
    t->tok_s_hi = json_find_number(row, "tok_s_hi");
    t->seconds = json_find_number(row, "seconds");
    t->ttft_s = t->decode ? NAN : json_find_number(row, "ttft_s");
    t->itl_s = json_find_number(row, "itl_s");
    t->bytes_s = (json_find_number(row, "weight_bytes") + json_find_number(row, "kv_bytes")) / t->seconds;
    t->flop_s = json_find_number(row, "flop_s");
    t->roof_bytes_s = json_find_number(row, "bandwidth_bytes_s");
    t->memory_share = json_find_number(row, "memory_share");
    t->compute_share = json_find_number(row, "compute_share");
    COPY(t->bytes_source, "weights and KV cache of the op list");
    snprintf(t->roof_source, sizeof t->roof_source, "%s, at the fraction that %s reaches", json_find_text(row, "bandwidth_source"), *t->engine ? t->engine : "software");
}

static void add_measured(struct html_data *d, size_t file, const struct workload *p, const struct report_row *r)
{
    const bool step = p->m->metric == METRIC_TPOT; /* of a server: a step of the running sequences; its TTFT has waiting in it */
    if (p->m->phase != MEASURE_PREFILL && p->m->phase != MEASURE_DECODE && !step)
        return;
    struct html_test *t = add_test(d, file);
    COPY(t->model, r->model);
    COPY(t->preset, p->preset);
    COPY(t->type, r->type);
    COPY(t->hw, r->hw && *r->hw ? r->hw : p->machine->hardware);
    COPY(t->engine, r->engine);
    COPY(t->test, r->test);
    COPY(t->bound, r->bound);
    COPY(t->reason, r->reason);
    t->shared = p->host;
    t->decode = step || p->m->phase == MEASURE_DECODE;
    t->n_prompt = t->decode ? 0 : p->prompt;
    t->n_gen = t->decode ? (p->m->out > 0 ? p->m->out : 1) : 0;
    t->n_depth = t->decode ? p->prompt : p->context;
    t->n_batch = p->batch;
    t->n_threads = p->m->n_threads > 0 ? p->m->n_threads : NAN;
    t->tok_s = step ? p->batch / r->seconds : r->tok_s;
    t->seconds = r->seconds;
    t->ttft_s = t->decode ? NAN : r->seconds;
    t->bytes_s = r->bytes_s;
    t->roof_bytes_s = r->peak_bytes_s;
    t->mbu = r->mbu;
    t->flop_s = r->flop_s;
    t->roof_flop_s = r->peak_flop_s;
    t->mfu = r->mfu;
    COPY(t->bytes_source, "weights and KV cache of the model's op list: the file has only times");
    snprintf(t->roof_source, sizeof t->roof_source, "profile of %.150s", t->hw);
}

static void add_measured_rows(struct html_data *d, size_t file)
{
    const struct html_file *f = &d->r->file[file];
    struct table_rows rows = { .size = sizeof(struct report_row) };
    for (size_t i = 0; i < f->n_row; i++) {
        measured_add_row(&rows, &f->row[i]);
        add_measured(d, file, &f->row[i], table_row(&rows, i));
    }
    table_rows_free(&rows);
}

const struct html_test *html_first(const struct html_data *d, size_t file, bool decode)
{
    for (size_t i = 0; i < d->tests.n; i++) {
        const struct html_test *t = &d->tests.v[i];
        if (t->file == file && t->decode == decode && t->tok_s > 0)
            return t;
    }
    return NULL;
}

/* The first file's decode, else a later one's, else prefill. */
static const struct html_test *choose(const struct html_data *d)
{
    for (int prefill = 0; prefill < 2; prefill++)
        for (size_t i = 0; i < d->r->n; i++) {
            const struct html_test *t = html_first(d, i, !prefill);
            if (t)
                return t;
        }
    return NULL;
}

static int load_model(struct html_data *d, struct error *err)
{
    const char *given = d->r->model, *type = *d->main->type ? d->main->type : NULL;
    if (d->main->shared)
        return error_set(err, ERROR_INPUT, "a part of the model is in the host's memory: roofcast predict with -ngl, --n-cpu-moe or -ot predicts changes of it");
    if (!given && !*d->main->preset)
        return *d->main->reason ? error_set(err, ERROR_INPUT, "%.300s", d->main->reason)
                                : error_set(err, ERROR_INPUT, "the file does not name a model: name it with --model");
    if (model_load(&d->m, given ? given : d->main->preset, given && text_ends_with(given, ".gguf") ? NULL : type, err) != 0)
        return given ? -1 : error_prefix(err, "the model of the file (--model names another)");
    return 0;
}

int html_data_init(struct html_data *d, const struct html_report *r, struct error *err)
{
    *d = (struct html_data){ .r = r, .run = calloc(r->n ? r->n : 1, sizeof *d->run) };
    if (!d->run)
        return error_oom(err, r->n * sizeof *d->run, "runs");
    for (size_t i = 0; i < r->n; i++)
        switch (r->file[i].kind) {
        case HTML_RUN:
            if (add_run(d, i, err) != 0)
                return -1;
            break;
        case HTML_PREDICTION:
            for (size_t k = 0; k < json_array_size(json_object_get(r->file[i].doc, "rows")); k++)
                if (is_phase(json_array_get(json_object_get(r->file[i].doc, "rows"), k)))
                    add_predicted(d, i, json_array_get(json_object_get(r->file[i].doc, "rows"), k));
            break;
        case HTML_MEASURED:
            add_measured_rows(d, i);
            break;
        case HTML_SERVED:
        case HTML_TABLE:
            break;
        }
    d->main = choose(d);
    d->have_machine = d->main && html_machine_of(&d->h, d, d->main, &d->no_machine) == 0;
    d->have_model = d->main && load_model(d, &d->no_model) == 0;
    html_compare_model(d);
    return 0;
}

void html_data_free(struct html_data *d)
{
    for (size_t i = 0; d->run && i < d->r->n; i++)
        if (d->run[i]) {
            run_free(d->run[i]);
            free(d->run[i]);
        }
    if (d->have_machine)
        hwprofile_free(&d->h);
    if (d->have_model)
        model_free(&d->m);
    free(d->run);
    free(d->tests.v);
    *d = (struct html_data){ .r = NULL };
}

/* ---- ops -------------------------------------------------------------------------------------------------------------- */

struct run_op html_op(const struct run *r, size_t i)
{
    struct run_op o = r->op[i];
    for (size_t k = 0; k < r->n_row; k++) {
        const struct run_row *row = &r->row[k];
        const bool own = row->ops_ceiling_bytes_s > 0;
        const double memory_s = (o.weight_bytes + o.act_bytes + o.kv_bytes) / (own ? row->ops_ceiling_bytes_s : row->ceiling_bytes_s),
                     compute_s = o.flop / (own ? row->ops_ceiling_flop_s : row->ceiling_flop_s);
        if (strcmp(row->test, o.test) != 0 || isnan(memory_s) || isnan(compute_s) || !(o.seconds > 0))
            continue;
        o.roof_fraction = fmax(memory_s, compute_s) / o.seconds;
        snprintf(o.bound, sizeof o.bound, "%s", memory_s >= compute_s ? "memory" : "compute");
        break;
    }
    return o;
}

/* ---- figures ------------------------------------------------------------------------------------------------------- */

const char *html_rate(char *buf, size_t n, double tok_s)
{
    snprintf(buf, n, tok_s >= 99.95 ? "%.0f tokens/s" : tok_s >= 9.995 ? "%.1f tokens/s" : "%.2f tokens/s", tok_s);
    return buf;
}

const char *html_percent(char *buf, size_t n, double fraction)
{
    snprintf(buf, n, fraction < 0.0995 ? "%.1f %%" : "%.0f %%", 100 * fraction);
    return buf;
}

const char *html_source_of(char *buf, size_t n, const struct html_data *d, const struct html_test *t, const char *what)
{
    char reps[48] = "";
    if (t->n_reps > 1)
        snprintf(reps, sizeof reps, ", mean of %d repetitions", t->n_reps);
    snprintf(buf, n, "%s: %.200s; %.60s%s, %.120s", t->predicted ? "predicted" : "measured", what, t->test, reps, d->r->file[t->file].name);
    return buf;
}
