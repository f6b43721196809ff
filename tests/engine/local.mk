if CMOCKA
check_PROGRAMS += %D%/test_engine
%C%_test_engine_SOURCES = %D%/test_engine.c tests/test.h
%C%_test_engine_LDADD   = tests/engine/ref/libref.a libengine.a libcounters.a $(KERNEL_LIBS) libmodel.a libgguf.a libdtype.a \
  $(PCRE2_LIBS) $(PAPI_LIBS) $(TEST_LIBS)
TESTS += %D%/test_engine
check_PROGRAMS += %D%/test_archs
%C%_test_archs_SOURCES = %D%/test_archs.c tests/test.h
%C%_test_archs_LDADD   = tests/engine/ref/libref.a libengine.a libcounters.a $(KERNEL_LIBS) libmodel.a libgguf.a libdtype.a \
  $(PCRE2_LIBS) $(PAPI_LIBS) $(TEST_LIBS)
TESTS += %D%/test_archs
check_PROGRAMS += %D%/test_nextn
%C%_test_nextn_SOURCES = %D%/test_nextn.c tests/test.h
%C%_test_nextn_LDADD   = tests/engine/ref/libref.a libengine.a libcounters.a $(KERNEL_LIBS) libmodel.a libgguf.a libdtype.a \
  $(PCRE2_LIBS) $(PAPI_LIBS) $(TEST_LIBS)
TESTS += %D%/test_nextn
check_PROGRAMS += %D%/test_generate
%C%_test_generate_SOURCES = %D%/test_generate.c tests/test.h
%C%_test_generate_LDADD   = tests/engine/ref/libref.a libengine.a libcounters.a $(KERNEL_LIBS) libmodel.a libgguf.a libdtype.a \
  $(PCRE2_LIBS) $(PAPI_LIBS) $(TEST_LIBS)
check_PROGRAMS += %D%/test_scales
%C%_test_scales_SOURCES = %D%/test_scales.c tests/test.h
%C%_test_scales_LDADD   = tests/engine/ref/libref.a libengine.a libcounters.a $(KERNEL_LIBS) libmodel.a libgguf.a libdtype.a \
  $(PCRE2_LIBS) $(PAPI_LIBS) $(TEST_LIBS)
TESTS += %D%/test_scales
check_PROGRAMS += %D%/test_sampler
%C%_test_sampler_SOURCES = %D%/test_sampler.c tests/test.h
%C%_test_sampler_LDADD   = libengine.a $(TEST_LIBS)
TESTS += %D%/test_sampler
check_PROGRAMS += %D%/test_quality
%C%_test_quality_SOURCES = %D%/test_quality.c tests/test.h
%C%_test_quality_LDADD   = libengine.a $(TEST_LIBS)
TESTS += %D%/test_quality
endif
EXTRA_PROGRAMS += %D%/make_oracle
%C%_make_oracle_SOURCES = %D%/make_oracle.c
%C%_make_oracle_LDADD   = tests/engine/ref/libref.a libgguf.a libdtype.a $(BASE_LIBS)
EXTRA_DIST += tests/fixtures/llama-2l.gguf tests/fixtures/llama-2l.logits tests/fixtures/README.md
include tests/engine/ref/local.mk
