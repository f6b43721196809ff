/* Speculative decoding against figures worked out by hand and against simulations. methods.md (53) */
#include "../test.h"
#include "tests/config.h"
#include "tests/near.h"
#include "predict/speculate.h"
#include "timing/timing.h"

#define DIMS "\"hidden_size\": 64, \"num_attention_heads\": 4, \"num_key_value_heads\": 4, \"head_dim\": 16, " \
             "\"vocab_size\": 256, \"max_position_embeddings\": 65536, \"rms_norm_eps\": 1e-5, " \
             "\"tie_word_embeddings\": false, \"hidden_act\": \"silu\""

/* F16: a layer 4 * 64 * 64 + 3 * 64 * 128 = 40960 elements and two norms of 64 F32: 81920 + 512 = 82432 bytes; last norm
 * 256, head and table 256 * 64 * 2 = 32768 each. A step reads all but the table, and of that 128 bytes a token. */
static struct model dense(int n_layer)
{
    char text[512];
    snprintf(text, sizeof text, "{\"model_type\": \"llama\", \"num_hidden_layers\": %d, \"intermediate_size\": 128, " DIMS "}",
             n_layer);
    return from_config(text, "F16");
}

/* With an MTP layer in its config.json. */
static struct model with_mtp(void)
{
    return from_config("{\"model_type\": \"llama\", \"num_hidden_layers\": 2, \"intermediate_size\": 128, "
                       "\"num_nextn_predict_layers\": 1, " DIMS "}",
                       "F16");
}

static struct model mixture(void)
{
    return from_config("{\"model_type\": \"mixtral\", \"num_hidden_layers\": 2, \"intermediate_size\": 128, "
                       "\"num_local_experts\": 8, \"num_experts_per_tok\": 2, " DIMS "}",
                       "F16");
}

/* 1 MB/s, so that a byte takes a microsecond, and a peak of flop_s. */
static struct hwprofile machine(double flop_s)
{
    struct hwprofile h = { .kind = HW_GPU };
    snprintf(h.id, sizeof h.id, "test-machine");
    h.tdp_w.value = h.eff.compute.value = h.eff.bandwidth.value = h.eff.launch_s.value = NAN;
    h.mem_bytes.value = 1e9;
    h.mem_bw.value = 1e6;
    for (int i = 0; i < MATH_COUNT; i++)
        h.peak[i].value = flop_s;
    return h;
}

static struct predict_options options(void)
{
    return (struct predict_options){ .weights_bytes = NAN,
                                     .roof = true,
                                     .weights_only = true,
                                     .n_gen = 100, /* more than a round gives */
                                     .n_batch = 1,
                                     .n_ubatch = 512,
                                     .type_k = DTYPE_F16,
                                     .type_v = DTYPE_F16 };
}

static const double eight_tenths[] = { 0.8 };

static struct spec_options drafts(enum spec_kind kind, uint32_t gamma)
{
    return (struct spec_options){ .kind = kind, .gamma = gamma, .acceptance = { eight_tenths, 1 } };
}

static struct speculation ask(struct predict_result *r, const struct model *m, const struct hwprofile *h,
                              const struct predict_options *o, const struct spec_options *s)
{
    struct speculation x;
    struct error err = { 0 };
    assert_ok(speculate(&x, r, m, h, o, s, &err), err);
    return x;
}

/* ---- tokens a round ------------------------------------------------------------------------ */

/* (1 - 0.8^(gamma + 1)) / 0.2: 1.8, 2.44, 2.952, 3.3616, 3.68928. */
static void mean_tokens(void **state)
{
    static const double expected[] = { 1.8, 2.44, 2.952, 3.3616, 3.68928 };
    (void)state;
    for (uint32_t g = 1; g <= 5; g++)
        assert_near(spec_tokens(&(struct acceptance){ eight_tenths, 1 }, g).mean, expected[g - 1], 1e-12);
    assert_near(spec_tokens(&(struct acceptance){ (double[]){ 1 }, 1 }, 7).mean, 8, 1e-12);
    assert_near(spec_tokens(&(struct acceptance){ (double[]){ 0 }, 1 }, 7).mean, 1, 1e-12);
}

