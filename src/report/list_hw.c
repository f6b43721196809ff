/* The rows of `roofcast list hw`. */
#include "base/environment.h"
#include "base/notify.h"
#include "config.h"
#include "report/list.h"
#include <math.h>

#define N_THREADS_ALL (1 << 20) /* more than any machine: the ceiling of most threads */

const struct column list_hw_cols[] = {
    { "id", "hardware", COL_TEXT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "name", "name", COL_TEXT, "", COL_MEDIUM, COLUMN_BY_KEY },
    { "kind", "kind", COL_TEXT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "vendor", "vendor", COL_TEXT, "", COL_DATA, COLUMN_BY_KEY },
    { "memory_bytes", "memory", COL_SI, "B", COL_MAJOR, COLUMN_BY_KEY },
    { "bandwidth_bytes_s", "bandwidth", COL_SI, "B/s", COL_MAJOR, COLUMN_BY_KEY },
    { "peak_flop_s", "best peak", COL_SI, "FLOP/s", COL_MAJOR, COLUMN_BY_KEY },
    { "peak_math", "of", COL_TEXT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "n_ceilings", "measured roofs", COL_INT, "", COL_MINOR, COLUMN_BY_KEY },
    { "link", "link", COL_TEXT, "", COL_DATA, COLUMN_BY_KEY },
    { "link_bytes_s", "link", COL_SI, "B/s", COL_DATA, COLUMN_BY_KEY },
    { "link_devices", "joins", COL_INT, "", COL_DATA, COLUMN_BY_KEY },
    { "file", "file", COL_TEXT, "", COL_DATA, COLUMN_BY_KEY },
};
const size_t list_n_hw_cols = ARRAY_LEN(list_hw_cols);

static const char *kind_name(enum hw_kind k)
{
    switch (k) {
    case HW_CPU:
        return "cpu";
    case HW_GPU:
        return "gpu";
    case HW_APU:
        return "apu";
    case HW_NPU:
        return "npu";
    }
    return "?";
}

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

static json_t *alias_array(const struct hwprofile *h)
{
    json_t *a = json_array();
    for (size_t i = 0; i < h->n_alias; i++)
        if (json_array_append_new(a, json_string(h->alias[i])) != 0) {
            json_decref(a);
            return NULL;
        }
    return a;
}

static int hw_row(json_t *rows, const char *id, const struct hwprofile *h, struct error *err)
{
    const struct ceiling *bw = hwprofile_bandwidth(h, "DRAM", N_THREADS_ALL);
    const struct hw_link *link = h->n_link ? &h->link[0] : NULL;
    const char *math = NULL;
    double peak = best_peak(h, &math);
    json_t *j = json_pack("{s:s, s:s, s:s, s:s?, s:o, s:o, s:o, s:s?, s:i, s:s?, s:o, s:o, s:o, s:o}", "id", id, "name",
                          h->name, "kind", kind_name(h->kind), "vendor", h->vendor[0] ? h->vendor : NULL, "memory_bytes",
                          json_num(h->mem_bytes.value), "bandwidth_bytes_s", json_num(bw ? bw->value : h->mem_bw.value),
                          "peak_flop_s", json_num(peak), "peak_math", math, "n_ceilings", (int)h->n_ceiling, "link",
                          link ? link->name : NULL, "link_bytes_s", json_num(link ? link->bytes_s.value : NAN),
                          "link_devices", link && link->n_devices ? json_integer(link->n_devices) : json_null(), "aliases",
                          alias_array(h), "file", json_text(h->path));
    return list_add_row(rows, j, err);
}

static int hw_load_row(json_t *rows, const char *id, struct error *err)
{
    struct hwprofile h;
    struct error e = { 0 };
    if (hwprofile_open(&h, id, &e) != 0) {
        if (e.kind != ERROR_INPUT && e.kind != ERROR_UNAVAILABLE)
            return error_set(err, e.kind, "%s", e.msg);
        notify_warn("%s", e.msg);
        return 0;
    }
    int rc = hw_row(rows, id, &h, err);
    hwprofile_free(&h);
    return rc;
}

int list_hw(json_t *rows, struct error *err)
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
