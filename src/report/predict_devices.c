/* roofcast predict with a part of the model on the host: what each device holds and does, as rows. methods.md (111) */
#include "report/predict_report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct device_row {
    struct predict_device d;
    double link_bytes_s, copied_bytes_s;
    const char *link_source;
    struct {
        double share;
        const char *bound;
    } of[PHASE_COUNT];
};

#define AT(m) COLUMN_AT(struct device_row, m)
static const struct column predict_device_columns[] = {
    { "device", "device", COL_TEXT, NULL, COL_KEY, AT(d.device), EMPTY_VALUE, "`\"GPU\"` or `\"CPU\"` or `\"PCIe\"`", "the last: the bus between them" },
    { "name", "machine", COL_TEXT, NULL, COL_MAJOR, AT(d.name), EMPTY_NULL, NULL, "its profile" },
    { "weight_bytes", "weights", COL_SI, "B", COL_MAJOR, AT(d.weight_bytes), EMPTY_NULL, NULL, "that it holds; null, as the next ones: the bus" },
    { "kv_bytes", "KV cache", COL_SI, "B", COL_MAJOR, AT(d.kv_bytes), EMPTY_NULL, NULL, NULL },
    { "act_bytes", "buffers", COL_SI, "B", COL_MAJOR, AT(d.act_bytes), EMPTY_NULL, NULL, "activations; on the GPU also room for copied weights" },
    { "need_bytes", "needs", COL_SI, "B", COL_MAJOR, AT(d.need_bytes), EMPTY_NULL, NULL, NULL },
    { "usable_bytes", "memory", COL_SI, "B", COL_MAJOR, AT(d.usable_bytes), EMPTY_NULL, NULL, "memory; null: unknown" },
    { "fits", "fits", COL_BOOL, NULL, COL_MAJOR, AT(d.fits), EMPTY_NULL, NULL, "null: memory unknown, and the bus" },
    { "prefill_s", "prefill", COL_SECONDS, "s", COL_MAJOR, AT(d.phase[PHASE_PREFILL].seconds), EMPTY_NULL, NULL, "of the prompt's seconds; devices and bus work one after another" },
    { "prefill_share", "% of total", COL_FRACTION, "fraction", COL_MAJOR, AT(of[PHASE_PREFILL].share), EMPTY_NULL, NULL, NULL },
    { "prefill_bytes", "bytes", COL_SI, "B", COL_DATA, AT(d.phase[PHASE_PREFILL].bytes), EMPTY_NULL, NULL, "weights and keys read; on the bus: sent" },
    { "prefill_mbu", "MBU", COL_FRACTION, "fraction", COL_MAJOR, AT(d.phase[PHASE_PREFILL].mbu), EMPTY_NULL, NULL,
      "those bytes a second of its own seconds, of the bandwidth of its memory, or of the link" },
    { "prefill_bound", "bound", COL_TEXT, NULL, COL_MAJOR, AT(of[PHASE_PREFILL].bound), EMPTY_NULL, NULL, "`\"memory\"` or `\"compute\"` or `\"launch\"` or `\"link\"`" },
    { "copied_tokens", "copies from", COL_FLOAT, "tokens", COL_DATA, AT(d.copied_tokens), EMPTY_NULL, NULL,
      "passes of so many tokens and more copy the CPU's weights to the GPU; on the bus; null: none does" },
    { "link_bytes_s", NULL, COL_SI, "B/s", COL_DATA, AT(link_bytes_s), EMPTY_NULL, NULL, "rate of the bus's link; null, as the next ones: devices" },
    { "copied_bytes_s", NULL, COL_SI, "B/s", COL_DATA, AT(copied_bytes_s), EMPTY_NULL, NULL, "at which the CPU's weights are copied: from pageable memory, or with `--no-mmap` from "
      "page-locked memory" },
    { "link_source", NULL, COL_TEXT, NULL, COL_DATA, AT(link_source), EMPTY_NULL, NULL, "of `link_bytes_s`" },
    { "decode_s", "decode", COL_SECONDS, "s", COL_MAJOR, AT(d.phase[PHASE_DECODE].seconds), EMPTY_NULL, NULL, "of a step's seconds" },
    { "decode_share", "% of total", COL_FRACTION, "fraction", COL_MAJOR, AT(of[PHASE_DECODE].share), EMPTY_NULL, NULL, NULL },
    { "decode_bytes", "bytes", COL_SI, "B", COL_DATA, AT(d.phase[PHASE_DECODE].bytes), EMPTY_NULL, NULL, NULL },
    { "decode_mbu", "MBU", COL_FRACTION, "fraction", COL_MAJOR, AT(d.phase[PHASE_DECODE].mbu), EMPTY_NULL, NULL, NULL },
    { "decode_bound", "bound", COL_TEXT, NULL, COL_MAJOR, AT(of[PHASE_DECODE].bound), EMPTY_NULL, NULL, NULL },
};
#undef AT
const struct table_fields predict_device_fields = { "predict.device", predict_device_columns, ARRAY_LEN(predict_device_columns) };

