/* A request from its headers to its reply. */
#include "server/http_internal.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Bodies that are refused are read to their end up to here, so that the client reads the reply and not a reset. */
#define SWALLOW_BYTES ((size_t)64 << 20)
/* Bodies of all connections together, in largest bodies. */
enum { HELD_BODIES = 8 };

/* ---- replies --------------------------------------------------------------------------------------------- */

static void add_origin(struct call *c, struct MHD_Response *r)
{
    const char *origin = MHD_lookup_connection_value(c->connection, MHD_HEADER_KIND, "Origin");
    if (origin)
        MHD_add_response_header(r, "Access-Control-Allow-Origin", origin);
}

static enum MHD_Result queue(struct call *c, int status, const char *type, struct MHD_Response *r)
{
    if (!r)
        return MHD_NO;
    if (type)
        MHD_add_response_header(r, "Content-Type", type);
    if (c->allow)
        MHD_add_response_header(r, "Allow", c->endpoint->post ? "POST, OPTIONS" : "GET, HEAD, OPTIONS");
    if (status == 503)
        MHD_add_response_header(r, "Retry-After", "1");
    if (status == 401)
        MHD_add_response_header(r, "WWW-Authenticate", "Bearer");
    if (c->peer->extra || status == 408 || status == 413)
        MHD_add_response_header(r, "Connection", "close");
    add_origin(c, r);
    peer_set_state(c->server, c->peer, PEER_BUSY);
    const enum MHD_Result rc = MHD_queue_response(c->connection, (unsigned)status, r);
    MHD_destroy_response(r);
    return rc;
}

static enum MHD_Result queue_text(struct call *c, int status, const char *type, const struct strbuf *b)
{
    const char *text = strbuf_text(b, "a reply", NULL);
    if (!text)
        return MHD_NO; /* no memory: the connection closes */
    return queue(c, status, type, MHD_create_response_from_buffer(b->len, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY));
}

static enum MHD_Result queue_error(struct call *c)
{
    struct strbuf b = { 0 };
    api_error_write(&b, &c->error);
    const enum MHD_Result rc = queue_text(c, c->error.status, "application/json", &b);
    strbuf_free(&b);
    return rc;
}

/* A browser asks what it may send; as llama-server answers. */
static enum MHD_Result queue_preflight(struct call *c)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
    if (!r)
        return MHD_NO;
    MHD_add_response_header(r, "Access-Control-Allow-Credentials", "true");
    MHD_add_response_header(r, "Access-Control-Allow-Methods", "GET, POST");
    MHD_add_response_header(r, "Access-Control-Allow-Headers", "*");
    return queue(c, 200, "text/html", r);
}

/* ---- answers of the loop ------------------------------------------------------------------------------------ */

/* Both with the answer locked. */
static void park(void *ctx)
{
    struct call *c = ctx;
    c->parked = true;
    MHD_suspend_connection(c->connection);
}

static void wake(void *ctx)
{
    struct call *c = ctx;
    if (c->parked) {
        c->parked = false;
        MHD_resume_connection(c->connection);
    }
}

static ssize_t read_stream(void *cls, uint64_t pos, char *buf, size_t max)
{
    struct call *c = cls;
    size_t n = 0;
    (void)pos;
    switch (answer_read(c->answer, buf, max, &n, park, c)) {
    case ANSWER_BYTES:
        return (ssize_t)n;
    case ANSWER_WAITING:
        return 0;
    case ANSWER_END:
        return MHD_CONTENT_READER_END_OF_STREAM;
    case ANSWER_GONE:
        break;
    }
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

static enum MHD_Result queue_stream(struct call *c)
{
    struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16 << 10, read_stream, c, NULL);
    if (r) {
        MHD_add_response_header(r, "Cache-Control", "no-cache");
        MHD_add_response_header(r, "X-Accel-Buffering", "no");
    }
    return queue(c, 200, "text/event-stream", r);
}

