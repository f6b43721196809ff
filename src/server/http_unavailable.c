/* The HTTP server of a build without libmicrohttpd. */
#include "server/http_server.h"

struct http_server *http_server_new(const struct http_options *o, const struct served_model *m, struct loop *l, struct error *err)
{
    (void)o;
    (void)m;
    (void)l;
    error_set(err, ERROR_UNAVAILABLE, "--http: unavailable: built without libmicrohttpd");
    return NULL;
}

uint16_t http_server_port(const struct http_server *s)
{
    (void)s;
    return 0;
}

void http_server_drain(struct http_server *s)
{
    (void)s;
}

bool http_server_idle(struct http_server *s)
{
    (void)s;
    return true;
}

void http_server_free(struct http_server *s)
{
    (void)s;
}
