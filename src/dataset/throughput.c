/* throughput.csv: rates of single sequences and batches. */
#include "dataset/internal.h"
#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    enum measure_tag tag;
} tags[] = {
    { "derived", TAG_DERIVED },
    { "e2e", TAG_E2E },
    { "ttft_based", TAG_TTFT_BASED },
    { "total_tokens_metric", TAG_TOTAL_TOKENS },
    { "per_gpu", TAG_PER_GPU },
    { "max_throughput", TAG_MAX_THROUGHPUT },
    { "layer_split", TAG_LAYER_SPLIT },
    { "tensor_parallel", TAG_TENSOR_PARALLEL },
    { "data_parallel", TAG_DATA_PARALLEL },
    { "multi_gpu_pcie", TAG_PCIE },
    { "batch_curve", TAG_BATCH_CURVE },
    { "moe", TAG_MOE },
    { "hybrid_attention", TAG_HYBRID },
    { "cpu", TAG_CPU },
    { "power_limited", TAG_POWER_LIMITED },
    { "weak_host", TAG_WEAK_HOST },
    { "rounded", TAG_ROUNDED },
    { "approx", TAG_ROUNDED },
    { "anomaly", TAG_ANOMALY },
    { "community", TAG_COMMUNITY },
    { "readme_summary", TAG_SUMMARY },
    { "slow_backend", TAG_SLOW_BACKEND },
    { "memory_pressure", TAG_MEMORY_PRESSURE },
    { "partial_offload", TAG_PARTIAL_OFFLOAD },
    { "cold_start", TAG_COLD_START },
    { "reported_inconsistent", TAG_INCONSISTENT },
    { "vendor", TAG_VENDOR },
    { "sharegpt", TAG_SHAREGPT },
    { "total_or_output_ambiguous", TAG_AMBIGUOUS },
    { "small_model", TAG_SMALL_MODEL },
    { "numa2", TAG_NUMA2 },
    { "batched", TAG_BATCHED },
};

static bool is_word(const char *s, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(s, word, n) == 0;
}

/* "threads=16" -> 16 */
static bool number_after(const char *s, size_t n, const char *key, int *out)
{
    const size_t k = strlen(key);
    if (n <= k || memcmp(s, key, k) != 0)
        return false;
    const long v = strtol(s + k, NULL, 10);
    if (v > 0 && v < 1 << 24)
        *out = (int)v;
    return true;
}

static void read_tag(struct measurement *m, const char *s, size_t n)
{
    if (number_after(s, n, "threads=", &m->n_threads) || number_after(s, n, "ubatch=", &m->n_ubatch))
        return;
    if (is_word(s, n, "server_step"))
        m->server_step = true;
    for (size_t i = 0; i < ARRAY_LEN(tags); i++)
        if (is_word(s, n, tags[i].name))
            m->tags |= (unsigned)tags[i].tag;
}

/* "out=128" anywhere after the tags: generated tokens. */
static void read_out(struct measurement *m, const char *s)
{
    const char *p = strstr(s, "out=");
    if (p && (p == s || p[-1] == ' ' || p[-1] == ';')) {
        const long v = strtol(p + 4, NULL, 10);
        if (v > 0 && v < 1 << 24)
            m->out = (double)v;
    }
}

/* Names of flash attention in notes; longer ones first. */
static const char *const attentions[] = { "flash attention", "flash-attention", "flash_attention", "flashattention", "flash attn", "flash-attn",
                                          "flash_attn", "fa" };
enum setting { SETTING_NONE, SETTING_ON, SETTING_OFF, SETTING_BOTH };
struct setting_word {
    const char *word;
    enum setting setting;
};
static const struct setting_word setting_words[] = {
    { "1", SETTING_ON },      { "on", SETTING_ON },        { "yes", SETTING_ON },       { "true", SETTING_ON },    { "enabled", SETTING_ON },
    { "auto", SETTING_ON },   { "used", SETTING_ON },      { "active", SETTING_ON },    { "0", SETTING_OFF },      { "off", SETTING_OFF },
    { "no", SETTING_OFF },    { "false", SETTING_OFF },    { "disabled", SETTING_OFF }, { "unused", SETTING_OFF }, { "unsupported", SETTING_OFF },
};
/* Words before the name; NONE: look at the word before it. */
static const struct setting_word before[] = {
    { "no", SETTING_OFF },      { "not", SETTING_OFF },      { "non", SETTING_OFF },       { "without", SETTING_OFF }, { "w/o", SETTING_OFF },
    { "disable", SETTING_OFF }, { "disabled", SETTING_OFF }, { "disabling", SETTING_OFF }, { "with", SETTING_ON },     { "w/", SETTING_ON },
    { "enable", SETTING_ON },   { "enabled", SETTING_ON },   { "enabling", SETTING_ON },   { "using", SETTING_ON },    { "uses", SETTING_ON },
};
/* Words between name and setting: "FA is off", "flash attention was turned on". */
static const char *const between[] = { "is", "was", "were", "are", "turned", "set", "to", "switched", "has", "been" };

