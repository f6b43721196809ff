/* What a saved run has beyond its figures. */
#include "report/serving_saved.h"
#include <math.h>

/* ---- classes of steps ------------------------------------------------------------------------------------- */

struct step_row {
    uint32_t decode_lo, decode_hi, prompt_lo, prompt_hi;
    uint64_t n;
    double decode_tok, prompt_tok, step_s, total_s, bytes, flop;
};

#define AT(m) COLUMN_AT(struct step_row, m)
static const struct column step_columns[] = {
    { "decode_lo", NULL, COL_INT, "tokens", COL_DATA, AT(decode_lo), EMPTY_VALUE, NULL, "the class: decode tokens of a step, drafts included" },
    { "decode_hi", NULL, COL_INT, "tokens", COL_DATA, AT(decode_hi), EMPTY_VALUE, NULL, NULL },
    { "prompt_lo", NULL, COL_INT, "tokens", COL_DATA, AT(prompt_lo), EMPTY_VALUE, NULL, "and tokens of prompts" },
    { "prompt_hi", NULL, COL_INT, "tokens", COL_DATA, AT(prompt_hi), EMPTY_VALUE, NULL, NULL },
    { "n", NULL, COL_INT, NULL, COL_DATA, AT(n), EMPTY_VALUE, NULL, "steps" },
    { "decode_tok", NULL, COL_FLOAT, "tokens", COL_DATA, AT(decode_tok), EMPTY_NULL, NULL, "of a step, mean" },
    { "prompt_tok", NULL, COL_FLOAT, "tokens", COL_DATA, AT(prompt_tok), EMPTY_NULL, NULL, NULL },
    { "step_s", NULL, COL_SECONDS, "s", COL_DATA, AT(step_s), EMPTY_NULL, NULL, "of a step, mean" },
    { "total_s", NULL, COL_SECONDS, "s", COL_DATA, AT(total_s), EMPTY_NULL, NULL, "of all of them" },
    { "bytes", NULL, COL_SI, "B", COL_DATA, AT(bytes), EMPTY_ZERO, NULL, "of a step, mean: weights and KV cache, on a device, counted by the engine or by the step model; null: not counted" },
    { "flop", NULL, COL_SI, "FLOP", COL_DATA, AT(flop), EMPTY_ZERO, NULL, NULL },
};
#undef AT
const struct table_fields serving_step_fields = { "simulate.step", step_columns, ARRAY_LEN(step_columns) };

static json_t *steps_json(const struct step_classes *all)
{
    struct table_rows rows = { .size = sizeof(struct step_row) };
    const struct table t = { "roofcast.simulate.steps", 1, NULL, step_columns, ARRAY_LEN(step_columns), &rows, NULL };
    for (uint32_t i = 0; i < STEP_DECODES; i++)
        for (uint32_t k = 0; k < STEP_PROMPTS; k++) {
            const struct step_class *c = &all->at[i][k];
            const double n = (double)c->n;
            if (c->n == 0)
                continue;
            const struct step_range d = step_decode_range(i), p = step_prompt_range(k);
            *(struct step_row *)table_add(&rows) = (struct step_row){ d.lo, d.hi, p.lo, p.hi, c->n, c->decode_tok / n, c->prompt_tok / n, c->s / n,
                                                                      c->s, c->bytes / n, c->flop / n };
        }
    json_t *j = table_rows_json(&t);
    table_rows_free(&rows);
    return j;
}

/* ---- distributions ------------------------------------------------------------------------------------------ */

enum serve_metric serving_saved_metric(int cdf)
{
    static const enum serve_metric metrics[SAVED_CDFS] = { [SAVED_TTFT] = SERVE_TTFT, [SAVED_ITL] = SERVE_ITL, [SAVED_TPOT] = SERVE_TPOT,
                                                           [SAVED_E2E] = SERVE_E2E };
    return metrics[cdf];
}

/* times: of the shares of `p`; null: none. */
static json_t *column_json(const struct cdf_point *p, int n, bool times)
{
    json_t *a = n > 0 ? json_array() : json_null();
    for (int i = 0; i < n; i++)
        json_array_append_new(a, json_num(times ? p[i].s : p[i].share));
    return a;
}

