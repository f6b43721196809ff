/* predict_row.h: a prediction as a row of a table. What is not known is NaN, NULL, and 0 of gamma and n_ubatch. */
#ifndef REPORT_PREDICT_ROW_H
#define REPORT_PREDICT_ROW_H

#include "predict/explain.h"
#include "report/table.h"

/* A figure and the ends of its 90 % interval. (62) */
struct figure {
    double value, lo, hi;
};

struct predict_row {
    /* the subject */
    const char *model, *hw, *guess, *reason, *note, *type, *test, *phase;
    uint32_t n_prompt, n_gen, n_depth, n_batch, n_ubatch;
    const char *type_k, *type_v;
    uint32_t n_devices;
    const char *layout;
    struct cell weights_gb;
    bool weights_only;
    const char *spec_kind, *draft, *acceptance;
    uint32_t gamma, best_gamma;
    double tokens_a_round, tokens_a_round_sd, round_s, draft_s, verify_s, gain, tok_s_sd, flop_factor, best_gain;
    const char *what_if;
    struct figure speedup;
    /* a phase, or a role of it */
    const char *role, *bound, *role_math;
    struct figure seconds, tok_s;
    struct cost cost;
    double ai, share, flop_s, memory_s, compute_s, link_s, memory_share, compute_share;
    struct figure j_per_tok, usd_per_mtok, j_per_request, usd_per_request;
    double power_w, price_usd_h;
    const char *power_source, *price_source;
    /* the scenario */
    struct figure ttft_s, itl_s;
    const char *stack, *basis, *slo, *slo_met;
    double slo_chance, slo_chance_lo, slo_chance_hi, slo_correlation;
    int fits; /* -1: memory unknown */
    double need_bytes, memory_bytes, usable_bytes, weight_total_bytes, kv_total_bytes, act_peak_bytes, runtime_bytes;
    /* the roofs of the largest op */
    double bandwidth_bytes_s, peak_flop_s;
    const char *bandwidth_source, *peak_source, *math;
    int derived; /* -1: no peak */
    /* nested; JSON after predict_nest() */
    const struct step *roles; /* [ROLE_COUNT]; NULL: a role's row */
    struct explained *explained; /* NULL: without --explain */
    json_t *roles_json, *classes_json, *constants_json;
    double n_pass, explain_s, pipeline;
};

/* Where the seconds come from: rows of struct class_row and struct explain_constant (predict_explain.c). */
struct explained {
    struct table_rows classes, constants;
};

/* A configuration of a sweep: .p has its subject and scenario, of which sweep_order names columns. */
struct sweep_row {
    struct predict_row p;
    uint32_t tp, pp, dp, ep;
    struct figure prefill_tok_s, decode_tok_s;
    const char *prefill_bound, *decode_bound;
};

enum { PREDICT_MAX_COLUMNS = 128 };
/* Columns of predict's rows by phase or by role into out [PREDICT_MAX_COLUMNS]: their number. */
size_t predict_columns(struct column *out, bool by_role);
extern const char predict_order[], predict_role_order[];
extern const struct table_fields predict_role_fields;
/* The same of a sweep. */
size_t sweep_columns(struct column *out);
extern const char sweep_order[];
json_t *predict_roles_json(const struct table_rows *roles);
/* Makes the nested JSON of the rows. */
void predict_nest(struct table_rows *rows);
void predict_rows_free(struct table_rows *rows);

#endif
