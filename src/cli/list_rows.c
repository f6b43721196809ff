/* The rows of `roofcast list`: architectures, tensor types, kernels, counters, chat templates. */
#include "base/environment.h"
#include "config.h"
#include "counters/counters.h"
#include "kernels/kernels.h"
#include "model/chat.h"
#include "report/list.h"
#include <string.h>

int list_add_row(json_t *rows, json_t *row, struct error *err)
{
    if (!row || json_array_append_new(rows, row) != 0)
        return error_set(err, ERROR_SYSTEM, "list: out of memory, or a name that is not UTF-8");
    return 0;
}

/* ---- types --------------------------------------------------------------------------- */

const struct column list_type_cols[] = {
    { "name", "type", COL_TEXT, "", false },
    { "id", "id", COL_INT, "", false },
    { "block_elems", "elements a block", COL_INT, "", false },
    { "block_bytes", "bytes a block", COL_INT, "", false },
    { "bits_weight", "bits a weight", COL_FLOAT, "", false },
    { "executable", "runs", COL_BOOL, "", false },
    { "writable", "written", COL_BOOL, "", false },
    { "predict_only", "priced only: checkpoints (-q), KV caches", COL_TEXT, "", false },
};
const size_t list_n_type_cols = ARRAY_LEN(list_type_cols);

static bool is_kv_type(enum dtype t)
{
    enum dtype kv;
    for (size_t i = 0; dtype_kv_at(i, &kv); i++)
        if (kv == t)
            return true;
    return false;
}

/* Types that no GGUF has: what servers keep in their KV caches, and checkpoints. */
static int list_priced_types(json_t *rows, struct error *err)
{
    const struct dtype_info *t;
    struct checkpoint_info c;
    char text[200];
    for (size_t i = 0; (t = dtype_priced_at(i)) != NULL; i++) {
        if (!is_kv_type(t->id))
            continue;
        json_t *j = json_pack("{s:s, s:n, s:i, s:i, s:o, s:b, s:b, s:s}", "name", t->name, "id", "block_elems",
                              (int)t->block_elems, "block_bytes", (int)t->block_bytes, "bits_weight",
                              json_num(dtype_bits(t->id)), "executable", 0, "writable", 0, "predict_only", "KV cache");
        if (list_add_row(rows, j, err) != 0)
            return -1;
    }
    for (size_t i = 0; model_checkpoint_at(i, &c); i++) {
        snprintf(text, sizeof text, "%s: %s%s%s", c.math, c.weights, c.alias ? "; also " : "", c.alias ? c.alias : "");
        json_t *j = json_pack("{s:s, s:n, s:n, s:n, s:o, s:b, s:b, s:s}", "name", c.name, "id", "block_elems",
                              "block_bytes", "bits_weight", json_num(c.bits), "executable", 0, "writable", 0,
                              "predict_only", text);
        if (list_add_row(rows, j, err) != 0)
            return -1;
    }
    return 0;
}

int list_types(json_t *rows, struct error *err)
{
    const struct dtype_info *t;
    for (size_t i = 0; (t = dtype_at(i)) != NULL; i++) {
        json_t *j = json_pack("{s:s, s:i, s:i, s:i, s:o, s:b, s:b}", "name", t->name, "id", (int)t->id, "block_elems",
                              (int)t->block_elems, "block_bytes", (int)t->block_bytes, "bits_weight",
                              json_num(dtype_bits(t->id)), "executable", (int)dtype_executable(t->id), "writable",
                              t->quantize != NULL);
        if (list_add_row(rows, j, err) != 0)
            return -1;
    }
    return list_priced_types(rows, err);
}

/* ---- kernels --------------------------------------------------------------------------- */

const struct column list_isa_cols[] = {
    { "isa", "kernels", COL_TEXT, "", false },
    { "usable", "runs here", COL_BOOL, "", false },
    { "best", "default", COL_BOOL, "", false },
    { "reason", "why not", COL_TEXT, "", false },
};
const size_t list_n_isa_cols = ARRAY_LEN(list_isa_cols);

