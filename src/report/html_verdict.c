/* The verdict of a page: what each file's decode and prefill reach, in plain words. */
#include "report/html_internal.h"
#include "model/op.h"
#include "predict/finding.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *phase_text(const struct html_test *t)
{
    return t->decode ? "Decode" : "Prefill";
}

/* " measured INT8 peak": of the run's probe that is nearest to the roof; " peak" of a datasheet. */
static const char *peak_text(char *buf, size_t n, const struct html_data *d, const struct html_test *t)
{
    const struct run *r = d->run[t->file];
    double nearest = 0.1;
    snprintf(buf, n, r ? " measured peak" : " peak");
    for (size_t i = 0; r && i < json_array_size(r->ceilings); i++) {
        const json_t *j = json_array_get(r->ceilings, i);
        const char *kind = json_string_value(json_object_get(j, "kind")), *dtype = json_string_value(json_object_get(j, "dtype"));
        const double off = fabs(json_number_value(json_object_get(j, "value")) / t->roof_flop_s - 1);
        if (!kind || strcmp(kind, "compute") != 0 || !dtype || math_find(dtype) < 0 || !(off < nearest))
            continue;
        nearest = off;
        snprintf(buf, n, " measured %s peak", dtype);
        for (char *c = buf + strlen(" measured "); *c && *c != ' '; c++)
            *c = (char)toupper((unsigned char)*c);
    }
    return buf;
}

static void say_rate(struct page *p, const struct html_data *d, const struct html_test *t)
{
    char value[48], source[512], what[96];
    snprintf(what, sizeof what, "tokens of all %g sequences over the seconds", t->n_batch);
    page_figure(p, html_rate(value, sizeof value, t->tok_s), html_source_of(source, sizeof source, d, t, t->n_batch > 1 ? what : "tokens over seconds"));
}

/* "29.5 GB/s, 93 % of the 31.7 GB/s measured memory bandwidth" */
static void say_share(struct page *p, const struct html_data *d, const struct html_test *t, bool memory)
{
    char value[48], source[512];
    const double rate = memory ? t->bytes_s : t->flop_s, roof = memory ? t->roof_bytes_s : t->roof_flop_s;
    const char *unit = memory ? "B/s" : "FLOP/s";
    page_figure(p, units_si(value, sizeof value, rate, unit),
                html_source_of(source, sizeof source, d, t, memory ? t->bytes_source : "FLOP of the op list over seconds"));
    page_say(p, ", ");
    page_figure(p, html_percent(value, sizeof value, memory ? t->mbu : t->mfu), memory ? "MBU: the bytes a second over the memory bandwidth" : "MFU: FLOP/s over the peak");
    page_say(p, " of the ");
    snprintf(source, sizeof source, "roof: %.220s", *t->roof_source ? t->roof_source : "of the file");
    page_figure(p, units_si(value, sizeof value, roof, unit), source);
    page_say(p, "%s", memory ? d->run[t->file] ? " measured memory bandwidth" : " memory bandwidth" : peak_text(source, sizeof source, d, t));
}

/* Below half of its roof, or with less than half of its time on that side, the nearest roof is not what limits a test. */
static const double LIMITS = 0.5;

static void say_bound(struct page *p, const struct html_test *t, double share)
{
    if (share < LIMITS)
        page_say(p, " That is far below its nearest roof, %s: another limit holds.", t->bound);
}

static void say_spread(struct page *p, const struct html_test *t)
{
    char value[48];
    if (!(t->sd > 0.1 * t->tok_s))
        return;
    page_say(p, " Not certain: repetitions differ by ");
    page_figure(p, html_percent(value, sizeof value, t->sd / t->tok_s), "sample standard deviation over the mean");
    page_say(p, " (standard deviation of %d).", t->n_reps);
}

static void say_measured(struct page *p, const struct html_data *d, const struct html_test *t)
{
    const bool memory = strcmp(t->bound, "memory") == 0;
    if (isnan(memory ? t->mbu : t->mfu) || !*t->bound) {
        page_say(p, "%s runs at ", phase_text(t));
        say_rate(p, d, t);
        page_say(p, "; how near that is to its roof is unknown%s%s.", *t->reason ? ": " : "", t->reason);
        return;
    }
    page_say(p, memory ? "%s reads " : "%s reaches ", phase_text(t));
    say_share(p, d, t, memory);
    if ((memory ? t->mbu : t->mfu) >= LIMITS)
        page_say(p, ": %s-bound, ", t->bound);
    else
        page_say(p, ": ");
    say_rate(p, d, t);
    page_say(p, ".");
    say_bound(p, t, memory ? t->mbu : t->mfu);
    if (memory && t->mbu > 1.02)
        page_say(p, " More than memory gives: caches served part of these bytes.");
    say_spread(p, t);
}

