/*
 * llama-batched-bench: B sequences, each a prompt of PP and a generation of TG tokens. A table, or an object per line (--output-format
 * jsonl); neither states model or machine. `roofcast bench -b` prints the same table with additional leading columns. Source:
 * ggml-org/llama.cpp tools/batched-bench/batched-bench.cpp.
 */
#include "dataset/llama_bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum batched_field { B_PP, B_TG, B_PL, B_KV, B_S_PP, B_S_TG, N_BATCHED };
static const struct {
    const char *head, *key; /* table column, JSON field */
    double lo, hi;
} fields[N_BATCHED] = {
    [B_PP] = { "PP", "pp", 0, 1e8 },           [B_TG] = { "TG", "tg", 0, 1e8 },
    [B_PL] = { "B", "pl", 1, 1e6 },            [B_KV] = { "N_KV", "n_kv", 1, 1e12 },
    [B_S_PP] = { "S_PP t/s", "speed_pp", 0, 1e12 }, [B_S_TG] = { "S_TG t/s", "speed_tg", 0, 1e12 },
};

/* One row and its position. */
struct batched {
    double v[N_BATCHED];
    struct batched_setup how;
    size_t line;
    const char *model, *type; /* roofcast's own table only; "": not stated */
};

/* Adds a row of the prompts and one of the decode steps. */
static int add_rows(struct measurements *l, const struct batched *b, const struct measure_context *x, struct error *err)
{
    struct measurement m = measure_empty(MEASURE_RATE);
    const double pp = b->v[B_PP], tg = b->v[B_TG], pl = b->v[B_PL];
    const bool shared = b->how.shared > 0 || (pl > 1 && b->v[B_KV] == pp + pl * tg); /* shared prompt */
    m.line = b->line;
    m.n_ubatch = b->how.ubatch > 0 ? (int)b->how.ubatch : 512;
    m.n_gpu_layers = b->how.layers > 0 ? (int)b->how.layers : 0;
    const bool own = *b->model != 0, on_cpu = own || b->how.layers == 0;
    m.n_threads = on_cpu ? (int)b->how.threads : 0;
    m.tags |= on_cpu ? TAG_CPU : 0U;
    m.flash_stated = b->how.flash >= -1;
    m.flash = b->how.flash != 0;
    if (measure_name_row(l, &m, own ? "roofcast" : on_cpu ? "llama.cpp (CPU)" : "llama.cpp", b->model, x, err) != 0 ||
        (*b->type && !(m.quant = measure_copy_text(l, b->type, err))))
        return -1;
    struct measurement p = m;
    p.phase = MEASURE_PREFILL;
    p.prompt = pp;
    p.context = 0;
    p.batch = shared ? 1 : pl;
    p.value = b->v[B_S_PP];
    if (pp > 0 && p.value > 0 && measure_add(l, &p, err) != 0)
        return -1;
    m.phase = MEASURE_DECODE;
    m.prompt = pp;
    m.context = pp + tg / 2;
    m.batch = pl;
    m.out = tg;
    m.value = b->v[B_S_TG];
    return tg > 0 && m.value > 0 ? measure_add(l, &m, err) : 0;
}

/* ---- table ---------------------------------------------------------------------------------------------- */

bool batched_bench_head(char *const *head, size_t n)
{
    for (int f = 0; f < N_BATCHED; f++)
        if (!*llama_bench_cell(head, head, n, fields[f].head))
            return false;
    return true;
}

/* The last line "main: n_kv_max = 8192, n_batch = 2048, ..." before the table. */
struct batched_setup batched_bench_setup(const char *text, const char *end)
{
    struct batched_setup s = { .layers = -1, .flash = -2 };
    const struct {
        const char *key;
        double *to;
    } stated[] = { { "n_ubatch = ", &s.ubatch }, { "flash_attn = ", &s.flash }, { "is_pp_shared = ", &s.shared }, { "n_gpu_layers = ", &s.layers },
                 { "n_threads = ", &s.threads } };
    const char *line = NULL;
    for (const char *p = text; (p = strstr(p, "n_kv_max = ")) != NULL && p < end; p++)
        line = p;
    for (size_t i = 0; line && i < ARRAY_LEN(stated); i++) {
        const char *const at = strstr(line, stated[i].key);
        if (at && at < line + strcspn(line, "\n"))
            *stated[i].to = fmin(fmax(strtod(at + strlen(stated[i].key), NULL), -1e6), 1e6);
    }
    return s;
}

