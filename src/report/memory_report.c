/* roofcast memory: what takes the memory of a device in lines, the most that fits in rows. */
#include "report/memory_report.h"
#include "report/output.h"
#include <math.h>
#include <string.h>

static const struct column columns[] = {
    { "model", NULL, COL_TEXT, NULL, COL_DATA, COLUMN_BY_KEY },
    { "hw", "hw", COL_TEXT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "type", NULL, COL_TEXT, NULL, COL_DATA, COLUMN_BY_KEY },
    { "type_k", NULL, COL_TEXT, NULL, COL_DATA, COLUMN_BY_KEY },
    { "type_v", NULL, COL_TEXT, NULL, COL_DATA, COLUMN_BY_KEY },
    { "layout", "devices", COL_TEXT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "n_devices", NULL, COL_INT, NULL, COL_DATA, COLUMN_BY_KEY },
    { "largest", "largest", COL_TEXT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "n_ctx", "context", COL_INT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "n_batch", "batch", COL_INT, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "unbounded", NULL, COL_BOOL, NULL, COL_DATA, COLUMN_BY_KEY },
    { "need_bytes", "needs", COL_SI, "B", COL_MAJOR, COLUMN_BY_KEY },
    { "fits", "fits", COL_BOOL, NULL, COL_MAJOR, COLUMN_BY_KEY },
    { "tp_needed", "needs tp", COL_INT, NULL, COL_MEDIUM, COLUMN_BY_KEY },
    { "tp_note", NULL, COL_TEXT, NULL, COL_DATA, COLUMN_BY_KEY },
    { "memory_bytes", NULL, COL_SI, "B", COL_DATA, COLUMN_BY_KEY },
    { "reserved_bytes", NULL, COL_SI, "B", COL_DATA, COLUMN_BY_KEY },
    { "usable_bytes", NULL, COL_SI, "B", COL_DATA, COLUMN_BY_KEY },
    { "weight_bytes", NULL, COL_SI, "B", COL_DATA, COLUMN_BY_KEY },
    { "act_bytes", NULL, COL_SI, "B", COL_DATA, COLUMN_BY_KEY },
    { "runtime_bytes", NULL, COL_SI, "B", COL_DATA, COLUMN_BY_KEY },
    { "graph_bytes", NULL, COL_SI, "B", COL_DATA, COLUMN_BY_KEY },
    { "free_bytes", NULL, COL_SI, "B", COL_DATA, COLUMN_BY_KEY },
    { "kv_token_bytes", NULL, COL_SI, "B", COL_DATA, COLUMN_BY_KEY },
    { "kv_state_bytes", NULL, COL_SI, "B", COL_DATA, COLUMN_BY_KEY },
    { "block_bytes", NULL, COL_SI, "B", COL_DATA, COLUMN_BY_KEY },
    { "blocks", NULL, COL_INT, NULL, COL_DATA, COLUMN_BY_KEY },
    { "tokens", NULL, COL_INT, NULL, COL_DATA, COLUMN_BY_KEY },
    { "waste_tokens", NULL, COL_FLOAT, NULL, COL_DATA, COLUMN_BY_KEY },
    { "served", NULL, COL_BOOL, NULL, COL_DATA, COLUMN_BY_KEY },
    { "server", NULL, COL_TEXT, NULL, COL_DATA, COLUMN_BY_KEY },
    { "block", NULL, COL_INT, NULL, COL_DATA, COLUMN_BY_KEY },
    { "utilization", NULL, COL_FLOAT, NULL, COL_DATA, COLUMN_BY_KEY },
    { "max_batched_tokens", NULL, COL_INT, NULL, COL_DATA, COLUMN_BY_KEY },
    { "max_seqs", NULL, COL_INT, NULL, COL_DATA, COLUMN_BY_KEY },
    { "reason", "why not", COL_TEXT, NULL, COL_DATA, COLUMN_BY_KEY },
};

/* ---- a row ------------------------------------------------------------------------------------ */

/* A whole number, null where it is none. */
static json_t *whole(double v)
{
    return isfinite(v) ? json_integer((json_int_t)v) : json_null();
}

