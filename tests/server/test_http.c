/* The HTTP server by raw sockets: statuses, headers, keys, limits, split and pipelined requests, clients that hang up, drain and end. */
#include "../test.h"
#include "fake_loop.h"
#include "server/http_server.h"
#include "tiny_model.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

struct fixture {
    struct tiny_model t;
    struct loop *l;
    struct http_server *s;
};

/* max_queued: of the loop, 0: any number. */
static int open_server(struct fixture *f, const struct http_options *o, uint32_t max_queued)
{
    struct error err = { 0 };
    struct loop_options lo = tiny_loop_options(1 << 12);
    lo.max_queued = max_queued;
    if (tiny_model_open(&f->t, 4096, &err) != 0)
        fail_msg("%s", err.msg);
    f->l = loop_new(NULL, &lo, &err);
    f->s = http_server_new(o, &f->t.m, f->l, &err);
    if (!f->s) {
        print_message("%s\n", err.msg);
        return err.kind == ERROR_UNAVAILABLE ? 77 : -1;
    }
    return 0;
}

static void close_server(struct fixture *f)
{
    http_server_free(f->s);
    loop_free(f->l);
    tiny_model_close(&f->t);
}

/* A server with options of its own; end() of it. */
static struct fixture *start(const struct http_options *o, uint32_t max_queued)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_int_equal(open_server(f, o, max_queued), 0);
    return f;
}

static void end(struct fixture *f)
{
    close_server(f);
    free(f);
}

static struct http_options options(void)
{
    struct http_options o = http_default;
    o.port = 0;
    return o;
}

static int set_up(void **state)
{
    const struct http_options o = options();
    *state = start(&o, 0);
    return 0;
}

static int tear_down(void **state)
{
    end(*state);
    return 0;
}

/* ---- a client ------------------------------------------------------------------------------------------ */

static int dial(const struct fixture *f)
{
    const struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(http_server_port(f->s)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    const size_t n = strlen(text);
    for (size_t at = 0; at < n;) {
        const ssize_t k = send(fd, text + at, n - at, MSG_NOSIGNAL);
        if (k <= 0)
            return; /* the server has closed: its reply says why */
        at += (size_t)k;
    }
}

/* What comes within ms, or to the end; with until, no further than that text. */
static char *hear(int fd, const char *until, int ms)
{
    static char buf[1 << 20];
    size_t n = 0;
    const double end_s = clock_now_s() + ms / 1e3;
    buf[0] = 0;
    while (n < sizeof buf - 1 && clock_now_s() < end_s && !(until && strstr(buf, until))) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        if (poll(&p, 1, 20) <= 0)
            continue;
        const ssize_t k = recv(fd, buf + n, sizeof buf - 1 - n, 0);
        if (k <= 0)
            break;
        n += (size_t)k;
        buf[n] = 0;
    }
    return buf;
}

static bool at_end(int fd)
{
    char c;
    struct pollfd p = { .fd = fd, .events = POLLIN };
    return poll(&p, 1, 2000) == 1 && recv(fd, &c, 1, 0) <= 0;
}

