/* roofcast sweep: the rows of a cell of the grid as text. Fields are written directly for speed: 100,000 rows per second. */
#include "report/grid.h"
#include "cost/memory.h"
#include "report/predict_report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the grid ------------------------------------------------------------------------------- */

size_t sweep_n_unit(const struct sweep_grid *g)
{
    return g->model.n * g->type.n;
}

size_t sweep_n_cell(const struct sweep_grid *g)
{
    return g->kv.n * g->tp.n * g->pp.n * g->dp.n * g->ep.n * g->hw.n;
}

size_t sweep_n_row(const struct sweep_grid *g)
{
    return g->batch.n * g->depth.n * g->prompt.n * g->gen.n;
}

static size_t chunks_of_cell(const struct sweep_grid *g)
{
    return (size_t)u64_ceil_div(sweep_n_row(g), SWEEP_CHUNK);
}

size_t sweep_n_chunk(const struct sweep_grid *g)
{
    return sweep_n_cell(g) * chunks_of_cell(g);
}

size_t sweep_first_row(const struct sweep_grid *g, size_t chunk)
{
    return chunk / chunks_of_cell(g) * sweep_n_row(g) + chunk % chunks_of_cell(g) * SWEEP_CHUNK;
}

/* Coordinates of a cell; the machine is the innermost axis. */
struct place {
    size_t hw, kv;
    struct layout layout;
};

static size_t axis(size_t *rest, size_t n)
{
    const size_t i = *rest % n;
    *rest /= n;
    return i;
}

static struct place place_of(const struct sweep_grid *g, size_t cell)
{
    struct place p;
    p.hw = axis(&cell, g->hw.n);
    p.layout.ep = (uint32_t)g->ep.v[axis(&cell, g->ep.n)];
    p.layout.dp = (uint32_t)g->dp.v[axis(&cell, g->dp.n)];
    p.layout.pp = (uint32_t)g->pp.v[axis(&cell, g->pp.n)];
    p.layout.tp = (uint32_t)g->tp.v[axis(&cell, g->tp.n)];
    p.kv = axis(&cell, g->kv.n);
    return p;
}

const char *sweep_chunk_name(char *buf, size_t n, const struct sweep_grid *g, size_t chunk)
{
    const size_t cell = chunk / chunks_of_cell(g), unit = cell / sweep_n_cell(g);
    const struct place p = place_of(g, cell % sweep_n_cell(g));
    char layout[64];
    snprintf(buf, n, "%s %s on %s, %s", g->model.v[unit / g->type.n], g->type.v[unit % g->type.n], g->hw.v[p.hw],
             layout_text(layout, sizeof layout, &p.layout));
    return buf;
}

/* Constants of the model's software on every machine, once per unit. */
static int init_timing(struct sweep_unit *u, const struct sweep_grid *g, struct error *err)
{
    bool devices = false;
    const struct int_list *n[] = { &g->tp, &g->pp, &g->dp, &g->ep };
    if (!g->time)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(n); i++)
        for (size_t k = 0; k < n[i]->n; k++)
            devices |= n[i]->v[k] > 1;
    const uint64_t cases = time_cases(u->m.hp.n_expert > 0, devices);
    u->timing = calloc(g->hw.n + 1, sizeof *u->timing);
    u->n_timing = u->timing ? g->hw.n : 0;
    if (!u->timing)
        return error_oom(err, g->hw.n * sizeof *u->timing, "constants");
    for (size_t i = 0; i < g->hw.n; i++)
        if (g->time->timing(g->time->context, &g->machine[i], &u->m, cases, &u->timing[i], err) != 0)
            return -1;
    return 0;
}

int sweep_unit_init(struct sweep_unit *u, const struct sweep_grid *g, size_t unit, struct error *err)
{
    const char *type = g->type.v[unit % g->type.n];
    *u = (struct sweep_unit){ 0 };
    if (memory_rules_load(err) != 0) /* memory_fit() cannot report the error */
        return -1;
    if (model_load(&u->m, g->model.v[unit / g->type.n], strcmp(type, "own") == 0 ? NULL : type, err) != 0)
        return -1;
    if (op_list_build(&u->ops, &u->m, err) == 0 && op_classes_init(&u->classes, &u->m, &u->ops, err) == 0 &&
        init_timing(u, g, err) == 0)
        return 0;
    sweep_unit_free(u);
    return -1;
}

