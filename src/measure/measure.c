/* Rows of any file: told apart by header, kept, freed. */
#include "measure/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *measure_phase_name(enum measure_phase p)
{
    switch (p) {
    case MEASURE_PREFILL:
        return "prefill";
    case MEASURE_DECODE:
        return "decode";
    case MEASURE_REQUEST:
        return "serving";
    case MEASURE_NO_PHASE:
        break;
    }
    return "-";
}

const char *measure_metric_name(enum measure_metric m)
{
    switch (m) {
    case METRIC_TOK_S:
        return "tok_s";
    case METRIC_TTFT:
        return "ttft";
    case METRIC_TPOT:
        return "tpot";
    case METRIC_SECONDS:
        break;
    }
    return "seconds";
}

const char *measure_file_name(enum measure_file f)
{
    switch (f) {
    case FILE_THROUGHPUT:
        return "throughput";
    case FILE_GPU_OPS:
        return "gpu_ops";
    case FILE_ALL_REDUCE:
        return "all_reduce";
    case FILE_SERVING:
        return "serving";
    case FILE_LLAMA_BENCH:
        return "llama-bench";
    case FILE_RUN:
        return "run";
    case FILE_VLLM:
        return "vllm";
    case FILE_AIPERF:
        break;
    }
    return "aiperf";
}

struct measurement measure_empty(enum measure_kind kind)
{
    static const struct measure_layout no_layout = { .batch = NAN };
    return (struct measurement){
        .kind = kind, .phase = MEASURE_NO_PHASE, .metric = METRIC_TOK_S, .value = NAN,
        .id = "", .source = "", .hardware = "", .engine = "", .version = "", .model = "", .quant = "", .quant_experts = "", .date = "",
        .notes = "", .assumed = "", .remark = "", .label = "", .named = "",
        .n_devices = 1, .params_b = NAN, .weight_gib = NAN, .prompt = NAN, .context = NAN, .batch = NAN,
        .out = NAN, .concurrency = NAN, .read_bytes = NAN, .type_k = "", .type_v = "", .op = "", .m = NAN, .k = NAN, .n = NAN,
        .topology = "", .per_node = NAN, .bytes = NAN, .mode = "", .query_width = NAN, .kv_width = NAN, .gated = -1, .prefill = no_layout, .decode = no_layout,
        .n_merged = 1,
    };
}

int measure_add(struct measurements *l, const struct measurement *m, struct error *err)
{
    /* Room doubles: the count is a power of two when it is full. */
    if ((l->n & (l->n - 1)) == 0) {
        const size_t cap = l->n ? 2 * l->n : 1;
        size_t bytes;
        struct measurement *row = size_mul(cap, sizeof *row, &bytes) ? realloc(l->row, bytes) : NULL;
        if (!row)
            return error_oom(err, cap * sizeof *row, "measurements");
        l->row = row;
    }
    l->row[l->n++] = *m;
    return 0;
}

const char *measure_keep(struct measurements *l, const char *s, struct error *err)
{
    if ((l->n_text & (l->n_text - 1)) == 0) { /* room is doubled */
        const size_t cap = l->n_text ? 2 * l->n_text : 1;
        char **text = realloc(l->text, cap * sizeof *text);
        if (!text) {
            error_oom(err, cap * sizeof *text, "the texts of measurements");
            return NULL;
        }
        l->text = text;
    }
    char *copy = strdup(s);
    if (!copy) {
        error_oom(err, strlen(s) + 1, "a text of a measurement");
        return NULL;
    }
    l->text[l->n_text++] = copy;
    return copy;
}

void measure_free(struct measurements *l)
{
    for (size_t i = 0; i < l->n_text; i++)
        free(l->text[i]);
    free(l->text);
    free(l->row);
    csv_free(&l->csv);
    *l = (struct measurements){ 0 };
}

/* ---- kinds of CSV files, by columns that only one of them has ------------------------------------- */

static const struct {
    enum measure_file file;
    const char *column[3];
    int (*read)(struct measurements *l, struct error *err);
} kinds[] = {
    { FILE_THROUGHPUT, { "tokens_per_s", "hardware", "phase" }, throughput_read },
    { FILE_GPU_OPS, { "op", "median_ms", "m" }, gpu_ops_read },
    { FILE_ALL_REDUCE, { "topology", "median_ms", "bytes" }, all_reduce_read },
    { FILE_SERVING, { "silicon_ttft_ms", "silicon_tpot_ms", "system" }, serving_read },
};

