/* The record of a measurement: round trip through a file, NaN as null, strictness of the
 * reader. */
#include "../test.h"
#include "run/run.h"
#include <math.h>
#include <unistd.h>

#define SET(field, text) snprintf(field, sizeof(field), "%s", text)

static struct run_row sample_row(void)
{
    struct run_row r = { .n_threads = 2,
                         .n_prompt = 512,
                         .n_depth = 4096,
                         .n_batch = 1,
                         .n_ubatch = 512,
                         .n_reps = 5,
                         .tok_s_mean = 41.5,
                         .tok_s_sd = 0.25,
                         .ttft_s = 0.1,
                         .itl_p50_s = NAN,
                         .itl_p99_s = NAN,
                         .bytes_s = 1e10 / 3,
                         .ceiling_bytes_s = 4e10,
                         .mbu = 0.25,
                         .flop_s = 1e9,
                         .ceiling_flop_s = NAN,
                         .mfu = NAN,
                         .weight_bytes = 1.5e9,
                         .act_bytes = 1,
                         .kv_bytes = 0,
                         .flop = 3e9,
                         .seconds = 0.5,
                         .dram_bytes_s = NAN,
                         .mbu_dram = NAN,
                         .energy_j = 12.5,
                         .j_tok = 0.025 };
    SET(r.model, "tiny \"model\" \xc3\xa9");
    SET(r.type, "Q8_0");
    SET(r.test, "pp512@d4096");
    SET(r.phase, "prefill");
    SET(r.dram_reason, "no uncore events");
    SET(r.counters, "null");
    SET(r.energy_source, "powercap intel-rapl: package-0");
    SET(r.type_k, "F16");
    SET(r.type_v, "Q8_0");
    SET(r.act_scales, "pow2");
    r.experts_touched = NAN;
    SET(r.ceiling_source, "1 concurrent probe");
    return r;
}

static struct run_op sample_op(int layer)
{
    struct run_op o = { .layer = layer,
                        .rows = 1ULL << 40,
                        .cols = 7,
                        .n_tok = 512,
                        .weight_bytes = 10,
                        .act_bytes = 20,
                        .kv_bytes = 0,
                        .flop = 60,
                        .ai = 2,
                        .share = 0.5,
                        .seconds = 1e-3,
                        .bytes_s = 3e4,
                        .flop_s = 6e4,
                        .roof_fraction = NAN };
    SET(o.test, "pp512@d4096");
    SET(o.phase, "prefill");
    SET(o.role, "ffn_down");
    SET(o.op, "matmul");
    SET(o.type, "Q8_0");
    SET(o.bound, "memory");
    return o;
}

static void sample(struct run *r)
{
    struct error err = { 0 };
    memset(r, 0, sizeof *r);
    SET(r->prov.version, "0.1.0");
    SET(r->prov.compiler, "gcc 12");
    SET(r->prov.cflags, "-O2");
    SET(r->prov.cpu, "cpu");
    SET(r->prov.isa, "avx512");
    SET(r->prov.counters, "null");
    SET(r->prov.date, "2026-11-20T19:06:00Z");
    SET(r->prov.command, "roofcast bench");
    r->prov.n_threads = 2;
    struct run_row row = sample_row();
    for (int i = 0; i < 3; i++) {
        row.n_gen = i;
        assert_ok(run_add_row(r, &row, &err), err);
    }
    for (int i = -1; i < 40; i++) {
        struct run_op op = sample_op(i);
        assert_ok(run_add_op(r, &op, &err), err);
    }
    struct run_loading l = { .n_threads = 2, .packed_bytes = 3e9, .pack_s = 0.5, .pack_bytes_s = 6e9, .peak_bytes = NAN, .probe_bytes = 1e9 };
    SET(l.model, "tiny");
    SET(l.type, "Q8_0");
    SET(l.peak_reason, "no /proc/self/status here");
    assert_ok(run_add_loading(r, &l, &err), err);
    struct run_routing x = { .n_expert = 4, .n_expert_used = 2, .n_layer = 2, .n_tok = 3, .layer = (uint32_t[]){ 1, 3 },
                             .counts = (uint64_t[]){ 3, 1, 2, 0, 1, 1, 1, 3 } };
    SET(x.model, "tiny");
    assert_ok(run_add_routing(r, &x, &err), err);
    assert_ok(run_add_routing(r, &x, &err), err); /* the same model: counts add up */
    SET(x.model, "other");
    assert_ok(run_add_routing(r, &x, &err), err);
    r->ceilings = json_pack("[{s:s, s:s, s:s, s:s, s:f, s:i}]", "name", "read DRAM 2t", "kind",
                            "bandwidth", "level", "DRAM", "unit", "B/s", "value", 4e10, "n_threads", 2);
    assert_non_null(r->ceilings);
}

