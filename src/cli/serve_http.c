/* `roofcast serve --http`: the model behind the HTTP API until a signal: the first drains, the second ends. */
#include "cli/serve_http.h"
#include "base/notify.h"
#include "model/chat.h"
#include "server/http_server.h"
#include <math.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* Answers that were complete when the loop ended are sent within this time, or not at all. */
enum { SEND_MS = 10000 };

struct serving_http {
    struct http_server *server;
    bool drained;
};

/* On the loop's thread, before each step. */
static double watch_signals(void *ctx)
{
    struct serving_http *h = ctx;
    if (interrupt_pending() && !h->drained) {
        h->drained = true;
        http_server_drain(h->server);
    }
    return INFINITY;
}

static int describe_model(struct served_model *m, const struct serve_http_options *o, const struct serve_setup *x, const struct tokenizer *t,
                          struct error *err)
{
    struct error none;
    *m = (struct served_model){ .name = o->name ? o->name : x->m.name, .root = x->m.path, .tokenizer = t, .max_model_len = x->policy.max_model_len,
                                .block_size = x->block_size, .n_ctx_train = x->m.hp.n_ctx_train, .n_embd = x->m.hp.n_embd,
                                .n_params = x->m.n_params, .size_bytes = x->m.weight_bytes };
    if (o->chat_template) {
        m->chat = chat_template_find(o->chat_template, err);
        return m->chat ? 0 : -1;
    }
    m->chat = chat_template_detect(x->m.gguf, &m->chat_writes_bos, &none);
    if (!m->chat)
        notify_note("/v1/chat/completions is refused; --chat-template names a template: %s", none.msg);
    return 0;
}

/* The threads of the server run on all CPUs of the program; this one is pinned for the engine. */
static struct http_server *start_server(const struct serve_http_options *o, const struct served_model *m, struct loop *l, struct error *err)
{
    cpu_set_t pinned;
    const bool known = sched_getaffinity(0, sizeof pinned, &pinned) == 0 && sched_setaffinity(0, sizeof o->cpus, &o->cpus) == 0;
    struct http_server *s = http_server_new(&o->http, m, l, err);
    if (known && sched_setaffinity(0, sizeof pinned, &pinned) != 0)
        notify_note("the engine's first thread is not pinned");
    return s;
}

static int serve_loop(const struct serve_http_options *o, struct serving_http *h, struct loop *l, const struct served_model *m, struct error *err)
{
    h->server = start_server(o, m, l, err);
    if (!h->server)
        return -1;
    const char *address = o->http.address, *colon = strchr(address, ':');
    printf("%s at http://%s%s%s:%u\n", m->name, colon ? "[" : "", address, colon ? "]" : "", http_server_port(h->server));
    fflush(stdout);
    const int rc = loop_run(l, err);
    http_server_drain(h->server);
    for (int i = 0; i < SEND_MS && !http_server_idle(h->server); i++)
        usleep(1000);
    http_server_free(h->server);
    return rc;
}

int serve_http(const struct serve_http_options *o, const struct serve_setup *x, const struct serve_setup_options *so, struct error *err)
{
    struct serving_http h = { 0 };
    struct served_model m;
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        return error_set(err, ERROR_SYSTEM, "getrandom: no random numbers for the prefix cache");
    struct loop_options lo = serve_loop_options(x, so, seed);
    lo.max_queued = (uint32_t)o->max_queued;
    lo.poll = watch_signals;
    lo.poll_ctx = &h;
    struct tokenizer *t = tokenizer_new(x->m.gguf, err);
    if (!t)
        return -1;
    struct loop *l = describe_model(&m, o, x, t, err) == 0 ? loop_new(x->e, &lo, err) : NULL;
    const int rc = l ? serve_loop(o, &h, l, &m, err) : -1;
    loop_free(l);
    tokenizer_free(t);
    return rc;
}
