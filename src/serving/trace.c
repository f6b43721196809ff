#include "serving/trace_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More specific formats first. Of those with equal columns, the first is recognised and the others are chosen by name. */
static const struct trace_format formats[] = {
    { "agentic", "sessions of coding agents, CSV: conv, agent, in, out, think_s, keep_blocks, new_runs", TRACE_CSV,
      { "conv", "agent", "keep_blocks", "new_runs" }, trace_read_agentic,
      { "conv", "agent", "t_s", "type", "in", "out", "api_s", "think_s", "keep_blocks", "new_runs" }, SERVE_END_STOP, 0, 0 },
    { "azure", "Azure LLM inference traces, CSV: TIMESTAMP, ContextTokens, GeneratedTokens", TRACE_CSV,
      { "TIMESTAMP", "ContextTokens", "GeneratedTokens" }, trace_read_azure, { "TIMESTAMP", "ContextTokens", "GeneratedTokens" },
      SERVE_END_STOP, 0, 0 },
    { "burstgpt", "BurstGPT, CSV: Timestamp, Request tokens, Response tokens", TRACE_CSV,
      { "Timestamp", "Request tokens", "Response tokens" }, trace_read_burstgpt, { "Timestamp", "Request tokens", "Response tokens" },
      SERVE_END_STOP, 0, 0 },
    { "timed-csv", "vLLM timed_trace, CSV: timestamp, input_length, output_length, hash_ids", TRACE_CSV,
      { "timestamp", "input_length", "output_length" }, trace_read_timed, { "timestamp", "input_length", "output_length", "hash_ids" },
      SERVE_END_STOP, 0, 0 },
    { "plain", "CSV: in, out, and as known arrival_s, prefix, prefix_tokens, priority", TRACE_CSV, { "in", "out" }, trace_read_plain,
      { "arrival_s", "in", "out", "prefix", "prefix_tokens", "priority" }, SERVE_END_STOP, 0, 0 },
    { "aiperf", "AIPerf sessions, JSONL: session_id, input_length (new tokens), output_length, hash_ids, timestamp or delay", TRACE_OBJECTS,
      { "session_id", "input_length", "output_length" }, trace_read_aiperf,
      { "session_id", "input_length", "output_length", "hash_ids", "timestamp", "delay" }, SERVE_END_STOP, 0, 0 },
    { "timed", "Mooncake and vLLM timed_trace, JSONL: timestamp, input_length, output_length, hash_ids", TRACE_OBJECTS,
      { "timestamp", "input_length", "output_length" }, trace_read_timed, { "timestamp", "input_length", "output_length", "hash_ids" },
      SERVE_END_STOP, 0, 0 },
    { "mooncake", "the same, of 512 tokens an identity and milliseconds", TRACE_OBJECTS, { "timestamp", "input_length", "output_length" },
      trace_read_timed, { "timestamp", "input_length", "output_length", "hash_ids" }, SERVE_END_STOP, 512, 1e-3 },
    { "timed-trace", "the same, of 16 tokens an identity and seconds", TRACE_OBJECTS, { "timestamp", "input_length", "output_length" },
      trace_read_timed, { "timestamp", "input_length", "output_length", "hash_ids" }, SERVE_END_STOP, 16, 1 },
    { "servingsim", "LLMServingSim, JSONL: input_toks, output_toks, arrival_time", TRACE_OBJECTS, { "input_toks", "output_toks" },
      trace_read_servingsim, { "input_toks", "output_toks", "arrival_time" }, SERVE_END_STOP, 0, 0 },
    { "vllm-result", "vllm bench serve --save-detailed, JSON: input_lens, output_lens, start_times", TRACE_OBJECTS,
      { "input_lens", "output_lens" }, trace_read_result, { "input_lens", "output_lens", "start_times" }, SERVE_END_STOP, 0, 0 },
    { "vllm-custom", "vLLM's custom data set, JSONL: prompt, output_tokens", TRACE_OBJECTS, { "prompt" }, trace_read_custom,
      { "prompt", "output_tokens" }, SERVE_END_STOP, 0, 0 },
    { "sharegpt", "ShareGPT, JSON: an array of objects with conversations", TRACE_ARRAY, { "conversations" }, trace_read_sharegpt,
      { "conversations" }, SERVE_END_STOP, 0, 0 },
};

