# tests of ceilings
if CMOCKA
check_PROGRAMS += %D%/test_ceilings
%C%_test_ceilings_SOURCES = %D%/test_ceilings.c tests/test.h
%C%_test_ceilings_LDADD   = libceilings.a libhwprofile.a $(TEST_LIBS)
TESTS += %D%/test_ceilings
endif
