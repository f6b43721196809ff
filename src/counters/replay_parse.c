/*
 * counters/replay_parse.c: output of perf stat -x ("CSV FORMAT") and -j ("JSON FORMAT" of perf-stat(1)), and the raw tables of
 * likwid-perfctr.
 */
#include "counters/replay.h"
#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 4096, COLUMNS_MAX = 1024 };

struct parser {
    struct replay *r;
    const char *name; /* of the file */
    size_t line;
    bool likwid, raw; /* likwid file; raw table */
    struct error *err;
};

static int fail(const struct parser *p, const char *found, const char *expected)
{
    return error_set(p->err, ERROR_INPUT, "%s: line %zu: found \"%.64s\", expected %s", p->name, p->line, found, expected);
}

/* "instructions:u" without modifiers; returns "u" or "". */
static const char *plain_name(char *out, size_t size, const char *name)
{
    snprintf(out, size, "%s", name);
    char *colon = strrchr(out, ':');
    if (!colon || colon == out || colon[1 + strspn(colon + 1, "ukhGHSDppPIe")] != 0)
        return "";
    *colon = 0;
    return colon + 1;
}

static int add(struct parser *p, const char *name, const char *unit, double value, double running, const char *why)
{
    char plain[96];
    struct replay_event *e = NULL;
    if (!*name || strlen(name) >= sizeof plain)
        return fail(p, name, "the name of an event");
    const char *limits = plain_name(plain, sizeof plain, name);
    for (size_t i = 0; i < p->r->n && !e; i++)
        if (strcmp(p->r->event[i].name, plain) == 0)
            e = &p->r->event[i];
    if (!e && p->r->n == REPLAY_MAX)
        return fail(p, name, "at most 256 events");
    if (!e) {
        e = &p->r->event[p->r->n++];
        *e = (struct replay_event){ .running = 1 };
        snprintf(e->name, sizeof e->name, "%s", plain);
        snprintf(e->limits, sizeof e->limits, "%.15s", limits);
        snprintf(e->unit, sizeof e->unit, "%.15s", unit);
    }
    if (strncmp(e->limits, limits, sizeof e->limits - 1) != 0)
        why = "recorded with and without a modifier";
    else if (strncmp(e->unit, unit, sizeof e->unit - 1) != 0 && !*why && !e->why[0])
        why = "recorded in several units";
    e->value += value;
    e->running = running < e->running ? running : e->running;
    if (*why)
        snprintf(e->why, sizeof e->why, "%.60s", why);
    return 0;
}

/* A non-negative number, whole text. */
static bool number(const char *s, double *out)
{
    char *end;
    errno = 0;
    *out = strtod(s, &end);
    return end != s && *end == 0 && isfinite(*out) && *out >= 0 && *out < 1e24 && (s[0] != '-' && s[0] != ' ');
}

static size_t split(char *line, char **column)
{
    size_t n = 0;
    for (char *s = line; n < COLUMNS_MAX; s++) {
        column[n++] = s;
        s += strcspn(s, ",");
        if (!*s)
            break;
        *s = 0;
    }
    return n;
}

/* ---- perf stat -x, : [S0,CPUS,]VALUE,UNIT,EVENT,NS,PERCENT[,...] ------------------------------------------------------ */

static int perf_line(struct parser *p, char *line)
{
    char *c[COLUMNS_MAX];
    size_t n = split(line, c), at = 0;
    double value = 0, percent = 100, cpus;
    if (n >= 5 && (c[0][0] == 'S' || c[0][0] == 'C' || c[0][0] == 'N' || c[0][0] == 'D') && number(c[1], &cpus))
        at = 2; /* --per-socket, --per-core, --per-node, --per-die */
    if (n < at + 3)
        return fail(p, c[0], "VALUE,UNIT,EVENT,...");
    const bool absent = c[at][0] == '<';
    if (!absent && !number(c[at], &value))
        return fail(p, c[at], "a count, or <not counted>");
    if (n > at + 4 && c[at + 4][0] && !number(c[at + 4], &percent))
        return fail(p, c[at + 4], "how much of the time it was counted, in percent");
    return add(p, c[at + 2], c[at + 1], value, absent ? 1 : percent / 100, absent ? c[at] : "");
}

/* ---- perf stat -j : {"counter-value": "1.0", "unit": "", "event": "...", "pcnt-running": 100.0, ...} --------------------- */

