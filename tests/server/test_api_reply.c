/* Answers: what a stream's chunks carry, step by step; whole answers; log probabilities; ends of every kind; the page of metrics. */
#include "../test.h"
#include "fake_loop.h"
#include "server/answer.h"
#include "server/json_write.h"
#include "server/metrics_page.h"
#include "tiny_model.h"
#include <jansson.h>
#include <math.h>
#include <unistd.h>

struct fixture {
    struct tiny_model t;
    struct loop *l;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct error err = { 0 };
    const struct loop_options o = tiny_loop_options(1 << 12);
    if (tiny_model_open(&f->t, 4096, &err) != 0)
        fail_msg("%s", err.msg);
    f->l = loop_new(NULL, &o, &err);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    loop_free(f->l);
    tiny_model_close(&f->t);
    free(f);
    return 0;
}

static struct answer *begin(struct fixture *f, enum api_kind kind, const char *body)
{
    const struct api_limits limits = { tokenizer_n_vocab(f->t.tokenizer), f->t.m.max_model_len };
    struct api_request r;
    struct api_error e = { 0 };
    if (api_request_parse(&r, kind, body, strlen(body), &limits, &e) != 0)
        fail_msg("%s: %s", body, e.message);
    struct answer *a = answer_new(&r, &f->t.m, f->l, 5, &e);
    if (!a)
        fail_msg("%s: %s", body, e.message);
    return a;
}

/* All its bytes, in small pieces. */
static char *all_of(struct answer *a, int *status)
{
    struct strbuf b = { 0 };
    char buf[37];
    size_t n;
    enum answer_state s;
    if (!answer_streams(a)) {
        while ((s = answer_complete(a, status, &n, NULL, NULL)) == ANSWER_WAITING)
            usleep(200);
        assert_int_equal(s, ANSWER_BYTES);
    }
    while ((s = answer_read(a, buf, sizeof buf, &n, NULL, NULL)) != ANSWER_END)
        if (s == ANSWER_BYTES)
            strbuf_add(&b, buf, n);
        else if (s == ANSWER_WAITING)
            usleep(200);
        else
            fail_msg("gone");
    answer_free(a);
    return b.s;
}

/* Chunk i of a stream as JSON; NULL past the last, which must be [DONE]. */
static json_t *chunk_at(const char *stream, size_t i)
{
    for (; i > 0; i--) {
        stream = strstr(stream, "\n\n");
        assert_non_null(stream);
        stream += 2;
    }
    assert_true(strncmp(stream, "data: ", 6) == 0);
    const char *end = strstr(stream, "\n\n");
    assert_non_null(end);
    if (strncmp(stream, "data: [DONE]", 12) == 0) {
        assert_string_equal(end, "\n\n");
        return NULL;
    }
    json_error_t e;
    json_t *j = json_loadb(stream + 6, (size_t)(end - stream) - 6, 0, &e);
    if (!j)
        fail_msg("%s in %s", e.text, stream);
    return j;
}

static json_t *choice(json_t *j)
{
    json_t *c = json_object_get(j, "choices");
    assert_int_equal(json_array_size(c), 1);
    return json_array_get(c, 0);
}

/* Texts and finish reasons of the chunks: "a|b|c.length". Chats: "+" before a chunk with the role. */
static void expect_stream(const char *stream, const char *expected)
{
    struct strbuf b = { 0 };
    json_t *j;
    strbuf_adds(&b, "");
    for (size_t i = 0; (j = chunk_at(stream, i)) != NULL; i++) {
        json_t *c = choice(j), *d = json_object_get(c, "delta"), *text = d ? json_object_get(d, "content") : json_object_get(c, "text");
        assert_non_null(json_object_get(j, "id"));
        assert_string_equal(json_string_value(json_object_get(j, "model")), "tiny");
        assert_string_equal(json_string_value(json_object_get(j, "object")), d ? "chat.completion.chunk" : "text_completion");
        assert_true(json_is_string(text));
        strbuf_addf(&b, "%s%s%s", i ? "|" : "", json_object_get(d, "role") ? "+" : "", json_string_value(text));
        if (json_is_string(json_object_get(c, "finish_reason")))
            strbuf_addf(&b, ".%s", json_string_value(json_object_get(c, "finish_reason")));
        assert_int_equal(json_is_string(json_object_get(c, "finish_reason")), json_object_get(j, "timings") != NULL);
        json_decref(j);
    }
    assert_string_equal(b.s, expected);
    strbuf_free(&b);
}