/* Probability of exactly n tokens in a round. */
static double probability(const struct acceptance *a, uint32_t gamma, uint32_t n)
{
    double all = 1;
    if (n < 1 || n > gamma + 1)
        return 0;
    for (uint32_t j = 1; j < n; j++)
        all *= a->a[j - 1 < a->n ? j - 1 : a->n - 1];
    return n == gamma + 1 ? all : all * (1 - a->a[n - 1 < a->n ? n - 1 : a->n - 1]);
}

/* Of the distribution itself; for one drafted token n is 1 or 2: variance a (1 - a). */
static void variance_of_the_distribution(void **state)
{
    static const double a[] = { 0.9, 0.5, 0.7 };
    const struct acceptance acc = { a, 3 };
    (void)state;
    assert_near(spec_tokens(&acc, 1).variance, 0.09, 1e-12);
    for (uint32_t g = 1; g <= 8; g++) {
        double all = 0, mean = 0, square = 0;
        for (uint32_t n = 0; n <= g + 2; n++) {
            const double p = probability(&acc, g, n);
            all += p;
            mean += n * p;
            square += (double)n * n * p;
        }
        assert_near(all, 1, 1e-12);
        assert_near(spec_tokens(&acc, g).mean, mean, 1e-12);
        assert_near(spec_tokens(&acc, g).variance, square - mean * mean, 1e-10);
    }
    assert_near(probability(&acc, 2, 1), 0.1, 1e-12); /* 1 - 0.9; 0.9 * 0.5; 0.9 * 0.5 */
    assert_near(probability(&acc, 2, 2), 0.45, 1e-12);
    assert_near(probability(&acc, 2, 3), 0.45, 1e-12);
}

static uint32_t draw(struct rng *r, const struct acceptance *a, uint32_t gamma)
{
    uint32_t n = 1;
    while (n <= gamma && (double)(rng_u64(r) >> 11) * 0x1p-53 < a->a[n - 1 < a->n ? n - 1 : a->n - 1])
        n++;
    return n;
}

/* 200,000 rounds: three standard errors of the mean are 3 sd / 447. */
static void simulated_rounds(void **state)
{
    static const double a[] = { 0.85, 0.7, 0.6 };
    const struct acceptance acc = { a, 3 };
    const struct spec_tokens x = spec_tokens(&acc, 5);
    const int rounds = 200000;
    double sum = 0, square = 0;
    struct rng r;
    (void)state;
    rng_init(&r, 7);
    for (int i = 0; i < rounds; i++) {
        const double n = draw(&r, &acc, 5);
        sum += n;
        square += n * n;
    }
    const double mean = sum / rounds;
    assert_near(mean, x.mean, 3 * sqrt(x.variance / rounds));
    assert_near(square / rounds - mean * mean, x.variance, 0.02 * x.variance);
}

static void same_chance_everywhere(void **state)
{
    static const double many[] = { 0.8, 0.8, 0.8, 0.8, 0.8, 0.8 };
    (void)state;
    for (uint32_t g = 1; g <= 9; g++) {
        const struct spec_tokens one = spec_tokens(&(struct acceptance){ eight_tenths, 1 }, g);
        const struct spec_tokens list = spec_tokens(&(struct acceptance){ many, 6 }, g);
        assert_near(one.mean, list.mean, 1e-12);
        assert_near(one.variance, list.variance, 1e-12);
    }
}

