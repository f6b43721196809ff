/* heap: binary min-heap of merge candidates. */
#include "model/tokenizer/internal.h"
#include <stdlib.h>

int heap_push(struct heap *h, struct candidate c, struct error *err)
{
    if (h->n == h->cap) {
        size_t cap = h->cap ? h->cap * 2 : 256;
        struct candidate *at = realloc(h->at, cap * sizeof *at);
        if (!at)
            return error_oom(err, cap * sizeof *at, "tokenizing");
        h->at = at;
        h->cap = cap;
    }
    size_t i = h->n++;
    for (; i > 0 && c.order < h->at[(i - 1) / 2].order; i = (i - 1) / 2)
        h->at[i] = h->at[(i - 1) / 2];
    h->at[i] = c;
    return 0;
}

struct candidate heap_pop(struct heap *h)
{
    struct candidate top = h->at[0], last = h->at[--h->n];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < h->n) {
        if (child + 1 < h->n && h->at[child + 1].order < h->at[child].order)
            child++;
        if (h->at[child].order >= last.order)
            break;
        h->at[i] = h->at[child];
        i = child;
    }
    h->at[i] = last;
    return top;
}
