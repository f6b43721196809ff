/*
 * chat: prompts of chat models. A table of families, each the text that its models' templates put around messages;
 * Jinja, the language those templates are written in, is not run: a file's template is recognised by texts in it.
 */
#ifndef MODEL_CHAT_H
#define MODEL_CHAT_H

#include "base/base.h"
#include "gguf/gguf.h"
#include "model/tokenizer.h"

enum chat_role { CHAT_SYSTEM, CHAT_USER, CHAT_ASSISTANT };

struct chat_message {
    enum chat_role role;
    const char *text;
    size_t len;
};

/* What a family does with a system message. */
enum chat_system {
    CHAT_SYSTEM_TURN,       /* a turn of its own, first */
    CHAT_SYSTEM_FIRST_USER, /* put in front of the first user message */
    CHAT_SYSTEM_LAST_USER,  /* put in front of the last user message */
    CHAT_SYSTEM_NONE,       /* refused, as by its models' template */
};

struct chat_template; /* opaque: a row of the table */

/* The prompt, ready for tokenizer_encode_spans: control tokens count only outside of the messages. */
struct chat_prompt {
    struct strbuf text;
    struct text_span *message; /* the callers' texts within it, ascending */
    size_t n_message;
};
void chat_prompt_free(struct chat_prompt *p);

/* Row i of the table, NULL behind the last. */
const struct chat_template *chat_template_at(size_t i);
const char *chat_template_name(const struct chat_template *c);
const char *chat_template_models(const struct chat_template *c); /* "Qwen 2.5" */
enum chat_system chat_template_system(const struct chat_template *c);
const char *chat_template_default_system(const struct chat_template *c); /* NULL: none */

/* By name, or ERROR_USAGE with the names there are. */
const struct chat_template *chat_template_find(const char *name, struct error *err);
/* By tokenizer.chat_template of the file; no such key, or a template of no family here, is an error with the names.
 * *writes_bos: that template begins a sequence itself, whatever the file asks for elsewhere. */
const struct chat_template *chat_template_detect(const struct gguf *g, bool *writes_bos, struct error *err);

/*
 * The prompt that asks for an answer to n messages: a system message or none, then user and assistant in turn, user
 * last. White space around a message goes where the family's template trims it. The token that begins a sequence is not
 * in it: tokenizer_encode_spans puts it there where the file asks for one; the caller, where the file's template does.
 *
 * eos      text of the model's end-of-sequence token, for families that write it by that name ("" for none)
 * errors   messages out of order, a system message where the family has none
 */
int chat_render(const struct chat_template *c, const struct chat_message *m, size_t n, const char *eos,
                struct chat_prompt *out, struct error *err);

#endif
