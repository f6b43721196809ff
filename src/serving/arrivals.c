#include "serving/arrivals.h"
#include <math.h>
#include <stdlib.h>

static int link_children(struct arrivals *a, struct error *err)
{
    const size_t n = a->w->n;
    size_t n_child = 0;
    for (size_t i = 0; i < n; i++)
        n_child += a->w->r[i].parent != SERVE_NO_PARENT;
    if (n_child == 0)
        return 0;
    a->first_child = malloc(n * sizeof *a->first_child);
    a->sibling = malloc(n * sizeof *a->sibling);
    a->heap = malloc(n_child * sizeof *a->heap);
    if (!a->first_child || !a->sibling || !a->heap)
        return error_oom(err, n_child * sizeof *a->heap, "the turns of sessions");
    for (size_t i = 0; i < n; i++)
        a->first_child[i] = SERVE_NO_PARENT;
    for (size_t i = n; i-- > 0;) {
        const uint32_t parent = a->w->r[i].parent;
        a->sibling[i] = parent == SERVE_NO_PARENT ? SERVE_NO_PARENT : a->first_child[parent];
        if (parent != SERVE_NO_PARENT)
            a->first_child[parent] = (uint32_t)i;
    }
    return 0;
}

void arrivals_free(struct arrivals *a)
{
    free(a->first_child);
    free(a->sibling);
    free(a->heap);
    *a = (struct arrivals){ 0 };
}

/* By time, then by number, so that the order does not depend on the heap. */
static bool earlier(const struct due *a, const struct due *b)
{
    return a->ps != b->ps ? a->ps < b->ps : a->request < b->request;
}

static void push(struct arrivals *a, struct due x)
{
    size_t i = a->n_heap++;
    for (; i > 0 && earlier(&x, &a->heap[(i - 1) / 2]); i = (i - 1) / 2)
        a->heap[i] = a->heap[(i - 1) / 2];
    a->heap[i] = x;
}

static void pop(struct arrivals *a)
{
    const struct due x = a->heap[--a->n_heap];
    size_t i = 0;
    for (size_t k; (k = 2 * i + 1) < a->n_heap; i = k) {
        k += k + 1 < a->n_heap && earlier(&a->heap[k + 1], &a->heap[k]);
        if (!earlier(&a->heap[k], &x))
            break;
        a->heap[i] = a->heap[k];
    }
    a->heap[i] = x;
}

static uint64_t scaled(const struct arrivals *a, uint64_t ps)
{
    return a->gap_scale == 1 ? ps : (uint64_t)fmin((double)ps * a->gap_scale, (double)SERVE_MAX_PS);
}

/* Finds the next request without a parent, from number i on. */
static void find_root(struct arrivals *a, size_t i)
{
    const struct serve_request *r = a->w->r;
    while (i < a->w->n && r[i].parent != SERVE_NO_PARENT)
        i++;
    a->root = i < a->w->n ? (struct due){ scaled(a, r[i].after_ps), (uint32_t)i } : (struct due){ UINT64_MAX, SERVE_NO_PARENT };
}

int arrivals_init(struct arrivals *a, const struct serve_workload *w, uint32_t most_active, double gap_scale, struct error *err)
{
    *a = (struct arrivals){ .w = w, .most_active = most_active, .gap_scale = gap_scale > 0 ? gap_scale : 1 };
    if (link_children(a, err) != 0) {
        arrivals_free(a);
        return -1;
    }
    find_root(a, 0);
    return 0;
}

/* The request that is due first; ps UINT64_MAX: none. */
static struct due first_due(const struct arrivals *a)
{
    return a->n_heap > 0 && earlier(&a->heap[0], &a->root) ? a->heap[0] : a->root;
}

uint64_t arrivals_next_ps(struct arrivals *a, uint64_t now_ps)
{
    if (a->most_active > 0 && a->n_active >= a->most_active)
        return UINT64_MAX;
    const uint64_t ps = first_due(a).ps;
    return ps > now_ps ? ps : now_ps;
}

bool arrivals_take(struct arrivals *a, uint64_t now_ps, struct due *x, uint64_t *sent_ps)
{
    *x = first_due(a);
    if (x->ps > now_ps || x->ps == UINT64_MAX || (a->most_active > 0 && a->n_active >= a->most_active))
        return false;
    if (a->n_heap > 0 && a->heap[0].request == x->request)
        pop(a);
    else
        find_root(a, (size_t)x->request + 1);
    a->n_active++;
    *sent_ps = u64_max(x->ps, a->freed_ps);
    return true;
}

void arrivals_end(struct arrivals *a, uint32_t request, uint64_t now_ps)
{
    if (a->n_active == a->most_active)
        a->freed_ps = now_ps;
    a->n_active--;
    if (!a->first_child)
        return;
    for (uint32_t c = a->first_child[request]; c != SERVE_NO_PARENT; c = a->sibling[c])
        push(a, (struct due){ u64_max(now_ps, u64_min(now_ps + a->w->r[c].after_ps, SERVE_MAX_PS)), c });
}
