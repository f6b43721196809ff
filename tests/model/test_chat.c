/* Chat templates: the prompt of every family, typed by hand from the models' own templates; which file is of which
 * family; what becomes a control token and what stays text. */
#include "../test.h"
#include "model/chat.h"
#include "tiny_vocab.h"

#define MSG(role, s) { role, s, strlen(s) }
#define HEAD3 "<|start_header_id|>"
#define END3  "<|end_header_id|>\n\n"
#define TURN  "<|START_OF_TURN_TOKEN|>"
#define BACK  "<|END_OF_TURN_TOKEN|>"
#define DSU   "<\xEF\xBD\x9CUser\xEF\xBD\x9C>"
#define DSA   "<\xEF\xBD\x9C" "Assistant\xEF\xBD\x9C>"
#define DSE   "<\xEF\xBD\x9C" "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>"
#define HARMONY                                                                                          \
    "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowledge "    \
    "cutoff: 2024-06\n\nReasoning: medium\n\n# Valid channels: analysis, commentary, final. Channel must " \
    "be included for every message.<|end|>"

/* one: "Hi" alone. all: system "Be brief.", "Hi", answer "Yo", " Why? ". NULL: the system message is refused, and all is
 * without it. The end-of-sequence token is <E>. */
/* clang-format off */
static const struct {
    const char *name, *one, *all;
    bool refuses_system;
} rows[] = {
    { "chatml", "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
      "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYo<|im_end|>\n"
      "<|im_start|>user\n Why? <|im_end|>\n<|im_start|>assistant\n", false },
    { "qwen2", "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
      "<|im_start|>assistant\n", NULL, false },
    { "qwen1.5", "<|im_start|>system\nYou are a helpful assistant<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
      "<|im_start|>assistant\n", NULL, false },
    { "qwen2.5", "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n"
      "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
      "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYo<|im_end|>\n"
      "<|im_start|>user\n Why? <|im_end|>\n<|im_start|>assistant\n", false },
    { "qwen3-thinking", "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n", NULL, false },
    { "smollm2", "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
      "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n", NULL, false },
    { "phi4", "<|im_start|>user<|im_sep|>Hi<|im_end|><|im_start|>assistant<|im_sep|>",
      "<|im_start|>system<|im_sep|>Be brief.<|im_end|><|im_start|>user<|im_sep|>Hi<|im_end|>"
      "<|im_start|>assistant<|im_sep|>Yo<|im_end|><|im_start|>user<|im_sep|> Why? <|im_end|>"
      "<|im_start|>assistant<|im_sep|>", false },
    { "gpt-oss", HARMONY "<|start|>user<|message|>Hi<|end|><|start|>assistant",
      HARMONY "<|start|>developer<|message|># Instructions\n\nBe brief.\n\n<|end|><|start|>user<|message|>Hi<|end|>"
      "<|start|>assistant<|channel|>final<|message|>Yo<|end|><|start|>user<|message|> Why? <|end|><|start|>assistant",
      false },
    { "llama2", "[INST] Hi [/INST]",
      "[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHi [/INST] Yo <E><s>[INST] Why? [/INST]", false },
    { "mistral-v0", "[INST] Hi [/INST]", "[INST] Hi [/INST]Yo<E>[INST]  Why?  [/INST]", true },
    { "mistral-v1", " [INST] Hi [/INST]", " [INST] Be brief.\n\nHi [/INST] Yo<E> [INST]  Why?  [/INST]", false },
    { "mistral-v3", "[INST] Hi[/INST]", "[INST] Hi[/INST] Yo<E>[INST] Be brief.\n\n Why? [/INST]", false },
    { "mistral-v3-tekken", "[INST]Hi[/INST]", "[INST]Hi[/INST]Yo<E>[INST]Be brief.\n\n Why? [/INST]", false },
    { "mistral-v7", "[INST] Hi[/INST]",
      "[SYSTEM_PROMPT] Be brief.[/SYSTEM_PROMPT][INST] Hi[/INST] Yo<E>[INST]  Why? [/INST]", false },
    { "mistral-v7-tekken", "[INST]Hi[/INST]",
      "[SYSTEM_PROMPT]Be brief.[/SYSTEM_PROMPT][INST]Hi[/INST]Yo<E>[INST] Why? [/INST]", false },
    { "llama3", HEAD3 "user" END3 "Hi<|eot_id|>" HEAD3 "assistant" END3,
      HEAD3 "system" END3 "Be brief.<|eot_id|>" HEAD3 "user" END3 "Hi<|eot_id|>" HEAD3 "assistant" END3 "Yo<|eot_id|>"
      HEAD3 "user" END3 "Why?<|eot_id|>" HEAD3 "assistant" END3, false },
    { "llama3.1", HEAD3 "system" END3 "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|>"
      HEAD3 "user" END3 "Hi<|eot_id|>" HEAD3 "assistant" END3,
      HEAD3 "system" END3 "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\nBe brief.<|eot_id|>"
      HEAD3 "user" END3 "Hi<|eot_id|>" HEAD3 "assistant" END3 "Yo<|eot_id|>" HEAD3 "user" END3 "Why?<|eot_id|>"
      HEAD3 "assistant" END3, false },
    { "llama4", "<|header_start|>user<|header_end|>\n\nHi<|eot|><|header_start|>assistant<|header_end|>\n\n",
      "<|header_start|>system<|header_end|>\n\nBe brief.<|eot|><|header_start|>user<|header_end|>\n\nHi<|eot|>"
      "<|header_start|>assistant<|header_end|>\n\nYo<|eot|><|header_start|>user<|header_end|>\n\nWhy?<|eot|>"
      "<|header_start|>assistant<|header_end|>\n\n", false },
    { "gemma", "<start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n",
      "<start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\nYo<end_of_turn>\n<start_of_turn>user\nWhy?"
      "<end_of_turn>\n<start_of_turn>model\n", true },
    { "gemma3", "<start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n",
      "<start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n<start_of_turn>model\nYo<end_of_turn>\n<start_of_turn>user\n"
      "Why?<end_of_turn>\n<start_of_turn>model\n", false },
    { "phi3", "<|user|>\nHi<|end|>\n<|assistant|>\n",
      "<|system|>\nBe brief.<|end|>\n<|user|>\nHi<|end|>\n<|assistant|>\nYo<|end|>\n<|user|>\n Why? <|end|>\n"
      "<|assistant|>\n", false },
    { "phi4-mini", "<|user|>Hi<|end|><|assistant|>",
      "<|system|>Be brief.<|end|><|user|>Hi<|end|><|assistant|>Yo<|end|><|user|> Why? <|end|><|assistant|>", false },
    { "zephyr", "<|user|>\nHi<E>\n<|assistant|>\n",
      "<|system|>\nBe brief.<E>\n<|user|>\nHi<E>\n<|assistant|>\nYo<E>\n<|user|>\n Why? <E>\n<|assistant|>\n", false },
    { "tulu", "<|user|>\nHi\n<|assistant|>\n",
      "<|system|>\nBe brief.\n<|user|>\nHi\n<|assistant|>\nYo<E>\n<|user|>\n Why? \n<|assistant|>\n", false },
    { "chatglm4", "[gMASK]<sop><|user|>\nHi<|assistant|>\n",
      "[gMASK]<sop><|system|>\nBe brief.<|user|>\nHi<|assistant|>\nYo<|user|>\n Why? <|assistant|>\n", false },
    { "command-r", TURN "<|USER_TOKEN|>Hi" BACK TURN "<|CHATBOT_TOKEN|>",
      TURN "<|SYSTEM_TOKEN|>Be brief." BACK TURN "<|USER_TOKEN|>Hi" BACK TURN "<|CHATBOT_TOKEN|>Yo" BACK
      TURN "<|USER_TOKEN|>Why?" BACK TURN "<|CHATBOT_TOKEN|>", false },
    { "deepseek-v2", "User: Hi\n\nAssistant:", "Be brief.\n\nUser: Hi\n\nAssistant: Yo<E>User:  Why? \n\nAssistant:",
      false },
    { "deepseek-v3", DSU "Hi" DSA, "Be brief." DSU "Hi" DSA "Yo" DSE DSU " Why? " DSA, false },
    { "deepseek-v3.1", DSU "Hi" DSA "</think>",
      "Be brief." DSU "Hi" DSA "</think>Yo" DSE DSU " Why? " DSA "</think>", false },
    { "deepseek-r1", DSU "Hi" DSA "<think>\n", "Be brief." DSU "Hi" DSA "Yo" DSE DSU " Why? " DSA "<think>\n", false },
    { "deepseek-coder", "You are an AI programming assistant, utilizing the Deepseek Coder model, developed by Deepseek "
      "Company, and you only answer questions related to computer science. For politically sensitive questions, security "
      "and privacy issues, and other non-computer science questions, you will refuse to answer\n### Instruction:\nHi\n"
      "### Response:\n",
      "Be brief.### Instruction:\nHi\n### Response:\nYo\n<|EOT|>\n### Instruction:\n Why? \n### Response:\n", false },
    { "granite", "<|start_of_role|>user<|end_of_role|>Hi<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>",
      "<|start_of_role|>system<|end_of_role|>Be brief.<|end_of_text|>\n<|start_of_role|>user<|end_of_role|>Hi"
      "<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>Yo<|end_of_text|>\n<|start_of_role|>user<|end_of_role|>"
      " Why? <|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>", false },
    { "exaone3", "[|system|][|endofturn|]\n[|user|]Hi\n[|assistant|]",
      "[|system|]Be brief.[|endofturn|]\n[|user|]Hi\n[|assistant|]Yo[|endofturn|]\n[|user|] Why? \n[|assistant|]", false },
    { "openchat", "GPT4 Correct User: Hi<|end_of_turn|>GPT4 Correct Assistant:",
      "GPT4 Correct System: Be brief.<|end_of_turn|>GPT4 Correct User: Hi<|end_of_turn|>GPT4 Correct Assistant: Yo"
      "<|end_of_turn|>GPT4 Correct User:  Why? <|end_of_turn|>GPT4 Correct Assistant:", false },
    { "vicuna", "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, "
      "detailed, and polite answers to the user's questions. USER: Hi ASSISTANT:",
      "Be brief. USER: Hi ASSISTANT: Yo</s>USER:  Why?  ASSISTANT:", false },
};
/* clang-format on */