static void say_interval(struct page *p, const struct html_test *t)
{
    char lo[48], hi[48];
    if (isnan(t->tok_s_lo) || isnan(t->tok_s_hi))
        return;
    snprintf(lo, sizeof lo, t->tok_s_lo >= 99.95 ? "%.0f" : "%.1f", t->tok_s_lo);
    page_say(p, " (90 %% interval %s to %s)", lo, html_rate(hi, sizeof hi, t->tok_s_hi));
}

static void say_predicted(struct page *p, const struct html_data *d, const struct html_test *t)
{
    char value[48];
    const bool memory = strcmp(t->bound, "memory") == 0;
    const double share = memory ? t->memory_share : t->compute_share;
    page_say(p, "%s of %s, %s, on %s%s%s%s is predicted at ", phase_text(t), t->model, t->type, t->hw, *t->part ? " (" : "", t->part, *t->part ? ")" : "");
    say_rate(p, d, t);
    say_interval(p, t);
    if (*t->bound)
        page_say(p, share < LIMITS && !t->shared ? ": nearest roof: %s" : ": %s-bound", t->bound);
    if (*t->bound && share > 0 && (memory || strcmp(t->bound, "compute") == 0)) {
        page_say(p, ", ");
        page_figure(p, html_percent(value, sizeof value, fmin(share, 1)), memory ? "memory time over the seconds of a step" : "compute time over the seconds of the prompt");
        page_say(p, memory ? " of its time memory traffic" : " of its time arithmetic");
    }
    page_say(p, ".");
    if (*t->bound && !t->shared)
        say_bound(p, t, share);
}

static void say_test(struct page *p, const struct html_data *d, const struct html_test *t)
{
    if (t->predicted)
        say_predicted(p, d, t);
    else
        say_measured(p, d, t);
}

/* ---- where time is lost ------------------------------------------------------------------------------------------- */

struct lost {
    const char *role;
    double seconds, lost_s; /* of all its ops; beyond the time at their roofs */
};

/* The role with most time beyond its roofs, in that test; .role NULL: ops were not timed. */
static struct lost most_lost(const struct run *run, const char *test, double *all_s)
{
    struct lost sum[ROLE_COUNT] = { { .role = NULL } }, most = { .role = NULL };
    *all_s = 0;
    for (size_t i = 0; i < run->n_op; i++) {
        const struct run_op op = html_op(run, i), *o = &op;
        int role = 0;
        while (role < ROLE_COUNT && strcmp(op_role_name((enum op_role)role), o->role) != 0)
            role++;
        if (strcmp(o->test, test) != 0 || !(o->seconds > 0))
            continue;
        *all_s += o->seconds;
        if (role == ROLE_COUNT || isnan(o->roof_fraction))
            continue;
        sum[role].role = run->op[i].role;
        sum[role].seconds += o->seconds;
        sum[role].lost_s += o->seconds * fmax(0, 1 - o->roof_fraction);
    }
    for (int i = 0; i < ROLE_COUNT; i++)
        if (sum[i].role && sum[i].lost_s > most.lost_s)
            most = sum[i];
    return most;
}

static void add_lost(struct page *p, const struct html_data *d, const struct html_test *t)
{
    char value[48];
    double all_s;
    const struct run *run = d->run[t->file];
    const struct lost l = run ? most_lost(run, t->test, &all_s) : (struct lost){ .role = NULL };
    if (!l.role || l.lost_s < 0.02 * all_s)
        return;
    page_add(p, PAGE_ITEM, "");
    page_say(p, "Biggest loss of %s: %s runs ", t->decode ? "decode" : "prefill", l.role);
    page_figure(p, units_si(value, sizeof value, l.lost_s, "s"), t->decode ? "its seconds a token beyond those at its roofline limit; ops timed one by one"
                                                                       : "its seconds a prompt pass beyond those at its roofline limit; ops timed one by one");
    page_say(p, " slower than its roofline limit, ");
    page_figure(p, html_percent(value, sizeof value, l.lost_s / all_s), "that time over the seconds of all ops");
    page_say(p, " of the time of all ops.");
}

/* ---- above the roofs -------------------------------------------------------------------------------------------------- */

