/* A trace of requests as arbitrary bytes, in the format that it seems to be of and in every other one. What is accepted can be simulated;
 * what is refused says where. */
#include "fuzz.h"
#include "serving/describe.h"
#include "serving/trace.h"
#include <stdlib.h>
#include <string.h>

static void check(const struct serve_workload *w)
{
    uint64_t last_ps = 0;
    if (w->n == 0)
        abort();
    for (size_t i = 0; i < w->n; i++) {
        const struct serve_request *r = &w->r[i];
        if (r->n_in < 1 || r->n_out < 1 || r->after_ps > SERVE_MAX_PS || (r->parent != SERVE_NO_PARENT && r->parent >= i))
            abort();
        if (r->parent == SERVE_NO_PARENT && r->after_ps < last_ps)
            abort();
        last_ps = r->parent == SERVE_NO_PARENT ? r->after_ps : last_ps;
        if ((uint64_t)r->run0 + r->n_run > w->n_run || (r->n_run > 0 && w->run_tokens == 0))
            abort();
        /* Identities are those of the request's own tokens. */
        uint64_t n = 0;
        for (uint32_t k = 0; k < r->n_run; k++)
            n += w->run[r->run0 + k].n;
        if (n * w->run_tokens >= (uint64_t)r->n_in + r->n_out + w->run_tokens)
            abort();
    }
}

static void try_format(const struct trace_format *f, const char *data, size_t size, const struct trace_options *o)
{
    struct serve_workload w;
    struct trace_notes notes;
    struct serve_workload_description d;
    struct error err = { 0 };
    if (trace_parse(&w, &notes, "input", data, size, f, o, &err) != 0) {
        const bool named = strncmp(err.msg, "input:", 6) == 0 || strncmp(err.msg, "conversations:", 14) == 0;
        if (err.kind == ERROR_NONE || !err.msg[0] || (err.kind == ERROR_INPUT && !named) || w.r || w.run)
            abort();
        return;
    }
    check(&w);
    const struct serve_workload_sum s = serve_workload_sum(&w);
    if (s.n_in + s.n_out < 1 << 20 && (serve_workload_describe(&d, &w, 16, &err) != 0 || !(d.hit_share >= 0 && d.hit_share < 1)))
        abort();
    serve_workload_free(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = size > 0 ? (const char *)data : "";
    const struct trace_options shared = { .flags = TRACE_SHARED_TOOLS | TRACE_UNFILTERED, .companion = text, .companion_size = size };
    const struct trace_options few = { .most = 2, .hash_tokens = 3, .flags = TRACE_NO_OUTPUTS };
    try_format(NULL, text, size, NULL);
    try_format(NULL, text, size, &few);
    try_format(NULL, text, size, &shared);
    for (size_t i = 0; trace_format(i); i++)
        try_format(trace_format(i), text, size, NULL);
    return 0;
}
