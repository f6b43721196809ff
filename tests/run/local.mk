if CMOCKA
check_PROGRAMS += %D%/test_run
%C%_test_run_SOURCES = %D%/test_run.c tests/test.h
%C%_test_run_LDADD   = librun.a $(TEST_LIBS)
TESTS += %D%/test_run
endif
check_PROGRAMS += %D%/validate
%C%_validate_SOURCES = %D%/validate.c
%C%_validate_LDADD   = $(BASE_LIBS)
