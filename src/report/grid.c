/* roofcast sweep: from a cell of the grid to its rows of text. Rows are written by hand, a field at a time: there may be a
 * hundred thousand of them in a second. */
#include "report/grid.h"
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

/* Where a cell stands on its axes; the machine is the innermost one. */
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

/* Constants of the model's software on every machine: once, not a cell. */
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
    u->timing = malloc(g->hw.n * sizeof *u->timing);
    if (!u->timing)
        return error_oom(err, g->hw.n * sizeof *u->timing, "constants");
    for (size_t i = 0; i < g->hw.n; i++)
        if (g->time->timing(g->time->knows, &g->machine[i], &u->m, cases, &u->timing[i], err) != 0)
            return -1;
    return 0;
}

int sweep_unit_init(struct sweep_unit *u, const struct sweep_grid *g, size_t unit, struct error *err)
{
    const char *type = g->type.v[unit % g->type.n];
    *u = (struct sweep_unit){ 0 };
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
    free(u->timing);
}

/* ---- fields ---------------------------------------------------------------------------------- */

enum { F_TEXT, F_INT, F_NUM, F_BOOL };

static const struct field {
    const char *key;
    int kind;
} fields[] = {
    { "model", F_TEXT },      { "type", F_TEXT },        { "kv_type", F_TEXT },     { "hw", F_TEXT },
    { "tp", F_INT },          { "pp", F_INT },           { "dp", F_INT },           { "ep", F_INT },
    { "n_devices", F_INT },   { "n_batch", F_INT },      { "n_depth", F_INT },      { "n_prompt", F_INT },
    { "n_gen", F_INT },       { "stack", F_TEXT },       { "basis", F_TEXT },
    { "ttft_s", F_NUM },      { "ttft_s_lo", F_NUM },    { "ttft_s_hi", F_NUM },
    { "prefill_tok_s", F_NUM }, { "prefill_tok_s_lo", F_NUM }, { "prefill_tok_s_hi", F_NUM }, { "prefill_bound", F_TEXT },
    { "itl_s", F_NUM },       { "itl_s_lo", F_NUM },     { "itl_s_hi", F_NUM },
    { "decode_tok_s", F_NUM }, { "decode_tok_s_lo", F_NUM }, { "decode_tok_s_hi", F_NUM }, { "decode_bound", F_TEXT },
    { "need_bytes", F_NUM },  { "memory_bytes", F_NUM }, { "fits", F_BOOL },        { "slo_met", F_TEXT },
    { "slo_chance", F_NUM },  { "slo_chance_lo", F_NUM }, { "slo_chance_hi", F_NUM }, { "guess", F_TEXT },
    { "note", F_TEXT },       { "error", F_TEXT },
};

/* A row in the making. */
struct row {
    struct strbuf *out;
    bool jsonl;
    size_t field;
};

static void next_field(struct row *r)
{
    if (r->jsonl) {
        strbuf_adds(r->out, r->field == 0 ? "{\"" : ", \"");
        strbuf_adds(r->out, fields[r->field].key);
        strbuf_adds(r->out, "\": ");
    } else if (r->field > 0) {
        strbuf_add(r->out, ",", 1);
    }
    r->field++;
}

/* Quotes are doubled in CSV; in JSON what would end the string, or is no text, is escaped. Names were checked to be UTF-8. */
static void put_text(struct row *r, const char *s)
{
    next_field(r);
    if (!s) {
        strbuf_adds(r->out, r->jsonl ? "null" : "");
        return;
    }
    const bool quoted = r->jsonl || strpbrk(s, ",\"\n\r");
    strbuf_adds(r->out, quoted ? "\"" : "");
    for (; *s; s++) {
        if (r->jsonl && (unsigned char)*s < 0x20)
            strbuf_addf(r->out, "\\u%04x", (unsigned)*s);
        else if (*s == '"' || (r->jsonl && *s == '\\'))
            strbuf_addf(r->out, "%c%c", r->jsonl ? '\\' : '"', *s);
        else
            strbuf_add(r->out, s, 1);
    }
    strbuf_adds(r->out, quoted ? "\"" : "");
}

static void put_int(struct row *r, uint64_t v)
{
    char digits[24];
    size_t i = sizeof digits;
    next_field(r);
    do
        digits[--i] = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    strbuf_add(r->out, digits + i, sizeof digits - i);
}

static void put_num(struct row *r, double v)
{
    char digits[DIGITS_SIX];
    next_field(r);
    if (isfinite(v))
        strbuf_add(r->out, digits, digits_six(digits, v));
    else
        strbuf_adds(r->out, r->jsonl ? "null" : "");
}

static void put_fits(struct row *r, int fits)
{
    next_field(r);
    strbuf_adds(r->out, fits > 0 ? "true" : fits == 0 ? "false" : r->jsonl ? "null" : "");
}

void sweep_header(struct strbuf *out, const struct sweep_grid *g)
{
    for (size_t i = 0; !g->jsonl && i < ARRAY_LEN(fields); i++)
        strbuf_addf(out, "%s%s", i ? "," : "", fields[i].key);
    strbuf_adds(out, g->jsonl ? "" : "\n");
}

/* ---- cells ------------------------------------------------------------------------------------- */

struct cell {
    const struct sweep_grid *g;
    const struct sweep_unit *u;
    const struct hwprofile *h;
    const struct timing *timing; /* NULL: no constants */
    struct place place;
    struct predict_options o;
    struct roofs roofs;
    struct step_model step;
    struct error err;      /* why it cannot be */
    struct strbuf subject; /* the fields that all rows share */
    size_t n_subject;
};

static void init_cell(struct cell *c)
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
    c->roofs.parts = c->g->limits.n > 1;
}