const struct trace_format *trace_format(size_t i)
{
    return i < ARRAY_LEN(formats) ? &formats[i] : NULL;
}

const struct trace_format *trace_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

/* ---- requests ---------------------------------------------------------------------------------------------------------- */

bool trace_full(const struct trace_reader *t)
{
    return t->o->most > 0 && t->w->n >= t->o->most;
}

int trace_add_run(struct trace_reader *t, struct serve_request *r, uint64_t first, uint32_t n, struct error *err)
{
    struct serve_workload *w = t->w;
    struct token_run *last = r->n_run > 0 ? &w->run[r->run0 + r->n_run - 1] : NULL;
    if (n == 0)
        return 0;
    if (last && last->first + last->n == first && last->n <= UINT32_MAX - n) {
        last->n += n;
        return 0;
    }
    if (w->n_run >= UINT32_MAX)
        return trace_refuse(t, err, "more than %u runs of identities", UINT32_MAX);
    if (!serve_workload_add_run(w, &t->run_cap, &(struct token_run){ first, n }))
        return error_oom(err, sizeof *w->run * t->run_cap, "the identities of prompts");
    r->n_run++;
    return 0;
}

int trace_add(struct trace_reader *t, const struct serve_request *r, struct error *err)
{
    if (t->n_line == t->line_cap) {
        const size_t cap = t->line_cap > 0 ? 2 * t->line_cap : 64;
        uint32_t *p = realloc(t->lines, cap * sizeof *p);
        if (!p)
            return error_oom(err, cap * sizeof *p, "a trace");
        t->lines = p;
        t->line_cap = cap;
    }
    if (!serve_workload_add(t->w, &t->cap, r))
        return error_oom(err, t->cap * sizeof *r, "a trace");
    t->lines[t->n_line++] = t->line;
    return 0;
}

/* ---- recognition ------------------------------------------------------------------------------------------------------- */

/* Column names of CSV, or keys of the first object: the inside of an array of objects too. */
struct head {
    enum trace_kind kind;
    struct cell name[64];
    int n;
};

static bool read_head(struct head *h, struct trace_text x)
{
    const char *what;
    struct cell value;
    bool first = true;
    h->n = 0;
    h->kind = TRACE_CSV;
    if (!text_more(&x))
        return false;
    if (*x.p != '{' && *x.p != '[') {
        h->n = text_fields(&x, h->name, 64, &what);
        return h->n > 0;
    }
    h->kind = *x.p == '[' ? TRACE_ARRAY : TRACE_OBJECTS;
    x.p += *x.p == '[';
    if (!text_more(&x) || *x.p != '{')
        return false;
    while (h->n < 64 && text_key(&x, &first, &h->name[h->n], &what) > 0) {
        h->n++;
        if (!text_value(&x, &value, &what))
            break;
    }
    return h->n > 0;
}

static bool has_name(const struct head *h, const char *name)
{
    for (int i = 0; i < h->n; i++)
        if (cell_is(&h->name[i], name))
            return true;
    return false;
}

static bool is_format(const struct head *h, const struct trace_format *f)
{
    if (f->kind != h->kind)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(f->known_by) && f->known_by[i]; i++)
        if (!has_name(h, f->known_by[i]))
            return false;
    return true;
}