static void post(char *out, size_t size, const char *path, const char *headers, const char *body)
{
    snprintf(out, size, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n%s\r\n%s", path, strlen(body), headers, body);
}

/* One request on a connection of its own: the reply must begin with this status and contain the text. */
static char *ask(struct fixture *f, const char *request, int status, const char *text)
{
    char want[32];
    const int fd = dial(f);
    say(fd, request);
    snprintf(want, sizeof want, "HTTP/1.1 %d ", status);
    char *reply = hear(fd, text, 5000);
    close(fd);
    if (strncmp(reply, want, strlen(want)) != 0 || !strstr(reply, text))
        fail_msg("%.60s: expected %d and %s, found %s", request, status, text, reply);
    return reply;
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"
#define HELLO "{\"prompt\":[75,104,111,111,114],\"max_tokens\":5}"
#define ENDLESS "{\"prompt\":[75],\"max_tokens\":4000,\"stream\":true}"

static bool soon_idle(struct loop *l, int ms)
{
    for (int i = 0; i < ms && !loop_idle(l); i++)
        usleep(1000);
    return loop_idle(l);
}

/* Until the loop has a request. */
static void until_busy(struct loop *l)
{
    for (int i = 0; i < 5000 && loop_idle(l); i++)
        usleep(1000);
    assert_false(loop_idle(l));
}

/* ---- tests ---------------------------------------------------------------------------------------------- */

static void test_endpoints(void **state)
{
    struct fixture *f = *state;
    char r[1000];
    ask(f, GET("/health"), 200, "{\"status\":\"ok\"}");
    ask(f, GET("/v1/models"), 200, "\"id\":\"tiny\",\"object\":\"model\"");
    ask(f, GET("/v1/models"), 200, "\"root\":\"/models/tiny.gguf\",\"parent\":null,\"max_model_len\":4096");
    ask(f, GET("/v1/models/tiny"), 200, "{\"id\":\"tiny\"");
    ask(f, GET("/v1/models/other"), 404, "\"code\":\"model_not_found\"");
    ask(f, GET("/metrics"), 200, "# TYPE vllm:num_requests_running gauge");
    ask(f, GET("/version"), 200, "\"version\"");
    ask(f, "HEAD /health HTTP/1.1\r\nHost: x\r\n\r\n", 200, "Content-Length: 15");
    post(r, sizeof r, "/tokenize", "", "{\"prompt\":\"\"}");
    ask(f, r, 200, "{\"count\":1,\"max_model_len\":4096,\"tokens\":[1],\"token_strs\":null}");
    post(r, sizeof r, "/tokenize", "", "{\"content\":\"<s>\",\"parse_special\":true}");
    ask(f, r, 200, "\"tokens\":[1]");
    post(r, sizeof r, "/detokenize", "", "{\"tokens\":[75,104,2]}");
    ask(f, r, 200, "{\"prompt\":\"He</s>\",\"content\":\"He</s>\"}");
    ask(f, GET("/nothing"), 404, "\"type\":\"not_found_error\"");
    ask(f, GET("/api/tags"), 404, "no such endpoint: /api/tags");
    ask(f, GET("/v1/completions"), 405, "Allow: POST, OPTIONS");
    post(r, sizeof r, "/health", "", "{}");
    ask(f, r, 405, "Allow: GET, HEAD, OPTIONS");
    ask(f, "BREW /v1/models HTTP/1.1\r\nHost: x\r\n\r\n", 405, "\"error\"");
    const int fd = dial(f); /* no request line: refused or closed at once */
    say(fd, "garbage\r\n\r\n");
    const double start_s = clock_now_s();
    hear(fd, NULL, 5000);
    assert_true(clock_now_s() - start_s < 4);
    close(fd);
}

static void test_completions(void **state)
{
    struct fixture *f = *state;
    char r[1000];
    post(r, sizeof r, "/v1/completions", "", HELLO);
    ask(f, r, 200, "\"text\":\"Hello\"");
    post(r, sizeof r, "/v1/completions", "", "{\"prompt\":[75,104,111],\"max_tokens\":3,\"stream\":true,\"model\":\"/models/tiny.gguf\"}");
    char *s = ask(f, r, 200, "data: [DONE]\n\n");
    assert_non_null(strstr(s, "Content-Type: text/event-stream"));
    assert_non_null(strstr(s, "Transfer-Encoding: chunked"));
    post(r, sizeof r, "/v1/chat/completions", "", "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"max_tokens\":3}");
    ask(f, r, 200, "\"object\":\"chat.completion\"");
    post(r, sizeof r, "/v1/completions", "", "{\"prompt\":[75],\"n\":2}");
    ask(f, r, 400, "\"param\":\"n\"");
    post(r, sizeof r, "/v1/completions", "", "{\"prompt\":[75],\"model\":\"gpt-5\"}");
    ask(f, r, 404, "\"code\":\"model_not_found\"");
    post(r, sizeof r, "/v1/completions", "", "{\"prompt\":[75],\"max_tokens\":4096}");
    ask(f, r, 400, "\"code\":\"context_length_exceeded\"");
    post(r, sizeof r, "/v1/chat/completions", "", "{\"messages\":[{\"role\":\"assistant\",\"content\":\"Hi\"}]}");
    ask(f, r, 400, "\"param\":\"messages\"");
    post(r, sizeof r, "/v1/completions", "", "");
    ask(f, r, 400, "not JSON");
    snprintf(r, sizeof r, "POST /v1/completions HTTP/1.0\r\nContent-Length: %zu\r\n\r\n%s", strlen(HELLO), HELLO);
    const int fd = dial(f);
    say(fd, r);
    assert_non_null(strstr(hear(fd, NULL, 5000), "\"text\":\"Hello\""));
    close(fd);
}

static void test_failure(void **state)
{
    struct fixture *f = *state;
    char r[1000];
    fake_loop_hold(f->l, true);
    const int fd = dial(f), streaming = dial(f);
    post(r, sizeof r, "/v1/completions", "", HELLO);
    say(fd, r);
    post(r, sizeof r, "/v1/completions", "", ENDLESS);
    say(streaming, r);
    for (struct loop_stats s = { 0 }; s.n_running < 2; usleep(1000))
        loop_stats(f->l, &s);
    fake_loop_fail(f->l);
    fake_loop_hold(f->l, false);
    char *s = hear(fd, "broken", 5000);
    assert_non_null(strstr(s, "HTTP/1.1 500 "));
    assert_non_null(strstr(s, "\"type\":\"server_error\""));
    s = hear(streaming, "[DONE]", 5000);
    assert_non_null(strstr(s, "HTTP/1.1 200 "));
    assert_non_null(strstr(s, "data: {\"error\":{\"message\":\"the engine is broken\""));
    close(fd);
    close(streaming);
}

static void test_keys(void **state)
{
    struct http_options o = options();
    char r[1000];
    (void)state;
    o.api_key = "secret";
    struct fixture *f = start(&o, 0);
    ask(f, GET("/health"), 200, "ok");
    ask(f, GET("/v1/models"), 401, "\"type\":\"authentication_error\",\"param\":null,\"code\":\"invalid_api_key\"");
    ask(f, GET("/metrics"), 401, "WWW-Authenticate: Bearer");
    ask(f, GET("/nothing"), 401, "error"); /* without a key nothing is told */
    ask(f, "GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n\r\n", 200, "tiny");
    ask(f, "GET /v1/models HTTP/1.1\r\nHost: x\r\nauthorization: bearer secret\r\n\r\n", 200, "tiny");
    ask(f, "GET /v1/models HTTP/1.1\r\nHost: x\r\nX-Api-Key: secret\r\n\r\n", 200, "tiny");
    static const char *const wrong[] = { "Bearer secre", "Bearer secrets", "Bearer secretsecret", "Bearer Secret", "Bearer ", "secret", "Basic secret", "Bearer  secret" };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        snprintf(r, sizeof r, "GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\n\r\n", wrong[i]);
        ask(f, r, 401, "error");
    }
    post(r, sizeof r, "/v1/completions", "", HELLO);
    ask(f, r, 401, "error");
    ask(f, "OPTIONS /v1/completions HTTP/1.1\r\nHost: x\r\nOrigin: http://a\r\n\r\n", 200, "Access-Control-Allow-Headers: *");
    end(f);
}

static void test_origin(void **state)
{
    struct fixture *f = *state;
    ask(f, "GET /health HTTP/1.1\r\nHost: x\r\nOrigin: http://a.example\r\n\r\n", 200, "Access-Control-Allow-Origin: http://a.example");
    assert_null(strstr(ask(f, GET("/health"), 200, "ok"), "Access-Control"));
}

static void test_limits(void **state)
{
    struct http_options o = options();
    static char big[300000];
    (void)state;
    o.max_body_bytes = 4096;
    o.max_header_bytes = 2048;
    struct fixture *f = start(&o, 0);
    memset(big, 'a', sizeof big - 1);
    /* A body that is too long is read to its end: the client gets the reply. */
    static char r[sizeof big + 1000];
    post(r, sizeof r, "/v1/completions", "", big);
    ask(f, r, 413, "expected at most 4096 bytes, found 299999");
    ask(f, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n", 413, "at most 4096");
    ask(f, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\nExpect: 100-continue\r\n\r\n", 413, "at most 4096");
    snprintf(r, sizeof r, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%zx\r\n%s\r\n0\r\n\r\n", strlen(big), big);
    ask(f, r, 413, "at most 4096");
    snprintf(r, sizeof r, "GET /health HTTP/1.1\r\nHost: x\r\nX-A: %.3000s\r\n\r\n", big);
    ask(f, r, 431, "headers: expected at most 2048 bytes");
    snprintf(r, sizeof r, "GET /health HTTP/1.1\r\nHost: x\r\nX-A: %.200000s\r\n\r\n", big);
    ask(f, r, 431, "\r\n\r\n");
    ask(f, GET("/health"), 200, "ok");
    ask(f, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n", 400, "\r\n\r\n");
    ask(f, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: five\r\n\r\n", 400, "\r\n\r\n");
    end(f);
}

/* Bodies of all connections together: eight of the largest. */
static void test_bodies_together(void **state)
{
    enum { N = 9, HELD = 4000 };
    struct http_options o = options();
    char r[5000];
    int fd[N];
    (void)state;
    o.max_body_bytes = 4096;
    struct fixture *f = start(&o, 0);
    for (int round = 0; round < 2; round++) { /* what was held is given back */
        for (int i = 0; i < N; i++) {
            const size_t n = (size_t)snprintf(r, sizeof r, "POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n{\"prompt\":\"a\"", HELD);
            memset(r + n, ' ', HELD - 13 - 1);
            r[n + HELD - 13 - 1] = 0;
            fd[i] = dial(f);
            say(fd[i], r);
            usleep(20000);
        }
        for (int i = 0; i < N; i++) {
            say(fd[i], "}");
            char *s = hear(fd[i], "}", 5000);
            if (strncmp(s, i < N - 1 ? "HTTP/1.1 200 " : "HTTP/1.1 503 ", 13) != 0)
                fail_msg("%d: %s", i, s);
            close(fd[i]);
        }
    }
    end(f);
}

static void test_connections(void **state)
{
    struct http_options o = options();
    int fd[4];
    (void)state;
    o.max_connections = 3;
    struct fixture *f = start(&o, 0);
    for (int i = 0; i < 3; i++) {
        fd[i] = dial(f);
        say(fd[i], GET("/health"));
        hear(fd[i], "ok", 5000);
    }
    char *s = ask(f, GET("/health"), 503, "more than 3 connections");
    assert_non_null(strstr(s, "Retry-After: 1"));
    close(fd[0]);
    usleep(50000);
    ask(f, GET("/health"), 200, "ok");
    close(fd[1]);
    close(fd[2]);
    end(f);
}

static void test_time(void **state)
{
    struct http_options o = options();
    (void)state;
    o.request_s = 0.3;
    o.idle_s = 0.5;
    struct fixture *f = start(&o, 0);
    static const char *const slow[] = { "", "GET /hea", "POST /v1/completions HTTP/1.1\r\nHost: x\r\n", "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{" };
    for (size_t i = 0; i < ARRAY_LEN(slow); i++) {
        const int fd = dial(f);
        say(fd, slow[i]);
        char *s = hear(fd, "did not arrive", 5000);
        if (strncmp(s, "HTTP/1.1 408 ", 13) != 0)
            fail_msg("%s: %s", slow[i], s);
        hear(fd, NULL, 100);
        assert_true(at_end(fd));
        close(fd);
    }
    /* A byte now and then does not help. */
    int fd = dial(f);
    say(fd, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n");
    for (int i = 0; i < 10; i++) {
        say(fd, " ");
        usleep(50000);
    }
    assert_true(strncmp(hear(fd, "did not arrive", 5000), "HTTP/1.1 408 ", 13) == 0);
    close(fd);
    /* Between requests the connection closes in silence. */
    fd = dial(f);
    say(fd, GET("/health"));
    hear(fd, "ok", 5000);
    assert_string_equal(hear(fd, "HTTP", 2000), "");
    assert_true(at_end(fd));
    close(fd);
    /* An answer that takes longer than a request may is sent. */
    fake_loop_pace(f->l, 0.2, 1);
    char r[500];
    post(r, sizeof r, "/v1/completions", "", HELLO);
    ask(f, r, 200, "Hello");
    end(f);
}

static void test_split_and_pipelined(void **state)
{
    struct fixture *f = *state;
    char r[1000], two[3000];
    post(r, sizeof r, "/v1/completions", "", HELLO);
    int fd = dial(f);
    for (const char *p = r; *p; p++) {
        const char one[2] = { *p, 0 };
        say(fd, one);
        if ((p - r) % 16 == 0)
            usleep(500);
    }
    assert_non_null(strstr(hear(fd, "Hello", 5000), "\"text\":\"Hello\""));
    close(fd);
    snprintf(r, sizeof r, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%.10s\r\n%zx\r\n%s\r\n0\r\n\r\n", 10, HELLO,
             strlen(HELLO) - 10, &HELLO[10]);
    ask(f, r, 200, "\"text\":\"Hello\"");
    post(r, sizeof r, "/v1/completions", "", HELLO);
    snprintf(two, sizeof two, "%s%s%s", r, r, GET("/health"));
    fd = dial(f);
    say(fd, two);
    char *s = hear(fd, "{\"status\"", 5000), *first = strstr(s, "Hello"), *second = first ? strstr(first + 1, "Hello") : NULL;
    assert_non_null(second);
    assert_non_null(strstr(second, "\"status\":\"ok\""));
    /* On the same connection a stream, then another request. */
    post(two, sizeof two, "/v1/completions", "", "{\"prompt\":[75],\"max_tokens\":50,\"stream\":true}");
    strcat(two, GET("/v1/models"));
    say(fd, two);
    assert_non_null(strstr(hear(fd, "max_model_len", 5000), "[DONE]"));
    close(fd);
}

/* The loop is free within a few steps, however the client left. */
static void test_hang_ups(void **state)
{
    struct fixture *f = *state;
    char r[1000];
    const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
    fake_loop_pace(f->l, 0.005, 1);
    for (int i = 0; i < 6; i++) {
        const bool streams = i % 2 == 0;
        post(r, sizeof r, "/v1/completions", "", streams ? ENDLESS : "{\"prompt\":[75],\"max_tokens\":4000}");
        const int fd = dial(f);
        say(fd, r);
        until_busy(f->l);
        if (streams)
            hear(fd, "data: ", 5000);
        if (i >= 4)
            shutdown(fd, SHUT_WR);
        if (i >= 2 && i < 4)
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        if (i < 4)
            close(fd);
        if (!soon_idle(f->l, 300))
            fail_msg("way %d of hanging up: the request still runs", i);
        if (i >= 4) {
            hear(fd, NULL, 300);
            close(fd);
        }
    }
    /* Before the first step, and before the request is complete. */
    fake_loop_hold(f->l, true);
    int fd = dial(f);
    post(r, sizeof r, "/v1/completions", "", HELLO);
    say(fd, r);
    until_busy(f->l);
    close(fd);
    assert_true(soon_idle(f->l, 300));
    fd = dial(f);
    r[strlen(r) - 5] = 0;
    say(fd, r);
    close(fd);
    fake_loop_hold(f->l, false);
    ask(f, GET("/health"), 200, "ok");
    for (int i = 0; i < 1000 && !http_server_idle(f->s); i++)
        usleep(1000);
    assert_true(http_server_idle(f->s));
}

/* Clients that close their side alone, at every moment of a request, many at once: each gets its reply or the end of the connection. */
static void test_half_closes(void **state)
{
    enum { N = 100, ROUNDS = 10, END_MS = 10000 };
    static const char *const body[] = { ENDLESS, "{\"prompt\":[75],\"max_tokens\":4000}", HELLO, "{\"prompt\":[75],\"max_tokens\":2,\"stream\":true}", "{" };
    struct fixture *f = *state;
    struct rng g;
    int fd[N];
    char r[1000], several[3000];
    rng_init(&g, 3);
    for (int round = 0; round < ROUNDS; round++) {
        fake_loop_hold(f->l, round % 5 == 0); /* or no step comes */
        for (int i = 0; i < N; i++) {
            post(r, sizeof r, "/v1/completions", "", body[rng_u64(&g) % ARRAY_LEN(body)]);
            snprintf(several, sizeof several, "%s%s", r, rng_u64(&g) % 4 ? "" : r);
            fd[i] = dial(f);
            say(fd[i], several);
            usleep((useconds_t)(rng_u64(&g) % 3 ? 0 : rng_u64(&g) % 2000));
            shutdown(fd[i], SHUT_WR);
        }
        for (int i = 0; i < N; i++) {
            const double start_s = clock_now_s();
            hear(fd[i], NULL, END_MS);
            if (clock_now_s() - start_s >= END_MS / 1e3)
                fail_msg("round %d: connection %d has no end", round, i);
            close(fd[i]);
        }
    }
    fake_loop_hold(f->l, false);
    assert_true(soon_idle(f->l, 1000));
}

/* A client that does not read: bounded memory, then it is dropped. */
static void test_no_reader(void **state)
{
    struct fixture *f = *state;
    char r[1000];
    const int small = 2048;
    const int fd = dial(f);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    post(r, sizeof r, "/v1/completions", "", "{\"prompt\":[75],\"max_tokens\":4000,\"stream\":true,\"logprobs\":20}");
    fake_loop_pace(f->l, 0, 60);
    say(fd, r);
    until_busy(f->l);
    assert_true(soon_idle(f->l, 5000));
    ask(f, GET("/health"), 200, "ok");
    close(fd);
}

/* Many streams at once: none gets the text of another. */
static void test_tagged_streams(void **state)
{
    enum { N = 200 };
    struct fixture *f = *state;
    int fd[N];
    char r[1000], body[200];
    for (int i = 0; i < N; i++) {
        fd[i] = dial(f);
        snprintf(body, sizeof body, "{\"prompt\":[%d],\"max_tokens\":40,\"stream\":%s}", 3 + 'A' + i % 26, i % 3 ? "true" : "false");
        post(r, sizeof r, "/v1/completions", "", body);
        say(fd[i], r);
    }
    for (int i = 0; i < N; i++) {
        char *s = hear(fd[i], i % 3 ? "[DONE]" : "\"usage\"", 10000);
        unsigned n = 0;
        for (char *p = strstr(s, "\"text\":\""); p; p = strstr(p, "\"text\":\""))
            for (p += 8; *p != '"'; p++, n++)
                if (*p != 'A' + i % 26)
                    fail_msg("stream %d has %c", i, *p);
        assert_int_equal(n, 40);
        close(fd[i]);
    }
}

/* Mutated requests: whatever comes back, the server goes on and nothing is left running. */
static void test_fuzzed(void **state)
{
    struct fixture *f = *state;
    struct rng g;
    char r[3][1000], m[1100];
    post(r[0], sizeof r[0], "/v1/completions", "", HELLO);
    post(r[1], sizeof r[1], "/v1/chat/completions", "Expect: 100-continue\r\n", "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"max_tokens\":3,\"stream\":true}");
    snprintf(r[2], sizeof r[2], "POST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nE\r\n{\"prompt\":\"a\"}\r\n0\r\n\r\n");
    rng_init(&g, 7);
    fake_loop_pace(f->l, 0, 60);
    for (int round = 0; round < 300; round++) {
        snprintf(m, sizeof m, "%s", r[rng_u64(&g) % 3]);
        size_t n = strlen(m);
        for (uint64_t k = rng_u64(&g) % 6; k > 0 && n > 2; k--) {
            const size_t at = rng_u64(&g) % n;
            switch (rng_u64(&g) % 4) {
            case 0:
                m[at] = (char)(rng_u64(&g) % 255 + 1);
                break;
            case 1:
                memmove(m + at, m + at + 1, n - at);
                n--;
                break;
            case 2:
                memmove(m + at + 1, m + at, n - at + 1);
                n++;
                break;
            default:
                n = rng_u64(&g) % 8 ? n : at;
                m[n] = 0;
            }
        }
        const int fd = dial(f);
        say(fd, m);
        hear(fd, "}", 4);
        close(fd);
    }
    ask(f, GET("/health"), 200, "ok");
    for (int i = 0; i < 3000 && !http_server_idle(f->s); i++)
        usleep(1000);
    assert_true(http_server_idle(f->s) && soon_idle(f->l, 1000));
}

static size_t open_descriptors(void)
{
    size_t n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void test_no_descriptor_is_left(void **state)
{
    struct fixture *f = *state;
    char r[1000];
    size_t before = 0, after = 0;
    post(r, sizeof r, "/v1/completions", "", "{\"prompt\":[75],\"max_tokens\":2,\"stream\":true}");
    ask(f, r, 200, "[DONE]");
    usleep(50000);
    before = open_descriptors();
    for (int i = 0; i < 100; i++)
        ask(f, i % 2 ? r : GET("/v1/models"), 200, i % 2 ? "[DONE]" : "tiny");
    for (int i = 0; i < 200 && (after = open_descriptors()) != before; i++)
        usleep(10000);
    assert_int_equal(after, before);
}

static void test_full_queue(void **state)
{
    const struct http_options o = options();
    char r[1000];
    (void)state;
    struct fixture *f = start(&o, 2);
    fake_loop_hold(f->l, true);
    post(r, sizeof r, "/v1/completions", "", HELLO);
    const int a = dial(f), b = dial(f);
    say(a, r);
    say(b, r);
    for (struct loop_stats s = { 0 }; s.n_running < 2; usleep(1000))
        loop_stats(f->l, &s);
    ask(f, r, 503, "\"type\":\"unavailable_error\"");
    fake_loop_hold(f->l, false);
    hear(a, "Hello", 5000);
    assert_true(soon_idle(f->l, 5000));
    ask(f, r, 200, "Hello");
    close(a);
    close(b);
    end(f);
}

static void test_drain(void **state)
{
    struct fixture *f = *state;
    char r[1000];
    fake_loop_pace(f->l, 0.02, 1);
    const int fd = dial(f);
    post(r, sizeof r, "/v1/completions", "", "{\"prompt\":[75,104],\"max_tokens\":20,\"stream\":true}");
    say(fd, r);
    until_busy(f->l);
    http_server_drain(f->s);
    assert_false(http_server_idle(f->s));
    ask(f, r, 503, "drains");
    ask(f, GET("/health"), 503, "drains");
    ask(f, GET("/metrics"), 200, "vllm:");
    char *s = hear(fd, "[DONE]", 5000); /* what ran goes on to its end */
    assert_non_null(strstr(s, "\"finish_reason\":\"length\""));
    for (int i = 0; i < 1000 && !http_server_idle(f->s); i++)
        usleep(1000);
    assert_true(http_server_idle(f->s));
    close(fd);
}

/* An end with requests in every state, before and after the loop's. */
static void test_end(void **state)
{
    (void)state;
    for (int loop_first = 0; loop_first < 2; loop_first++) {
        const struct http_options o = options();
        struct fixture *f = start(&o, 0);
        char r[1000], half[1000];
        int fd[12];
        for (int i = 0; i < 12; i++) {
            fd[i] = dial(f);
            post(r, sizeof r, "/v1/completions", "", i % 3 == 0 ? ENDLESS : "{\"prompt\":[75],\"max_tokens\":4000}");
            snprintf(half, sizeof half, "%.60s", r);
            say(fd[i], i % 3 == 2 ? half : r);
        }
        if (loop_first) {
            until_busy(f->l);
            usleep(20000);
        }
        end(f);
        for (int i = 0; i < 12; i++) {
            hear(fd[i], NULL, 100);
            close(fd[i]);
        }
    }
}

static void test_addresses(void **state)
{
    struct http_options o = http_default;
    struct error err = { 0 };
    char buf[64];
    (void)state;
    assert_ok(http_address_parse(&o, buf, sizeof buf, "8000", &err), err);
    assert_true(o.port == 8000 && strcmp(o.address, "127.0.0.1") == 0);
    assert_ok(http_address_parse(&o, buf, sizeof buf, "0.0.0.0:81", &err), err);
    assert_true(o.port == 81 && strcmp(o.address, "0.0.0.0") == 0);
    assert_ok(http_address_parse(&o, buf, sizeof buf, "[::1]:82", &err), err);
    assert_true(o.port == 82 && strcmp(o.address, "::1") == 0);
    assert_fails(http_address_parse(&o, buf, sizeof buf, "::1:82", &err), err, "[ADDR]:PORT");
    assert_fails(http_address_parse(&o, buf, sizeof buf, ":82", &err), err, "[ADDR:]PORT");
    assert_fails(http_address_parse(&o, buf, sizeof buf, "localhost", &err), err, "port");
    assert_fails(http_address_parse(&o, buf, sizeof buf, "65536", &err), err, "65535");
}

static void test_address_in_use(void **state)
{
    struct fixture *f = *state;
    struct http_options o = options();
    struct error err = { 0 };
    o.port = http_server_port(f->s);
    assert_null(http_server_new(&o, &f->t.m, f->l, &err));
    assert_non_null(strstr(err.msg, "Address already in use"));
    o.address = "nowhere";
    assert_null(http_server_new(&o, &f->t.m, f->l, &err));
    assert_non_null(strstr(err.msg, "numeric address"));
    o = options();
    o.api_key = "";
    assert_null(http_server_new(&o, &f->t.m, f->l, &err));
    assert_non_null(strstr(err.msg, "--api-key"));
}

#define FIXTURE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void)
{
    struct fixture probe = { 0 };
    const struct http_options o = options();
    if (open_server(&probe, &o, 0) == 77) {
        printf("1..0 # SKIP built without libmicrohttpd\n");
        return 0;
    }
    close_server(&probe);
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_endpoints),     FIXTURE_TEST(test_completions), FIXTURE_TEST(test_failure),
        cmocka_unit_test(test_keys),      FIXTURE_TEST(test_origin),      cmocka_unit_test(test_limits),
        cmocka_unit_test(test_bodies_together), cmocka_unit_test(test_connections), cmocka_unit_test(test_time),  FIXTURE_TEST(test_split_and_pipelined),
        FIXTURE_TEST(test_hang_ups),      FIXTURE_TEST(test_half_closes), FIXTURE_TEST(test_no_reader),   FIXTURE_TEST(test_tagged_streams),
        FIXTURE_TEST(test_fuzzed),        FIXTURE_TEST(test_no_descriptor_is_left),
        cmocka_unit_test(test_full_queue), FIXTURE_TEST(test_drain),      cmocka_unit_test(test_end),
        cmocka_unit_test(test_addresses), FIXTURE_TEST(test_address_in_use),
    };
    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
