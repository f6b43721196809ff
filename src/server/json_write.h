/* json_write.h: JSON as text, written without a tree: a chunk a token. */
#ifndef SERVER_JSON_WRITE_H
#define SERVER_JSON_WRITE_H

#include "base/base.h"
#include <string.h>

/* A string with its quotes. Bytes that are not UTF-8 become U+FFFD each. */
void json_write_text(struct strbuf *b, const char *s, size_t n);
/* 9 digits; NaN and infinity are null. */
void json_write_num(struct strbuf *b, double v);

#endif
