if CMOCKA
check_PROGRAMS += %D%/test_fit
%C%_test_fit_SOURCES = %D%/test_fit.c %D%/toy.h tests/test.h
%C%_test_fit_LDADD   = libcalibrate.a $(ROOFLINE_TEST_LIBS) $(CMINPACK_LIBS)
check_PROGRAMS += %D%/test_serving
%C%_test_serving_SOURCES = %D%/test_serving.c tests/test.h
%C%_test_serving_LDADD   = libcalibrate.a libscore.a libmeasure.a librun.a $(ROOFLINE_TEST_LIBS) $(CMINPACK_LIBS)
check_PROGRAMS += %D%/test_sides
%C%_test_sides_SOURCES = %D%/test_sides.c %D%/toy.h tests/test.h
%C%_test_sides_LDADD   = libcalibrate.a libscore.a libmeasure.a librun.a $(ROOFLINE_TEST_LIBS) $(CMINPACK_LIBS)
check_PROGRAMS += %D%/test_spread
%C%_test_spread_SOURCES = %D%/test_spread.c %D%/toy.h tests/test.h
%C%_test_spread_LDADD   = libcalibrate.a libscore.a libmeasure.a librun.a $(ROOFLINE_TEST_LIBS) $(CMINPACK_LIBS)
check_PROGRAMS += %D%/test_priors
%C%_test_priors_SOURCES = %D%/test_priors.c tests/test.h
%C%_test_priors_LDADD   = libcalibrate.a libscore.a libmeasure.a librun.a $(ROOFLINE_TEST_LIBS) $(CMINPACK_LIBS)
check_PROGRAMS += %D%/test_units
%C%_test_units_SOURCES = %D%/test_units.c tests/test.h
%C%_test_units_LDADD   = libcalibrate.a libscore.a libmeasure.a librun.a $(ROOFLINE_TEST_LIBS) $(CMINPACK_LIBS)
check_PROGRAMS += %D%/test_cpus
%C%_test_cpus_SOURCES = %D%/test_cpus.c %D%/rows.h tests/test.h
%C%_test_cpus_LDADD   = libcalibrate.a libscore.a libmeasure.a librun.a $(ROOFLINE_TEST_LIBS) $(CMINPACK_LIBS)
check_PROGRAMS += %D%/test_decode
%C%_test_decode_SOURCES = %D%/test_decode.c %D%/rows.h tests/test.h
%C%_test_decode_LDADD   = libcalibrate.a libscore.a libmeasure.a librun.a $(ROOFLINE_TEST_LIBS) $(CMINPACK_LIBS)
TESTS += %D%/test_cpus %D%/test_decode %D%/test_fit %D%/test_priors %D%/test_serving %D%/test_sides %D%/test_spread %D%/test_units
endif
