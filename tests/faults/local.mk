# One request to the system refused at a time, for every command: a sample in `make check`, all in `make check-long`. A library
# that is loaded before ASan's is not to be had, so not in builds with sanitizers; of glibc, whose names of malloc it uses.
EXTRA_DIST += %D%/inject.c
check_PROGRAMS += %D%/faults
%C%_faults_SOURCES = %D%/faults.c
dist_check_SCRIPTS += %D%/run.sh
if !SANITIZERS
check_DATA += %D%/inject.so
CLEANFILES += %D%/inject.so
endif
%D%/inject.so: %D%/inject.c
	$(AM_V_CCLD)$(MKDIR_P) %D% && $(CC) -O1 -std=c11 -Wall -Wextra -D_GNU_SOURCE -shared -fPIC -fexceptions -o $@ $(top_srcdir)/%D%/inject.c -ldl

.PHONY: check-faults check-damage
# FAULTS='CASE KIND:N': one of them, and what it did
check-faults: roofcast %D%/faults %D%/inject.so
	top_srcdir='$(abs_top_srcdir)' ROOFCAST='$(abs_top_builddir)/roofcast' FAULTS_LIBRARY='$(abs_top_builddir)/%D%/inject.so' \
	  %D%/faults $${FAULTS:---all}
# Mistakes in files, ROUNDS a command; of a build with sanitizers it hears their reports.
check-damage: roofcast %D%/faults
	top_srcdir='$(abs_top_srcdir)' ROOFCAST='$(abs_top_builddir)/roofcast' %D%/faults --damage=$${ROUNDS:-100} $$FAULTS
