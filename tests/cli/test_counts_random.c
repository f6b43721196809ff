/*
 * Every architecture the engine runs, at shapes drawn at random: layers, heads, widths, experts, windows, ranks, types of
 * weights and cache. In every pass of a prompt, of decode steps behind it and of several sequences, each op's weight bytes,
 * KV bytes, activation bytes and FLOP are what the cost model says, and so are their sums, the sums over classes, and what
 * predict says of the phase. Experts' weights are those of the experts really touched; over all combinations of some
 * tokens, their mean is what the recorded routing says.
 */
#include "../engine/ref/make_random.h"
#include "../test.h"
#include "engine/engine.h"
#include "predict/predict.h"
#include <math.h>
#include <unistd.h>

enum { MAX_SEQ = 4, MAX_PROMPT = 40, MAX_GEN = 6 };

/* ---- a shape ---------------------------------------------------------------------------------- */

/* In [lo, hi]. */
static int draw(struct rng *r, int lo, int hi)
{
    return lo + (int)(rng_u64(r) % (uint64_t)(hi - lo + 1));
}

static bool is(const struct random_spec *s, const char *family)
{
    return strcmp(s->family, family) == 0;
}

/* Any type that can be written and multiplied with. */
static enum dtype draw_type(struct rng *r)
{
    const struct dtype_info *d;
    size_t n = 0;
    while (dtype_at(n))
        n++;
    do
        d = dtype_at((size_t)draw(r, 0, (int)n - 1));
    while (!d->quantize || !dtype_executable(d->id));
    return d->id;
}

/* A multiple of a type's block, of 4 where it has none. */
static int draw_width(struct rng *r, int block)
{
    return block >= 256 ? 256 * (1 + (draw(r, 0, 3) == 0)) : block > 1 ? block * draw(r, 1, 5) : 4 * draw(r, 6, 40);
}

/* Their product is a multiple of the block. */
static void draw_heads(struct random_spec *s, struct rng *r, int block)
{
    static const int of_256[][2] = { { 8, 32 }, { 4, 64 }, { 2, 128 }, { 8, 64 }, { 1, 256 } };
    if (block >= 256) {
        const int *pair = of_256[draw(r, 0, ARRAY_LEN(of_256) - 1)];
        s->n_head = pair[0];
        s->head_dim = pair[1];
        do
            s->n_head_kv = draw(r, 1, s->n_head);
        while (s->n_head % s->n_head_kv != 0);
    } else {
        s->n_head_kv = draw(r, 1, 3);
        s->n_head = s->n_head_kv * draw(r, 1, 3);
        s->head_dim = block > 1 ? 32 * draw(r, 1, 3) : 8 * draw(r, 1, 9);
    }
}

static void draw_experts(struct random_spec *s, struct rng *r, int block)
{
    if (s->n_group > 1) {
        s->n_group = draw(r, 2, 3);
        s->n_group_used = draw(r, 1, s->n_group);
    }
    const int groups = s->n_group > 1 ? s->n_group : 1, used = s->n_group > 1 ? s->n_group_used : 1;
    s->n_expert = groups * draw(r, groups > 1 ? 2 : 3, groups > 1 ? 4 : block >= 256 ? 6 : 11);
    s->n_layer = block >= 256 ? draw(r, 1, 2) : s->n_layer; /* time goes into drawing weights */
    s->n_expert_used = draw(r, 1, (int)u64_min(4, (uint64_t)(s->n_expert / groups * used)));
    s->n_ff_exp = is(s, "mixtral") ? s->n_ff : draw_width(r, block);
    s->n_shared = s->n_shared ? draw(r, 1, 2) : 0;
    s->n_dense = s->n_dense ? draw(r, 0, s->n_layer - 1) : 0;
}

/* DeepSeek's heads: a part that rotates and one that does not. */
static void draw_latents(struct random_spec *s, struct rng *r, int block)
{
    s->n_head_kv = s->n_head;
    s->v_dim = s->head_dim;
    s->n_rot = 8 << draw(r, 0, 3);
    s->head_dim = draw_width(r, block > 1 ? 32 : 1) + s->n_rot;
    s->rank = draw_width(r, block);
    s->q_rank = draw(r, 0, 1) ? draw_width(r, block) : 0;
    s->absorbed = draw(r, 0, 1);
}

