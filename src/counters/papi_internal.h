/* counters/papi_internal.h: PAPI process state (papi.c), event selection (papi_events.c), high-level API (markers_papi.c). */
#ifndef COUNTERS_PAPI_INTERNAL_H
#define COUNTERS_PAPI_INTERNAL_H

#include "counters/internal.h"

/* An event set holds events of one component. */
enum papi_kind { PAPI_KIND_CORE, PAPI_KIND_UNCORE, PAPI_KIND_SDE };

/* An uncore event on one unit and socket: a summand of an event of counters.event. */
struct papi_unit {
    char name[96];
    size_t event;
};

/* Backend state. */
struct papi {
    bool owns_sde;
    enum papi_kind kind[COUNTER_EVENT_MAX]; /* per event of counters.event */
    struct papi_unit *unit;
    size_t n_unit;
};

/* Initialises PAPI and the software-defined events, once per process. -1 with the reason. */
int papi_process(char *why, size_t size);
/* Sets the source of software-defined events; false with the reason: another one is set. */
bool papi_publish(const struct counter_source *src, char *why, size_t size);
void papi_unpublish(const struct counter_source *src);
const char *papi_error(int rc);
/* "" if the component is present and enabled; else the reason. */
void papi_component_state(const char *name, char *why, size_t size);
void papi_drop_set(int *set);

/* Chooses core and uncore events in sets that fit the counters; sets reasons for fields without. */
void papi_choose_events(struct counters *c);

#endif
