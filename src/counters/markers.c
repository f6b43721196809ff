/* counters/markers.c: marker tools of this build. The object that loads LIKWID (GPL) is separate. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "counters/markers.h"

#ifdef HAVE_LIKWID
const struct marker_tool *markers_likwid_load(char *why, size_t size);
#endif
#ifdef HAVE_PAPI
extern const struct marker_tool markers_papi_tool;
#endif

const struct marker_tool *markers_likwid(char *why, size_t size)
{
#ifdef HAVE_LIKWID
    return markers_likwid_load(why, size);
#else
    snprintf(why, size, "this roofcast was built without LIKWID (configure --with-likwid=yes)");
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
