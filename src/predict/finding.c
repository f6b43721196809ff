/* Roof violations and their causes. methods.md (83), (84) */
#include "predict/finding.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[FINDING_COUNT] = {
    [FINDING_NONE] = "none",          [FINDING_CACHE] = "cache reuse", [FINDING_LEVEL] = "wrong level",
    [FINDING_TILES] = "by tiles",
    [FINDING_STALE] = "stale profile", [FINDING_MOVED] = "roof moved", [FINDING_UNKNOWN] = "unexplained",
};

const char *finding_cause_name(enum finding_cause c)
{
    return names[c];
}

/* 0 to 2: L1 to L3; 3: memory. */
static int level_index(const char *level)
{
    return level && level[0] == 'L' && level[1] >= '1' && level[1] <= '3' ? level[1] - '1' : 3;
}

/* The nearest level that holds the working set. */
static int level_held(const struct finding_point *p)
{
    for (int l = 0; l < 3; l++)
        if (p->cache_bytes[l] > 0 && p->reuse_bytes <= p->cache_bytes[l])
            return l;
    return 3;
}

/* Largest cached fraction of the working set, for any replacement policy. */
static double part_held(const struct finding_point *p)
{
    double most = 0;
    for (int l = 0; l < level_index(p->level); l++)
        most = fmax(most, p->cache_bytes[l]);
    return p->reuse_bytes > most ? most / p->reuse_bytes : 0;
}

enum finding_cause finding_of(const struct finding_point *p)
{
    if (!(p->roof > 0) || !(p->rate > p->roof * (1 + FINDING_MARGIN)))
        return FINDING_NONE;
    const int of = level_index(p->level), held = level_held(p);
    if (p->memory && held < of)
        return of == 3 ? FINDING_CACHE : FINDING_LEVEL;
    if (p->tiles)
        return FINDING_TILES;
    if (p->adjacent > 0 && fabs(p->adjacent / p->roof - 1) > FINDING_MOVES)
        return FINDING_STALE;
    if (p->moved > FINDING_MOVES || p->rate <= p->highest)
        return FINDING_MOVED;
    return p->memory && p->rate <= p->roof * (1 + FINDING_MARGIN) / (1 - part_held(p)) ? FINDING_CACHE : FINDING_UNKNOWN;
}

const char *finding_text(char *buf, size_t n, const struct finding_point *p, enum finding_cause c)
{
    static const char *const level[] = { "L1", "L2", "L3", "memory" };
    char a[32], b[32];
    const int held = level_held(p);
    buf[0] = 0;
    switch (c) {
    case FINDING_NONE:
        break;
    case FINDING_CACHE:
        if (held == 3)
            snprintf(buf, n, "cache reuse: caches can hold up to %.0f %% of the %s that is read repeatedly", 100 * part_held(p),
                     units_si(a, sizeof a, p->reuse_bytes, "B"));
        else
            snprintf(buf, n, "cache reuse: the roof is DRAM's, and the %s read repeatedly fit the %s of %s",
                 units_si(a, sizeof a, p->reuse_bytes, "B"), units_si(b, sizeof b, p->cache_bytes[held], "B"), level[held]);
        break;
    case FINDING_TILES:
        snprintf(buf, n, "by tiles: the roof is the peak of FP32 vectors; F16 is multiplied as three products of BF16 tiles, F32 as six");
        break;
    case FINDING_LEVEL:
        snprintf(buf, n, "wrong level: the roof is that of %s, and the %s read repeatedly fit the %s of %s", p->level,
                 units_si(a, sizeof a, p->reuse_bytes, "B"), units_si(b, sizeof b, p->cache_bytes[held], "B"), level[held]);
        break;
    case FINDING_STALE:
        snprintf(buf, n, "stale profile: the adjacent probe measures %.0f %% of its roof", 100 * p->adjacent / p->roof);
        break;
    case FINDING_MOVED:
        if (p->rate <= p->highest)
            snprintf(buf, n, "roof moved: adjacent probes reach %s", units_si(a, sizeof a, p->highest, p->memory ? "B/s" : "FLOP/s"));
        else
            snprintf(buf, n, "roof moved: adjacent probes differ by %.0f %%", 100 * p->moved);
        break;
    case FINDING_UNKNOWN:
        snprintf(buf, n, "unexplained: neither cache reuse, nor a stale profile, nor a roof that moved");
        break;
    case FINDING_COUNT:
        break;
    }
    return buf;
}

