SERVER_TEST_LIBS = libserver.a libserving.a libtiming.a libcost.a libhwprofile.a tests/engine/ref/libref.a libengine.a libcounters.a $(KERNEL_LIBS) \
  libmodel.a libgguf.a libdtype.a $(PCRE2_LIBS) $(PAPI_LIBS) $(TEST_LIBS)
if CMOCKA
check_PROGRAMS += %D%/test_loop
%C%_test_loop_SOURCES = %D%/test_loop.c tests/test.h
%C%_test_loop_LDADD   = $(SERVER_TEST_LIBS)
TESTS += %D%/test_loop
check_PROGRAMS += %D%/test_requests
%C%_test_requests_SOURCES = %D%/test_requests.c %D%/served.h tests/test.h
%C%_test_requests_LDADD   = $(SERVER_TEST_LIBS)
TESTS += %D%/test_requests
check_PROGRAMS += %D%/test_threads
%C%_test_threads_SOURCES = %D%/test_threads.c %D%/served.h tests/test.h
%C%_test_threads_LDADD   = $(SERVER_TEST_LIBS)
TESTS += %D%/test_threads
check_PROGRAMS += %D%/test_refused
%C%_test_refused_SOURCES = %D%/test_refused.c %D%/served.h tests/test.h
%C%_test_refused_LDADD   = $(SERVER_TEST_LIBS)
%C%_test_refused_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=free
TESTS += %D%/test_refused
check_PROGRAMS += %D%/test_replay
%C%_test_replay_SOURCES = %D%/test_replay.c %D%/served.h tests/test.h
%C%_test_replay_LDADD   = $(SERVER_TEST_LIBS)
TESTS += %D%/test_replay
check_PROGRAMS += %D%/test_draft
%C%_test_draft_SOURCES = %D%/test_draft.c %D%/served.h tests/test.h
%C%_test_draft_LDADD   = $(SERVER_TEST_LIBS)
TESTS += %D%/test_draft
check_PROGRAMS += %D%/test_invariant
%C%_test_invariant_SOURCES = %D%/test_invariant.c %D%/served.h tests/test.h
%C%_test_invariant_LDADD   = $(SERVER_TEST_LIBS)
TESTS += %D%/test_invariant
endif
