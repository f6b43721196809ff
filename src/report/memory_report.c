/* roofcast memory: rows of the largest batch and context, and the memory plan of a device. */
#include "report/memory_report.h"
#include "report/output.h"
#include <math.h>
#include <string.h>

struct memory_row {
    const char *model, *hw, *type, *type_k, *type_v, *layout, *server, *largest, *reason, *tp_note;
    struct memory_options o;
    uint32_t n_devices, tp_needed; /* tp_needed 0: none */
    bool served, unbounded;
    int fits;              /* at least one sequence; -1: memory unknown */
    double n_ctx, n_batch; /* whole; NaN: unbounded or unknown */
    double need_bytes, memory_bytes, reserved_bytes, usable_bytes;
    struct memory_plan plan;
};
const size_t memory_row_size = sizeof(struct memory_row);

#define AT(m) COLUMN_AT(struct memory_row, m)
static const struct column memory_columns[] = {
    { "model", NULL, COL_TEXT, NULL, COL_DATA, AT(model), EMPTY_VALUE, NULL, NULL },
    { "hw", "hw", COL_TEXT, NULL, COL_MAJOR, AT(hw), EMPTY_VALUE, NULL, "id of the profile" },
    { "type", NULL, COL_TEXT, NULL, COL_DATA, AT(type), EMPTY_VALUE, NULL, NULL },
    { "type_k", NULL, COL_TEXT, NULL, COL_DATA, AT(type_k), EMPTY_VALUE, NULL, "type of the keys in the KV cache" },
    { "type_v", NULL, COL_TEXT, NULL, COL_DATA, AT(type_v), EMPTY_VALUE, NULL, "of the values" },
    { "n_devices", NULL, COL_INT, NULL, COL_DATA, AT(n_devices), EMPTY_VALUE, NULL, NULL },
    { "layout", "devices", COL_TEXT, NULL, COL_MAJOR, AT(layout), EMPTY_VALUE, NULL, "parallel layout: \"tp4 pp2\"" },
    { "served", NULL, COL_BOOL, NULL, COL_DATA, AT(served), EMPTY_VALUE, NULL, "as a server; false: as a single program" },
    { "server", NULL, COL_TEXT, NULL, COL_DATA, AT(server), EMPTY_NULL, NULL, "server whose defaults apply: \"vLLM 0.30\"; null: a single program" },
    { "block", NULL, COL_INT, "tokens", COL_DATA, AT(o.block), EMPTY_VALUE, NULL, "per page of the KV cache; 1: no paging" },
    { "utilization", NULL, COL_FLOAT, "fraction", COL_DATA, AT(o.utilization), EMPTY_VALUE, NULL, "fraction of the memory without the driver's share that the program uses" },
    { "max_batched_tokens", NULL, COL_INT, "tokens", COL_DATA, AT(o.max_batched_tokens), EMPTY_VALUE, NULL, "per pass" },
    { "max_seqs", NULL, COL_INT, NULL, COL_DATA, AT(o.max_seqs), EMPTY_NULL, NULL, "sequences per step; null: unlimited" },
    { "largest", "largest", COL_TEXT, NULL, COL_MAJOR, AT(largest), EMPTY_VALUE, "`\"batch\"` or `\"context\"`", "the quantity that the row maximizes, given the other" },
    { "n_ctx", "context", COL_INT, "tokens", COL_MAJOR, AT(n_ctx), EMPTY_NULL, NULL, "of each sequence; 0: none fits; null: unbounded or unknown" },
    { "n_batch", "batch", COL_INT, NULL, COL_MAJOR, AT(n_batch), EMPTY_NULL, NULL, "sequences over all devices; 0: none fits; null: unknown" },
    { "reason", "why not", COL_TEXT, NULL, COL_DATA, AT(reason), EMPTY_NULL, NULL, "why the model cannot run on this machine, in a table with other machines; "
      "the maxima are then null" },
    { "unbounded", NULL, COL_BOOL, NULL, COL_DATA, AT(unbounded), EMPTY_VALUE, NULL, "any context fits: windows and recurrent states do not grow" },
    { "need_bytes", "needs", COL_SI, "B", COL_MAJOR, AT(need_bytes), EMPTY_NULL, NULL, "on the device with the largest need, with that batch and context" },
    { "fits", "fits", COL_BOOL, NULL, COL_MAJOR, AT(fits), EMPTY_NULL, NULL, "at least one sequence; null: memory unknown" },
    { "tp_needed", "needs tp", COL_INT, NULL, COL_MEDIUM, AT(tp_needed), EMPTY_NULL, NULL, "if none fits: tensor-parallel devices that hold one "
      "and that a link of the machine connects; null: none up to 1024, or not needed" },
    { "tp_note", NULL, COL_TEXT, NULL, COL_DATA, AT(tp_note), EMPTY_NULL, NULL, "why `tp_needed` is null if none fits" },
    { "memory_bytes", NULL, COL_SI, "B", COL_DATA, AT(memory_bytes), EMPTY_NULL, NULL, "of the machine" },
    { "reserved_bytes", NULL, COL_SI, "B", COL_DATA, AT(reserved_bytes), EMPTY_NULL, NULL, "reserved by the driver" },
    { "usable_bytes", NULL, COL_SI, "B", COL_DATA, AT(usable_bytes), EMPTY_NULL, NULL, "available to the program" },
    { "weight_bytes", NULL, COL_SI, "B", COL_DATA, AT(plan.need.weight_bytes), EMPTY_VALUE, NULL, NULL },
    { "act_bytes", NULL, COL_SI, "B", COL_DATA, AT(plan.need.act_bytes), EMPTY_VALUE, NULL, "peak of activations" },
    { "runtime_bytes", NULL, COL_SI, "B", COL_DATA, AT(plan.need.runtime_bytes), EMPTY_VALUE, NULL, "driver context and communication buffers" },
    { "graph_bytes", NULL, COL_SI, "B", COL_DATA, AT(plan.need.graph_bytes), EMPTY_VALUE, NULL, "reserved for captured graphs" },
    { "free_bytes", NULL, COL_SI, "B", COL_DATA, AT(plan.free_bytes), EMPTY_NULL, NULL, "available to the KV cache; negative: missing" },
    { "kv_token_bytes", NULL, COL_SI, "B", COL_DATA, AT(plan.kv_token_bytes), EMPTY_VALUE, NULL, "per position of a sequence, before any window is full" },
    { "kv_state_bytes", NULL, COL_SI, "B", COL_DATA, AT(plan.kv_state_bytes), EMPTY_VALUE, NULL, "recurrent state per sequence" },
    { "block_bytes", NULL, COL_SI, "B", COL_DATA, AT(plan.block_bytes), EMPTY_VALUE, NULL, NULL },
    { "blocks", NULL, COL_INT, NULL, COL_DATA, AT(plan.blocks), EMPTY_NULL, NULL, NULL },
    { "tokens", NULL, COL_INT, "tokens", COL_DATA, AT(plan.tokens), EMPTY_NULL, NULL, "of all blocks" },
    { "waste_tokens", NULL, COL_FLOAT, "tokens", COL_DATA, AT(plan.waste_tokens), EMPTY_VALUE, NULL, "unused tokens of a sequence's last block, mean, at most" },
};
#undef AT
const struct table_fields memory_fields = { "memory.row", memory_columns, ARRAY_LEN(memory_columns) };

