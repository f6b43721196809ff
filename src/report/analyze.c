/* roofcast analyze: what every op of a pass moves and computes, as rows, side by side, and in sums. */
#include "report/analyze.h"
#include "report/fields.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An op, a role or a layer, in one phase. */
struct row {
    const char *phase, *role, *op, *type;
    int layer;
    struct cell rows, cols; /* of the weight; null in a sum of different ones */
    uint64_t n_ops, n_tok;
    struct cost cost;
    double ai, share, flop_share;
};

#define AT(m) COLUMN_AT(struct row, m)
static const struct column analyze_columns[] = {
    { "phase", NULL, COL_TEXT, NULL, COL_MAJOR, AT(phase), EMPTY_VALUE, "`\"prefill\"` or `\"decode\"`", NULL },
    { "layer", NULL, COL_INT, NULL, COL_MAJOR, AT(layer), EMPTY_VALUE, NULL, "-1: outside the blocks, or summed over layers" },
    { "role", NULL, COL_TEXT, NULL, COL_MAJOR, AT(role), EMPTY_NULL, NULL, "null in the row of a layer" },
    { "op", NULL, COL_TEXT, NULL, COL_MAJOR, AT(op), EMPTY_NULL, NULL, NULL },
    { "type", NULL, COL_TEXT, NULL, COL_MAJOR, AT(type), EMPTY_NULL, NULL, "tensor type or type of the KV cache; null: none; `mixed` in a sum" },
    { "rows", NULL, COL_INT, NULL, COL_MAJOR, AT(rows), EMPTY_VALUE, "int or null", "shape of the weight; null in a sum of different ones" },
    { "cols", NULL, COL_INT, NULL, COL_MAJOR, AT(cols), EMPTY_VALUE, "int or null", NULL },
    { "n_ops", NULL, COL_INT, NULL, COL_MAJOR, AT(n_ops), EMPTY_VALUE, NULL, "summed in this row" },
    { "n_tok", NULL, COL_INT, "tokens", COL_MAJOR, AT(n_tok), EMPTY_VALUE, NULL, "rows of activations" },
    { "weight_bytes", NULL, COL_SI, "B", COL_MAJOR, AT(cost.weight_bytes), EMPTY_VALUE, NULL, NULL },
    { "act_bytes", NULL, COL_SI, "B", COL_MAJOR, AT(cost.act_bytes), EMPTY_VALUE, NULL, NULL },
    { "kv_bytes", NULL, COL_SI, "B", COL_MAJOR, AT(cost.kv_bytes), EMPTY_VALUE, NULL, NULL },
    { "flop", NULL, COL_SI, "FLOP", COL_MAJOR, AT(cost.flop), EMPTY_VALUE, NULL, NULL },
    { "ai", NULL, COL_FLOAT, "FLOP/B", COL_MAJOR, AT(ai), EMPTY_NULL, NULL, NULL },
    { "share", NULL, COL_FRACTION, "fraction", COL_MAJOR, AT(share), EMPTY_NULL, NULL, "of the bytes of the phase" },
    { "flop_share", NULL, COL_FRACTION, "fraction", COL_MAJOR, AT(flop_share), EMPTY_NULL, NULL, "of the FLOP of the phase" },
};
#undef AT
const struct table_fields analyze_fields = { "analyze.row", analyze_columns, ARRAY_LEN(analyze_columns) };

static const char order[] =
    "phase layer role op type rows cols n_tok weight_bytes act_bytes kv_bytes flop ai share flop_share n_ops";

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

/* Columns common to rows and side-by-side table: layer, role, op, type, shape. */
static void put_head(struct row *w, const struct analysis *a, const struct analysis_row *g)
{
    const enum analysis_by by = a->o.by;
    const bool layer_row = by == ANALYSIS_BY_LAYER && g->first->layer >= 0;
    uint64_t n_rows, n_cols;
    op_weight_shape(g->first, &n_rows, &n_cols);
    w->layer = by == ANALYSIS_BY_ROLE ? -1 : g->first->layer;
    w->n_ops = by == ANALYSIS_BY_OP ? 1 : g->n_ops;
    if (layer_row)
        return;
    w->role = op_role_name(g->first->role);
    w->op = op_kind_name(g->first->kind);
    w->type = analysis_type(a, g);
    if (g->same_shape) {
        w->rows = cell_whole((int64_t)n_rows);
        w->cols = cell_whole((int64_t)n_cols);
    }
}