/* Words after "not": "-fa not set", "fa=1 not supported". */
static const char *const refusals[] = { "set",     "supported", "available", "used",    "working", "possible", "implemented",
                                        "compiled", "built",     "enabled",   "active",  "on" };

/* s begins with the whole word, case-insensitive. */
static bool begins(const char *s, const char *word)
{
    const size_t n = strlen(word);
    return strncasecmp(s, word, n) == 0 && !isalnum((unsigned char)s[n]) && s[n] != '_';
}

/* Setting at s. Returns the text after it; NULL: none. */
static const char *setting_at(const char *s, enum setting *setting)
{
    for (size_t i = 0; i < ARRAY_LEN(setting_words); i++)
        if (begins(s, setting_words[i].word)) {
            *setting = setting_words[i].setting;
            return s + strlen(setting_words[i].word);
        }
    return NULL;
}

static bool begins_refusal(const char *s)
{
    bool is = false;
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++)
        is |= begins(s, refusals[i]);
    return is;
}

static bool is_refused(const char *s)
{
    s += strncasecmp(s, "but ", strlen("but ")) == 0 ? strlen("but ") : 0;
    if (!begins(s, "not"))
        return begins(s, "unsupported") || begins(s, "ignored");
    return begins_refusal(s + strlen("not") + strspn(s + strlen("not"), " "));
}

/* A list of different settings, of several rows: "0,1", "on/off", "0 and 1", "off vs on". */
static bool is_list(const char *s, enum setting first)
{
    static const char *const signs[] = { ",", "/", "|", "+", " / ", " and ", " or ", " vs ", " vs. ", " & " };
    enum setting other;
    for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
        const size_t n = strlen(signs[i]);
        if (strncasecmp(s, signs[i], n) == 0 && setting_at(s + n, &other) && other != first)
            return true;
    }
    return false;
}

/* Setting after a name, ": " in "fa: on"; NONE: another word, or the end. */
static enum setting setting_after(const char *s)
{
    enum setting setting = SETTING_NONE;
    bool negated = false;
    size_t n = strspn(s, " =:\"");
    const char *const begin = s;
    for (bool more = true; more && n > 0;) {
        s += n;
        more = false;
        for (size_t i = 0; i < ARRAY_LEN(between) && !more; i++) {
            more = begins(s, between[i]);
            n = more ? strlen(between[i]) : 0;
        }
        if (!more && !negated && begins(s, "not")) {
            more = negated = true;
            n = strlen("not");
        }
        n += more ? strspn(s + n, " ") : 0;
    }
    const char *const end = n > 0 || isalnum((unsigned char)*s) ? setting_at(s, &setting) : NULL;
    const bool refused = is_refused(begin + strspn(begin, " (")) || (negated ? begins_refusal(s) : begins(s, "ignored"));
    if (!end)
        return refused ? SETTING_OFF : SETTING_NONE;
    if (is_list(end, setting))
        return SETTING_BOTH;
    if (is_refused(end + strspn(end, " (")))
        return SETTING_OFF;
    return !negated ? setting : setting == SETTING_ON ? SETTING_OFF : SETTING_ON;
}

/* Start of the word before `at`, over blanks and one hyphen; `at`: none. */
static const char *word_before(const char *text, const char *at)
{
    const char *s = at;
    while (s > text && s[-1] == ' ')
        s--;
    if (s == at && s > text && s[-1] == '-') {
        s--;
        while (s > text && s[-1] == ' ') /* "no -fa" */
            s--;
    }
    if (s == at)
        return at;
    const char *const end = s;
    while (s > text && (isalnum((unsigned char)s[-1]) || s[-1] == '/' || s[-1] == '\''))
        s--;
    return s < end ? s : at;
}

static enum setting setting_of_word(const char *s)
{
    for (size_t i = 0; i < ARRAY_LEN(before); i++)
        if (begins(s, before[i].word))
            return before[i].setting;
    return SETTING_NONE;
}

