if CMOCKA
check_PROGRAMS += %D%/test_base
%C%_test_base_SOURCES = %D%/test_base.c tests/test.h
%C%_test_base_LDADD   = $(TEST_LIBS)
TESTS += %D%/test_base
endif
