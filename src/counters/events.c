/* counters/events.c: strict reader of a microarchitecture's event file: a wrong event gives a plausible wrong result. */
#include "counters/events.h"
#include "counters/internal.h"
#include "counters/known_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_SCHEMA "roofcast.events"

/* All keys of the object must be in keys (NULL-terminated). */
static int check_keys(const json_t *o, const char *ctx, const char *const *keys, struct error *err)
{
    const char *key;
    json_t *v;
    if (json_check_object(o, ctx, err) != 0)
        return -1;
    json_object_foreach((json_t *)(uintptr_t)o, key, v) {
        size_t i = 0;
        while (keys[i] && strcmp(keys[i], key) != 0)
            i++;
        if (!keys[i])
            return error_set(err, ERROR_INPUT, "%s: field \"%.64s\" is not known", ctx, key);
    }
    return 0;
}

static int get_text(char *out, size_t size, const json_t *o, const char *ctx, const char *key, bool needed,
                    struct error *err)
{
    const char *s = NULL;
    if ((needed ? json_get_str : json_get_str_opt)(o, ctx, key, &s, err) != 0)
        return -1;
    if (s && (strlen(s) >= size || (needed && !*s)))
        return error_set(err, ERROR_INPUT, "%s: field \"%s\": %zu bytes, expected 1 to %zu", ctx, key, strlen(s), size - 1);
    snprintf(out, size, "%s", s ? s : "");
    return 0;
}

static int field_find(enum counter_field *out, const char *name, const char *ctx, struct error *err)
{
    struct strbuf known = { 0 };
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++) {
        if (counter_field_is_sw((enum counter_field)f))
            continue;
        if (strcmp(counter_field_name((enum counter_field)f), name) == 0) {
            *out = (enum counter_field)f;
            strbuf_free(&known);
            return 0;
        }
        strbuf_addf(&known, "%s%s", known.len ? ", " : "", counter_field_name((enum counter_field)f));
    }
    const char *names = strbuf_text(&known, "the names of fields", err);
    if (names)
        error_set(err, ERROR_INPUT, "%s: field \"field\": found \"%.64s\", expected one of: %s", ctx, name, names);
    strbuf_free(&known);
    return -1;
}

/* Checks the syntax FIELD=NUMBER[,...]; the kernel defines the fields. */
static int check_config(const char *config, const char *ctx, struct error *err)
{
    for (const char *s = config;; s++) {
        const size_t len = strspn(s, "abcdefghijklmnopqrstuvwxyz_0123456789");
        char *end;
        if (len == 0 || s[len] != '=')
            break;
        const char *number = s + len + 1;
        strtoull(number, &end, 0);
        if (end == number || *number == '-' || *number == '+' || *number == ' ' || (*end && *end != ','))
            break;
        if (!*end)
            return 0;
        s = end;
    }
    return error_set(err, ERROR_INPUT, "%s: field \"config\": found \"%s\", expected FIELD=NUMBER[,FIELD=NUMBER...]", ctx, config);
}

static int read_event(struct event_def *e, const json_t *o, const char *ctx, struct error *err)
{
    static const char *const keys[] = { "name", "field", "pmu", "config", "sysfs_event", "scale", "work", "fixed", "source",
                                        NULL };
    char field[48];
    *e = (struct event_def){ .scale = 1 };
    if (check_keys(o, ctx, keys, err) != 0 || get_text(e->name, sizeof e->name, o, ctx, "name", true, err) != 0 ||
        get_text(field, sizeof field, o, ctx, "field", true, err) != 0 || field_find(&e->field, field, ctx, err) != 0 ||
        get_text(e->pmu, sizeof e->pmu, o, ctx, "pmu", true, err) != 0 ||
        get_text(e->config, sizeof e->config, o, ctx, "config", false, err) != 0 ||
        get_text(e->sysfs_event, sizeof e->sysfs_event, o, ctx, "sysfs_event", false, err) != 0 ||
        get_text(e->work, sizeof e->work, o, ctx, "work", false, err) != 0 ||
        get_text(e->source, sizeof e->source, o, ctx, "source", true, err) != 0 ||
        json_get_num(o, ctx, "scale", &e->scale, err) != 0 || json_get_bool_opt(o, ctx, "fixed", &e->fixed, err) != 0)
        return -1;
    if (!(e->scale > 0) || e->scale > 1e6)
        return error_set(err, ERROR_INPUT, "%s: field \"scale\": found %g, expected above 0 and at most 1e6", ctx, e->scale);
    if (!e->config[0] == !e->sysfs_event[0])
        return error_set(err, ERROR_INPUT, "%s: expected one of the fields \"config\" and \"sysfs_event\", found %s", ctx,
                         e->config[0] ? "both" : "none");
    if (e->work[0] && !known_work_find(e->work))
        return error_set(err, ERROR_INPUT, "%s: field \"work\": \"%s\" is no known work", ctx, e->work);
    return e->config[0] ? check_config(e->config, ctx, err) : 0;
}