static const char order[] =
    "model hw type type_k type_v layout n_devices largest n_ctx n_batch unbounded need_bytes fits tp_needed tp_note memory_bytes reserved_bytes "
    "usable_bytes weight_bytes act_bytes runtime_bytes graph_bytes free_bytes kv_token_bytes kv_state_bytes block_bytes blocks tokens "
    "waste_tokens served server block utilization max_batched_tokens max_seqs reason";

/* ---- a row ------------------------------------------------------------------------------------ */

static void put_subject(struct memory_row *w, struct table_rows *rows, const struct memory_subject *s)
{
    const struct memory_model *m = s->memory;
    const struct memory_options *o = &m->o;
    char text[64];
    w->model = s->m->name;
    w->hw = table_text(rows, s->h->id);
    w->type = s->m->type_name;
    w->type_k = dtype_name(o->type_k);
    w->type_v = dtype_name(o->type_v);
    w->n_devices = layout_devices(&o->layout);
    w->layout = table_text(rows, layout_text(text, sizeof text, &o->layout));
    w->served = s->served;
    w->server = s->served ? table_text(rows, memory_release_name(text, sizeof text, o->release)) : NULL;
    w->o = *o;
    w->reason = table_text(rows, s->reason);
    w->memory_bytes = m->memory_bytes;
    w->reserved_bytes = m->reserved_bytes;
    w->usable_bytes = m->usable_bytes;
    w->plan = s->plan;
}

