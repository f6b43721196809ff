/* A point above its roof has a cause: each of them with made-up numbers. methods.md (84) */
#include "../test.h"
#include "predict/finding.h"
#include <math.h>

static const double MIB = 1048576;

/* 30 GB/s under a roof of memory of 25, a model of 400 MB, 32 MiB of L3. */
static struct finding_point point(void)
{
    return (struct finding_point){ .rate = 30e9, .roof = 25e9, .memory = true, .level = "DRAM", .reuse_bytes = 400e6,
                                   .cache_bytes = { 32e3, 1 * MIB, 32 * MIB }, .adjacent = NAN, .moved = 0.01 };
}

static void assert_cause(const struct finding_point *p, enum finding_cause expected, const char *words)
{
    char text[200];
    const enum finding_cause c = finding_of(p);
    assert_string_equal(finding_cause_name(c), finding_cause_name(expected));
    finding_text(text, sizeof text, p, c);
    if (!strstr(text, words))
        fail_msg("\"%s\" does not contain \"%s\"", text, words);
}

static void below_is_no_finding(void **state)
{
    (void)state;
    struct finding_point p = point();
    p.rate = 25.4e9; /* within what is above */
    assert_cause(&p, FINDING_NONE, "");
    p.rate = 25.6e9;
    p.reuse_bytes = NAN;
    assert_cause(&p, FINDING_UNKNOWN, "unexplained");
    p.roof = NAN;
    assert_cause(&p, FINDING_NONE, "");
}

static void cache_reuse(void **state)
{
    (void)state;
    struct finding_point p = point();
    p.reuse_bytes = 20e6;
    assert_cause(&p, FINDING_CACHE, "20.0 MB read repeatedly fit the 33.6 MB of L3");
    p.reuse_bytes = 0.5e6; /* nearer still */
    assert_cause(&p, FINDING_CACHE, "500 kB read repeatedly fit the 1.05 MB of L2");
    p.memory = false; /* no cache makes arithmetic faster than its peak */
    assert_cause(&p, FINDING_UNKNOWN, "");
    p = point();
    p.reuse_bytes = 20e6;
    p.cache_bytes[2] = NAN;
    assert_cause(&p, FINDING_UNKNOWN, "");
}

static void wrong_level(void **state)
{
    (void)state;
    struct finding_point p = point();
    p.level = "L3";
    p.reuse_bytes = 0.8e6;
    assert_cause(&p, FINDING_LEVEL, "the roof is that of L3, and the 800 kB read repeatedly fit the 1.05 MB of L2");
    p.level = "L2"; /* its own */
    assert_cause(&p, FINDING_UNKNOWN, "");
}

static void stale_profile(void **state)
{
    (void)state;
    struct finding_point p = point();
    p.adjacent = 32e9;
    assert_cause(&p, FINDING_STALE, "the adjacent probe measures 128 % of its roof");
    p.adjacent = 27e9; /* the same, as roofs go */
    assert_cause(&p, FINDING_UNKNOWN, "");
    p.memory = false; /* peaks age too */
    p.adjacent = 32e9;
    assert_cause(&p, FINDING_STALE, "");
}

/* F16 by tiles is faster than FP32's vectors, whatever their roof does. */
static void by_tiles(void **state)
{
    (void)state;
    struct finding_point p = point();
    p.memory = false;
    p.tiles = true;
    p.moved = 0.34;
    assert_cause(&p, FINDING_TILES, "three products of BF16 tiles");
    p.rate = 25.4e9;
    assert_cause(&p, FINDING_NONE, "");
}

static void roof_moved(void **state)
{
    (void)state;
    struct finding_point p = point();
    p.moved = 0.34;
    assert_cause(&p, FINDING_MOVED, "differ by 34 %");
    p.moved = 0.1;
    assert_cause(&p, FINDING_UNKNOWN, "");
    p.highest = 30e9; /* as fast as the point once */
    assert_cause(&p, FINDING_MOVED, "adjacent probes reach 30.0 GB/s");
    p.highest = 29e9;
    assert_cause(&p, FINDING_UNKNOWN, "");
}

