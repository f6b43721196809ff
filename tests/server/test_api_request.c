/* Bodies of requests: every field, its range, what is refused and with which param. */
#include "../test.h"
#include "server/api_request.h"

static const struct api_limits limits = { .n_vocab = 100, .max_model_len = 2048 };

static struct api_request good(enum api_kind kind, const char *body)
{
    struct api_request r;
    struct api_error e = { 0 };
    if (api_request_parse(&r, kind, body, strlen(body), &limits, &e) != 0)
        fail_msg("%s: %s", body, e.message);
    return r;
}

static void bad(enum api_kind kind, const char *body, const char *param, const char *text)
{
    struct api_request r;
    struct api_error e = { 0 };
    if (api_request_parse(&r, kind, body, strlen(body), &limits, &e) == 0)
        fail_msg("%s: accepted", body);
    assert_int_equal(e.status, 400);
    if (strcmp(e.param, param) != 0 || !strstr(e.message, text))
        fail_msg("%s: param \"%s\", message \"%s\"", body, e.param, e.message);
}

static void test_defaults(void **state)
{
    (void)state;
    struct api_request r = good(API_COMPLETION, "{\"prompt\":\"Hi\"}");
    assert_string_equal(r.text, "Hi");
    assert_int_equal(r.text_len, 2);
    assert_int_equal(r.max_tokens, 16);
    assert_true(r.sampler.temperature == 1 && r.sampler.top_p == 1 && r.sampler.top_k == 0 && r.sampler.min_p == 0 && r.sampler.repeat_penalty == 1);
    assert_true(r.add_special_tokens && r.skip_special_tokens && !r.stream && !r.logprobs && !r.has_seed && !r.ignore_eos);
    assert_null(r.model);
    api_request_free(&r);
    r = good(API_CHAT, "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}");
    assert_int_equal(r.max_tokens, 0); /* as many as there is room for */
    api_request_free(&r);
}

static void test_all_fields(void **state)
{
    (void)state;
    struct api_request r = good(
        API_COMPLETION,
        "{\"model\":\"m\",\"prompt\":[[1,2,99]],\"max_tokens\":7,\"min_tokens\":3,\"temperature\":0.5,\"top_p\":0.9,\"top_k\":40,\"min_p\":0.05,"
        "\"n\":1,\"best_of\":1,\"stream\":true,\"stream_options\":{\"include_usage\":true},\"stop\":[\"a\",\"bc\"],\"seed\":-5,\"logprobs\":3,"
        "\"frequency_penalty\":1.5,\"presence_penalty\":-2,\"repetition_penalty\":1.1,\"logit_bias\":{\"5\":-100,\"7\":1.5},\"user\":\"x\","
        "\"ignore_eos\":true,\"priority\":-3,\"add_special_tokens\":false,\"cache_salt\":\"s\",\"stop_token_ids\":[4],\"echo\":false,"
        "\"suffix\":null,\"tools\":[],\"tool_choice\":\"none\",\"response_format\":{\"type\":\"text\"},\"skip_special_tokens\":false,"
        "\"an unknown field\":{\"a\":[1]}}");
    assert_string_equal(r.model, "m");
    assert_int_equal(r.n_id, 3);
    assert_int_equal(r.id[2], 99);
    assert_int_equal(r.max_tokens, 7);
    assert_int_equal(r.min_tokens, 3);
    assert_true(r.sampler.temperature == 0.5 && r.sampler.top_p == 0.9 && r.sampler.top_k == 40 && r.sampler.min_p == 0.05);
    assert_true(r.sampler.repeat_penalty == 1.1 && r.sampler.repeat_last_n == -1 && r.has_seed && r.sampler.seed == (uint64_t)-5);
    assert_true(r.frequency_penalty == 1.5 && r.presence_penalty == -2);
    assert_true(r.stream && r.include_usage && r.ignore_eos && !r.add_special_tokens && !r.skip_special_tokens);
    assert_true(r.logprobs && r.n_top == 3);
    assert_int_equal(r.stops.n, 2);
    assert_string_equal(r.stops.text[1], "bc");
    assert_int_equal(r.n_bias, 2);
    assert_true(r.bias[0].id == 5 && r.bias[0].logprob == -100 && r.bias[1].id == 7 && r.bias[1].logprob == 1.5f);
    assert_true(r.priority == -3 && r.salt != 0 && r.n_stop_id == 1 && r.stop_id[0] == 4);
    api_request_free(&r);
    r = good(API_CHAT, "{\"messages\":[{\"role\":\"developer\",\"content\":\"S\"},{\"role\":\"user\",\"name\":\"n\",\"content\":[{\"type\":\"text\","
                       "\"text\":\"a\"},{\"type\":\"text\",\"text\":\"\\u00e9\"}]},{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[]},"
                       "{\"role\":\"user\",\"content\":\"c\"}],\"max_completion_tokens\":9,\"max_tokens\":4,\"logprobs\":true,\"top_logprobs\":2,"
                       "\"stop\":\"x\",\"temperature\":0,\"seed\":null,\"n\":null}");
    assert_int_equal(r.n_message, 4);
    assert_int_equal(r.message[0].role, CHAT_SYSTEM);
    assert_int_equal(r.message[1].len, 3);
    assert_memory_equal(r.message[1].text, "a\xC3\xA9", 3);
    assert_int_equal(r.message[2].role, CHAT_ASSISTANT);
    assert_int_equal(r.message[2].len, 0);
    assert_int_equal(r.max_tokens, 9);
    assert_true(r.logprobs && r.n_top == 2 && r.stops.n == 1 && r.sampler.temperature == 0 && !r.has_seed);
    api_request_free(&r);
}