static void stream(struct fixture *f, enum api_kind kind, const char *body, const char *expected)
{
    char *s = all_of(begin(f, kind, body), NULL);
    expect_stream(s, expected);
    free(s);
}

/* Tokens of H, e, l, o: 3 + byte. */
static void test_a_chunk_a_step(void **state)
{
    struct fixture *f = *state;
    stream(f, API_COMPLETION, "{\"prompt\":[75,104,111,114],\"max_tokens\":6,\"stream\":true}", "H|e|l|o|H|e.length");
    stream(f, API_COMPLETION, "{\"prompt\":[75],\"max_tokens\":1,\"stream\":true}", "H.length");
    /* The end token's step has a chunk of its own: the text before it was sent when it was ready. */
    stream(f, API_COMPLETION, "{\"prompt\":[75,104,2],\"max_tokens\":6,\"stream\":true}", "H|e|.stop");
    stream(f, API_COMPLETION, "{\"prompt\":[75,2],\"max_tokens\":3,\"stream\":true,\"ignore_eos\":true}", "H||H.length");
    stream(f, API_COMPLETION, "{\"prompt\":[75,2],\"max_tokens\":3,\"stream\":true,\"ignore_eos\":true,\"skip_special_tokens\":false}", "H|</s>|H.length");
    stream(f, API_COMPLETION, "{\"prompt\":[75,104],\"max_tokens\":9,\"stream\":true,\"stop_token_ids\":[104]}", "H|.stop");
    fake_loop_pace(f->l, 1e-3, 3);
    stream(f, API_COMPLETION, "{\"prompt\":[75,104,111,114],\"max_tokens\":7,\"stream\":true}", "Hel|oHe|l.length");
    fake_loop_pace(f->l, 1e-3, 1);
    /* BOS, which has no text, a space, the characters < and | */
    stream(f, API_CHAT, "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"max_tokens\":4,\"stream\":true}", "+| |<||.length");
}

static void test_stop_texts(void **state)
{
    struct fixture *f = *state;
    /* "l" may begin "lo": its chunk comes with its step, without the text. */
    stream(f, API_COMPLETION, "{\"prompt\":[75,104,111,114],\"max_tokens\":9,\"stream\":true,\"stop\":\"lo\"}", "H|e||.stop");
    stream(f, API_COMPLETION, "{\"prompt\":[75,104,111,75],\"max_tokens\":5,\"stream\":true,\"stop\":[\"zz\",\"lo\"]}", "H|e||lH|H.length");
    /* An end while text is held back. */
    stream(f, API_COMPLETION, "{\"prompt\":[75,111],\"max_tokens\":2,\"stream\":true,\"stop\":\"lo\"}", "H|l.length");
    stream(f, API_COMPLETION, "{\"prompt\":[75,111,2],\"max_tokens\":9,\"stream\":true,\"stop\":\"lo\"}", "H||l.stop");
    /* A stop text that is a control token. */
    stream(f, API_COMPLETION, "{\"prompt\":[75,1,111],\"max_tokens\":9,\"stream\":true,\"stop\":\"<s>\"}", "H|.stop");
    int status;
    char *s = all_of(begin(f, API_COMPLETION, "{\"prompt\":[75,104,111,114],\"max_tokens\":9,\"stop\":\"lo\"}"), &status);
    json_t *j = json_loads(s, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(choice(j), "text")), "He");
    assert_string_equal(json_string_value(json_object_get(choice(j), "stop_reason")), "lo");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "usage"), "completion_tokens")), 4);
    json_decref(j);
    free(s);
    while (!loop_idle(f->l)) /* the sink's word ended it */
        usleep(200);
}

static void test_whole_characters(void **state)
{
    struct fixture *f = *state;
    /* U+20AC: E2 82 AC; a lone first byte at the end is left out; a byte that is no UTF-8 is U+FFFD. */
    stream(f, API_COMPLETION, "{\"prompt\":[229,133,175],\"max_tokens\":4,\"stream\":true}", "||\xE2\x82\xAC|.length");
    stream(f, API_COMPLETION, "{\"prompt\":[258,75],\"max_tokens\":2,\"stream\":true}", "\xEF\xBF\xBD|H.length");
    stream(f, API_COMPLETION, "{\"prompt\":[258,75],\"max_tokens\":2,\"stream\":true,\"stop\":\"\xEF\xBF\xBD\"}", "\xEF\xBF\xBD|H.length");
}

