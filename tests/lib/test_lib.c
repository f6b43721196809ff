/* The public boundary: handles, options of older and newer callers, errors, messages, and that its numbers are the modules'. */
#include "tests/lib/handles.h"
#include <math.h>
#include <pthread.h>
#include <unistd.h>

static struct roofcast_model *fixture(void)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/tests/fixtures/llama-2l.gguf", data_dirs()[0]);
    return model(path, NULL);
}

static void test_errors(void **state)
{
    (void)state;
    refuses(roofcast_model_load("lama-3.1-8b", NULL, &err), ROOFCAST_ERROR_INPUT, "llama-3.1-8b");
    refuses(roofcast_model_load("/nonexistent/x.gguf", NULL, &err), ROOFCAST_ERROR_INPUT, "/nonexistent/x.gguf");
    refuses(roofcast_machine_load("/nonexistent/x.json", &err), ROOFCAST_ERROR_INPUT, "/nonexistent/x.json");
    refuses(roofcast_data_load("/nonexistent/x.csv", &err), ROOFCAST_ERROR_INPUT, "/nonexistent/x.csv");
    assert_null(roofcast_model_load("lama-3.1-8b", NULL, NULL));
    assert_string_equal(roofcast_error_name(ROOFCAST_ERROR_INPUT), "input");
    roofcast_model_free(NULL);
    roofcast_machine_free(NULL);
    roofcast_prediction_free(NULL);
    roofcast_software_free(NULL);
    roofcast_explanation_free(NULL);
    roofcast_engine_free(NULL);
    roofcast_tokenizer_free(NULL);
    roofcast_bench_free(NULL);
    roofcast_data_free(NULL);
}

static void test_data_dirs(void **state)
{
    const char *many[9] = { "a", "b", "c", "d", "e", "f", "g", "h", "i" };
    char first[] = "/a";
    const char *two[] = { first, "/b" };
    (void)state;
    assert_int_equal(roofcast_set_data_dirs(two, 2, &err), 0);
    first[1] = 'x'; /* it was copied */
    assert_string_equal(roofcast_data_dir(0), "/a");
    assert_string_equal(roofcast_data_dir(1), "/b");
    assert_null(roofcast_data_dir(2));
    refuses(roofcast_set_data_dirs(many, 9, &err) == 0, ROOFCAST_ERROR_USAGE, "at most 8");
    assert_string_equal(roofcast_data_dir(0), "/a");
    assert_int_equal(roofcast_set_data_dirs(NULL, 0, &err), 0);
    assert_string_equal(roofcast_data_dir(0), PKGDATADIR);
    assert_int_equal(use_tree(NULL), 0);
}

static void test_names(void **state)
{
    char **names;
    size_t n;
    bool found = false;
    (void)state;
    assert_int_equal(roofcast_model_names(&names, &n, &err), 0);
    for (size_t i = 0; i < n; i++)
        found |= strcmp(names[i], "llama-3.1-8b") == 0;
    assert_true(found);
    roofcast_names_free(names, n);
    assert_int_equal(roofcast_machine_names(&names, &n, &err), 0);
    assert_true(n > 10);
    roofcast_names_free(names, n);
}

static void test_model(void **state)
{
    struct roofcast_model *m = model("llama-3.1-8b", "Q4_K_M");
    const struct roofcast_model_info *i = roofcast_model_info(m);
    uint64_t bytes = 0;
    (void)state;
    assert_string_equal(i->arch, "llama");
    assert_string_equal(i->type, "Q4_K_M");
    assert_int_equal(i->n_layer, 32);
    assert_int_equal(i->n_embd, 4096);
    assert_false(i->has_weights);
    assert_true(i->executable);
    for (size_t k = 0; k < roofcast_model_n_tensor(m); k++)
        bytes += roofcast_model_tensor(m, k)->bytes;
    assert_int_equal(bytes, i->weight_bytes);
    assert_null(roofcast_model_tensor(m, roofcast_model_n_tensor(m)));
    assert_null(roofcast_model_op(m, roofcast_model_n_op(m)));
    const struct roofcast_op *head = roofcast_model_op(m, roofcast_model_n_op(m) - 1);
    assert_string_equal(head->kind, "matmul");
    assert_string_equal(head->role, "lm_head");
    assert_string_equal(head->tensor, "output.weight");
    assert_int_equal(head->layer, -1);
    assert_int_equal(head->rows, i->n_vocab);
    assert_int_equal(head->cols, i->n_embd);
    roofcast_model_free(m);
}