static void test_salts_differ(void **state)
{
    (void)state;
    struct api_request a = good(API_COMPLETION, "{\"prompt\":[1],\"cache_salt\":\"ab\"}"), b = good(API_COMPLETION, "{\"prompt\":[1],\"cache_salt\":\"ba\"}"),
                       c = good(API_COMPLETION, "{\"prompt\":[1],\"cache_salt\":\"ab\"}"), d = good(API_COMPLETION, "{\"prompt\":[1]}");
    assert_true(a.salt != b.salt && a.salt == c.salt && d.salt == 0);
    api_request_free(&a);
    api_request_free(&b);
    api_request_free(&c);
    api_request_free(&d);
}

static void test_ranges(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct { const char *field, *param, *text; } row[] = {
        { "\"temperature\":-0.1", "temperature", "0 to 100" }, { "\"temperature\":\"1\"", "temperature", "expected a number, found a string" },
        { "\"temperature\":101", "temperature", "found 101" },
        { "\"top_p\":0", "top_p", "more than 0" }, { "\"top_p\":1.01", "top_p", "0 to 1" },
        { "\"min_p\":-1", "min_p", "0 to 1" }, { "\"top_k\":-2", "top_k", "-1 to" }, { "\"top_k\":1.5", "top_k", "a whole number" },
        { "\"repetition_penalty\":0", "repetition_penalty", "0.01 to 100" },
        { "\"presence_penalty\":2.1", "presence_penalty", "-2 to 2" }, { "\"frequency_penalty\":-3", "frequency_penalty", "-2 to 2" },
        { "\"seed\":1.25", "seed", "a whole number" }, { "\"seed\":\"1\"", "seed", "a whole number" },
        { "\"max_tokens\":0", "max_tokens", "1 to" }, { "\"max_tokens\":-1", "max_tokens", "1 to" },
        { "\"max_tokens\":2049", "max_tokens", "the model's context of 2048" },
        { "\"max_completion_tokens\":5000", "max_completion_tokens", "2048" },
        { "\"min_tokens\":-1", "min_tokens", "0 to" }, { "\"min_tokens\":17", "min_tokens", "at most max_tokens (16)" },
        { "\"stream\":1", "stream", "true or false" }, { "\"stream_options\":{}", "stream_options", "stream must be true" },
        { "\"stream\":true,\"stream_options\":[]", "stream_options", "an object" },
        { "\"stream\":true,\"stream_options\":{\"include_usage\":1}", "include_usage", "true or false" },
        { "\"logprobs\":21", "logprobs", "0 to 20" }, { "\"logprobs\":-1", "logprobs", "0 to 20" }, { "\"logprobs\":true", "logprobs", "a whole number" },
        { "\"stop\":\"\"", "stop", "1 to 4096 bytes" }, { "\"stop\":[1]", "stop", "a string" }, { "\"stop\":{}", "stop", "a string" },
        { "\"stop_token_ids\":[100]", "stop_token_ids", "vocabulary of 100" }, { "\"stop_token_ids\":5", "stop_token_ids", "an array" },
        { "\"logit_bias\":{\"100\":1}", "logit_bias", "0 to 99" }, { "\"logit_bias\":{\"x\":1}", "logit_bias", "0 to 99" },
        { "\"logit_bias\":{\"1\":101}", "logit_bias", "-100 to 100" }, { "\"logit_bias\":{\"1\":null}", "logit_bias", "-100 to 100" },
        { "\"logit_bias\":[1]", "logit_bias", "an object" },
        { "\"priority\":3000000000", "priority", "2147483647" }, { "\"cache_salt\":\"\"", "cache_salt", "empty" }, { "\"cache_salt\":1", "cache_salt", "a string" },
        { "\"ignore_eos\":\"yes\"", "ignore_eos", "true or false" }, { "\"model\":5", "model", "a string" },
        { "\"n\":2", "n", "not supported" }, { "\"n\":\"1\"", "n", "not supported" }, { "\"best_of\":2", "best_of", "not supported" },
        { "\"echo\":true", "echo", "not supported" }, { "\"suffix\":\"x\"", "suffix", "not supported" },
        { "\"tools\":[{}]", "tools", "not supported" }, { "\"tool_choice\":\"required\"", "tool_choice", "not supported" },
        { "\"functions\":[{}]", "functions", "not supported" }, { "\"response_format\":{\"type\":\"json_object\"}", "response_format", "not supported" },
        { "\"response_format\":{}", "response_format", "not supported" }, { "\"response_format\":\"text\"", "response_format", "an object" },
        { "\"modalities\":[\"text\",\"audio\"]", "modalities", "not supported" }, { "\"use_beam_search\":true", "use_beam_search", "not supported" },
        { "\"prompt_logprobs\":0", "prompt_logprobs", "not supported" }, { "\"guided_json\":{}", "guided_json", "not supported" },
        { "\"add_generation_prompt\":false", "add_generation_prompt", "not supported" },
        { "\"prompt\":[\"a\",\"b\"]", "prompt", "2 prompts" }, { "\"prompt\":[]", "prompt", "at least one token" },
        { "\"prompt\":[[1],[2]]", "prompt", "2 prompts" }, { "\"prompt\":[1,100]", "prompt", "prompt[1]: token id 100" },
        { "\"prompt\":[1,-1]", "prompt", "token id -1" }, { "\"prompt\":[1,2.5]", "prompt", "a token id" }, { "\"prompt\":[1,\"a\"]", "prompt", "prompt[1]" },
        { "\"prompt\":5", "prompt", "a string or token ids" }, { "\"prompt\":null", "prompt", "found nothing" },
    };
    /* clang-format on */
    char body[400];
    for (size_t i = 0; i < ARRAY_LEN(row); i++) { /* the last of equal keys counts */
        snprintf(body, sizeof body, "{\"prompt\":\"p\",%s}", row[i].field);
        bad(API_COMPLETION, body, row[i].param, row[i].text);
    }
}

