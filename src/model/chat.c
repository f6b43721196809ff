/*
 * chat: chat template families. Sources: tokenizer.chat_template of the models named per row, as published. Computed texts (date,
 * tools) are omitted, so that prompts are reproducible.
 */
#include "model/chat.h"
#include <stdlib.h>
#include <string.h>

#define EOS "\1" /* placeholder of the model's EOS token text */

enum { TRIM_SYSTEM = 1, TRIM_USER = 2, TRIM_ASSISTANT = 4 };

struct wrap {
    const char *before, *after;
};

struct chat_template {
    const char *name, *also, *models; /* also: aliases, space-separated */
    const char *find[3];              /* all occur in the file's template (normalized newlines and quotes) */
    const char *lacks;                /* does not occur */
    const char *start;                /* prompt start */
    struct wrap system, user, assistant;
    const char *again; /* before every user turn but the first */
    const char *open;  /* start of the answer */
    enum chat_system system_kind;
    const char *default_system; /* used without a system message; NULL: no system turn */
    unsigned trim;
};

/* clang-format off */
#define CHATML                                             \
    .system = { "<|im_start|>system\n", "<|im_end|>\n" },  \
    .user = { "<|im_start|>user\n", "<|im_end|>\n" },      \
    .assistant = { "<|im_start|>assistant\n", "<|im_end|>\n" }
#define CHATML_OPEN "<|im_start|>assistant\n"
#define LLAMA3(dates)                                                                         \
    .system = { "<|start_header_id|>system<|end_header_id|>\n\n" dates, "<|eot_id|>" },       \
    .user = { "<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>" },                 \
    .assistant = { "<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>" },       \
    .open = "<|start_header_id|>assistant<|end_header_id|>\n\n",                              \
    .trim = TRIM_SYSTEM | TRIM_USER | TRIM_ASSISTANT
#define GEMMA                                                          \
    .user = { "<start_of_turn>user\n", "<end_of_turn>\n" },            \
    .assistant = { "<start_of_turn>model\n", "<end_of_turn>\n" },      \
    .open = "<start_of_turn>model\n", .trim = TRIM_USER | TRIM_ASSISTANT
/* U+FF5C in <｜User｜>, U+2581 in <｜end▁of▁sentence｜> */
#define BAR "\xEF\xBD\x9C"
#define LOW "\xE2\x96\x81"
#define DEEPSEEK_USER      "<" BAR "User" BAR ">"
#define DEEPSEEK_ASSISTANT "<" BAR "Assistant" BAR ">"
#define DEEPSEEK_END       "<" BAR "end" LOW "of" LOW "sentence" BAR ">"
#define COMMAND(role) "<|START_OF_TURN_TOKEN|><|" role "_TOKEN|>"
#define GRANITE(role) "<|start_of_role|>" role "<|end_of_role|>"