static json_t *parsed(char *s)
{
    json_error_t e;
    json_t *j = json_loads(s, 0, &e);
    if (!j)
        fail_msg("%s: %s", e.text, s);
    free(s);
    return j;
}

static void test_usage_and_timings(void **state)
{
    struct fixture *f = *state;
    int status;
    fake_loop_hit(f->l, 2);
    json_t *j = parsed(all_of(begin(f, API_CHAT, "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"max_tokens\":5}"), &status));
    json_t *u = json_object_get(j, "usage"), *t = json_object_get(j, "timings"), *m = json_object_get(choice(j), "message");
    const json_int_t n_in = json_integer_value(json_object_get(u, "prompt_tokens"));
    assert_int_equal(status, 200);
    assert_string_equal(json_string_value(json_object_get(j, "object")), "chat.completion");
    assert_string_equal(json_string_value(json_object_get(m, "role")), "assistant");
    assert_int_equal(n_in, fake_loop_last(f->l).n_in);
    assert_int_equal(json_integer_value(json_object_get(u, "completion_tokens")), 5);
    assert_int_equal(json_integer_value(json_object_get(u, "total_tokens")), n_in + 5);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(u, "prompt_tokens_details"), "cached_tokens")), 2);
    assert_int_equal(json_integer_value(json_object_get(t, "cache_n")), 2);
    assert_int_equal(json_integer_value(json_object_get(t, "prompt_n")), n_in - 2);
    assert_int_equal(json_integer_value(json_object_get(t, "predicted_n")), 5);
    const double ms = json_number_value(json_object_get(t, "predicted_ms"));
    assert_true(ms >= 4 && ms < 4000 && json_number_value(json_object_get(t, "prompt_ms")) >= 0);
    assert_true(fabs(json_number_value(json_object_get(t, "predicted_per_second")) * ms / 1e3 - 4) < 1e-6);
    json_decref(j);
    char *s = all_of(begin(f, API_COMPLETION, "{\"prompt\":[75,104,2],\"stream\":true,\"stream_options\":{\"include_usage\":true}}"), NULL);
    j = chunk_at(s, 3); /* H, e, the end, usage */
    assert_int_equal(json_array_size(json_object_get(j, "choices")), 0);
    assert_true(json_is_array(json_object_get(j, "choices")) && json_object_get(j, "timings"));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "usage"), "completion_tokens")), 3); /* with the end token */
    assert_null(chunk_at(s, 4));
    json_decref(j);
    free(s);
    fake_loop_hit(f->l, 0);
    j = parsed(all_of(begin(f, API_COMPLETION, "{\"prompt\":[75],\"max_tokens\":1}"), &status));
    assert_true(json_is_null(json_object_get(json_object_get(j, "timings"), "predicted_per_second"))); /* one token: no rate */
    json_decref(j);
}

static void test_logprobs(void **state)
{
    struct fixture *f = *state;
    int status;
    json_t *j = parsed(all_of(begin(f, API_COMPLETION, "{\"prompt\":[75,229],\"max_tokens\":3,\"logprobs\":2}"), &status)), *l;
    l = json_object_get(choice(j), "logprobs");
    assert_int_equal(json_array_size(json_object_get(l, "tokens")), 3);
    assert_string_equal(json_string_value(json_array_get(json_object_get(l, "tokens"), 0)), "H");
    assert_true(json_number_value(json_array_get(json_object_get(l, "token_logprobs"), 2)) == -0.5);
    json_t *top = json_array_get(json_object_get(l, "top_logprobs"), 0);
    assert_int_equal(json_object_size(top), 3); /* two likely ones and the chosen one */
    assert_true(json_number_value(json_object_get(top, "b")) == -2 && json_number_value(json_object_get(top, "H")) == -0.5);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(l, "text_offset"), 1)), 1);
    json_decref(j);
    j = parsed(all_of(begin(f, API_CHAT, "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"max_tokens\":3,\"logprobs\":true,\"top_logprobs\":1}"),
                      &status));
    l = json_object_get(json_object_get(choice(j), "logprobs"), "content");
    assert_int_equal(json_array_size(l), 3);
    assert_string_equal(json_string_value(json_object_get(json_array_get(l, 0), "token")), "<s>");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(json_array_get(l, 0), "bytes"), 0)), '<');
    assert_int_equal(json_array_size(json_object_get(json_array_get(l, 0), "top_logprobs")), 1);
    json_decref(j);
    char *s = all_of(begin(f, API_COMPLETION, "{\"prompt\":[75,104],\"max_tokens\":2,\"logprobs\":0,\"stream\":true}"), NULL);
    j = chunk_at(s, 1);
    l = json_object_get(choice(j), "logprobs");
    assert_int_equal(json_array_size(json_object_get(l, "tokens")), 1); /* of its step alone */
    assert_int_equal(json_integer_value(json_array_get(json_object_get(l, "text_offset"), 0)), 1);
    json_decref(j);
    free(s);
}