/* Where a verification takes what a step takes: (1 - a^(g + 1)) / ((1 - a) (g c + 1)), c a draft step over a step. */
static void gain_of_leviathan(void **state)
{
    (void)state;
    for (uint32_t g = 1; g <= 7; g++)
        for (double c = 0; c < 0.5; c += 0.1) {
            const double mean = spec_tokens(&(struct acceptance){ eight_tenths, 1 }, g).mean;
            assert_near(spec_gain(mean, 3, g * c * 3, 3), (1 - pow(0.8, g + 1)) / (0.2 * (g * c + 1)), 1e-12);
        }
}

/* ---- rounds ------------------------------------------------------------------------------------ */

/*
 * Two layers and a draft model of one, gamma 3, everything memory-bound. A step: 2 * 82432 + 33024 + 128 = 198016 bytes;
 * the verification of four tokens: three rows of the table more, 198400; a draft step 82432 + 33024 + 128 = 115584.
 * Of 0.512 of the rounds the next one's first draft pass computes the last draft too, a row of the table more: 65.536 bytes a round.
 * 2.952 tokens a round of 3 * 115584 + 65.536 + 198400 = 545217.536 bytes: gain 2.952 * 198016 / 545217.536 = 1.07213.
 * FLOP a token: matrices 2 (2 * 40960 + 16384) = 196608, of the draft 114688, without the head 81920.
 */
static void dense_at_batch_1(void **state)
{
    struct model m = dense(2), small = dense(1);
    const struct hwprofile h = machine(1e15);
    struct predict_options o = options();
    struct spec_options s = drafts(SPEC_MODEL, 3);
    struct predict_result r;
    (void)state;
    static struct predict_roles of;
    s.draft = &small;
    o.roles = &of;
    const struct speculation x = ask(&r, &m, &h, &o, &s);
    assert_near(x.draft_s, (3 * 115584 + 65.536) * 1e-6, 1e-12);
    assert_near(x.verify_s, 198400e-6, 1e-12);
    assert_near(x.round_s, 545217.536e-6, 1e-12);
    assert_near(x.gain, 2.952 * 198016 / 545217.536, 1e-9);
    assert_near(x.flop_factor, (3 * 114688 + 0.512 * 81920 + 4 * 196608) / (2.952 * 196608), 1e-9);
    /* Of a token: the round over 2.952. */
    assert_near(r.itl_s, 545217.536e-6 / 2.952, 1e-9);
    assert_near(r.decode.tok_s, 2.952 / 545217.536e-6, 1e-6);
    assert_near(r.decode.cost.weight_bytes, 545217.536 / 2.952, 1e-6);
    double roles = 0;
    for (int i = 0; i < ROLE_COUNT; i++)
        roles += r.decode.role[i].seconds;
    assert_near(roles, r.decode.seconds, 1e-9);
    model_free(&m);
    model_free(&small);
}

/*
 * Without the cost of drafts. Dense: 2.952 * 198016 / 198400. Experts: the two layers share the router, attention and
 * norms, and each expert has 3 * 64 * 128 * 2 = 49152 bytes; one token reads 2 of 8, four 8 (1 - 0.75^4) = 5.46875.
 * A layer without its experts: 4 * 64 * 64 * 2 + 512 + router 8 * 64 * 4 = 35328 bytes. A step 2 (35328 + 2 * 49152) +
 * 33024 + 128 = 300416, a verification 2 (35328 + 5.46875 * 49152) + 33024 + 512 = 641792.
 */
static void experts_gain_less(void **state)
{
    struct model m = dense(2), e = mixture();
    const struct hwprofile h = machine(1e15);
    const struct predict_options o = options();
    const struct spec_options s = drafts(SPEC_NGRAM, 3);
    struct predict_result r;
    (void)state;
    const struct speculation plain = ask(&r, &m, &h, &o, &s), experts = ask(&r, &e, &h, &o, &s);
    assert_near(plain.gain, 2.952 * 198016 / 198400, 1e-9);
    assert_near(experts.verify_s, 641792e-6, 1e-12);
    assert_near(experts.gain, 2.952 * 300416 / 641792, 1e-9);
    assert_true(experts.gain < plain.gain / 2);
    model_free(&m);
    model_free(&e);
}