static void say_above(struct page *p, const char *what, double rate, double roof, const char *unit, const char *why)
{
    char value[48], share[48];
    page_add(p, PAGE_ITEM, "");
    page_say(p, "Above the roof: %s ", what);
    page_figure(p, units_si(value, sizeof value, rate, unit), "of the file");
    page_say(p, ", ");
    page_figure(p, html_percent(share, sizeof share, rate / roof), "that rate over the measured roof");
    page_say(p, " of the measured %s: %s.", units_si(value, sizeof value, roof, unit), why);
}

/* Whole tests and hardware counters above the roofs that were measured with them: such a share says nothing. */
static void add_above(struct page *p, const struct html_data *d, size_t file)
{
    const struct run *r = d->run[file];
    struct error ignored = { 0 };
    struct finding *f = NULL;
    size_t n = 0;
    char what[160];
    for (size_t i = 0; i < r->n_row; i++) {
        const struct run_row *x = &r->row[i];
        if (!(x->mbu_dram > 1 + FINDING_MARGIN))
            continue;
        snprintf(what, sizeof what, "in %s (%s) the hardware counters of memory read", x->phase, x->test);
        say_above(p, what, x->dram_bytes_s, x->ceiling_bytes_s, "B/s",
                  "either the bandwidth probe is below what memory gives, and the percentages here are too high, or the counters include other processes");
    }
    if (findings_of_run(&f, &n, r, d->have_machine ? &d->h : NULL, &ignored) != 0)
        return;
    for (size_t i = 0; i < n; i++)
        if (!*f[i].role && strstr(f[i].what, "profile") == NULL) {
            snprintf(what, sizeof what, "%s, %s", f[i].test, f[i].what);
            say_above(p, what, f[i].rate, f[i].roof, f[i].unit, f[i].text);
        }
    free(f);
}

/* ---- files --------------------------------------------------------------------------------------------------------- */

static void add_lead(struct page *p, const struct html_data *d, size_t file, bool *lead)
{
    page_add(p, *lead ? PAGE_ITEM : PAGE_LEAD, "");
    *lead = true;
    if (d->r->n > 1)
        page_say(p, "%s: ", d->r->file[file].name);
}

static const json_t *figure_of(const json_t *doc, const char *name)
{
    const json_t *rows = json_object_get(doc, "rows");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *s = json_string_value(json_object_get(json_array_get(rows, i), "figure"));
        if (s && strcmp(s, name) == 0)
            return json_array_get(rows, i);
    }
    return NULL;
}

/* ", median TTFT 0.52 s (p99 1.6 s)" */
static void say_latency(struct page *p, const json_t *doc, const char *label, const char *id)
{
    static const char *const at[] = { "p50", "p99" };
    char name[48], value[48], source[128];
    double v[2];
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s_%s", id, at[i]);
        const json_t *x = json_object_get(figure_of(doc, name), "value");
        v[i] = json_is_number(x) ? json_number_value(x) : NAN;
    }
    if (isnan(v[0]))
        return;
    snprintf(source, sizeof source, "figure %s_p50", id);
    page_say(p, ", median %s ", label);
    page_figure(p, units_si(value, sizeof value, v[0], "s"), source);
    if (isnan(v[1]))
        return;
    snprintf(source, sizeof source, "figure %s_p99", id);
    page_say(p, " (p99 ");
    page_figure(p, units_si(value, sizeof value, v[1], "s"), source);
    page_say(p, ")");
}

static void add_served(struct page *p, const struct html_data *d, size_t file, bool *lead)
{
    char value[48];
    const json_t *doc = d->r->file[file].doc, *rate = json_object_get(figure_of(doc, "output_throughput"), "value");
    const char *summary = json_string_value(json_object_get(doc, "summary")), *model = json_string_value(json_object_get(doc, "model"));
    const char *hw = json_string_value(json_object_get(doc, "hw"));
    add_lead(p, d, file, lead);
    page_say(p, json_is_true(json_object_get(doc, "measured")) ? "Measured" : "Simulated");
    if (json_is_number(rate)) {
        page_say(p, ": %.100s%s%.100s generates ", model ? model : "the server", hw ? " on " : "", hw ? hw : "");
        page_figure(p, html_rate(value, sizeof value, json_number_value(rate)), "output_throughput: of all requests, over the duration");
        say_latency(p, doc, "TTFT", "ttft");
        say_latency(p, doc, "ITL", "itl");
    }
    page_say(p, ". %s", summary ? summary : "The file has no summary.");
}

