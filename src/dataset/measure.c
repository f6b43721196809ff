/* Reads files of measurements of any kind, detected by header or fields. */
#include "dataset/internal.h"
#include "hwprofile/hwprofile.h"
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
    case FILE_BATCHED_BENCH:
        return "llama-batched-bench";
    case FILE_GUIDELLM:
        return "guidellm";
    case FILE_GPU_KERNELS:
        return "gpu_kernels";
    case FILE_AIPERF:
        break;
    }
    return "aiperf";
}

struct measurement measure_empty(enum measure_kind kind)
{
    static const struct measure_layout no_layout = { .batch = NAN };
    return (struct measurement){
        .kind = kind, .phase = MEASURE_NO_PHASE, .metric = METRIC_TOK_S, .value = NAN, .sd = NAN,
        .id = "", .source = "", .hardware = "", .engine = "", .version = "", .model = "", .quant = "", .quant_experts = "", .date = "",
        .notes = "", .assumed = "", .remark = "", .label = "", .named = "",
        .n_devices = 1, .params_b = NAN, .weight_gib = NAN, .prompt = NAN, .context = NAN, .batch = NAN,
        .out = NAN, .concurrency = NAN, .step_tokens = 1, .read_bytes = NAN, .type_k = "", .type_v = "", .op = "", .m = NAN, .k = NAN, .n = NAN,
        .kernel = "", .n_head = NAN, .n_kv = NAN, .head_dim = NAN, .window = NAN, .n_tensor = NAN, .n_ep = NAN,
        .n_ranks = NAN, .n_expert = NAN, .n_expert_used = NAN, .skew = NAN,
        .topology = "", .per_node = NAN, .bytes = NAN, .mode = "", .query_width = NAN, .kv_width = NAN, .gated = -1, .prefill = no_layout, .decode = no_layout,
        .n_merged = 1,
    };
}

int measure_add(struct measurements *l, const struct measurement *m, struct error *err)
{
    /* Capacity doubles at powers of two. */
    if ((l->n & (l->n - 1)) == 0) {
        const size_t cap = l->n ? 2 * l->n : 1;
        size_t bytes;
        struct measurement *row = size_mul(cap, sizeof *row, &bytes) ? realloc(l->row, bytes) : NULL;
        if (!row)
            return error_oom(err, cap * sizeof *row, "measurements");
        l->row = row;
    }
    char one[256];
    int n;
    (void)hardware_one(one, sizeof one, m->hardware, &n);
    l->row[l->n] = *m;
    if (m->n_devices <= 1 && n > 1) /* "2x RTX 3090" */
        l->row[l->n].n_devices = n;
    l->n++;
    return 0;
}

int measure_keep(struct measurements *l, void *block, size_t bytes, struct error *err)
{
    if (block && (l->n_text & (l->n_text - 1)) == 0) { /* capacity doubles at powers of two */
        const size_t cap = l->n_text ? 2 * l->n_text : 1;
        char **text = realloc(l->text, cap * sizeof *text);
        if (!text) {
            free(block);
            return error_oom(err, cap * sizeof *text, "the texts of measurements");
        }
        l->text = text;
    }
    if (!block)
        return error_oom(err, bytes, "a text of a measurement");
    l->text[l->n_text++] = block;
    return 0;
}

const char *measure_copy_text(struct measurements *l, const char *s, struct error *err)
{
    char *copy = strdup(s);
    return measure_keep(l, copy, strlen(s) + 1, err) == 0 ? copy : NULL;
}

void measure_free(struct measurements *l)
{
    for (size_t i = 0; i < l->n_text; i++)
        free(l->text[i]);
    free(l->text);
    free(l->row);
    for (size_t i = 0; i < l->n_table; i++)
        csv_free(&l->table[i]);
    free(l->table);
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
    { FILE_GPU_KERNELS, { "op_name", "kernel_source", "latency" }, gpu_kernels_read },
};