static void put_row(struct row *w, const struct analysis *a, const struct analysis_row *g, enum phase p)
{
    const struct cost *c = &g->cost[p], *all = &a->total[p];
    put_head(w, a, g);
    w->phase = phase_name(p);
    w->n_tok = g->n_tok[p];
    w->cost = *c;
    w->ai = cost_ai(c);
    w->share = ratio(cost_bytes(c), cost_bytes(all));
    w->flop_share = ratio(c->flop, all->flop);
}

static struct table_rows rows_of(const struct analysis *a)
{
    struct table_rows rows = { .size = sizeof(struct row) };
    for (int p = 0; p < PHASE_COUNT; p++)
        for (size_t i = 0; i < a->n_row && analysis_has(a, (enum phase)p); i++)
            put_row(table_add(&rows), a, &a->row[i], (enum phase)p);
    return rows;
}

static json_t *apart_json(const struct analysis *a)
{
    json_t *apart = json_array();
    bool *read = account_marks(a->m, &a->ops, NULL);
    int bad = !read;
    for (size_t i = 0; read && i < a->m->n_tensors; i++) {
        const struct tensor *t = &a->m->tensors[i];
        if (!read[i])
            bad |= json_array_append_new(apart, json_pack("{s:s, s:I}", "name", t->name, "bytes", (json_int_t)t->bytes));
    }
    free(read);
    if (!bad)
        return apart;
    json_decref(apart);
    return NULL;
}

static json_t *totals_json(const struct analysis *a)
{
    json_t *t = json_object();
    int bad = 0;
    for (int p = 0; p < PHASE_COUNT; p++)
        if (analysis_has(a, (enum phase)p)) {
            json_t *c = json_object();
            bad |= fields_cost(c, &a->total[p]);
            bad |= json_object_set_new(t, phase_name((enum phase)p), c);
        }
    if (!bad)
        return t;
    json_decref(t);
    return NULL;
}

/* ---- experts, windows, latents ---------------------------------- */

static const struct op *first_op(const struct analysis *a, enum op_kind kind)
{
    for (size_t i = 0; i < a->ops.n; i++)
        if (a->ops.ops[i].kind == kind)
            return &a->ops.ops[i];
    return NULL;
}

/* Layers with an op of this kind; windowed: with a window only. */
static uint32_t n_layers(const struct analysis *a, enum op_kind kind, bool windowed)
{
    uint32_t n = 0;
    int last = -1;
    for (size_t i = 0; i < a->ops.n; i++) {
        const struct op *op = &a->ops.ops[i];
        if (op->kind != kind || (windowed && op->window == 0) || op->layer == last)
            continue;
        last = op->layer;
        n++;
    }
    return n;
}

/* A layer with a window, or NULL. */
static const struct op *windowed_op(const struct analysis *a)
{
    for (size_t i = 0; i < a->ops.n; i++)
        if (a->ops.ops[i].kind == OP_KV_STORE && a->ops.ops[i].window > 0)
            return &a->ops.ops[i];
    return NULL;
}

/* Elements of the latent row that a layer caches instead of keys and values; 0: none. */
static uint32_t latent_elems(const struct analysis *a)
{
    const struct op *op = first_op(a, OP_KV_STORE);
    return op && op->head_dim_v == 0 ? op->head_dim : 0;
}

/* Elements per position of the indexer's keys; 0: no indexer. */
static uint32_t index_elems(const struct analysis *a)
{
    const struct op *op = first_op(a, OP_INDEX);
    return op ? op->head_dim : 0;
}

static uint64_t context(const struct analysis *a)
{
    return (uint64_t)a->o.n_depth + a->o.n_prompt + a->o.n_gen;
}

