/* text_stream.h: generated text in pieces: whole UTF-8 characters, and nothing of a stop text. */
#ifndef MODEL_TEXT_STREAM_H
#define MODEL_TEXT_STREAM_H

#include "base/base.h"

/* Texts that end generation. */
struct stop_list {
    const char **text;
    size_t n, cap;
};
int stop_list_add(struct stop_list *l, const char *text, struct error *err);
void stop_list_free(struct stop_list *l);

/*
 * Streams text in pieces, holding back unfinished UTF-8 characters and possible beginnings of stop texts. Zero-initialised except `stops`
 * and `sink`.
 */
struct text_stream {
    const struct stop_list *stops;
    FILE *sink;              /* NULL: collect only */
    struct strbuf out, held; /* text written; text held back */
    const char *stopped_by;  /* stop text found; part of neither */
    int failed;              /* errno of the first failed write, after which nothing is written */
};
void text_stream_add(struct text_stream *t, const char *s, size_t n);
/* Flushes the text held back, without the bytes of an unfinished character. */
void text_stream_end(struct text_stream *t);
void text_stream_free(struct text_stream *t);

#endif