/* Why no degree of tensor parallelism is sufficient. */
static const char *tp_note(char *buf, size_t size, const struct tp_needed *n)
{
    if (n->apart == 0)
        return "no --tp that divides the model is sufficient";
    if (n->joined == 1)
        return "no link connects the devices needed";
    snprintf(buf, size, "it needs more devices than a link connects (%u)", n->joined);
    return buf;
}

/* found: the maximum; from 1 on it fits: the memory needed, else the devices needed for one sequence. */
static void put_found(struct memory_row *w, struct table_rows *rows, const struct memory_subject *s, double found, uint64_t n_ctx, uint64_t n_seq)
{
    const bool some = found >= 1;
    struct tp_needed tp = { 0 };
    char text[64];
    if (found < 1)
        tp = memory_tp_needed(s->classes, s->h, &s->memory->o, n_seq > 0 ? n_seq : 1, n_ctx > 0 ? n_ctx : 1);
    w->unbounded = isinf(found);
    w->need_bytes = some && isfinite(found) ? memory_need(s->memory, n_seq, n_ctx).total_bytes : NAN;
    w->fits = isnan(found) ? -1 : some;
    w->tp_needed = tp.tp;
    w->tp_note = found < 1 && tp.tp == 0 ? table_text(rows, tp_note(text, sizeof text, &tp)) : NULL;
}

void memory_add_row(struct table_rows *rows, const struct memory_subject *s, uint64_t n_ctx, uint64_t n_seq)
{
    const bool batch = n_seq == 0;
    const double found = s->reason ? NAN : batch ? memory_max_batch(s->memory, n_ctx) : memory_max_context(s->memory, n_seq);
    const uint64_t n = isfinite(found) ? (uint64_t)found : 0;
    struct memory_row *w = table_add(rows);
    put_subject(w, rows, s);
    w->largest = batch ? "batch" : "context";
    w->n_ctx = batch ? (double)n_ctx : found;
    w->n_batch = batch ? found : (double)n_seq;
    put_found(w, rows, s, found, batch ? n_ctx : n, batch ? n : n_seq);
}

/* ---- the memory plan -------------------------------------------------------------------- */

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
        strbuf_adds(b, "for the weights and one pass\n");
    else if (isnan(p->blocks))
        strbuf_addf(b, "%s per position\n", token);
    else if (block == 1)
        strbuf_addf(b, "%.0f tokens of %s\n", p->tokens, token);
    else
        strbuf_addf(b, "%.0f blocks of %u tokens, %s each: %.0f tokens; on average %g tokens of a sequence's last block are unused\n",
                    p->blocks, block, units_si(each, sizeof each, p->block_bytes, "B"), p->tokens, p->waste_tokens);
    if (windowed(s->classes))
        strbuf_addf(b, "  %-14s %12s  before any window is full: layers with a window store less of a long context\n", "", "");
    if (p->kv_state_bytes > 0)
        strbuf_addf(b, "  %-14s %12s  plus %s of recurrent state per sequence\n", "", "",
                    units_si(each, sizeof each, p->kv_state_bytes, "B"));
}

void memory_add_plan(struct strbuf *b, const struct memory_subject *s)
{
    const struct memory_model *m = s->memory;
    const struct memory_options *o = &m->o;
    char layout[64], name[32];
    strbuf_addf(b, "\n%s, %s%s, %s\n", s->h->id, layout_text(layout, sizeof layout, &o->layout),
                layout_devices(&o->layout) > 1 ? ", the device with the largest need" : "",
                s->served ? memory_release_name(name, sizeof name, o->release) : "single program");
    begin(b, "memory", m->memory_bytes);
    strbuf_adds(b, isnan(m->memory_bytes) ? "not in the profile\n" : "per device\n");
    if (o->reserved > 0) {
        begin(b, "driver", m->reserved_bytes);
        strbuf_addf(b, "%.2g %% of the memory\n", 100 * o->reserved);
    }
    if (o->utilization < 1) {
        begin(b, "unused", m->memory_bytes - m->reserved_bytes - m->usable_bytes);
        strbuf_addf(b, "%g %% of the remaining memory (--util %g)\n", 100 - 100 * o->utilization, o->utilization);
    }
    begin(b, "weights", s->plan.need.weight_bytes);
    strbuf_addf(b, "%s\n", s->m->type_name);
    begin(b, "activations", s->plan.need.act_bytes);
    strbuf_addf(b, "pass of %u tokens, logits of %u sequence%s%s\n", o->max_batched_tokens, o->max_seqs > 0 ? o->max_seqs : 1,
                o->max_seqs > 1 ? "s" : "", o->compiles ? ", kernels tuned on a copy of the embedding" : "");
    if (s->plan.need.runtime_bytes > 0) {
        begin(b, "runtime", s->plan.need.runtime_bytes);
        strbuf_adds(b, "context and buffers\n");
    }
    if (s->plan.need.graph_bytes > 0) {
        begin(b, "graphs", s->plan.need.graph_bytes);
        strbuf_addf(b, "CUDA graphs of passes of up to %u tokens\n", o->max_captured);
    }
    add_cache(b, s);
}