static void test_token_ids(void **state)
{
    struct fixture *f = *state;
    int status;
    char *s = all_of(begin(f, API_COMPLETION, "{\"prompt\":[75,104,2],\"return_token_ids\":true}"), &status);
    assert_non_null(strstr(s, "\"token_ids\":[75,104]"));
    free(s);
    s = all_of(begin(f, API_COMPLETION, "{\"prompt\":[75,104,2],\"return_token_ids\":true,\"stream\":true}"), NULL);
    assert_non_null(strstr(s, "\"token_ids\":[104]"));
    assert_non_null(strstr(s, "\"token_ids\":[],\"finish_reason\":\"stop\""));
    free(s);
}

static void test_what_the_loop_gets(void **state)
{
    struct fixture *f = *state;
    int status;
    free(all_of(begin(f, API_COMPLETION, "{\"prompt\":\"abc\",\"max_tokens\":3,\"min_tokens\":2,\"priority\":7,\"seed\":11,\"presence_penalty\":0.5}"), &status));
    struct loop_request q = fake_loop_last(f->l);
    assert_true(q.n_in == 3 && fake_loop_prompt(f->l)[0] == 1); /* <s>, the space, abc */
    assert_true(q.n_max == 3 && q.n_min == 2 && q.priority == 7 && q.sampler.seed == 11 && q.presence_penalty == 0.5f && q.n_end == 1 && !q.ignore_end);
    free(all_of(begin(f, API_COMPLETION, "{\"prompt\":\"abc\",\"max_tokens\":3,\"add_special_tokens\":false,\"ignore_eos\":true}"), &status));
    q = fake_loop_last(f->l);
    assert_true(q.n_in == 2 && fake_loop_prompt(f->l)[0] != 1 && q.ignore_end && q.sampler.seed == 5);
    fake_loop_pace(f->l, 0, 60);
    free(all_of(begin(f, API_CHAT, "{\"messages\":[{\"role\":\"user\",\"content\":\"<s></s>\"}],\"ignore_eos\":true}"), &status));
    fake_loop_pace(f->l, 1e-3, 1);
    q = fake_loop_last(f->l);
    for (uint32_t i = 1; i < q.n_in; i++) /* a message cannot write control tokens */
        assert_true(fake_loop_prompt(f->l)[i] != 1 && fake_loop_prompt(f->l)[i] != 2);
    assert_int_equal(q.n_in + q.n_max, 4096); /* as far as the context */
}

static void refused(struct fixture *f, const char *body, int status, const char *text)
{
    const struct api_limits limits = { tokenizer_n_vocab(f->t.tokenizer), f->t.m.max_model_len };
    struct api_request r;
    struct api_error e = { 0 };
    assert_int_equal(api_request_parse(&r, API_COMPLETION, body, strlen(body), &limits, &e), 0);
    assert_null(answer_new(&r, &f->t.m, f->l, 5, &e));
    assert_int_equal(e.status, status);
    if (!strstr(e.message, text))
        fail_msg("%s: %s", body, e.message);
}

static void test_refused(void **state)
{
    struct fixture *f = *state;
    refused(f, "{\"prompt\":\"abc\",\"max_tokens\":4096}", 400, "context is 4096 tokens; the prompt has 3 and 4096");
    refused(f, "{\"prompt\":\"\",\"add_special_tokens\":false}", 400, "prompt: empty");
    loop_drain(f->l);
    refused(f, "{\"prompt\":\"abc\"}", 503, "drains");
}

