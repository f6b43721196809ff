/* The rows of `roofcast list hw`. */
#include "base/environment.h"
#include "base/notify.h"
#include "config.h"
#include "report/list.h"
#include <math.h>

#define N_THREADS_ALL (1 << 20) /* more than any machine: the ceiling of most threads */

#define AT(m) COLUMN_AT(struct list_row, m)
static const struct column columns[] = {
    { "id", "hardware", COL_TEXT, NULL, COL_MAJOR, AT(id), EMPTY_VALUE, NULL, "for `--hw`; `this`: the measured profile of this machine" },
    { "name", "name", COL_TEXT, NULL, COL_MEDIUM, AT(name), EMPTY_VALUE, NULL, NULL },
    { "kind", "kind", COL_TEXT, NULL, COL_MAJOR, AT(kind), EMPTY_VALUE, "`\"cpu\"` or `\"gpu\"` or `\"apu\"` or `\"npu\"`", NULL },
    { "vendor", "vendor", COL_TEXT, NULL, COL_DATA, AT(vendor), EMPTY_NULL, NULL, NULL },
    { "memory_bytes", "memory", COL_SI, "B", COL_MAJOR, AT(memory_bytes), EMPTY_NULL, NULL, NULL },
    { "bandwidth_bytes_s", "bandwidth", COL_SI, "B/s", COL_MAJOR, AT(bandwidth_bytes_s), EMPTY_NULL, NULL, "measured, else the datasheet's" },
    { "peak_flop_s", "best peak", COL_SI, "FLOP/s", COL_MAJOR, AT(peak_flop_s), EMPTY_NULL, NULL, "highest dense peak of `fp16`, `bf16`, `tf32`, `fp32`" },
    { "peak_math", "of", COL_TEXT, NULL, COL_MAJOR, AT(peak_math), EMPTY_NULL, NULL, "which of them" },
    { "n_ceilings", "measured roofs", COL_INT, NULL, COL_MINOR, AT(n_ceilings), EMPTY_VALUE, NULL, "measured roofs in the profile" },
    { "link", "link", COL_TEXT, NULL, COL_DATA, AT(link), EMPTY_NULL, NULL, "fastest link to others of its kind" },
    { "link_bytes_s", "link", COL_SI, "B/s", COL_DATA, AT(link_bytes_s), EMPTY_NULL, NULL, "of it, one direction" },
    { "link_devices", "joins", COL_INT, NULL, COL_DATA, AT(link_devices), EMPTY_NULL, NULL, "devices it connects at most; null: any number, or no link" },
    { "aliases", NULL, COL_TEXT, NULL, COL_JSON, AT(nested), EMPTY_VALUE, "array of string", "further names" },
    { "file", "file", COL_TEXT, NULL, COL_DATA, AT(file), EMPTY_VALUE, NULL, NULL },
};
#undef AT

/* The highest dense floating-point peak of 16 bits or more, measured where it was. NaN: none. */
static double best_peak(const struct hwprofile *h, const char **math)
{
    static const enum math candidates[] = { MATH_FP16, MATH_BF16, MATH_TF32, MATH_FP32 };
    double best = NAN;
    for (size_t i = 0; i < ARRAY_LEN(candidates); i++) {
        const struct ceiling *c = hwprofile_peak(h, candidates[i], N_THREADS_ALL);
        double v = c ? c->value : h->peak[candidates[i]].value;
        if (isnan(best) || v > best) {
            best = v;
            *math = isnan(v) ? NULL : math_name(candidates[i]);
        }
    }
    return best;
}

static void hw_row(struct table_rows *rows, const char *id, const struct hwprofile *h)
{
    const struct ceiling *bw = hwprofile_bandwidth(h, "DRAM", N_THREADS_ALL);
    const struct hw_link *link = h->n_link ? &h->link[0] : NULL;
    json_t *aliases = json_array();
    struct list_row *w = table_add(rows);
    w->id = table_text(rows, id);
    w->name = table_text(rows, h->name);
    w->kind = hw_kind_name(h->kind);
    w->vendor = table_text(rows, h->vendor);
    w->memory_bytes = h->mem_bytes.value;
    w->bandwidth_bytes_s = bw ? bw->value : h->mem_bw.value;
    w->peak_flop_s = best_peak(h, &w->peak_math);
    w->n_ceilings = (uint32_t)h->n_ceiling;
    w->link = link ? table_text(rows, link->name) : NULL;
    w->link_bytes_s = link ? link->bytes_s.value : NAN;
    w->link_devices = link ? (uint32_t)link->n_devices : 0;
    for (size_t i = 0; i < h->n_alias; i++)
        json_array_append_new(aliases, json_text(h->alias[i]));
    w->nested = table_keep_json(rows, aliases);
    w->file = table_text(rows, h->path);
    w->n_params = NAN;
}

static int hw_load_row(struct table_rows *rows, const char *id, struct error *err)
{
    struct hwprofile h;
    struct error e = { 0 };
    if (hwprofile_open(&h, id, &e) != 0) {
        if (e.kind != ERROR_INPUT && e.kind != ERROR_UNAVAILABLE)
            return error_set(err, e.kind, "%s", e.msg);
        notify_warn("%s", e.msg);
        return 0;
    }
    hw_row(rows, id, &h);
    hwprofile_free(&h);
    return 0;
}

static int add_rows(struct table_rows *rows, struct error *err)
{
    char **names;
    size_t n;
    int rc = hwprofile_list(&names, &n, err);
    if (rc != 0)
        return -1;
    if (environment()->profile_path && file_exists(environment()->profile_path))
        rc = hw_load_row(rows, "this", err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = hw_load_row(rows, names[i], err);
    name_list_free(names, n);
    return rc;
}

const struct list list_hw = { columns, ARRAY_LEN(columns), NULL, sizeof(struct list_row), add_rows };
