/*
 * base/topology.h: hwloc's topology, of this machine or of a description. Loading this machine's takes milliseconds (hwloc's plugins for
 * GPUs alone 6 on a Zen 5 guest), and a bench asks for it seven times: it is loaded once a process and kept. The program leaves
 * plugins out (cli_environment).
 */
#ifndef BASE_TOPOLOGY_H
#define BASE_TOPOLOGY_H

#include "base/base.h"
#include <hwloc.h>

/*
 * A loaded topology, not to be changed: of this machine (description NULL), or of hwloc's synthetic description. A recorded or synthetic
 * one in the environment (HWLOC_XMLFILE, HWLOC_SYNTHETIC) takes this machine's place. NULL: *err says why (ERROR_INPUT: not a
 * description; ERROR_SYSTEM). Any thread may ask.
 */
hwloc_topology_t topology_open(const char *description, struct error *err);
void topology_close(hwloc_topology_t topo); /* NULL is allowed */

#endif
