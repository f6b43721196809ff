/* Import of other tools' results: format detection and shared code. */
#include "hwprofile/import_internal.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* limits: tools report hundreds of roofs and dozens of other tests */
enum { MAX_BYTES = 16 << 20, MAX_ROOFS = 2000, MAX_SKIPPED = 32 };

static const char *const format_names[] = { "auto", "ert", "likwid-bench", "clpeak" };

const char *import_format_name(enum import_format f)
{
    return format_names[f];
}

int import_format_find(const char *name, enum import_format *out, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(format_names); i++)
        if (strcmp(name, format_names[i]) == 0) {
            *out = (enum import_format)i;
            return 0;
        }
    return error_set(err, ERROR_USAGE, "--format: expected ert, likwid-bench, clpeak or auto, found \"%s\"", name);
}

/* ---- lines and numbers ----------------------------------------------------------------------- */

bool import_line(struct import_lines *l)
{
    if (!*l->next)
        return false;
    l->s = l->next;
    l->n = strcspn(l->s, "\n");
    l->next = l->s + l->n + (l->s[l->n] == '\n');
    if (l->n && l->s[l->n - 1] == '\r')
        l->n--;
    l->s[l->n] = 0;
    l->number++;
    return true;
}

bool import_number(const char *s, double *v)
{
    char *end;
    s += strspn(s, " \t");
    if (!strchr("+-.0123456789", *s) || !*s || strspn(s, "+-.0123456789eE \t") != strlen(s)) /* no hex, inf, nan */
        return false;
    *v = strtod(s, &end);
    return end != s && end[strspn(end, " \t")] == 0 && isfinite(*v);
}

bool import_count(const char *s, long lo, long hi, long *v)
{
    double d;
    if (!import_number(s, &d) || d != floor(d) || d < (double)lo || d > (double)hi)
        return false;
    *v = (long)d;
    return true;
}

int import_bad_line(const struct import *im, int line, const char *field, const char *expected, const char *found, struct error *err)
{
    return error_set(err, ERROR_INPUT, "%s: line %d: %s: expected %s, found \"%.60s\"", im->file, line, field, expected, found);
}

/* ---- ceilings -------------------------------------------------------------------------------- */

struct ceiling import_ceiling(const char *kind, const char *level, const char *unit, double value, int n_threads)
{
    struct ceiling c = { .n_threads = n_threads, .n_samples = 1, .footprint_bytes = NAN, .value = value, .ci_lo = NAN,
                         .ci_hi = NAN, .clock_hz = NAN, .per_cycle = NAN, .issue_fraction = NAN };
    snprintf(c.kind, sizeof c.kind, "%s", kind);
    snprintf(c.level, sizeof c.level, "%s", level);
    snprintf(c.unit, sizeof c.unit, "%s", unit);
    return c;
}

int import_add(struct import *im, const struct ceiling *c, const char *at, struct error *err)
{
    bool seconds = strcmp(c->unit, "s") == 0;
    if (!(c->value > 0 && c->value <= hw_q_flop_s.hi) || (seconds ? c->value > 10 : c->value < hw_q_flop_s.lo))
        return error_set(err, ERROR_INPUT, "%s: %s: expected %g to %g %s, found %g", im->file, at, seconds ? 0 : hw_q_flop_s.lo,
                         seconds ? 10 : hw_q_flop_s.hi, c->unit, c->value);
    for (size_t i = 0; i < im->h->n_ceiling; i++) {
        const struct ceiling *old = &im->h->ceiling[i];
        if (strcmp(old->name, c->name) == 0 && (seconds ? old->value <= c->value : old->value >= c->value))
            return 0;
    }
    if (im->h->n_ceiling == MAX_ROOFS)
        return error_set(err, ERROR_INPUT, "%s: %s: expected at most %d roofs", im->file, at, MAX_ROOFS);
    return hwprofile_add_ceiling(im->h, c, err);
}

int import_check_value(const struct import *im, double v, int line, const char *field, struct error *err)
{
    return v >= hw_q_flop_s.lo && v <= hw_q_flop_s.hi ?
               0 :
               error_set(err, ERROR_INPUT, "%s: line %d: %s: expected %g to %g a second, found %g", im->file, line, field,
                         hw_q_flop_s.lo, hw_q_flop_s.hi, v);
}

/* Valid UTF-8 without control characters, for JSON and terminals. */
void import_clean(char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < ' ' || (unsigned char)*s >= 127)
            *s = '?';
}

void import_skip(struct import *im, const char *text)
{
    char name[64];
    snprintf(name, sizeof name, "%s", text);
    import_clean(name);
    for (char *comma = name; (comma = strchr(comma, ',')) != NULL;)
        *comma = ';'; /* commas separate names */
    const size_t n = strlen(name);
    for (const char *p = im->skipped.s; p && *p; p += strcspn(p, ","), p += *p ? 2 : 0)
        if (strcspn(p, ",") == n && strncmp(p, name, n) == 0)
            return;
    if (im->n_skipped++ < MAX_SKIPPED)
        strbuf_addf(&im->skipped, "%s%s", im->skipped.len ? ", " : "", name);
    else if (im->n_skipped == MAX_SKIPPED + 1)
        strbuf_adds(&im->skipped, " and others");
}

/* ---- which tool ------------------------------------------------------------------------------ */

