/* Rows of any file: told apart by header, kept, freed. */
#include "measure/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
        .id = "", .source = "", .hardware = "", .engine = "", .version = "", .model = "", .quant = "", .date = "",
        .notes = "", .n_devices = 1, .params_b = NAN, .weight_gib = NAN, .prompt = NAN, .context = NAN, .batch = NAN,
        .out = NAN, .concurrency = NAN, .type_k = "", .type_v = "", .op = "", .m = NAN, .k = NAN, .n = NAN,
        .topology = "", .per_node = NAN, .bytes = NAN, .mode = "", .prefill = no_layout, .decode = no_layout,
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
    char **text = realloc(l->text, (l->n_text + 1) * sizeof *text);
    if (text)
        l->text = text;
    char *copy = text ? strdup(s) : NULL;
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

static int read_csv(struct measurements *l, const char *name, const void *data, size_t size, struct error *err)
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
    return error_set(err, ERROR_INPUT,
                     "%s: line 1, column 1: not a file of measurements: expected the columns of throughput.csv (tokens_per_s, "
                     "hardware, phase), gpu_ops.csv (op, m, median_ms), all_reduce.csv (topology, bytes, median_ms) or "
                     "serving_silicon.csv (system, silicon_ttft_ms, silicon_tpot_ms), found \"%.64s\" first",
                     name, l->csv.header[0].s);
}

int measure_parse(struct measurements *l, const char *name, const void *data, size_t size,
                  const struct measure_context *x, struct error *err)
{
    (void)x;
    *l = (struct measurements){ 0 };
    snprintf(l->name, sizeof l->name, "%s", name);
    if (read_csv(l, name, data, size, err) == 0)
        return 0;
    measure_free(l);
    return -1;
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
