#include "cli/serve_http.h"
#include "cli/cli.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- while it runs ----------------------------------------------------------------------------------------------------- */

enum { LINE_EVERY_MS = 500 };

struct live {
    struct loop *loop;
    double peak_bytes_s; /* of the memory, at the start */
    struct loop_stats last;
    double last_s;
    bool show;
    struct http_server *server;
};

/* On a terminal: requests, KV cache, tokens/s, and MBU of the steps since the last line. */
static void show_live(struct live *x)
{
    struct loop_stats s;
    char mbu[32] = "", line[160];
    const double now_s = clock_now_s(), dt = now_s - x->last_s;
    loop_stats(x->loop, &s);
    const double busy_s = s.busy_s - x->last.busy_s;
    if (busy_s > 0)
        snprintf(mbu, sizeof mbu, ", MBU %.2f", (s.bytes - x->last.bytes) / busy_s / x->peak_bytes_s);
    snprintf(line, sizeof line, "%u running, %u waiting, KV cache %.0f %%, %.1f tokens/s%s", s.n_running, s.n_waiting,
             s.n_block > 0 ? 100.0 * s.n_block_used / s.n_block : 0, (double)(s.n_output_tok - x->last.n_output_tok) / dt, mbu);
    fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
    x->last = s;
    x->last_s = now_s;
}

/* Between steps: the line, and a signal's drain, which clients see as 503. */
static double poll_live(void *ctx)
{
    struct live *x = ctx;
    if (interrupt_pending() && x->server)
        http_server_drain(x->server);
    if (!x->show)
        return INFINITY;
    if (clock_now_s() - x->last_s >= LINE_EVERY_MS / 1e3)
        show_live(x);
    return x->last_s + LINE_EVERY_MS / 1e3;
}

/* ---- the server -------------------------------------------------------------------------------------------------------- */

struct start {
    const struct http_options *o;
    const struct served_model *m;
    struct loop *loop;
    struct http_server *server;
    struct error *err;
};

static void start_server(void *arg)
{
    struct start *s = arg;
    s->server = http_server_new(s->o, s->m, s->loop, s->err);
}

static int describe(struct served_model *m, const struct serve_setup *x, const struct serve_setup_options *so, const struct serve_http *o,
                    struct tokenizer **t, struct error *err)
{
    struct error none = { 0 };
    if (!(*t = tokenizer_new(x->m.gguf, err)))
        return -1;
    *m = (struct served_model){ .name = o->name ? o->name : x->m.name, .root = so->model, .tokenizer = *t, .max_model_len = x->policy.max_model_len,
                                .block_size = x->block_size, .n_ctx_train = x->m.hp.n_ctx_train, .n_embd = x->m.hp.n_embd,
                                .n_params = x->m.n_params, .size_bytes = x->m.weight_bytes };
    m->chat = o->chat_template ? chat_template_find(o->chat_template, err) : chat_template_detect(x->m.gguf, &m->chat_writes_bos, &none);
    if (!m->chat && o->chat_template)
        return -1;
    if (!m->chat)
        notify_note("chat completions are refused: the file has no chat template that is known (--chat-template)");
    return model_end_tokens(&m->end, *t, err);
}

static int serve(const struct serve_setup *x, const struct served_model *m, const struct http_options *ho, struct loop_options *lo, struct error *err)
{
    struct live live = { .last_s = clock_now_s(), .peak_bytes_s = x->peaks.peak_bytes_s, .show = isatty(STDERR_FILENO) };
    lo->poll = poll_live;
    lo->poll_ctx = &live;
    struct loop *l = loop_new(x->e, lo, err);
    if (!l)
        return -1;
    live.loop = l;
    loop_stats(l, &live.last);
    struct start s = { ho, m, l, NULL, err };
    engine_unpinned(x->e, start_server, &s);
    int rc = s.server ? 0 : -1;
    if (rc == 0) {
        const bool v6 = strchr(ho->address, ':') != NULL;
        live.server = s.server;
        printf("%s on http://%s%s%s:%u, %u sequences of up to %u positions, KV cache of %u blocks of %u\n", m->name, v6 ? "[" : "", ho->address, v6 ? "]" : "", http_server_port(s.server),
               x->policy.max_num_seqs, x->policy.max_model_len, x->n_block, x->block_size);
        fflush(stdout);
        rc = loop_run(l, err);
        http_server_drain(s.server);
        for (int i = 0; i < 50 && rc == 0 && !http_server_idle(s.server); i++) /* the last answers are on their way */
            usleep(20000);
        http_server_free(s.server);
    }
    loop_free(l);
    return rc;
}

int serve_http_run(const struct serve_setup *x, const struct serve_setup_options *so, const struct serve_http *o, struct error *err)
{
    char address[64];
    struct http_options ho = http_default;
    struct served_model m = { 0 };
    struct tokenizer *t = NULL;
    struct loop_options lo = serve_loop_options(x, so, rng_entropy());
    lo.max_queued = (uint32_t)o->max_queued;
    if (http_address_parse(&ho, address, sizeof address, o->address, err) != 0)
        return -1;
    ho.api_key = o->api_key;
    ho.max_connections = o->max_connections > 0 ? (uint32_t)o->max_connections : ho.max_connections;
    int rc = describe(&m, x, so, o, &t, err);
    if (rc == 0)
        rc = serve(x, &m, &ho, &lo, err);
    token_list_free(&m.end);
    tokenizer_free(t);
    return rc;
}
