/* The daemon. */
#include "server/http_internal.h"
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Of a connection: request line, headers, and a piece of the body. */
enum { POOL_BYTES = 64 << 10, MAX_HEADER_BYTES = 48 << 10, SPARE_CONNECTIONS = 64, BACKLOG = 511 };

static int check(const struct http_options *o, struct error *err)
{
    if (o->max_connections < 1 || o->max_connections > HTTP_MAX_CONNECTIONS)
        return error_set(err, ERROR_USAGE, "connections: expected 1 to %d, found %u", HTTP_MAX_CONNECTIONS, o->max_connections);
    if (o->max_header_bytes < 1024 || o->max_header_bytes > MAX_HEADER_BYTES)
        return error_set(err, ERROR_USAGE, "bytes of headers: expected 1024 to %d, found %zu", MAX_HEADER_BYTES, o->max_header_bytes);
    if (!(o->request_s > 0 && o->request_s <= 86400 && o->idle_s > 0 && o->idle_s <= 86400 && o->ping_s > 0))
        return error_set(err, ERROR_USAGE, "time of a request, and between requests: expected more than 0, at most 86400 s, found %g and %g",
                         o->request_s, o->idle_s);
    if (o->api_key && !*o->api_key)
        return error_set(err, ERROR_USAGE, "--api-key: expected a key, found an empty one");
    return 0;
}

/* ---- the socket -------------------------------------------------------------------------------------- */

static int open_socket(const struct addrinfo *a)
{
    const int on = 1, fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    const int e = errno;
    close(fd);
    errno = e;
    return -1;
}

static uint16_t bound_port(int fd)
{
    struct sockaddr_storage a;
    socklen_t n = sizeof a;
    if (getsockname(fd, (struct sockaddr *)&a, &n) != 0)
        return 0;
    return ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port : ((struct sockaddr_in *)&a)->sin_port);
}

static int listen_on(struct http_server *s, struct error *err)
{
    struct addrinfo want = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE }, *found;
    const char *address = strcmp(s->o.address, "localhost") == 0 ? "127.0.0.1" : s->o.address;
    char port[8];
    snprintf(port, sizeof port, "%u", s->o.port);
    const int rc = getaddrinfo(address, port, &want, &found);
    if (rc != 0)
        return error_set(err, ERROR_USAGE, "--http: expected a numeric address, found \"%s\": %s", s->o.address, gai_strerror(rc));
    s->listen_fd = open_socket(found);
    freeaddrinfo(found);
    if (s->listen_fd < 0)
        return error_set(err, ERROR_SYSTEM, "--http: cannot listen on %s port %u: %s", address, s->o.port, strerror(errno));
    s->port = bound_port(s->listen_fd);
    return 0;
}

/* ---- the daemon ---------------------------------------------------------------------------------------- */

/* A request line has arrived: the time of its request runs. */
static void *begin_request(void *cls, const char *uri, struct MHD_Connection *connection)
{
    struct peer *p = peer_of(connection);
    (void)uri;
    if (p && p->state == PEER_IDLE)
        peer_set_state(cls, p, PEER_READING);
    return NULL;
}

static void no_log(void *cls, const char *format, va_list ap)
{
    (void)cls;
    (void)format;
    (void)ap;
}

static int start_daemon(struct http_server *s, struct error *err)
{
    /* poll, not epoll: with epoll, libmicrohttpd 0.9.75 misses the reset of a connection that was suspended, until something else happens. Few
     * connections are polled, for those that wait for tokens are suspended. */
    /* libmicrohttpd's own limit closes what is silent without a word: after the server's. */
    const unsigned timeout_s = (unsigned)max2(s->o.idle_s, s->o.request_s) + 2;
    s->daemon = MHD_start_daemon(MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL, call_handle, s,
                                 MHD_OPTION_EXTERNAL_LOGGER, no_log, NULL, MHD_OPTION_LISTEN_SOCKET, s->listen_fd, MHD_OPTION_CONNECTION_LIMIT,
                                 s->o.max_connections + SPARE_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES,
                                 MHD_OPTION_CONNECTION_TIMEOUT, timeout_s, MHD_OPTION_NOTIFY_CONNECTION, peers_notice, s,
                                 MHD_OPTION_NOTIFY_COMPLETED, call_completed, s, MHD_OPTION_URI_LOG_CALLBACK, begin_request, s, MHD_OPTION_END);
    return s->daemon ? 0 : error_set(err, ERROR_SYSTEM, "--http: libmicrohttpd does not start: %s", strerror(errno));
}

static void init(struct http_server *s, const struct http_options *o, const struct served_model *m, struct loop *l)
{
    rng_init(&s->rng, rng_entropy());
    pthread_mutex_init(&s->lock, NULL);
    s->o = *o;
    s->o.max_body_bytes = o->max_body_bytes > 0 ? o->max_body_bytes : ((size_t)1 << 20) + 64 * (size_t)m->max_model_len;
    s->model = *m;
    s->loop = l;
    s->limits = (struct api_limits){ tokenizer_n_vocab(m->tokenizer), m->max_model_len };
    s->listen_fd = s->epoll_fd = s->event_fd = -1;
    s->started = (int64_t)time(NULL);
}

struct http_server *http_server_new(const struct http_options *o, const struct served_model *m, struct loop *l, struct error *err)
{
    if (check(o, err) != 0)
        return NULL;
    struct http_server *s = calloc(1, sizeof *s);
    if (!s) {
        error_oom(err, sizeof *s, "the HTTP server");
        return NULL;
    }
    init(s, o, m, l);
    if (listen_on(s, err) == 0 && helper_start(s, err) == 0 && start_daemon(s, err) == 0)
        return s;
    http_server_free(s);
    return NULL;
}

uint16_t http_server_port(const struct http_server *s)
{
    return s->port;
}

void http_server_drain(struct http_server *s)
{
    s->draining = true;
    loop_drain(s->loop);
}

bool http_server_idle(struct http_server *s)
{
    return s->n_busy == 0;
}

/* Every suspended connection is resumed before the daemon stops: jobs by the helper's end, answers by their abort. */
void http_server_free(struct http_server *s)
{
    if (!s)
        return;
    if (s->daemon)
        MHD_quiesce_daemon(s->daemon);
    helper_stop(s);
    peers_abort_all(s);
    if (s->daemon)
        MHD_stop_daemon(s->daemon);
    if (s->listen_fd >= 0)
        close(s->listen_fd);
    if (s->epoll_fd >= 0)
        close(s->epoll_fd);
    if (s->event_fd >= 0)
        close(s->event_fd);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
