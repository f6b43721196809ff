/*
 * api_fields.h: fields of a JSON body with errors for a client. An absent field or null leaves *out as it was. All return 0, or -1 and *e
 * (400, param: the field).
 */
#ifndef SERVER_API_FIELDS_H
#define SERVER_API_FIELDS_H

#include "base/json.h"
#include "server/api_request.h"

/* An object, else NULL and *e. */
json_t *field_parse(const char *body, size_t size, struct api_error *e);
/* The value; NULL: absent or null. */
const json_t *field(const json_t *o, const char *key);
int field_bool(const json_t *o, const char *key, bool *out, struct api_error *e);
int field_num(const json_t *o, const char *key, double lo, double hi, double *out, struct api_error *e);
int field_int(const json_t *o, const char *key, int64_t lo, int64_t hi, int64_t *out, struct api_error *e);
/* A copy; free() what *out was before. */
int field_text(const json_t *o, const char *key, char **out, struct api_error *e);
/* Token ids of an array; *out is allocated. */
int field_tokens(const json_t *v, const char *key, uint32_t n_vocab, int32_t **out, size_t *n, struct api_error *e);
/* 500. Always returns -1. */
int field_oom(struct api_error *e);
/* Says what the field should have been and what it is. Always returns -1. */
int field_type(struct api_error *e, const char *key, const char *expected, const json_t *found);

/* Messages of a chat, with roles system (developer), user and assistant, content a text or parts of type text. */
int messages_parse(struct api_request *r, const json_t *messages, struct api_error *e);
/* Fields that ask for what this server does not do. */
int refused_parse(const json_t *o, struct api_error *e);

#endif