static void test_chat_refused(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct { const char *messages, *text; } row[] = {
        { "null", "an array, found null" }, { "[]", "1 to 4096" }, { "[1]", "messages[0]: expected an object" }, { "{}", "an array" },
        { "[{\"role\":\"user\"}]", "messages[0].content: expected a string or an array of parts, found nothing" },
        { "[{\"content\":\"a\"}]", "messages[0].role: expected a string" },
        { "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"tool\",\"content\":\"a\"}]", "messages[1].role: expected system, developer, user or assistant, found \"tool\"" },
        { "[{\"role\":\"user\",\"content\":null}]", "found null" },
        { "[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":{}}]}]", "content[0].type: expected text, found \"image_url\"" },
        { "[{\"role\":\"user\",\"content\":[{\"text\":\"a\"}]}]", "content[0].type: expected a string" },
        { "[{\"role\":\"user\",\"content\":[{\"type\":\"text\"}]}]", "content[0].text: expected a string" },
        { "[{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{}]}]", "tool_calls: not supported" },
    };
    /* clang-format on */
    char body[400];
    for (size_t i = 0; i < ARRAY_LEN(row); i++) {
        snprintf(body, sizeof body, "{\"messages\":%s}", row[i].messages);
        bad(API_CHAT, body, "messages", row[i].text);
    }
    bad(API_CHAT, "{}", "messages", "found nothing");
    bad(API_CHAT, "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"top_logprobs\":2}", "top_logprobs", "logprobs must be true");
    bad(API_CHAT, "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"logprobs\":1}", "logprobs", "true or false");
}