static void expect(const char *name, const struct chat_message *m, size_t n, const char *want)
{
    struct error err = { 0 };
    struct chat_prompt p;
    const struct chat_template *c = chat_template_find(name, &err);
    if (!c)
        fail_msg("%s", err.msg);
    assert_ok(chat_render(c, m, n, "<E>", &p, &err), err);
    if (strcmp(p.text.s, want) != 0)
        fail_msg("%s: \"%s\", expected \"%s\"", name, p.text.s, want);
    /* The spans hold the callers' texts and nothing else. */
    size_t k = 0;
    for (size_t i = 0; i < p.n_message; i++) {
        assert_true(p.message[i].start < p.message[i].end && p.message[i].end <= p.text.len);
        assert_true(i == 0 || p.message[i].start >= p.message[i - 1].end);
        for (; k < n; k++)
            if (memmem(m[k].text, m[k].len, p.text.s + p.message[i].start, p.message[i].end - p.message[i].start))
                break;
        if (k == n && !strstr(name, "mistral-v3")) /* there the system message comes last */
            fail_msg("%s: span %zu is no message", name, i);
    }
    assert_int_equal(p.n_message, n);
    chat_prompt_free(&p);
}

static void families(void **state)
{
    (void)state;
    const struct chat_message all[] = { MSG(CHAT_SYSTEM, "Be brief."), MSG(CHAT_USER, "Hi"), MSG(CHAT_ASSISTANT, "Yo"),
                                        MSG(CHAT_USER, " Why? ") };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        expect(rows[i].name, all + 1, 1, rows[i].one);
        if (rows[i].refuses_system) {
            struct error err = { 0 };
            struct chat_prompt p;
            const struct chat_template *c = chat_template_find(rows[i].name, &err);
            assert_fails(chat_render(c, all, 4, "", &p, &err), err, "has no system message");
            expect(rows[i].name, all + 1, 3, rows[i].all);
        } else if (rows[i].all) {
            expect(rows[i].name, all, 4, rows[i].all);
        }
    }
    /* Every family is here. */
    const struct chat_template *c;
    for (size_t i = 0; (c = chat_template_at(i)) != NULL; i++) {
        size_t k = 0;
        while (k < ARRAY_LEN(rows) && strcmp(rows[k].name, chat_template_name(c)) != 0)
            k++;
        if (k == ARRAY_LEN(rows))
            fail_msg("%s has no expected prompt", chat_template_name(c));
    }
}