int predict_put_devices(struct predict_row *w, const struct subject *s, struct error *err)
{
    if (!s->r.device || s->reason)
        return 0;
    w->devices = malloc(DEVICE_COUNT * sizeof *w->devices);
    if (!w->devices)
        return error_oom(err, DEVICE_COUNT * sizeof *w->devices, "devices");
    memcpy(w->devices, s->r.device, DEVICE_COUNT * sizeof *w->devices);
    return 0;
}

static void add_rows(struct table_rows *rows, const struct predict_row *w)
{
    for (int i = 0; i < DEVICE_COUNT; i++) {
        struct device_row *r = table_add(rows);
        r->d = w->devices[i];
        r->link_bytes_s = i == DEVICE_BUS ? r->d.bus.peak_bytes_s : NAN;
        r->copied_bytes_s = i == DEVICE_BUS ? r->d.bus.copied_bytes_s : NAN;
        r->link_source = i == DEVICE_BUS ? w->devices[i].bus.source : NULL;
        for (int p = 0; p < PHASE_COUNT; p++) {
            double all_s = 0;
            for (int k = 0; k < DEVICE_COUNT; k++)
                all_s += w->devices[k].phase[p].seconds;
            const bool works = r->d.phase[p].seconds > 0;
            r->of[p].share = all_s > 0 ? r->d.phase[p].seconds / all_s : NAN;
            r->of[p].bound = works ? bound_name(r->d.phase[p].bound) : NULL;
            if (!(all_s > 0))
                r->d.phase[p].seconds = r->d.phase[p].bytes = r->d.phase[p].mbu = NAN;
        }
    }
}

void predict_nest_devices(struct table_rows *rows, struct predict_row *w)
{
    struct table_rows own = { .size = sizeof(struct device_row) };
    add_rows(&own, w);
    w->devices_json = table_keep_json(rows, table_rows_json(&(struct table){ .cols = predict_device_columns, .n_cols = ARRAY_LEN(predict_device_columns), .rows = &own }));
    table_rows_free(&own);
}

/* "Passes of 32 tokens and more copy ...". */
static void print_order(double tokens)
{
    report_text(0, "\nDevices and bus work one after another: seconds add up. ");
    if (tokens > 0)
        report_text(0, "Passes of %.0f tokens and more copy the CPU's weights to the GPU, unless\n--no-op-offload; others are multiplied where they are.\n", ceil(tokens));
    else
        report_text(0, "Weights are multiplied where they are.\n");
}