static void test_machine(void **state)
{
    struct roofcast_machine *h = machine("NVIDIA RTX 4090");
    const struct roofcast_machine_info *i = roofcast_machine_info(h);
    const char *source;
    (void)state;
    assert_string_equal(i->id, "rtx-4090");
    assert_string_equal(i->kind, "gpu");
    assert_true(i->bandwidth_bytes_s > 1e12 && i->bandwidth_bytes_s < 1.02e12);
    assert_true(roofcast_machine_peak_flop_s(h, "fp16", &source) > 1e14);
    assert_true(source[0]);
    assert_true(isnan(roofcast_machine_peak_flop_s(h, "fp128", NULL)));
    assert_null(roofcast_machine_ceiling(h, i->n_ceiling));
    assert_true(roofcast_attainable_flop_s(2, 100, 10) == 20 && roofcast_attainable_flop_s(20, 100, 10) == 100);
    roofcast_machine_free(h);
    must(h = roofcast_machine_host(&err));
    assert_string_equal(roofcast_machine_info(h)->kind, "cpu");
    assert_true(roofcast_machine_info(h)->n_pus >= 1);
    roofcast_machine_free(h);
}

/* A decode step's ops by themselves, and together as a pass, a phase, and a phase of one step. */
static void test_costs_add_up(void **state)
{
    struct roofcast_model *m = model("qwen3-0.6b", "Q8_0");
    const struct roofcast_pass p = { 2, 100, 2, 2 };
    const struct roofcast_scenario s = { .n_prompt = 64, .n_gen = 1, .n_depth = 100, .n_batch = 2, .n_ubatch = INT32_MAX };
    struct roofcast_cost_options o;
    struct roofcast_cost one, pass, phase;
    double flop = 0, bytes = 0, kv8, kv16;
    (void)state;
    for (size_t i = 0; i < roofcast_model_n_op(m); i++) {
        must(roofcast_cost_op(m, i, &p, NULL, &one, &err) == 0);
        flop += one.flop;
        bytes += roofcast_cost_bytes(&one);
    }
    must(roofcast_cost_pass(m, &p, NULL, &pass, &err) == 0);
    assert_true(flop == pass.flop && bytes == roofcast_cost_bytes(&pass));
    assert_true(roofcast_cost_ai(&pass) == flop / bytes);
    must(roofcast_cost_decode(m, &s, NULL, &phase, &err) == 0);
    assert_true(phase.flop == pass.flop && phase.weight_bytes == pass.weight_bytes && phase.kv_bytes == pass.kv_bytes);
    must(roofcast_cost_prefill(m, &s, NULL, &phase, &err) == 0);
    assert_true(phase.flop > 20 * pass.flop);
    roofcast_cost_options_init(&o, sizeof o);
    must(roofcast_cost_kv_bytes(m, 1000, 512, &o, &kv16, &err) == 0);
    o.type_k = o.type_v = "Q8_0";
    must(roofcast_cost_kv_bytes(m, 1000, 512, &o, &kv8, &err) == 0);
    assert_true(fabs(kv8 / kv16 - 34.0 / 64) < 1e-9);
    o.type_k = "Q9";
    refuses(roofcast_cost_pass(m, &p, &o, &pass, &err) == 0, ROOFCAST_ERROR_USAGE, "Q9");
    refuses(roofcast_cost_op(m, roofcast_model_n_op(m), &p, NULL, &pass, &err) == 0, ROOFCAST_ERROR_USAGE, "no op");
    refuses(roofcast_cost_pass(m, &(struct roofcast_pass){ 3, 0, 2, 1 }, NULL, &pass, &err) == 0, ROOFCAST_ERROR_USAGE, "a pass of 3 tokens");
    roofcast_model_free(m);
}

