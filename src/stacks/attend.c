#include "stacks/attend.h"
#include "stacks/priors.h"
#include <math.h>

/* ---- which kernel --------------------------------------------------------------------------- */

/* Elements of 8 bits or fewer. */
static bool is_narrow(const struct attend_call *c)
{
    return c->kv_bytes < 1.5 * 2 * c->n_seq * c->n_kv * c->head_dim * c->keys;
}

enum attend_id attend_choose(const struct stack_traits *f, const struct attend_call *c)
{
    double late[KEY_LATE_COUNT] = { [KEY_GROUP] = c->n_head / c->n_kv, [KEY_NARROW] = is_narrow(c), [KEY_WINDOWED] = c->windowed };
    late[KEY_LIBRARY] = stack_traits_value(f, TABLE_LIBRARIES, 0, late, NAN);
    return (enum attend_id)stack_traits_value(f, TABLE_ATTEND, 0, late, ATTEND_TRTLLM_GEN);
}

/* ---- its calls in a pass ---------------------------------------------------------------------- */

/* Wider heads are MLA's, with other kernels. */
enum { HEAD_MOST = 512 };

bool attend_call_of(const struct stack_traits *f, const struct step_pass *at, const struct step *x, struct attend_call *c)
{
    const struct cost *k = &x->cost;
    if (!f->server_attention || !f->flash || at->phase != PHASE_DECODE || !(x->n_head > 0) || !(at->n_seq > 0) || x->head_dim > HEAD_MOST || !(k->kv_bytes > 0))
        return false;
    /* Devices divide heads: a device's heads follow from the bytes of queries and results (11). */
    const double tokens = fmax(1, at->n_tok / at->n_seq), heads = k->act_bytes / (f->p->roofs->act_elem_bytes * 2 * x->head_dim * x->n_tok);
    const double keys = k->flop / (4 * heads * x->head_dim * x->n_tok);
    if (!(heads > 0) || !(keys > 0))
        return false;
    const double n_kv = fmax(1, round(heads / x->group));
    /* Several tokens of a sequence are more rows of its tile. */
    *c = (struct attend_call){ .n_seq = at->n_seq, .n_head = heads * tokens, .n_kv = n_kv, .head_dim = x->head_dim, .keys = fmax(1, keys),
                               .kv_bytes = k->kv_bytes, .act_bytes = k->act_bytes, .windowed = keys < at->n_past + 0.5 };
    return true;
}

/* ---- seconds ------------------------------------------------------------------------------------ */

static double byte_s(const struct stack_traits *f)
{
    return (f->inline_ecc ? prior(PRIOR_ECC_BYTES) : 1) / (f->p->roofs->bytes_s * prior(PRIOR_ATTEND_BANDWIDTH));
}

/* Products of whole tiles with the block's heads as rows, a key: 64 of an instruction since Hopper, 16 before. */
static double compute_key_s(const struct stack_traits *f, const struct attend_call *c, double tiles, double heads)
{
    const double padded = f->mma_rows * ceil(heads / f->mma_rows);
    return 4 * c->n_seq * c->n_kv * tiles * padded * c->head_dim / f->p->roofs->peak[MATH_FP16].flop_s;
}

/* Splits of a sequence's keys: fill the machine, with enough keys each. */
static void set_splits(struct time_attend *a, const struct attend_kernel *k, double slots)
{
    enum { TRITON_KEYS = 32 };
    const bool fixed = k->n_split > 0;
    a->most_splits = !k->splits ? 1 : fixed ? k->n_split : floor(slots / a->units);
    a->split_keys = fixed ? TRITON_KEYS : prior(PRIOR_ATTEND_SPLIT_KEYS);
}

/* A block with so many heads. */
static void set_block(struct time_attend *a, const struct attend_kernel *k, double heads, double width, bool narrow, double clock_hz)
{
    enum { TILE_HEADS = 16, TILE_KEYS = 64 };
    const double tiles = ceil(heads / TILE_HEADS);
    const double key_cycles = narrow && k->narrow_key_cycles > 0 ? k->narrow_key_cycles : k->key_cycles;
    a->tile_keys = TILE_KEYS;
    a->block_s = k->block_s + (k->block_cycles + k->head_cycles * (heads - 1)) / clock_hz;
    a->key_s = width * (k->key_s + (key_cycles + k->tile_cycles * (tiles - 1)) / clock_hz);
}

static struct time_attend attend_form(const struct stack_traits *f, enum attend_id id, const struct attend_call *c)
{
    enum { BLOCK_HEADS = 64, WIDTH = 128 };
    const struct attend_kernel *k = &priors()->attend[id];
    const struct gpu_units *u = &f->p->roofs->units;
    const bool narrow = is_narrow(c);
    const double group = c->n_head / c->n_kv, tiles = k->group ? ceil(group / BLOCK_HEADS) : group;
    struct time_attend a = {
        .units = c->n_seq * c->n_kv * tiles,
        .processors = u->n,
        .start_s = (k->start_cycles + (narrow ? f->narrow_start_cycles : 0)) / u->clock_hz,
        .combine_s = prior(PRIOR_ATTEND_COMBINE_CYCLES) / u->clock_hz,
        .split_s = prior(PRIOR_ATTEND_SPLIT_CYCLES) / u->clock_hz,
        .compute_key_s = k->group ? compute_key_s(f, c, tiles, group / tiles) : 0, /* a single head is no tile */
        .byte_s = byte_s(f),
        .sharp = 4,
        .keys = c->keys,
    };
    set_splits(&a, k, k->blocks_unit * u->n);
    set_block(&a, k, group / tiles, c->head_dim / WIDTH, narrow, u->clock_hz);
    return a;
}

/* Seconds of a call whose sequences have so many keys. */
static struct time_kernel form_time(const struct time_attend *a, double keys, double bytes)
{
    const double splits = fmax(1, fmin(a->most_splits, ceil(keys / a->split_keys))), waves = fmax(1, ceil(a->units * splits / a->processors));
    struct time_kernel t = {
        .start_s = a->start_s + (splits > 1 ? a->combine_s + a->split_s * splits : 0),
        .memory_s = bytes * a->byte_s,
        .compute_s = keys * a->compute_key_s,
        .scan_s = waves * (a->block_s + a->key_s * a->tile_keys * ceil(keys / splits / a->tile_keys)),
    };
    t.seconds = t.start_s + pow(pow(t.memory_s, a->sharp) + pow(t.scan_s, a->sharp) + pow(t.compute_s, a->sharp), 1 / a->sharp);
    return t;
}

struct time_kernel attend_time(const struct stack_traits *f, enum attend_id id, const struct attend_call *c, struct time_attend *form)
{
    *form = attend_form(f, id, c);
    struct time_kernel t = form_time(form, c->keys, c->kv_bytes + c->act_bytes);
    t.name = stack_attends[id];
    return t;
}
