/* api_error.h: errors of the HTTP API: a status and OpenAI's error object. */
#ifndef SERVER_API_ERROR_H
#define SERVER_API_ERROR_H

#include "base/base.h"

struct api_error {
    int status;       /* HTTP: 400, 401, ... */
    const char *code; /* "context_length_exceeded"; NULL: none */
    char param[64];   /* field of the body, "": none */
    char message[768];
};

/* Fills *e. Always returns -1. param may be NULL. */
int api_error_set(struct api_error *e, int status, const char *code, const char *param, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* "invalid_request_error", ... of a status. */
const char *api_error_type(int status);
/* {"error": {"message", "type", "param", "code"}} */
void api_error_write(struct strbuf *b, const struct api_error *e);

#endif