/* What a program built against another version of the header passes. */
static void test_options_of_other_versions(void **state)
{
    struct roofcast_model *m = model("llama-3.1-8b", "Q4_K_M");
    struct roofcast_machine *h = machine("rtx-4090");
    const size_t old_size = offsetof(struct roofcast_predict_options, n_ubatch);
    struct {
        struct roofcast_predict_options o;
        uint64_t later;
    } newer = { .later = 7 };
    struct roofcast_predict_options o, old;
    struct roofcast_prediction *p, *q;
    (void)state;
    roofcast_predict_options_init(&o, sizeof o);
    assert_int_equal(o.size, sizeof o);
    assert_int_equal(o.n_prompt, 512);
    o.n_batch = 4;
    must(p = roofcast_predict(m, h, &o, &err));

    memset(&old, 0xff, sizeof old); /* beyond an older struct is other memory of its program */
    roofcast_predict_options_init(&old, old_size);
    assert_true(old.stack == (const char *)UINTPTR_MAX);
    old.n_batch = 4;
    must(q = roofcast_predict(m, h, &old, &err));
    assert_true(p->decode->seconds == q->decode->seconds && p->prefill->seconds == q->prefill->seconds);
    roofcast_prediction_free(q);

    roofcast_predict_options_init(&newer.o, sizeof newer);
    assert_int_equal(newer.later, 0);
    newer.o.n_batch = 4;
    must(q = roofcast_predict(m, h, &newer.o, &err));
    assert_true(p->decode->seconds == q->decode->seconds);
    roofcast_prediction_free(q);

    old = (struct roofcast_predict_options){ .n_prompt = 1 };
    refuses(roofcast_predict(m, h, &old, &err), ROOFCAST_ERROR_USAGE, "options_init");
    roofcast_prediction_free(p);
    roofcast_machine_free(h);
    roofcast_model_free(m);
}

