# tests of cli
if CMOCKA
check_PROGRAMS += %D%/test_counts
%C%_test_counts_SOURCES = %D%/test_counts.c tests/test.h
%C%_test_counts_LDADD   = tests/engine/ref/libref.a libengine.a libroofline.a librun.a libcounters.a $(KERNEL_LIBS) libhwprofile.a libmodel.a \
  libgguf.a libdtype.a $(PCRE2_LIBS) $(PAPI_LIBS) $(TEST_LIBS)
TESTS += %D%/test_counts
check_PROGRAMS += %D%/test_counts_random
%C%_test_counts_random_SOURCES = %D%/test_counts_random.c tests/test.h
%C%_test_counts_random_LDADD   = $(%C%_test_counts_LDADD)
TESTS += %D%/test_counts_random
check_PROGRAMS += %D%/test_text_stream
%C%_test_text_stream_SOURCES = %D%/test_text_stream.c src/cli/generate.c src/cli/generate.h tests/test.h
%C%_test_text_stream_LDADD   = libengine.a libcounters.a $(KERNEL_LIBS) libmodel.a libgguf.a libdtype.a $(PCRE2_LIBS) \
  $(PAPI_LIBS) $(TEST_LIBS)
TESTS += %D%/test_text_stream
check_PROGRAMS += %D%/test_doctor
%C%_test_doctor_SOURCES = %D%/test_doctor.c src/cli/doctor_checks.c src/cli/doctor.h tests/test.h
%C%_test_doctor_LDADD   = libcounters.a $(TEST_LIBS) $(PAPI_LIBS)
TESTS += %D%/test_doctor
endif
dist_check_SCRIPTS += %D%/synth.sh
TESTS += %D%/synth.sh
dist_check_SCRIPTS += %D%/quantize.sh
TESTS += %D%/quantize.sh
dist_check_SCRIPTS += %D%/list.sh %D%/formats.sh
TESTS += %D%/list.sh %D%/formats.sh
dist_check_SCRIPTS += %D%/tokenize.sh
TESTS += %D%/tokenize.sh
dist_check_SCRIPTS += %D%/analyze.sh %D%/predict.sh
TESTS += %D%/analyze.sh %D%/predict.sh
dist_check_SCRIPTS += %D%/score.sh
TESTS += %D%/score.sh
dist_check_SCRIPTS += %D%/sweep.sh
TESTS += %D%/sweep.sh
dist_check_SCRIPTS += %D%/memory.sh
TESTS += %D%/memory.sh
dist_check_SCRIPTS += %D%/profile.sh
TESTS += %D%/profile.sh
EXTRA_DIST += %D%/lib.sh
dist_check_SCRIPTS += %D%/run.sh %D%/bench.sh
TESTS += %D%/run.sh %D%/bench.sh
dist_check_SCRIPTS += %D%/markers.sh %D%/energy.sh %D%/doctor.sh %D%/papi.sh
TESTS += %D%/markers.sh %D%/energy.sh %D%/doctor.sh %D%/papi.sh
dist_check_SCRIPTS += %D%/ppl.sh
TESTS += %D%/ppl.sh
dist_check_SCRIPTS += %D%/import.sh
TESTS += %D%/import.sh
dist_check_SCRIPTS += %D%/plot.sh %D%/charts.sh
TESTS += %D%/plot.sh %D%/charts.sh
dist_check_SCRIPTS += %D%/peers.sh
TESTS += %D%/peers.sh
EXTRA_DIST += tests/bench/peers.sh
dist_check_SCRIPTS += %D%/quickstart.sh
TESTS += %D%/quickstart.sh
dist_check_SCRIPTS += %D%/calibrate.sh
TESTS += %D%/calibrate.sh