/* Index of the kind with all its columns in the header; the number of kinds: llama-bench; -1: none. */
static int kind_of(const struct csv *c)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        bool all = true;
        for (size_t k = 0; k < 3; k++)
            all &= csv_find(c, kinds[i].column[k]) >= 0;
        if (all)
            return (int)i;
    }
    return csv_find(c, "avg_ts") >= 0 && csv_find(c, "n_prompt") >= 0 ? (int)ARRAY_LEN(kinds) : -1;
}

/* Notes columns that no reader requested. */
static void note_ignored_columns(struct measurements *l)
{
    static const char begin[] = "ignored columns: ";
    for (size_t i = 0; i < l->csv.n_col; i++) {
        const size_t n = strlen(l->note);
        const char *const name = l->csv.header[i].s;
        char text[80];
        if (l->csv.requested[i] || !*name)
            continue;
        snprintf(text, sizeof text, "%s%.32s", n ? ", " : begin, name);
        for (char *p = text; *p; p++)
            *p = (unsigned char)*p < ' ' || *p == 0x7f ? '?' : *p;
        if (n + strlen(text) < sizeof l->note)
            memcpy(l->note + n, text, strlen(text) + 1);
    }
}

/* Reads one table of the file. */
static int read_table(struct measurements *l, const char *name, const char *text, size_t size, uint32_t line, const struct measure_context *x,
                      struct error *err)
{
    if (l->csv.header) { /* the previous table stays: rows point into it */
        struct csv *table = realloc(l->table, (l->n_table + 1) * sizeof *table);
        if (!table)
            return error_oom(err, (l->n_table + 1) * sizeof *table, "tables");
        l->table = table;
        l->table[l->n_table++] = l->csv;
        l->csv = (struct csv){ 0 };
    }
    if (csv_parse_at(&l->csv, name, text, size, line, err) != 0)
        return -1;
    const int kind = kind_of(&l->csv);
    if (kind < 0)
        return error_set(err, ERROR_INPUT,
                         "%s: line %u, column 1: not a file of measurements: expected the columns of throughput.csv (tokens_per_s, "
                         "hardware, phase), gpu_ops.csv (op, m, median_ms), all_reduce.csv (topology, bytes, median_ms), "
                         "serving_silicon.csv (system, silicon_ttft_ms, silicon_tpot_ms) or of gpu_kernels (op_name, kernel_source, latency), found \"%.64s\" first",
                         name, line, l->csv.header[0].s);
    l->file = kind < (int)ARRAY_LEN(kinds) ? kinds[kind].file : FILE_LLAMA_BENCH;
    if (kind == (int)ARRAY_LEN(kinds)) /* its rows note ignored fields themselves */
        return llama_bench_csv(l, x, err);
    const int rc = kinds[kind].read(l, err);
    if (rc == 0)
        note_ignored_columns(l);
    return rc;
}

/* The line is a header of any kind. */
static bool is_header(const char *line, size_t n)
{
    struct csv c;
    struct error ignored = { 0 };
    if (n == 0 || csv_parse(&c, "", line, n, &ignored) != 0)
        return false;
    const bool is = kind_of(&c) >= 0;
    csv_free(&c);
    return is;
}

/* Next header after the first line, or end. A required column of each kind is searched first, as a fast filter. */
static const char *next_header(const char *text, const char *end)
{
    static const char *const marks[] = { "tokens_per_s", "median_ms", "silicon_ttft_ms", "avg_ts", "kernel_source" };
    const char *stop = memchr(text, '\n', (size_t)(end - text));
    while (stop && stop + 1 < end) {
        const char *const line = stop + 1;
        stop = memchr(line, '\n', (size_t)(end - line));
        const size_t n = (size_t)((stop ? stop : end) - line);
        bool marked = false;
        for (size_t i = 0; i < ARRAY_LEN(marks); i++)
            marked |= memmem(line, n, marks[i], strlen(marks[i])) != NULL;
        if (marked && is_header(line, n))
            return line;
    }
    return end;
}

