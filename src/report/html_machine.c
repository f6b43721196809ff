/* The machine of a page: which one predictions take, its roofs, software and settings of each file, the counters' certificate. */
#include "base/environment.h"
#include "dataset/machine.h"
#include "report/html_internal.h"
#include <math.h>
#include <string.h>

/* ---- the machine ------------------------------------------------------------------------------------------------- */

/* This machine's profile, where its CPU is the run's. */
static bool load_this(struct hwprofile *h, const char *cpu)
{
    struct error ignored;
    const char *path = environment()->profile_path;
    if (!path || !file_exists(path) || hwprofile_load(h, path, &ignored) != 0)
        return false;
    if (*h->cpu_model && strcmp(h->cpu_model, cpu) == 0)
        return true;
    hwprofile_free(h);
    return false;
}

/* A machine of which only the roofs that the run probed are known. */
static void of_probes(struct hwprofile *h, const struct run *run, const struct html_test *t)
{
    const struct hw_value none = { .value = NAN };
    *h = (struct hwprofile){ .kind = HW_CPU, .mem_bytes = none, .mem_bw.value = t->roof_bytes_s, .tdp_w = none, .idle_w = none, .n_unit = none, .unit_threads = none,
                             .clock_hz = none, .cache_bytes = none, .price_usd_h = none, .eff = { none, none, none } };
    snprintf(h->id, sizeof h->id, "%.60s", run->prov.cpu);
    snprintf(h->name, sizeof h->name, "%s", run->prov.cpu);
    snprintf(h->mem_bw.source, sizeof h->mem_bw.source, "probes of the run");
    for (int i = 0; i < MATH_COUNT; i++)
        h->peak[i] = none;
    for (size_t i = 0; i < json_array_size(run->ceilings); i++) {
        const json_t *j = json_array_get(run->ceilings, i);
        const char *kind = json_string_value(json_object_get(j, "kind")), *dtype = json_string_value(json_object_get(j, "dtype"));
        const double value = json_number_value(json_object_get(j, "value"));
        const int math = dtype ? math_find(dtype) : -1;
        if (!kind || strcmp(kind, "compute") != 0 || math < 0 || !(value > 0))
            continue;
        h->peak[math].value = fmax(value, isnan(h->peak[math].value) ? 0 : h->peak[math].value);
        snprintf(h->peak[math].source, sizeof h->peak[math].source, "probes of the run");
    }
}

int html_machine_of(struct hwprofile *h, const struct html_data *d, const struct html_test *t, struct error *err)
{
    const struct run *run = d->run[t->file];
    char name[sizeof t->hw];
    bool found = false;
    if (d->r->hw)
        return machine_load(h, d->r->hw, err);
    snprintf(name, sizeof name, "%s", t->hw);
    name[strcspn(name, "*")] = 0; /* of a guessed machine */
    if (run && load_this(h, run->prov.cpu))
        return 0;
    if (!*name)
        return error_set(err, ERROR_INPUT, "the file does not name its machine: name it with --hw");
    if (run && hwprofile_find(h, name, &found, err) != 0)
        return -1;
    if (run && !found)
        of_probes(h, run, t);
    if (run)
        return 0;
    return machine_load(h, name, err) == 0 ? 0 : error_prefix(err, "the machine of the file (--hw names another)");
}

/* ---- settings of the files ---------------------------------------------------------------------------------------- */

static void add_pair(struct page_table *t, const char *what, const char *value, const char *file)
{
    if (!value || !*value)
        return;
    struct cell *row = table_add(&t->rows);
    row[0] = cell_text(page_keep(t, what));
    row[1] = cell_text(page_keep(t, value));
    row[2] = cell_text(page_keep(t, file));
}

static void add_run(struct page_table *t, const struct run *r, const char *file)
{
    char n[32];
    const struct provenance *p = &r->prov;
    snprintf(n, sizeof n, "%d", p->n_threads);
    add_pair(t, "CPU", p->cpu, file);
    add_pair(t, "threads", n, file);
    add_pair(t, "CPUs", p->cpus, file);
    add_pair(t, "instruction set of the kernels", p->isa, file);
    add_pair(t, "counters", p->counters, file);
    add_pair(t, "roofs", p->profile, file);
    add_pair(t, "date", p->date, file);
    add_pair(t, "command", p->command, file);
    add_pair(t, "roofcast", p->version, file);
    add_pair(t, "compiler", p->compiler, file);
    add_pair(t, "compiler flags", p->cflags, file);
}

static void add_prediction(struct page_table *t, const json_t *row, const char *file)
{
    static const char *const keys[][2] = { { "machine", "hw" }, { "stack", "stack" }, { "constants of", "basis" }, { "memory bandwidth from", "bandwidth_source" },
                                           { "peak from", "peak_source" }, { "power from", "power_source" }, { "layout", "layout" } };
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        add_pair(t, keys[i][0], json_find_text(row, keys[i][1]), file);
}