static void assert_same_number(double a, double b)
{
    if (!(a == b || (isnan(a) && isnan(b))))
        fail_msg("%.17g != %.17g", a, b);
}

/* A document whose routing is this text, and why it is refused. */
static void bad_routing(const char *routing, const char *says)
{
    struct error err = { 0 };
    struct run a, b;
    sample(&a);
    json_t *doc = run_to_json(&a, &err), *x = json_loads(routing, 0, NULL);
    assert_non_null(doc);
    assert_non_null(x);
    json_object_set_new(doc, "routing", x);
    char *text = json_dumps(doc, 0);
    assert_int_equal(run_parse(&b, "t", text, strlen(text), &err), -1);
    if (!strstr(err.msg, says))
        fail_msg("%s: expected \"%s\"", err.msg, says);
    free(text);
    json_decref(doc);
    run_free(&a);
}

static void routing_refused(void **state)
{
#define HEAD "[{\"model\": \"m\", \"n_expert\": 4, \"n_expert_used\": 2, \"n_tok\": 3, \"layers\": "
    (void)state;
    bad_routing("{}", "\"routing\": expected an array");
    bad_routing("[3]", "routing[0]: expected an object");
    bad_routing("[{\"model\": \"m\", \"n_expert\": 4, \"n_expert_used\": 5, \"n_tok\": 3, \"layers\": []}]", "n_expert_used");
    bad_routing(HEAD "[]}]", "expected an array of 1 to 4096 layers");
    bad_routing(HEAD "[{\"layer\": 0, \"counts\": [3, 3]}]}]", "layers[0]: field \"counts\": expected an array of 4 numbers");
    bad_routing(HEAD "[{\"layer\": 0, \"counts\": [3, 3, 0, -1]}]}]", "counts[3]: expected a whole number of 0 to 3");
    bad_routing(HEAD "[{\"layer\": 0, \"counts\": [4, 2, 0, 0]}]}]", "counts[0]: expected a whole number of 0 to 3");
    bad_routing(HEAD "[{\"layer\": 0, \"counts\": [3, 2, 0, 0]}]}]", "add up to 5, expected 6: 2 experts of each of 3 tokens");
    bad_routing(HEAD "[{\"layer\": 2, \"counts\": [3, 3, 0, 0]}, {\"layer\": 2, \"counts\": [3, 3, 0, 0]}]}]", "2 after 2");
    bad_routing(HEAD "[{\"layer\": 2, \"counts\": [3, 3, 0, 0]}]}, {\"model\": \"m\", \"n_expert\": 4, \"n_expert_used\": 2, "
                     "\"n_tok\": 3, \"layers\": [{\"layer\": 2, \"counts\": [3, 3, 0, 0]}]}]",
                "routing[1]: model \"m\" has its routing above already");
#undef HEAD
}

