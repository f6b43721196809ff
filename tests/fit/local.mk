if CMOCKA
check_PROGRAMS += %D%/test_fit
%C%_test_fit_SOURCES = %D%/test_fit.c tests/test.h tests/fit/toy.h
%C%_test_fit_LDADD   = libfit.a $(PREDICT_TEST_LIBS) $(CMINPACK_LIBS)
TESTS += %D%/test_fit
endif
