/* The rows of `roofcast list`: architectures, tensor types, kernels, counters, chat templates. */
#include "base/environment.h"
#include "config.h"
#include "counters/counters.h"
#include "kernels/kernels.h"
#include "model/chat.h"
#include "report/list.h"
#include <string.h>

/* ---- types --------------------------------------------------------------------------- */

struct type_row {
    const char *name, *priced_only;
    struct cell id;
    uint32_t block_elems, block_bytes;
    double bits_weight;
    bool executable, writable;
};

#define AT(m) COLUMN_AT(struct type_row, m)
static const struct column type_columns[] = {
    { "name", "type", COL_TEXT, NULL, COL_MAJOR, AT(name), EMPTY_VALUE, NULL, NULL },
    { "id", "id", COL_INT, NULL, COL_MAJOR, AT(id), EMPTY_VALUE, "int or null", "in a GGUF; null: not a GGUF type" },
    { "block_elems", "elements per block", COL_INT, NULL, COL_MAJOR, AT(block_elems), EMPTY_NULL, NULL, "elements per block" },
    { "block_bytes", "bytes per block", COL_INT, "B", COL_MAJOR, AT(block_bytes), EMPTY_NULL, NULL, "bytes per block, scales included" },
    { "bits_weight", "bits per weight", COL_FLOAT, "bit", COL_MAJOR, AT(bits_weight), EMPTY_VALUE, NULL, "8 block_bytes / block_elems; checkpoint formats: of a "
      "4096 x 4096 matrix" },
    { "executable", "executable", COL_BOOL, NULL, COL_MAJOR, AT(executable), EMPTY_VALUE, NULL, "the engine runs it" },
    { "writable", "writable", COL_BOOL, NULL, COL_MAJOR, AT(writable), EMPTY_VALUE, NULL, "`synth` writes it" },
    { "priced_only", "prediction only: checkpoint formats (-q), KV caches", COL_TEXT, NULL, COL_MAJOR, AT(priced_only), EMPTY_ABSENT, NULL,
      "types only for predictions: KV caches, checkpoint formats of `-q` with the operands of their products" },
};
#undef AT

static bool is_kv_type(enum dtype t)
{
    enum dtype kv;
    for (size_t i = 0; dtype_kv_at(i, &kv); i++)
        if (kv == t)
            return true;
    return false;
}

/* Types that no GGUF has: KV caches of servers, and checkpoint formats. */
static void add_priced_types(struct table_rows *rows)
{
    const struct dtype_info *t;
    struct checkpoint_info c;
    char text[200];
    for (size_t i = 0; (t = dtype_priced_at(i)) != NULL; i++)
        if (is_kv_type(t->id))
            *(struct type_row *)table_add(rows) = (struct type_row){ t->name, "KV cache", { 0 }, t->block_elems, t->block_bytes, dtype_bits(t->id), false, false };
    for (size_t i = 0; model_checkpoint_at(i, &c); i++) {
        struct type_row *w = table_add(rows);
        snprintf(text, sizeof text, "%s: %s%s%s", c.math, c.weights, c.alias ? "; also " : "", c.alias ? c.alias : "");
        w->name = table_text(rows, c.name);
        w->bits_weight = c.bits;
        w->priced_only = table_text(rows, text);
    }
}

static int add_types(struct table_rows *rows, struct error *err)
{
    const struct dtype_info *t;
    (void)err;
    for (size_t i = 0; (t = dtype_at(i)) != NULL; i++)
        *(struct type_row *)table_add(rows) =
            (struct type_row){ t->name, NULL, cell_whole(t->id), t->block_elems, t->block_bytes, dtype_bits(t->id), dtype_executable(t->id), t->quantize != NULL };
    add_priced_types(rows);
    return 0;
}
const struct list list_types = { type_columns, ARRAY_LEN(type_columns), NULL, sizeof(struct type_row), add_types };

/* ---- kernels --------------------------------------------------------------------------- */

struct isa_row {
    const char *isa, *reason;
    bool usable, best;
};

#define AT(m) COLUMN_AT(struct isa_row, m)
static const struct column isa_columns[] = {
    { "isa", "kernels", COL_TEXT, NULL, COL_MAJOR, AT(isa), EMPTY_VALUE, NULL, "for `--isa`" },
    { "usable", "runs here", COL_BOOL, NULL, COL_MAJOR, AT(usable), EMPTY_VALUE, NULL, "this CPU runs it" },
    { "best", "default", COL_BOOL, NULL, COL_MAJOR, AT(best), EMPTY_VALUE, NULL, "used by default" },
    { "reason", "why not", COL_TEXT, NULL, COL_MAJOR, AT(reason), EMPTY_NULL, NULL, "why not usable" },
};
#undef AT

static int add_isa(struct table_rows *rows, struct error *err)
{
    struct kernels k;
    const char *name;
    bool usable;
    (void)err;
    kernels_init(&k, cpu_flags());
    for (size_t i = 0; (name = kernels_isa_at(i, &usable)) != NULL; i++)
        *(struct isa_row *)table_add(rows) = (struct isa_row){ name, kernels_isa_missing(name), usable, strcmp(name, k.isa) == 0 };
    return 0;
}
const struct list list_isa = { isa_columns, ARRAY_LEN(isa_columns), NULL, sizeof(struct isa_row), add_isa };

/* ---- counters ---------------------------------------------------------------------------- */