/* Setting before a name: "no FA", "--no-flash-attn", "not using FA", "with and without FA". */
static enum setting setting_before(const char *notes, const char *name)
{
    const char *s = word_before(notes, name);
    const enum setting near = s < name ? setting_of_word(s) : SETTING_NONE;
    if (near == SETTING_NONE)
        return SETTING_NONE;
    if (strncasecmp(s, "with/without", 12) == 0)
        return SETTING_BOTH;
    const char *t = word_before(notes, s);
    if (t < s && (begins(t, "and") || begins(t, "or") || begins(t, "vs"))) {
        const char *const first = word_before(notes, t);
        const enum setting other = first < t ? setting_of_word(first) : SETTING_NONE;
        return other != SETTING_NONE && other != near ? SETTING_BOTH : near;
    }
    const enum setting further = t < s ? setting_of_word(t) : SETTING_NONE;
    const bool refused = t < s && memchr(t, '\'', (size_t)(s - t)); /* "isn't using FA" */
    return near == SETTING_ON && (further == SETTING_OFF || refused) ? SETTING_OFF : near;
}

/* A bare option ("-fa") means on. name points into notes. */
static bool is_option(const char *notes, const char *name)
{
    return name > notes && name[-1] == '-' && (name - 1 == notes || strchr(" -", name[-2]));
}

/* A negation between s and end: "without CUDA graphs, FA". */
static bool refuses(const char *s, const char *end)
{
    static const char *const words[] = { "no", "not", "non", "without", "unsupported", "disabled" };
    bool is = false;
    for (const char *p = s; p < end; p++)
        for (size_t i = 0; i < ARRAY_LEN(words) && (p == s || !isalnum((unsigned char)p[-1])); i++)
            is |= begins(p, words[i]);
    return is;
}

/* The name is an item of a list, and nothing else: "CUDA, flash attention". */
static bool is_item(const char *notes, const char *name, size_t n)
{
    enum setting other;
    const char *begin = name, *list, *const end = name + n + strspn(name + n, " ");
    while (begin > notes && begin[-1] == ' ')
        begin--;
    for (list = begin; list > notes && list[-1] != ';'; list--)
        ;
    const char *const next = end + strspn(end, " ,;)");
    return (begin == notes || strchr(",;(+", begin[-1])) && (!*end || strchr(",;)+", *end)) && !is_refused(next) && !setting_at(next, &other) &&
           !begins(next, "not") && !refuses(list, begin);
}

/* Setting of flash attention: "no FA", "flash attention: off", "-fa on", "fa=1". name points into notes, n characters. */
static enum setting attention_setting(const char *notes, const char *name, size_t n)
{
    const enum setting after = setting_after(name + n), first = after == SETTING_NONE ? setting_before(notes, name) : after;
    return first == SETTING_NONE && (is_option(notes, name) || is_item(notes, name, n)) ? SETTING_ON : first;
}

/* Contradicting settings ("fa=1, fa=0") are of several rows: not stated. */
static void read_attention(struct measurement *m, const char *notes)
{
    enum setting setting = SETTING_NONE;
    for (const char *at = notes; *at && setting != SETTING_BOTH; at++) {
        if (at > notes && (isalnum((unsigned char)at[-1]) || at[-1] == '_'))
            continue;
        for (size_t i = 0; i < ARRAY_LEN(attentions); i++)
            if (begins(at, attentions[i])) {
                const enum setting one = attention_setting(notes, at, strlen(attentions[i]));
                setting = setting == SETTING_NONE ? one : one == SETTING_NONE || one == setting ? setting : SETTING_BOTH;
                break;
            }
    }
    m->flash_stated = setting == SETTING_ON || setting == SETTING_OFF;
    m->flash = setting == SETTING_ON;
}

void measure_read_notes(struct measurement *m)
{
    const char *s = m->notes;
    if (strncmp(s, "tags=", 5) == 0) {
        for (s += 5; *s && *s != ';';) {
            const size_t n = strcspn(s, ",;");
            read_tag(m, s, n);
            s += n + (s[n] == ',');
        }
    }
    read_out(m, s);
    read_attention(m, s);
}

enum { C_ID, C_SOURCE, C_HARDWARE, C_DEVICES, C_ENGINE, C_MODEL, C_PARAMS, C_QUANT, C_GIB, C_PHASE, C_PROMPT, C_CONTEXT, C_BATCH, C_RATE, C_DATE, C_NOTES, N_COLUMN };
static const char *const columns[N_COLUMN] = { "id", "source", "hardware", "n_devices", "engine", "model", "params_b", "quant",
                                               "weight_gib", "phase", "prompt_len", "context_len", "batch", "tokens_per_s",
                                               "date_or_build", "notes" };
