EXTRA_DIST += tests/fixtures/measure
if CMOCKA
check_PROGRAMS += %D%/test_measure
%C%_test_measure_SOURCES = %D%/test_measure.c tests/test.h
%C%_test_measure_LDADD   = libdataset.a librun.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(PCRE2_LIBS) $(TEST_LIBS)
TESTS += %D%/test_measure
endif