static int read_events(struct event_file *f, const json_t *doc, const char *name, struct error *err)
{
    char ctx[320];
    const json_t *a = json_object_get(doc, "events");
    const size_t n = json_array_size(a);
    if (!json_is_array(a) || n == 0 || n > COUNTER_EVENT_MAX)
        return error_set(err, ERROR_INPUT, "%s: field \"events\": expected an array of 1 to %d, found %s of %zu", name,
                         COUNTER_EVENT_MAX, json_type_name(a), n);
    f->event = calloc(n, sizeof *f->event);
    if (!f->event)
        return error_oom(err, n * sizeof *f->event, "the events");
    for (; f->n_event < n; f->n_event++) {
        struct event_def *e = &f->event[f->n_event];
        snprintf(ctx, sizeof ctx, "%.250s: events[%zu]", name, f->n_event);
        if (read_event(e, json_array_get(a, f->n_event), ctx, err) != 0)
            return -1;
        for (size_t i = 0; i < f->n_event; i++)
            if (strcmp(f->event[i].name, e->name) == 0)
                return error_set(err, ERROR_INPUT, "%s: field \"name\": \"%s\" is there already", ctx, e->name);
    }
    return 0;
}

static int read_limits(struct event_file *f, const json_t *doc, const char *name, struct error *err)
{
    const json_t *o = json_object_get(doc, "limits");
    const char *key;
    json_t *v;
    char ctx[320];
    snprintf(ctx, sizeof ctx, "%.280s: limits", name);
    if (o && !json_is_object(o))
        return error_set(err, ERROR_INPUT, "%s: expected an object, found %s", ctx, json_type_name(o));
    json_object_foreach((json_t *)(uintptr_t)o, key, v) {
        struct event_limit *l = &f->limit[f->n_limit];
        if (f->n_limit == ARRAY_LEN(f->limit) || field_find(&l->field, key, ctx, err) != 0 ||
            get_text(l->why, sizeof l->why, o, ctx, key, true, err) != 0)
            return -1;
        f->n_limit++;
    }
    return 0;
}

static int read_counters(struct event_file *f, const json_t *doc, const char *name, struct error *err)
{
    const json_t *o = json_object_get(doc, "counters");
    const char *key;
    json_t *v;
    char ctx[320];
    snprintf(ctx, sizeof ctx, "%.280s: counters", name);
    if (json_check_object(o, ctx, err) != 0)
        return -1;
    json_object_foreach((json_t *)(uintptr_t)o, key, v) {
        struct event_counters *c = &f->counters[f->n_counters];
        int64_t n;
        if (f->n_counters == ARRAY_LEN(f->counters) || strlen(key) >= sizeof c->pmu)
            return error_set(err, ERROR_INPUT, "%s: \"%.64s\": expected at most %zu PMUs with names of at most %zu bytes", ctx,
                             key, ARRAY_LEN(f->counters), sizeof c->pmu - 1);
        if (json_get_int(o, ctx, key, 1, 32, &n, err) != 0)
            return -1;
        snprintf(c->pmu, sizeof c->pmu, "%s", key);
        c->n = (int)n;
        f->n_counters++;
    }
    return 0;
}

