/* counters/papi_internal.h: PAPI for this process (papi.c), the choice of events (papi_events.c), its high-level API (markers_papi.c). */
#ifndef COUNTERS_PAPI_INTERNAL_H
#define COUNTERS_PAPI_INTERNAL_H

#include "counters/internal.h"

/* PAPI wants the events of a set to be of one component. */
enum papi_kind { PAPI_KIND_CORE, PAPI_KIND_UNCORE, PAPI_KIND_SDE };

/* An event of a unit of the uncore, on a socket: some of them make an event of counters.event. */
struct papi_unit {
    char name[96];
    size_t event;
};

/* Of an open. */
struct papi {
    bool owns_sde;
    enum papi_kind kind[COUNTER_EVENT_MAX]; /* of counters.event */
    struct papi_unit *unit;
    size_t n_unit;
};

/* PAPI up, with roofcast's software-defined events; once a process. -1 with the reason. */
int papi_process(char *why, size_t size);
/* What the software-defined events read from now on; false with the reason: they read another's already. */
bool papi_publish(const struct counter_source *src, char *why, size_t size);
void papi_unpublish(const struct counter_source *src);
const char *papi_error(int rc);
/* "" when the component is there and on, else why not. */
void papi_component_state(const char *name, char *why, size_t size);
void papi_drop_set(int *set);

/* The cores' and the uncore's events that can be added here, in sets that fit the counters; reasons for fields without any. */
void papi_choose_events(struct counters *c);

#endif