/* One or several tables, each with its own header. */
static int read_csv(struct measurements *l, const char *name, const void *data, size_t size, const struct measure_context *x,
                    struct error *err)
{
    const char *text = data, *const end = text + size;
    uint32_t line = 1;
    do {
        const char *const next = size > 0 ? next_header(text, end) : end;
        if (read_table(l, name, text, (size_t)(next - text), line, x, err) != 0)
            return -1;
        for (; text < next; text++)
            line += *text == '\n';
    } while (text < end);
    return 0;
}

/* ---- which form -------------------------------------------------------------------------------------- */

static int read_object(struct measurements *l, const json_t *o, const struct json_position *at, const struct measure_context *x,
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
    if (batched_bench_is(o)) {
        l->file = FILE_BATCHED_BENCH;
        return batched_bench_json(l, o, at, x, err);
    }
    if (aiperf_is(o)) {
        l->file = FILE_AIPERF;
        return aiperf_json(l, o, at, x, err);
    }
    if (guidellm_is(o)) {
        l->file = FILE_GUIDELLM;
        return guidellm_json(l, o, at, x, err);
    }
    if (vllm_is(o)) {
        l->file = FILE_VLLM;
        return vllm_read(l, o, at, x, err);
    }
    return json_position_error(at, l->name, err, "not a result of llama-bench (avg_ts, n_prompt, model_type), of llama-batched-bench (pp, pl, speed_tg), of vLLM or "
                            "SGLang (completed, total_output_tokens; avg_latency; requests_per_second), of AIPerf (input_sequence_length, "
                            "output_sequence_length), of guidellm (benchmarks) or of roofcast (schema)");
}

/* One document, or an array of documents. */
static int read_document(struct measurements *l, const json_t *j, const char *text, size_t line, const struct measure_context *x,
                         struct error *err)
{
    struct json_position at;
    json_position_init(&at, text, line);
    if (!json_is_array(j))
        return read_object(l, j, &at, x, err);
    json_position_enter(&at);
    for (size_t i = 0; i < json_array_size(j); i++, json_position_next(&at))
        if (read_object(l, json_array_get(j, i), &at, x, err) != 0)
            return -1;
    return 0;
}

/* JSON lines: more than one line begins with a brace. */
static bool is_jsonl(const char *text)
{
    const char *end = strstr(text, "\n{");
    while (end && end > text && strchr(" \t\r\n", end[-1]))
        end--;
    return text[0] == '{' && end && end > text && end[-1] == '}';
}

/* One document per line. */
static int read_lines(struct measurements *l, const char *text, const struct measure_context *x, struct error *err)
{
    size_t line = 1;
    for (const char *p = text; *p; line++) {
        const size_t n = strcspn(p, "\n");
        const bool blank = strspn(p, " \t\r") >= n;
        struct json_position at;
        json_position_init(&at, p, line);
        json_t *j = blank ? NULL : json_load_mem_at(l->name, p, n, line, err);
        const int rc = blank ? 0 : j ? read_object(l, j, &at, x, err) : -1;
        json_decref(j);
        if (rc != 0)
            return -1;
        p += n + (p[n] == '\n');
    }
    return 0;
}

/* Length of the first document; size if its brackets do not close. */
static size_t document_bytes(const char *text, size_t size)
{
    size_t depth = 0;
    bool string = false;
    for (size_t i = 0; i < size; i++) {
        string ^= text[i] == '"';
        i += string && text[i] == '\\';
        if (string || i >= size)
            continue;
        depth += text[i] == '{' || text[i] == '[';
        if ((text[i] == '}' || text[i] == ']') && depth > 0 && --depth == 0)
            return i + 1;
    }
    return size;
}

/* Concatenated documents, as appended by >>. */
static int read_documents(struct measurements *l, const char *text, size_t size, const struct measure_context *x, struct error *err)
{
    size_t line = 1;
    for (const char *p = text, *const end = text + size; p < end;) {
        const size_t n = document_bytes(p, (size_t)(end - p));
        const size_t blank = strspn(p + n, " \t\r\n");
        const bool more = p[n + blank] == '{' || p[n + blank] == '[';
        const size_t bytes = more ? n : (size_t)(end - p); /* trailing text is an error of this document */
        json_t *j = json_load_mem_at(l->name, p, bytes, line, err);
        const int rc = j ? read_document(l, j, p, line, x, err) : -1;
        json_decref(j);
        if (rc != 0)
            return -1;
        const char *const next = more ? p + n + blank : end;
        for (; p < next; p++)
            line += *p == '\n';
    }
    return 0;
}