/* ---- of a run ------------------------------------------------------------------------------------------- */

struct finding_list {
    struct finding *f;
    size_t n;
    const struct hwprofile *h;
    struct error *err;
    bool failed;
};

/* Cache sizes, all cores; the last level's from the run, where no machine is given. */
static void caches(struct finding_point *p, const struct hwprofile *h, const struct run_row *row)
{
    for (int l = 0; l < 3; l++)
        p->cache_bytes[l] = NAN;
    for (size_t i = 0; h && i < h->n_cache; i++) {
        const struct hw_cache *c = &h->cache[i];
        if (c->level >= 1 && c->level <= 3)
            p->cache_bytes[c->level - 1] = c->size_bytes * (c->n_instances > 0 ? c->n_instances : 1);
    }
    if (!h || h->n_cache == 0)
        p->cache_bytes[2] = row->cache_bytes;
}

static void note(struct finding_list *l, const struct run_row *row, const char *role, const char *what, const struct finding_point *p)
{
    const enum finding_cause c = finding_of(p);
    if (c == FINDING_NONE || l->failed)
        return;
    struct finding *f = realloc(l->f, (l->n + 1) * sizeof *f);
    if (!f) {
        l->failed = true;
        error_oom(l->err, (l->n + 1) * sizeof *f, "the findings");
        return;
    }
    l->f = f;
    f = &l->f[l->n++];
    *f = (struct finding){ .what = what, .rate = p->rate, .roof = p->roof, .unit = p->memory ? "B/s" : "FLOP/s", .cause = c };
    memcpy(f->model, row->model, sizeof f->model);
    memcpy(f->test, row->test, sizeof f->test);
    snprintf(f->role, sizeof f->role, "%s", role);
    finding_text(f->text, sizeof f->text, p, c);
}

/* Weights and KV cache read by a pass of the test: the reuse distance of a weight. */
static double pass_bytes(const struct run_row *row)
{
    const double step = row->n_batch > 0 && row->n_ubatch >= row->n_batch ? floor((double)row->n_ubatch / row->n_batch) : 1;
    const double n = row->n_gen > 0 ? row->n_gen : ceil(row->n_prompt / step);
    return n > 0 ? (row->weight_bytes + row->kv_bytes) / n : NAN;
}

/* Products of so many tokens under the FP32 roof, with packed weights. (94) */
static bool by_tiles(const struct run *r, const struct run_row *row, const char *type, double n_tok)
{
    static const struct {
        const char *type;
        double least;
    } split[] = { { "F16", 13 }, { "F32", 64 } };
    if (strcmp(r->prov.isa, "amx") != 0)
        return false;
    for (size_t i = 0; i < r->n_loading; i++)
        if (strcmp(r->loading[i].model, row->model) == 0 && strcmp(r->loading[i].type, row->type) == 0 && !(r->loading[i].packed_bytes > 0))
            return false;
    for (size_t i = 0; i < ARRAY_LEN(split); i++)
        if (strcmp(split[i].type, type) == 0)
            return n_tok >= split[i].least;
    return false;
}

/* Tokens of most passes. */
static double pass_tokens(const struct run_row *row)
{
    const double n = (row->n_gen > 0 ? 1 : row->n_prompt) * (row->n_batch > 0 ? row->n_batch : 1);
    return row->n_ubatch > 0 ? fmin(n, row->n_ubatch) : n;
}