static enum import_format detect_json(const json_t *doc)
{
    return json_is_object(json_object_get(doc, "empirical")) ? IMPORT_ERT :
           json_object_get(doc, "clpeak_version") || json_is_array(json_object_get(doc, "entries")) ? IMPORT_CLPEAK : IMPORT_AUTO;
}

static enum import_format detect_text(const char *s)
{
    if (strstr(s, "LIKWID MICRO BENCHMARK"))
        return IMPORT_LIKWID_BENCH;
    if (strstr(s, " GFLOPs") && (strstr(s, "DRAM") || strstr(s, "META_DATA")))
        return IMPORT_ERT;
    if (strstr(s, "(GFLOPS)") || strstr(s, "(GBPS)") || strstr(s, "Backend: "))
        return IMPORT_CLPEAK;
    return IMPORT_AUTO;
}

/* An incomplete last line may be a truncated number. */
static int check_end(const struct import *im, struct error *err)
{
    int line = 1;
    if (im->size == 0 || im->text[im->size - 1] == '\n')
        return 0;
    for (const char *s = im->text; (s = strchr(s, '\n')) != NULL; s++)
        line++;
    return error_set(err, ERROR_INPUT, "%s: line %d: expected an end of the line, found the end of the file (was it cut off?)", im->file,
                     line);
}

static int import_any(struct import *im, enum import_format *f, struct error *err)
{
    const char *start = im->text + strspn(im->text, " \t\r\n");
    bool json = *start == '{';
    if (*start == '<')
        return error_set(err, ERROR_INPUT, "%s: XML is not read: let clpeak write JSON (--json-file FILE)", im->file);
    json_t *doc = json ? json_load_mem(im->file, im->text, im->size, err) : NULL;
    if (json && !doc)
        return -1;
    *f = im->o->format;
    if (*f == IMPORT_AUTO)
        *f = json ? detect_json(doc) : detect_text(im->text);
    if (!json && *f != IMPORT_AUTO && check_end(im, err) != 0)
        return -1;
    int rc = -1;
    switch (*f) {
    case IMPORT_ERT:
        rc = import_ert(im, doc, err);
        break;
    case IMPORT_LIKWID_BENCH:
        rc = json ? error_set(err, ERROR_INPUT, "%s: expected the text that likwid-bench prints, found JSON", im->file) :
                    import_likwid(im, err);
        break;
    case IMPORT_CLPEAK:
        rc = import_clpeak(im, doc, err);
        break;
    case IMPORT_AUTO:
        rc = error_set(err, ERROR_INPUT,
                       "%s: expected results of ERT (roofline.json), likwid-bench or clpeak (--json-file, or its text), found neither",
                       im->file);
        break;
    }
    json_decref(doc);
    return rc;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* The result must be a valid profile. */
static int check(const struct import *im, struct error *err)
{
    struct hwprofile again;
    json_t *doc = hwprofile_to_json(im->h, err);
    char *text = doc ? json_dumps(doc, 0) : NULL;
    int rc = doc && text ? hwprofile_parse(&again, im->file, text, strlen(text), err) :
             doc         ? error_oom(err, im->size, "a profile") :
                           -1;
    if (rc == 0)
        hwprofile_free(&again);
    json_decref(doc);
    free(text);
    return rc;
}

static int copy_text(struct import *im, const void *data, size_t size, struct error *err)
{
    if (size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) { /* byte-order mark */
        data = (const char *)data + 3;
        size -= 3;
    }
    if (size > MAX_BYTES)
        return error_set(err, ERROR_INPUT, "%s: %zu bytes, at most %d are read", im->file, size, MAX_BYTES);
    if (size && memchr(data, 0, size))
        return error_set(err, ERROR_INPUT, "%s: expected text in ASCII or UTF-8, found a byte 0", im->file);
    im->text = malloc(size + 1);
    if (!im->text)
        return error_oom(err, size, "a file");
    if (size)
        memcpy(im->text, data, size);
    im->text[size] = 0;
    im->size = size;
    return 0;
}

int hwprofile_import(struct hwprofile *h, const char *file, const void *data, size_t size, const struct import_options *o,
                     enum import_format *format, struct strbuf *notes, struct error *err)
{
    struct import im = { .h = h, .file = file, .o = o, .notes = notes };
    hwprofile_init(h);
    h->kind = HW_CPU;
    int rc = copy_text(&im, data, size, err);
    rc = rc ? rc : import_any(&im, format, err);
    if (rc == 0 && h->n_ceiling + h->n_curve == 0)
        rc = error_set(err, ERROR_INPUT, "%s: no roof in it%s%.200s", file, im.skipped.len ? "; no roofs here: " : "",
                       im.skipped.len ? im.skipped.s : "");
    if (rc == 0 && o->name)
        snprintf(h->name, sizeof h->name, "%s", o->name);
    import_clean(h->name);
    for (size_t i = 0; i < h->n_ceiling; i++) {
        import_clean(h->ceiling[i].name);
        import_clean(h->ceiling[i].kernel);
    }
    rc = rc ? rc : check(&im, err);
    if (rc == 0 && im.skipped.len)
        strbuf_addf(notes, "Not taken, no roofs of this program's: %s.\n", im.skipped.s);
    notes->oom |= im.skipped.oom;
    strbuf_free(&im.skipped);
    free(im.text);
    if (rc != 0)
        hwprofile_free(h);
    return rc;
}