static void test_predictions(void **state)
{
    struct roofcast_model *m = model("llama-3.1-8b", "Q4_K_M");
    struct roofcast_machine *h = machine("rtx-4090");
    struct roofcast_predict_options o;
    struct roofcast_prediction *p, *bound;
    (void)state;
    must(p = roofcast_predict(m, h, NULL, &err));
    assert_string_equal(p->stack, "llama.cpp-cuda");
    const struct roofcast_phase *d = p->decode;
    assert_true(d->tok_s_low < d->tok_s && d->tok_s < d->tok_s_high && d->seconds_low < d->seconds && d->seconds < d->seconds_high);
    assert_true(fabs(d->tok_s_high * d->seconds_low / (d->tok_s * d->seconds) - 1) < 1e-12);
    assert_true(fabs(d->tok_s_low * d->seconds_high / (d->tok_s * d->seconds) - 1) < 1e-12);
    assert_int_equal(d->bound, ROOFCAST_BOUND_MEMORY);
    assert_string_equal(roofcast_bound_name(d->bound), "memory");
    assert_true(p->ttft_s == p->prefill->seconds && p->itl_s == d->seconds);
    assert_int_equal(p->fits, 1);
    roofcast_predict_options_init(&o, sizeof o);
    o.roof = 1;
    must(bound = roofcast_predict(m, h, &o, &err));
    assert_true(bound->decode->tok_s > d->tok_s && bound->prefill->tok_s > p->prefill->tok_s);
    assert_true(isnan(bound->decode->tok_s_low));
    assert_string_equal(bound->stack, "");
    roofcast_prediction_free(bound);
    o.roof = 0;
    o.n_prompt = 0;
    must(bound = roofcast_predict(m, h, &o, &err));
    assert_null(bound->prefill);
    assert_true(bound->decode->seconds == d->seconds);
    roofcast_prediction_free(bound);
    struct roofcast_software *software = roofcast_software_load(NULL, 0, &err);
    must(software);
    o.software = software;
    must(bound = roofcast_predict(m, h, &o, &err));
    assert_true(bound->decode->seconds == d->seconds && bound->decode->seconds_high == d->seconds_high);
    roofcast_prediction_free(bound);
    o.stack = "llama.cpp-vulkan";
    refuses(roofcast_predict(m, h, &o, &err), ROOFCAST_ERROR_USAGE, "both");
    o.software = NULL;
    roofcast_software_free(software);
    must(software = roofcast_software_load("llama.cpp-vulkan", 0, &err));
    must(bound = roofcast_predict(m, h, &o, &err));
    const double vulkan_s = bound->decode->seconds;
    assert_true(vulkan_s != d->seconds);
    roofcast_prediction_free(bound);
    o.stack = NULL;
    o.software = software;
    must(bound = roofcast_predict(m, h, &o, &err));
    assert_string_equal(bound->stack, "llama.cpp-vulkan");
    assert_true(bound->decode->seconds == vulkan_s);
    roofcast_prediction_free(bound);
    o.software = NULL;
    roofcast_software_free(software);
    refuses(roofcast_software_load("llama.cpp-cud", 0, &err), ROOFCAST_ERROR_USAGE, "llama.cpp-cuda");
    refuses(roofcast_software_load("vllm", 1, &err), ROOFCAST_ERROR_USAGE, "FlashAttention");
    o.stack = "llama.cpp-cud";
    refuses(roofcast_predict(m, h, &o, &err), ROOFCAST_ERROR_USAGE, "llama.cpp-cuda");
    o.stack = NULL;
    o.n_gen = 0;
    refuses(roofcast_predict(m, h, &o, &err), ROOFCAST_ERROR_USAGE, "neither a prompt nor a generation");
    o.n_gen = 1;
    o.tp = 0;
    refuses(roofcast_predict(m, h, &o, &err), ROOFCAST_ERROR_USAGE, "tp");
    o.tp = 3;
    refuses(roofcast_predict(m, h, &o, &err), ROOFCAST_ERROR_USAGE, "does not divide 32 heads");
    o.tp = 1;
    o.n_threads = UINT32_MAX;
    refuses(roofcast_predict(m, h, &o, &err), ROOFCAST_ERROR_USAGE, "n_threads");
    roofcast_machine_free(h); /* neither is needed by what was made of them */
    roofcast_model_free(m);
    assert_true(p->prefill->cost.flop > 1e12 && p->prefill->bandwidth_source[0]);
    roofcast_prediction_free(p);
}

static void test_explanations(void **state)
{
    struct roofcast_model *m = model("llama-3.1-8b", "Q4_K_M");
    struct roofcast_machine *h = machine("rtx-4090");
    struct roofcast_predict_options o;
    struct roofcast_prediction *p;
    struct roofcast_explanation *x;
    double seconds = 0, share = 0;
    (void)state;
    must(p = roofcast_predict(m, h, NULL, &err));
    must(x = roofcast_explain(m, h, NULL, ROOFCAST_DECODE, &err));
    assert_true(roofcast_explanation_seconds(x) == p->decode->seconds);
    for (size_t i = 0; i < roofcast_explanation_n_op(x); i++)
        seconds += roofcast_explanation_op(x, i)->seconds;
    assert_true(seconds > 0.5 * p->decode->seconds && seconds < 2 * p->decode->seconds);
    assert_true(roofcast_explanation_n_constant(x) > 3);
    for (size_t i = 0; i < roofcast_explanation_n_constant(x); i++) {
        const double s = roofcast_explanation_constant(x, i)->share;
        share += isnan(s) ? 0 : s;
    }
    assert_true(fabs(share - 1) < 0.01);
    assert_null(roofcast_explanation_op(x, roofcast_explanation_n_op(x)));
    roofcast_explanation_free(x);
    refuses(roofcast_explain(m, h, NULL, 2, &err), ROOFCAST_ERROR_USAGE, "phase");
    roofcast_predict_options_init(&o, sizeof o);
    o.n_prompt = 0;
    refuses(roofcast_explain(m, h, &o, ROOFCAST_PREFILL, &err), ROOFCAST_ERROR_USAGE, "n_prompt");
    must(x = roofcast_explain(m, h, &o, ROOFCAST_DECODE, &err));
    roofcast_explanation_free(x);
    roofcast_prediction_free(p);
    roofcast_machine_free(h);
    roofcast_model_free(m);
}

