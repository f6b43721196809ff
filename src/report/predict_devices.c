/* roofcast predict with a part of the model on the host: what each device holds and does, as rows. methods.md (111) */
#include "report/predict_report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct device_row {
    struct predict_device d;
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
    { "usable_bytes", "of", COL_SI, "B", COL_MAJOR, AT(d.usable_bytes), EMPTY_NULL, NULL, "memory; null: unknown" },
    { "fits", "fits", COL_BOOL, NULL, COL_MAJOR, AT(d.fits), EMPTY_NULL, NULL, NULL },
    { "prefill_s", "prefill", COL_SECONDS, "s", COL_MAJOR, AT(d.phase[PHASE_PREFILL].seconds), EMPTY_NULL, NULL, "of the prompt's seconds; devices and bus work one after another" },
    { "prefill_share", "% of it", COL_FRACTION, "fraction", COL_MAJOR, AT(of[PHASE_PREFILL].share), EMPTY_NULL, NULL, NULL },
    { "prefill_bytes", "read or sent", COL_SI, "B", COL_DATA, AT(d.phase[PHASE_PREFILL].bytes), EMPTY_NULL, NULL, "weights and keys read; on the bus: sent" },
    { "prefill_mbu", "MBU", COL_FRACTION, "fraction", COL_MAJOR, AT(d.phase[PHASE_PREFILL].mbu), EMPTY_NULL, NULL,
      "those bytes a second of its own seconds, of the bandwidth of its memory, or of the link" },
    { "prefill_bound", "bound", COL_TEXT, NULL, COL_MAJOR, AT(of[PHASE_PREFILL].bound), EMPTY_NULL, NULL, "`\"memory\"` or `\"compute\"` or `\"launch\"` or `\"link\"`" },
    { "copied_tokens", "copies from", COL_FLOAT, "tokens", COL_DATA, AT(d.copied_tokens), EMPTY_NULL, NULL,
      "passes of so many tokens and more copy the CPU's weights to the GPU; on the bus; null: none does" },
    { "decode_s", "decode", COL_SECONDS, "s", COL_MAJOR, AT(d.phase[PHASE_DECODE].seconds), EMPTY_NULL, NULL, "of a step's seconds" },
    { "decode_share", "% of it", COL_FRACTION, "fraction", COL_MAJOR, AT(of[PHASE_DECODE].share), EMPTY_NULL, NULL, NULL },
    { "decode_bytes", "read or sent", COL_SI, "B", COL_DATA, AT(d.phase[PHASE_DECODE].bytes), EMPTY_NULL, NULL, NULL },
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
        report_text(0, "Passes of %.0f tokens and more copy the CPU's weights to the GPU, unless\n--no-op-offload; others are multiplied where they are. ", ceil(tokens));
    else
        report_text(0, "Weights are multiplied where they are.\n");
    report_text(0, "PCIe: of the GPU's profile (a card in a narrower slot: --what-if link=x0.5).\n");
}

/* Rows of one scenario share their devices. */
static bool same_devices(const struct predict_row *a, const struct predict_row *b)
{
    return a->devices && memcmp(a->devices, b->devices, DEVICE_COUNT * sizeof *a->devices) == 0;
}

/* "Does not fit rtx-4090: needs 40.1 GB of 25.8 GB. --n-cpu-moe auto or -ngl auto find what fits." */
static void print_missing(const struct predict_row *w)
{
    char a[40], b[40];
    for (int i = 0; i < DEVICE_BUS; i++)
        if (w->devices[i].fits == 0)
            report_text(0, "Does not fit %s: needs %s of %s.%s\n", w->devices[i].name, units_si(a, sizeof a, w->devices[i].need_bytes, "B"),
                        units_si(b, sizeof b, w->devices[i].usable_bytes, "B"),
                        i == DEVICE_GPU ? " --n-cpu-moe auto and -ngl auto find what fits." : " Weights are then read from the file at every step.");
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
    return rc;
}
