# tests of server; tests/server/fake_loop.c stands for the loop, without an engine
SERVER_TEST_LIBS = libserver.a libmodel.a libgguf.a libdtype.a $(TEST_LIBS) $(PCRE2_LIBS) $(MICROHTTPD_LIBS)
LOOP_TEST_LIBS = libserver.a libserving.a libtiming.a libcost.a libhwprofile.a tests/engine/ref/libref.a libengine.a libcounters.a $(KERNEL_LIBS) \
  libmodel.a libgguf.a libdtype.a $(PCRE2_LIBS) $(PAPI_LIBS) $(TEST_LIBS) $(MICROHTTPD_LIBS)
if CMOCKA
check_PROGRAMS += %D%/test_loop
%C%_test_loop_SOURCES = %D%/test_loop.c %D%/served.h tests/test.h
%C%_test_loop_LDADD   = $(LOOP_TEST_LIBS)
TESTS += %D%/test_loop
check_PROGRAMS += %D%/test_requests
%C%_test_requests_SOURCES = %D%/test_requests.c %D%/served.h tests/test.h
%C%_test_requests_LDADD   = $(LOOP_TEST_LIBS)
TESTS += %D%/test_requests
check_PROGRAMS += %D%/test_threads
%C%_test_threads_SOURCES = %D%/test_threads.c %D%/served.h tests/test.h
%C%_test_threads_LDADD   = $(LOOP_TEST_LIBS)
TESTS += %D%/test_threads
check_PROGRAMS += %D%/test_refused
%C%_test_refused_SOURCES = %D%/test_refused.c %D%/served.h tests/test.h
%C%_test_refused_LDADD   = $(LOOP_TEST_LIBS)
%C%_test_refused_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=free
TESTS += %D%/test_refused
check_PROGRAMS += %D%/test_replay
%C%_test_replay_SOURCES = %D%/test_replay.c %D%/served.h tests/test.h
%C%_test_replay_LDADD   = $(LOOP_TEST_LIBS)
TESTS += %D%/test_replay
check_PROGRAMS += %D%/test_draft
%C%_test_draft_SOURCES = %D%/test_draft.c %D%/drafted.h %D%/served.h tests/test.h
%C%_test_draft_LDADD   = $(LOOP_TEST_LIBS)
TESTS += %D%/test_draft
check_PROGRAMS += %D%/test_mtp
%C%_test_mtp_SOURCES = %D%/test_mtp.c %D%/drafted.h %D%/served.h tests/test.h
%C%_test_mtp_LDADD   = $(LOOP_TEST_LIBS)
TESTS += %D%/test_mtp
check_PROGRAMS += %D%/test_invariant
%C%_test_invariant_SOURCES = %D%/test_invariant.c %D%/served.h tests/test.h
%C%_test_invariant_LDADD   = $(LOOP_TEST_LIBS)
TESTS += %D%/test_invariant
check_PROGRAMS += %D%/test_api_request
%C%_test_api_request_SOURCES = %D%/test_api_request.c tests/test.h
%C%_test_api_request_LDADD   = $(SERVER_TEST_LIBS)
TESTS += %D%/test_api_request
check_PROGRAMS += %D%/test_api_reply
%C%_test_api_reply_SOURCES = %D%/test_api_reply.c %D%/fake_loop.c %D%/fake_loop.h %D%/tiny_model.h tests/model/tiny_vocab.h tests/test.h
%C%_test_api_reply_LDADD   = $(SERVER_TEST_LIBS)
%C%_test_api_reply_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
TESTS += %D%/test_api_reply
check_PROGRAMS += %D%/test_http
%C%_test_http_SOURCES = %D%/test_http.c %D%/fake_loop.c %D%/fake_loop.h %D%/tiny_model.h tests/model/tiny_vocab.h tests/test.h
%C%_test_http_LDADD   = $(SERVER_TEST_LIBS)
%C%_test_http_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
TESTS += %D%/test_http
# The HTTP server without a model, for clients of other languages.
check_PROGRAMS += %D%/fake_server
%C%_fake_server_SOURCES = %D%/fake_server.c %D%/fake_loop.c %D%/fake_loop.h %D%/tiny_model.h tests/model/tiny_vocab.h
%C%_fake_server_LDADD   = libserver.a libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS) $(MICROHTTPD_LIBS)
%C%_fake_server_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
dist_check_SCRIPTS += %D%/client.sh
TESTS += %D%/client.sh
EXTRA_DIST += %D%/client.py
endif
dist_check_SCRIPTS += %D%/figures.sh %D%/load.sh %D%/npm.sh
TESTS += %D%/figures.sh %D%/npm.sh
EXTRA_DIST += %D%/load.py %D%/npm/package.json %D%/npm/clients.mjs
.PHONY: clean-npm
clean-npm:
	rm -rf npm-clients npm-clients.none
clean-local: clean-npm
