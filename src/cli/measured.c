/* Options that complete files of measurements. */
#include "cli/measured.h"
#include "cli/pricing.h"

int measured_parse(int key, const char *arg, struct measured_options *o, struct error *err)
{
    enum { MOST = 100000000, MOST_BATCH = 65536, MOST_DEVICES = 4096 };
    switch (key) {
    case MEASURED_HW:
        return cli_text(&o->hw, arg);
    case MEASURED_MODEL:
        return cli_text(&o->model, arg);
    case MEASURED_TYPE:
        if (!model_knows_type(arg) && !dtype_find_name(arg) && !quant_find(arg, stack_named("vllm")).known)
            return error_set(err, ERROR_USAGE, "--type: no type \"%.64s\" (`roofcast list types`)", arg);
        return cli_text(&o->type, arg);
    case MEASURED_INPUT:
        return parse_int(arg, 1, MOST, "--input-len", &o->input_len, err);
    case MEASURED_OUTPUT:
        return parse_int(arg, 1, MOST, "--output-len", &o->output_len, err);
    case MEASURED_BATCH:
        return parse_int(arg, 1, MOST_BATCH, "--batch-size", &o->batch, err);
    case MEASURED_TP:
        return parse_int(arg, 1, MOST_DEVICES, "--tp", &o->tp, err);
    default:
        return CLI_UNKNOWN;
    }
}

int measured_open(struct measured *m, const char *file, const char *hardware, const struct measured_options *o, struct error *err)
{
    struct measure_context x;
    *m = (struct measured){ .p = NULL };
    if (measured_context(&x, o, err) != 0 || measure_load(&m->l, file, &x, err) != 0)
        return -1;
    if (*m->l.note)
        notify_note("%s: %s", file, m->l.note);
    if (hardware && measure_hws_load(&m->hws, hardware, err) != 0)
        return -1;
    m->p = workload_builder_new(hardware ? &m->hws : NULL, x.hardware, err);
    m->rows = m->p ? workload_rows(&m->l, m->p, err) : NULL;
    return m->rows ? 0 : -1;
}

void measured_close(struct measured *m)
{
    workload_rows_free(m->rows, m->l.n);
    workload_builder_free(m->p);
    measure_hws_free(&m->hws);
    measure_free(&m->l);
}
