/* Machine of a row: a profile, a row of --hardware, or both; else a guess from its name. methods.md (56) */
#include "base/label.h"
#include "base/notify.h"
#include "dataset/families.h"
#include "dataset/stacks.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Spread of ln bandwidth derived from a peak by the class's balance. */
static const double balance_sd = 0.45;

static int from_figures(struct machine *out, const struct measure_hw *g, struct class_guess *class, struct error *err)
{
    const double peak = class->class->kind == HW_CPU ? g->fp32 : g->fp16;
    if (!(g->fp16 > 0) && !(g->fp32 > 0))
        out->guesses |= GUESS_PEAK;
    if (g->bytes_s > 0) {
        class->bytes_s = g->bytes_s;
    } else {
        if (peak > 0) {
            class->bytes_s = peak / class->class->balance;
            class->ln_sd = balance_sd;
        }
        out->guesses |= GUESS_BANDWIDTH;
        out->ln_sd = class->ln_sd;
        const size_t n = strlen(out->note);
        if (class->family)
            family_text(out->family, sizeof out->family, class);
        snprintf(out->note + n, sizeof out->note - n, "%sunknown bandwidth: %.3g GB/s, from its %s (%s)", n ? "; " : "",
                 class->bytes_s / 1e9, class->family ? "family" : "class", class->family ? class->family->name : class->class->name);
    }
    json_t *j = guess_profile(g, class, out->guesses);
    char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;
    json_decref(j);
    if (!text)
        return error_oom(err, 4096, "a machine");
    struct error e = { 0 };
    if (hwprofile_parse(&out->h, "--hardware", text, strlen(text), &e) == 0) {
        out->loaded = true;
        snprintf(out->h.id, sizeof out->h.id, "%.63s", g->hardware);
    }
    else
        snprintf(out->reason, sizeof out->reason, "%.250s", e.msg);
    free(text);
    return error_is_fatal(&e) ? error_set(err, e.kind, "%s", e.msg) : 0;
}

/* Unknown names in server files are data center GPUs. */
static bool guess_class(struct class_guess *out, const char *hardware, const struct machine_class *stated, bool server)
{
    const bool named = class_of_name(out, hardware);
    const struct machine_class *c = stated ? stated : !named && server ? class_find("datacenter GPU") : NULL;
    if (c && (!named || out->class != c))
        *out = (struct class_guess){ .class = c, .vendor = named && out->class->kind == c->kind ? out->vendor : c->vendor, .bytes_s = c->bytes_s,
                                     .ln_sd = c->ln_sd, .source = c->source };
    return named || c;
}

static int from_row(struct machine *out, const struct measure_hw *g, struct error *err)
{
    struct class_guess class, name;
    /* The file's class; else the class in the name or in the class text ("server CPU", "edge NPU"); else a data center GPU. */
    const struct machine_class *stated = class_find(g->class_name);
    if (!stated && !class_of_name(&name, g->hardware) && class_of_name(&name, g->class_name))
        stated = name.class;
    (void)guess_class(&class, g->hardware, stated, true);
    const bool named = !*g->class_name && class_of_name(&name, g->hardware);
    if (*g->class_name && !class_find(g->class_name))
        snprintf(out->note, sizeof out->note, "unknown class (%.64s): estimated as class %s", g->class_name, class.class->name);
    snprintf(out->class_name, sizeof out->class_name, "%s", named ? name.class->name : g->class_name);
    return from_figures(out, g, &class, err);
}

/* Name only. */
static int from_name(struct machine *out, const char *hardware, bool server, bool file, struct error *err)
{
    const struct measure_hw nothing = { .hardware = hardware, .bytes_s = NAN, .fp32 = NAN, .fp16 = NAN, .int8 = NAN, .fp8 = NAN };
    struct class_guess class;
    if (!*hardware || strcmp(hardware, "?") == 0) {
        snprintf(out->reason, sizeof out->reason, "the file does not name its machine: name it with --hw");
        return 0;
    }
    if (!guess_class(&class, hardware, NULL, server)) {
        snprintf(out->reason, sizeof out->reason, "no profile of \"%.80s\", and its name implies no class%s", hardware,
                 file ? ", and --hardware has no row of it" : ": name its figures with --hardware");
        return 0;
    }
    snprintf(out->class_name, sizeof out->class_name, "%s", class.class->name);
    return from_figures(out, &nothing, &class, err);
}

