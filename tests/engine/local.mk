if CMOCKA
check_PROGRAMS += %D%/test_engine
%C%_test_engine_SOURCES = %D%/test_engine.c %D%/reference.c %D%/reference.h tests/test.h
%C%_test_engine_LDADD   = libengine.a libcounters.a $(KERNEL_LIBS) libmodel.a libgguf.a libdtype.a \
  $(PCRE2_LIBS) $(PAPI_LIBS) $(TEST_LIBS)
TESTS += %D%/test_engine
endif
EXTRA_PROGRAMS += %D%/make_oracle
%C%_make_oracle_SOURCES = %D%/make_oracle.c %D%/reference.c %D%/reference.h
%C%_make_oracle_LDADD   = libgguf.a libdtype.a $(BASE_LIBS)
EXTRA_DIST += tests/fixtures/llama-2l.gguf tests/fixtures/llama-2l.logits tests/fixtures/README.md