int list_isa(json_t *rows, struct error *err)
{
    struct kernels k;
    const char *name;
    bool usable;
    kernels_init(&k, cpu_flags());
    for (size_t i = 0; (name = kernels_isa_at(i, &usable)) != NULL; i++) {
        json_t *j = json_pack("{s:s, s:b, s:b, s:s?}", "isa", name, "usable", (int)usable, "best",
                              !strcmp(name, k.isa), "reason", kernels_isa_missing(name));
        if (list_add_row(rows, j, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- counters ---------------------------------------------------------------------------- */

const struct column list_counter_cols[] = {
    { "backend", "backend", COL_TEXT, "", false },
    { "usable", "usable", COL_BOOL, "", false },
    { "field", "counts", COL_TEXT, "", false },
    { "valid", "here", COL_BOOL, "", false },
    { "reason", "why not", COL_TEXT, "", false },
};
const size_t list_n_counter_cols = ARRAY_LEN(list_counter_cols);

static int counter_row(json_t *rows, const char *backend, bool usable, const char *field, const char *why,
                       struct error *err)
{
    json_t *j = json_pack("{s:s, s:b, s:s?, s:b, s:s?}", "backend", backend, "usable", (int)usable, "field", field,
                          "valid", field && !*why, "reason", *why ? why : NULL);
    return list_add_row(rows, j, err);
}

/* Opens the backend as an engine would, and asks it field by field. */
static int backend_rows(json_t *rows, const char *name, const char *why, struct error *err)
{
    const struct counter_source src = { 0 };
    struct error no = { 0 };
    const struct counters_options o = { .backend = name, .src = &src, .n_threads = 1, .data_dirs = environment()->data_dirs };
    struct counters *c = *why ? NULL : counters_open(&o, &no);
    if (!c)
        return counter_row(rows, name, false, NULL, *why ? why : no.msg, err);
    int rc = 0;
    for (int f = 0; rc == 0 && f < COUNTER_FIELD_COUNT; f++)
        rc = counter_row(rows, name, true, counter_field_name((enum counter_field)f),
                         counters_reason(c, (enum counter_field)f), err);
    counters_close(c);
    return rc;
}

int list_counters(json_t *rows, struct error *err)
{
    char why[256];
    const char *name;
    for (size_t i = 0; (name = counters_backend_at(i, why, sizeof why)) != NULL; i++)
        if (backend_rows(rows, name, why, err) != 0)
            return -1;
    return 0;
}

/* ---- architectures ------------------------------------------------------------------------- */

const struct column list_arch_cols[] = {
    { "name", "architecture", COL_TEXT, "", false },
    { "model_types", "config.json's model_type", COL_TEXT, "", false },
    { "experts", "experts", COL_BOOL, "", false },
    { "windows", "windows", COL_BOOL, "", false },
    { "predict_only", "priced only", COL_BOOL, "", false },
};
const size_t list_n_arch_cols = ARRAY_LEN(list_arch_cols);

int list_archs(json_t *rows, struct error *err)
{
    struct arch_info a;
    for (size_t i = 0; model_arch_at(i, &a); i++)
        if (list_add_row(rows, json_pack("{s:s, s:s, s:b, s:b, s:b}", "name", a.name, "model_types", a.model_types,
                                    "experts", a.experts, "windows", a.windows, "predict_only", a.predict_only),
                    err) != 0)
            return -1;
    return 0;
}

/* ---- chat templates ------------------------------------------------------------------------ */

const struct column list_chat_cols[] = {
    { "name", "chat template", COL_TEXT, "", false },
    { "models", "of", COL_TEXT, "", false },
    { "system", "system message", COL_TEXT, "", false },
    { "default_system", "without one", COL_TEXT, "", true },
};
const size_t list_n_chat_cols = ARRAY_LEN(list_chat_cols);

static const char *chat_system_name(enum chat_system s)
{
    switch (s) {
    case CHAT_SYSTEM_TURN:
        return "turn";
    case CHAT_SYSTEM_FIRST_USER:
        return "first user";
    case CHAT_SYSTEM_LAST_USER:
        return "last user";
    case CHAT_SYSTEM_NONE:
        return "none";
    }
    return "?";
}

int list_chat(json_t *rows, struct error *err)
{
    const struct chat_template *c;
    for (size_t i = 0; (c = chat_template_at(i)) != NULL; i++) {
        json_t *j = json_pack("{s:s, s:s, s:s, s:s?}", "name", chat_template_name(c), "models", chat_template_models(c),
                              "system", chat_system_name(chat_template_system(c)), "default_system",
                              chat_template_default_system(c));
        if (list_add_row(rows, j, err) != 0)
            return -1;
    }
    return 0;
}