static void test_ends(void **state)
{
    struct fixture *f = *state;
    int status;
    fake_loop_hold(f->l, true);
    struct answer *a = begin(f, API_COMPLETION, "{\"prompt\":[75]}");
    fake_loop_fail(f->l);
    fake_loop_hold(f->l, false);
    char *s = all_of(a, &status);
    assert_int_equal(status, 500);
    assert_non_null(strstr(s, "\"message\":\"the engine is broken\",\"type\":\"server_error\""));
    free(s);
    /* A reader that hangs up: the loop is free a step later. */
    a = begin(f, API_COMPLETION, "{\"prompt\":[75],\"max_tokens\":4000,\"stream\":true}");
    assert_false(loop_idle(f->l));
    answer_abort(a);
    char c;
    size_t n;
    assert_int_equal(answer_read(a, &c, 1, &n, NULL, NULL), ANSWER_GONE);
    for (int i = 0; i < 2000 && !loop_idle(f->l); i++)
        usleep(1000);
    assert_true(loop_idle(f->l));
    answer_free(a);
    /* Freed while it runs. */
    answer_free(begin(f, API_COMPLETION, "{\"prompt\":[75],\"max_tokens\":4000,\"stream\":true}"));
    for (int i = 0; i < 2000 && !loop_idle(f->l); i++)
        usleep(1000);
    assert_true(loop_idle(f->l));
}

/* Memory of a stream that no one reads is bounded: it ends. */
static void test_no_reader(void **state)
{
    struct fixture *f = *state;
    char c;
    size_t n;
    fake_loop_pace(f->l, 0, 60);
    f->t.m.max_model_len = 30000;
    struct answer *a = begin(f, API_CHAT,
                             "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"max_tokens\":20000,\"stream\":true,\"logprobs\":true,\"top_logprobs\":20}");
    for (int i = 0; i < 10000 && !loop_idle(f->l); i++)
        usleep(1000);
    struct loop_stats s;
    loop_stats(f->l, &s);
    assert_true(s.n_output_tok > 100 && s.n_output_tok < 20000 && s.n_finished[LOOP_STOPPED] == 1);
    assert_int_equal(answer_read(a, &c, 1, &n, NULL, NULL), ANSWER_GONE);
    answer_free(a);
}

static void note_wake(void *ctx)
{
    atomic_uint *n = ctx;
    (*n)++;
}

/* A reader is woken when there is something to read: of a stream each step, of another answer its end. */
static void test_wakes(void **state)
{
    static const struct {
        const char *body;
        unsigned n;
    } row[] = { { "{\"prompt\":[75],\"max_tokens\":9}", 1 }, { "{\"prompt\":[75],\"max_tokens\":9,\"stream\":true}", 9 } };
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(row); i++) {
        atomic_uint n = 0;
        int status;
        fake_loop_hold(f->l, true);
        struct answer *a = begin(f, API_COMPLETION, row[i].body);
        answer_set_wake(a, note_wake, &n);
        fake_loop_hold(f->l, false);
        while (!loop_idle(f->l))
            usleep(200);
        assert_int_equal(n, row[i].n);
        free(all_of(a, &status));
    }
}

static void test_ping(void **state)
{
    struct fixture *f = *state;
    char buf[64];
    size_t n;
    fake_loop_hold(f->l, true);
    struct answer *a = begin(f, API_COMPLETION, "{\"prompt\":[75],\"stream\":true}");
    answer_ping(a, clock_now_s(), 10);
    assert_int_equal(answer_read(a, buf, sizeof buf, &n, NULL, NULL), ANSWER_WAITING);
    answer_ping(a, clock_now_s() + 11, 10);
    assert_int_equal(answer_read(a, buf, sizeof buf, &n, NULL, NULL), ANSWER_BYTES);
    assert_int_equal(n, 8);
    assert_memory_equal(buf, ": ping\n\n", 8);
    answer_free(a);
}

