/*
 * fake_server: the HTTP server over the fake loop, for clients in other languages: fake_server STEP_MS [TOKENS A STEP] prints its port and serves
 * until standard input ends, then drains.
 */
#include "fake_loop.h"
#include "server/http_server.h"
#include "tiny_model.h"
#include <unistd.h>

static int serve(struct tiny_model *t, double step_s, uint32_t n_tok)
{
    struct error err = { 0 };
    struct http_options o = http_default;
    const struct loop_options lo = tiny_loop_options(1 << 16);
    char c;
    o.port = 0;
    struct loop *l = loop_new(NULL, &lo, &err);
    struct http_server *s = http_server_new(&o, &t->m, l, &err);
    if (!s) {
        fprintf(stderr, "%s\n", err.msg);
        loop_free(l);
        return error_exit_status(&err);
    }
    fake_loop_pace(l, step_s, n_tok);
    printf("%u\n", http_server_port(s));
    fflush(stdout);
    while (read(STDIN_FILENO, &c, 1) > 0) {
    }
    http_server_drain(s);
    for (int i = 0; i < 5000 && !http_server_idle(s); i++)
        usleep(1000);
    http_server_free(s);
    loop_free(l);
    return 0;
}

int main(int argc, char **argv)
{
    struct tiny_model t = { 0 };
    struct error err = { 0 };
    const double step_s = argc > 1 ? atof(argv[1]) / 1e3 : 0.01;
    const uint32_t n_tok = argc > 2 ? (uint32_t)atoi(argv[2]) : 1;
    int rc = 1;
    if (tiny_model_open(&t, 4096, &err) == 0)
        rc = serve(&t, step_s, n_tok > 0 && n_tok <= 60 ? n_tok : 1);
    else
        fprintf(stderr, "%s\n", err.msg);
    tiny_model_close(&t);
    return rc;
}
