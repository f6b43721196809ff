/*
 * topology.h: hwloc's topology of this machine or of a description. This machine's is loaded once per process: loading takes milliseconds.
 * The program disables hwloc's plugins (cli_environment).
 */
#ifndef BASE_TOPOLOGY_H
#define BASE_TOPOLOGY_H

#include "base/base.h"
#include <hwloc.h>

/*
 * A loaded topology, read-only: this machine's (description NULL) or a synthetic one. HWLOC_XMLFILE and HWLOC_SYNTHETIC replace this
 * machine's. Thread-safe.
 *
 * errors   NULL: ERROR_INPUT: invalid description; ERROR_SYSTEM
 */
hwloc_topology_t topology_open(const char *description, struct error *err);
void topology_close(hwloc_topology_t topo); /* NULL is allowed */

#endif
