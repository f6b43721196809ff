/* cli internals: `roofcast serve --http`. */
#ifndef CLI_SERVE_HTTP_H
#define CLI_SERVE_HTTP_H

#include "cli/serve.h"
#include "server/http_server.h"

struct serve_http {
    const char *address, *api_key, *name, *chat_template; /* name, chat_template NULL: the file's */
    int64_t max_connections, max_queued;  /* 0: the default; any number */
};

/*
 * Serves until a signal: the first SIGINT or SIGTERM takes no more requests and ends when those here have ended; a second one ends at once.
 *
 * errors   the address, a file without tokenizer, the engine's
 */
int serve_http_run(const struct serve_setup *x, const struct serve_setup_options *so, const struct serve_http *o, struct error *err);

#endif