/* 4096 sequences: seconds are those of the FLOP, 4 times as many for 2.952 times the tokens. The table's rows, which cost
 * bytes alone, are 4096 * 128 a token against 1e6 * 4096 * 196608 / 1e9: 0.07 %. Even the best gamma loses, the smallest least. */
static void large_batch_loses(void **state)
{
    struct model m = dense(2);
    const struct hwprofile h = machine(1e9);
    struct predict_options o = options();
    const struct spec_options s = drafts(SPEC_NGRAM, 3);
    struct predict_result r;
    (void)state;
    o.n_batch = 4096;
    const struct speculation x = ask(&r, &m, &h, &o, &s);
    assert_near(x.gain, 2.952 / 4, 1e-2);
    assert_int_equal(x.best_gamma, 1);
    assert_true(x.best_gain < 1);
    model_free(&m);
}

/* The chosen gamma is the best of all, tried one by one; with twelve layers over one, more than a token pays. */
static void best_of_all(void **state)
{
    struct model m = dense(12), small = dense(1);
    const struct hwprofile h = machine(1e15);
    const struct predict_options o = options();
    struct spec_options s = drafts(SPEC_MODEL, 3);
    struct predict_result r;
    uint32_t best = 0;
    double gain = 0;
    (void)state;
    s.draft = &small;
    const struct speculation x = ask(&r, &m, &h, &o, &s);
    for (s.gamma = 1; s.gamma <= SPEC_BEST_GAMMA; s.gamma++) {
        const struct speculation y = ask(&r, &m, &h, &o, &s);
        if (y.gain > gain) {
            gain = y.gain;
            best = s.gamma;
        }
    }
    assert_int_equal(x.best_gamma, best);
    assert_near(x.best_gain, gain, 1e-12);
    assert_true(best > 1);
    model_free(&m);
    model_free(&small);
}

/*
 * One layer more and the projection of [64, 128] F16 after two norms: 82432 + 16384 + 512 bytes of its own; a drafted token
 * reads them, a row of the table, the last norm and the head: 99328 + 128 + 33024 = 132480. The cache holds 2 * 64 * 2 bytes
 * a layer and position, of three layers, of 10 generated and 2 drafted positions.
 */
static void mtp_layer(void **state)
{
    struct model m = dense(2);
    const struct hwprofile h = machine(1e15);
    struct predict_options o = options();
    const struct spec_options s = drafts(SPEC_MTP, 2);
    struct predict_result r;
    (void)state;
    o.n_gen = 10;
    const struct speculation x = ask(&r, &m, &h, &o, &s);
    assert_near(x.draft_s, 2 * 132480e-6 + 1.44 * 128e-6, 1e-12); /* the first of 1 + 0.8 + 0.64 tokens: 1.44 more rows of the table */
    assert_near(r.weight_total_bytes, (double)m.weight_bytes + 99328, 1e-6);
    assert_near(r.kv_total_bytes, 3 * 256 * 12, 1e-6);
    assert_int_equal(r.fits, 1);
    model_free(&m);
    m = with_mtp(); /* its tensors are not of the model's pass, so they count here, too */
    assert_int_equal(m.hp.n_layer_nextn, 1);
    (void)ask(&r, &m, &h, &o, &s);
    assert_near(r.weight_total_bytes, (double)m.weight_bytes + 99328, 1e-6);
    model_free(&m);
}

/* Keys of the new tokens: a round in the middle of a generation of 11 from position 1000 begins at 1005; its 4 tokens read
 * 1009 positions of K and V once, 256 bytes a layer, and write 4. */