/* 32 MiB of the 400 MB that is read repeatedly need not come from memory: 8.4 %, so up to 27.3 of 25 GB/s, and 2 %. */
static void cache_holds_a_part(void **state)
{
    (void)state;
    struct finding_point p = point();
    p.rate = 27.8e9;
    assert_cause(&p, FINDING_CACHE, "can hold up to 8 % of the 400 MB that is read repeatedly");
    p.rate = 27.9e9;
    assert_cause(&p, FINDING_UNKNOWN, "");
    p.rate = 27e9;
    p.reuse_bytes = NAN;
    assert_cause(&p, FINDING_UNKNOWN, "");
}

/* ---- of a run ---------------------------------------------------------------------------------------------- */

/* Decode of 10 tokens by a model of 400 MB; the roof stood still. */
static struct run_row decode(void)
{
    struct run_row r = { .n_threads = 2, .n_gen = 10, .n_batch = 1, .n_ubatch = 512, .n_reps = 3, .weight_bytes = 4e9, .kv_bytes = 0,
                         .flop = 8e9, .bytes_s = 24e9, .ceiling_bytes_s = 25e9, .flop_s = 48e9, .ceiling_flop_s = 900e9,
                         .profile_bytes_s = 25e9, .profile_flop_s = 900e9, .roof_moved = 0.02, .cache_bytes = 32 * MIB };
    snprintf(r.model, sizeof r.model, "m");
    snprintf(r.test, sizeof r.test, "tg10");
    snprintf(r.phase, sizeof r.phase, "decode");
    return r;
}

static struct run_op op(const char *role, double weights, double act, double seconds)
{
    struct run_op o = { .weight_bytes = weights, .act_bytes = act, .flop = 2 * weights, .seconds = seconds };
    snprintf(o.test, sizeof o.test, "tg10");
    snprintf(o.role, sizeof o.role, "%s", role);
    return o;
}

static const char *isa = ""; /* of runs */
static double packed_bytes = 1e8;

static struct run made(struct run_row row, const struct run_op *ops, size_t n)
{
    struct run r = { 0 };
    snprintf(r.prov.isa, sizeof r.prov.isa, "%s", isa);
    struct error err = { 0 };
    assert_ok(run_add_row(&r, &row, &err), err);
    struct run_loading loading = { .packed_bytes = packed_bytes };
    snprintf(loading.model, sizeof loading.model, "%s", row.model);
    snprintf(loading.type, sizeof loading.type, "%s", row.type);
    assert_ok(run_add_loading(&r, &loading, &err), err);
    for (size_t i = 0; i < n; i++)
        assert_ok(run_add_op(&r, &ops[i], &err), err);
    return r;
}

static void one_finding(struct run_row row, const struct run_op *ops, size_t n_op, const char *role, const char *what,
                        enum finding_cause cause)
{
    struct run r = made(row, ops, n_op);
    struct finding *f;
    size_t n;
    struct error err = { 0 };
    assert_ok(findings_of_run(&f, &n, &r, NULL, &err), err);
    assert_int_equal(n, what ? 1 : 0);
    if (what) {
        assert_string_equal(f[0].role, role);
        assert_string_equal(f[0].what, what);
        assert_string_equal(finding_cause_name(f[0].cause), finding_cause_name(cause));
        assert_string_equal(f[0].test, "tg10");
    }
    free(f);
    run_free(&r);
}

static void runs(void **state)
{
    (void)state;
    struct run_row row = decode();
    one_finding(row, NULL, 0, "", NULL, FINDING_NONE);
    row.profile_bytes_s = 18e9; /* slower than the probes: old */
    one_finding(row, NULL, 0, "", "MBU profile", FINDING_STALE);
    row = decode();
    row.bytes_s = 29e9;
    row.profile_bytes_s = NAN; /* no profile */
    one_finding(row, NULL, 0, "", "MBU", FINDING_UNKNOWN);
    row.roof_moved = 0.4;
    one_finding(row, NULL, 0, "", "MBU", FINDING_MOVED);
    row.weight_bytes = 1e8; /* 10 MB a token */
    one_finding(row, NULL, 0, "", "MBU", FINDING_CACHE);
    row = decode();
    row.flop_s = 1000e9;
    row.profile_flop_s = NAN;
    one_finding(row, NULL, 0, "", "MFU", FINDING_UNKNOWN);
    isa = "amx";
    one_finding(row, NULL, 0, "", "MFU", FINDING_UNKNOWN);
    snprintf(row.type, sizeof row.type, "F16");
    row.n_batch = 12;
    one_finding(row, NULL, 0, "", "MFU", FINDING_UNKNOWN);
    row.n_batch = 13;
    one_finding(row, NULL, 0, "", "MFU", FINDING_TILES);
    packed_bytes = 0; /* as the file has them */
    one_finding(row, NULL, 0, "", "MFU", FINDING_UNKNOWN);
    packed_bytes = 1e8;
    isa = "avx512bf16";
    one_finding(row, NULL, 0, "", "MFU", FINDING_UNKNOWN);
    isa = "";
}