static int put_plan(json_t *j, const struct memory_subject *s)
{
    const struct memory_model *m = s->memory;
    const struct memory_plan *p = &s->plan;
    int bad = json_object_set_new(j, "memory_bytes", json_num(m->memory_bytes));
    bad |= json_object_set_new(j, "reserved_bytes", json_num(m->reserved_bytes));
    bad |= json_object_set_new(j, "usable_bytes", json_num(m->usable_bytes));
    bad |= json_object_set_new(j, "weight_bytes", json_num(p->need.weight_bytes));
    bad |= json_object_set_new(j, "act_bytes", json_num(p->need.act_bytes));
    bad |= json_object_set_new(j, "runtime_bytes", json_num(p->need.runtime_bytes));
    bad |= json_object_set_new(j, "graph_bytes", json_num(p->need.graph_bytes));
    bad |= json_object_set_new(j, "free_bytes", json_num(p->free_bytes));
    bad |= json_object_set_new(j, "kv_token_bytes", json_num(p->kv_token_bytes));
    bad |= json_object_set_new(j, "kv_state_bytes", json_num(p->kv_state_bytes));
    bad |= json_object_set_new(j, "block_bytes", json_num(p->block_bytes));
    bad |= json_object_set_new(j, "blocks", whole(p->blocks));
    bad |= json_object_set_new(j, "tokens", whole(p->tokens));
    bad |= json_object_set_new(j, "waste_tokens", json_num(p->waste_tokens));
    return bad;
}

static int put_subject(json_t *j, const struct memory_subject *s)
{
    const struct memory_options *o = &s->memory->o;
    char name[32];
    int bad = json_object_set_new(j, "model", json_string(s->m->name));
    bad |= json_object_set_new(j, "hw", json_string(s->h->id));
    bad |= json_object_set_new(j, "type", json_string(s->m->type_name));
    bad |= fields_kv_types(j, o->type_k, o->type_v);
    bad |= fields_layout(j, &o->layout);
    bad |= json_object_set_new(j, "served", json_boolean(s->served));
    bad |= json_object_set_new(j, "server", s->served ? json_string(memory_release_name(name, sizeof name, o->release)) : json_null());
    bad |= json_object_set_new(j, "block", json_integer(o->block));
    bad |= json_object_set_new(j, "utilization", json_num(o->utilization));
    bad |= json_object_set_new(j, "max_batched_tokens", json_integer(o->max_batched_tokens));
    bad |= json_object_set_new(j, "max_seqs", o->max_seqs > 0 ? json_integer(o->max_seqs) : json_null());
    return bad;
}

/* Why there is no degree of tensor parallelism to name. */
static json_t *tp_note(const struct tp_needed *n)
{
    if (n->apart == 0)
        return json_string("no --tp that divides the model holds one");
    if (n->joined == 1)
        return json_string("no link joins the devices it takes");
    return json_sprintf("more devices than a link joins (%u)", n->joined);
}

/* found: of what is asked for. It fits from 1 on; then what it needs, else how many devices one would. */
static int put_found(json_t *j, const struct memory_subject *s, double found, uint64_t n_ctx, uint64_t n_seq)
{
    const bool some = found >= 1;
    const double need = some && isfinite(found) ? memory_need(s->memory, n_seq, n_ctx).total_bytes : NAN;
    struct tp_needed tp = { 0 };
    if (found < 1)
        tp = memory_tp_needed(s->classes, s->h, &s->memory->o, n_seq > 0 ? n_seq : 1, n_ctx > 0 ? n_ctx : 1);
    int bad = json_object_set_new(j, "unbounded", json_boolean(isinf(found)));
    bad |= json_object_set_new(j, "need_bytes", json_num(need));
    bad |= json_object_set_new(j, "fits", isnan(found) ? json_null() : json_boolean(some));
    bad |= json_object_set_new(j, "tp_needed", tp.tp > 0 ? json_integer(tp.tp) : json_null());
    bad |= json_object_set_new(j, "tp_note", found < 1 && tp.tp == 0 ? tp_note(&tp) : json_null());
    return bad;
}