static void round_trip(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct run a, b;
    char path[] = "test_run_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    sample(&a);
    assert_ok(run_save(&a, path, &err), err);
    assert_ok(run_load(&b, path, &err), err);
    unlink(path);
    assert_int_equal(b.n_row, 3);
    assert_int_equal(b.n_op, 41);
    assert_int_equal(b.row[2].n_gen, 2);
    assert_string_equal(b.row[0].model, a.row[0].model);
    assert_string_equal(b.row[0].bound, ""); /* null and back */
    assert_string_equal(b.row[0].dram_source, "");
    assert_string_equal(b.row[0].dram_reason, "no uncore events");
    assert_same_number(b.row[0].bytes_s, a.row[0].bytes_s); /* all 53 bits */
    assert_same_number(b.row[0].mfu, NAN);
    assert_same_number(b.row[0].j_tok, 0.025);
    assert_string_equal(b.row[0].energy_source, "powercap intel-rapl: package-0");
    assert_same_number(b.row[0].kv_bytes, 0); /* zero is not null */
    assert_int_equal(b.n_loading, 1);
    assert_string_equal(b.loading[0].peak_reason, "no /proc/self/status here");
    assert_string_equal(b.row[0].act_scales, "pow2");
    assert_same_number(b.loading[0].pack_bytes_s, 6e9);
    assert_int_equal(b.n_routing, 2);
    assert_string_equal(b.routing[0].model, "tiny");
    assert_int_equal(b.routing[0].n_tok, 6);
    assert_int_equal(b.routing[0].layer[1], 3);
    assert_int_equal(b.routing[0].counts[7], 6);
    assert_int_equal(b.routing[1].counts[2], 2);
    assert_int_equal(b.op[0].layer, -1);
    assert_int_equal(b.op[40].layer, 39);
    assert_true(b.op[0].rows == 1ULL << 40);
    assert_int_equal(b.prov.n_threads, 2);
    assert_string_equal(b.prov.profile, "");
    /* Every field: the JSON of what was read is the JSON that was written. */
    json_t *ja = run_to_json(&a, &err), *jb = run_to_json(&b, &err);
    assert_non_null(ja);
    /* ... and none is left out: one a member of the struct. */
    assert_int_equal(json_object_size(json_object_get(ja, "provenance")), 11);
    assert_int_equal(json_object_size(json_array_get(json_object_get(ja, "rows"), 0)), 61);
    assert_int_equal(json_object_size(json_array_get(json_object_get(ja, "ops"), 0)), 20);
    assert_int_equal(json_object_size(json_array_get(json_object_get(ja, "loads"), 0)), 10);
    assert_true(json_equal(ja, jb));
    assert_true(json_is_null(
        json_object_get(json_array_get(json_object_get(ja, "rows"), 0), "mfu")));
    assert_string_equal(json_string_value(json_object_get(ja, "schema")), "roofcast.run");
    json_decref(ja);
    json_decref(jb);
    run_free(&a);
    run_free(&b);
}

/* An empty run is a document too. */
static void empty(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct run r = { .prov.n_threads = 1 }, back;
    json_t *j = run_to_json(&r, &err);
    assert_int_equal(json_object_del(j, "loads"), 0); /* files from before there were any */
    char *text = json_dumps(j, 0);
    assert_ok(run_parse(&back, "empty", text, strlen(text), &err), err);
    assert_int_equal(back.n_row + back.n_op, 0);
    assert_int_equal(json_array_size(back.ceilings), 0);
    free(text);
    json_decref(j);
    run_free(&back);
}

/* Rows from before there was any energy: not measured, and no reason known. */
static void without_energy(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct run a, b;
    sample(&a);
    json_t *j = run_to_json(&a, &err), *row;
    size_t i;
    json_array_foreach(json_object_get(j, "rows"), i, row) {
        json_object_del(row, "energy_j");
        json_object_del(row, "j_tok");
        json_object_del(row, "energy_source");
        json_object_del(row, "energy_reason");
    }
    char *text = json_dumps(j, 0);
    assert_ok(run_parse(&b, "old", text, strlen(text), &err), err);
    assert_true(isnan(b.row[0].energy_j) && isnan(b.row[0].j_tok));
    assert_string_equal(b.row[0].energy_source, "");
    free(text);
    json_decref(j);
    run_free(&a);
    run_free(&b);
}