/* ---- both: the file wins where they differ ---------------------------------------------------------- */

/* Beyond this relative difference --hardware and profile are different variants. */
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
    /* CPU rows have at most a vector rate. */
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

/* The name is of a CPU, or of a part with a profile of its own. */
static bool wrong_kind(const char *hardware, const struct hwprofile *h)
{
    return ((strstr(hardware, "[CPU]") || strstr(hardware, "(CPU)")) && h->kind != HW_CPU) || (strstr(hardware, "GPU)") && h->kind == HW_CPU);
}

/* Strips "[CPU]", trailing parentheses, "_dgx" and the like. */
static void bare_name(char *out, size_t size, const char *hardware)
{
    snprintf(out, size, "%s", hardware);
    char *end = strpbrk(out, "[(_");
    if (end && end > out)
        *end = 0;
}

/* Length of a trailing memory size ("24GB", "128 GB") with the blank before it; 0: none. */
static size_t size_at_end(const char *s)
{
    const size_t n = strlen(s);
    size_t i = n;
    if (n < 4 || strcasecmp(s + n - 2, "GB") != 0)
        return 0;
    i -= 2;
    i -= s[i - 1] == ' ';
    const size_t unit = i;
    while (i > 0 && isdigit((unsigned char)s[i - 1]))
        i--;
    return i < unit && i > 1 && s[i - 1] == ' ' ? n - i + 1 : 0;
}

/*
 * Shortens names of drivers and shops: "Radeon 8060S Graphics (RADV GFX1151)", "AI MAX+ 395 w/ Radeon 8060S", "M4 Max 128GB". *variant: a
 * memory size was stripped.
 */
static void short_name(char *out, size_t size, const char *hardware, bool *variant)
{
    static const char *const marks[] = { "(R)", "(TM)" };
    static const char *const boxes[] = { "Mac Studio ", "MacBook Pro ", "MacBook Air ", "Mac mini ", "iMac " };
    static const char *const ends[] = { " Graphics", " GPU", " Server Edition", " Max-Q Workstation Edition", " D" };
    snprintf(out, size, "%s", hardware);
    for (size_t i = 0; i < ARRAY_LEN(marks); i++)
        for (char *s; (s = strcasestr(out, marks[i])) != NULL;)
            memmove(s, s + strlen(marks[i]), strlen(s + strlen(marks[i])) + 1);
    for (size_t i = 0; i < ARRAY_LEN(boxes); i++)
        if (strncasecmp(out, boxes[i], strlen(boxes[i])) == 0)
            memmove(out, out + strlen(boxes[i]), strlen(out + strlen(boxes[i])) + 1);
    char *const with = strstr(out, " w/"), *const after = strpbrk(out, "[(");
    if (with)
        *with = 0;
    if (after && after > out && !(with && after > with))
        *after = 0;
    *variant = false;
    for (bool more = true; more;) {
        size_t n = strlen(out);
        while (n && out[n - 1] == ' ')
            out[--n] = 0;
        const size_t bytes = size_at_end(out);
        more = bytes > 0;
        *variant |= more;
        out[n - bytes] = 0;
        for (size_t i = 0; i < ARRAY_LEN(ends) && !more; i++) {
            const size_t k = strlen(ends[i]);
            more = n > k && strcasecmp(out + n - k, ends[i]) == 0;
            if (more)
                out[n - k] = 0;
        }
    }
}

/* errors: a profile that cannot be read */
static int load_profile(struct machine *out, const char *name, struct error *err)
{
    char bare[128], brief[128], hardware[128];
    bool variant;
    int n;
    (void)hardware_one(hardware, sizeof hardware, name, &n);
    const char *alias = hardware_alias(hardware);
    bare_name(bare, sizeof bare, hardware);
    short_name(brief, sizeof brief, hardware, &variant);
    const char *const names[] = { *alias ? alias : hardware, bare, brief };
    for (size_t i = 0; i < ARRAY_LEN(names) && !out->loaded; i++) {
        bool found;
        if (!*names[i] || (i > 0 && strcmp(names[i], names[i - 1]) == 0))
            continue;
        if (hwprofile_find(&out->h, names[i], &found, err) != 0)
            return -1;
        out->loaded = found && !wrong_kind(hardware, &out->h);
        if (found && !out->loaded)
            hwprofile_free(&out->h);
        if (out->loaded && ((i == 1 && strchr(hardware, '_')) || (i == 2 && variant)))
            out->guesses |= GUESS_MACHINE;
    }
    return 0;
}

