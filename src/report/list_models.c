/* The rows of `roofcast list models`. */
#include "base/environment.h"
#include "base/notify.h"
#include "config.h"
#include "report/list.h"

const struct column list_model_cols[] = {
    { "name", "model", COL_TEXT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "arch", "arch", COL_TEXT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "n_params", "parameters", COL_SI, "", COL_MAJOR, COLUMN_BY_KEY },
    { "n_layer", "layers", COL_INT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "n_embd", "n_embd", COL_INT, "", COL_MEDIUM, COLUMN_BY_KEY },
    { "n_head", "heads", COL_INT, "", COL_MEDIUM, COLUMN_BY_KEY },
    { "n_head_kv", "KV heads", COL_INT, "", COL_MEDIUM, COLUMN_BY_KEY },
    { "n_ff", "n_ff", COL_INT, "", COL_MEDIUM, COLUMN_BY_KEY },
    { "n_vocab", "vocab", COL_INT, "", COL_MEDIUM, COLUMN_BY_KEY },
    { "n_ctx_train", "context", COL_INT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "tied", "tied", COL_BOOL, "", COL_DATA, COLUMN_BY_KEY },
    { "file", "file", COL_TEXT, "", COL_MINOR, COLUMN_BY_KEY },
};
const size_t list_n_model_cols = ARRAY_LEN(list_model_cols);

static int model_row(json_t *rows, const char *name, struct error *err)
{
    struct model m;
    char file[512];
    struct error e = { 0 };
    if (model_load(&m, name, NULL, &e) != 0) {
        if (e.kind != ERROR_INPUT && e.kind != ERROR_UNAVAILABLE)
            return error_set(err, e.kind, "%s", e.msg);
        /* One broken file must not hide the others. */
        notify_warn("%s", e.msg);
        return 0;
    }
    snprintf(file, sizeof file, "models/%.480s.json", name);
    const struct hparams *hp = &m.hp;
    json_t *j = json_pack("{s:s, s:s, s:I, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:b, s:s}", "name", name, "arch",
                          model_arch_name(&m), "n_params", (json_int_t)m.n_params, "n_layer", (int)hp->n_layer, "n_embd",
                          (int)hp->n_embd, "n_head", (int)hp->n_head, "n_head_kv", (int)hp->n_head_kv, "n_ff",
                          (int)hp->n_ff, "n_vocab", (int)hp->n_vocab, "n_ctx_train", (int)hp->n_ctx_train, "tied",
                          (int)hp->tied, "file", file);
    model_free(&m);
    return list_add_row(rows, j, err);
}

int list_models(json_t *rows, struct error *err)
{
    char **names;
    size_t n;
    int rc = model_list(&names, &n, err);
    if (rc != 0)
        return -1;
    if (n == 0)
        rc = error_set(err, ERROR_INPUT, "no models by name: %s has no models/*.json (ROOFCAST_DATA names the directory)",
                       environment()->data_dirs[0]);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = model_row(rows, names[i], err);
    name_list_free(names, n);
    return rc;
}
