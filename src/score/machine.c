/* The machine of a row: a profile, a row of --hardware, or both. */
#include "score/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 * The classes of hardware.csv and roofcast's own kinds. balance: FLOP of 16 bits (CPUs: of 32) a byte of memory, where a file
 * says nothing of arithmetic: medians of the class in hwprofiles, rounded.
 */
static const struct {
    const char *name;
    enum hw_kind kind;
    const char *vendor; /* "": any */
    const char *ids[9]; /* beginnings of profiles' ids; the last row of a kind takes the rest */
    double balance;
} classes[] = {
    { "workstation GPU", HW_GPU, "", { "rtx-a", "rtx-4000-ada", "rtx-5000-ada", "rtx-6000-ada", "rtx-pro", "radeon-", "arc-pro" }, 250 },
    { "consumer GPU", HW_GPU, "", { "rtx-", "gtx-", "rx-", "arc-" }, 120 },
    { "datacenter GPU", HW_GPU, "", { NULL }, 200 },
    { "Apple GPU", HW_APU, "Apple", { NULL }, 35 },
    { "unified SoC GPU", HW_APU, "", { NULL }, 150 },
    { "iGPU", HW_APU, "", { NULL }, 60 },
    { "phone CPU", HW_CPU, "", { NULL }, 10 },
    { "CPU", HW_CPU, "", { NULL }, 25 },
    { "accelerator", HW_NPU, "", { NULL }, 220 },
};

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

const char *machine_class(const struct hwprofile *h)
{
    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        if (classes[i].kind != h->kind || (*classes[i].vendor && strcmp(classes[i].vendor, h->vendor) != 0))
            continue;
        if (strcmp(classes[i].name, "phone CPU") == 0)
            continue; /* profiles have none */
        bool any = !classes[i].ids[0];
        for (size_t k = 0; k < ARRAY_LEN(classes[i].ids) && classes[i].ids[k]; k++)
            any |= begins(h->id, classes[i].ids[k]);
        if (any)
            return classes[i].name;
    }
    return "";
}

/* Row of the table; the last, where a file has a class of its own. */
static size_t class_row(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        if (strcasecmp(classes[i].name, name) == 0)
            return i;
    return 2; /* nothing said: as a data center's GPU */
}

/* ---- a profile from a row ------------------------------------------------------------------------- */

static const char *const kind_texts[] = { [HW_CPU] = "cpu", [HW_GPU] = "gpu", [HW_APU] = "apu", [HW_NPU] = "npu" };

static int put(json_t *o, const char *key, double v, const char *unit, const char *source)
{
    return v > 0 ? json_object_set_new(o, key, json_pack("{s:f,s:s,s:s}", "value", v, "unit", unit, "source", source)) : 0;
}

/* NULL: out of memory. */
static json_t *profile_json(const struct measure_hw *g, enum hw_kind kind, double balance, unsigned *guesses)
{
    json_t *peaks = json_object(), *spec = json_object();
    double fp16 = g->fp16, fp32 = g->fp32;
    if (!(fp16 > 0) && !(fp32 > 0)) {
        *guesses |= GUESS_PEAK;
        *(kind == HW_CPU ? &fp32 : &fp16) = balance * g->bytes_s;
    }
    const char *source = *guesses & GUESS_PEAK ? "guessed from the bandwidth: the file has no peak" : "--hardware";
    int rc = !peaks || !spec ? -1 : 0;
    rc = rc ? rc : put(spec, "memory_bandwidth", g->bytes_s, "B/s", "--hardware");
    rc = rc ? rc : put(peaks, "fp32", fp32, "FLOP/s", source);
    rc = rc ? rc : put(peaks, "fp16", fp16, "FLOP/s", source);
    rc = rc ? rc : put(peaks, "bf16", fp16, "FLOP/s", source);
    rc = rc ? rc : put(peaks, "int8", g->int8, "OP/s", "--hardware");
    rc = rc ? rc : put(peaks, "fp8", g->fp8, "FLOP/s", "--hardware");
    rc = rc ? rc : json_object_set(spec, "peaks", peaks);
    json_t *name = rc == 0 ? json_text(g->hardware) : NULL;
    json_t *j = name ? json_pack("{s:s,s:i,s:o,s:s,s:s,s:O}", "schema", "roofcast.hwprofile", "version", 1, "name", name, "kind",
                                 kind_texts[kind], "vendor", "?", "spec", spec)
                     : NULL;
    json_decref(peaks);
    json_decref(spec);
    return j;
}

static int from_row(struct machine *out, const struct measure_hw *g, struct error *err)
{
    const size_t row = class_row(g->class_name);
    snprintf(out->class_name, sizeof out->class_name, "%s", g->class_name);
    if (!(g->bytes_s > 0)) {
        snprintf(out->reason, sizeof out->reason, "no profile of \"%.80s\", and --hardware has no bandwidth for it", g->hardware);
        return 0;
    }
    json_t *j = profile_json(g, classes[row].kind, classes[row].balance, &out->guesses);
    char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;
    json_decref(j);
    if (!text)
        return error_oom(err, 4096, "a machine");
    struct error e = { 0 };
    if (hwprofile_parse(&out->h, "--hardware", text, strlen(text), &e) == 0)
        out->loaded = true;
    else
        snprintf(out->reason, sizeof out->reason, "%.250s", e.msg);
    free(text);
    return 0;
}

