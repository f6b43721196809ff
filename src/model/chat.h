/*
 * chat: prompts of chat models from a table of template families. Jinja is not executed: a file's template is identified by texts in it.
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

/* Placement of a system message. */
enum chat_system {
    CHAT_SYSTEM_TURN,       /* separate first turn */
    CHAT_SYSTEM_FIRST_USER, /* prepended to the first user message */
    CHAT_SYSTEM_LAST_USER,  /* prepended to the last user message */
    CHAT_SYSTEM_NONE,       /* an error, as in the models' templates */
};

struct chat_template; /* a table row */

/* A prompt for tokenizer_encode_spans: control tokens are recognised outside of the messages only. */
struct chat_prompt {
    struct strbuf text;
    struct text_span *message; /* message texts within it, ascending */
    size_t n_message;
};
void chat_prompt_free(struct chat_prompt *p);

/* Row i, NULL past the end. */
const struct chat_template *chat_template_at(size_t i);
const char *chat_template_name(const struct chat_template *c);
const char *chat_template_models(const struct chat_template *c); /* "Qwen 2.5" */
enum chat_system chat_template_system(const struct chat_template *c);
const char *chat_template_default_system(const struct chat_template *c); /* NULL: none */

/* By name; ERROR_USAGE lists the names. */
const struct chat_template *chat_template_find(const char *name, struct error *err);
/* By the file's tokenizer.chat_template; a missing or unknown template is an error that lists the names. *writes_bos: the template
 * itself writes BOS. */
const struct chat_template *chat_template_detect(const struct gguf *g, bool *writes_bos, struct error *err);

/*
 * Renders n messages and the start of an answer: an optional system message, then alternating user and assistant, user last. White
 * space is trimmed where the template does. BOS is not included: tokenizer_encode_spans adds it if the file asks for it, the caller if
 * the template writes it.
 *
 * eos      text of the EOS token, for families that write it ("" for none)
 * errors   wrong order of messages; a system message the family does not support
 */
int chat_render(const struct chat_template *c, const struct chat_message *m, size_t n, const char *eos,
                struct chat_prompt *out, struct error *err);

#endif