static void names(void **state)
{
    (void)state;
    struct error err = { 0 };
    assert_string_equal(chat_template_name(chat_template_find("falcon3", &err)), "tulu");
    assert_string_equal(chat_template_name(chat_template_find("olmo2", &err)), "tulu");
    assert_string_equal(chat_template_name(chat_template_find("smollm3", &err)), "chatml");
    assert_null(chat_template_find("falcon", &err));
    assert_non_null(strstr(err.msg, "\"falcon\" is not known; expected one of: phi4 "));
    assert_non_null(strstr(err.msg, " vicuna")); /* the last: the list is whole */
    assert_null(chat_template_find("", &err));
}

static void order(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct chat_prompt p;
    const struct chat_template *c = chat_template_find("chatml", &err);
    const struct chat_message m[] = { MSG(CHAT_USER, "a"), MSG(CHAT_ASSISTANT, "b"), MSG(CHAT_SYSTEM, "c"),
                                      MSG(CHAT_USER, "d"), MSG(CHAT_USER, "e") };
    assert_fails(chat_render(c, m, 0, "", &p, &err), err, "a user message at the end");
    assert_fails(chat_render(c, m, 2, "", &p, &err), err, "a user message at the end");
    assert_fails(chat_render(c, m + 1, 1, "", &p, &err), err, "in turn");
    assert_fails(chat_render(c, m, 3, "", &p, &err), err, "in turn");
    assert_fails(chat_render(c, m + 2, 1, "", &p, &err), err, "a user message at the end");
    assert_fails(chat_render(c, m + 3, 2, "", &p, &err), err, "in turn");
    const struct chat_message empty = { CHAT_USER, "", 0 };
    assert_ok(chat_render(c, &empty, 1, "", &p, &err), err);
    assert_string_equal(p.text.s, "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n");
    assert_int_equal(p.n_message, 0);
    chat_prompt_free(&p);
}