/* Weights come around once a pass, activations were written just before: ops of one role are looked at together. */
static void roles(void **state)
{
    (void)state;
    const struct run_op fast[] = { op("ffn_act", 0, 1e6, 1e6 / 60e9), op("ffn_act", 0, 1e6, 1e6 / 60e9), op("lm_head", 1e8, 1e4, 1e8 / 20e9) };
    one_finding(decode(), fast, 3, "ffn_act", "MBU", FINDING_CACHE);
    const struct run_op head[] = { op("lm_head", 1e8, 1e4, 1e8 / 30e9) };
    one_finding(decode(), head, 1, "lm_head", "MBU", FINDING_UNKNOWN);
    const struct run_op mean[] = { op("lm_head", 1e8, 0, 1e8 / 30e9), op("lm_head", 1e8, 0, 1e8 / 15e9) }; /* 20 GB/s together */
    one_finding(decode(), mean, 2, "", NULL, FINDING_NONE);
    struct run_row row = decode(); /* the ops' own probes, not those of the repetitions */
    row.ops_ceiling_bytes_s = 31e9;
    row.ops_ceiling_flop_s = 900e9;
    row.ops_lowest_bytes_s = 30e9;
    row.ops_highest_bytes_s = 32e9;
    one_finding(row, head, 1, "", NULL, FINDING_NONE);
    row.ops_ceiling_bytes_s = 26e9;
    one_finding(row, head, 1, "lm_head", "MBU", FINDING_MOVED);
    row.ops_highest_bytes_s = 27e9;
    row.ops_lowest_bytes_s = 25e9;
    one_finding(row, head, 1, "lm_head", "MBU", FINDING_UNKNOWN);
}

/* Products of F16 and F32 alone, on CPUs with tiles alone. */
static void roles_by_tiles(void **state)
{
    (void)state;
    struct run_op o = op("ffn_up", 1e6, 0, 1);
    o.flop = 1000e9;
    o.n_tok = 13;
    snprintf(o.op, sizeof o.op, "matmul");
    snprintf(o.type, sizeof o.type, "F16");
    one_finding(decode(), &o, 1, "ffn_up", "MFU", FINDING_UNKNOWN);
    isa = "amx";
    one_finding(decode(), &o, 1, "ffn_up", "MFU", FINDING_TILES);
    o.n_tok = 12; /* by vectors */
    one_finding(decode(), &o, 1, "ffn_up", "MFU", FINDING_UNKNOWN);
    o.n_tok = 13;
    struct run_op both[] = { o, o }; /* more bits in one layer */
    one_finding(decode(), both, 2, "ffn_up", "MFU", FINDING_TILES);
    snprintf(both[1].type, sizeof o.type, "BF16");
    one_finding(decode(), both, 2, "ffn_up", "MFU", FINDING_UNKNOWN);
    snprintf(o.type, sizeof o.type, "BF16");
    one_finding(decode(), &o, 1, "ffn_up", "MFU", FINDING_UNKNOWN);
    snprintf(o.type, sizeof o.type, "F32");
    o.n_tok = 64;
    one_finding(decode(), &o, 1, "ffn_up", "MFU", FINDING_TILES);
    o.n_tok = 63; /* by vectors */
    one_finding(decode(), &o, 1, "ffn_up", "MFU", FINDING_UNKNOWN);
    snprintf(o.type, sizeof o.type, "F16"); /* of keys */
    snprintf(o.op, sizeof o.op, "attention");
    one_finding(decode(), &o, 1, "ffn_up", "MFU", FINDING_UNKNOWN);
    isa = "";
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(below_is_no_finding), cmocka_unit_test(cache_reuse), cmocka_unit_test(wrong_level),
        cmocka_unit_test(stale_profile),       cmocka_unit_test(roof_moved),  cmocka_unit_test(runs), cmocka_unit_test(cache_holds_a_part),
        cmocka_unit_test(roles),               cmocka_unit_test(by_tiles),    cmocka_unit_test(roles_by_tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
