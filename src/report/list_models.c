/* The rows of `roofcast list models`. */
#include "base/environment.h"
#include "base/notify.h"
#include "config.h"
#include "report/list.h"
#include <math.h>

#define AT(m) COLUMN_AT(struct list_row, m)
static const struct column columns[] = {
    { "name", "model", COL_TEXT, NULL, COL_MAJOR, AT(name), EMPTY_VALUE, NULL, NULL },
    { "arch", "arch", COL_TEXT, NULL, COL_MAJOR, AT(arch), EMPTY_VALUE, NULL, NULL },
    { "n_params", "parameters", COL_SI_BARE, NULL, COL_MAJOR, AT(n_params), EMPTY_VALUE, "int", "elements of all tensors" },
    { "n_layer", "layers", COL_INT, NULL, COL_MAJOR, AT(n_layer), EMPTY_VALUE, NULL, NULL },
    { "n_embd", "n_embd", COL_INT, NULL, COL_MEDIUM, AT(n_embd), EMPTY_VALUE, NULL, NULL },
    { "n_head", "heads", COL_INT, NULL, COL_MEDIUM, AT(n_head), EMPTY_VALUE, NULL, NULL },
    { "n_head_kv", "KV heads", COL_INT, NULL, COL_MEDIUM, AT(n_head_kv), EMPTY_VALUE, NULL, NULL },
    { "n_ff", "n_ff", COL_INT, NULL, COL_MEDIUM, AT(n_ff), EMPTY_VALUE, NULL, NULL },
    { "n_vocab", "vocab", COL_INT, NULL, COL_MEDIUM, AT(n_vocab), EMPTY_VALUE, NULL, NULL },
    { "n_ctx_train", "context", COL_INT, "tokens", COL_MAJOR, AT(n_ctx_train), EMPTY_VALUE, NULL, NULL },
    { "tied", "tied", COL_BOOL, NULL, COL_DATA, AT(tied), EMPTY_VALUE, NULL, "the LM head is the embedding table" },
    { "file", "file", COL_TEXT, NULL, COL_MINOR, AT(file), EMPTY_VALUE, NULL, "within the data directory" },
};
#undef AT

static int model_row(struct table_rows *rows, const char *name, struct error *err)
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
    struct list_row *w = table_add(rows);
    *w = (struct list_row){
        .name = table_text(rows, name), .arch = model_arch_name(&m), .file = table_text(rows, file), .n_params = (double)m.n_params, .n_layer = hp->n_layer,
        .n_embd = hp->n_embd, .n_head = hp->n_head, .n_head_kv = hp->n_head_kv, .n_ff = hp->n_ff, .n_vocab = hp->n_vocab, .n_ctx_train = hp->n_ctx_train,
        .tied = hp->tied, .memory_bytes = NAN, .bandwidth_bytes_s = NAN,
    };
    model_free(&m);
    return 0;
}

static int add_rows(struct table_rows *rows, struct error *err)
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

const struct list list_models = { columns, ARRAY_LEN(columns), NULL, sizeof(struct list_row), add_rows };