static void widest(void *ctx, const struct pass *p)
{
    uint32_t *n = ctx;
    *n = p->n_tok > *n ? p->n_tok : *n;
}

/* Mean number of experts that a pass of this phase reads per layer; NaN: no such pass. */
static double touched(const struct analysis *a, enum phase p, const struct op *expert)
{
    uint32_t n_tok = a->o.n_batch;
    if (!analysis_has(a, p))
        return NAN;
    if (p == PHASE_PREFILL)
        prefill_passes(a->o.n_prompt, 0, a->o.n_ubatch, a->o.n_batch, widest, &n_tok);
    return experts_touched(NULL, expert->n_expert, expert->n_expert_used, n_tok);
}

static json_t *experts_json(const struct analysis *a)
{
    const struct op *op = first_op(a, OP_EXPERT_MATMUL);
    if (!op)
        return json_null();
    return json_pack("{s:I, s:I, s:I, s:o, s:o}", "n_expert", (json_int_t)op->n_expert, "n_expert_used",
                     (json_int_t)op->n_expert_used, "n_layer", (json_int_t)n_layers(a, OP_EXPERT_MATMUL, false),
                     "prefill_touched", json_num(touched(a, PHASE_PREFILL, op)), "decode_touched",
                     json_num(touched(a, PHASE_DECODE, op)));
}

static json_t *window_json(const struct analysis *a)
{
    const struct op *op = windowed_op(a);
    return op ? json_pack("{s:I, s:I}", "n_keys", (json_int_t)op->window, "n_layer",
                          (json_int_t)n_layers(a, OP_KV_STORE, true))
              : json_null();
}

static int put_parts(json_t *j, const struct analysis *a)
{
    const uint32_t latent = latent_elems(a), index = index_elems(a);
    int bad = json_object_set_new(j, "experts", experts_json(a));
    bad |= json_object_set_new(j, "window", window_json(a));
    bad |= json_object_set_new(j, "latent_elems", latent ? json_integer(latent) : json_null());
    bad |= json_object_set_new(j, "index_elems", index ? json_integer(index) : json_null());
    bad |= json_object_set_new(j, "state_bytes_sequence", json_num(cost_state_bytes_sequence(&a->ops)));
    bad |= json_object_set_new(j, "kv_bytes_sequence",
                               json_num(cost_kv_bytes(&a->ops, &a->o.cost, context(a), a->o.n_ubatch)));
    return bad;
}

static json_t *meta_json(const struct analysis *a, struct error *err)
{
    const struct analysis_options *o = &a->o;
    const struct model *m = a->m;
    json_t *j = json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:s}", "model", m->name, "type", m->type_name, "arch",
        model_arch_name(m), "n_prompt", (json_int_t)o->n_prompt, "n_gen", (json_int_t)o->n_gen, "n_depth",
        (json_int_t)o->n_depth, "n_batch", (json_int_t)o->n_batch, "n_ubatch", (json_int_t)o->n_ubatch,
        "act_elem_bytes", o->cost.act_elem_bytes, "kv_type",
        o->cost.type_k == o->cost.type_v ? dtype_name(o->cost.type_k) : "mixed");
    json_t *w = json_pack("{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "n_params", (json_int_t)m->n_params, "n_tensors",
                          (json_int_t)m->n_tensors, "file_weight_bytes", (json_int_t)m->weight_bytes,
                          "step_weight_bytes", json_num(a->weights.read_bytes), "embed_unread_bytes",
                          json_num(a->weights.embed_unread_bytes), "embed_again_bytes",
                          json_num(a->weights.embed_again_bytes), "expert_unread_bytes",
                          json_num(a->weights.expert_unread_bytes), "apart_bytes", json_num(a->weights.apart_bytes),
                          "kv_bytes_token", json_num(cost_kv_bytes_token(&a->ops, &o->cost)));
    if (!j || !w || json_object_update(j, w) != 0 || fields_kv_types(j, o->cost.type_k, o->cost.type_v) != 0 ||
        put_parts(j, a) != 0 || json_object_set_new(j, "apart", apart_json(a)) != 0 ||
        json_object_set_new(j, "totals", totals_json(a)) != 0) {
        error_oom(err, 0, "the analysis");
        json_decref(j);
        j = NULL;
    }
    json_decref(w);
    return j;
}

