/* What was not measured: said plainly, a reason each. */
#include "report/html_internal.h"
#include "report/measured.h"
#include <math.h>
#include <string.h>

enum { MOST_ITEMS = 60 };

/* Items of one file. Those with the same reason become one: "cycles; instructions: no PMU". */
struct missing {
    struct page *p;
    const char *file;
    struct {
        char what[128], why[400];
        bool said;
    } v[MOST_ITEMS + 1]; /* the last: one that may be there already */
    size_t n;
    bool more; /* than MOST_ITEMS */
};

static void say(struct missing *m, const char *what, const char *why)
{
    size_t i = 0;
    snprintf(m->v[m->n].what, sizeof m->v->what, "%s", what);
    snprintf(m->v[m->n].why, sizeof m->v->why, "%s", why);
    m->v[m->n].said = false;
    while (i < m->n && (strcmp(m->v[i].what, m->v[m->n].what) != 0 || strcmp(m->v[i].why, m->v[m->n].why) != 0))
        i++;
    m->more |= i == MOST_ITEMS;
    m->n += i == m->n && i < MOST_ITEMS;
}

static void say_all(struct missing *m)
{
    for (size_t i = 0; i < m->n; i++) {
        const char *why = m->v[i].why;
        if (m->v[i].said)
            continue;
        page_add(m->p, PAGE_ITEM, "");
        page_say(m->p, "%s: %s", m->file, m->v[i].what);
        for (size_t k = i + 1; k < m->n; k++)
            if (strcmp(m->v[k].why, why) == 0) {
                page_say(m->p, "; %s", m->v[k].what);
                m->v[k].said = true;
            }
        page_say(m->p, ": %s%s", why, *why && strchr(".!?", why[strlen(why) - 1]) ? "" : ".");
    }
    if (m->more) {
        page_add(m->p, PAGE_ITEM, "");
        page_say(m->p, "%s: more than these %d: the file has all reasons.", m->file, MOST_ITEMS);
    }
}

/* A figure that is NaN, with the file's reason for it. */
static void say_null(struct missing *m, double v, const char *what, const char *reason, const char *otherwise)
{
    if (isnan(v))
        say(m, what, *reason ? reason : otherwise);
}

static void say_run(struct missing *m, const struct run *r)
{
    if (*r->incomplete)
        say(m, "tests that are missing", r->incomplete);
    for (size_t i = 0; i < r->n_row; i++) {
        const struct run_row *x = &r->row[i];
        say_null(m, x->dram_bytes_s, "memory traffic by hardware counters", x->dram_reason, "not counted");
        say_null(m, x->energy_j, "energy", x->energy_reason, "not measured");
        say_null(m, x->mbu_profile, "comparison with this machine's stored profile", x->profile_reason, "not compared");
        say_null(m, x->mbu, "how much of the memory bandwidth was used", "", "no bandwidth probe adjacent to the test");
        say_null(m, x->mfu, "how much of the peak was used", "", "no probe of the peak adjacent to the test");
        if (x->roof_moved > 0.1)
            say(m, "a steady machine", "the bandwidth probe varied by more than 10 % during the run: shared or busy");
    }
    for (size_t i = 0; i < r->n_count; i++)
        if (isnan(r->count[i].value))
            say(m, r->count[i].field, *r->count[i].reason ? r->count[i].reason : "not counted");
    if (r->n_op == 0)
        say(m, "time by op, role and layer", "roofcast bench --ops measures it");
    if (json_array_size(r->certificate) == 0)
        say(m, "whether the counters count right", "no event was calibrated on known work (roofcast doctor --counters)");
    if (r->n_rep == 0)
        say(m, "single repetitions", "the file has their means only");
}

static void say_prediction(struct missing *m, const json_t *rows)
{
    say(m, "everything", "a prediction: nothing in this file was measured");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *basis = json_find_text(row, "basis");
        if (*json_find_text(row, "reason"))
            say(m, json_find_text(row, "test"), json_find_text(row, "reason"));
        if (*json_find_text(row, "guess"))
            say(m, json_find_text(row, "hw"), "no profile: estimated from its class");
        if (strcmp(basis, "class") == 0)
            say(m, json_find_text(row, "stack"), "not measured on this machine: constants are those of its class");
        if (strcmp(basis, "priors") == 0)
            say(m, json_find_text(row, "stack"), "not measured on this machine or its class: constants are those of all machines");
        if (json_is_null(json_object_get(row, "tok_s_lo")) && !*json_find_text(row, "reason") && !*json_find_text(row, "role"))
            say(m, "intervals", "none: a bound, or a prediction without constants of software");
    }
}

static void say_served(struct missing *m, const json_t *doc)
{
    const json_t *rows = json_object_get(doc, "rows");
    char text[96];
    size_t n = 0;
    if (!json_is_true(json_object_get(doc, "measured")))
        say(m, "everything", "a simulation: nothing in this file was measured");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *why = json_find_text(row, "reason");
        if (strcmp(why, "no SLO") == 0)
            say(m, "goodput", "no SLO was given (--slo)");
        else if (json_is_null(json_object_get(row, "value")) && *why && strcmp(why, "no speculation") != 0)
            say(m, json_find_text(row, "name"), why);
    }
    for (size_t i = 0; i < json_array_size(rows); i++)
        n += *json_find_text(json_array_get(rows, i), "reason") != 0;
    snprintf(text, sizeof text, "%zu of %zu figures have none; the table of figures says why", n, json_array_size(rows));
    if (n > 0)
        say(m, "sampling intervals", text);
}

static void say_measured(struct missing *m, const struct html_file *f)
{
    bool placed = false;
    for (size_t i = 0; i < f->n_row; i++)
        placed |= !f->row[i].reason[0];
    say(m, "bytes and FLOP", placed ? "the file has only times: bytes and FLOP are those of the model's op list, not counted" : "the file has only times");
    if (placed)
        say(m, "roofs", "values of the machine's profile, not probed adjacent to the tests");
    for (size_t i = 0; i < f->n_row; i++)
        if (f->row[i].reason[0])
            say(m, f->row[i].m->model, f->row[i].reason);
}

int html_add_missing(struct page *p, const struct html_data *d, struct error *err)
{
    page_add(p, PAGE_SECTION, "missing");
    page_say(p, "What was not measured");
    const size_t before = p->n;
    for (size_t i = 0; i < d->r->n; i++) {
        const struct html_file *f = &d->r->file[i];
        struct missing m = { .p = p, .file = f->name };
        switch (f->kind) {
        case HTML_RUN:
            say_run(&m, d->run[i]);
            break;
        case HTML_PREDICTION:
            say_prediction(&m, json_object_get(f->doc, "rows"));
            break;
        case HTML_SERVED:
            say_served(&m, f->doc);
            break;
        case HTML_MEASURED:
            say_measured(&m, f);
            break;
        case HTML_TABLE:
            if (html_has_schema(f, "roofcast.policies") || html_has_schema(f, "roofcast.capacity"))
                say(&m, "everything", "a simulation: nothing in this file was measured");
            break;
        }
        say_all(&m);
    }
    if (p->n == before) {
        page_add(p, PAGE_TEXT, "");
        page_say(p, "Nothing is known to be missing.");
    }
    return interrupt_check(err);
}