static json_t *cdf_json(const struct serving_subject *s, struct error *err)
{
    struct cdf_point p[CDF_POINTS];
    json_t *cdf = json_object();
    for (int i = 0; i < SAVED_CDFS; i++) {
        const enum serve_metric m = serving_saved_metric(i);
        const int n = serve_cdf(p, s->r, s->w, m, err);
        if (n < 0) {
            json_decref(cdf);
            return NULL;
        }
        if (n > 0 && !json_object_get(cdf, "share"))
            json_object_set_new(cdf, "share", column_json(p, n, false));
        json_object_set_new(cdf, serve_metric_key(m), column_json(p, n, true));
    }
    return cdf;
}

/* ---- what was asked for ----------------------------------------------------------------------------------------- */

/* Of the requests' lengths and turns, not of their times. */
static void digest(char out[static 17], const struct serve_workload *w)
{
    uint64_t h = w->n;
    for (size_t i = 0; i < w->n; i++) {
        const uint64_t v[4] = { h, w->r[i].n_in, w->r[i].n_out, w->r[i].parent };
        h = hash_bytes(v, sizeof v);
    }
    snprintf(out, 17, "%016llx", (unsigned long long)h);
}

static json_t *settings_json(const struct serving_subject *s)
{
    const struct serve_options *o = s->options;
    const struct policy *p = o->policy;
    json_t *j = json_pack("{s:o, s:o, s:I, s:I, s:I, s:I, s:I}", "rate", json_num(s->rate), "burstiness", json_num(s->burstiness), "max_concurrency",
                          (json_int_t)o->max_concurrency, "seed", (json_int_t)(o->seed & INT64_MAX), "kv_blocks", (json_int_t)o->n_block, "replicas",
                          (json_int_t)(o->n_replica > 0 ? o->n_replica : 1), "prefill_replicas", (json_int_t)o->n_prefill);
    json_t *rules = json_pack("{s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:s, s:o, s:I}", "max_num_seqs", (json_int_t)p->max_num_seqs,
                              "max_num_batched_tokens", (json_int_t)p->max_num_batched_tokens, "max_model_len", (json_int_t)p->max_model_len, "block_size",
                              (json_int_t)p->block_size, "long_prefill_token_threshold", (json_int_t)p->long_prefill_token_threshold,
                              "enable_chunked_prefill", p->enable_chunked_prefill, "enable_prefix_caching", p->enable_prefix_caching, "async_scheduling",
                              p->async_scheduling, "scheduling_policy", p->priority ? "priority" : "fcfs", "watermark", json_num(p->watermark),
                              "num_speculative_tokens", (json_int_t)p->num_speculative_tokens);
    if (!j || !rules || json_object_update(j, rules) != 0) {
        json_decref(j);
        j = NULL;
    }
    json_decref(rules);
    return j;
}

/* Of a device. */
static json_t *roofs_json(const struct serve_options *o)
{
    return json_pack("{s:o, s:o}", "memory_bytes_s", json_num(o->work ? o->work->peak_bytes_s : NAN), "flop_s", json_num(o->work ? o->work->peak_flop_s : NAN));
}

int serving_saved_add(json_t *meta, const struct serving_subject *s, struct error *err)
{
    static const struct step_classes none;
    char hex[17];
    json_t *cdf = cdf_json(s, err);
    if (!cdf)
        return -1;
    digest(hex, s->w);
    json_t *settings = settings_json(s);
    const bool ok = settings && json_object_set_new(meta, "measured", json_boolean(s->measured)) == 0 &&
                    json_object_set_new(meta, "requests_digest", json_string(hex)) == 0 && json_object_set(meta, "settings", settings) == 0 &&
                    json_object_set_new(meta, "roofs", roofs_json(s->options)) == 0 &&
                    json_object_set(meta, "cdf", cdf) == 0 && json_object_set_new(meta, "steps", steps_json(s->steps ? s->steps : &none)) == 0;
    json_decref(settings);
    json_decref(cdf);
    return ok ? 0 : error_oom(err, 0, "a saved run");
}
