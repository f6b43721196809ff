/*
 * arrivals.h: when the requests of a workload are sent: roots by the clock, the turns of a session after the turn before them, all of them
 * through a client that has at most so many under way.
 */
#ifndef SERVING_ARRIVALS_H
#define SERVING_ARRIVALS_H

#include "serving/workload.h"

struct due {
    uint64_t ps;
    uint32_t request;
};

struct arrivals {
    const struct serve_workload *w;
    double gap_scale;      /* roots arrive at this times their time: 1 */
    uint32_t most_active;  /* requests under way at once (vLLM's --max-concurrency); 0: any number */
    uint32_t n_active;
    uint64_t freed_ps;     /* when the client last had room again */
    struct due root;       /* the next request without a parent; ps UINT64_MAX: none */
    struct due *heap;      /* children whose parent has ended */
    size_t n_heap;
    uint32_t *first_child, *sibling; /* NULL: there are no children */
};

/* gap_scale 0: 1. errors: out of memory */
int arrivals_init(struct arrivals *a, const struct serve_workload *w, uint32_t most_active, double gap_scale, struct error *err);
void arrivals_free(struct arrivals *a);
/* When the next request is sent, as far as known: UINT64_MAX: none before another one ends. Not before now_ps. */
uint64_t arrivals_next_ps(struct arrivals *a, uint64_t now_ps);
/* Takes the request that is sent next; false: none by now_ps. x->ps is when it was due, *sent_ps when it is sent: later where the client
 * held it back. */
bool arrivals_take(struct arrivals *a, uint64_t now_ps, struct due *x, uint64_t *sent_ps);
/* The request has ended: its children are due. */
void arrivals_end(struct arrivals *a, uint32_t request, uint64_t now_ps);

#endif