static void test_json_text(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct { const char *text, *json; } row[] = {
        { "", "\"\"" }, { "a\"\\\n\r\t\x01", "\"a\\\"\\\\\\n\\r\\t\\u0001\"" }, { "\xC3\xA9\xF0\x9F\x98\x80", "\"\xC3\xA9\xF0\x9F\x98\x80\"" },
        { "\xC0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\"" }, { "\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"" },
        { "\xE2\x82", "\"\xEF\xBF\xBD\xEF\xBF\xBD\"" }, { "\xF4\x90\x80\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"" },
    };
    /* clang-format on */
    for (size_t i = 0; i < ARRAY_LEN(row); i++) {
        struct strbuf b = { 0 };
        json_write_text(&b, row[i].text, strlen(row[i].text));
        assert_string_equal(b.s, row[i].json);
        json_t *j = json_loadb(b.s, b.len, JSON_DECODE_ANY, NULL);
        assert_true(json_is_string(j));
        json_decref(j);
        strbuf_free(&b);
    }
}

/* vLLM's names and types; those of counters with the suffix that Prometheus' client adds. */
static const char *const families[] = {
    "num_requests_running gauge", "num_requests_waiting gauge", "kv_cache_usage_perc gauge", "cache_config_info gauge",
    "prefix_cache_queries_total counter", "prefix_cache_hits_total counter", "num_preemptions_total counter", "prompt_tokens_total counter",
    "generation_tokens_total counter", "request_success_total counter", "iteration_tokens_total histogram", "time_to_first_token_seconds histogram",
    "inter_token_latency_seconds histogram", "request_time_per_output_token_seconds histogram", "e2e_request_latency_seconds histogram",
    "request_queue_time_seconds histogram", "request_prefill_time_seconds histogram", "request_decode_time_seconds histogram",
    "request_inference_time_seconds histogram", "spec_decode_num_drafts_total counter", "spec_decode_num_draft_tokens_total counter",
    "spec_decode_num_accepted_tokens_total counter", "spec_decode_num_accepted_tokens_per_pos_total counter",
};

static void test_metrics(void **state)
{
    static const double bounds[] = { 0.5, 1 };
    struct loop_stats s = { .n_running = 3, .n_waiting = 1, .n_block = 100, .n_block_used = 25, .n_query_tok = 10, .n_hit_tok = 4 };
    struct strbuf b = { 0 };
    (void)state;
    for (int i = 0; i < LOOP_TIMES; i++)
        s.h[i] = (struct loop_histogram){ .bound = bounds, .n = 2, .count = { 1, 2, 4 }, .sum = 9.25 };
    s.n_finished[LOOP_EOS] = 5;
    s.n_finished[LOOP_STOPPED] = 2;
    metrics_page_write(&b, &s, "a\"b\\c", 16);
    for (size_t i = 0; i < ARRAY_LEN(families); i++) {
        char line[200];
        snprintf(line, sizeof line, "\n# TYPE vllm:%s\n", families[i]);
        if (!strstr(b.s, line))
            fail_msg("no %s", families[i]);
    }
    assert_non_null(strstr(b.s, "\nvllm:num_requests_running{model_name=\"a\\\"b\\\\c\"} 3\n"));
    assert_non_null(strstr(b.s, "\nvllm:kv_cache_usage_perc{model_name=\"a\\\"b\\\\c\"} 0.25\n"));
    assert_non_null(strstr(b.s, "vllm:time_to_first_token_seconds_bucket{model_name=\"a\\\"b\\\\c\",le=\"0.5\"} 1\n"));
    assert_non_null(strstr(b.s, "vllm:time_to_first_token_seconds_bucket{model_name=\"a\\\"b\\\\c\",le=\"1\"} 3\n"));
    assert_non_null(strstr(b.s, "vllm:time_to_first_token_seconds_bucket{model_name=\"a\\\"b\\\\c\",le=\"+Inf\"} 7\n"));
    assert_non_null(strstr(b.s, "vllm:time_to_first_token_seconds_count{model_name=\"a\\\"b\\\\c\"} 7\n"));
    assert_non_null(strstr(b.s, "vllm:request_success_total{model_name=\"a\\\"b\\\\c\",finished_reason=\"stop\"} 7\n"));
    strbuf_free(&b);
}

#define FIXTURE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_a_chunk_a_step), FIXTURE_TEST(test_stop_texts), FIXTURE_TEST(test_whole_characters), FIXTURE_TEST(test_usage_and_timings),
        FIXTURE_TEST(test_logprobs), FIXTURE_TEST(test_token_ids), FIXTURE_TEST(test_what_the_loop_gets), FIXTURE_TEST(test_refused), FIXTURE_TEST(test_ends),
        FIXTURE_TEST(test_no_reader), FIXTURE_TEST(test_wakes), FIXTURE_TEST(test_ping), cmocka_unit_test(test_json_text), cmocka_unit_test(test_metrics),
    };
    return cmocka_run_group_tests_name("api_reply", tests, NULL, NULL);
}