/* ---- all rows ---------------------------------------------------------------------------------------- */

/* Reasons for a missing tp_needed, once per machine. */
static void print_tp_notes(const struct table_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        const struct memory_row *r = table_row(rows, i);
        bool said = !r->tp_note;
        for (size_t k = 0; k < i && !said; k++) {
            const struct memory_row *before = table_row(rows, k);
            said = before->tp_note && strcmp(before->tp_note, r->tp_note) == 0 && strcmp(before->hw, r->hw) == 0;
        }
        if (!said)
            report_text(0, "needs tp: none on %s: %s.\n", r->hw, r->tp_note);
    }
}

/* Notes below the table. */
static void print_notes(const struct table_rows *rows, const struct model *m)
{
    double longest = 0;
    bool held_back = false, unknown = false, served = false, unbounded = false, tp_needed = false;
    for (size_t i = 0; i < rows->n; i++) {
        const struct memory_row *r = table_row(rows, i);
        longest = r->n_ctx > longest && isfinite(r->n_ctx) ? r->n_ctx : longest;
        unknown |= r->fits < 0 && !r->reason;
        held_back |= r->o.max_seqs > 0 && isfinite(r->n_batch) && r->n_batch > r->o.max_seqs;
        served |= r->served;
        unbounded |= r->unbounded;
        tp_needed |= r->tp_needed > 0;
    }
    report_text(0, "\nlargest batch: most sequences with that context; largest context: longest context of that many sequences.\n");
    if (served)
        report_text(0, "vLLM: a server that uses the share --util of the memory; --local: a single program that uses all of it, as `predict` assumes for llama.cpp.\n");
    if (held_back)
        report_text(0, "A server runs at most --max-seqs sequences at once on each group of devices.\n");
    if (longest > m->hp.n_ctx_train)
        report_text(0, "The trained context of the model is %u tokens.\n", m->hp.n_ctx_train);
    if (unbounded)
        report_text(0, "-: any context fits; windows and recurrent states do not grow.\n");
    if (unknown)
        report_text(0, "unknown: the profile has no memory size.\n");
    if (tp_needed)
        report_text(0, "needs tp: tensor-parallel devices (--tp) that hold one sequence.\n");
    print_tp_notes(rows);
}

int memory_print(const struct table_rows *rows, const struct strbuf *plans, const struct memory_cli *o, const struct model *m,
                 struct error *err)
{
    json_t *meta = json_pack("{s:s, s:s}", "model", m->name, "type", m->type_name);
    struct column cols[ARRAY_LEN(memory_columns)];
    const struct table d = { "roofcast.memory", 1, meta, cols, ARRAY_LEN(cols), rows, order };
    memcpy(cols, memory_columns, sizeof cols);
    columns_rank_known(cols, ARRAY_LEN(cols), &d, "reason", COL_MAJOR);
    if (layout_devices(&o->price.layout) == 1)
        columns_rank(cols, ARRAY_LEN(cols), "layout", COL_DATA); /* the same in every row */
    const char *lines = strbuf_text(plans, "the lines", err);
    int rc = !lines ? -1 : meta ? 0 : error_oom(err, 0, "the memory");
    if (rc == 0 && o->save)
        rc = report_write(o->save, REPORT_JSON, &d, err);
    if (rc == 0 && o->format == REPORT_TABLE)
        report_text(0, "%s, %s\n\n", m->name, m->type_name);
    fflush(stdout);
    if (rc == 0)
        rc = report_write(NULL, o->format, &d, err);
    if (rc == 0 && (o->format == REPORT_TABLE || o->format == REPORT_MD))
        print_notes(rows, m);
    if (rc == 0 && o->format == REPORT_TABLE)
        report_text(31, "%s", lines);
    json_decref(meta);
    return rc;
}