struct counter_row {
    const char *backend, *field, *reason;
    bool usable, valid;
};

#define AT(m) COLUMN_AT(struct counter_row, m)
static const struct column counter_columns[] = {
    { "backend", "backend", COL_TEXT, NULL, COL_MAJOR, AT(backend), EMPTY_VALUE, NULL, "for `--counters`" },
    { "usable", "usable", COL_BOOL, NULL, COL_MAJOR, AT(usable), EMPTY_VALUE, NULL, NULL },
    { "field", "counts", COL_TEXT, NULL, COL_MAJOR, AT(field), EMPTY_NULL, NULL, "`cycles`, `instructions`, `flop`, `dram_bytes`; `sw_bytes`, `sw_flop`, "
      "`sw_tokens` are counted by the engine" },
    { "valid", "here", COL_BOOL, NULL, COL_MAJOR, AT(valid), EMPTY_VALUE, NULL, "counted here" },
    { "reason", "why not", COL_TEXT, NULL, COL_MAJOR, AT(reason), EMPTY_NULL, NULL, "why not" },
};
#undef AT

/* Opens the backend as an engine does and queries it field by field. */
static void add_backend(struct table_rows *rows, const char *name, const char *why)
{
    const struct counter_source src = { 0 };
    struct error no = { 0 };
    const struct counters_options o = { .backend = name, .src = &src, .n_threads = 1, .data_dirs = environment()->data_dirs };
    struct counters *c = *why ? NULL : counters_open(&o, &no);
    if (!c)
        *(struct counter_row *)table_add(rows) = (struct counter_row){ name, NULL, table_text(rows, *why ? why : no.msg), false, false };
    for (int f = 0; c && f < COUNTER_FIELD_COUNT; f++) {
        const char *reason = counters_reason(c, (enum counter_field)f);
        *(struct counter_row *)table_add(rows) =
            (struct counter_row){ name, counter_field_name((enum counter_field)f), table_text(rows, reason), true, !*reason };
    }
    counters_close(c);
}

static int add_counters(struct table_rows *rows, struct error *err)
{
    char why[256];
    const char *name;
    (void)err;
    for (size_t i = 0; (name = counters_backend_at(i, why, sizeof why)) != NULL; i++)
        add_backend(rows, name, why);
    return 0;
}
const struct list list_counters = { counter_columns, ARRAY_LEN(counter_columns), NULL, sizeof(struct counter_row), add_counters };

/* ---- architectures ------------------------------------------------------------------------- */

#define AT(m) COLUMN_AT(struct arch_info, m)
static const struct column arch_columns[] = {
    { "name", "architecture", COL_TEXT, NULL, COL_MAJOR, AT(name), EMPTY_VALUE, NULL, "`general.architecture` of a GGUF" },
    { "model_types", "config.json's model_type", COL_TEXT, NULL, COL_MAJOR, AT(model_types), EMPTY_VALUE, NULL, "`model_type` of the config.json files that "
      "become it" },
    { "experts", "experts", COL_BOOL, NULL, COL_MAJOR, AT(experts), EMPTY_VALUE, NULL, "supports mixtures of experts" },
    { "windows", "windows", COL_BOOL, NULL, COL_MAJOR, AT(windows), EMPTY_VALUE, NULL, "supports sliding windows" },
    { "priced_only", "prediction only", COL_BOOL, NULL, COL_MAJOR, AT(predict_only), EMPTY_VALUE, NULL, "from a name, a config.json or a GGUF: the engine does not "
      "run it" },
};
#undef AT

static int add_archs(struct table_rows *rows, struct error *err)
{
    struct arch_info a;
    (void)err;
    for (size_t i = 0; model_arch_at(i, &a); i++)
        memcpy(table_add(rows), &a, sizeof a);
    return 0;
}
const struct list list_archs = { arch_columns, ARRAY_LEN(arch_columns), NULL, sizeof(struct arch_info), add_archs };

/* ---- chat templates ------------------------------------------------------------------------ */

struct chat_row {
    const char *name, *models, *system, *default_system;
};

#define AT(m) COLUMN_AT(struct chat_row, m)
static const struct column chat_columns[] = {
    { "name", "chat template", COL_TEXT, NULL, COL_MAJOR, AT(name), EMPTY_VALUE, NULL, "for `--chat-template`" },
    { "models", "of", COL_TEXT, NULL, COL_MAJOR, AT(models), EMPTY_VALUE, NULL, "whose template this is" },
    { "system", "system message", COL_TEXT, NULL, COL_MAJOR, AT(system), EMPTY_VALUE, "`\"turn\"` or `\"first user\"` or `\"last user\"` or `\"none\"`",
      "where a system message goes: a turn of its own, in front of that user message, refused" },
    { "default_system", "without one", COL_TEXT, NULL, COL_DATA, AT(default_system), EMPTY_VALUE, "string or null", "the system message where none is given; null: none" },
};
#undef AT

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

static int add_chat(struct table_rows *rows, struct error *err)
{
    const struct chat_template *c;
    (void)err;
    for (size_t i = 0; (c = chat_template_at(i)) != NULL; i++)
        *(struct chat_row *)table_add(rows) = (struct chat_row){ chat_template_name(c), chat_template_models(c), chat_system_name(chat_template_system(c)),
                                                                 chat_template_default_system(c) };
    return 0;
}
const struct list list_chat = { chat_columns, ARRAY_LEN(chat_columns), NULL, sizeof(struct chat_row), add_chat };
