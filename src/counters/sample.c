/* counters/sample.c: names of fields and classes; sample arithmetic. */
#include "counters/internal.h"

const char *counter_field_name(enum counter_field f)
{
    static const char *const names[COUNTER_FIELD_COUNT] = {
        [COUNTER_CYCLES] = "cycles",
        [COUNTER_INSTRUCTIONS] = "instructions",
        [COUNTER_FLOP] = "flop",
        [COUNTER_BF16_FLOP] = "bf16_flop",
        [COUNTER_INT8_OPS] = "int8_ops",
        [COUNTER_L1_FILL_BYTES] = "l1_fill_bytes",
        [COUNTER_L2_FILL_BYTES] = "l2_fill_bytes",
        [COUNTER_L3_FILL_BYTES] = "l3_fill_bytes",
        [COUNTER_DRAM_READ_BYTES] = "dram_read_bytes",
        [COUNTER_DRAM_WRITE_BYTES] = "dram_write_bytes",
        [COUNTER_DRAM_BYTES] = "dram_bytes",
        [COUNTER_TASK_CLOCK_NS] = "task_clock_ns",
        [COUNTER_CONTEXT_SWITCHES] = "context_switches",
        [COUNTER_PAGE_FAULTS] = "page_faults",
        [COUNTER_SW_BYTES] = "sw_bytes",
        [COUNTER_SW_FLOP] = "sw_flop",
        [COUNTER_SW_TOKENS] = "sw_tokens",
    };
    return (unsigned)f < COUNTER_FIELD_COUNT ? names[f] : "?";
}

const char *counter_class_name(enum counter_class k)
{
    switch (k) {
    case COUNTER_UNCHECKED:
        return "unchecked";
    case COUNTER_EXACT:
        return "exact";
    case COUNTER_SCALED:
        return "scaled";
    case COUNTER_POLLUTED:
        return "polluted";
    case COUNTER_DEAD:
        return "dead";
    }
    return "?";
}

bool counter_field_is_sw(enum counter_field f)
{
    return f == COUNTER_SW_BYTES || f == COUNTER_SW_FLOP || f == COUNTER_SW_TOKENS;
}

void counter_sample_diff(struct counter_sample *out, const struct counter_sample *a,
                         const struct counter_sample *b)
{
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++) {
        /* A decreasing count is invalid. */
        bool valid = a->valid[f] && b->valid[f] && b->value[f] >= a->value[f];
        out->value[f] = valid ? b->value[f] - a->value[f] : 0;
        out->valid[f] = valid;
    }
}

void counter_sample_add(struct counter_sample *sum, const struct counter_sample *s)
{
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++) {
        sum->valid[f] = sum->valid[f] && s->valid[f];
        sum->value[f] = sum->valid[f] ? sum->value[f] + s->value[f] : 0;
    }
}

/* Read + write when the backend has no event for the sum. */
void counters_derive(const struct counters *c, struct counter_sample *out)
{
    for (size_t i = 0; i < c->n_event; i++)
        if (c->event[i].field == COUNTER_DRAM_BYTES)
            return;
    out->valid[COUNTER_DRAM_BYTES] = out->valid[COUNTER_DRAM_READ_BYTES] && out->valid[COUNTER_DRAM_WRITE_BYTES];
    out->value[COUNTER_DRAM_BYTES] =
        out->valid[COUNTER_DRAM_BYTES] ? out->value[COUNTER_DRAM_READ_BYTES] + out->value[COUNTER_DRAM_WRITE_BYTES] : 0;
}

void counters_join(const struct counters *c, const struct counter_sample *part, struct counter_sample *out)
{
    *out = (struct counter_sample){ 0 };
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++) {
        bool in[COUNTER_SET_MAX] = { false }, valid = c->valid[f], any = false;
        for (size_t i = 0; i < c->n_event; i++)
            if (c->event[i].field == (enum counter_field)f)
                in[c->event[i].set] = true;
        for (int s = 0; s < c->n_set; s++) {
            any |= in[s];
            valid = valid && (!in[s] || part[s].valid[f]);
            out->value[f] += in[s] ? part[s].value[f] : 0;
        }
        out->valid[f] = valid && any;
        out->value[f] = out->valid[f] ? out->value[f] : 0;
    }
    counters_derive(c, out);
}