static void init_subject(struct cell *c)
{
    const struct layout *l = &c->place.layout;
    struct row r = { .out = &c->subject, .jsonl = c->g->jsonl };
    char name[sizeof c->h->id + 1];
    put_text(&r, c->u->m.name);
    put_text(&r, c->u->m.type_name);
    put_text(&r, dtype_name(c->o.type_k));
    put_text(&r, fields_machine_name(name, sizeof name, c->h));
    put_int(&r, l->tp);
    put_int(&r, l->pp);
    put_int(&r, l->dp);
    put_int(&r, l->ep);
    put_int(&r, layout_devices(l));
    c->n_subject = r.field;
}

static void put_scenario(struct row *r, const struct cell *c, const struct scenario *s)
{
    strbuf_add(r->out, c->subject.s, c->subject.len);
    r->field = c->n_subject;
    put_int(r, s->n_batch);
    put_int(r, s->n_depth);
    put_int(r, s->n_prompt);
    put_int(r, s->n_gen);
    put_text(r, c->timing ? c->timing->stack : NULL);
    put_text(r, c->timing ? time_basis_name(c->timing->basis) : NULL);
}

/* A figure and its 90 % interval: so many times less, so many times more. (62) */
static void put_figure(struct row *r, double v, double less, double more)
{
    put_num(r, v);
    put_num(r, v / less);
    put_num(r, v * more);
}

/* Seconds, tokens/s and bound; nothing where the phase is not asked for or cannot be. */
static void put_phase(struct row *r, const struct step_sum *sum, double n_tok)
{
    const bool has = sum && n_tok > 0;
    const struct prediction_factors f = has && sum->sd_s > 0 ? prediction_factors(sum->seconds, sum->sd_s, sum->sd_fast_s)
                                                             : (struct prediction_factors){ NAN, NAN };
    put_figure(r, has ? sum->seconds : NAN, f.faster, f.slower);
    put_figure(r, has ? sum->tok_s : NAN, f.slower, f.faster);
    put_text(r, has ? bound_name(step_bound(sum)) : NULL);
}

static struct limit_phase limit_phase(const struct step_sum *s, const struct roofs *r, uint32_t n)
{
    return n > 0 ? (struct limit_phase){ s->seconds, s->tok_s, s->sd_s, s->sd_fast_s, step_error_parts(s, r) }
                 : (struct limit_phase){ .seconds = NAN, .tok_s = NAN, .sd_s = NAN, .sd_fast_s = NAN };
}

/* Nothing without --slo, or without a price. */
static void put_limits(struct row *r, const struct cell *c, const struct step_sum *prefill, const struct step_sum *decode,
                       const struct scenario *s)
{
    struct limits_answer a = { .chance = NAN, .least = NAN, .most = NAN };
    const bool asked = c->g->limits.n > 0 && c->err.kind == ERROR_NONE;
    if (asked) {
        const struct limit_phase p = limit_phase(prefill, &c->roofs, s->n_prompt), d = limit_phase(decode, &c->roofs, s->n_gen);
        a = limits_answer(&c->g->limits, &p, &d);
    }
    put_text(r, asked ? limit_met_name(a.met) : NULL);
    put_num(r, a.chance);
    put_num(r, a.least);
    put_num(r, a.most);
}

static void put_row(struct strbuf *out, struct cell *c, const struct scenario *s)
{
    struct row r = { .out = out, .jsonl = c->g->jsonl };
    const bool can = c->err.kind == ERROR_NONE;
    struct step_sum prefill = { 0 }, decode = { 0 };
    char note[256];
    struct predict_result res; /* of which memory_fit() fills in what it says: the rest is large */
    res.need_bytes = res.mem_bytes = NAN;
    res.fits = -1;
    c->o.n_prompt = s->n_prompt;
    c->o.n_gen = s->n_gen;
    c->o.n_depth = s->n_depth;
    c->o.n_batch = s->n_batch;
    if (can) {
        if (s->n_prompt > 0)
            prefill = step_prefill(&c->step, &c->roofs, s, NULL, NULL);
        if (s->n_gen > 0)
            decode = step_decode(&c->step, &c->roofs, s, NULL, NULL);
        out->oom |= memory_fit(&res, &c->u->classes, c->h, &c->roofs, &c->o, NULL) != 0;
    }
    put_scenario(&r, c, s);
    put_phase(&r, can ? &prefill : NULL, (double)s->n_prompt * s->n_batch);
    put_phase(&r, can ? &decode : NULL, s->n_gen > 0 ? s->n_batch : 0);
    put_num(&r, res.need_bytes);
    put_num(&r, res.mem_bytes);
    put_fits(&r, res.fits);
    put_limits(&r, c, &prefill, &decode, s);
    put_text(&r, c->h->guess_ln_sd > 0 ? c->h->guess_class : NULL);
    (void)software_note(note, sizeof note, &c->u->m, c->timing ? c->timing->stack : NULL, s->n_batch);
    put_text(&r, *note ? note : NULL);
    put_text(&r, can ? NULL : c->err.msg);
    strbuf_adds(out, c->g->jsonl ? "}\n" : "\n");
}

void sweep_chunk(struct strbuf *out, const struct sweep_grid *g, const struct sweep_unit *u, size_t chunk)
{
    const size_t cell = chunk / chunks_of_cell(g), first = chunk % chunks_of_cell(g) * SWEEP_CHUNK;
    struct cell c = { .g = g, .u = u, .place = place_of(g, cell % sweep_n_cell(g)) };
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
    out->oom |= c.subject.oom || c.err.kind == ERROR_SYSTEM; /* which is memory here: no row's own reason */
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
}
