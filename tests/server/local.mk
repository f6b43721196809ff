if CMOCKA
check_PROGRAMS += %D%/test_loop
%C%_test_loop_SOURCES = %D%/test_loop.c tests/test.h
%C%_test_loop_LDADD   = libserver.a libserving.a libtiming.a libcost.a libhwprofile.a tests/engine/ref/libref.a libengine.a libcounters.a $(KERNEL_LIBS) \
  libmodel.a libgguf.a libdtype.a $(PCRE2_LIBS) $(PAPI_LIBS) $(TEST_LIBS)
TESTS += %D%/test_loop
endif