/* What is not drawn (rotations, gates, biases) is that of one of the family's own shapes. */
static void draw_shape(struct random_spec *s, const char *family, struct rng *r)
{
    random_spec_at(s, family, draw(r, 0, random_spec_count(family) - 1));
    const bool whole = is(s, "qwen2") || is(s, "phi3") || is(s, "olmo2"); /* files do not say how wide a head is */
    const bool mxfp4 = s->experts == DTYPE_MXFP4;
    s->seed = rng_u64(r);
    s->weights = draw_type(r);
    s->experts = mxfp4 ? DTYPE_MXFP4 : draw_type(r);
    const int of_weights = (int)dtype_find(s->weights)->block_elems, of_experts = (int)dtype_find(s->experts)->block_elems;
    const int block = s->n_expert && of_experts > of_weights ? of_experts : of_weights;
    s->n_layer = draw(r, 1, is(s, "gemma3") || is(s, "smollm3") ? 7 : 3); /* these two have periods of 6 and 4 */
    s->n_vocab = draw(r, 64, 300);
    s->tied = strncmp(family, "gemma", 5) == 0 || draw(r, 0, 1);
    draw_heads(s, r, block);
    s->n_embd = whole ? s->n_head * s->head_dim : draw_width(r, block);
    s->n_ff = draw_width(r, block);
    s->n_rot = is(s, "phi3") && s->scaling == RANDOM_LONGROPE ? 2 * draw(r, 1, s->head_dim / 2) : s->head_dim;
    s->window = s->window ? draw(r, 2, 30) : 0;
    if (s->n_expert)
        draw_experts(s, r, block);
    if (s->rank)
        draw_latents(s, r, block);
}

/* ---- a model to run ----------------------------------------------------------------------------- */

struct subject {
    struct random_spec spec;
    char what[400];
    struct model m;
    struct op_list ops;
    struct op_classes classes;
    struct step_model step;
    struct roofs roofs;
    struct cost_options o;
    struct engine *e;
    uint32_t n_seq, n_ubatch;
    int32_t tok[MAX_SEQ * MAX_PROMPT];
    /* of the passes since phase_begin() */
    struct cost counted, priced;
    bool chance; /* some had several tokens, and which experts these touch is a matter of chance */
    double n_pass;
};

/* A machine all of whose roofs are somewhere: seconds do not matter here. */
static struct hwprofile machine(void)
{
    struct hwprofile h = { .kind = HW_CPU, .id = "test" };
    const struct hw_value some = { .value = 1e12, .source = "test" };
    h.mem_bytes = h.mem_bw = some;
    h.eff.compute = h.eff.bandwidth = (struct hw_value){ .value = 1, .source = "test" };
    h.eff.launch_s = (struct hw_value){ .value = 0, .source = "test" };
    for (int i = 0; i < MATH_COUNT; i++)
        h.peak[i] = some;
    return h;
}

static void describe(struct subject *s, int round)
{
    const struct random_spec *p = &s->spec;
    snprintf(s->what, sizeof s->what,
             "%s, round %d: %d layers, n_embd %d, %d heads, %d of keys, head_dim %d, v_dim %d, n_rot %d, n_ff %d, %d experts, %d used, "
             "n_ff_exp %d, window %d, rank %d, q_rank %d%s%s, weights %s, experts %s, cache %s, %u sequences, passes of %u",
             p->family, round, p->n_layer, p->n_embd, p->n_head, p->n_head_kv, p->head_dim, p->v_dim, p->n_rot, p->n_ff, p->n_expert,
             p->n_expert_used, p->n_ff_exp, p->window, p->rank, p->q_rank, p->absorbed ? ", split" : "", p->tied ? ", tied" : "",
             dtype_name(p->weights), dtype_name(p->experts), dtype_name(s->o.type_k), s->n_seq, s->n_ubatch);
}

static void load_model(struct subject *s, int round)
{
    struct error err = { 0 };
    char path[80];
    snprintf(path, sizeof path, "test_counts_random.%s.%d.gguf", s->spec.family, round);
    assert_ok(random_write(path, &s->spec, &err), err);
    if (model_load(&s->m, path, NULL, &err) != 0)
        fail_msg("%s: %s", s->what, err.msg);
    unlink(path); /* it stays mapped */
    assert_ok(op_list_build(&s->ops, &s->m, &err), err);
    assert_ok(op_classes_init(&s->classes, &s->m, &s->ops, &err), err);
}

