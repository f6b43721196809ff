# tests of dtype
if CMOCKA
check_PROGRAMS += %D%/test_dtype %D%/test_quantize
%C%_test_dtype_SOURCES = %D%/test_dtype.c %D%/golden.h tests/test.h
%C%_test_dtype_LDADD   = libdtype.a $(TEST_LIBS)
%C%_test_quantize_SOURCES = %D%/test_quantize.c tests/test.h
%C%_test_quantize_LDADD   = libdtype.a $(TEST_LIBS)
TESTS += %D%/test_dtype %D%/test_quantize
endif