void sweep_unit_free(struct sweep_unit *u)
{
    op_classes_free(&u->classes);
    op_list_free(&u->ops);
    model_free(&u->m);
    for (size_t i = 0; i < u->n_timing; i++)
        timing_free(&u->timing[i]);
    free(u->timing);
}

void sweep_columns_init(struct sweep_columns *s)
{
    const size_t n = sweep_columns(s->cols);
    s->n = table_columns(&(struct table){ .cols = s->cols, .n_cols = n, .order = sweep_order }, s->in_order);
}

/* ---- a row as text --------------------------------------------------------------------------- */

/* CSV doubles quotes; JSON escapes quotes, backslashes and control characters. Names are valid UTF-8. */
static void put_text(struct strbuf *out, const char *s, bool jsonl)
{
    const bool quoted = jsonl || strpbrk(s, ",\"\n\r");
    strbuf_adds(out, quoted ? "\"" : "");
    for (; *s; s++) {
        if (jsonl && (unsigned char)*s < 0x20)
            strbuf_addf(out, "\\u%04x", (unsigned)*s);
        else if (*s == '"' || (jsonl && *s == '\\'))
            strbuf_addf(out, "%c%c", jsonl ? '\\' : '"', *s);
        else
            strbuf_add(out, s, 1);
    }
    strbuf_adds(out, quoted ? "\"" : "");
}

static void put_whole(struct strbuf *out, uint64_t v)
{
    char digits[24];
    size_t i = sizeof digits;
    do
        digits[--i] = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    strbuf_add(out, digits + i, sizeof digits - i);
}

static void put_cell(struct strbuf *out, const struct column *c, const struct cell *v, bool jsonl)
{
    char digits[DIGITS_SIX];
    switch (v->kind) {
    case CELL_TEXT:
        put_text(out, v->text, jsonl);
        break;
    case CELL_WHOLE:
    case CELL_REAL:
        if (c->field == FIELD_DOUBLE)
            strbuf_add(out, digits, digits_six(digits, v->real));
        else
            put_whole(out, (uint64_t)v->whole);
        break;
    case CELL_BOOL:
        strbuf_adds(out, v->whole ? "true" : "false");
        break;
    case CELL_NULL:
    case CELL_ABSENT:
    case CELL_JSON:
        strbuf_adds(out, jsonl ? "null" : "");
        break;
    }
}

/* Columns [first, end) of the grid. */
static void put_columns(struct strbuf *out, const struct sweep_grid *g, const struct sweep_row *w, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const struct column *c = g->columns.in_order[i];
        const struct cell v = column_cell(c, w);
        if (g->jsonl) {
            strbuf_adds(out, i == 0 ? "{\"" : ", \"");
            strbuf_adds(out, c->key);
            strbuf_adds(out, "\": ");
        } else if (i > 0) {
            strbuf_add(out, ",", 1);
        }
        put_cell(out, c, &v, g->jsonl);
    }
}

void sweep_header(struct strbuf *out, const struct sweep_grid *g)
{
    for (size_t i = 0; !g->jsonl && i < g->columns.n; i++)
        strbuf_addf(out, "%s%s", i ? "," : "", g->columns.in_order[i]->key);
    strbuf_adds(out, g->jsonl ? "" : "\n");
}

/* ---- cells ------------------------------------------------------------------------------------- */

struct grid_cell {
    const struct sweep_grid *g;
    const struct sweep_unit *u;
    const struct hwprofile *h;
    const struct timing *timing; /* NULL: no constants */
    struct place place;
    struct predict_options o;
    struct roofs roofs;
    struct step_model step;
    struct error err;      /* why it is impossible */
    struct sweep_row row;  /* the current row; common columns are set once */
    char hw[64];
    struct strbuf subject; /* common columns as text */
};