static void start_engine(struct subject *s, struct rng *r)
{
    struct error err = { 0 };
    struct cpulist cpus;
    assert_ok(cpulist_usable(&cpus, &err), err);
    const bool plain = s->m.n_params < 200000 && draw(r, 0, 3) == 0; /* the plain kernels are slow */
    const struct engine_options o = { .n_ctx = MAX_PROMPT + MAX_GEN, .n_seq = s->n_seq, .n_ubatch = s->n_ubatch,
                                      .n_out_max = s->n_seq, .n_threads = draw(r, 1, (int)u64_min(2, cpus.n)), .cpus = &cpus,
                                      .cpu_flags = plain ? 0 : cpu_flags(), .no_repack = draw(r, 0, 3) == 0,
                                      .type_k = s->o.type_k, .type_v = s->o.type_v };
    s->e = engine_new(&s->m, &o, &err);
    if (!s->e)
        fail_msg("%s: %s", s->what, err.msg);
    cpulist_free(&cpus);
}

static void subject_init(struct subject *s, const char *family, int round, struct rng *r)
{
    static const enum dtype kv[] = { DTYPE_F16, DTYPE_Q8_0, DTYPE_BF16, DTYPE_F32, DTYPE_Q4_0 };
    const struct hwprofile h = machine();
    struct error err = { 0 };
    *s = (struct subject){ 0 };
    draw_shape(&s->spec, family, r);
    s->n_seq = (uint32_t)draw(r, 2, MAX_SEQ);
    s->n_ubatch = (uint32_t)draw(r, (int)s->n_seq, 48);
    s->o = (struct cost_options){ .act_elem_bytes = 4, .type_k = kv[draw(r, 0, ARRAY_LEN(kv) - 1)] };
    s->o.type_v = s->o.type_k;
    describe(s, round);
    load_model(s, round);
    if (cost_check_kv(&s->ops, &s->o, &err) != 0)
        s->o.type_k = s->o.type_v = DTYPE_F16;
    describe(s, round);
    for (size_t i = 0; i < ARRAY_LEN(s->tok); i++)
        s->tok[i] = draw(r, 0, s->spec.n_vocab - 1);
    const struct predict_options p = { .weights_bytes = NAN };
    const struct step_options step = { .cost = s->o };
    assert_ok(roofs_init(&s->roofs, &h, &p, &err), err);
    assert_ok(step_model_init(&s->step, &s->classes, &step, &err), err);
    start_engine(s, r);
}

static void subject_free(struct subject *s)
{
    engine_free(s->e);
    step_model_free(&s->step);
    roofs_free(&s->roofs);
    op_classes_free(&s->classes);
    op_list_free(&s->ops);
    model_free(&s->m);
}

/* ---- a pass -------------------------------------------------------------------------------------- */

/* Whole numbers on both sides; the mean over steps and k of n experts round in the last place. */
static void equal(const struct subject *s, const char *what, const char *of, double counted, double priced)
{
    if (fabs(counted - priced) > 1e-9 * fmax(counted, priced))
        fail_msg("%s of %s: the engine counted %.3f, the model says %.3f\n%s", what, of, counted, priced, s->what);
}

static void equal_costs(const struct subject *s, const char *of, const struct cost *counted, const struct cost *priced)
{
    equal(s, "weight bytes", of, counted->weight_bytes, priced->weight_bytes);
    equal(s, "KV bytes", of, counted->kv_bytes, priced->kv_bytes);
    equal(s, "activation bytes", of, counted->act_bytes, priced->act_bytes);
    equal(s, "FLOP", of, counted->flop, priced->flop);
}

static struct cost cost_of_work(const struct work *w)
{
    return (struct cost){ .weight_bytes = (double)w->weight_bytes, .act_bytes = (double)w->act_bytes,
                          .kv_bytes = (double)w->kv_bytes, .flop = (double)w->flop };
}

/* Weights of the experts that the choice before op i fell on in the last pass. */
static double experts_read(const struct subject *s, size_t i)
{
    const struct op *op = &s->ops.ops[i];
    while (s->ops.ops[i].kind != OP_ROUTE)
        i--;
    const double bytes = (double)op->w->bytes + (op->bias ? (double)op->bias->bytes : 0);
    return (double)engine_samples(s->e)[i].n_expert * bytes / op->n_expert;
}

