noinst_LIBRARIES += libcounters.a
libcounters_a_SOURCES = \
  %D%/counters.h \
  %D%/internal.h \
  %D%/counters.c \
  %D%/sample.c \
  %D%/calibrate.c \
  %D%/certificate.c \
  %D%/known_work.h \
  %D%/known_work.c \
  %D%/pmu.h \
  %D%/pmu.c \
  %D%/events.h \
  %D%/events.c \
  %D%/perf_event.h \
  %D%/perf_event.c \
  %D%/perf_internal.h \
  %D%/perf.c \
  %D%/perf_thread.c \
  %D%/replay.h \
  %D%/replay_parse.c \
  %D%/replay.c \
  %D%/null.c \
  %D%/energy.h \
  %D%/energy.c \
  %D%/markers.h \
  %D%/markers.c \
  %D%/child.h \
  %D%/child.c \
  %D%/likwid.c
if PAPI
libcounters_a_SOURCES += \
  %D%/papi.c \
  %D%/papi_internal.h \
  %D%/papi_events.c \
  %D%/markers_papi.c
endif
if LIKWID
libcounters_a_SOURCES += %D%/markers_likwid.c
# Counts for --counters likwid; the only program that calls LIKWID's perfmon library.
pkglibexec_PROGRAMS = roofcast-likwid
roofcast_likwid_SOURCES = %D%/likwid_helper.c
roofcast_likwid_LDADD = $(LIKWID_LIBS) -lm
endif
libcounters_a_CPPFLAGS = $(AM_CPPFLAGS) -DPKGLIBEXECDIR='"$(pkglibexecdir)"'
libcounters_a_CFLAGS = $(AM_CFLAGS) $(PAPI_CFLAGS)
