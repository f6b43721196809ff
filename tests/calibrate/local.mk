if CMOCKA
check_PROGRAMS += %D%/test_fit
%C%_test_fit_SOURCES = %D%/test_fit.c tests/test.h
%C%_test_fit_LDADD   = libcalibrate.a $(ROOFLINE_TEST_LIBS) $(CMINPACK_LIBS)
TESTS += %D%/test_fit
endif