/* Names given by the user may be paths; names in files of measurements are never opened. */
static int load_own(struct machine *out, const char *own, struct error *err)
{
    if (!hwprofile_is_path(own))
        return load_profile(out, own, err);
    out->loaded = hwprofile_load(&out->h, own, err) == 0;
    return out->loaded ? 0 : -1;
}

/* Default link: PCIe 4.0 x16, hop latency as between A100s on PCIe. */
static void find_link(struct machine *out)
{
    const struct hw_link *l = hwprofile_link(&out->h, 2);
    out->link_bytes_s = l ? l->bytes_s.value : 31.5e9;
    out->link_latency_s = l && l->latency_s.value >= 0 ? l->latency_s.value : 24e-6;
    if (!l)
        out->guesses |= GUESS_LINK;
}

/*
 * The single row of hws of the same profile by another name: "NVIDIA RTX 4090", "NVIDIA GeForce RTX 4090". NULL: none, several, or a
 * variant.
 */
static int row_of_profile(const struct measure_hw **row, const struct machine *of, const struct measure_hws *hws, struct error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < hws->n; i++) {
        struct machine x = { .loaded = false };
        if (load_profile(&x, hws->row[i].hardware, err) != 0)
            return -1;
        if (x.loaded && !(x.guesses & GUESS_MACHINE) && strcmp(x.h.id, of->h.id) == 0) {
            *row = &hws->row[i];
            n++;
        }
        machine_free(&x);
    }
    if (n != 1)
        *row = NULL;
    return 0;
}

/* Bytes a second of a mark at the end of a name, whose length is *n; 0: none. */
static double stated_bandwidth(const char *name, size_t *n)
{
    double gb;
    int end = 0;
    const char *const mark = strstr(name, MACHINE_BANDWIDTH_MARK);
    *n = strlen(name);
    if (!mark || sscanf(mark + strlen(MACHINE_BANDWIDTH_MARK), "%lf GB/s%n", &gb, &end) != 1 || end == 0 || !(gb > 0))
        return 0;
    *n = (size_t)(mark - name);
    return 1e9 * gb;
}

void machine_set_bandwidth(struct hwprofile *h, double bytes_s, const char *source)
{
    h->mem_bw.value = bytes_s;
    snprintf(h->mem_bw.source, sizeof h->mem_bw.source, "%s", source);
    h->guess_ln_sd = 0;
}

static int find(struct machine *out, const char *hardware, bool server, const struct measure_hws *hws, const char *own, struct error *err);

int machine_find(struct machine *out, const char *hardware, bool server, const struct measure_hws *hws, const char *own, struct error *err)
{
    size_t n;
    char name[sizeof out->hardware];
    const double bytes_s = stated_bandwidth(hardware, &n);
    if (bytes_s == 0)
        return find(out, hardware, server, hws, own, err);
    snprintf(name, sizeof name, "%.*s", (int)n, hardware);
    const int rc = find(out, name, server, hws, own, err);
    if (rc == 0 && out->loaded) {
        machine_set_bandwidth(&out->h, bytes_s, "stated with the row");
        out->guesses &= ~(unsigned)GUESS_BANDWIDTH;
        out->ln_sd = 0;
    }
    label_fit(out->hardware, sizeof out->hardware, hardware);
    return rc;
}