/* simulate --compare-policies: the policy that generates most, against the first one. */
static void add_policies(struct page *p, const struct html_data *d, size_t file, bool *lead)
{
    const json_t *rows = json_object_get(d->r->file[file].doc, "rows"), *best = NULL;
    char value[48];
    double most = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *rate = json_object_get(json_array_get(rows, i), "out_tok_s");
        if (json_is_number(rate) && json_number_value(rate) > most) {
            most = json_number_value(rate);
            best = json_array_get(rows, i);
        }
    }
    const char *name = json_string_value(json_object_get(best, "name")), *first = json_string_value(json_object_get(json_array_get(rows, 0), "name"));
    const json_t *gain = json_object_get(best, "gain");
    if (!name || !first || !json_is_number(gain))
        return;
    add_lead(p, d, file, lead);
    page_say(p, "Simulated: of %zu policies \"%.60s\" generates most, ", json_array_size(rows), name);
    page_figure(p, html_rate(value, sizeof value, most), "out_tok_s of its row");
    page_say(p, ", ");
    snprintf(value, sizeof value, "%.3g times", json_number_value(gain));
    page_figure(p, value, "gain of its row");
    page_say(p, " that of \"%.60s\". Each policy adds to those before it; latencies are in the chart and the table.", first);
}

static void add_file(struct page *p, const struct html_data *d, size_t file, bool *lead)
{
    const struct html_test *t[2] = { html_first(d, file, true), html_first(d, file, false) };
    for (int i = 0; i < 2; i++)
        if (t[i]) {
            add_lead(p, d, file, lead);
            say_test(p, d, t[i]);
        }
    for (int i = 0; i < 2; i++)
        if (t[i])
            add_lost(p, d, t[i]);
    if (d->run[file])
        add_above(p, d, file);
}

/* The first two files that have the same test: their ratio. */
static void add_ratio(struct page *p, const struct html_data *d)
{
    const struct html_test *a = NULL, *b = NULL;
    char value[48], source[400];
    for (size_t i = 0; i < d->r->n && !b; i++) {
        const struct html_test *t = html_first(d, i, true);
        if (t && !a)
            a = t;
        else if (t && strcmp(t->test, a->test) == 0)
            b = t;
    }
    if (!b)
        return;
    if (*d->other && a->predicted != b->predicted && (a->file == d->other_file || b->file == d->other_file))
        return;
    const double ratio = b->tok_s / a->tok_s;
    page_add(p, PAGE_LEAD, "");
    page_say(p, "%s decodes at ", d->r->file[b->file].name);
    snprintf(value, sizeof value, "%.2f times", ratio);
    snprintf(source, sizeof source, "tokens/s of %.48s in %.140s over those in %.140s", a->test, d->r->file[b->file].name, d->r->file[a->file].name);
    page_figure(p, value, source);
    page_say(p, " the rate of %s (%s%s).", d->r->file[a->file].name, a->test,
             a->predicted != b->predicted ? ", a prediction and a measurement" : a->predicted ? ", both predicted" : "");
    const struct html_test *predicted = a->predicted ? a : b, *measured = a->predicted ? b : a;
    if (a->predicted != b->predicted && predicted->tok_s_hi > 0)
        page_say(p, " The measurement is %s the prediction's 90 %% interval.",
                 measured->tok_s < predicted->tok_s_lo ? "below" : measured->tok_s > predicted->tok_s_hi ? "above" : "within");
}

/* A warning, not one figure among others: predictions are of a model that the file only shares its name with. */
static void add_other_model(struct page *p, const struct html_data *d)
{
    if (!*d->other)
        return;
    page_add(p, PAGE_LEAD, "");
    page_say(p, "Warning: the model that %s measured is not %.60s as roofcast has it: %s. Everything predicted on this page is of the latter and is marked; to predict for the "
             "measured file, name it with --model FILE.gguf.", d->r->file[d->other_file].name, d->m.name, d->other);
}

int html_add_verdict(struct page *p, const struct html_data *d, struct error *err)
{
    bool lead = false;
    page_add(p, PAGE_SECTION, "verdict");
    page_say(p, "Verdict");
    const size_t before = p->n;
    add_ratio(p, d);
    lead = p->n > before;
    for (size_t i = 0; i < d->r->n; i++)
        if (d->r->file[i].kind == HTML_SERVED)
            add_served(p, d, i, &lead);
        else if (html_has_schema(&d->r->file[i], "roofcast.policies"))
            add_policies(p, d, i, &lead);
        else
            add_file(p, d, i, &lead);
    if (p->n > before)
        add_other_model(p, d);
    else {
        page_add(p, PAGE_TEXT, "");
        page_say(p, "No test of decode or prefill is in %s; the tables below are what is.", d->r->n == 1 ? "this file" : "these files");
    }
    return interrupt_check(err);
}