static enum MHD_Result queue_whole(struct call *c)
{
    struct strbuf b = { 0 };
    size_t n;
    int status;
    switch (answer_complete(c->answer, &status, &n, park, c)) {
    case ANSWER_WAITING:
        return MHD_YES;
    case ANSWER_BYTES:
        break;
    case ANSWER_END:
    case ANSWER_GONE:
        return MHD_NO;
    }
    b.s = malloc(n + 1);
    b.cap = n + 1;
    b.oom = !b.s;
    if (b.s && answer_read(c->answer, b.s, n, &b.len, NULL, NULL) != ANSWER_BYTES)
        b.oom = true;
    const enum MHD_Result rc = queue_text(c, status, "application/json", &b);
    strbuf_free(&b);
    return rc;
}

/* ---- headers --------------------------------------------------------------------------------------------------- */

bool key_equal(const char *key, const char *given)
{
    const size_t n_key = strlen(key), n = strlen(given);
    volatile unsigned differ = n_key != n;
    for (size_t i = 0; i < n; i++)
        differ |= (unsigned)(unsigned char)given[i] ^ (unsigned)(unsigned char)key[n_key > 0 ? i % n_key : 0];
    return differ == 0;
}

static bool has_key(const struct call *c)
{
    const char *v = MHD_lookup_connection_value(c->connection, MHD_HEADER_KIND, "Authorization");
    if (v && strncasecmp(v, "Bearer ", 7) == 0)
        v += 7;
    else
        v = MHD_lookup_connection_value(c->connection, MHD_HEADER_KIND, "X-Api-Key");
    return key_equal(c->server->o.api_key, v ? v : "");
}

static enum MHD_Result add_size(void *cls, enum MHD_ValueKind kind, const char *key, const char *value)
{
    size_t *n = cls;
    (void)kind;
    *n += strlen(key) + (value ? strlen(value) : 0) + 4;
    return MHD_YES;
}

/* What the headers decide: c->endpoint or c->error. */
static void check_headers(struct call *c, const char *method, size_t length)
{
    struct http_server *s = c->server;
    size_t n = strlen(c->url);
    MHD_get_connection_values(c->connection, MHD_HEADER_KIND, add_size, &n);
    c->endpoint = endpoint_find(c->url);
    const bool get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    if (s->stopping)
        api_error_set(&c->error, 503, NULL, NULL, "the server ends");
    else if (c->peer->extra)
        api_error_set(&c->error, 503, NULL, NULL, "more than %u connections", s->o.max_connections);
    else if (n > s->o.max_header_bytes)
        api_error_set(&c->error, 431, NULL, NULL, "headers: expected at most %zu bytes, found %zu", s->o.max_header_bytes, n);
    else if (strcmp(method, "OPTIONS") == 0)
        return;
    else if (s->o.api_key && !(c->endpoint && c->endpoint->open) && !has_key(c))
        api_error_set(&c->error, 401, "invalid_api_key", NULL, "the API key is missing or wrong");
    else if (!c->endpoint)
        api_error_set(&c->error, 404, NULL, NULL, "no such endpoint: %.200s", c->url);
    else if (c->endpoint->post ? strcmp(method, "POST") != 0 : !get) {
        c->allow = true;
        api_error_set(&c->error, 405, NULL, NULL, "%s: expected %s, found %.20s", c->endpoint->path, c->endpoint->post ? "POST" : "GET", method);
    } else if (length > s->o.max_body_bytes)
        api_error_set(&c->error, 413, NULL, NULL, "the body: expected at most %zu bytes, found %zu", s->o.max_body_bytes, length);
}