static int json_line(struct parser *p, const char *line, size_t len)
{
    char ctx[320];
    const char *value = NULL, *unit = "", *event = NULL;
    double percent = 100, v = 0;
    snprintf(ctx, sizeof ctx, "%.280s: line %zu", p->name, p->line);
    json_t *o = json_load_mem(ctx, line, len, p->err);
    int rc = -1;
    if (!o)
        return -1;
    if (!json_is_object(o)) {
        fail(p, json_type_name(o), "an object");
        goto out;
    }
    if (!json_object_get(o, "counter-value")) { /* metric-only line */
        rc = 0;
        goto out;
    }
    if (json_get_str(o, ctx, "counter-value", &value, p->err) != 0 || json_get_str(o, ctx, "event", &event, p->err) != 0 ||
        json_get_str_opt(o, ctx, "unit", &unit, p->err) != 0 ||
        json_get_num_opt(o, ctx, "pcnt-running", &percent, p->err) != 0)
        goto out;
    const bool absent = value[0] == '<';
    if (!absent && !number(value, &v))
        fail(p, value, "a count, or <not counted>");
    else if (!(percent >= 0 && percent <= 100.5))
        fail(p, "pcnt-running", "0 to 100");
    else
        rc = add(p, event, unit ? unit : "", v, absent ? 1 : percent / 100, absent ? value : "");
out:
    json_decref(o);
    return rc;
}

/* ---- likwid-perfctr -O: TABLE,Group 1 Raw,NAME,LINES then Event,Counter,HWThread 0,... then the counts -------------------- */

static int likwid_line(struct parser *p, char *line)
{
    char *c[COLUMNS_MAX], name[96];
    double sum = 0, v;
    const size_t n = split(line, c);
    if (strcmp(c[0], "TABLE") == 0) {
        p->raw = n > 1 && strlen(c[1]) > 4 && strcmp(c[1] + strlen(c[1]) - 4, " Raw") == 0;
        return 0;
    }
    if (!p->raw || strcmp(c[0], "Event") == 0 || strcmp(c[0], "STRUCT") == 0 || !c[0][0])
        return 0;
    if (n < 3)
        return fail(p, c[0], "EVENT,COUNTER,COUNT,...");
    for (size_t i = 2; i < n; i++) {
        if (!c[i][0] || c[i][0] == '-') /* memory counts are on one thread per socket */
            continue;
        if (!number(c[i], &v))
            return fail(p, c[i], "a count");
        sum += v;
    }
    snprintf(name, sizeof name, "%s", c[0]);
    return add(p, name, "", sum, 1, "");
}

static int parse_line(struct parser *p, char *line, size_t len)
{
    while (len && (line[len - 1] == '\r' || line[len - 1] == ' '))
        line[--len] = 0;
    if (len == 0 || line[0] == '#' || line[0] == '-')
        return 0;
    if (p->r->n == 0 && (strncmp(line, "TABLE,", 6) == 0 || strncmp(line, "STRUCT,", 7) == 0))
        p->likwid = true;
    if (p->likwid)
        return likwid_line(p, line);
    return line[0] == '{' ? json_line(p, line, len) : perf_line(p, line);
}

int replay_parse(struct replay *r, const char *name, const void *data, size_t size, struct error *err)
{
    struct parser p = { .r = r, .name = name, .err = err };
    const char *s = data, *end = s ? s + size : s;
    char line[LINE_MAX_BYTES];
    *r = (struct replay){ .n = 0 };
    while (s < end) {
        const char *eol = memchr(s, '\n', (size_t)(end - s));
        const size_t len = (size_t)((eol ? eol : end) - s);
        p.line++;
        if (len >= sizeof line || memchr(s, 0, len))
            return error_set(err, ERROR_INPUT, "%s: line %zu: expected text of at most %d bytes", name, p.line,
                             LINE_MAX_BYTES - 1);
        memcpy(line, s, len);
        line[len] = 0;
        if (!eol && line[0] != '{') /* an incomplete CSV line may be truncated; JSON is self-delimiting */
            return fail(&p, line, "an end of the line (was the file cut off?)");
        if (parse_line(&p, line, len) != 0)
            return -1;
        s = eol ? eol + 1 : end;
    }
    if (r->n == 0)
        return error_set(err, ERROR_INPUT, "%s: no counts: expected the output of perf stat -x, or -j, or likwid-perfctr -O", name);
    return 0;
}