static int refuse_unknown(const char *name, const struct head *h, struct error *err)
{
    char known[768] = "", found[160] = "";
    size_t n = 0, m = 0;
    for (size_t i = 0; i < ARRAY_LEN(formats) && n < sizeof known; i++) {
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s (", i ? ", " : "", formats[i].name);
        for (size_t k = 0; k < ARRAY_LEN(formats[i].known_by) && formats[i].known_by[k] && n < sizeof known; k++)
            n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", k ? " " : "", formats[i].known_by[k]);
        n += n < sizeof known ? (size_t)snprintf(known + n, sizeof known - n, ")") : 0;
    }
    for (int i = 0; i < h->n && m < sizeof found; i++)
        m += (size_t)snprintf(found + m, sizeof found - m, "%s%.*s", i ? " " : "", (int)(h->name[i].n < 40 ? h->name[i].n : 40), h->name[i].s);
    text_show(found, strlen(found));
    return error_set(err, ERROR_INPUT, "%.100s: no trace of requests: %s%s; known by its columns or keys: %s", name,
                     h->n > 0 ? "it begins with " : "no header line and no object", found, known);
}

static const struct trace_format *recognise(const char *name, const struct trace_text *x, struct error *err)
{
    struct head h;
    (void)read_head(&h, *x);
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        if (is_format(&h, &formats[i]))
            return &formats[i];
    (void)refuse_unknown(name, &h, err);
    return NULL;
}

/* ---- reading ----------------------------------------------------------------------------------------------------------- */

static int read_all(struct trace_reader *t, struct error *err)
{
    if (t->format->read(t, err) != 0)
        return -1;
    t->notes->format = t->format->name;
    if (t->w->n == 0 && t->notes->n_row > 0)
        return error_set(err, ERROR_INPUT, "%.255s: no requests: of %zu, %zu have no output and %zu are filtered out", t->name, t->notes->n_row,
                         t->notes->n_failed, t->notes->n_filtered);
    return serve_workload_finish(t->w, t->name, t->lines, err);
}

int trace_parse(struct serve_workload *w, struct trace_notes *notes, const char *name, const char *data, size_t size,
                const struct trace_format *format, const struct trace_options *o, struct error *err)
{
    static const struct trace_options defaults = { 0 };
    struct trace_notes unused;
    struct trace_reader t = { .name = name, .format = format, .o = o ? o : &defaults, .notes = notes ? notes : &unused, .w = w,
                              .first_time = NAN, .last_time = NAN };
    *w = (struct serve_workload){ 0 };
    *t.notes = (struct trace_notes){ 0 };
    if (text_begin(name, &data, &size, err) != 0)
        return -1;
    t.at = (struct trace_text){ .p = data, .end = data + size, .line = 1 };
    if (!text_more(&t.at))
        return error_set(err, ERROR_INPUT, "%.255s: an empty file: expected a trace of requests", name);
    if (!t.format && !(t.format = recognise(name, &t.at, err)))
        return -1;
    const int rc = read_all(&t, err);
    free(t.lines);
    free(t.id);
    if (rc != 0)
        serve_workload_free(w);
    return rc;
}

/* FILE.csv -> FILE_conv.csv */
static bool companion_path(char *out, size_t size, const char *path)
{
    const size_t n = strlen(path);
    if (n < 5 || strcmp(path + n - 4, ".csv") != 0)
        return false;
    return (size_t)snprintf(out, size, "%.*s_conv.csv", (int)(n - 4), path) < size && file_exists(out);
}

int trace_load(struct serve_workload *w, struct trace_notes *notes, const char *path, const struct trace_format *format,
               const struct trace_options *o, struct error *err)
{
    struct trace_options own = o ? *o : (struct trace_options){ 0 };
    struct filemap m, conv = { 0 };
    char conv_path[4096];
    *w = (struct serve_workload){ 0 };
    if (filemap_open(&m, path, err) != 0)
        return -1;
    const bool conv_open = !own.companion && companion_path(conv_path, sizeof conv_path, path);
    int rc = conv_open ? filemap_open(&conv, conv_path, err) : 0;
    if (rc == 0) {
        if (conv_open) {
            own.companion = (const char *)conv.data;
            own.companion_size = conv.size;
        }
        rc = trace_parse(w, notes, path, (const char *)m.data, m.size, format, &own, err);
        if (conv_open)
            filemap_close(&conv);
    }
    filemap_close(&m);
    return rc;
}
