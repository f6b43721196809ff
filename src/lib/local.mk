# The public boundary (include/roofcast) over the modules, and libroofcast.so and libroofcast.a of it.
noinst_LIBRARIES += liblib.a
liblib_a_SOURCES = \
  %D%/internal.h \
  %D%/predict.h \
  %D%/serving.h \
  %D%/library.c \
  %D%/model.c \
  %D%/machine.c \
  %D%/cost.c \
  %D%/predict.c \
  %D%/explain.c \
  %D%/engine.c \
  %D%/tokenizer.c \
  %D%/bench.c \
  %D%/data.c \
  %D%/workload.c \
  %D%/server.c \
  %D%/serving.c
liblib_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/include
pkginclude_HEADERS = \
  include/roofcast/bench.h \
  include/roofcast/cost.h \
  include/roofcast/data.h \
  include/roofcast/engine.h \
  include/roofcast/error.h \
  include/roofcast/library.h \
  include/roofcast/machine.h \
  include/roofcast/model.h \
  include/roofcast/predict.h \
  include/roofcast/roofcast.h \
  include/roofcast/serving.h
# What the boundary uses of the modules, in layer order.
LIB_ARCHIVES = libbench.a libreport.a libserving.a liblearn.a libstacks.a libfit.a libdataset.a libengine.a libceilings.a libpredict.a libtiming.a libcost.a \
  librun.a $(KERNEL_LIBS) libcounters.a libhwprofile.a libmodel.a libgguf.a libdtype.a libbase.a
LIB_LIBS = $(HWLOC_LIBS) $(JANSSON_LIBS) $(PCRE2_LIBS) $(CMINPACK_LIBS) $(PAPI_LIBS) $(LIBS)

if LIBRARY
# The number in the soname changes with an incompatible change of include/roofcast.
LIB_SONAME = libroofcast.so.0
LIB_FILE = $(LIB_SONAME).0.0
libroofcastdir = $(libdir)
libroofcast_DATA = libroofcast.a $(LIB_FILE)
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = roofcast.pc
CLEANFILES += libroofcast.o libroofcast.a $(LIB_FILE)

# One object of the boundary and what it needs, in which hidden symbols have become local: a static library that exports no more than the
# shared one, which is the same object linked.
libroofcast.o: $(liblib_a_OBJECTS) $(LIB_ARCHIVES)
	$(AM_V_CCLD)$(CC) $(CFLAGS) -r -nostdlib -o $@.tmp $(liblib_a_OBJECTS) -Wl,--start-group $(LIB_ARCHIVES) -Wl,--end-group && \
	  $(OBJCOPY) --localize-hidden $@.tmp $@ && rm -f $@.tmp
libroofcast.a: libroofcast.o
	$(AM_V_AR)rm -f $@ && $(AR) $(ARFLAGS) $@ libroofcast.o && $(RANLIB) $@
$(LIB_FILE): libroofcast.o
	$(AM_V_CCLD)$(CC) $(CFLAGS) $(PIC_CFLAGS) -shared -Wl,-soname,$(LIB_SONAME) -Wl,-z,defs $(LIB_LDFLAGS) $(LDFLAGS) -o $@ libroofcast.o $(LIB_LIBS)

install-data-hook:
	cd '$(DESTDIR)$(libdir)' && ln -sf $(LIB_FILE) $(LIB_SONAME) && ln -sf $(LIB_SONAME) libroofcast.so
uninstall-hook:
	cd '$(DESTDIR)$(libdir)' && rm -f $(LIB_SONAME) libroofcast.so
endif
