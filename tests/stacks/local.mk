LEARN_TEST_LIBS = liblearn.a libstacks.a libfit.a libdataset.a librun.a $(PREDICT_TEST_LIBS) $(CMINPACK_LIBS)
if CMOCKA
check_PROGRAMS += %D%/test_attend
%C%_test_attend_SOURCES = %D%/test_attend.c tests/test.h tests/stacks/rows.h
%C%_test_attend_LDADD   = $(LEARN_TEST_LIBS)
check_PROGRAMS += %D%/test_cpus
%C%_test_cpus_SOURCES = %D%/test_cpus.c tests/test.h tests/stacks/rows.h
%C%_test_cpus_LDADD   = $(LEARN_TEST_LIBS)
check_PROGRAMS += %D%/test_decode
%C%_test_decode_SOURCES = %D%/test_decode.c tests/test.h tests/stacks/rows.h
%C%_test_decode_LDADD   = $(LEARN_TEST_LIBS)
check_PROGRAMS += %D%/test_priors
%C%_test_priors_SOURCES = %D%/test_priors.c tests/test.h
%C%_test_priors_LDADD   = $(LEARN_TEST_LIBS)
check_PROGRAMS += %D%/test_serving
%C%_test_serving_SOURCES = %D%/test_serving.c tests/test.h
%C%_test_serving_LDADD   = $(LEARN_TEST_LIBS)
check_PROGRAMS += %D%/test_stacks
%C%_test_stacks_SOURCES = %D%/test_stacks.c tests/test.h
%C%_test_stacks_LDADD   = $(LEARN_TEST_LIBS)
check_PROGRAMS += %D%/test_units
%C%_test_units_SOURCES = %D%/test_units.c tests/test.h
%C%_test_units_LDADD   = $(LEARN_TEST_LIBS)
TESTS += %D%/test_attend %D%/test_cpus %D%/test_decode %D%/test_priors %D%/test_serving %D%/test_stacks %D%/test_units
endif