/* First call: the headers have arrived. */
static enum MHD_Result begin(struct http_server *s, struct MHD_Connection *connection, const char *url, const char *method, void **context)
{
    struct peer *p = peer_of(connection);
    struct call *c = p ? calloc(1, sizeof *c) : NULL;
    const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
    const char *coding = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding");
    const char *expect = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Expect");
    if (!c)
        return MHD_NO;
    *context = c;
    c->server = s;
    c->peer = p;
    c->connection = connection;
    c->url = url;
    const unsigned long long n = length ? strtoull(length, NULL, 10) : 0;
    check_headers(c, method, n > SIZE_MAX ? SIZE_MAX : (size_t)n);
    if (c->error.status && ((!coding && n == 0) || n > SWALLOW_BYTES || expect))
        return queue_error(c);
    return MHD_YES;
}

/* ---- body ----------------------------------------------------------------------------------------------------------- */

static void drop_body(struct call *c)
{
    c->server->held_bytes -= c->body.len;
    strbuf_free(&c->body);
}

static enum MHD_Result take_body(struct call *c, const char *data, size_t *size)
{
    struct http_server *s = c->server;
    const size_t n = *size;
    *size = 0;
    c->n_seen += n;
    if (!c->error.status && c->n_seen > s->o.max_body_bytes)
        api_error_set(&c->error, 413, NULL, NULL, "the body: expected at most %zu bytes", s->o.max_body_bytes);
    else if (!c->error.status && s->held_bytes + n > HELD_BODIES * s->o.max_body_bytes)
        api_error_set(&c->error, 503, NULL, NULL, "too many requests are arriving");
    if (c->error.status) {
        drop_body(c);
        if (c->n_seen <= SWALLOW_BYTES)
            return MHD_YES;
        peer_refuse(c->peer, &c->error);
        return MHD_NO;
    }
    strbuf_add(&c->body, data, n);
    s->held_bytes += n;
    if (c->body.oom) {
        s->held_bytes -= n; /* it was not added */
        api_error_set(&c->error, 503, NULL, NULL, "out of memory");
        drop_body(c);
    }
    return MHD_YES;
}

/* The request is whole. */
static enum MHD_Result dispatch(struct call *c, const char *method)
{
    struct http_server *s = c->server;
    peer_set_state(s, c->peer, PEER_BUSY);
    if (c->error.status)
        return queue_error(c);
    if (strcmp(method, "OPTIONS") == 0)
        return queue_preflight(c);
    if (!c->endpoint->post) {
        c->endpoint->run(s, c);
        return c->error.status ? queue_error(c) : queue_text(c, 200, c->reply_type, &c->reply);
    }
    s->n_busy++;
    c->state = CALL_JOB;
    MHD_suspend_connection(c->connection);
    helper_push(s, c);
    return MHD_YES;
}

/* The job has been done. */
static enum MHD_Result finish(struct call *c)
{
    drop_body(c);
    if (c->error.status)
        return queue_error(c);
    if (!c->answer)
        return queue_text(c, 200, c->reply_type, &c->reply);
    answer_set_wake(c->answer, wake, c);
    return answer_streams(c->answer) ? queue_stream(c) : queue_whole(c);
}

enum MHD_Result call_handle(void *cls, struct MHD_Connection *connection, const char *url, const char *method, const char *version, const char *data,
                            size_t *size, void **context)
{
    struct call *c = *context;
    (void)version;
    if (!c)
        return begin(cls, connection, url, method, context);
    c->url = url;
    if (*size > 0)
        return take_body(c, data, size);
    switch (c->state) {
    case CALL_BODY:
        return dispatch(c, method);
    case CALL_JOB:
        return MHD_YES;
    case CALL_READY:
        return finish(c);
    }
    return MHD_NO;
}

void call_completed(void *cls, struct MHD_Connection *connection, void **context, enum MHD_RequestTerminationCode how)
{
    struct http_server *s = cls;
    struct call *c = *context;
    (void)connection;
    (void)how;
    if (!c)
        return;
    peer_set_answer(s, c->peer, NULL);
    answer_free(c->answer);
    drop_body(c);
    strbuf_free(&c->reply);
    if (c->state != CALL_BODY)
        s->n_busy--;
    peer_set_state(s, c->peer, PEER_IDLE);
    free(c);
    *context = NULL;
}