/* ---- which family a file is of ------------------------------------------------------------ */

/* Characteristic parts of the templates that the models are published with. */
static void detection(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct {
        const char *text, *name;
    } files[] = {
        { "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
          "'\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}", "chatml" },
        { "{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nYou are a helpful assistant."
          "<|im_end|>\\n' }}{% endif %}{{'<|im_start|>' + message['role']", "qwen2" },
        { "{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful assistant"
          "<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role']", "qwen1.5" },
        { "{{- '<|im_start|>system\\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\\n' }}",
          "qwen2.5" },
        { "{{- '<|im_start|>assistant\\n' }}{%- if enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}", "chatml" },
        { "{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n<think>\\n' }}\n{%- endif %}", "qwen3-thinking" },
        { "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}",
          "smollm2" },
        { "{{'<|im_start|>system<|im_sep|>' + message['content'] + '<|im_end|>'}}", "phi4" },
        { "{{- \"<|start|>assistant<|channel|>final<|message|>\" + message.content + \"<|return|>\" }}", "gpt-oss" },
        { "{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{{ '<<SYS>>\\n' + content.strip()", "llama2" },
        { "{{ '[INST] ' + message['content'] + ' [/INST]' }}", "mistral-v0" },
        { "{{- ' [INST] ' + system_message + '\\n\\n' + message['content'] + ' [/INST]' }}", "mistral-v1" },
        { "{{- \"[AVAILABLE_TOOLS] [\" }}{{- \"[INST] \" + message[\"content\"] + \"[/INST]\" }}", "mistral-v3" },
        { "{{- \"[AVAILABLE_TOOLS][\" }}{{- \"[INST]\" + message[\"content\"] + \"[/INST]\" }}", "mistral-v3-tekken" },
        { "{{ '[INST] ' + message['content'] + '[/INST]' }}{{ '[SYSTEM_PROMPT] ' + message['content']", "mistral-v7" },
        { "{{- '[SYSTEM_PROMPT]' + system_message + '[/SYSTEM_PROMPT]' }}{{- \"[AVAILABLE_TOOLS] [\" }}{{- '[INST]' +",
          "mistral-v7-tekken" },
        { "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim",
          "llama3" },
        { "{{- \"<|start_header_id|>system<|end_header_id|>\\n\\n\" }}{{- \"Cutting Knowledge Date: December 2023\\n\" }}",
          "llama3.1" },
        { "{{- '<|header_start|>' + message['role'] + '<|header_end|>\\n\\n' }}", "llama4" },
        { "{{ raise_exception('System role not supported') }}{{ '<start_of_turn>' + role + '\\n'", "gemma" },
        { "{%- set first_user_prefix = messages[0]['content'] + '\n\n' -%}{{ '<start_of_turn>' + role", "gemma3" },
        { "{{'<|user|>' + '\\n' + message['content'] + '<|end|>' + '\\n' + '<|assistant|>' + '\\n'}}", "phi3" },
        { "{{'<|' + message['role'] + '|>' + '\\n' + message['content'] + '<|end|>\\n' }}{{ '<|assistant|>\\n' }}", "phi3" },
        { "{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{{ '<|assistant|>' }}", "phi4-mini" },
        { "[gMASK]<sop>{% if item['content'] %}<|{{ item['role'] }}|>{{ item['metadata'] }}", "chatglm4" },
        { "{{ '<|user|>\\n' + message['content'] + '\\n' }}{{ '<|assistant|>\\n'  + message['content'] + eos_token", "tulu" },
        { "{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] + eos_token }}{{ '<|assistant|>' }}",
          "zephyr" },
        { "{{ '<|START_OF_TURN_TOKEN|><|USER_TOKEN|>' + content.strip() + '<|END_OF_TURN_TOKEN|>' }}", "command-r" },
        { "{{ 'User: ' + message['content'] + '\n\n' }}{{ 'Assistant: ' + message['content'] + eos_token }}", "deepseek-v2" },
        { "{{'" DSU "' + message['content']}}{{'" DSA "' + message['content'] + '" DSE "'}}{{'" DSA "'}}", "deepseek-v3" },
        { "{{'" DSU "' + message['content']}}{{'" DSA "'}}{%- if not thinking -%}{{'</think>'}}", "deepseek-v3.1" },
        { "{{'" DSU "' + message['content']}}{{'" DSA "<think>\\n'}}", "deepseek-r1" },
        { "{{'### Instruction:\\n' + message['content'] + '\\n'}}{{'### Response:\\n' + message['content'] + '\\n<|EOT|>\\n'}}",
          "deepseek-coder" },
        { "{{- '<|start_of_role|>system<|end_of_role|>' + message['content'] + '<|end_of_text|>\n' }}", "granite" },
        { "{{ '[|system|][|endofturn|]\\n' }}{{ '[|' + message['role'] + '|]'", "exaone3" },
        { "{{ 'GPT4 Correct ' + message['role'].title() + ': '", "openchat" },
        { "{{ 'USER: ' + message['content'] }}{{ 'ASSISTANT: ' + message['content'] }}", "vicuna" },
        /* of no family */
        { "", NULL },
        { "\\", NULL },
        { "{{ bos_token }}{{ message['content'] }}", NULL },
        { "<|im_start|>{% for message in messages %}User: {{ message['content'] }}<end_of_utterance>", NULL },
        { "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>{{ x }}<|START_RESPONSE|>", NULL },
    };
    /* clang-format on */
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct error err = { 0 };
        struct tiny t;
        tiny_begin(&t);
        tiny_str(&t, "tokenizer.chat_template", files[i].text);
        tiny_end(&t);
        struct gguf *g = gguf_parse("tiny", t.b.s, t.b.len, &err);
        assert_non_null(g);
        bool writes_bos;
        const struct chat_template *c = chat_template_detect(g, &writes_bos, &err);
        assert_int_equal(writes_bos, strstr(files[i].text, "bos_token") != NULL);
        const char *found = c ? chat_template_name(c) : NULL;
        if (!found != !files[i].name || (found && strcmp(found, files[i].name) != 0))
            fail_msg("\"%s\" is %s, expected %s", files[i].text, found ? found : "none",
                     files[i].name ? files[i].name : "none");
        if (!c && !strstr(err.msg, "of no family known here; name a chat template: phi4 "))
            fail_msg("%s", err.msg);
        gguf_close(g);
        strbuf_free(&t.b);
    }
}

