if CMOCKA
check_PROGRAMS += %D%/test_roofline_cost %D%/test_roofline_kinds %D%/test_roofline_account %D%/test_roofline_predict \
  %D%/test_speculate %D%/test_roofline_memory %D%/test_solve
%C%_test_roofline_cost_SOURCES    = %D%/test_roofline_cost.c tests/test.h %D%/near.h
%C%_test_roofline_cost_LDADD      = $(ROOFLINE_TEST_LIBS)
%C%_test_roofline_kinds_SOURCES   = %D%/test_roofline_kinds.c tests/test.h %D%/near.h
%C%_test_roofline_kinds_LDADD     = $(ROOFLINE_TEST_LIBS)
%C%_test_roofline_account_SOURCES = %D%/test_roofline_account.c tests/test.h %D%/config.h %D%/near.h
%C%_test_roofline_account_LDADD   = $(ROOFLINE_TEST_LIBS)
%C%_test_roofline_predict_SOURCES = %D%/test_roofline_predict.c tests/test.h %D%/config.h %D%/near.h
%C%_test_roofline_predict_LDADD   = $(ROOFLINE_TEST_LIBS)
check_PROGRAMS += %D%/test_roofline_tables %D%/test_roofline_layout %D%/test_levels
%C%_test_levels_SOURCES = %D%/test_levels.c tests/test.h %D%/config.h %D%/near.h
%C%_test_levels_LDADD   = $(ROOFLINE_TEST_LIBS)
%C%_test_roofline_tables_SOURCES = %D%/test_roofline_tables.c tests/test.h %D%/near.h
%C%_test_roofline_tables_LDADD   = $(ROOFLINE_TEST_LIBS)
%C%_test_roofline_layout_SOURCES = %D%/test_roofline_layout.c tests/test.h %D%/near.h
%C%_test_roofline_layout_LDADD   = $(ROOFLINE_TEST_LIBS)
TESTS += %D%/test_roofline_tables %D%/test_roofline_layout %D%/test_levels
%C%_test_speculate_SOURCES = %D%/test_speculate.c tests/test.h %D%/config.h %D%/near.h
%C%_test_speculate_LDADD   = $(ROOFLINE_TEST_LIBS)
%C%_test_roofline_memory_SOURCES = %D%/test_roofline_memory.c tests/test.h %D%/config.h %D%/near.h
%C%_test_roofline_memory_LDADD   = $(ROOFLINE_TEST_LIBS)
%C%_test_solve_SOURCES = %D%/test_solve.c tests/test.h %D%/near.h
%C%_test_solve_LDADD   = $(ROOFLINE_TEST_LIBS)
ROOFLINE_TEST_LIBS = libroofline.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(TEST_LIBS) $(PCRE2_LIBS)
TESTS += %D%/test_roofline_cost %D%/test_roofline_kinds %D%/test_roofline_account %D%/test_roofline_predict \
  %D%/test_speculate %D%/test_roofline_memory %D%/test_solve
check_PROGRAMS += %D%/test_kernel_roofs
%C%_test_kernel_roofs_SOURCES = %D%/test_kernel_roofs.c tests/test.h %D%/near.h
%C%_test_kernel_roofs_LDADD   = $(ROOFLINE_TEST_LIBS)
TESTS += %D%/test_kernel_roofs
check_PROGRAMS += %D%/test_timing
%C%_test_timing_SOURCES = %D%/test_timing.c tests/test.h %D%/near.h
%C%_test_timing_LDADD   = $(ROOFLINE_TEST_LIBS)
TESTS += %D%/test_timing
check_PROGRAMS += %D%/test_kernel_time
%C%_test_kernel_time_SOURCES = %D%/test_kernel_time.c tests/test.h
%C%_test_kernel_time_LDADD   = $(ROOFLINE_TEST_LIBS)
TESTS += %D%/test_kernel_time
check_PROGRAMS += %D%/test_finding
%C%_test_finding_SOURCES = %D%/test_finding.c tests/test.h
%C%_test_finding_LDADD   = libroofline.a librun.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(TEST_LIBS) $(PCRE2_LIBS)
TESTS += %D%/test_finding
EXTRA_PROGRAMS += %D%/bench_price
%C%_bench_price_SOURCES = %D%/bench_price.c tests/test.h
%C%_bench_price_LDADD   = $(ROOFLINE_TEST_LIBS)
endif