/* The first row whose texts occur in a template wins: specific rows first. */
static const struct chat_template templates[] = {
    { .name = "phi4", .models = "Phi-4", .find = { "<|im_sep|>" },
      .system = { "<|im_start|>system<|im_sep|>", "<|im_end|>" },
      .user = { "<|im_start|>user<|im_sep|>", "<|im_end|>" },
      .assistant = { "<|im_start|>assistant<|im_sep|>", "<|im_end|>" },
      .open = "<|im_start|>assistant<|im_sep|>" },
    { .name = "qwen3-thinking", .also = "qwq", .models = "QwQ, Qwen3 Thinking",
      .find = { "<|im_start|>assistant\n<think>\n'" }, CHATML, .open = CHATML_OPEN "<think>\n" },
    { .name = "qwen2.5", .models = "Qwen2.5",
      .find = { "<|im_start|>", "You are Qwen, created by Alibaba Cloud. You are a helpful assistant." },
      CHATML, .open = CHATML_OPEN,
      .default_system = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant." },
    { .name = "qwen2", .models = "Qwen2", .find = { "You are a helpful assistant.<|im_end|>" },
      CHATML, .open = CHATML_OPEN, .default_system = "You are a helpful assistant." },
    { .name = "qwen1.5", .models = "Qwen1.5", .find = { "You are a helpful assistant<|im_end|>" },
      CHATML, .open = CHATML_OPEN, .default_system = "You are a helpful assistant" },
    { .name = "smollm2", .models = "SmolLM2",
      .find = { "You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>" },
      CHATML, .open = CHATML_OPEN,
      .default_system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face" },
    { .name = "chatml", .also = "qwen3 smollm3", .models = "ChatML: Qwen3, SmolLM3, Hermes, Yi, InternLM2",
      .find = { "<|im_start|>" }, .lacks = "<end_of_utterance>", CHATML, .open = CHATML_OPEN },
    { .name = "gpt-oss", .also = "harmony", .models = "gpt-oss (harmony)",
      .find = { "<|start|>", "<|channel|>", "<|message|>" },
      .start = "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n"
               "Knowledge cutoff: 2024-06\n\nReasoning: medium\n\n# Valid channels: analysis, commentary, final. "
               "Channel must be included for every message.<|end|>",
      .system = { "<|start|>developer<|message|># Instructions\n\n", "\n\n<|end|>" },
      .user = { "<|start|>user<|message|>", "<|end|>" },
      .assistant = { "<|start|>assistant<|channel|>final<|message|>", "<|end|>" },
      .open = "<|start|>assistant" },
    { .name = "mistral-v7", .models = "Mistral Large 2411", .find = { "[SYSTEM_PROMPT] " },
      .system = { "[SYSTEM_PROMPT] ", "[/SYSTEM_PROMPT]" }, .user = { "[INST] ", "[/INST]" },
      .assistant = { " ", EOS } },
    { .name = "mistral-v7-tekken", .models = "Mistral Small 3", .find = { "[SYSTEM_PROMPT]" },
      .system = { "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]" }, .user = { "[INST]", "[/INST]" },
      .assistant = { "", EOS } },
    { .name = "mistral-v1", .models = "Mistral 7B v0.2, Mixtral 8x7B", .find = { "' [INST] ' + system_message" },
      .system = { "", "\n\n" }, .user = { " [INST] ", " [/INST]" }, .assistant = { " ", EOS },
      .system_kind = CHAT_SYSTEM_FIRST_USER },
    { .name = "mistral-v3-tekken", .models = "Mistral Nemo", .find = { "[AVAILABLE_TOOLS]", "'[INST]'" },
      .system = { "", "\n\n" }, .user = { "[INST]", "[/INST]" }, .assistant = { "", EOS },
      .system_kind = CHAT_SYSTEM_LAST_USER },
    { .name = "mistral-v3", .models = "Mistral 7B v0.3, Mistral Large 2407, Mixtral 8x22B", .find = { "[AVAILABLE_TOOLS]" },
      .system = { "", "\n\n" }, .user = { "[INST] ", "[/INST]" }, .assistant = { " ", EOS },
      .system_kind = CHAT_SYSTEM_LAST_USER, .trim = TRIM_ASSISTANT },
    { .name = "llama2", .models = "Llama 2 Chat, Code Llama", .find = { "[INST]", "<<SYS>>" },
      .system = { "<<SYS>>\n", "\n<</SYS>>\n\n" }, .user = { "[INST] ", " [/INST]" }, .assistant = { " ", " " EOS },
      .again = "<s>", .system_kind = CHAT_SYSTEM_FIRST_USER, .trim = TRIM_USER | TRIM_ASSISTANT },
    { .name = "mistral-v0", .models = "Mistral 7B v0.1", .find = { "[INST]" },
      .user = { "[INST] ", " [/INST]" }, .assistant = { "", EOS }, .system_kind = CHAT_SYSTEM_NONE },
    { .name = "llama4", .models = "Llama 4", .find = { "<|header_start|>", "<|header_end|>" },
      .system = { "<|header_start|>system<|header_end|>\n\n", "<|eot|>" },
      .user = { "<|header_start|>user<|header_end|>\n\n", "<|eot|>" },
      .assistant = { "<|header_start|>assistant<|header_end|>\n\n", "<|eot|>" },
      .open = "<|header_start|>assistant<|header_end|>\n\n", .trim = TRIM_SYSTEM | TRIM_USER | TRIM_ASSISTANT },
    { .name = "llama3.1", .also = "llama3.2 llama3.3", .models = "Llama 3.1, 3.2, 3.3",
      .find = { "<|start_header_id|>", "Cutting Knowledge Date" },
      LLAMA3("Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"), .default_system = "" },
    { .name = "llama3", .models = "Llama 3", .find = { "<|start_header_id|>", "<|end_header_id|>" }, LLAMA3("") },
    { .name = "gemma3", .models = "Gemma 3", .find = { "<start_of_turn>", "first_user_prefix" },
      .system = { "", "\n\n" }, GEMMA, .system_kind = CHAT_SYSTEM_FIRST_USER },
    { .name = "gemma", .also = "gemma2", .models = "Gemma, Gemma 2", .find = { "<start_of_turn>" }, GEMMA,
      .system_kind = CHAT_SYSTEM_NONE },
    { .name = "phi4-mini", .models = "Phi-4-mini", .find = { "'|>' + message['content'] + '<|end|>'" },
      .system = { "<|system|>", "<|end|>" }, .user = { "<|user|>", "<|end|>" },
      .assistant = { "<|assistant|>", "<|end|>" }, .open = "<|assistant|>" },
    { .name = "phi3", .models = "Phi-3, Phi-3.5", .find = { "<|assistant|>", "<|end|>" },
      .system = { "<|system|>\n", "<|end|>\n" }, .user = { "<|user|>\n", "<|end|>\n" },
      .assistant = { "<|assistant|>\n", "<|end|>\n" }, .open = "<|assistant|>\n" },
    { .name = "chatglm4", .also = "glm4", .models = "GLM-4 9B Chat",
      .find = { "[gMASK]<sop>", "<|{{ item['role'] }}|>" }, .start = "[gMASK]<sop>",
      .system = { "<|system|>\n", "" }, .user = { "<|user|>\n", "" }, .assistant = { "<|assistant|>\n", "" },
      .open = "<|assistant|>\n" },
    { .name = "tulu", .also = "olmo2 falcon3", .models = "Tulu 3, OLMo 2, Falcon 3",
      .find = { "'<|user|>\n' + message['content'] + '\n'" },
      .system = { "<|system|>\n", "\n" }, .user = { "<|user|>\n", "\n" },
      .assistant = { "<|assistant|>\n", EOS "\n" }, .open = "<|assistant|>\n" },
    { .name = "zephyr", .also = "tinyllama", .models = "Zephyr, TinyLlama, StableLM Zephyr",
      .find = { "<|user|>", "<|assistant|>", "eos_token" },
      .system = { "<|system|>\n", EOS "\n" }, .user = { "<|user|>\n", EOS "\n" },
      .assistant = { "<|assistant|>\n", EOS "\n" }, .open = "<|assistant|>\n" },
    { .name = "command-r", .models = "Command R", .find = { "<|START_OF_TURN_TOKEN|>", "<|USER_TOKEN|>" },
      .lacks = "<|START_RESPONSE|>",
      .system = { COMMAND("SYSTEM"), "<|END_OF_TURN_TOKEN|>" }, .user = { COMMAND("USER"), "<|END_OF_TURN_TOKEN|>" },
      .assistant = { COMMAND("CHATBOT"), "<|END_OF_TURN_TOKEN|>" }, .open = COMMAND("CHATBOT"),
      .trim = TRIM_USER | TRIM_ASSISTANT },
    { .name = "deepseek-v3.1", .models = "DeepSeek V3.1 (not thinking)", .find = { DEEPSEEK_ASSISTANT, "if not thinking" },
      .system = { "", "" }, .user = { DEEPSEEK_USER, "" },
      .assistant = { DEEPSEEK_ASSISTANT "</think>", DEEPSEEK_END }, .open = DEEPSEEK_ASSISTANT "</think>" },
    { .name = "deepseek-r1", .models = "DeepSeek R1", .find = { DEEPSEEK_ASSISTANT "<think>\n'" },
      .system = { "", "" }, .user = { DEEPSEEK_USER, "" },
      .assistant = { DEEPSEEK_ASSISTANT, DEEPSEEK_END }, .open = DEEPSEEK_ASSISTANT "<think>\n" },
    { .name = "deepseek-v3", .also = "deepseek3", .models = "DeepSeek V2.5, V3", .find = { DEEPSEEK_ASSISTANT, DEEPSEEK_USER },
      .system = { "", "" }, .user = { DEEPSEEK_USER, "" },
      .assistant = { DEEPSEEK_ASSISTANT, DEEPSEEK_END }, .open = DEEPSEEK_ASSISTANT },
    { .name = "deepseek-v2", .also = "deepseek2", .models = "DeepSeek LLM, V2",
      .find = { "'Assistant: ' + message['content'] + eos_token" },
      .system = { "", "\n\n" }, .user = { "User: ", "\n\n" }, .assistant = { "Assistant: ", EOS }, .open = "Assistant:" },
    { .name = "deepseek-coder", .models = "DeepSeek Coder", .find = { "### Instruction:", "<|EOT|>" },
      .system = { "", "" }, .user = { "### Instruction:\n", "\n" },
      .assistant = { "### Response:\n", "\n<|EOT|>\n" }, .open = "### Response:\n",
      .default_system = "You are an AI programming assistant, utilizing the Deepseek Coder model, developed by Deepseek "
                        "Company, and you only answer questions related to computer science. For politically sensitive "
                        "questions, security and privacy issues, and other non-computer science questions, you will "
                        "refuse to answer\n" },
    { .name = "granite", .models = "Granite 3", .find = { "<|start_of_role|>" },
      .system = { GRANITE("system"), "<|end_of_text|>\n" }, .user = { GRANITE("user"), "<|end_of_text|>\n" },
      .assistant = { GRANITE("assistant"), "<|end_of_text|>\n" }, .open = GRANITE("assistant") },
    { .name = "exaone3", .models = "EXAONE 3, 3.5", .find = { "[|system|]", "[|endofturn|]" }, .lacks = "[|tool|]",
      .system = { "[|system|]", "[|endofturn|]\n" }, .user = { "[|user|]", "\n" },
      .assistant = { "[|assistant|]", "[|endofturn|]\n" }, .open = "[|assistant|]", .default_system = "" },
    { .name = "openchat", .models = "OpenChat 3.5", .find = { "GPT4 Correct " },
      .system = { "GPT4 Correct System: ", "<|end_of_turn|>" }, .user = { "GPT4 Correct User: ", "<|end_of_turn|>" },
      .assistant = { "GPT4 Correct Assistant: ", "<|end_of_turn|>" }, .open = "GPT4 Correct Assistant:" },
    { .name = "vicuna", .models = "Vicuna 1.5", .find = { "USER: ", "ASSISTANT:" },
      .system = { "", " " }, .user = { "USER: ", " " }, .assistant = { "ASSISTANT: ", "</s>" }, .open = "ASSISTANT:",
      .default_system = "A chat between a curious user and an artificial intelligence assistant. The assistant gives "
                        "helpful, detailed, and polite answers to the user's questions." },
};
/* clang-format on */

const struct chat_template *chat_template_at(size_t i)
{
    return i < ARRAY_LEN(templates) ? &templates[i] : NULL;
}

const char *chat_template_name(const struct chat_template *c)
{
    return c->name;
}

const char *chat_template_models(const struct chat_template *c)
{
    return c->models;
}

enum chat_system chat_template_system(const struct chat_template *c)
{
    return c->system_kind;
}

const char *chat_template_default_system(const struct chat_template *c)
{
    return c->default_system;
}

/* ---- selection ---- */

static const char *names(char *buf, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(templates) && n < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%s", i ? " " : "", templates[i].name);
    return buf;
}

static bool is_named(const struct chat_template *c, const char *name)
{
    return strcmp(c->name, name) == 0 || (c->also && text_lists(c->also, name));
}

const struct chat_template *chat_template_find(const char *name, struct error *err)
{
    char known[700];
    for (size_t i = 0; i < ARRAY_LEN(templates); i++)
        if (is_named(&templates[i], name))
            return &templates[i];
    error_set(err, ERROR_USAGE, "chat template \"%.40s\" is not known; expected one of: %s", name,
              names(known, sizeof known));
    return NULL;
}

/* Normalizes "\n" escapes and quotes for the search. */
static void normalize(struct strbuf *b, struct gguf_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        const bool newline = s.s[i] == '\\' && i + 1 < s.len && s.s[i + 1] == 'n';
        const char c = newline ? '\n' : s.s[i] == '"' ? '\'' : s.s[i];
        strbuf_add(b, &c, 1);
        i += newline;
    }
}

static bool has(const struct strbuf *b, const char *s)
{
    return b->len && memmem(b->s, b->len, s, strlen(s)) != NULL;
}

static bool fits(const struct chat_template *c, const struct strbuf *text)
{
    for (size_t i = 0; i < ARRAY_LEN(c->find) && c->find[i]; i++)
        if (!has(text, c->find[i]))
            return false;
    return !c->lacks || !has(text, c->lacks);
}

const struct chat_template *chat_template_detect(const struct gguf *g, bool *writes_bos, struct error *err)
{
    static const char key[] = "tokenizer.chat_template";
    const struct chat_template *found = NULL;
    struct gguf_str s = { "", 0 };
    struct strbuf text = { 0 };
    char known[700];
    *writes_bos = false;
    if (gguf_opt_str(g, key, &s, err) != 0)
        return NULL;
    normalize(&text, s);
    if (text.oom) {
        error_oom(err, s.len, key);
        strbuf_free(&text);
        return NULL;
    }
    *writes_bos = has(&text, "bos_token");
    for (size_t i = 0; !found && i < ARRAY_LEN(templates); i++)
        if (fits(&templates[i], &text))
            found = &templates[i];
    if (!found)
        error_set(err, ERROR_INPUT, "%s: %s; name a chat template: %s", gguf_path(g),
                  gguf_has(g, key) ? "its tokenizer.chat_template is of no family known here"
                                   : "no tokenizer.chat_template",
                  names(known, sizeof known));
    strbuf_free(&text);
    return found;
}

/* ---- writing ----------------------------------------------------------------------- */

void chat_prompt_free(struct chat_prompt *p)
{
    strbuf_free(&p->text);
    free(p->message);
    *p = (struct chat_prompt){ 0 };
}

/* Appends a table text with EOS substituted. */
static void put(struct chat_prompt *p, const char *s, const char *eos)
{
    for (; s && *s; s++)
        if (*s == *EOS)
            strbuf_adds(&p->text, eos);
        else
            strbuf_add(&p->text, s, 1);
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void put_message(struct chat_prompt *p, const struct chat_message *m, bool trim)
{
    const char *s = m->text, *end = s + m->len;
    while (trim && s < end && is_space(*s))
        s++;
    while (trim && end > s && is_space(end[-1]))
        end--;
    if (end > s)
        p->message[p->n_message++] = (struct text_span){ p->text.len, p->text.len + (size_t)(end - s) };
    strbuf_add(&p->text, s, (size_t)(end - s));
}

/* "" if valid */
static const char *order_problem(const struct chat_message *m, size_t n)
{
    const size_t first = n && m[0].role == CHAT_SYSTEM;
    for (size_t i = first; i < n; i++)
        if (m[i].role != ((i - first) % 2 ? CHAT_ASSISTANT : CHAT_USER))
            return "expected user and assistant in turn after a system message or none";
    return (n - first) % 2 ? "" : "expected a user message at the end";
}

int chat_render(const struct chat_template *c, const struct chat_message *m, size_t n, const char *eos,
                struct chat_prompt *out, struct error *err)
{
    *out = (struct chat_prompt){ 0 };
    const char *problem = order_problem(m, n);
    const struct chat_message *system = n && m[0].role == CHAT_SYSTEM ? &m[0] : NULL;
    const bool own_turn = c->system_kind == CHAT_SYSTEM_TURN;
    const size_t first = system != NULL;
    if (*problem)
        return error_set(err, ERROR_USAGE, "%zu messages: %s", n, problem);
    if (system && c->system_kind == CHAT_SYSTEM_NONE)
        return error_set(err, ERROR_USAGE, "chat template %s has no system message", c->name);
    out->message = calloc(n, sizeof *out->message);
    if (!out->message)
        return error_oom(err, n * sizeof *out->message, "the prompt");
    put(out, c->start, eos);
    if (own_turn && (system || c->default_system)) {
        put(out, c->system.before, eos);
        if (system)
            put_message(out, system, c->trim & TRIM_SYSTEM);
        else
            put(out, c->default_system, eos);
        put(out, c->system.after, eos);
    }
    for (size_t i = first; i < n; i++) {
        const bool user = m[i].role == CHAT_USER;
        const struct wrap *w = user ? &c->user : &c->assistant;
        if (user && i > first)
            put(out, c->again, eos);
        put(out, w->before, eos);
        if (user && system && !own_turn && i == (c->system_kind == CHAT_SYSTEM_FIRST_USER ? first : n - 1)) {
            put(out, c->system.before, eos);
            put_message(out, system, c->trim & TRIM_SYSTEM);
            put(out, c->system.after, eos);
        }
        put_message(out, &m[i], c->trim & (user ? TRIM_USER : TRIM_ASSISTANT));
        put(out, w->after, eos);
    }
    put(out, c->open, eos);
    if (!out->text.oom)
        return 0;
    chat_prompt_free(out);
    return error_oom(err, 0, "the prompt");
}