/* Repetitions come back in their order; files from before there were any, or a row's conditions, load without. */
static void repetitions(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct run a, b;
    sample(&a);
    a.row[0].roof_moved = 0.125;
    a.row[0].steal = NAN;
    a.row[0].cpu_share = 0.75;
    for (int i = 0; i < 2; i++) {
        struct run_rep rep = { .n_threads = 2, .repetition = i, .seconds = 0.5 + i, .mbu = 0.75, .mfu = NAN, .steal = 0.01, .n_switch = 3,
                               .clock_hz = 3e9 };
        SET(rep.model, "m");
        SET(rep.test, "pp512");
        assert_ok(run_add_rep(&a, &rep, &err), err);
    }
    json_t *j = run_to_json(&a, &err);
    char *text = json_dumps(j, 0);
    assert_ok(run_parse(&b, "new", text, strlen(text), &err), err);
    assert_int_equal(b.n_rep, 2);
    assert_true(b.rep[1].repetition == 1 && b.rep[1].seconds == 1.5 && b.rep[1].n_switch == 3 && isnan(b.rep[1].mfu));
    assert_true(b.row[0].roof_moved == 0.125 && isnan(b.row[0].steal) && b.row[0].cpu_share == 0.75);
    free(text);
    run_free(&b);
    json_object_del(j, "repetitions");
    static const char *const newer[] = { "roof_moved", "profile_bytes_s", "mbu_profile", "profile_flop_s", "mfu_profile",
                                         "profile_reason", "steal", "n_switch", "cpu_share", "clock_hz", "cache_bytes", "ops_ceiling_bytes_s",
                                         "ops_ceiling_flop_s", "ops_lowest_bytes_s", "ops_highest_bytes_s" };
    for (size_t i = 0; i < ARRAY_LEN(newer); i++)
        assert_int_equal(json_object_del(json_array_get(json_object_get(j, "rows"), 0), newer[i]), 0);
    text = json_dumps(j, 0);
    assert_ok(run_parse(&b, "old", text, strlen(text), &err), err);
    assert_true(b.n_rep == 0 && isnan(b.row[0].roof_moved) && isnan(b.row[0].cache_bytes));
    free(text);
    run_free(&b);
    json_object_set_new(j, "repetitions", json_pack("[{s:s}]", "model", "m"));
    text = json_dumps(j, 0);
    assert_fails(run_parse(&b, "bad", text, strlen(text), &err), err, "repetitions[0]: field \"test\" is missing");
    free(text);
    json_decref(j);
    run_free(&a);
}

/* Names that are not UTF-8 are written as "?" instead of losing the run. */
static void not_utf8(void **state)
{
    (void)state;
    struct run_row row = sample_row();
    SET(row.model, "m\xff\xfe");
    json_t *j = run_row_json(&row);
    assert_non_null(j);
    assert_string_equal(json_string_value(json_object_get(j, "model")), "m??");
    json_decref(j);
}

