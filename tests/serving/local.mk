SERVING_TEST_LIBS = libserving.a $(PREDICT_TEST_LIBS)
if CMOCKA
check_PROGRAMS += %D%/test_scheduler
%C%_test_scheduler_SOURCES = %D%/test_scheduler.c tests/test.h
%C%_test_scheduler_LDADD   = $(SERVING_TEST_LIBS)
TESTS += %D%/test_scheduler
check_PROGRAMS += %D%/test_jumps
%C%_test_jumps_SOURCES = %D%/test_jumps.c %D%/random_case.h tests/test.h
%C%_test_jumps_LDADD   = $(SERVING_TEST_LIBS)
TESTS += %D%/test_jumps
check_PROGRAMS += %D%/test_metrics
%C%_test_metrics_SOURCES = %D%/test_metrics.c tests/test.h tests/near.h
%C%_test_metrics_LDADD   = $(SERVING_TEST_LIBS)
TESTS += %D%/test_metrics
check_PROGRAMS += %D%/test_workload
%C%_test_workload_SOURCES = %D%/test_workload.c tests/test.h
%C%_test_workload_LDADD   = $(SERVING_TEST_LIBS)
TESTS += %D%/test_workload
check_PROGRAMS += %D%/test_traces
%C%_test_traces_SOURCES = %D%/test_traces.c tests/test.h
%C%_test_traces_LDADD   = $(SERVING_TEST_LIBS)
TESTS += %D%/test_traces
EXTRA_PROGRAMS += %D%/bench_sim
%C%_bench_sim_SOURCES = %D%/bench_sim.c tests/test.h
%C%_bench_sim_LDADD   = $(SERVING_TEST_LIBS)
endif