static void verification_attends(void **state)
{
    struct model m = dense(2);
    const struct hwprofile h = machine(1e15);
    struct predict_options o = options();
    const struct spec_options s = drafts(SPEC_NGRAM, 3);
    struct predict_result r;
    (void)state;
    o.weights_only = false;
    o.n_depth = 1000;
    o.n_gen = 11;
    (void)ask(&r, &m, &h, &o, &s);
    assert_near(r.decode.cost.kv_bytes * 2.952, 2 * 256 * (1009 + 4), 1e-6);
    o.n_gen = 12; /* begins at 1005.5 */
    (void)ask(&r, &m, &h, &o, &s);
    assert_near(r.decode.cost.kv_bytes * 2.952, 2 * 256 * (1009.5 + 4), 1e-6);
    model_free(&m);
}

/* Drafting on the host: what it takes is part of each round, and of no op. */
static void host_time(void **state)
{
    struct model m = dense(2);
    const struct hwprofile h = machine(1e15);
    const struct predict_options o = options();
    struct spec_options s = drafts(SPEC_NGRAM, 3);
    struct predict_result r;
    (void)state;
    s.host_s = 0.1;
    const struct speculation x = ask(&r, &m, &h, &o, &s);
    assert_near(x.draft_s, 0.1, 1e-12);
    assert_near(x.round_s, 0.1 + 198400e-6, 1e-12);
    assert_near(r.itl_s, (0.1 + 198400e-6) / 2.952, 1e-12);
    model_free(&m);
}

/*
 * Of 1 token, a round gives 1, whatever was drafted: gain 198016 / 198400 < 1. Of 2: 1 + 0.8 = 1.8, as with one drafted
 * token; variance 0.8 * 0.2. Of 4 all that gamma 3 can, 2.952; of 3, 1 + 0.8 + 0.64 = 2.44.
 */
static void short_generations(void **state)
{
    static const double tokens[] = { 1, 1.8, 2.44, 2.952, 2.952 };
    struct model m = dense(2);
    const struct hwprofile h = machine(1e15);
    struct predict_options o = options();
    const struct spec_options s = drafts(SPEC_NGRAM, 3);
    struct predict_result r;
    (void)state;
    for (uint32_t n = 1; n <= ARRAY_LEN(tokens); n++) {
        o.n_gen = n;
        const struct speculation x = ask(&r, &m, &h, &o, &s);
        assert_near(x.tokens.mean, tokens[n - 1], 1e-12);
        assert_near(x.gain, tokens[n - 1] * 198016 / 198400, 1e-9);
        assert_near(r.itl_s, 198400e-6 / tokens[n - 1], 1e-9);
        if (n <= 2)
            assert_near(x.tokens.variance, n == 1 ? 0 : 0.16, 1e-12);
        if (n == 1) /* every drafted token costs a row of the table: 198144 with one */
            assert_near(x.best_gain, 198016.0 / 198144, 1e-9);
        if (n == 1)
            assert_int_equal(x.best_gamma, 1);
    }
    model_free(&m);
}

static unsigned one_case(const struct time_features *f)
{
    (void)f;
    return 0;
}

/* Half the bandwidth for a model of one layer, nine tenths for others. */
static int by_layers(const void *context, const struct hwprofile *h, const struct model *m, uint64_t cases, struct timing *out,
                     struct error *err)
{
    (void)context, (void)h;
    if (timing_alloc(out, cases, err) != 0)
        return -1;
    out->stack = "test";
    out->basis = TIME_BY_CLASS;
    out->which = one_case;
    *out->of[0] = (struct time_constants){ .sigma = 0.05, .widen = 1, .widen_fast = 1 };
    for (int i = 0; i < TIME_PARAMETER_COUNT; i++)
        out->of[0]->parameter[i] = -40;
    out->of[0]->parameter[TIME_BANDWIDTH] = log(m->hp.n_layer == 1 ? 0.5 : 0.9);
    out->of[0]->parameter[TIME_COMPUTE] = out->of[0]->parameter[TIME_REQUEST] = 0;
    return 0;
}