static void compare_pass(struct subject *s, const struct pass *p)
{
    struct cost sum = { 0 }, priced = { 0 };
    for (size_t i = 0; i < s->ops.n; i++) {
        const struct op *op = &s->ops.ops[i];
        const struct cost counted = cost_of_work(&engine_samples(s->e)[i].work);
        struct cost c = cost_op(op, p, &s->o);
        char of[80];
        snprintf(of, sizeof of, "%s, layer %d, in a pass of %u tokens after %u", op_role_name(op->role), op->layer, p->n_tok,
                 p->n_past);
        priced = cost_add(priced, c);
        if (op->kind == OP_EXPERT_MATMUL && p->n_tok > 1)
            c.weight_bytes = experts_read(s, i);
        equal_costs(s, of, &counted, &c);
        sum = cost_add(sum, c);
    }
    const struct work work = engine_work(s->e);
    const struct cost counted = cost_of_work(&work), classes = step_price(&s->step, &s->roofs, p, 1, NULL, NULL).cost;
    equal_costs(s, "a pass", &counted, &sum);
    equal_costs(s, "a pass, class by class", &priced, &classes);
    s->counted = cost_add(s->counted, counted);
    s->priced = cost_add(s->priced, priced);
    s->chance |= p->n_tok > 1 && s->spec.n_expert > 0;
    s->n_pass++;
}

/* A pass_fn: the engine does it, every sequence its part of the tokens. */
static void run_pass(void *ctx, const struct pass *p)
{
    struct subject *s = ctx;
    struct engine_run run[MAX_SEQ];
    struct error err = { 0 };
    const float *logits;
    for (uint32_t i = 0; i < p->n_seq; i++)
        run[i] = (struct engine_run){ i, p->n_past, p->n_tok / p->n_seq, .n_out = p->n_out > 0 };
    engine_reset(s->e);
    if (engine_eval_runs(s->e, s->tok, run, p->n_seq, &logits, &err) != 0)
        fail_msg("%s: %s", s->what, err.msg);
    compare_pass(s, p);
}

/* ---- the phases of a prediction --------------------------------------------------------------------- */

static void phase_begin(struct subject *s)
{
    s->counted = s->priced = (struct cost){ 0 };
    s->chance = false;
    s->n_pass = 0;
}

/* per: passes that the prediction is the mean of. */
static void compare_phase(const struct subject *s, const char *of, const struct cost *predicted, double per)
{
    struct cost c = s->counted;
    if (s->chance)
        c.weight_bytes = s->priced.weight_bytes;
    c.weight_bytes /= per;
    c.act_bytes /= per;
    c.kv_bytes /= per;
    c.flop /= per;
    equal_costs(s, of, &c, predicted);
}

static void check_phases(struct subject *s, uint32_t n_seq, uint32_t n_prompt, uint32_t n_gen)
{
    const struct hwprofile h = machine();
    struct predict_options o = { .weights_bytes = NAN, .n_prompt = n_prompt, .n_batch = n_seq, .n_ubatch = s->n_ubatch,
                                 .type_k = s->o.type_k, .type_v = s->o.type_v };
    struct predict_result r;
    struct error err = { 0 };
    phase_begin(s);
    prefill_passes(n_prompt, 0, s->n_ubatch, n_seq, run_pass, s);
    assert_ok(predict(&r, &s->m, &h, &o, &err), err);
    assert_true(s->n_pass == (double)prefill_n_passes(n_prompt, s->n_ubatch, n_seq));
    compare_phase(s, "the prompt", &r.prefill.cost, 1);
    phase_begin(s);
    for (uint32_t i = 0; i < n_gen; i++) {
        const struct pass p = decode_pass(n_prompt + i, n_seq);
        run_pass(s, &p);
    }
    o.n_prompt = 0;
    o.n_depth = n_prompt;
    o.n_gen = n_gen;
    assert_ok(predict(&r, &s->m, &h, &o, &err), err);
    compare_phase(s, "the mean step", &r.decode.cost, n_gen);
}

/* ---- the tests --------------------------------------------------------------------------------------- */

/* Checked kernels are slow: every path is tried, fewer times. */
static bool slow(void)
{
    return getenv("ROOFCAST_SANITIZED") != NULL;
}

static int rounds(int n)
{
    return slow() ? 1 : n;
}

static void check_family(const char *family)
{
    struct rng r;
    rng_init(&r, 2024 + (uint64_t)family[0] * 256 + strlen(family));
    for (int i = 0; i < rounds(4); i++) {
        struct subject s;
        subject_init(&s, family, i, &r);
        check_phases(&s, 1, (uint32_t)draw(&r, 1, MAX_PROMPT), (uint32_t)draw(&r, 1, MAX_GEN));
        check_phases(&s, s.n_seq, (uint32_t)draw(&r, 1, MAX_PROMPT), (uint32_t)draw(&r, 1, MAX_GEN));
        subject_free(&s);
    }
}

