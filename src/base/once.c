/* Lazy, thread-safe reading. */
#include "base/base.h"

int read_once(struct once *o, int (*read)(struct error *err), struct error *err)
{
    if (!atomic_load_explicit(&o->tried, memory_order_acquire)) {
        pthread_mutex_lock(&o->lock);
        if (!atomic_load_explicit(&o->tried, memory_order_relaxed)) {
            o->rc = read(&o->failure);
            atomic_store_explicit(&o->tried, true, memory_order_release);
        }
        pthread_mutex_unlock(&o->lock);
    }
    if (o->rc != 0)
        *err = o->failure;
    return o->rc;
}