static void add_served(struct page_table *t, const json_t *doc, const char *file)
{
    static const char *const keys[][2] = { { "model", "model" }, { "machine", "hw" }, { "scheduler", "policy" }, { "workload", "workload" }, { "constants", "constants" } };
    const char *key;
    json_t *v;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        add_pair(t, keys[i][0], json_find_text(doc, keys[i][1]), file);
    json_object_foreach(json_object_get(doc, "settings"), key, v) {
        char value[64];
        snprintf(value, sizeof value, "%s", json_is_true(v) ? "yes" : json_is_false(v) ? "no" : "");
        if (json_is_number(v))
            snprintf(value, sizeof value, "%.10g", json_number_value(v));
        add_pair(t, key, json_is_string(v) ? json_string_value(v) : value, file);
    }
}

static void add_measured(struct page_table *t, const struct workload *row, const char *file)
{
    const struct measurement *m = row->m;
    add_pair(t, "machine, as the file names it", row->machine->hardware, file);
    add_pair(t, "profile", row->machine->profile, file);
    add_pair(t, "how they differ", row->machine->note, file);
    add_pair(t, "engine", row->stack->id, file);
    add_pair(t, "date", m->date, file);
}

static void add_settings(struct page *p, const struct html_data *d)
{
    page_add(p, PAGE_TABLE, "settings");
    page_say(p, "Machine, software and settings of each file");
    struct page_table *t = page_cells(p, 3);
    page_column(t, 0, "what", COL_TEXT, NULL, "a setting");
    page_column(t, 1, "value", COL_TEXT, NULL, "as the file has it");
    page_column(t, 2, "file", COL_TEXT, NULL, "the file that says so");
    for (size_t i = 0; i < d->r->n; i++) {
        const struct html_file *f = &d->r->file[i];
        const json_t *rows = json_object_get(f->doc, "rows");
        if (d->run[i])
            add_run(t, d->run[i], f->name);
        else if (f->kind == HTML_PREDICTION && json_array_size(rows) > 0)
            add_prediction(t, json_array_get(rows, 0), f->name);
        else if (f->kind == HTML_SERVED)
            add_served(t, f->doc, f->name);
        else if (f->kind == HTML_MEASURED && f->n_row > 0)
            add_measured(t, f->row, f->name);
    }
}

/* ---- roofs of the machine -------------------------------------------------------------------------------------------- */

static void add_roof(struct page_table *t, const char *what, double value, const char *unit, const char *source)
{
    char text[48];
    if (!(value > 0))
        return;
    struct cell *row = table_add(&t->rows);
    row[0] = cell_text(page_keep(t, what));
    row[1] = cell_text(page_keep(t, units_si(text, sizeof text, value, unit)));
    row[2] = cell_text(page_keep(t, source));
}

/* Which bandwidth and which peak a figure of the page is of. */
static void add_use(struct page *p, const struct html_data *d, const struct ceiling *read)
{
    char a[48], b[48];
    const struct html_test *t[2] = { html_first(d, d->main->file, true), html_first(d, d->main->file, false) };
    const double bytes_s = d->main->roof_bytes_s, flop_s = t[1] ? t[1]->roof_flop_s : t[0] ? t[0]->roof_flop_s : NAN;
    page_add(p, PAGE_TEXT, "");
    if (d->run[d->main->file] && bytes_s > 0)
        page_say(p, "Percentages of measured tests are of probes adjacent to them: %s%s%s; rooflines draw the run's own probes. ", units_si(a, sizeof a, bytes_s, "B/s"),
                 flop_s > 0 ? " and " : "", flop_s > 0 ? units_si(b, sizeof b, flop_s, "FLOP/s") : "");
    if (d->main->predicted && bytes_s > 0)
        page_say(p, "Percentages of predictions are of %s, what software attains of the bandwidth below. ", units_si(a, sizeof a, bytes_s, "B/s"));
    page_say(p, "Predictions, changes, charts over batch and context, and the steps start from the table below: ");
    if (read && *d->h.path)
        page_say(p, "measured %s where it has them; the datasheet's bandwidth is for comparison.", units_si(a, sizeof a, read->value, "B/s"));
    else
        page_say(p, "memory bandwidth %s.", d->h.mem_bw.value > 0 ? units_si(a, sizeof a, d->h.mem_bw.value, "B/s") : "unknown");
}

