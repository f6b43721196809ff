if CMOCKA
check_PROGRAMS += %D%/test_tables
%C%_test_tables_SOURCES = %D%/test_tables.c tests/test.h tests/near.h
%C%_test_tables_LDADD   = $(PREDICT_TEST_LIBS)
check_PROGRAMS += %D%/test_levels
%C%_test_levels_SOURCES = %D%/test_levels.c tests/test.h tests/config.h tests/near.h
%C%_test_levels_LDADD   = $(PREDICT_TEST_LIBS)
check_PROGRAMS += %D%/test_kernel_roofs
%C%_test_kernel_roofs_SOURCES = %D%/test_kernel_roofs.c tests/test.h tests/near.h
%C%_test_kernel_roofs_LDADD   = $(PREDICT_TEST_LIBS)
check_PROGRAMS += %D%/test_kernel_time
%C%_test_kernel_time_SOURCES = %D%/test_kernel_time.c tests/test.h
%C%_test_kernel_time_LDADD   = $(PREDICT_TEST_LIBS)
check_PROGRAMS += %D%/test_timing
%C%_test_timing_SOURCES = %D%/test_timing.c tests/test.h tests/near.h tests/source.h
%C%_test_timing_LDADD   = $(PREDICT_TEST_LIBS)
TESTS += %D%/test_tables %D%/test_levels %D%/test_kernel_roofs %D%/test_kernel_time %D%/test_timing
endif