/* "*", "85", "0xd0c", "16-31"; false: invalid. */
static bool range_parse(const char *s, size_t len, long *lo, long *hi)
{
    char text[32], *end;
    if (len == 0 || len >= sizeof text)
        return false;
    memcpy(text, s, len);
    text[len] = 0;
    if (strcmp(text, "*") == 0) {
        *lo = 0;
        *hi = INT32_MAX;
        return true;
    }
    *lo = *hi = strtol(text, &end, 0);
    if (end == text || *lo < 0)
        return false;
    if (*end == '-') {
        const char *from = end + 1;
        *hi = strtol(from, &end, 0);
        if (end == from)
            return false;
    }
    return *end == 0 && *hi >= *lo;
}

/* True if a pattern matches the CPU; -1: invalid pattern. any: the model is "*". */
static int pattern_matches(const char *s, const struct cpu_kind *k, bool *any)
{
    const int parts[] = { k->family, k->model, k->stepping };
    const size_t vendor = strcspn(s, " ");
    bool same = strlen(k->vendor) == vendor && strncmp(s, k->vendor, vendor) == 0;
    size_t n = 0;
    *any = false;
    for (s += vendor; *s == ' '; n++) {
        long lo, hi;
        const size_t len = strcspn(++s, " ");
        if (n == ARRAY_LEN(parts) || !range_parse(s, len, &lo, &hi))
            return -1;
        same = same && (hi == INT32_MAX || (parts[n] >= lo && parts[n] <= hi));
        *any |= n == 1 && hi == INT32_MAX;
        s += len;
    }
    return vendor == 0 || n < 2 ? -1 : same;
}

static int read_cpus(struct event_file *f, const json_t *doc, const char *name, struct error *err)
{
    json_t *a = json_object_get(doc, "cpus");
    const struct cpu_kind unknown = { .vendor = "" };
    bool any;
    if (!json_is_array(a) || json_array_size(a) == 0)
        return error_set(err, ERROR_INPUT, "%s: field \"cpus\": expected an array of patterns, found %s", name, json_type_name(a));
    for (size_t i = 0; i < json_array_size(a); i++) {
        const char *s = json_string_value(json_array_get(a, i));
        if (!s || pattern_matches(s, &unknown, &any) < 0)
            return error_set(err, ERROR_INPUT,
                             "%s: field \"cpus\": found \"%.64s\", expected \"VENDOR FAMILY MODEL[-MODEL] [STEPPING[-STEPPING]]\"",
                             name, s ? s : json_type_name(json_array_get(a, i)));
    }
    f->cpus = json_incref(a);
    return 0;
}

static int read_doc(struct event_file *f, const json_t *doc, const char *name, struct error *err)
{
    static const char *const keys[] = { "schema", "version", "name", "title", "cpus", "counters", "requires_pmu", "limits",
                                        "events", NULL };
    if (json_check_schema(doc, name, EVENTS_SCHEMA, 1, err) != 0 || check_keys(doc, name, keys, err) != 0 ||
        get_text(f->name, sizeof f->name, doc, name, "name", true, err) != 0 ||
        get_text(f->title, sizeof f->title, doc, name, "title", true, err) != 0 ||
        get_text(f->requires_pmu, sizeof f->requires_pmu, doc, name, "requires_pmu", false, err) != 0 ||
        read_cpus(f, doc, name, err) != 0 || read_counters(f, doc, name, err) != 0 || read_limits(f, doc, name, err) != 0)
        return -1;
    return read_events(f, doc, name, err);
}

static int from_json(struct event_file *f, json_t *doc, const char *name, struct error *err)
{
    *f = (struct event_file){ 0 };
    if (!doc)
        return -1;
    const int rc = read_doc(f, doc, name, err);
    json_decref(doc);
    if (rc != 0)
        event_file_free(f);
    return rc;
}

int event_file_parse(struct event_file *f, const char *name, const void *data, size_t size, struct error *err)
{
    return from_json(f, json_load_mem(name, data, size, err), name, err);
}

int event_file_load(struct event_file *f, const char *path, struct error *err)
{
    return from_json(f, json_load_path(path, err), path, err);
}

void event_file_free(struct event_file *f)
{
    free(f->event);
    json_decref(f->cpus);
    *f = (struct event_file){ 0 };
}

/* ---- selection ---- */

/* 2: model named, 1: any model of the vendor, 0: another CPU. */
static int match(const struct event_file *f, const struct cpu_kind *k)
{
    int best = 0;
    bool any;
    for (size_t i = 0; i < json_array_size(f->cpus); i++)
        if (pattern_matches(json_string_value(json_array_get(f->cpus, i)), k, &any) == 1)
            best = best > 2 - any ? best : 2 - any;
    return best;
}