/* ---- printing ------------------------------------------------------------------------------ */

/* Columns of a phase; the first heading begins with the test's name. */
enum { SIDE_WEIGHT, SIDE_ACT, SIDE_KV, SIDE_FLOP, SIDE_AI, SIDE_SHARE, SIDE_COUNT };

struct side_row {
    struct row head;
    struct cell layer;
    const char *times, *shape;
    double v[PHASE_COUNT][SIDE_COUNT];
};

static void put_side(double *to, const struct analysis *a, const struct analysis_row *g, enum phase p)
{
    const struct cost *c = &g->cost[p], *all = &a->total[p];
    /* The share of the usual bottleneck: FLOP in prefill, bytes in decode. */
    const double v[SIDE_COUNT] = { c->weight_bytes, c->act_bytes, c->kv_bytes, c->flop, cost_ai(c),
                                   p == PHASE_PREFILL ? ratio(c->flop, all->flop)
                                                : ratio(cost_bytes(c), cost_bytes(all)) };
    memcpy(to, v, sizeof v);
}

/* "[4096, 14336]", "8 x [4096, 14336]" */
static void shape_text(char *buf, size_t size, const struct op *op)
{
    const uint32_t n = op_n_matrix(op);
    uint64_t rows, cols;
    op_weight_shape(op, &rows, &cols);
    if (n > 1)
        snprintf(buf, size, "%u x [%" PRIu64 ", %" PRIu64 "]", n, rows / n, cols);
    else
        snprintf(buf, size, "[%" PRIu64 ", %" PRIu64 "]", rows, cols);
}

static void add_side_row(struct table_rows *rows, const struct analysis *a, const struct analysis_row *g)
{
    struct side_row *w = table_add(rows);
    char text[64];
    put_head(&w->head, a, g);
    if (g->first->layer >= 0 && a->o.by != ANALYSIS_BY_ROLE)
        w->layer = cell_whole(w->head.layer);
    if (a->o.by == ANALYSIS_BY_ROLE && g->n_ops > 1) {
        snprintf(text, sizeof text, "x %zu", g->n_ops);
        w->times = table_text(rows, text);
    }
    if ((op_is_product(g->first) || g->first->kind == OP_EMBED) && g->same_shape &&
        !(a->o.by == ANALYSIS_BY_LAYER && g->first->layer >= 0)) {
        shape_text(text, sizeof text, g->first);
        w->shape = table_text(rows, text);
    }
    for (int p = 0; p < PHASE_COUNT; p++)
        if (analysis_has(a, (enum phase)p))
            put_side(w->v[p], a, g, (enum phase)p);
}

/* Test of the columns. */
static void test_name(char *buf, size_t n, const struct analysis_options *o, enum phase p)
{
    phase_test_name(buf, n, p, p == PHASE_PREFILL ? o->n_prompt : o->n_gen, 1, o->n_depth);
}

static size_t side_columns(struct column *cols, char heading[][64], const struct analysis_options *o, enum phase p)
{
    static const struct {
        const char *header;
        enum column_style style;
        const char *unit;
    } side[SIDE_COUNT] = {
        [SIDE_WEIGHT] = { "weights", COL_SI, "B" }, [SIDE_ACT] = { "activations", COL_SI, "B" },
        [SIDE_KV] = { "KV cache", COL_SI, "B" },          [SIDE_FLOP] = { "FLOP", COL_SI, "" },
        [SIDE_AI] = { "FLOP/B", COL_FLOAT, NULL },  [SIDE_SHARE] = { NULL, COL_FRACTION, NULL },
    };
    char test[40];
    test_name(test, sizeof test, o, p);
    for (int i = 0; i < SIDE_COUNT; i++) {
        const char *h = side[i].header ? side[i].header : p == PHASE_PREFILL ? "% of FLOP" : "% of bytes";
        snprintf(heading[i], sizeof heading[i], "%s%s%s", i ? "" : test, i ? "" : " ", h);
        /* zeros are printed as dashes */
        cols[i] = (struct column){ heading[i], NULL, side[i].style, side[i].unit, COL_MAJOR, COLUMN_AT(struct side_row, v[p][i]), EMPTY_ZERO, NULL, NULL };
    }
    return SIDE_COUNT;
}

