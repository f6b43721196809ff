SERVING_TEST_LIBS = libserving.a $(PREDICT_TEST_LIBS)
if CMOCKA
check_PROGRAMS += %D%/test_scheduler
%C%_test_scheduler_SOURCES = %D%/test_scheduler.c tests/test.h
%C%_test_scheduler_LDADD   = $(SERVING_TEST_LIBS)
check_PROGRAMS += %D%/test_jumps
%C%_test_jumps_SOURCES = %D%/test_jumps.c %D%/random_case.h tests/test.h
%C%_test_jumps_LDADD   = $(SERVING_TEST_LIBS)
check_PROGRAMS += %D%/test_metrics
%C%_test_metrics_SOURCES = %D%/test_metrics.c tests/test.h tests/near.h
%C%_test_metrics_LDADD   = $(SERVING_TEST_LIBS)
check_PROGRAMS += %D%/test_clock
%C%_test_clock_SOURCES = %D%/test_clock.c tests/test.h
%C%_test_clock_LDADD   = libserving.a $(LEARN_TEST_LIBS)
TESTS += %D%/test_scheduler %D%/test_jumps %D%/test_metrics %D%/test_clock
endif
