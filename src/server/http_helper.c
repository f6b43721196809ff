/* The helper thread: jobs, hang-ups, time. */
#include "server/http_internal.h"
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void ring(struct http_server *s)
{
    const uint64_t one = 1;
    if (write(s->event_fd, &one, sizeof one) < 0) {
        /* the counter is full: it has been rung */
    }
}

/* Hands the call back to libmicrohttpd's thread, whose it is from then on. */
static void hand_back(struct call *c)
{
    c->state = CALL_READY;
    MHD_resume_connection(c->connection);
}

static void refuse_ending(struct call *c)
{
    api_error_set(&c->error, 503, NULL, NULL, "the server ends");
    hand_back(c);
}

void helper_push(struct http_server *s, struct call *c)
{
    pthread_mutex_lock(&s->lock);
    const bool stopping = s->stopping;
    if (!stopping) {
        c->next_job = NULL;
        if (s->last_job)
            s->last_job->next_job = c;
        else
            s->first_job = c;
        s->last_job = c;
    }
    pthread_mutex_unlock(&s->lock);
    if (stopping)
        refuse_ending(c);
    else
        ring(s);
}

static struct call *next_job(struct http_server *s)
{
    pthread_mutex_lock(&s->lock);
    struct call *c = s->first_job;
    if (c) {
        s->first_job = c->next_job;
        s->last_job = s->first_job ? s->last_job : NULL;
    }
    pthread_mutex_unlock(&s->lock);
    return c;
}

static void run_job(struct http_server *s, struct call *c)
{
    if (s->stopping) {
        refuse_ending(c);
        return;
    }
    c->endpoint->run(s, c);
    if (c->answer)
        peer_set_answer(s, c->peer, c->answer);
    hand_back(c);
}

static void *help(void *arg)
{
    struct http_server *s = arg;
    const double period_s = max2(0.02, min2(1, s->o.request_s / 8));
    double next_tick_s = clock_now_s() + period_s;
    struct epoll_event ev[64];
    while (!s->stopping) {
        const double wait_s = max2(0, next_tick_s - clock_now_s());
        const int n = epoll_wait(s->epoll_fd, ev, (int)ARRAY_LEN(ev), (int)(wait_s * 1e3) + 1);
        uint64_t rings;
        for (int i = 0; i < n; i++)
            if (ev[i].data.u64 != 0)
                peers_hung_up(s, ev[i].data.u64);
            else if (read(s->event_fd, &rings, sizeof rings) < 0)
                continue;
        for (struct call *c = next_job(s); c; c = next_job(s)) {
            run_job(s, c);
            if (clock_now_s() >= next_tick_s)
                break;
        }
        if (clock_now_s() >= next_tick_s) {
            peers_tick(s);
            next_tick_s = clock_now_s() + period_s;
            ring(s); /* jobs may be left */
        }
    }
    return NULL;
}

int helper_start(struct http_server *s, struct error *err)
{
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    s->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event ev = { .events = EPOLLIN, .data.u64 = 0 };
    if (s->epoll_fd < 0 || s->event_fd < 0 || epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->event_fd, &ev) != 0)
        return error_set(err, ERROR_SYSTEM, "--http: epoll: %s", strerror(errno));
    const int rc = pthread_create(&s->helper, NULL, help, s);
    if (rc != 0)
        return error_set(err, ERROR_SYSTEM, "--http: cannot start a thread: %s", strerror(rc));
    s->helper_runs = true;
    return 0;
}

void helper_stop(struct http_server *s)
{
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_mutex_unlock(&s->lock);
    if (s->helper_runs) {
        ring(s);
        pthread_join(s->helper, NULL);
        s->helper_runs = false;
    }
    for (struct call *c = next_job(s); c; c = next_job(s))
        refuse_ending(c);
}
