/* counters/markers.c: which tools this build knows. The object that links LIKWID (GPL) is a file of its own. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "counters/markers.h"

#ifdef HAVE_LIKWID
extern const struct marker_tool markers_likwid_tool;
#endif
#ifdef HAVE_PAPI
extern const struct marker_tool markers_papi_tool;
#endif

const struct marker_tool *markers_likwid(void)
{
#ifdef HAVE_LIKWID
    return &markers_likwid_tool;
#else
    return NULL;
#endif
}

const struct marker_tool *markers_papi(void)
{
#ifdef HAVE_PAPI
    return &markers_papi_tool;
#else
    return NULL;
#endif
}
