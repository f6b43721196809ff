noinst_LIBRARIES += libbase.a
libbase_a_SOURCES = \
  %D%/base.h \
  %D%/environment.c \
  %D%/environment.h \
  %D%/lists.c \
  %D%/lists.h \
  %D%/notify.c \
  %D%/notify.h \
  %D%/coherence.h \
  %D%/json.h \
  %D%/cpu_topology.h \
  %D%/program.h \
  %D%/topology.h \
  %D%/error.c \
  %D%/size.c \
  %D%/strbuf.c \
  %D%/digits.c \
  %D%/file.c \
  %D%/temporary.c \
  %D%/names.c \
  %D%/once.c \
  %D%/interrupt.c \
  %D%/sha256.c \
  %D%/sha256.h \
  %D%/signals.c \
  %D%/units.c \
  %D%/parse.c \
  %D%/ratio.c \
  %D%/ratio.h \
  %D%/stats.c \
  %D%/clock.c \
  %D%/rng.c \
  %D%/hash.c \
  %D%/cpu.c \
  %D%/coherence.c \
  %D%/column.c \
  %D%/column.h \
  %D%/cpu_topology.c \
  %D%/topology.c \
  %D%/process.c \
  %D%/program.c \
  %D%/team.c \
  %D%/json.c \
  %D%/rules.h \
  %D%/rules.c
BASE_LIBS = libbase.a $(HWLOC_LIBS) $(JANSSON_LIBS)
