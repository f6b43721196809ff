/* A part of a sweep's grid, priced by threads and written in order. */
#include "base/notify.h"
#include "report/grid.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { BLOCK = 64 }; /* chunks predicted before their rows are written */

/* Chunks [first, end) of one unit, claimed by threads one at a time. */
struct block {
    const struct sweep_grid *g;
    const struct sweep_unit *u;
    size_t first, end;
    _Atomic size_t next;
    struct strbuf text[BLOCK];
};

static void price_block(void *arg, int tid, int n_threads)
{
    struct block *b = arg;
    (void)tid;
    (void)n_threads;
    for (size_t i; (i = atomic_fetch_add(&b->next, 1)) < b->end && interrupt_check(NULL) == 0;)
        sweep_chunk(&b->text[i - b->first], b->g, b->u, i);
}

int sweep_write(FILE *f, struct strbuf *b, struct error *err)
{
    const bool oom = b->oom, bad = !oom && b->len > 0 && fwrite(b->s, 1, b->len, f) != b->len;
    const int e = errno;
    strbuf_free(b);
    if (oom)
        return error_oom(err, 0, "the rows");
    return bad ? error_write(err, e, "cannot write the rows") : 0;
}

struct sweep_range sweep_part_of(const struct sweep_grid *g, int rank, int n)
{
    const size_t all = sweep_n_unit(g) * sweep_n_chunk(g);
    return (struct sweep_range){ all * (size_t)rank / (size_t)n, all * ((size_t)rank + 1) / (size_t)n };
}

static int price_chunks(const struct sweep_grid *g, struct team *team, const struct sweep_unit *u, size_t first, size_t end,
                       FILE *f, struct error *err)
{
    struct block *b = calloc(1, sizeof *b);
    int rc = b ? 0 : error_oom(err, sizeof *b, "a block of rows");
    for (size_t at = first; at < end && rc == 0; at += BLOCK) {
        *b = (struct block){ .g = g, .u = u, .first = at, .end = u64_min(at + BLOCK, end), .next = at };
        team_run(team, price_block, b);
        rc = interrupt_check(err); /* an interrupted block may lack rows: discard it */
        for (size_t i = 0; i < BLOCK; i++)
            if (rc != 0)
                strbuf_free(&b->text[i]);
            else
                rc = sweep_write(f, &b->text[i], err);
    }
    free(b);
    return rc;
}

int sweep_part(const struct sweep_grid *g, struct team *team, struct sweep_range p, FILE *f, bool progress, struct error *err)
{
    const size_t chunks = sweep_n_chunk(g);
    double shown = clock_now_s() + 1; /* no progress in the first two seconds */
    int rc = 0;
    for (size_t at = p.first; at < p.end && rc == 0;) {
        const size_t unit = at / chunks, end = u64_min((unit + 1) * chunks, p.end);
        struct sweep_unit u;
        rc = sweep_unit_init(&u, g, unit, err);
        if (rc != 0)
            break;
        rc = price_chunks(g, team, &u, at, end, f, err);
        sweep_unit_free(&u);
        at = end;
        if (progress && clock_now_s() > shown + 1) {
            char what[64];
            snprintf(what, sizeof what, "%zu configurations", sweep_first_row(g, at) - sweep_first_row(g, p.first));
            notify_progress(NULL, what, (double)(at - p.first) / (double)(p.end - p.first));
            shown = clock_now_s();
        }
    }
    if (progress)
        notify_progress_done();
    return rc;
}