static int print_side_by_side(const struct analysis *a, enum report_format format, struct error *err)
{
#define AT(m) COL_MAJOR, COLUMN_AT(struct side_row, m), EMPTY_NULL, NULL, NULL
    struct column cols[8 + 2 * SIDE_COUNT];
    char heading[PHASE_COUNT][SIDE_COUNT][64];
    size_t n = 0;
    if (a->o.by != ANALYSIS_BY_ROLE)
        cols[n++] = (struct column){ "layer", NULL, COL_INT, NULL, COL_MAJOR, COLUMN_AT(struct side_row, layer), EMPTY_VALUE, NULL, NULL };
    cols[n++] = (struct column){ "role", NULL, COL_TEXT, NULL, AT(head.role) };
    if (a->o.by == ANALYSIS_BY_ROLE)
        cols[n++] = (struct column){ "ops", NULL, COL_TEXT, NULL, AT(times) };
    if (a->o.by != ANALYSIS_BY_LAYER) {
        cols[n++] = (struct column){ "type", NULL, COL_TEXT, NULL, AT(head.type) };
        cols[n++] = (struct column){ "shape", NULL, COL_TEXT, NULL, AT(shape) };
    }
#undef AT
    for (int p = 0; p < PHASE_COUNT; p++)
        if (analysis_has(a, (enum phase)p))
            n += side_columns(&cols[n], heading[p], &a->o, (enum phase)p);
    struct table_rows rows = { .size = sizeof(struct side_row) };
    for (size_t i = 0; i < a->n_row; i++)
        add_side_row(&rows, a, &a->row[i]);
    const int rc = report_write(NULL, format, &(struct table){ "roofcast.analyze", 1, NULL, cols, n, &rows, NULL }, err);
    table_rows_free(&rows);
    return rc;
}

static void print_total(const struct analysis *a, enum phase p)
{
    char test[40], b[4][40];
    const struct cost *c = &a->total[p];
    if (!analysis_has(a, p))
        return;
    test_name(test, sizeof test, &a->o, p);
    printf("%-10s %s of weights + %s of activations + %s of KV cache; %s; %.3g FLOP/byte\n", test,
           units_si(b[0], sizeof b[0], c->weight_bytes, "B"), units_si(b[1], sizeof b[1], c->act_bytes, "B"),
           units_si(b[2], sizeof b[2], c->kv_bytes, "B"), units_si(b[3], sizeof b[3], c->flop, "FLOP"),
           cost_ai(c));
}

/* " pp512 reads 256.0 of them" */
static void print_touched(const struct analysis *a, enum phase p, const struct op *expert)
{
    char test[40];
    if (!analysis_has(a, p))
        return;
    test_name(test, sizeof test, &a->o, p);
    printf("; %s reads %.1f per %s on average", test, touched(a, p, expert), p == PHASE_PREFILL ? "pass" : "step");
}

/* State of recurrent layers. */
static void print_state(const struct analysis *a)
{
    const uint32_t n = n_layers(a, OP_CONV1D, false);
    if (n > 0)
        printf("%-10s %.0f B per sequence (F32) in %u of %u layers, independent of its length\n", "state",
               cost_state_bytes_sequence(&a->ops), n, a->m->hp.n_layer);
}

