/* The text of a workload as arbitrary bytes: refused with what is accepted, or a plan of which requests are made, the same ones twice. */
#include "fuzz.h"
#include "serving/generate.h"
#include <stdlib.h>
#include <string.h>

static void make(const struct serve_workload_plan *p)
{
    const struct serve_workload_options o = { .arrivals = { .rate_s = 5, .burstiness = 0.5, .rescale = true }, .n = 12, .seed = 9 };
    struct serve_workload a, b;
    struct error err = { 0 };
    if (serve_workload_make(&a, p, &o, NULL, &err) != 0) {
        if (err.kind == ERROR_NONE || !err.msg[0])
            abort();
        return;
    }
    if (serve_workload_make(&b, p, &o, NULL, &err) != 0 || a.n != b.n || a.n != 12)
        abort();
    for (size_t i = 0; i < a.n; i++)
        if (a.r[i].n_in != b.r[i].n_in || a.r[i].n_out != b.r[i].n_out || a.r[i].after_ps != b.r[i].after_ps || a.r[i].n_in < 1)
            abort();
    serve_workload_free(&a);
    serve_workload_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct serve_workload_plan p;
    struct error err = { 0 };
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    if (serve_workload_plan_parse(&p, text, NULL, &err) != 0) {
        if (err.kind != ERROR_USAGE || !err.msg[0])
            abort();
    } else if (p.source == SOURCE_LENGTHS || p.source == SOURCE_SESSIONS) {
        make(&p); /* others name files */
    }
    free(text);
    return 0;
}
