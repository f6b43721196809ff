/* Connections: their number, the time they take, clients that hang up. */
#include "server/http_internal.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* ---- the list --------------------------------------------------------------------------------------- */

static void add(struct http_server *s, struct peer *p)
{
    pthread_mutex_lock(&s->lock);
    p->serial = ++s->last_serial;
    p->extra = s->n_peers >= s->o.max_connections;
    p->next = s->peers;
    if (s->peers)
        s->peers->prev = p;
    s->peers = p;
    s->n_peers++;
    pthread_mutex_unlock(&s->lock);
}

static void take_out(struct http_server *s, struct peer *p)
{
    pthread_mutex_lock(&s->lock);
    if (p->prev)
        p->prev->next = p->next;
    else
        s->peers = p->next;
    if (p->next)
        p->next->prev = p->prev;
    s->n_peers--;
    pthread_mutex_unlock(&s->lock);
}

void peers_notice(void *cls, struct MHD_Connection *connection, void **socket_context, enum MHD_ConnectionNotificationCode code)
{
    struct http_server *s = cls;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        struct peer *p = *socket_context;
        if (p) {
            take_out(s, p);
            epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, p->fd, NULL);
            free(p);
        }
        *socket_context = NULL;
        return;
    }
    const union MHD_ConnectionInfo *i = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct peer *p = i ? calloc(1, sizeof *p) : NULL;
    const int on = 1;
    if (!p)
        return; /* the handler refuses a connection without */
    p->fd = i->connect_fd;
    p->state = PEER_READING;
    p->since_s = clock_now_s();
    setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    add(s, p);
    struct epoll_event ev = { .events = EPOLLRDHUP | EPOLLET, .data.u64 = p->serial };
    epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, p->fd, &ev);
    *socket_context = p;
}

struct peer *peer_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *i = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return i ? i->socket_context : NULL;
}

void peer_set_state(struct http_server *s, struct peer *p, enum peer_state state)
{
    const double now = clock_now_s();
    pthread_mutex_lock(&s->lock);
    p->state = state;
    p->since_s = now;
    pthread_mutex_unlock(&s->lock);
}

/* ---- hang-ups ------------------------------------------------------------------------------------------ */

void peer_set_answer(struct http_server *s, struct peer *p, struct answer *a)
{
    pthread_mutex_lock(&s->lock);
    p->answer = a;
    if (a && (p->gone || s->stopping))
        answer_abort(a);
    pthread_mutex_unlock(&s->lock);
}

void peers_hung_up(struct http_server *s, uint64_t serial)
{
    pthread_mutex_lock(&s->lock);
    struct peer *p = s->peers;
    while (p && p->serial != serial)
        p = p->next;
    if (p) {
        p->gone = true;
        if (p->answer)
            answer_abort(p->answer);
    }
    pthread_mutex_unlock(&s->lock);
}

void peers_abort_all(struct http_server *s)
{
    pthread_mutex_lock(&s->lock);
    for (struct peer *p = s->peers; p; p = p->next)
        if (p->answer)
            answer_abort(p->answer);
    pthread_mutex_unlock(&s->lock);
}

/* ---- time ------------------------------------------------------------------------------------------------ */

static const char *status_text(int status)
{
    return status == 408 ? "Request Timeout" : status == 413 ? "Content Too Large" : "Error";
}

void peer_refuse(const struct peer *p, const struct api_error *e)
{
    struct strbuf body = { 0 }, all = { 0 };
    api_error_write(&body, e);
    strbuf_addf(&all, "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n", e->status,
                status_text(e->status), body.len);
    strbuf_add(&all, body.s, body.len);
    const char *text = strbuf_text(&all, "a reply", NULL);
    if (text && !body.oom && send(p->fd, text, all.len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        /* the client has gone, or reads nothing: the connection ends all the same */
    }
    strbuf_free(&body);
    strbuf_free(&all);
}

static void tick(struct http_server *s, struct peer *p, double now_s)
{
    const double t = now_s - p->since_s;
    struct api_error e;
    if (p->answer)
        answer_ping(p->answer, now_s, s->o.ping_s);
    if (p->doomed || p->state == PEER_BUSY)
        return;
    if (p->state == PEER_IDLE ? t < s->o.idle_s : t < s->o.request_s)
        return;
    if (p->state == PEER_READING) {
        api_error_set(&e, 408, NULL, NULL, "the request did not arrive within %g s", s->o.request_s);
        peer_refuse(p, &e);
    }
    p->doomed = true;
    shutdown(p->fd, SHUT_RDWR); /* libmicrohttpd sees its end */
}

void peers_tick(struct http_server *s)
{
    const double now = clock_now_s();
    pthread_mutex_lock(&s->lock);
    for (struct peer *p = s->peers; p; p = p->next)
        tick(s, p, now);
    pthread_mutex_unlock(&s->lock);
}