int batched_bench_row(struct measurements *l, const struct md_line *r, const char *text, size_t line, const struct measure_context *x, struct error *err)
{
    struct batched b = { .how = batched_bench_setup(text, r->at), .line = line, .model = llama_bench_cell(r->head, r->cell, r->n, "model"),
                         .type = llama_bench_cell(r->head, r->cell, r->n, "type") };
    const double threads = csv_to_number(llama_bench_cell(r->head, r->cell, r->n, "threads"));
    b.how.threads = threads >= 1 && threads <= 65536 ? threads : b.how.threads;
    for (int f = 0; f < N_BATCHED; f++) {
        const char *const cell = llama_bench_cell(r->head, r->cell, r->n, fields[f].head);
        size_t row, column;
        b.v[f] = csv_to_number(cell);
        if (b.v[f] >= fields[f].lo && b.v[f] <= fields[f].hi && (f >= B_S_PP || b.v[f] == floor(b.v[f])))
            continue;
        llama_bench_text_position(text, r->at + (cell - r->copy), &row, &column);
        return error_set(err, ERROR_INPUT, "%s: line %zu, column %zu: %s: expected a %snumber from %g to %g, found \"%.64s\"", l->name, row, column,
                         fields[f].head, f < B_S_PP ? "whole " : "", fields[f].lo, fields[f].hi, cell);
    }
    return add_rows(l, &b, x, err);
}

/* ---- object a line --------------------------------------------------------------------------------------- */

bool batched_bench_is(const json_t *o)
{
    return json_object_get(o, "speed_tg") && json_object_get(o, "pl") && json_object_get(o, "pp");
}

static int number(const struct measurements *l, const json_t *o, const struct json_position *at, const char *key, double lo, double hi, bool whole, double otherwise,
                  double *out, struct error *err)
{
    const json_t *v = json_object_get(o, key);
    *out = otherwise;
    if (json_is_none(v) && !isnan(otherwise))
        return 0;
    *out = json_is_number(v) ? json_number_value(v) : NAN;
    if (*out >= lo && *out <= hi && (!whole || *out == floor(*out)))
        return 0;
    char found[32];
    snprintf(found, sizeof found, "%.15g", *out);
    const struct json_position field = json_position_field(at, key);
    return json_position_error(&field, l->name, err, "%s: expected a %snumber from %g to %g, found %s", key, whole ? "whole " : "", lo, hi,
                            json_is_number(v) ? found : json_type_name(v));
}

int batched_bench_json(struct measurements *l, const json_t *o, const struct json_position *at, const struct measure_context *x, struct error *err)
{
    struct batched b = { .line = at->line, .model = "", .type = "" };
    for (int f = 0; f < N_BATCHED; f++)
        if (number(l, o, at, fields[f].key, fields[f].lo, fields[f].hi, f < B_S_PP, NAN, &b.v[f], err) != 0)
            return -1;
    if (number(l, o, at, "n_ubatch", 1, 1e6, true, 512, &b.how.ubatch, err) != 0 || number(l, o, at, "flash_attn", -1, 1, true, -2, &b.how.flash, err) != 0 ||
        number(l, o, at, "is_pp_shared", 0, 1, true, 0, &b.how.shared, err) != 0 ||
        number(l, o, at, "n_gpu_layers", -1e6, 1e6, true, -1, &b.how.layers, err) != 0 ||
        number(l, o, at, "n_threads", 0, 65536, true, 0, &b.how.threads, err) != 0)
        return -1;
    return add_rows(l, &b, x, err);
}
