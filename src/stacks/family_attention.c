/* What families of attention share: latencies and peaks of a machine, its last cache, types of the KV cache. methods.md (46) */
#include "stacks/family_attention.h"
#include "dtype/dtype.h"
#include <math.h>

double attention_cycle(const struct family_machine *on)
{
    return pow(FAMILY_CLOCK_HZ / on->clock_hz, 0.75);
}

double attention_peak(const struct family_machine *on, bool compiled)
{
    static const double compiled_flop_cycle = 2048; /* mma.sync of an A100's multiprocessor */
    return fmin(on->peak[MATH_BF16], compiled ? compiled_flop_cycle * on->n_unit * on->clock_hz : INFINITY);
}

double attention_hit(const struct family_machine *on, double bytes, double margin)
{
    return on->cache_bytes > 0 ? fmax(0, fmin(1, 1 - (bytes - on->cache_bytes) / (margin * on->cache_bytes))) : 0;
}

int attention_check(const struct family_machine *on, const struct measurement *m, double *elem_bytes, struct error *err)
{
    enum { ROW = 256 };
    const struct dtype_info *type = dtype_find_name(m->type_k);
    if (!type)
        return error_set(err, ERROR_UNAVAILABLE, "column \"kv_cache_dtype\": no type \"%.64s\" is known", m->type_k);
    if (family_machine_check(on, FAMILY_NEEDS_KERNEL, MATH_BF16, err) != 0)
        return -1;
    if (!(m->batch > 0) || !(m->n_head > 0) || !(m->prompt > 0) || isnan(m->context))
        return error_set(err, ERROR_UNAVAILABLE, "attention needs the columns batch_size, num_heads, isl and step");
    *elem_bytes = (double)dtype_row_bytes(type->id, ROW) / ROW;
    return 0;
}