int memory_add_row(json_t *rows, const struct memory_subject *s, uint64_t n_ctx, uint64_t n_seq, struct error *err)
{
    const bool batch = n_seq == 0;
    const double found = s->reason ? NAN : batch ? memory_max_batch(s->memory, n_ctx) : memory_max_context(s->memory, n_seq);
    const uint64_t n = isfinite(found) ? (uint64_t)found : 0;
    json_t *j = json_object();
    int bad = put_subject(j, s);
    bad |= json_object_set_new(j, "largest", json_string(batch ? "batch" : "context"));
    bad |= json_object_set_new(j, "n_ctx", batch ? json_integer((json_int_t)n_ctx) : whole(found));
    bad |= json_object_set_new(j, "n_batch", batch ? whole(found) : json_integer((json_int_t)n_seq));
    bad |= json_object_set_new(j, "reason", s->reason ? json_text(s->reason) : json_null());
    bad |= put_found(j, s, found, batch ? n_ctx : n, batch ? n : n_seq);
    bad |= put_plan(j, s);
    bad |= json_array_append_new(rows, j);
    return bad ? error_oom(err, 0, "the rows") : 0;
}

/* ---- a device's memory in lines -------------------------------------------------------------------- */

static void begin(struct strbuf *b, const char *what, double bytes)
{
    char text[40];
    strbuf_addf(b, "  %-14s %12s  ", what, isnan(bytes) ? "unknown" : units_si(text, sizeof text, bytes, "B"));
}

static bool windowed(const struct op_classes *l)
{
    bool any = false;
    for (size_t i = 0; i < l->n; i++)
        any |= l->c[i].op.kind == OP_KV_STORE && l->c[i].op.window > 0;
    return any;
}

static void add_cache(struct strbuf *b, const struct memory_subject *s)
{
    const struct memory_plan *p = &s->plan;
    const uint32_t block = s->memory->o.block;
    char token[40], each[40];
    units_si(token, sizeof token, p->kv_token_bytes, "B");
    begin(b, p->free_bytes < 0 ? "missing" : "KV cache", fabs(p->free_bytes));
    if (p->free_bytes < 0)
        strbuf_adds(b, "for the weights and a pass alone\n");
    else if (isnan(p->blocks))
        strbuf_addf(b, "%s a position\n", token);
    else if (block == 1)
        strbuf_addf(b, "%.0f tokens of %s\n", p->tokens, token);
    else
        strbuf_addf(b, "%.0f blocks of %u tokens, %s each: %.0f tokens; %g of a sequence's last block idle on average\n",
                    p->blocks, block, units_si(each, sizeof each, p->block_bytes, "B"), p->tokens, p->waste_tokens);
    if (windowed(s->classes))
        strbuf_addf(b, "  %-14s %12s  while no window is full: layers with one keep less of a long context\n", "", "");
    if (p->kv_state_bytes > 0)
        strbuf_addf(b, "  %-14s %12s  and %s of recurrent state a sequence\n", "", "",
                    units_si(each, sizeof each, p->kv_state_bytes, "B"));
}

void memory_add_plan(struct strbuf *b, const struct memory_subject *s)
{
    const struct memory_model *m = s->memory;
    const struct memory_options *o = &m->o;
    char layout[64], name[32];
    strbuf_addf(b, "%s, %s%s, %s\n", s->h->id, layout_text(layout, sizeof layout, &o->layout),
                layout_devices(&o->layout) > 1 ? ", the fullest device" : "",
                s->served ? memory_release_name(name, sizeof name, o->release) : "one program by itself");
    begin(b, "memory", m->memory_bytes);
    strbuf_adds(b, isnan(m->memory_bytes) ? "the profile has no size\n" : "of a device\n");
    if (o->reserved > 0) {
        begin(b, "driver", m->reserved_bytes);
        strbuf_addf(b, "%g %% of it\n", 100 * o->reserved);
    }
    if (o->utilization < 1) {
        begin(b, "left alone", m->memory_bytes - m->reserved_bytes - m->usable_bytes);
        strbuf_addf(b, "%g %% of the rest (--util %g)\n", 100 - 100 * o->utilization, o->utilization);
    }
    begin(b, "weights", s->plan.need.weight_bytes);
    strbuf_addf(b, "%s\n", s->m->type_name);
    begin(b, "activations", s->plan.need.act_bytes);
    strbuf_addf(b, "a pass of %u tokens, logits of %u sequence%s\n", o->max_batched_tokens, o->max_seqs > 0 ? o->max_seqs : 1,
                o->max_seqs > 1 ? "s" : "");
    if (s->plan.need.runtime_bytes > 0) {
        begin(b, "runtime", s->plan.need.runtime_bytes);
        strbuf_adds(b, "its context and buffers\n");
    }
    if (s->plan.need.graph_bytes > 0) {
        begin(b, "graphs", s->plan.need.graph_bytes);
        strbuf_addf(b, "set aside for CUDA graphs of passes of up to %u tokens\n", o->max_captured);
    }
    add_cache(b, s);
    strbuf_adds(b, "\n");
}

