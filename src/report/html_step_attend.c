/* Attention with its own constants: its calls against the context. methods.md (46) */
#include "report/html_step_data.h"
#include <stddef.h>
#include <stdlib.h>

#define OF_ATTEND(member) { #member, offsetof(struct time_attend, member) }
static const struct step_feature of_call[] = {
    OF_ATTEND(units),     OF_ATTEND(processors), OF_ATTEND(most_splits), OF_ATTEND(split_keys), OF_ATTEND(tile_keys),
    OF_ATTEND(block_s),   OF_ATTEND(key_s),      OF_ATTEND(start_s),     OF_ATTEND(combine_s),  OF_ATTEND(split_s),
    OF_ATTEND(byte_s),    OF_ATTEND(compute_key_s), OF_ATTEND(sharp),    OF_ATTEND(flop_key),
};

void step_attend_names_write(struct strbuf *b)
{
    step_features_write(b, "attend", of_call, ARRAY_LEN(of_call));
}

/* The call at a context: its number; SIZE_MAX: out of memory, or no such call. */
static size_t write_attend(struct step_data *d, const struct step_sample *s, const struct op_class *c, uint32_t context, struct error *err)
{
    struct strbuf b = { 0 };
    struct time_attend a;
    const struct pass p = step_pass_of(s, context);
    if (!pass_attend(&a, s->all, c, s->roofs, &p)) {
        error_set(err, ERROR_INPUT, "cannot step through: attention has constants of its own at some contexts only");
        return SIZE_MAX;
    }
    for (size_t i = 0; i < ARRAY_LEN(of_call); i++) {
        strbuf_addf(&b, "%c%.12g", i > 0 ? ',' : '[', step_feature_get(&a, &of_call[i]));
    }
    strbuf_adds(&b, "]");
    return step_pool_add(&d->attend, &b, err);
}

/* The first context of (from, to] whose call is that at `to`. */
static uint32_t first_of(struct step_data *d, const struct step_sample *s, const struct op_class *c, uint32_t from, uint32_t to, size_t number,
                         struct error *err)
{
    while (to - from > 1) {
        const uint32_t middle = from + (to - from) / 2;
        if (write_attend(d, s, c, middle, err) == number)
            to = middle;
        else
            from = middle;
    }
    return to;
}

/* "[class,first context,call,first context,call,...]" */
static int write_calls(struct strbuf *b, struct step_data *d, const struct step_sample *s, size_t of, struct error *err)
{
    const struct op_class *c = &s->all->c[of];
    size_t before = write_attend(d, s, c, 0, err);
    uint32_t last = 0;
    strbuf_addf(b, "[%zu,0,%zu", of, before);
    for (size_t i = 0; before != SIZE_MAX && i <= STEP_SEEDS; i++) {
        const uint32_t x = i < STEP_SEEDS && step_seeds[i] < s->n_context ? step_seeds[i] : s->n_context;
        const size_t here = x > last ? write_attend(d, s, c, x, err) : before;
        if (here != before && here != SIZE_MAX)
            strbuf_addf(b, ",%u,%zu", first_of(d, s, c, last, x, here, err), here);
        before = here;
        last = x;
    }
    strbuf_adds(b, "]");
    return before == SIZE_MAX ? -1 : 0;
}

static bool has_own(const struct step_sample *s, const struct op_class *c)
{
    struct time_attend unused;
    const struct pass p = step_pass_of(s, 1);
    return s->phase == PHASE_DECODE && pass_attend(&unused, s->all, c, s->roofs, &p);
}

int step_attention_write(struct strbuf *b, struct step_data *d, const struct step_sample *s, struct error *err)
{
    int rc = 0;
    const char *comma = "";
    strbuf_adds(b, "[");
    for (size_t i = 0; i < s->all->n && rc == 0; i++) {
        if (!has_own(s, &s->all->c[i]))
            continue;
        strbuf_adds(b, comma);
        rc = write_calls(b, d, s, i, err);
        comma = ",";
    }
    strbuf_adds(b, "]");
    return rc;
}

int step_without_own(struct step_model *out, const struct step_model *s, const struct roofs *r, struct error *err)
{
    const struct step_sample x = { .all = s, .roofs = r, .phase = PHASE_DECODE, .n_tok = 1, .n_seq = 1 };
    *out = *s;
    out->n = 0;
    if (!(out->c = calloc(s->n + 1, sizeof *out->c)))
        return error_oom(err, s->n * sizeof *out->c, "the data of the section");
    for (size_t i = 0; i < s->n; i++)
        if (!has_own(&x, &s->c[i]))
            out->c[out->n++] = s->c[i];
    return 0;
}
