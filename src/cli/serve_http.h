/* cli internals: `roofcast serve --http`. */
#ifndef CLI_SERVE_HTTP_H
#define CLI_SERVE_HTTP_H

#include "cli/serve.h"
#include "server/http_server.h"
#include <sched.h>

struct serve_http_options {
    struct http_options http;
    char address[64];   /* http.address */
    const char *name;   /* of the model; NULL: the file's */
    const char *chat_template; /* its name; NULL: the file's */
    int64_t max_queued; /* requests that wait; 0: no limit */
    bool on;
    cpu_set_t cpus;     /* of the program, before the engine pinned the caller */
};

/* Serves until a signal, then what runs to its end. errors: the address, the tokenizer; the engine's */
int serve_http(const struct serve_http_options *o, const struct serve_setup *x, const struct serve_setup_options *so, struct error *err);

#endif