static void init_cell(struct grid_cell *c)
{
    const struct step_options so = {
        .cost = { .type_k = c->o.type_k, .type_v = c->o.type_v, .routing = c->o.routing,
                  .materialized = c->o.materialized },
        .layout = c->o.layout,
        .absorbed = c->timing && c->timing->absorbed,
    };
    if (roofs_init(&c->roofs, c->h, &c->o, &c->err) != 0 ||
        roofs_check(&c->roofs, c->h, &c->u->classes, &c->err) != 0)
        return;
    struct step_options with = so;
    with.cost.act_elem_bytes = c->roofs.act_elem_bytes;
    if (cost_check_kv(&c->u->ops, &with.cost, &c->err) == 0)
        (void)step_model_init(&c->step, &c->u->classes, &with, &c->err);
    if (c->timing)
        roofs_use_time(&c->roofs, c->timing);
    if (c->roofs.time && c->err.kind == ERROR_NONE)
        (void)time_check(&c->u->classes, false, &c->err);
    c->roofs.parts = c->g->limits.n > 1;
}

/* Sets the common columns and their text, SWEEP_SHARED columns. */
static void init_subject(struct grid_cell *c)
{
    const struct layout *l = &c->place.layout;
    struct predict_row *p = &c->row.p;
    p->model = c->u->m.name;
    p->type = c->u->m.type_name;
    p->type_k = dtype_name(c->o.type_k);
    p->hw = fields_machine_name(c->hw, sizeof c->hw, c->h);
    p->guess = c->h->guess_ln_sd > 0 ? c->h->guess_class : NULL;
    p->n_devices = layout_devices(l);
    p->stack = c->timing ? c->timing->stack : NULL;
    p->basis = c->timing ? time_basis_name(c->timing->basis) : NULL;
    p->reason = c->err.kind == ERROR_NONE ? NULL : c->err.msg;
    c->row.tp = l->tp;
    c->row.pp = l->pp;
    c->row.dp = l->dp;
    c->row.ep = l->ep;
    put_columns(&c->subject, c->g, &c->row, 0, SWEEP_SHARED);
}

/* Interval from its relative ends. (62) */
static struct figure figure(double v, double less, double more)
{
    return (struct figure){ v, v / less, v * more };
}

/* Seconds, tokens/s and bound; empty if the phase is not requested or impossible. */
static void put_phase(struct figure *seconds, struct figure *tok_s, const char **bound, const struct step_sum *sum, double n_tok)
{
    const bool has = sum && n_tok > 0;
    const struct prediction_factors f = has && sum->sd_s > 0 ? prediction_factors(sum->seconds, sum->sd_s, sum->sd_fast_s)
                                                             : (struct prediction_factors){ NAN, NAN };
    *seconds = figure(has ? sum->seconds : NAN, f.faster, f.slower);
    *tok_s = figure(has ? sum->tok_s : NAN, f.slower, f.faster);
    *bound = has ? bound_name(step_bound(sum)) : NULL;
}

static struct limit_phase limit_phase(const struct step_sum *s, const struct roofs *r, uint32_t n)
{
    return n > 0 ? (struct limit_phase){ s->seconds, s->tok_s, s->sd_s, s->sd_fast_s, step_error_parts(s, r) }
                 : (struct limit_phase){ .seconds = NAN, .tok_s = NAN, .sd_s = NAN, .sd_fast_s = NAN };
}

/* Empty without --slo or without a prediction. */
static void put_limits(struct predict_row *w, const struct grid_cell *c, const struct step_sum *prefill, const struct step_sum *decode,
                       const struct scenario *s)
{
    w->slo_met = NULL;
    w->limits = (struct limits_answer){ .chance = NAN, .least = NAN, .most = NAN };
    if (c->g->limits.n == 0 || c->err.kind != ERROR_NONE)
        return;
    const struct limit_phase p = limit_phase(prefill, &c->roofs, s->n_prompt), d = limit_phase(decode, &c->roofs, s->n_gen);
    predict_put_limits(w, &c->g->limits, &p, &d);
}