/* Each model has its constants: drafting takes what the draft model takes by itself. */
static void constants_of_both(void **state)
{
    struct model m = dense(2), small = dense(1);
    const struct hwprofile h = machine(1e15);
    const struct time_source t = { NULL, by_layers, NULL, NULL, NULL };
    struct predict_options o = options();
    struct spec_options s = drafts(SPEC_MODEL, 3);
    struct predict_result r, alone;
    struct error err = { 0 };
    (void)state;
    s.draft = &small;
    o.roof = false;
    o.time = &t;
    const struct speculation x = ask(&r, &m, &h, &o, &s);
    assert_ok(predict(&alone, &small, &h, &o, &err), err);
    assert_near(x.draft_s, 3 * alone.itl_s, 1e-3 * x.draft_s); /* and a row of the table in 0.512 of the rounds */
    o.n_prompt = 1;
    (void)ask(&r, &m, &h, &o, &s);
    const double both = r.ttft_s;
    assert_ok(predict(&alone, &small, &h, &o, &err), err);
    assert_ok(predict(&r, &m, &h, &o, &err), err);
    assert_near(both, r.ttft_s + alone.ttft_s, 1e-9 * both);
    model_free(&m);
    model_free(&small);
}

/* A prompt of one token is one more step for the draft model too: 198016 + 115584 bytes. */
static void prompt_of_both(void **state)
{
    struct model m = dense(2), small = dense(1);
    const struct hwprofile h = machine(1e15);
    struct predict_options o = options();
    struct spec_options s = drafts(SPEC_MODEL, 3);
    struct predict_result r;
    (void)state;
    s.draft = &small;
    o.n_prompt = 1;
    (void)ask(&r, &m, &h, &o, &s);
    assert_near(r.ttft_s, 313600e-6, 1e-12);
    model_free(&m);
    model_free(&small);
}

/* Tokens/s of 4 sequences over 1000 tokens each, 2000 times: rounds until the last has them are not counted, the mean rate
 * of rounds is. The spread is that of the formula within 5 %, three standard errors of a standard deviation. */
static void spread_of_the_rate(void **state)
{
    struct model m = dense(2);
    const struct hwprofile h = machine(1e15);
    struct predict_options o = options();
    const struct spec_options s = drafts(SPEC_NGRAM, 3);
    struct predict_result r;
    enum { TIMES = 2000 };
    double sum = 0, square = 0;
    struct rng rng;
    (void)state;
    o.n_gen = 1000;
    o.n_batch = 4;
    const struct speculation x = ask(&r, &m, &h, &o, &s);
    rng_init(&rng, 11);
    for (int i = 0; i < TIMES; i++) {
        double rate = 0;
        for (uint32_t q = 0; q < o.n_batch; q++) {
            uint32_t n = 0, rounds = 0;
            for (; n < o.n_gen; rounds++)
                n += draw(&rng, &s.acceptance, 3);
            rate += n / (rounds * x.round_s);
        }
        sum += rate;
        square += rate * rate;
    }
    const double mean = sum / TIMES, sd = sqrt(square / TIMES - mean * mean);
    assert_near(mean, r.decode.tok_s, 0.002 * mean);
    assert_near(sd, x.tok_s_sd, 0.05 * sd);
    model_free(&m);
}