/* ---- both: the file wins where they differ ---------------------------------------------------------- */

/* --hardware's value and the profile's differ by more than this: another variant, other memory. */
static const double TOLERANCE = 0.05;

static void prefer(struct machine *out, struct hw_value *have, double given, const char *what)
{
    if (!(given > 0) || (have->value > 0 && fabs(given / have->value - 1) <= TOLERANCE))
        return;
    const size_t n = strlen(out->note);
    const bool bytes = have == &out->h.mem_bw;
    const double scale = bytes ? 1e9 : 1e12;
    if (have->value > 0)
        snprintf(out->note + n, sizeof out->note - n, "%s%s %.4g %s as in --hardware, not %.4g", n ? "; " : "", what, given / scale,
                 bytes ? "GB/s" : have == &out->h.peak[MATH_INT8] ? "TOP/s" : "TFLOP/s", have->value / scale);
    have->value = given;
    snprintf(have->source, sizeof have->source, "--hardware");
}

static void combine(struct machine *out, const struct measure_hw *g)
{
    struct hwprofile *h = &out->h;
    prefer(out, &h->mem_bw, g->bytes_s, "bandwidth");
    /* A CPU's rows have a vector rate, if any. */
    prefer(out, &h->peak[MATH_FP32], g->fp32, "fp32");
    prefer(out, &h->peak[MATH_FP16], g->fp16, "fp16");
    if (h->peak[MATH_BF16].value > 0)
        prefer(out, &h->peak[MATH_BF16], g->fp16, "bf16");
    prefer(out, &h->peak[MATH_INT8], g->int8, "int8");
    if (h->peak[MATH_FP8].value > 0)
        prefer(out, &h->peak[MATH_FP8], g->fp8, "fp8");
    if (*g->class_name)
        snprintf(out->class_name, sizeof out->class_name, "%s", g->class_name);
}

/* ---- names -------------------------------------------------------------------------------------------- */

/* Does the name say a CPU, or a part of a machine, which another profile is of? */
static bool wrong_kind(const char *hardware, const struct hwprofile *h)
{
    return (strstr(hardware, "[CPU]") && h->kind != HW_CPU) || (strstr(hardware, "GPU)") && h->kind == HW_CPU);
}

/* A name without what stands around it: "[CPU]" and what is in parentheses at its end, "_dgx" and its like. */
static void bare_name(char *out, size_t size, const char *hardware)
{
    snprintf(out, size, "%s", hardware);
    char *end = strpbrk(out, "[(_");
    if (end && end > out)
        *end = 0;
}

static bool load_profile(struct machine *out, const char *hardware)
{
    char bare[128];
    const char *alias = hardware_alias(hardware);
    bare_name(bare, sizeof bare, hardware);
    const char *const names[] = { *alias ? alias : hardware, bare };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct error e = { 0 };
        if (hwprofile_load(&out->h, names[i], &e) != 0)
            continue;
        if (!wrong_kind(hardware, &out->h)) {
            out->guesses |= i > 0 && strchr(hardware, '_') ? GUESS_MACHINE : 0;
            return true;
        }
        hwprofile_free(&out->h);
    }
    return false;
}

/* Where nobody says how it reaches others: a bus of the fourth generation, hops as between A100s on one. */
static void find_link(struct machine *out)
{
    const struct hw_link *l = hwprofile_link(&out->h, 2);
    out->link_bytes_s = l ? l->bytes_s.value : 31.5e9;
    out->link_latency_s = l && l->latency_s.value >= 0 ? l->latency_s.value : 24e-6;
    if (!l)
        out->guesses |= GUESS_LINK;
}

int machine_find(struct machine *out, const char *hardware, const struct measure_hws *hws, struct error *err)
{
    const struct measure_hw *g = hws ? measure_hws_find(hws, hardware) : NULL;
    *out = (struct machine){ .link_bytes_s = NAN, .link_latency_s = NAN };
    snprintf(out->hardware, sizeof out->hardware, "%s", hardware);
    out->loaded = load_profile(out, hardware);
    if (out->loaded) {
        snprintf(out->profile, sizeof out->profile, "%s", out->h.id);
        snprintf(out->class_name, sizeof out->class_name, "%s", machine_class(&out->h));
        if (g)
            combine(out, g);
    } else if (g) {
        if (from_row(out, g, err) != 0)
            return -1;
    } else {
        snprintf(out->reason, sizeof out->reason, "no profile of \"%.80s\"%s", hardware,
                 hws ? ", and --hardware has no row of it" : ": name its figures with --hardware");
    }
    if (out->loaded)
        find_link(out);
    return 0;
}

void machine_free(struct machine *m)
{
    if (m->loaded)
        hwprofile_free(&m->h);
    m->loaded = false;
}