static void print_parts(const struct analysis *a)
{
    const struct op *expert = first_op(a, OP_EXPERT_MATMUL), *window = windowed_op(a);
    const uint32_t n_layer = n_layers(a, OP_KV_STORE, false), latent = latent_elems(a), index = index_elems(a);
    if (expert) {
        printf("%-10s %u of %u per token, in %u of %u layers", "experts", expert->n_expert_used, expert->n_expert,
               n_layers(a, OP_EXPERT_MATMUL, false), a->m->hp.n_layer);
        for (int p = 0; p < PHASE_COUNT; p++)
            print_touched(a, (enum phase)p, expert);
        printf("\n");
    }
    printf("%-10s %.0f B per token (", "KV cache", cost_kv_bytes_token(&a->ops, &a->o.cost));
    if (latent > 0)
        printf("%s): a latent row of %u elements per layer%s\n", dtype_name(a->o.cost.type_k), latent,
               index ? ", plus a key of the indexer" : "");
    else if (a->o.cost.type_k == a->o.cost.type_v)
        printf("%s)", dtype_name(a->o.cost.type_k));
    else
        printf("keys %s, values %s)", dtype_name(a->o.cost.type_k), dtype_name(a->o.cost.type_v));
    if (latent == 0 && n_layer < a->m->hp.n_layer)
        printf(" in %u of %u layers\n", n_layer, a->m->hp.n_layer);
    else if (latent == 0)
        printf("\n");
    print_state(a);
    if (window)
        printf("%-10s %u keys in %u of %u layers: a sequence of %" PRIu64 " tokens takes %.0f B\n", "window",
               window->window, n_layers(a, OP_KV_STORE, true), n_layer, context(a),
               cost_kv_bytes(&a->ops, &a->o.cost, context(a), a->o.n_ubatch));
}

/* Tensors that no op reads, the first few by name. */
static void print_apart(const struct analysis *a)
{
    enum { SHOWN = 4 };
    bool *read = account_marks(a->m, &a->ops, NULL);
    size_t n = 0;
    uint64_t more = 0;
    for (size_t i = 0; read && i < a->m->n_tensors; i++) {
        const struct tensor *t = &a->m->tensors[i];
        if (read[i])
            continue;
        if (n++ < SHOWN)
            printf("%-10s %s, %" PRIu64 " B: not read by any op\n", "unused", t->name, t->bytes);
        else
            more += t->bytes;
    }
    if (n > SHOWN)
        printf("%-10s and %zu more, %" PRIu64 " B\n", "", n - SHOWN, more);
    free(read);
}

/* Totals, comparable with the file size and with other tools. */
static void print_totals(const struct analysis *a)
{
    char b[40];
    const struct weight_account *w = &a->weights;
    const struct model *m = a->m;
    printf("\n%-10s %s, %s: %" PRIu64 " parameters in %zu tensors, %s (%.2f bits per weight)\n", "model", m->name,
           m->type_name, m->n_params, m->n_tensors, units_si(b, sizeof b, w->total_bytes, "B"),
           8 * w->total_bytes / (double)m->n_params);
    printf("%-10s %.0f B of weights", "per step", w->read_bytes);
    if (w->embed_unread_bytes > 0)
        printf("; %.0f B of embedding rows are not read", w->embed_unread_bytes);
    if (w->expert_unread_bytes > 0)
        printf("; %.0f B of experts are not read%s", w->expert_unread_bytes, a->o.n_batch > 1 ? ", on average" : "");
    if (w->embed_again_bytes > 0)
        printf("; the LM head is the embedding table: %.0f B of it are read a second time", w->embed_again_bytes);
    printf("\n");
    print_apart(a);
    print_parts(a);
    print_total(a, PHASE_PREFILL);
    print_total(a, PHASE_DECODE);
}

int analyze_print(const struct analysis *a, enum report_format f, const char *save, struct error *err)
{
    struct table_rows rows = rows_of(a);
    json_t *meta = meta_json(a, err);
    const struct table d = { "roofcast.analyze", 1, meta, analyze_columns, ARRAY_LEN(analyze_columns), &rows, order };
    int rc = -1;
    if (!meta)
        goto out;
    if (save && report_write(save, REPORT_JSON, &d, err) != 0)
        goto out;
    rc = f == REPORT_TABLE || f == REPORT_MD ? print_side_by_side(a, f, err) : report_write(NULL, f, &d, err);
    if (rc == 0 && (f == REPORT_TABLE || f == REPORT_MD))
        print_totals(a);
out:
    table_rows_free(&rows);
    json_decref(meta);
    return rc;
}