static void add_roofs(struct page *p, const struct html_data *d)
{
    const struct html_test *test = d->main;
    const struct hwprofile *h = &d->h;
    if (!d->have_machine)
        return;
    const struct ceiling *read = hwprofile_bandwidth(h, "DRAM", test->n_threads > 0 ? (int)test->n_threads : 1 << 20);
    add_use(p, d, read);
    page_add(p, PAGE_TABLE, "roofs");
    page_say(p, "Roofs of %s, used for predictions%s", *h->name ? h->name : h->id, h->guess_ln_sd > 0 ? " (estimated from its class: no profile)" : "");
    struct page_table *t = page_cells(p, 3);
    page_column(t, 0, "roof", COL_TEXT, NULL, "of the datasheet, or measured");
    page_column(t, 1, "value", COL_TEXT, NULL, "per device");
    page_column(t, 2, "source", COL_TEXT, NULL, "where the number is from");
    if (read)
        add_roof(t, "memory bandwidth, measured reads", read->value, "B/s", read->date[0] ? read->date : "measured");
    add_roof(t, read ? "memory bandwidth, datasheet" : "memory bandwidth", h->mem_bw.value, "B/s", h->mem_bw.source);
    add_roof(t, "memory", h->mem_bytes.value, "B", h->mem_bytes.source);
    for (int i = 0; i < MATH_COUNT; i++) {
        const struct ceiling *c = hwprofile_peak(h, (enum math)i, test->n_threads > 0 ? (int)test->n_threads : 1 << 20);
        char name[32];
        snprintf(name, sizeof name, "peak %s", math_name((enum math)i));
        if (c)
            add_roof(t, name, c->value, math_integer((enum math)i) ? "OP/s" : "FLOP/s", *c->kernel ? c->kernel : "measured");
        else
            add_roof(t, name, h->peak[i].value, math_integer((enum math)i) ? "OP/s" : "FLOP/s", h->peak[i].source);
    }
}

/* ---- counters ---------------------------------------------------------------------------------------------------------- */

static void add_certificate(struct page *p, const struct html_data *d, size_t file)
{
    const struct run *r = d->run[file];
    char id[64];
    snprintf(id, sizeof id, "certificate-%zu", file + 1);
    page_add(p, PAGE_TABLE, id)->wide = true;
    page_say(p, "Certificate of %s: what calibration on known work found of each event", d->r->file[file].name);
    page_json_rows(p, r->certificate, 200);
}

static const struct column count_columns[] = {
#define AT(m) COLUMN_AT(struct run_count, m)
    { "test", NULL, COL_TEXT, NULL, COL_KEY, AT(test), EMPTY_VALUE, NULL, "the test" },
    { "role", NULL, COL_TEXT, NULL, COL_KEY, AT(role), EMPTY_NULL, NULL, "of the ops; none: the whole pass" },
    { "field", "counted", COL_TEXT, NULL, COL_KEY, AT(field), EMPTY_VALUE, NULL, "what was counted" },
    { "value", NULL, COL_SI_BARE, NULL, COL_KEY, AT(value), EMPTY_NULL, NULL, "in one repetition, or pass" },
    { "per_s", "a second", COL_SI_BARE, NULL, COL_KEY, AT(per_s), EMPTY_NULL, NULL, "over the seconds of the counted repetition" },
    { "source", NULL, COL_TEXT, NULL, COL_KEY, AT(source), EMPTY_NULL, NULL, "where the count is from" },
    { "reason", NULL, COL_TEXT, NULL, COL_KEY, AT(reason), EMPTY_NULL, NULL, "why there is none" },
#undef AT
};

static void add_counts(struct page *p, const struct html_data *d, size_t file)
{
    const struct run *r = d->run[file];
    char id[64];
    snprintf(id, sizeof id, "counts-%zu", file + 1);
    page_add(p, PAGE_TABLE, id)->wide = true;
    page_say(p, "Counts of %s", d->r->file[file].name);
    struct page_table *t = page_columns(p, count_columns, ARRAY_LEN(count_columns), NULL, sizeof(struct run_count));
    t->filter = r->n_count > 12;
    for (size_t i = 0; i < r->n_count && i < 400; i++)
        *(struct run_count *)table_add(&t->rows) = r->count[i];
    t->n_left_out = r->n_count > 400 ? r->n_count - 400 : 0;
}

static void add_counters(struct page *p, const struct html_data *d)
{
    size_t n = 0;
    for (size_t i = 0; i < d->r->n; i++)
        n += d->run[i] != NULL;
    if (n == 0)
        return;
    page_add(p, PAGE_SECTION, "counters");
    page_say(p, "Counters");
    for (size_t i = 0; i < d->r->n; i++) {
        const struct run *r = d->run[i];
        if (!r)
            continue;
        page_add(p, PAGE_TEXT, "");
        page_say(p, "%s: counter backend %s; %s.", d->r->file[i].name, *r->prov.counters ? r->prov.counters : "none",
                 json_array_size(r->certificate) > 0 ? "its events were calibrated on known work" : "not calibrated: whether its events count right is unknown");
        if (json_array_size(r->certificate) > 0)
            add_certificate(p, d, i);
        if (r->n_count > 0)
            add_counts(p, d, i);
    }
}

int html_add_machine(struct page *p, const struct html_data *d, struct error *err)
{
    page_add(p, PAGE_SECTION, "machine");
    page_say(p, "Machine");
    add_roofs(p, d);
    add_settings(p, d);
    add_counters(p, d);
    return interrupt_check(err);
}