/* ---- all rows ---------------------------------------------------------------------------------------- */

static bool any(const json_t *rows, const char *key, json_type type)
{
    bool found = false;
    for (size_t i = 0; i < json_array_size(rows); i++)
        found |= json_typeof(json_object_get(json_array_get(rows, i), key)) == type;
    return found;
}

/* A machine's reason for having no degree to name, each once. */
static void print_tp_notes(const json_t *rows)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *r = json_array_get(rows, i), *note = json_object_get(r, "tp_note"), *hw = json_object_get(r, "hw");
        bool said = !json_is_string(note);
        for (size_t k = 0; k < i && !said; k++) {
            const json_t *before = json_array_get(rows, k);
            said = json_equal(json_object_get(before, "tp_note"), note) && json_equal(json_object_get(before, "hw"), hw);
        }
        if (!said)
            report_text(0, "needs tp -: on %s, %s.\n", json_string_value(hw), json_string_value(note));
    }
}

/* What the largest numbers do not say by themselves. */
static void print_notes(const json_t *rows, const struct model *m)
{
    int64_t longest = 0;
    bool held_back = false, unknown = false;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *r = json_array_get(rows, i), *seqs = json_object_get(r, "max_seqs");
        const int64_t ctx = json_integer_value(json_object_get(r, "n_ctx"));
        longest = ctx > longest ? ctx : longest;
        unknown |= json_is_null(json_object_get(r, "fits")) && json_is_null(json_object_get(r, "reason"));
        held_back |= json_is_integer(seqs) && json_integer_value(json_object_get(r, "n_batch")) > json_integer_value(seqs);
    }
    report_text(0, "\nlargest batch: the most sequences of that context; largest context: of each of that many sequences.\n");
    if (any(rows, "served", JSON_TRUE))
        report_text(0, "vLLM: a server that takes its share of the memory; --local: one program that takes all, as `predict` assumes for llama.cpp.\n");
    if (held_back)
        report_text(0, "A server runs at most --max-seqs of them together (on each group of devices).\n");
    if (longest > m->hp.n_ctx_train)
        report_text(0, "The model was trained on contexts of %u.\n", m->hp.n_ctx_train);
    if (any(rows, "unbounded", JSON_TRUE))
        report_text(0, "-: any context; its windows and recurrences do not grow.\n");
    if (unknown)
        report_text(0, "unknown: a profile without a memory size.\n");
    if (any(rows, "tp_needed", JSON_INTEGER))
        report_text(0, "needs tp: devices of tensor parallelism (--tp) that would hold one.\n");
    print_tp_notes(rows);
}

/* One device: the column about devices would say so in every row. */
static void table_columns(struct column *out, const json_t *rows, const struct layout *l)
{
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        out[i] = columns[i];
        if (strcmp(columns[i].key, "reason") == 0 && any(rows, "reason", JSON_STRING))
            out[i].rank = COL_MAJOR;
        if (layout_devices(l) == 1 && strcmp(columns[i].key, "layout") == 0)
            out[i].rank = COL_DATA;
    }
}

int memory_print(const json_t *rows, const struct strbuf *plans, const struct memory_cli *o, const struct model *m,
                 struct error *err)
{
    json_t *meta = json_pack("{s:s, s:s}", "model", m->name, "type", m->type_name);
    struct column cols[ARRAY_LEN(columns)];
    const struct table d = { "roofcast.memory", 1, meta, rows, cols, ARRAY_LEN(cols), NULL, NULL };
    table_columns(cols, rows, &o->price.layout);
    const char *lines = strbuf_text(plans, "the lines", err);
    int rc = !lines ? -1 : meta ? 0 : error_oom(err, 0, "the memory");
    if (rc == 0 && o->save)
        rc = report_write(o->save, REPORT_JSON, &d, err);
    if (rc == 0 && o->format == REPORT_TABLE)
        report_text(31, "%s, %s\n\n%s", m->name, m->type_name, lines);
    fflush(stdout);
    if (rc == 0)
        rc = report_write(NULL, o->format, &d, err);
    if (rc == 0 && (o->format == REPORT_TABLE || o->format == REPORT_MD))
        print_notes(rows, m);
    json_decref(meta);
    return rc;
}