/* The bus, and what makes it faster or, of the machine as it is, slower. */
static void print_bus(const struct predict_device *devices, bool changed)
{
    const struct predict_device *d = &devices[DEVICE_BUS];
    const struct offload_bus *b = &d->bus;
    char rate[40], copied[40];
    report_text(0, "PCIe of %s: %s, %s.\n", devices[DEVICE_GPU].name, units_si(rate, sizeof rate, b->peak_bytes_s, "B/s"), b->source);
    if (!(d->copied_tokens > 0))
        return;
    if (!b->pinned)
        report_text(0, "Weights are copied from pageable memory, the mapped file, at %s: --no-mmap page-locks them.\n", units_si(copied, sizeof copied, b->copied_bytes_s, "B/s"));
    else if (b->of_profile && !changed)
        report_text(0, "A card in a narrower slot: --what-if link=x0.5.\n");
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool same_device(const struct predict_device *a, const struct predict_device *b)
{
    bool is = strcmp(a->name, b->name) == 0 && same(a->weight_bytes, b->weight_bytes) && same(a->kv_bytes, b->kv_bytes) && same(a->act_bytes, b->act_bytes) &&
              same(a->need_bytes, b->need_bytes) && same(a->usable_bytes, b->usable_bytes) && a->fits == b->fits && same(a->copied_tokens, b->copied_tokens) &&
              a->bus.peak_bytes_s == b->bus.peak_bytes_s;
    for (int p = 0; p < PHASE_COUNT; p++)
        is = is && a->phase[p].seconds == b->phase[p].seconds && a->phase[p].bytes == b->phase[p].bytes && a->phase[p].bound == b->phase[p].bound;
    return is;
}

/* Rows of one scenario share their devices. */
static bool same_devices(const struct predict_row *a, const struct predict_row *b)
{
    bool is = a->devices != NULL;
    for (int i = 0; i < DEVICE_COUNT && is; i++)
        is = same_device(&a->devices[i], &b->devices[i]);
    return is;
}

/* "Does not fit rtx-4090: needs 40.1 GB of 25.8 GB. --n-cpu-moe auto or -ngl auto find what fits."; a host of unknown memory and its need. */
static void print_missing(const struct predict_row *w)
{
    char a[40], b[40];
    for (int i = 0; i < DEVICE_BUS; i++)
        if (w->devices[i].fits == 0)
            report_text(0, "Does not fit %s: needs %s of %s.%s\n", w->devices[i].name, units_si(a, sizeof a, w->devices[i].need_bytes, "B"),
                        units_si(b, sizeof b, w->devices[i].usable_bytes, "B"),
                        i == DEVICE_GPU ? " --n-cpu-moe auto and -ngl auto find what fits." : " Weights are then read from the file at every step.");
        else if (w->devices[i].fits < 0)
            report_text(0, "Memory of %s: unknown; it needs %s.\n", w->devices[i].name, units_si(a, sizeof a, w->devices[i].need_bytes, "B"));
}

/* Whether an earlier row has the bus of row i. */
static bool has_bus(const struct table_rows *rows, size_t i)
{
    const struct predict_device *d = ((const struct predict_row *)table_row(rows, i))->devices;
    for (size_t k = 0; k < i; k++) {
        const struct predict_device *e = ((const struct predict_row *)table_row(rows, k))->devices;
        if (e && strcmp(e[DEVICE_GPU].name, d[DEVICE_GPU].name) == 0 && same(e[DEVICE_BUS].bus.peak_bytes_s, d[DEVICE_BUS].bus.peak_bytes_s) &&
            same(e[DEVICE_BUS].copied_tokens, d[DEVICE_BUS].copied_tokens))
            return true;
    }
    return false;
}

int predict_print_devices(const struct table_rows *rows, enum report_format format, struct error *err)
{
    int rc = 0;
    double tokens = 0;
    bool any = false;
    for (size_t i = 0; i < rows->n && rc == 0; i++) {
        const struct predict_row *w = table_row(rows, i);
        struct table_rows own = { .size = sizeof(struct device_row) };
        if (!w->devices || (i > 0 && same_devices(table_row(rows, i - 1), w)))
            continue;
        add_rows(&own, w);
        any = true;
        tokens = fmax(tokens, w->devices[DEVICE_BUS].copied_tokens);
        report_text(0, "\nDevices of %s%s%s: %s\n\n", w->hw, w->what_if ? " with " : "", w->what_if ? w->what_if : "", w->layout);
        fflush(stdout);
        rc = report_write(NULL, format, &(struct table){ .cols = predict_device_columns, .n_cols = ARRAY_LEN(predict_device_columns), .rows = &own }, err);
        print_missing(w);
        table_rows_free(&own);
    }
    if (any)
        print_order(tokens);
    for (size_t i = 0; i < rows->n && rc == 0; i++) {
        const struct predict_row *w = table_row(rows, i);
        if (w->devices && !has_bus(rows, i))
            print_bus(w->devices, w->what_if != NULL);
    }
    return rc;
}