static int read_csv(struct measurements *l, const char *name, const void *data, size_t size, const struct measure_context *x,
                    struct error *err)
{
    if (csv_parse(&l->csv, name, data, size, err) != 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        bool all = true;
        for (size_t k = 0; k < 3; k++)
            all &= csv_find(&l->csv, kinds[i].column[k]) >= 0;
        if (!all)
            continue;
        l->file = kinds[i].file;
        return kinds[i].read(l, err);
    }
    if (csv_find(&l->csv, "avg_ts") >= 0 && csv_find(&l->csv, "n_prompt") >= 0) {
        l->file = FILE_LLAMA_BENCH;
        return llama_bench_csv(l, x, err);
    }
    return error_set(err, ERROR_INPUT,
                     "%s: line 1, column 1: not a file of measurements: expected the columns of throughput.csv (tokens_per_s, "
                     "hardware, phase), gpu_ops.csv (op, m, median_ms), all_reduce.csv (topology, bytes, median_ms) or "
                     "serving_silicon.csv (system, silicon_ttft_ms, silicon_tpot_ms), found \"%.64s\" first",
                     name, l->csv.header[0].s);
}

/* ---- which form -------------------------------------------------------------------------------------- */

static int read_object(struct measurements *l, const json_t *o, const struct json_text *at, const struct measure_context *x,
                       struct error *err)
{
    const char *schema = json_string_value(json_object_get(o, "schema"));
    if (schema && (strcmp(schema, "roofcast.run") == 0 || strcmp(schema, "roofcast.bench") == 0)) {
        l->file = FILE_RUN;
        return run_read(l, o, schema, at, x, err);
    }
    if (llama_bench_is(o)) {
        l->file = FILE_LLAMA_BENCH;
        return llama_bench_json(l, o, at, x, err);
    }
    if (vllm_is(o)) {
        l->file = FILE_VLLM;
        return vllm_read(l, o, at, x, err);
    }
    return json_text_refuse(at, l->name, err, "not a result of llama-bench (avg_ts, n_prompt, model_type), of vLLM (completed, "
                            "total_output_tokens; avg_latency; requests_per_second) or of roofcast (schema)");
}

/* One document, or an array of them. */
static int read_document(struct measurements *l, const json_t *j, const char *text, const struct measure_context *x,
                         struct error *err)
{
    struct json_text at;
    json_text_init(&at, text, 1);
    if (!json_is_array(j))
        return read_object(l, j, &at, x, err);
    json_text_enter(&at);
    for (size_t i = 0; i < json_array_size(j); i++, json_text_next(&at))
        if (read_object(l, json_array_get(j, i), &at, x, err) != 0)
            return -1;
    return 0;
}

/* More than one line that begins with a brace: a document each. */
static bool is_jsonl(const char *text)
{
    const char *end = strstr(text, "\n{");
    while (end && end > text && strchr(" \t\r\n", end[-1]))
        end--;
    return text[0] == '{' && end && end > text && end[-1] == '}';
}

/*
 * Python writes numbers that are none as NaN and Infinity (SGLang's request_rate is one by default), which JSON has not: null.
 * text: in a room of 4/3 of its length and a byte.
 */
static size_t void_numbers(char *text, size_t size)
{
    static const char *const none[] = { "-Infinity", "Infinity", "NaN" };
    bool string = false;
    for (size_t i = 0; i < size; i++) {
        string ^= text[i] == '"';
        i += string && text[i] == '\\' && i + 1 < size;
        for (size_t k = 0; k < ARRAY_LEN(none) && !string; k++) {
            const size_t n = strlen(none[k]);
            if (size - i < n || memcmp(text + i, none[k], n) != 0)
                continue;
            if (n < 4) {
                memmove(text + i + 4, text + i + n, size - i - n + 1);
                size += 4 - n;
            } else {
                memset(text + i, ' ', n);
            }
            memcpy(text + i, "null", 4);
            i += 3;
            break;
        }
    }
    return size;
}

/* NULL with *err; the text itself stays as it was, so that places are those of the file. */
static json_t *load_json(const struct measurements *l, const char *text, size_t size, size_t line, struct error *err)
{
    char *copy = malloc(size + size / 3 + 2);
    if (!copy) {
        error_oom(err, size + size / 3 + 2, "a JSON text");
        return NULL;
    }
    memcpy(copy, text, size);
    copy[size] = 0;
    json_t *j = json_load_mem_at(l->name, copy, void_numbers(copy, size), line, err);
    free(copy);
    return j;
}

