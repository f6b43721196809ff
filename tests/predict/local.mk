if CMOCKA
check_PROGRAMS += %D%/test_predict
%C%_test_predict_SOURCES = %D%/test_predict.c tests/test.h tests/config.h tests/near.h
%C%_test_predict_LDADD   = $(PREDICT_TEST_LIBS)
check_PROGRAMS += %D%/test_speculate
%C%_test_speculate_SOURCES = %D%/test_speculate.c tests/test.h tests/config.h tests/near.h
%C%_test_speculate_LDADD   = $(PREDICT_TEST_LIBS)
check_PROGRAMS += %D%/test_solve
%C%_test_solve_SOURCES = %D%/test_solve.c tests/test.h tests/near.h
%C%_test_solve_LDADD   = $(PREDICT_TEST_LIBS)
check_PROGRAMS += %D%/test_offload
%C%_test_offload_SOURCES = %D%/test_offload.c tests/test.h tests/near.h
%C%_test_offload_LDADD   = $(PREDICT_TEST_LIBS)
check_PROGRAMS += %D%/test_chance
%C%_test_chance_SOURCES = %D%/test_chance.c tests/test.h tests/near.h tests/source.h
%C%_test_chance_LDADD   = $(PREDICT_TEST_LIBS)
check_PROGRAMS += %D%/test_finding
%C%_test_finding_SOURCES = %D%/test_finding.c tests/test.h
%C%_test_finding_LDADD   = libpredict.a librun.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(TEST_LIBS) $(PCRE2_LIBS)
TESTS += %D%/test_predict %D%/test_speculate %D%/test_solve %D%/test_offload %D%/test_chance %D%/test_finding
EXTRA_PROGRAMS += %D%/bench_price
%C%_bench_price_SOURCES = %D%/bench_price.c tests/test.h
%C%_bench_price_LDADD   = $(PREDICT_TEST_LIBS)
endif