/* mixtral's files are llama's with experts. */
static const char *architecture_of(const char *family)
{
    return strcmp(family, "mixtral") == 0 ? "llama" : family;
}

static void test_every_architecture(void **state)
{
    struct arch_info a;
    (void)state;
    for (size_t i = 0; model_arch_at(i, &a); i++) {
        int n = 0;
        for (size_t f = 0; random_families[f] && !a.predict_only; f++)
            if (strcmp(architecture_of(random_families[f]), a.name) == 0) {
                check_family(random_families[f]);
                n++;
            }
        if (!a.predict_only && n == 0)
            fail_msg("%s is run and nothing here draws a shape of it", a.name);
    }
}

/* Popularities as a run records them: of the layers that have experts, one after the other. */
static struct routing recorded(const struct subject *s, double n_tok, double *popularity)
{
    struct routing r = { .popularity = popularity };
    for (size_t i = 0; i < s->ops.n; i++) {
        const uint64_t *uses = engine_expert_uses(s->e, i);
        if (!uses)
            continue;
        r.n = s->ops.ops[i].n_expert;
        r.n_used = s->ops.ops[i].n_expert_used;
        for (uint32_t k = 0; k < r.n; k++)
            popularity[r.n_layer * r.n + k] = (double)uses[k] / n_tok;
        r.n_layer++;
    }
    return r;
}

static void expert_weights(const struct subject *s, const struct pass *p, const struct routing *r, double *counted,
                           double *priced)
{
    const struct cost_options o = { .act_elem_bytes = 4, .type_k = s->o.type_k, .type_v = s->o.type_v, .routing = r };
    *counted = *priced = 0;
    for (size_t i = 0; i < s->ops.n; i++)
        if (s->ops.ops[i].kind == OP_EXPERT_MATMUL) {
            *counted += (double)engine_samples(s->e)[i].work.weight_bytes;
            *priced += cost_op(&s->ops.ops[i], p, &o).weight_bytes;
        }
}

/* Passes of the first tokens of n_seq sequences: of T tokens, every choice of n_seq, once each. So every sequence uses each of
 * the T tokens equally often whatever the others do, which is what (16) means by choosing independently, and the mean over
 * the passes is no sample but the expectation. */
static void check_routing(const char *family, struct rng *r)
{
    static const unsigned many[MAX_SEQ + 1] = { 0, 0, 24, 8, 5 }, few[MAX_SEQ + 1] = { 0, 0, 8, 4, 3 };
    const unsigned *n_tok = slow() ? few : many;
    struct subject s;
    struct engine_run run[MAX_SEQ];
    struct error err = { 0 };
    const float *logits;
    double counted, priced;
    unsigned n_pass = 1;
    subject_init(&s, family, 100, r);
    const struct pass p = decode_pass(0, s.n_seq);
    for (uint32_t i = 0; i < s.n_seq; i++, n_pass *= n_tok[s.n_seq])
        run[i] = (struct engine_run){ i, 0, 1, .n_out = 1 };
    engine_reset(s.e);
    for (unsigned i = 0; i < n_pass; i++) {
        int32_t tok[MAX_SEQ];
        for (unsigned k = 0, rest = i; k < s.n_seq; k++, rest /= n_tok[s.n_seq])
            tok[k] = s.tok[rest % n_tok[s.n_seq]];
        assert_ok(engine_eval_runs(s.e, tok, run, s.n_seq, &logits, &err), err);
    }
    double *popularity = calloc((size_t)s.m.hp.n_layer * s.m.hp.n_expert, sizeof *popularity);
    const struct routing routing = recorded(&s, (double)n_pass * s.n_seq, popularity);
    expert_weights(&s, &p, &routing, &counted, &priced);
    equal(&s, "the mean of weight bytes", "experts, as the routing recorded has them", counted / n_pass, priced);
    free(popularity);
    subject_free(&s);
}

static void test_routing(void **state)
{
    static const char *const families[] = { "mixtral", "qwen3moe", "gpt-oss", "deepseek2" };
    struct rng r;
    (void)state;
    rng_init(&r, 7);
    for (size_t f = 0; f < ARRAY_LEN(families); f++)
        for (int i = 0; i < rounds(2); i++)
            check_routing(families[f], &r);
}

/* test_counts_random [CASE] */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_architecture), cmocka_unit_test(test_routing) };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