struct shared {
    const struct roofcast_model *m;
    const struct roofcast_machine *h;
    double seconds;
};

static void *predict_many(void *arg)
{
    struct shared *s = arg;
    for (int i = 0; i < 3; i++) {
        struct roofcast_prediction *p = roofcast_predict(s->m, s->h, NULL, NULL);
        s->seconds = p ? p->decode->seconds : NAN;
        roofcast_prediction_free(p);
    }
    return NULL;
}

static void test_threads_predict_at_once(void **state)
{
    struct roofcast_model *m = model("llama-3.1-8b", "Q4_K_M");
    struct roofcast_machine *h = machine("h100-sxm");
    struct shared s[3] = { { m, h, 0 }, { m, h, 0 }, { m, h, 0 } };
    pthread_t t[3];
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&t[i], NULL, predict_many, &s[i]), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    assert_true(s[0].seconds > 0 && s[0].seconds == s[1].seconds && s[1].seconds == s[2].seconds);
    roofcast_machine_free(h);
    roofcast_model_free(m);
}

static void test_engine(void **state)
{
    struct roofcast_model *m = fixture(), *preset = model("qwen3-0.6b", NULL);
    struct roofcast_tokenizer *t;
    struct roofcast_engine_options o;
    struct roofcast_engine *e;
    struct roofcast_op_sample s;
    struct roofcast_cost cost;
    const float *logits;
    size_t n, len, i;
    double flop = 0;
    (void)state;
    must(t = roofcast_tokenizer_new(m, &err));
    const int32_t *ids = roofcast_tokenizer_encode(t, "one two", 7, 0, &n, &err);
    must(ids);
    assert_true(n >= 1);
    must(roofcast_tokenizer_decode(t, ids[n - 1], &len, &err));
    refuses(roofcast_tokenizer_decode(t, -1, NULL, &err), ROOFCAST_ERROR_INPUT, "token -1");
    roofcast_engine_options_init(&o, sizeof o);
    o.n_threads = 1;
    o.n_ctx = 64;
    must(e = roofcast_engine_new(m, &o, &err));
    assert_int_equal(roofcast_engine_info(e)->n_threads, 1);
    assert_int_equal(roofcast_engine_info(e)->n_vocab, roofcast_model_info(m)->n_vocab);
    refuses(roofcast_engine_eval(e, ids, (uint32_t)n, 1, &logits, &err) == 0, ROOFCAST_ERROR_USAGE, "n_past 1");
    must(roofcast_engine_eval(e, ids, (uint32_t)n, 0, &logits, &err) == 0);
    refuses(roofcast_engine_eval(e, ids, 1, (uint32_t)n + 1, &logits, &err) == 0, ROOFCAST_ERROR_USAGE, "tokens in the KV cache");
    const int32_t next = roofcast_argmax(logits, roofcast_engine_info(e)->n_vocab);
    roofcast_engine_profile(e, 1);
    must(roofcast_engine_eval(e, &next, 1, (uint32_t)n, &logits, &err) == 0);
    for (i = 0; i < roofcast_model_n_op(m); i++) {
        must(roofcast_engine_sample(e, i, &s, &err) == 0);
        flop += s.cost.flop;
    }
    must(roofcast_cost_pass(m, &(struct roofcast_pass){ 1, (uint32_t)n, 1, 1 }, NULL, &cost, &err) == 0);
    assert_true(fabs(flop / cost.flop - 1) < 0.01);
    refuses(roofcast_engine_sample(e, i, &s, &err) == 0, ROOFCAST_ERROR_USAGE, "no op");
    refuses(roofcast_engine_eval(e, ids, 64, 1, &logits, &err) == 0, ROOFCAST_ERROR_USAGE, "context of 64 positions");
    const int32_t beyond = (int32_t)roofcast_engine_info(e)->n_vocab;
    refuses(roofcast_engine_eval(e, &beyond, 1, 0, &logits, &err) == 0, ROOFCAST_ERROR_INPUT, "outside the vocabulary");
    refuses(roofcast_engine_new(preset, NULL, &err), ROOFCAST_ERROR_USAGE, "GGUF");
    refuses(roofcast_tokenizer_new(preset, &err), ROOFCAST_ERROR_USAGE, "GGUF");
    o.isa = "no-such-isa";
    refuses(roofcast_engine_new(m, &o, &err), ROOFCAST_ERROR_USAGE, "no-such-isa");
    roofcast_engine_free(e);
    roofcast_tokenizer_free(t);
    roofcast_model_free(preset);
    roofcast_model_free(m);
}

