# tests of server; tests/server/fake_loop.c stands for the loop, without an engine
SERVER_TEST_LIBS = libserver.a libmodel.a libgguf.a libdtype.a $(TEST_LIBS) $(PCRE2_LIBS) $(MICROHTTPD_LIBS)
if CMOCKA
check_PROGRAMS += %D%/test_api_request
%C%_test_api_request_SOURCES = %D%/test_api_request.c tests/test.h
%C%_test_api_request_LDADD   = $(SERVER_TEST_LIBS)
TESTS += %D%/test_api_request
endif