static void put_row(struct strbuf *out, struct grid_cell *c, const struct scenario *s)
{
    const bool can = c->err.kind == ERROR_NONE;
    struct sweep_row *w = &c->row;
    struct step_sum prefill = { 0 }, decode = { 0 };
    char note[256];
    struct predict_result res; /* filled partly, by memory_fit() */
    res.need_bytes = res.mem_bytes = NAN;
    res.fits = -1;
    c->o.n_prompt = w->p.n_prompt = s->n_prompt;
    c->o.n_gen = w->p.n_gen = s->n_gen;
    c->o.n_depth = w->p.n_depth = s->n_depth;
    c->o.n_batch = w->p.n_batch = s->n_batch;
    if (can) {
        if (s->n_prompt > 0)
            prefill = step_prefill(&c->step, &c->roofs, s, NULL, NULL);
        if (s->n_gen > 0)
            decode = step_decode(&c->step, &c->roofs, s, NULL, NULL);
        out->oom |= memory_fit(&res, &c->u->classes, c->h, &c->roofs, &c->o, NULL) != 0;
    }
    put_phase(&w->p.ttft_s, &w->prefill_tok_s, &w->prefill_bound, can ? &prefill : NULL, (double)s->n_prompt * s->n_batch);
    put_phase(&w->p.itl_s, &w->decode_tok_s, &w->decode_bound, can ? &decode : NULL, s->n_gen > 0 ? s->n_batch : 0);
    w->p.need_bytes = res.need_bytes;
    w->p.memory_bytes = res.mem_bytes;
    w->p.fits = res.fits;
    put_limits(&w->p, c, &prefill, &decode, s);
    (void)software_note(note, sizeof note, &c->u->m, w->p.stack, s->n_batch);
    w->p.note = note;
    strbuf_add(out, c->subject.s, c->subject.len);
    put_columns(out, c->g, w, SWEEP_SHARED, c->g->columns.n);
    w->p.note = NULL;
    strbuf_adds(out, c->g->jsonl ? "}\n" : "\n");
}

void sweep_chunk(struct strbuf *out, const struct sweep_grid *g, const struct sweep_unit *u, size_t chunk)
{
    const size_t cell = chunk / chunks_of_cell(g), first = chunk % chunks_of_cell(g) * SWEEP_CHUNK;
    struct grid_cell c = { .g = g, .u = u, .place = place_of(g, cell % sweep_n_cell(g)) };
    const enum dtype kv_type = u->m.kv_type_given && !g->kv_type_given ? u->m.kv_type : g->kv_type[c.place.kv];
    c.h = &g->machine[c.place.hw];
    c.timing = u->timing ? &u->timing[c.place.hw] : NULL;
    c.o = (struct predict_options){ .layout = c.place.layout,
                                    .routing = &g->routing,
                                    .materialized = g->materialized,
                                    .roof = g->roof,
                                    .weights_bytes = NAN,
                                    .n_ubatch = g->n_ubatch > 0 ? g->n_ubatch : g->roof ? PREFILL_WHOLE : time_ubatch(g->software, c.h, &u->m),
                                    .server = time_serves(g->software, c.h, &u->m),
                                    .n_batched = g->n_ubatch,
                                    .type_k = kv_type,
                                    .type_v = kv_type };
    init_cell(&c);
    init_subject(&c);
    out->oom |= c.subject.oom || c.err.kind == ERROR_SYSTEM; /* out of memory, not a reason of a row */
    for (size_t i = first; i < sweep_n_row(g) && i < first + SWEEP_CHUNK && !out->oom && interrupt_check(NULL) == 0; i++) {
        size_t rest = i;
        struct scenario s = { .n_ubatch = c.o.n_ubatch };
        s.n_gen = (uint32_t)g->gen.v[axis(&rest, g->gen.n)];
        s.n_prompt = (uint32_t)g->prompt.v[axis(&rest, g->prompt.n)];
        s.n_depth = (uint32_t)g->depth.v[axis(&rest, g->depth.n)];
        s.n_batch = (uint32_t)g->batch.v[axis(&rest, g->batch.n)];
        put_row(out, &c, &s);
    }
    strbuf_free(&c.subject);
    step_model_free(&c.step);
    roofs_free(&c.roofs);
}
