if CMOCKA
check_PROGRAMS += %D%/test_interval
%C%_test_interval_SOURCES = %D%/test_interval.c tests/test.h tests/fit/toy.h
%C%_test_interval_LDADD   = $(LEARN_TEST_LIBS)
check_PROGRAMS += %D%/test_cross
%C%_test_cross_SOURCES = %D%/test_cross.c tests/test.h tests/fit/toy.h
%C%_test_cross_LDADD   = $(LEARN_TEST_LIBS)
check_PROGRAMS += %D%/test_score
%C%_test_score_SOURCES = %D%/test_score.c tests/test.h %D%/rows.h
%C%_test_score_LDADD   = $(LEARN_TEST_LIBS)
check_PROGRAMS += %D%/test_reasons
%C%_test_reasons_SOURCES = %D%/test_reasons.c tests/test.h %D%/rows.h
%C%_test_reasons_LDADD   = $(LEARN_TEST_LIBS)
check_PROGRAMS += %D%/test_closed_loop
%C%_test_closed_loop_SOURCES = %D%/test_closed_loop.c tests/test.h %D%/rows.h
%C%_test_closed_loop_LDADD   = liblearn.a libserving.a $(LEARN_TEST_LIBS)
TESTS += %D%/test_interval %D%/test_cross %D%/test_reasons %D%/test_closed_loop
endif