static void find_in_row(struct finding_list *l, const struct run *r, const struct run_row *row)
{
    struct finding_point p = { .rate = row->bytes_s, .roof = row->ceiling_bytes_s, .memory = true, .level = "DRAM",
                               .reuse_bytes = pass_bytes(row), .adjacent = NAN, .moved = row->roof_moved, .highest = NAN };
    caches(&p, l->h, row);
    note(l, row, "", "MBU", &p);
    struct finding_point q = p;
    q.roof = row->profile_bytes_s;
    q.adjacent = row->ceiling_bytes_s;
    note(l, row, "", "MBU profile", &q);
    p.memory = q.memory = false;
    p.tiles = q.tiles = by_tiles(r, row, row->type, pass_tokens(row));
    p.rate = q.rate = row->flop_s;
    p.roof = row->ceiling_flop_s;
    note(l, row, "", "MFU", &p);
    q.roof = row->profile_flop_s;
    q.adjacent = row->ceiling_flop_s;
    note(l, row, "", "MFU profile", &q);
}

/* All ops of a role in one test, added up. */
static void find_in_role(struct finding_list *l, const struct run *r, const struct run_row *row, size_t first)
{
    double bytes = 0, flop = 0, seconds = 0, act = 0, largest = 0;
    bool tiles = true;
    const char *role = r->op[first].role;
    for (size_t i = first; i < r->n_op; i++) {
        const struct run_op *o = &r->op[i];
        if (strcmp(o->test, row->test) != 0 || strcmp(o->role, role) != 0 || !(o->seconds > 0))
            continue;
        tiles = tiles && (strcmp(o->op, "matmul") == 0 || strcmp(o->op, "expert_matmul") == 0) && by_tiles(r, row, o->type, (double)o->n_tok);
        bytes += o->weight_bytes + o->act_bytes + o->kv_bytes;
        act += o->act_bytes;
        largest = fmax(largest, o->act_bytes);
        flop += o->flop;
        seconds += o->seconds;
    }
    const bool own = row->ops_ceiling_bytes_s > 0; /* else a run of an older version: the probes of the repetitions */
    const double bytes_s = own ? row->ops_ceiling_bytes_s : row->ceiling_bytes_s,
                 flop_s = own ? row->ops_ceiling_flop_s : row->ceiling_flop_s;
    struct finding_point p = { .level = "DRAM", .adjacent = NAN, .highest = NAN };
    p.memory = bytes / bytes_s >= flop / flop_s || isnan(flop_s);
    p.tiles = !p.memory && tiles;
    p.rate = (p.memory ? bytes : flop) / seconds;
    p.roof = p.memory ? bytes_s : flop_s;
    p.moved = own ? (row->ops_highest_bytes_s - row->ops_lowest_bytes_s) / bytes_s : row->roof_moved;
    if (own && p.memory)
        p.highest = row->ops_highest_bytes_s;
    /* Activations are reused from the previous op; weights once a pass. */
    p.reuse_bytes = 2 * act >= bytes ? largest : pass_bytes(row);
    caches(&p, l->h, row);
    note(l, row, role, p.memory ? "MBU" : "MFU", &p);
}

static bool first_of_role(const struct run *r, const struct run_row *row, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(r->op[k].test, row->test) == 0 && strcmp(r->op[k].role, r->op[i].role) == 0)
            return false;
    return true;
}

int findings_of_run(struct finding **found, size_t *n, const struct run *r, const struct hwprofile *h, struct error *err)
{
    struct finding_list l = { .h = h, .err = err };
    for (size_t i = 0; i < r->n_row; i++) {
        const struct run_row *row = &r->row[i];
        find_in_row(&l, r, row);
        for (size_t k = 0; k < r->n_op; k++)
            if (strcmp(r->op[k].test, row->test) == 0 && first_of_role(r, row, k))
                find_in_role(&l, r, row, k);
    }
    if (l.failed) {
        free(l.f);
        l = (struct finding_list){ .failed = true };
    }
    *found = l.f;
    *n = l.n;
    return l.failed ? -1 : 0;
}
