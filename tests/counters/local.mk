if CMOCKA
check_PROGRAMS += %D%/test_replay
%C%_test_replay_SOURCES = %D%/test_replay.c tests/test.h
%C%_test_replay_LDADD   = libcounters.a $(TEST_LIBS) $(PAPI_LIBS)
TESTS += %D%/test_replay
check_PROGRAMS += %D%/test_events
%C%_test_events_SOURCES = %D%/test_events.c %D%/tree.h tests/test.h
%C%_test_events_LDADD   = libcounters.a $(TEST_LIBS) $(PAPI_LIBS)
TESTS += %D%/test_events
check_PROGRAMS += %D%/test_perf
%C%_test_perf_SOURCES = %D%/test_perf.c tests/test.h
%C%_test_perf_LDADD   = libcounters.a $(TEST_LIBS) $(PAPI_LIBS)
TESTS += %D%/test_perf
check_PROGRAMS += %D%/test_counters
%C%_test_counters_SOURCES = %D%/test_counters.c tests/test.h
%C%_test_counters_CFLAGS  = $(AM_CFLAGS) $(PAPI_CFLAGS)
%C%_test_counters_LDADD   = libcounters.a $(TEST_LIBS) $(PAPI_LIBS)
check_PROGRAMS += %D%/test_likwid
%C%_test_likwid_SOURCES = %D%/test_likwid.c %D%/tree.h tests/test.h
%C%_test_likwid_LDADD   = libcounters.a $(TEST_LIBS) $(PAPI_LIBS)
TESTS += %D%/test_likwid
check_PROGRAMS += %D%/test_energy
%C%_test_energy_SOURCES = %D%/test_energy.c %D%/tree.h tests/test.h
%C%_test_energy_LDADD   = libcounters.a $(TEST_LIBS) $(PAPI_LIBS)
TESTS += %D%/test_counters %D%/test_energy
endif
# Preloaded in LIKWID's place by tests/cli/markers.sh; a plain object, so that it needs no libtool.
if LIKWID
check_DATA += %D%/fake_likwid.so
%D%/fake_likwid.so: %D%/fake_likwid.c
	@$(MKDIR_P) %D%
	$(AM_V_CCLD)$(CC) $(CPPFLAGS) -D_GNU_SOURCE $(CFLAGS) -fPIC -shared -o $@ $(srcdir)/tests/counters/fake_likwid.c -lpthread
CLEANFILES += %D%/fake_likwid.so
endif
EXTRA_DIST += %D%/fake_likwid.c
# What counting and regions cost: `make bench-counters`.
EXTRA_PROGRAMS += %D%/bench_counters
%C%_bench_counters_SOURCES = %D%/bench_counters.c
%C%_bench_counters_LDADD   = libcounters.a $(BASE_LIBS) $(PAPI_LIBS)
.PHONY: bench-counters
bench-counters: %D%/bench_counters
	ROOFCAST_DATA='$(abs_top_srcdir)' %D%/bench_counters
EXTRA_DIST += %D%/replay