/* Required columns. */
static const int needed[] = { C_HARDWARE, C_MODEL, C_PHASE, C_RATE };

static int read_phase(struct measurement *m, const struct csv *c, size_t i, int col, struct error *err)
{
    const char *s = csv_at(c, i, col)->s;
    for (int p = MEASURE_PREFILL; p <= MEASURE_REQUEST; p++)
        if (strcasecmp(s, measure_phase_name((enum measure_phase)p)) == 0) {
            m->phase = (enum measure_phase)p;
            return 0;
        }
    return csv_error(c, i, col, err, "expected prefill, decode or serving, found \"%.64s\"", s);
}

static int read_numbers(struct measurement *m, const struct csv *c, size_t i, const int *col, struct error *err)
{
    double devices;
    if (csv_count(c, i, col[C_DEVICES], 1, 1e6, false, &devices, err) != 0 ||
        csv_number(c, i, col[C_PARAMS], 1e-6, 1e6, false, &m->params_b, err) != 0 ||
        csv_number(c, i, col[C_GIB], 1e-6, 1e6, false, &m->weight_gib, err) != 0 ||
        csv_count(c, i, col[C_PROMPT], 0, 1e8, false, &m->prompt, err) != 0 ||
        csv_number(c, i, col[C_CONTEXT], 0, 1e8, false, &m->context, err) != 0 ||
        csv_count(c, i, col[C_BATCH], 1, 1e6, false, &m->batch, err) != 0 ||
        csv_number(c, i, col[C_RATE], 1e-9, 1e12, true, &m->value, err) != 0)
        return -1;
    m->n_devices = isnan(devices) ? 1 : (int)devices;
    return 0;
}

/*
 * Rates per GPU. TensorRT-LLM v0.6.1's table states it for H100; a later revision of the page for A100 and L40S too, under "Throughput (out
 * tok/s/GPU)". Source: NVIDIA/TensorRT-LLM docs/source/performance.md after v0.6.1 (A100, GPT-J 6B, 120 sequences on two: 2,192 in both).
 */
static bool is_per_gpu(const struct measurement *m)
{
    static const char page[] = "NVIDIA/TensorRT-LLM docs/source/performance.md";
    return m->tags & TAG_PER_GPU || (m->phase == MEASURE_REQUEST && strncmp(m->source, page, sizeof page - 1) == 0);
}

static int read_row(struct measurements *l, size_t i, const int *col, struct error *err)
{
    const struct csv *c = &l->csv;
    struct measurement m = measure_empty(MEASURE_RATE);
    m.id = csv_at(c, i, col[C_ID])->s;
    m.source = csv_at(c, i, col[C_SOURCE])->s;
    m.hardware = csv_at(c, i, col[C_HARDWARE])->s;
    m.engine = csv_at(c, i, col[C_ENGINE])->s;
    m.model = csv_at(c, i, col[C_MODEL])->s;
    m.quant = csv_at(c, i, col[C_QUANT])->s;
    m.date = csv_at(c, i, col[C_DATE])->s;
    m.notes = csv_at(c, i, col[C_NOTES])->s;
    m.line = csv_at(c, i, 0)->line;
    if (!*m.hardware)
        return csv_error(c, i, col[C_HARDWARE], err, "expected a machine, found nothing");
    int year, month;
    if (measure_date(m.date, &year, &month) == MEASURE_FALSE_DATE)
        return csv_error(c, i, col[C_DATE], err, "expected a date (2025-01-15, Jan 2025, 2025), a build, a commit or a version, found \"%.64s\"", m.date);
    const char *const remark = measure_date_remark(m.date);
    if (remark) {
        char stated[128];
        snprintf(stated, sizeof stated, "date_or_build %s", remark);
        if (!(m.remark = measure_copy_text(l, stated, err)))
            return -1;
    }
    if (read_phase(&m, c, i, col[C_PHASE], err) != 0 || read_numbers(&m, c, i, col, err) != 0)
        return -1;
    measure_read_notes(&m);
    if (measure_read_offload(l, &m, err) != 0)
        return -1;
    if (is_per_gpu(&m))
        m.value *= m.n_devices;
    return measure_add(l, &m, err);
}

int throughput_read(struct measurements *l, struct error *err)
{
    int col[N_COLUMN];
    if (csv_find_all(&l->csv, columns, N_COLUMN, needed, ARRAY_LEN(needed), col, err) != 0)
        return -1;
    for (size_t i = 0; i < l->csv.n_row; i++)
        if (read_row(l, i, col, err) != 0)
            return -1;
    return 0;
}
