/* hwloc's topology of this machine, loaded once. */
#include "base/topology.h"
#include "base/environment.h"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hwloc_topology_t machine; /* global: loaded once under `lock`, kept until exit */

static hwloc_topology_t load(const char *description, struct error *err)
{
    hwloc_topology_t topo;
    if (hwloc_topology_init(&topo) != 0) {
        error_set(err, ERROR_SYSTEM, "hwloc: cannot start");
        return NULL;
    }
    if (description && hwloc_topology_set_synthetic(topo, description) != 0)
        error_set(err, ERROR_INPUT, "hwloc: not a topology: \"%s\"", description);
    else if (hwloc_topology_load(topo) != 0)
        error_set(err, ERROR_SYSTEM, "hwloc: cannot read this machine's topology");
    else
        return topo;
    hwloc_topology_destroy(topo);
    return NULL;
}

hwloc_topology_t topology_open(const char *description, struct error *err)
{
    const bool told = description || environment()->other_topology;
    hwloc_topology_t topo;
    pthread_mutex_lock(&lock);
    if (!told && !machine)
        machine = load(NULL, err);
    topo = told ? load(description, err) : machine;
    pthread_mutex_unlock(&lock);
    return topo;
}

void topology_close(hwloc_topology_t topo)
{
    pthread_mutex_lock(&lock);
    const bool kept = topo == machine;
    pthread_mutex_unlock(&lock);
    if (topo && !kept)
        hwloc_topology_destroy(topo);
}
