/* predict_row.h: a prediction as a row of a table. Unknown values are NaN, NULL, and 0 for gamma and n_ubatch. */
#ifndef REPORT_PREDICT_ROW_H
#define REPORT_PREDICT_ROW_H

#include "predict/explain.h"
#include "predict/limits.h"
#include "predict/offload.h"
#include "predict/speculate.h"
#include "report/table.h"

/* A figure with its 90 % interval. (62) */
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
    uint32_t gamma;
    struct speculation spec; /* .best_gamma 0: none */
    double tokens_a_round_sd;
    const char *what_if;
    struct figure speedup;
    /* a phase, or a role of it */
    const char *role, *bound, *role_math;
    struct figure seconds, tok_s;
    struct prediction p; /* with a role .cost is the role's */
    double ai, share, flop_s, memory_share, compute_share;
    int derived; /* -1: no peak */
    const char *roofs_of; /* the machine of bandwidth and peak of .p, with a part on the host; NULL: hw */
    struct figure j_per_tok, usd_per_mtok, j_per_request, usd_per_request;
    struct running running;
    /* the scenario */
    struct figure ttft_s, itl_s;
    const char *stack, *basis, *slo, *slo_met;
    struct limits_answer limits;
    int fits; /* -1: memory unknown */
    double need_bytes, memory_bytes, usable_bytes, weight_total_bytes, kv_total_bytes, act_peak_bytes, runtime_bytes;
    /* nested; JSON after predict_nest() */
    struct explained *explained; /* NULL: without --explain */
    struct step *roles; /* [n_roles], owned; their pointers are not valid */
    size_t n_roles;
    struct predict_device *devices; /* [DEVICE_COUNT], owned; NULL: all of the model is on the GPU */
    json_t *roles_json, *devices_json, *classes_json, *constants_json;
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
/* Makes the nested JSON of the rows. */
void predict_nest(struct table_rows *rows);
void predict_rows_free(struct table_rows *rows);

#endif