static int find(struct machine *out, const char *hardware, bool server, const struct measure_hws *hws, const char *own,
                 struct error *err)
{
    const struct measure_hw *g = hws ? measure_hws_find(hws, hardware) : NULL;
    *out = (struct machine){ .link_bytes_s = NAN, .link_latency_s = NAN };
    label_fit(out->hardware, sizeof out->hardware, hardware);
    if (classes_load(err) != 0 || stacks_load(err) != 0)
        return -1;
    if ((own && strcmp(own, hardware) == 0 ? load_own(out, own, err) : load_profile(out, hardware, err)) != 0)
        return -1;
    if (out->loaded && !g && hws && !(out->guesses & GUESS_MACHINE) && row_of_profile(&g, out, hws, err) != 0)
        return -1;
    if (out->loaded) {
        snprintf(out->profile, sizeof out->profile, "%s", out->h.id);
        snprintf(out->class_name, sizeof out->class_name, "%s", machine_class(&out->h));
        if (g)
            combine(out, g);
    } else if (g) {
        if (from_row(out, g, err) != 0)
            return -1;
    } else if (from_name(out, hardware, server, hws != NULL, err) != 0) {
        return -1;
    }
    if (out->loaded)
        find_link(out);
    return 0;
}

int machine_guess(struct hwprofile *h, const char *name, bool *found, char *note, size_t size, struct error *err)
{
    struct machine m;
    *found = false;
    if (machine_find(&m, name, false, NULL, NULL, err) != 0)
        return -1;
    if (!m.loaded)
        return 0;
    *found = true;
    *h = m.h;
    if (!(m.guesses & GUESS_BANDWIDTH)) {
        snprintf(note, size, "%s", "");
        if (m.guesses & GUESS_MACHINE)
            snprintf(note, size, "the profile of another variant, %s, is used", h->id);
        return 0;
    }
    snprintf(h->guess_class, sizeof h->guess_class, "%s", m.class_name);
    h->guess_ln_sd = m.ln_sd;
    const double gb_s = h->mem_bw.value / 1e9, half = exp(PREDICT_Z90 * m.ln_sd);
    if (*m.family)
        snprintf(note, size, "estimated as %s, %.4g GB/s */ %.2g (90 %%)%s", m.family, gb_s, half, h->kind == HW_CPU ? ", one socket" : "");
    else
        snprintf(note, size, "estimated as a machine of class %s: %.4g GB/s */ %.2g (90 %%)", m.class_name, gb_s, half);
    const int n_socket = hardware_sockets(name);
    if (n_socket > 1)
        snprintf(note + strlen(note), size - strlen(note), "%s of the %d that the name says", *m.family ? "" : ", one socket", n_socket);
    return 0;
}

void machine_free(struct machine *m)
{
    if (m->loaded)
        hwprofile_free(&m->h);
    m->loaded = false;
    roofs_cache_free(m->roofs);
    m->roofs = NULL;
}

/* Notes the guess, with the suggestion of the error ("did you mean rtx-5060?"). */
static void note_guess(const char *spec, const struct error *unknown, const char *note)
{
    static const char asks[] = "did you mean ";
    const char *near = strstr(unknown->msg, asks);
    const int n = near ? (int)strcspn(near, "?") : 0;
    notify_note("no profile of \"%.80s\"%s%.*s%s: %s; a profile with bandwidth and a peak is more accurate (doc/formats.md)", spec, near ? " (" : "", n, near ? near : "",
                near ? "?)" : "", note);
}

int machine_load(struct hwprofile *h, const char *spec, struct error *err)
{
    struct error unknown = { 0 };
    char note[256];
    bool found = false;
    char one[256];
    int n;
    if (strcmp(spec, "this") == 0 || hwprofile_is_path(spec))
        return hwprofile_open(h, spec, err);
    (void)hardware_one(one, sizeof one, spec, &n);
    if (n > 1)
        return error_set(err, ERROR_USAGE, "machine \"%.80s\": %d devices: name one, \"%.80s\", and how they divide the work: --tp %d (every tensor) or --pp %d (layers)",
                         spec, n, one, n, n);
    if (hwprofile_find(h, spec, &found, err) != 0)
        return -1;
    if (found)
        return 0;
    if (machine_guess(h, spec, &found, note, sizeof note, err) != 0)
        return -1;
    const int rc = found ? hwprofile_load(&(struct hwprofile){ 0 }, spec, &unknown) : hwprofile_load(h, spec, err);
    if (found && *note)
        note_guess(spec, &unknown, note);
    return found ? 0 : rc;
}