/* Five heads are not divided by 4: every device then has the whole draft model, the target its quarter. */
static void draft_on_every_device(void **state)
{
    struct model m = dense(2), small = from_config("{\"model_type\": \"llama\", \"num_hidden_layers\": 1, "
                                                   "\"intermediate_size\": 128, \"hidden_size\": 80, "
                                                   "\"num_attention_heads\": 5, \"vocab_size\": 256, "
                                                   "\"max_position_embeddings\": 65536, \"rms_norm_eps\": 1e-5}",
                                                   "F16");
    struct op_list ops;
    struct op_classes l;
    struct drafter d;
    struct error err = { 0 };
    const struct step_options o = { .cost = { .act_elem_bytes = 2, .type_k = DTYPE_F16, .type_v = DTYPE_F16 }, .layout = { .tp = 4 } };
    struct spec_options s = drafts(SPEC_MODEL, 3);
    (void)state;
    s.draft = &small;
    assert_ok(op_list_build(&ops, &m, &err), err);
    assert_ok(op_classes_init(&l, &m, &ops, &err), err);
    assert_ok(drafter_init(&d, &s, &l, &o, 100, 512, &err), err);
    assert_int_equal(d.layout.tp, 1);
    assert_near(d.weight_bytes, (double)small.weight_bytes, 1e-6);
    drafter_free(&d);
    s.draft = &m; /* whose 4 heads are */
    assert_ok(drafter_init(&d, &s, &l, &o, 100, 512, &err), err);
    assert_int_equal(d.layout.tp, 4);
    drafter_free(&d);
    op_classes_free(&l);
    op_list_free(&ops);
    model_free(&m);
    model_free(&small);
}

static void refuse(const struct model *m, struct predict_options o, struct spec_options s, const char *message)
{
    const struct hwprofile h = machine(1e15);
    struct speculation x;
    struct predict_result r;
    struct error err = { 0 };
    assert_int_equal(speculate(&x, &r, m, &h, &o, &s, &err), -1);
    assert_non_null(strstr(err.msg, message));
}

static void refused(void **state)
{
    struct model m = dense(2), other = from_config("{\"model_type\": \"llama\", \"num_hidden_layers\": 1, "
                                                   "\"intermediate_size\": 128, \"hidden_size\": 64, "
                                                   "\"num_attention_heads\": 4, \"vocab_size\": 320, "
                                                   "\"max_position_embeddings\": 65536, \"rms_norm_eps\": 1e-5}",
                                                   "F16");
    struct spec_options s = drafts(SPEC_NGRAM, 3);
    struct predict_options o = options();
    (void)state;
    refuse(&m, o, drafts(SPEC_NGRAM, 0), "0 drafted tokens");
    refuse(&m, o, drafts(SPEC_NGRAM, 65), "expected 1 to 64");
    s.acceptance.a = (double[]){ 1.5 };
    refuse(&m, o, s, "acceptance of 1.5");
    s.acceptance.a = (double[]){ NAN };
    refuse(&m, o, s, "acceptance of");
    s.acceptance.n = 0;
    refuse(&m, o, s, "without an acceptance");
    s = drafts(SPEC_MODEL, 3);
    refuse(&m, o, s, "no draft model");
    s.draft = &other;
    refuse(&m, o, s, "vocabulary of 320 tokens, test one of 256");
    s = drafts(SPEC_NGRAM, 3);
    o.layout.pp = 2;
    refuse(&m, o, s, "pp 2 with drafts");
    o = options();
    o.n_gen = 0;
    o.n_prompt = 3;
    refuse(&m, o, s, "no tokens to generate");
    o = options();
    o.weights_bytes = 1e9;
    refuse(&m, o, s, "nominal");
    o = options();
    o.n_batch = 1u << 30;
    refuse(&m, o, s, "too many for a pass");
    model_free(&m);
    model_free(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_tokens),
        cmocka_unit_test(variance_of_the_distribution),
        cmocka_unit_test(simulated_rounds),
        cmocka_unit_test(same_chance_everywhere),
        cmocka_unit_test(gain_of_leviathan),
        cmocka_unit_test(dense_at_batch_1),
        cmocka_unit_test(experts_gain_less),
        cmocka_unit_test(large_batch_loses),
        cmocka_unit_test(best_of_all),
        cmocka_unit_test(mtp_layer),
        cmocka_unit_test(verification_attends),
        cmocka_unit_test(host_time),
        cmocka_unit_test(short_generations),
        cmocka_unit_test(prompt_of_both),
        cmocka_unit_test(constants_of_both),
        cmocka_unit_test(spread_of_the_rate),
        cmocka_unit_test(draft_on_every_device),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