static void test_bench(void **state)
{
    struct roofcast_model *m = fixture();
    struct roofcast_bench_options o;
    struct roofcast_bench *b;
    (void)state;
    roofcast_bench_options_init(&o, sizeof o);
    o.n_prompt = 8;
    o.n_gen = 4;
    o.n_reps = 2;
    o.n_threads = 1;
    o.brief = 1;
    must(b = roofcast_bench_run(m, &o, &err));
    assert_int_equal(roofcast_bench_n_test(b), 2);
    assert_string_equal(roofcast_bench_test(b, 0)->name, "pp8");
    assert_string_equal(roofcast_bench_test(b, 1)->name, "tg4");
    assert_true(roofcast_bench_test(b, 1)->tok_s > 0 && roofcast_bench_test(b, 1)->ceiling_bytes_s > 0);
    assert_null(roofcast_bench_test(b, 2));
    roofcast_bench_free(b);
    o.n_reps = 0;
    refuses(roofcast_bench_run(m, &o, &err), ROOFCAST_ERROR_USAGE, "n_reps");
    roofcast_model_free(m);
}

static void test_data(void **state)
{
    char path[] = "/tmp/roofcast-lib-XXXXXX";
    static const char text[] = "[{\"model_type\": \"llama 8B Q4_K - Medium\", \"gpu_info\": \"NVIDIA GeForce RTX 4090\", \"backends\": \"CUDA\", "
                               "\"n_prompt\": 512, \"n_gen\": 0, \"avg_ts\": 11000.5, \"build_number\": 4000}]";
    const int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0 && write(fd, text, sizeof text - 1) == sizeof text - 1);
    close(fd);
    struct roofcast_data *d = roofcast_data_load(path, &err);
    unlink(path);
    must(d);
    assert_string_equal(roofcast_data_format(d), "llama-bench");
    assert_int_equal(roofcast_data_n_row(d), 1);
    const struct roofcast_data_row *r = roofcast_data_row(d, 0);
    assert_string_equal(r->phase, "prefill");
    assert_string_equal(r->metric, "tok_s");
    assert_true(r->value == 11000.5 && r->n_prompt == 512);
    assert_string_equal(r->stack, "llama.cpp-cuda");
    assert_null(roofcast_data_row(d, 1));
    roofcast_data_free(d);
}

static char said[1024];
static void hear(void *ctx, int kind, const char *text)
{
    *(int *)ctx = kind;
    snprintf(said, sizeof said, "%s", text);
}

static void test_messages(void **state)
{
    int kind = -1;
    (void)state;
    roofcast_set_message_handler(hear, &kind);
    struct roofcast_machine *h = machine("RTX 4095 Ti Super");
    roofcast_set_message_handler(NULL, NULL);
    assert_int_equal(kind, ROOFCAST_NOTE);
    assert_true(strstr(said, "4095"));
    assert_true(roofcast_machine_info(h)->guessed_class[0]);
    roofcast_machine_free(h);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),       cmocka_unit_test(test_data_dirs),
        cmocka_unit_test(test_names),        cmocka_unit_test(test_model),
        cmocka_unit_test(test_machine),      cmocka_unit_test(test_costs_add_up),
        cmocka_unit_test(test_predictions),  cmocka_unit_test(test_options_of_other_versions),
        cmocka_unit_test(test_explanations), cmocka_unit_test(test_threads_predict_at_once),
        cmocka_unit_test(test_engine),       cmocka_unit_test(test_bench),
        cmocka_unit_test(test_data),         cmocka_unit_test(test_messages),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, use_tree, NULL);
}