/* A document a line. */
static int read_lines(struct measurements *l, const char *text, const struct measure_context *x, struct error *err)
{
    size_t line = 1;
    for (const char *p = text; *p; line++) {
        const size_t n = strcspn(p, "\n");
        const bool blank = strspn(p, " \t\r") >= n;
        struct json_text at;
        json_text_init(&at, p, line);
        json_t *j = blank ? NULL : load_json(l, p, n, line, err);
        const int rc = blank ? 0 : j ? read_object(l, j, &at, x, err) : -1;
        json_decref(j);
        if (rc != 0)
            return -1;
        p += n + (p[n] == '\n');
    }
    return 0;
}

static int read_text(struct measurements *l, const char *text, size_t size, const struct measure_context *x, struct error *err)
{
    const char *s = text + strspn(text, " \t\r\n");
    if (*s == '{' && is_jsonl(s))
        return read_lines(l, text, x, err);
    if (*s == '{' || *s == '[') {
        json_t *j = load_json(l, text, size, 1, err);
        const int rc = j ? read_document(l, j, text, x, err) : -1;
        json_decref(j);
        return rc;
    }
    if (llama_bench_is_sql(text)) {
        l->file = FILE_LLAMA_BENCH;
        return llama_bench_sql(l, text, x, err);
    }
    if (strncmp(s, "| ", 2) == 0 || strstr(s, "\n| model ")) {
        l->file = FILE_LLAMA_BENCH;
        return llama_bench_md(l, text, x, err);
    }
    if (strncmp(s, "Metric,", 7) == 0) {
        l->file = FILE_AIPERF;
        return aiperf_read(l, text, x, err);
    }
    if (strstr(s, "\"avg_ts\":"))
        return error_set(err, ERROR_INPUT, "%s: line 1, column 1: expected llama-bench's JSON, found \"%.*s\": keep what it prints "
                         "beside its results out of the file (2>/dev/null)", l->name, (int)fmin(64, (double)strcspn(s, "\r\n")), s);
    return read_csv(l, l->name, text, size, x, err);
}

/* PowerShell's > writes UTF-16. */
static bool is_utf16(const unsigned char *data, size_t size)
{
    return size >= 2 && ((data[0] == 0xff && data[1] == 0xfe) || (data[0] == 0xfe && data[1] == 0xff));
}

/* Rows that do not say their weights' type are of the one that --type names. */
static int take_type(struct measurements *l, const char *type, struct error *err)
{
    char text[96];
    snprintf(text, sizeof text, "no type in its row: %.40s, as --type says", type);
    const char *const quant = measure_keep(l, type, err), *const remark = quant ? measure_keep(l, text, err) : NULL;
    for (size_t i = 0; remark && i < l->n; i++) {
        struct measurement *m = &l->row[i];
        if (*m->quant || (m->kind != MEASURE_RATE && m->kind != MEASURE_SERVING))
            continue;
        m->quant = quant;
        m->remark = *m->remark ? m->remark : remark;
    }
    return remark ? 0 : -1;
}

int measure_parse(struct measurements *l, const char *name, const void *data, size_t size,
                  const struct measure_context *x, struct error *err)
{
    static const struct measure_context none = { 0 };
    *l = (struct measurements){ 0 };
    snprintf(l->name, sizeof l->name, "%s", name);
    if (is_utf16(data, size))
        return error_set(err, ERROR_INPUT, "%s: line 1, column 1: expected UTF-8, found UTF-16, as PowerShell's > writes it: "
                         "| Out-File -Encoding utf8 FILE does not", name);
    if (size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) {
        data = (const char *)data + 3;
        size -= 3;
    }
    char *text = malloc(size + 1);
    if (!text)
        return error_oom(err, size + 1, "a file of measurements");
    memcpy(text, data, size);
    text[size] = 0;
    /* A zero byte ends a text: what is behind it is refused by the reader of CSV. */
    int rc = strlen(text) == size ? read_text(l, text, size, x ? x : &none, err) : read_csv(l, name, data, size, x ? x : &none, err);
    if (rc == 0 && l->n == 0)
        rc = error_set(err, ERROR_INPUT, "%s: line 1, column 1: expected a measurement, found none in the file", name);
    if (rc == 0 && x && x->type && *x->type)
        rc = take_type(l, x->type, err);
    free(text);
    if (rc != 0)
        measure_free(l);
    else
        csv_keep_text(&l->csv); /* rows point there */
    return rc;
}

int measure_load(struct measurements *l, const char *path, const struct measure_context *x, struct error *err)
{
    struct filemap f;
    *l = (struct measurements){ 0 };
    if (filemap_open(&f, path, err) != 0)
        return -1;
    const int rc = measure_parse(l, path, f.data, f.size, x, err);
    filemap_close(&f);
    return rc;
}