/* One field of a good document spoiled: the message names file, place, field, expected. */
static void strict(void **state)
{
    (void)state;
    static const struct {
        /* "", "provenance", or an array, whose last element is changed */
        const char *where;
        const char *key, *value, *message; /* value NULL: removed */
    } cases[] = {
        { "", "schema", "\"other\"", "bad.json: field \"schema\"" },
        { "", "version", "2", "version" },
        { "", "rows", "{}", "bad.json: field \"rows\": expected an array" },
        { "", "ops", NULL, "bad.json: field \"ops\": expected an array" },
        { "", "ceilings", "[1]", "bad.json: ceilings[0]: expected an object" },
        { "", "ceilings", "[{\"unit\":\"B/s\" }]",
          "ceilings[0]: field \"name\" is missing" },
        { "", "provenance", NULL, "bad.json: field \"provenance\" is missing" },
        { "ceilings", "value", "\"9\"", "ceilings[0]: field \"value\": expected a number" },
        { "ceilings", "value", "null", "ceilings[0]: field \"value\"" },
        { "ceilings", "value", "-4e10", "field \"value\": expected more than 0, found -4e+10" },
        { "ceilings", "value", "0", "field \"value\": expected more than 0" },
        { "ceilings", "value", "1e300", "field \"value\": expected at most 1e+24, found 1e+300" },
        { "ceilings", "kind", "\"heat\"", "expected \"compute\" or \"bandwidth\", found \"heat\"" },
        { "ceilings", "kind", "\"compute\"", "ceilings[0]: field \"dtype\"" },
        { "ceilings", "level", NULL, "ceilings[0]: field \"level\"" },
        { "ceilings", "n_threads", "0", "ceilings[0]: field \"n_threads\"" },
        { "", "provenance", "[]", "bad.json: provenance: expected an object" },
        { "provenance", "n_threads", "0", "provenance: field \"n_threads\"" },
        { "provenance", "isa", "null", "provenance: field \"isa\"" },
        { "rows", "mbu", NULL, "bad.json: rows[2]: field \"mbu\" is missing" },
        { "rows", "mbu", "\"0.5\"",
          "rows[2]: field \"mbu\": expected a number, found a string" },
        { "rows", "mbu", "-0.5", "rows[2]: field \"mbu\": expected 0 or more" },
        { "rows", "n_reps", "2.5", "rows[2]: field \"n_reps\": expected a whole number" },
        { "rows", "n_reps", "99999999999", "rows[2]: field \"n_reps\"" },
        { "rows", "phase", "\"warm\"",
          "expected \"prefill\" or \"decode\", found \"warm\"" },
        { "rows", "type", "\"a type name that is far longer than it may be\"",
          "field \"type\": 45 bytes, expected at most 31" },
        { "rows", "test", NULL, "rows[2]: field \"test\" is missing" },
        { "rows", "seconds", "0", "rows[2]: field \"seconds\": expected more than 0, found 0" },
        { "ops", "seconds", "0", "ops[40]: field \"seconds\": expected more than 0, found 0" },
        { "ops", "seconds", "-1", "ops[40]: field \"seconds\": expected more than 0, found -1" },
        { "ops", "flop", "1e300", "ops[40]: field \"flop\": expected at most 1e+24" },
        { "ops", "ai", "\"x\"", "ops[40]: field \"ai\": expected a number, found a string" },
        { "ops", "layer", "1.5", "ops[40]: field \"layer\": expected a whole number" },
        { "ops", "phase", "\"zz\"", "ops[40]: field \"phase\"" },
        { "ops", "layer", "-2", "ops[40]: field \"layer\"" },
        { "ops", "rows", "-1", "ops[40]: field \"rows\"" },
        { "ops", "role", "7", "ops[40]: field \"role\": expected a string" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = { 0 };
        struct run r, back;
        sample(&r);
        json_t *doc = run_to_json(&r, &err);
        run_free(&r);
        json_t *o = *cases[i].where ? json_object_get(doc, cases[i].where) : doc;
        if (json_is_array(o))
            o = json_array_get(o, json_array_size(o) - 1);
        if (cases[i].value)
            json_object_set_new(o, cases[i].key,
                                json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
        else
            json_object_del(o, cases[i].key);
        char *text = json_dumps(doc, 0);
        assert_fails(run_parse(&back, "bad.json", text, strlen(text), &err), err,
                     cases[i].message);
        assert_int_equal(err.kind, ERROR_INPUT);
        assert_int_equal(back.n_row + back.n_op, 0);
        free(text);
        json_decref(doc);
    }
}

/* A time the clock could not tell is not a time of 0, and what was written reads back. */
static void no_time(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct run r, back;
    sample(&r);
    r.op[3].seconds = 0;
    json_t *doc = run_to_json(&r, &err);
    assert_ok(run_from_json(&back, doc, "again", "roofcast.run", &err), err);
    assert_true(isnan(back.op[3].seconds));
    assert_same_number(back.op[4].seconds, r.op[4].seconds);
    run_free(&back);
    assert_fails(run_from_json(&back, doc, "again", "roofcast.bench", &err), err, "\"schema\"");
    json_decref(doc);
    run_free(&r);
}

static void hostile(void **state)
{
    (void)state;
    static const char *const texts[] = { "",
                                         "null",
                                         "[]",
                                         "{\"schema\":\"roofcast.run\",\"version\":1}",
                                         "{\"schema\":1}",
                                         "{\"rows\":[[[[[",
                                         "\xff" };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct error err = { 0 };
        struct run r;
        assert_fails(run_parse(&r, "h.json", texts[i], strlen(texts[i]), &err), err,
                     "h.json");
    }
    struct error err = { 0 };
    struct run r;
    assert_fails(run_load(&r, "no/such/file.json", &err), err, "no/such/file.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip), cmocka_unit_test(empty),   cmocka_unit_test(without_energy), cmocka_unit_test(not_utf8),
        cmocka_unit_test(repetitions),
        cmocka_unit_test(strict),     cmocka_unit_test(hostile),
        cmocka_unit_test(no_time),    cmocka_unit_test(routing_refused),
    };
    return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