static void test_not_json(void **state)
{
    (void)state;
    bad(API_COMPLETION, "", "", "not JSON: line 1");
    bad(API_COMPLETION, "{\"prompt\":\"a\"", "", "not JSON: line 1");
    bad(API_COMPLETION, "{\n\"prompt\":NaN}", "", "not JSON: line 2");
    bad(API_COMPLETION, "[1]", "", "expected an object, found an array");
    bad(API_COMPLETION, "{\"prompt\":\"a\\u0000b\"}", "", "not JSON");
    bad(API_COMPLETION, "{\"prompt\":\"\xFF\"}", "", "not JSON");
    bad(API_COMPLETION, "{} {}", "", "not JSON");
}

static void test_error_object(void **state)
{
    (void)state;
    struct strbuf b = { 0 };
    struct api_error e;
    api_error_set(&e, 400, NULL, "n", "say \"1\"\n\x01\xC3");
    api_error_write(&b, &e);
    assert_string_equal(b.s, "{\"error\":{\"message\":\"say \\\"1\\\"\\n\\u0001\xEF\xBF\xBD\",\"type\":\"invalid_request_error\",\"param\":\"n\",\"code\":null}}");
    b.len = 0;
    api_error_set(&e, 401, "invalid_api_key", NULL, "no");
    api_error_write(&b, &e);
    assert_string_equal(b.s, "{\"error\":{\"message\":\"no\",\"type\":\"authentication_error\",\"param\":null,\"code\":\"invalid_api_key\"}}");
    strbuf_free(&b);
}

static void test_tokenize_bodies(void **state)
{
    (void)state;
    struct api_tokenize t;
    struct api_request r;
    struct api_error e = { 0 };
    const char *vllm = "{\"model\":\"m\",\"prompt\":\"a\",\"return_token_strs\":true}", *llama = "{\"content\":\"a\",\"parse_special\":false}",
               *chat = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}", *tokens = "{\"tokens\":[1,2]}";
    assert_int_equal(api_tokenize_parse(&t, vllm, strlen(vllm), &limits, &e), 0);
    assert_true(t.prompt.add_special_tokens && t.with_texts && t.parse_special && t.prompt.kind == API_COMPLETION);
    api_request_free(&t.prompt);
    assert_int_equal(api_tokenize_parse(&t, llama, strlen(llama), &limits, &e), 0);
    assert_true(!t.prompt.add_special_tokens && !t.with_texts && !t.parse_special);
    api_request_free(&t.prompt);
    assert_int_equal(api_tokenize_parse(&t, chat, strlen(chat), &limits, &e), 0);
    assert_int_equal(t.prompt.kind, API_CHAT);
    api_request_free(&t.prompt);
    assert_int_equal(api_tokenize_parse(&t, "{}", 2, &limits, &e), -1);
    assert_string_equal(e.param, "prompt");
    assert_int_equal(api_detokenize_parse(&r, tokens, strlen(tokens), &limits, &e), 0);
    assert_int_equal(r.n_id, 2);
    api_request_free(&r);
    assert_int_equal(api_detokenize_parse(&r, "{}", 2, &limits, &e), -1);
    assert_string_equal(e.param, "tokens");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),     cmocka_unit_test(test_all_fields), cmocka_unit_test(test_salts_differ),
        cmocka_unit_test(test_ranges),       cmocka_unit_test(test_chat_refused), cmocka_unit_test(test_not_json),
        cmocka_unit_test(test_error_object), cmocka_unit_test(test_tokenize_bodies),
    };
    return cmocka_run_group_tests_name("api_request", tests, NULL, NULL);
}
