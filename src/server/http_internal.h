/*
 * http_internal.h: shared by the HTTP server. Threads: callbacks of libmicrohttpd all run on its one thread, which owns calls and their bodies.
 * The helper thread runs jobs (parsing, tokens, submission) while the connection of the call is suspended, and watches connections. The list of
 * connections is under http_server.lock, which is taken before an answer's.
 */
#ifndef SERVER_HTTP_INTERNAL_H
#define SERVER_HTTP_INTERNAL_H

#include "server/answer.h"
#include "server/http_server.h"
#include <microhttpd.h>

struct call;
typedef void endpoint_fn(struct http_server *s, struct call *c);

struct endpoint {
    const char *path;
    bool post; /* POST, a job of the helper; else GET and HEAD, answered at once */
    bool open; /* without a key */
    endpoint_fn *run;
};
/* NULL: no such path. */
const struct endpoint *endpoint_find(const char *url);

enum peer_state { PEER_READING, PEER_BUSY, PEER_IDLE };

/* A connection. */
struct peer {
    struct peer *prev, *next;
    uint64_t serial; /* names it in events */
    int fd;
    enum peer_state state;
    double since_s;        /* of the state */
    bool extra;            /* beyond max_connections */
    bool gone;             /* the client has closed its side: requests of the loop are aborted */
    bool doomed;           /* its end is under way */
    struct answer *answer; /* of its call; NULL: none */
};

enum call_state { CALL_BODY, CALL_JOB, CALL_READY };

/* One request of a connection. */
struct call {
    struct http_server *server;
    struct peer *peer;
    struct MHD_Connection *connection;
    const struct endpoint *endpoint;
    const char *url;
    enum call_state state;
    struct strbuf body;
    size_t n_seen;          /* bytes of the body, kept or not */
    struct api_error error; /* status 0: none */
    bool allow;             /* with header Allow: a 405 */
    struct strbuf reply;    /* of an endpoint without answer */
    const char *reply_type;
    struct answer *answer;
    bool parked;            /* suspended until the answer wakes it; under the answer's lock */
    struct call *next_job;  /* under server->lock */
};

struct http_server {
    struct http_options o;
    struct served_model model;
    struct loop *loop;
    struct api_limits limits;
    struct MHD_Daemon *daemon;
    int listen_fd, epoll_fd, event_fd;
    uint16_t port;
    pthread_t helper;
    bool helper_runs;
    int64_t started; /* seconds since 1970 */
    atomic_bool draining, stopping;
    atomic_uint n_busy;  /* calls with an answer or a job */
    size_t held_bytes;   /* of bodies; libmicrohttpd's thread */
    struct rng rng;      /* seeds of requests without; the helper's */

    pthread_mutex_t lock;
    struct peer *peers;
    uint32_t n_peers;
    uint64_t last_serial;
    struct call *first_job, *last_job;
};

/* ---- http_helper.c ---- */
int helper_start(struct http_server *s, struct error *err);
void helper_stop(struct http_server *s);
/* Its connection must be suspended already. */
void helper_push(struct http_server *s, struct call *c);

/* ---- http_peers.c ---- */
/* libmicrohttpd's notices of connections. */
void peers_notice(void *cls, struct MHD_Connection *connection, void **socket_context, enum MHD_ConnectionNotificationCode code);
struct peer *peer_of(struct MHD_Connection *connection);
void peer_set_state(struct http_server *s, struct peer *p, enum peer_state state);
/* The peer's answer, which a hang-up aborts. */
void peer_set_answer(struct http_server *s, struct peer *p, struct answer *a);
/* The client of that connection has closed its side. */
void peers_hung_up(struct http_server *s, uint64_t serial);
/* Requests that take too long, idle connections, silent streams. */
void peers_tick(struct http_server *s);
void peers_abort_all(struct http_server *s);
/* Sends an error at once, past libmicrohttpd, of a request that is not complete; the caller closes. */
void peer_refuse(const struct peer *p, const struct api_error *e);

/* ---- http_call.c ---- */
enum MHD_Result call_handle(void *cls, struct MHD_Connection *connection, const char *url, const char *method, const char *version, const char *data,
                            size_t *size, void **context);
void call_completed(void *cls, struct MHD_Connection *connection, void **context, enum MHD_RequestTerminationCode how);
/* Same length and bytes, in a time that depends on the length of `given` alone. */
bool key_equal(const char *key, const char *given);

#endif
