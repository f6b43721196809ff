/* Profile of a machine without one: figures of --hardware, else of the family or class that its name says. methods.md (56) */
#include "dataset/families.h"
#include <math.h>
#include <string.h>

static int put(json_t *o, const char *key, double v, const char *unit, const char *source)
{
    return v > 0 ? json_object_set_new(o, key, json_pack("{s:f,s:s,s:s}", "value", v, "unit", unit, "source", source)) : 0;
}

struct figures {
    double fp32, fp16, bf16, int8; /* operations per second; NaN or 0: unknown */
};

static struct figures figures_of(const struct measure_hw *g, const struct class_guess *class, unsigned guesses)
{
    const double rate = class->class->balance * class->bytes_s;
    if (!(guesses & GUESS_PEAK))
        return (struct figures){ g->fp32, g->fp16, g->fp16, g->int8 };
    if (class->family)
        return (struct figures){ family_flop_s(class, FAMILY_FP32), family_flop_s(class, FAMILY_FP16), family_flop_s(class, FAMILY_BF16),
                                 family_flop_s(class, FAMILY_INT8) };
    if (class->class->kind == HW_CPU)
        return (struct figures){ rate, g->fp16, g->fp16, g->int8 };
    return (struct figures){ g->fp32, rate, rate, class->class->kind == HW_GPU && !(g->int8 > 0) ? 2 * rate : g->int8 };
}

/* Length of what at most `room` bytes show of a text: up to a semicolon, else up to a word. */
static int shown(const char *text, size_t room)
{
    size_t n = strlen(text);
    if (n <= room)
        return (int)n;
    const char *const clause = memchr(text, ';', room);
    if (clause)
        return (int)(clause - text);
    for (n = room; n > 0 && text[n] != ' ';)
        n--;
    while (n > 0 && strchr(" ,:(", text[n - 1]))
        n--;
    return (int)n;
}

/* Sources of bandwidth and peaks, each of size bytes. */
static void name_sources(char *guess, char *balance, size_t size, const struct class_guess *class)
{
    const char *const name = class->class->name;
    if (class->family) {
        char *const end = guess + snprintf(guess, size, "guess, of its family (%.60s): %.60s, ", class->family->name, class->family->memory);
        const size_t room = size - 1 - (size_t)(end - guess);
        snprintf(end, room + 1, "%.*s", shown(class->source, room), class->source);
        snprintf(balance, size, "guess, of its family (%s): %g cores x %.3g GHz", class->family->name, class->cores, class->clock_hz / 1e9);
    } else {
        snprintf(guess, size, "guess, of its class (%s): %.*s", name, shown(class->source, 110), class->source);
        snprintf(balance, size, "guess, of its class (%s): bandwidth x %g FLOP/B", name, class->class->balance);
    }
}

/* Cores and clock of a family's CPU, by which llama.cpp's kernels are priced (41). */
static int put_cores(json_t *profile, const struct class_guess *class, unsigned guesses, const char *source)
{
    if (!class->family || !(guesses & GUESS_PEAK) || class->class->kind != HW_CPU)
        return 0;
    return put(json_object_get(profile, "spec"), "clock", class->clock_hz, "Hz", source) == 0 &&
                   json_object_set_new(profile, "topology", json_pack("{s:i}", "n_cores", (int)class->cores)) == 0
               ? 0
               : -1;
}

json_t *guess_profile(const struct measure_hw *g, const struct class_guess *class, unsigned guesses)
{
    char guess[160], balance[160];
    name_sources(guess, balance, sizeof guess, class);
    const char *source = guesses & GUESS_PEAK ? balance : "--hardware";
    const struct figures v = figures_of(g, class, guesses);
    json_t *peaks = json_object(), *spec = json_object();
    int rc = !peaks || !spec ? -1 : 0;
    rc = rc ? rc : put(spec, "memory_bandwidth", class->bytes_s, "B/s", guesses & GUESS_BANDWIDTH ? guess : "--hardware");
    rc = rc ? rc : put(peaks, "fp32", v.fp32, "FLOP/s", source);
    rc = rc ? rc : put(peaks, "fp16", v.fp16, "FLOP/s", source);
    rc = rc ? rc : put(peaks, "bf16", v.bf16, "FLOP/s", source);
    rc = rc ? rc : put(peaks, "int8", v.int8, "OP/s", source);
    rc = rc ? rc : put(peaks, "fp8", g->fp8, "FLOP/s", "--hardware");
    rc = rc ? rc : json_object_set(spec, "peaks", peaks);
    json_t *name = rc == 0 ? json_text(g->hardware) : NULL;
    json_t *j = name ? json_pack("{s:s,s:i,s:o,s:s,s:s,s:O}", "schema", "roofcast.hwprofile", "version", 1, "name", name, "kind",
                                 hw_kind_name(class->class->kind), "vendor", class->vendor, /* "": as the name says */ "spec", spec)
                     : NULL;
    if (j && put_cores(j, class, guesses, balance) != 0) {
        json_decref(j);
        j = NULL;
    }
    json_decref(peaks);
    json_decref(spec);
    return j;
}