static void no_template(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct tiny t;
    for (int wrong_type = 0; wrong_type < 2; wrong_type++) {
        tiny_begin(&t);
        if (wrong_type)
            tiny_int(&t, "tokenizer.chat_template", 5);
        tiny_end(&t);
        struct gguf *g = gguf_parse("tiny", t.b.s, t.b.len, &err);
        assert_non_null(g);
        bool writes_bos = true;
        assert_null(chat_template_detect(g, &writes_bos, &err));
        assert_false(writes_bos);
        assert_non_null(strstr(err.msg, wrong_type ? "tokenizer.chat_template" : "tiny: no tokenizer.chat_template; name"));
        gguf_close(g);
        strbuf_free(&t.b);
    }
}

/* ---- tokens -------------------------------------------------------------------------------- */

/* A control token counts in the template's parts and not in the message, even where it lies half in each. */
static void control_tokens(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct tiny t;
    struct token_list l = { 0 };
    tiny_spm(&t);
    struct gguf *g = gguf_parse("tiny", t.b.s, t.b.len, &err);
    struct tokenizer *tok = g ? tokenizer_new(g, &err) : NULL;
    assert_non_null(tok);
    /* "</s>" in the message: 259 _, 63 50 118 65 its bytes; <x> is user-defined: always a token */
    static const char text[] = "a</s></s><x>a</s>";
    const struct text_span message = { 5, 12 };
    assert_ok(tokenizer_encode_spans(tok, text, strlen(text), true, &message, 1, &l, &err), err);
    const int32_t want[] = { 1, 265, 2, 259, 63, 50, 118, 65, 268, 265, 2 };
    assert_int_equal(l.n, ARRAY_LEN(want));
    assert_memory_equal(l.id, want, sizeof want);
    l.n = 0;
    const struct text_span half[] = { { 0, 3 }, { 7, 8 } }; /* each cuts a "</s>" */
    assert_ok(tokenizer_encode_spans(tok, text, 9, false, half, 2, &l, &err), err);
    const int32_t bytes[] = { 265, 63, 50, 118, 65, 63, 50, 118, 65 };
    assert_int_equal(l.n, ARRAY_LEN(bytes));
    assert_memory_equal(l.id, bytes, sizeof bytes);
    l.n = 0;
    assert_ok(tokenizer_encode_spans(tok, text, 9, false, NULL, 0, &l, &err), err);
    assert_int_equal(l.n, 3);
    token_list_free(&l);
    tokenizer_free(tok);
    gguf_close(g);
    strbuf_free(&t.b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families),    cmocka_unit_test(names),          cmocka_unit_test(order),
        cmocka_unit_test(detection),   cmocka_unit_test(no_template),    cmocka_unit_test(control_tokens),
    };
    return cmocka_run_group_tests_name("chat", tests, NULL, NULL);
}
