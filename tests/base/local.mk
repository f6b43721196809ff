if CMOCKA
check_PROGRAMS += %D%/test_base
%C%_test_base_SOURCES = %D%/test_base.c tests/test.h
%C%_test_base_LDADD   = $(TEST_LIBS)
check_PROGRAMS += %D%/test_process
%C%_test_process_SOURCES = %D%/test_process.c tests/test.h
%C%_test_process_LDADD   = $(TEST_LIBS) -lm
check_PROGRAMS += %D%/test_files
%C%_test_files_SOURCES = %D%/test_files.c tests/test.h
%C%_test_files_LDADD   = $(TEST_LIBS)
check_PROGRAMS += %D%/test_ratio
%C%_test_ratio_SOURCES = %D%/test_ratio.c tests/test.h
%C%_test_ratio_LDADD   = $(TEST_LIBS) -lm
TESTS += %D%/test_ratio %D%/test_files %D%/test_base %D%/test_process
endif