static int read_text(struct measurements *l, const char *text, size_t size, const struct measure_context *x, struct error *err)
{
    const char *s = text + strspn(text, " \t\r\n");
    if (*s == '{' && is_jsonl(s))
        return read_lines(l, text, x, err);
    if (*s == '{' || *s == '[')
        return read_documents(l, text, size, x, err);
    if (llama_bench_is_sql(text)) {
        l->file = FILE_LLAMA_BENCH;
        return llama_bench_sql(l, text, x, err);
    }
    if (strncmp(s, "| ", 2) == 0 || llama_bench_is_md(s)) {
        l->file = FILE_LLAMA_BENCH;
        return llama_bench_md(l, text, x, err);
    }
    if (strncmp(s, "Metric,", 7) == 0) {
        l->file = FILE_AIPERF;
        return aiperf_read(l, text, x, err);
    }
    if (strstr(s, "\"avg_ts\":"))
        return error_set(err, ERROR_INPUT, "%s: line 1, column 1: expected llama-bench's JSON, found \"%.*s\": do not redirect its "
                         "standard error to the file (2>/dev/null)", l->name, (int)fmin(64, (double)strcspn(s, "\r\n")), s);
    return read_csv(l, l->name, text, size, x, err);
}

/* Sets the weight type of rows without one to --type. */
static int take_type(struct measurements *l, const char *type, struct error *err)
{
    char text[96];
    snprintf(text, sizeof text, "no type in its row: %.40s, from --type", type);
    const char *const quant = measure_copy_text(l, type, err), *const remark = quant ? measure_copy_text(l, text, err) : NULL;
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
    const char *begin = data;
    if (text_begin(name, &begin, &size, err) != 0)
        return -1;
    char *text = malloc(size + 1);
    if (!text)
        return error_oom(err, size + 1, "a file of measurements");
    memcpy(text, begin, size);
    text[size] = 0;
    /* Text with a NUL byte goes to the CSV reader, which reports it. */
    int rc = strlen(text) == size ? read_text(l, text, size, x ? x : &none, err) : read_csv(l, name, begin, size, x ? x : &none, err);
    if (rc == 0 && l->n == 0)
        rc = error_set(err, ERROR_INPUT, "%s: line 1, column 1: expected a measurement, found none in the file", name);
    if (rc == 0 && x && x->type && *x->type)
        rc = take_type(l, x->type, err);
    free(text);
    if (rc != 0)
        measure_free(l);
    else
        csv_free_table(&l->csv); /* rows point into the texts */
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

int measured_context(struct measure_context *x, const struct measured_options *o, struct error *err)
{
    *x = (struct measure_context){ .model = o->model, .type = o->type, .input_len = (double)o->input_len, .output_len = (double)o->output_len,
                                   .batch = (double)o->batch, .tp = (int)o->tp };
    return hwprofile_this_path(&x->hardware, o->hw, err);
}

/* "XiongjieDai/GPU-Benchmarks-on-LLM-Inference README.md" -> before the blank; "QwenLM/Qwen2.5(Qwen3 repo) docs/..." too. */
const char *measure_publisher(const struct measurement *m, char *buf, size_t size)
{
    const char *s = m->source, *blank = strchr(s, ' ');
    if (m->kind == MEASURE_SERVING) { /* "source_file=...; model=...; ..." */
        snprintf(buf, size, "%.*s", (int)strcspn(s, ";"), s);
        return buf;
    }
    const size_t n = strchr(s, '/') && blank && strchr(s, '/') < blank ? (size_t)(blank - s) : strlen(s);
    snprintf(buf, size, "%.*s", (int)(n < size ? n : size - 1), s);
    return buf;
}