bool event_file_matches(const struct event_file *f, const struct cpu_kind *k)
{
    return match(f, k) > 0;
}

int event_file_counters(const struct event_file *f, const char *pmu)
{
    for (size_t i = 0; i < f->n_counters; i++)
        if (strcmp(f->counters[i].pmu, pmu) == 0)
            return f->counters[i].n;
    return 4;
}

static bool has_pmu(const struct pmu_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (pmu_matches(l->pmu[i].name, name))
            return true;
    return false;
}

/* match(), 3 for a matching CPU with the required PMU, 0 without it. */
static int rank_of(const struct event_file *f, const struct cpu_kind *k, const struct pmu_list *pmus)
{
    const int rank = match(f, k);
    return rank && f->requires_pmu[0] ? (has_pmu(pmus, f->requires_pmu) ? 3 : 0) : rank;
}

/* Rank of an invalid file by its CPU patterns; -1: those are unreadable too. */
static int rank_of_wrong(const char *path, const struct cpu_kind *k, const struct pmu_list *pmus)
{
    struct event_file f = { 0 };
    struct error ignored;
    json_t *doc = json_load_path(path, &ignored);
    int rank = -1;
    if (doc && json_is_object(doc) && read_cpus(&f, doc, path, &ignored) == 0 &&
        get_text(f.requires_pmu, sizeof f.requires_pmu, doc, path, "requires_pmu", false, &ignored) == 0)
        rank = rank_of(&f, k, pmus);
    json_decref(doc);
    event_file_free(&f);
    return rank;
}

/* Best valid file so far, and best invalid one. */
struct finding {
    struct event_file *f;
    int best, wrong; /* ranks; wrong -2: none invalid, -1: one with unreadable CPU patterns */
    struct error why;
};

static void find_in(struct finding *x, const char *path, const struct cpu_kind *k, const struct pmu_list *pmus)
{
    struct event_file one;
    struct error why;
    if (event_file_load(&one, path, &why) != 0) {
        const int rank = rank_of_wrong(path, k, pmus);
        if (rank > x->wrong && rank != 0) {
            x->wrong = rank;
            x->why = why;
        }
        return;
    }
    const int rank = rank_of(&one, k, pmus);
    if (rank > x->best) {
        const struct event_file was = *x->f;
        *x->f = one;
        one = was;
        x->best = rank;
    }
    event_file_free(&one);
}

int event_file_find(struct event_file *f, const char *const *dirs, const struct cpu_kind *k, const struct pmu_list *pmus,
                    struct error *err)
{
    char **names = NULL, path[4200];
    size_t n = 0;
    struct finding x = { .f = f, .wrong = -2 };
    *f = (struct event_file){ 0 };
    if (!dirs || name_list(&names, &n, dirs, "events", err) != 0)
        return dirs ? -1 : 0;
    for (size_t i = 0; i < n; i++)
        if (name_file(path, sizeof path, dirs, "events", names[i]))
            find_in(&x, path, k, pmus);
    name_list_free(names, n);
    /* An invalid file matters only if it may be the best one for this CPU. */
    if (x.wrong > x.best || (x.wrong == -1 && x.best == 0)) {
        event_file_free(f);
        *err = x.why;
        return -1;
    }
    return x.best > 0;
}

int counters_describe_events(char *text, size_t size, const char *const *data_dirs, const char *root, struct error *err)
{
    struct pmu_list pmus = { 0 };
    struct event_file f;
    struct cpu_kind k;
    cpu_kind_load(&k, root);
    if (pmu_list_load(&pmus, root, err) != 0)
        return -1;
    const int rc = event_file_find(&f, data_dirs, &k, &pmus, err);
    pmu_list_free(&pmus);
    if (rc == 1)
        snprintf(text, size, "%s (events/%s.json): %zu events", f.title, f.name, f.n_event);
    else if (rc == 0)
        snprintf(text, size, "%s family %d model %d", k.vendor[0] ? k.vendor : "CPU of unknown vendor,", k.family, k.model);
    if (rc == 1)
        event_file_free(&f);
    return rc;
}
