if CMOCKA
check_PROGRAMS += %D%/test_counters
%C%_test_counters_SOURCES = %D%/test_counters.c tests/test.h
%C%_test_counters_CFLAGS  = $(AM_CFLAGS) $(PAPI_CFLAGS)
%C%_test_counters_LDADD   = libcounters.a $(TEST_LIBS) $(PAPI_LIBS)
TESTS += %D%/test_counters
endif
