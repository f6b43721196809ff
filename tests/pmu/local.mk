# A machine with a PMU, emulated: run by ./check, and by make check-pmu. The program for the guest is built by run.sh's
# cross build; init.c and cpio.c are compiled there too.
EXTRA_PROGRAMS += %D%/guest
%C%_guest_SOURCES = %D%/guest.c
%C%_guest_LDADD   = libengine.a libcounters.a $(KERNEL_LIBS) libmodel.a libgguf.a libdtype.a $(PCRE2_LIBS) $(PAPI_LIBS) \
  $(BASE_LIBS)
EXTRA_DIST += %D%/run.sh %D%/init.c %D%/cpio.c %D%/wrong.json
.PHONY: check-pmu
check-pmu:
	@$(SHELL) $(top_srcdir)/tests/pmu/run.sh || [ $$? = 77 ]
