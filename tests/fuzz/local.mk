# Fuzz targets and their corpora.
#
# A target NAME is one file fuzz_NAME.c with LLVMFuzzerTestOneInput (fuzz.h), and a directory of
# small seeds corpus/NAME. To add one, copy the two blocks below and replace gguf and the archives:
#  - replay_NAME runs the target over its corpus in `make check`, with any compiler;
#  - fuzz_NAME is the libFuzzer program (configure CC=clang --enable-fuzzers, then
#    `make fuzzers`): tests/fuzz/fuzz_NAME -max_total_time=60 NEW_DIR SEED_DIR; a crash it finds
#    goes into corpus/NAME with the fix.
EXTRA_DIST += %D%/corpus
fuzz_targets =

check_PROGRAMS += %D%/replay_gguf
%C%_replay_gguf_SOURCES  = %D%/fuzz_gguf.c %D%/replay.c %D%/fuzz.h
%C%_replay_gguf_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"gguf"'
%C%_replay_gguf_LDADD    = libgguf.a libdtype.a $(BASE_LIBS)
TESTS += %D%/replay_gguf

if FUZZERS
fuzz_targets += %D%/fuzz_gguf
%C%_fuzz_gguf_SOURCES = %D%/fuzz_gguf.c %D%/fuzz.h
%C%_fuzz_gguf_LDADD   = libgguf.a libdtype.a $(BASE_LIBS)
%C%_fuzz_gguf_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

check_PROGRAMS += %D%/replay_run
%C%_replay_run_SOURCES  = %D%/fuzz_run.c %D%/replay.c %D%/fuzz.h
%C%_replay_run_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"run"'
%C%_replay_run_LDADD    = librun.a $(BASE_LIBS)
TESTS += %D%/replay_run

if FUZZERS
fuzz_targets += %D%/fuzz_run
%C%_fuzz_run_SOURCES = %D%/fuzz_run.c %D%/fuzz.h
%C%_fuzz_run_LDADD   = librun.a $(BASE_LIBS)
%C%_fuzz_run_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

check_PROGRAMS += %D%/replay_measure
%C%_replay_measure_SOURCES  = %D%/fuzz_measure.c %D%/replay.c %D%/fuzz.h
%C%_replay_measure_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"measure"'
%C%_replay_measure_LDADD    = libdataset.a librun.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS)
TESTS += %D%/replay_measure

if FUZZERS
fuzz_targets += %D%/fuzz_measure
%C%_fuzz_measure_SOURCES = %D%/fuzz_measure.c %D%/fuzz.h
%C%_fuzz_measure_LDADD   = libdataset.a librun.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS)
%C%_fuzz_measure_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

check_PROGRAMS += %D%/replay_tokenizer
%C%_replay_tokenizer_SOURCES  = %D%/fuzz_tokenizer.c %D%/replay.c %D%/fuzz.h tests/model/tiny_vocab.h
%C%_replay_tokenizer_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"tokenizer"'
%C%_replay_tokenizer_LDADD    = libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS)
TESTS += %D%/replay_tokenizer

if FUZZERS
fuzz_targets += %D%/fuzz_tokenizer
%C%_fuzz_tokenizer_SOURCES = %D%/fuzz_tokenizer.c %D%/fuzz.h tests/model/tiny_vocab.h
%C%_fuzz_tokenizer_LDADD   = libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS)
%C%_fuzz_tokenizer_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

check_PROGRAMS += %D%/replay_hwprofile
%C%_replay_hwprofile_SOURCES  = %D%/fuzz_hwprofile.c %D%/replay.c %D%/fuzz.h
%C%_replay_hwprofile_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"hwprofile"'
%C%_replay_hwprofile_LDADD    = libhwprofile.a $(BASE_LIBS)
TESTS += %D%/replay_hwprofile

if FUZZERS
fuzz_targets += %D%/fuzz_hwprofile
%C%_fuzz_hwprofile_SOURCES = %D%/fuzz_hwprofile.c %D%/fuzz.h
%C%_fuzz_hwprofile_LDADD   = libhwprofile.a $(BASE_LIBS)
%C%_fuzz_hwprofile_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

check_PROGRAMS += %D%/replay_config
%C%_replay_config_SOURCES  = %D%/fuzz_config.c %D%/replay.c %D%/fuzz.h
%C%_replay_config_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"config"'
%C%_replay_config_LDADD    = libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS)
TESTS += %D%/replay_config

if FUZZERS
fuzz_targets += %D%/fuzz_config
%C%_fuzz_config_SOURCES = %D%/fuzz_config.c %D%/fuzz.h
%C%_fuzz_config_LDADD   = libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS)
%C%_fuzz_config_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

check_PROGRAMS += %D%/replay_model
%C%_replay_model_SOURCES  = %D%/fuzz_model.c %D%/replay.c %D%/fuzz.h
%C%_replay_model_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"model"'
%C%_replay_model_LDADD    = libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS)
TESTS += %D%/replay_model

if FUZZERS
fuzz_targets += %D%/fuzz_model
%C%_fuzz_model_SOURCES = %D%/fuzz_model.c %D%/fuzz.h
%C%_fuzz_model_LDADD   = libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS)
%C%_fuzz_model_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

check_PROGRAMS += %D%/replay_import
%C%_replay_import_SOURCES  = %D%/fuzz_import.c %D%/replay.c %D%/fuzz.h
%C%_replay_import_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"import"'
%C%_replay_import_LDADD    = libhwprofile.a $(BASE_LIBS)
TESTS += %D%/replay_import

if FUZZERS
fuzz_targets += %D%/fuzz_import
%C%_fuzz_import_SOURCES = %D%/fuzz_import.c %D%/fuzz.h
%C%_fuzz_import_LDADD   = libhwprofile.a $(BASE_LIBS)
%C%_fuzz_import_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

check_PROGRAMS += %D%/replay_events
%C%_replay_events_SOURCES  = %D%/fuzz_events.c %D%/replay.c %D%/fuzz.h
%C%_replay_events_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"events"'
%C%_replay_events_LDADD    = libcounters.a $(BASE_LIBS) $(PAPI_LIBS)
TESTS += %D%/replay_events

if FUZZERS
fuzz_targets += %D%/fuzz_events
%C%_fuzz_events_SOURCES = %D%/fuzz_events.c %D%/fuzz.h
%C%_fuzz_events_LDADD   = libcounters.a $(BASE_LIBS) $(PAPI_LIBS)
%C%_fuzz_events_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

check_PROGRAMS += %D%/replay_counts
%C%_replay_counts_SOURCES  = %D%/fuzz_counts.c %D%/replay.c %D%/fuzz.h
%C%_replay_counts_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"counts"'
%C%_replay_counts_LDADD    = libcounters.a $(BASE_LIBS) $(PAPI_LIBS)
TESTS += %D%/replay_counts

if FUZZERS
fuzz_targets += %D%/fuzz_counts
%C%_fuzz_counts_SOURCES = %D%/fuzz_counts.c %D%/fuzz.h
%C%_fuzz_counts_LDADD   = libcounters.a $(BASE_LIBS) $(PAPI_LIBS)
%C%_fuzz_counts_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

# The seeds of fuzz_gguf: tests/fuzz/make_corpus DIRECTORY writes them.
EXTRA_PROGRAMS += %D%/make_corpus
%C%_make_corpus_SOURCES = %D%/make_corpus.c tests/gguf/build.h
%C%_make_corpus_LDADD   = libdtype.a $(BASE_LIBS)

check_PROGRAMS += %D%/replay_constants
%C%_replay_constants_SOURCES  = %D%/fuzz_constants.c %D%/replay.c %D%/fuzz.h
%C%_replay_constants_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"constants"'
%C%_replay_constants_LDADD    = liblearn.a libstacks.a libfit.a libdataset.a libpredict.a libtiming.a libcost.a librun.a libhwprofile.a libmodel.a libgguf.a libdtype.a \
  $(BASE_LIBS) $(PCRE2_LIBS) $(CMINPACK_LIBS)
TESTS += %D%/replay_constants

if FUZZERS
fuzz_targets += %D%/fuzz_constants
%C%_fuzz_constants_SOURCES = %D%/fuzz_constants.c %D%/fuzz.h
%C%_fuzz_constants_LDADD   = $(%C%_replay_constants_LDADD)
%C%_fuzz_constants_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

check_PROGRAMS += %D%/replay_priors
%C%_replay_priors_SOURCES  = %D%/fuzz_priors.c %D%/replay.c %D%/fuzz.h
%C%_replay_priors_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"priors"'
%C%_replay_priors_LDADD    = liblearn.a libstacks.a libfit.a libdataset.a libpredict.a libtiming.a libcost.a librun.a libhwprofile.a libmodel.a libgguf.a libdtype.a \
  $(BASE_LIBS) $(PCRE2_LIBS) $(CMINPACK_LIBS)
TESTS += %D%/replay_priors

if FUZZERS
fuzz_targets += %D%/fuzz_priors
%C%_fuzz_priors_SOURCES = %D%/fuzz_priors.c %D%/fuzz.h
%C%_fuzz_priors_LDADD   = $(%C%_replay_priors_LDADD)
%C%_fuzz_priors_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

check_PROGRAMS += %D%/replay_rules
%C%_replay_rules_SOURCES  = %D%/fuzz_rules.c %D%/replay.c %D%/fuzz.h
%C%_replay_rules_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"rules"'
%C%_replay_rules_LDADD    = liblearn.a libstacks.a libfit.a libdataset.a libpredict.a libtiming.a libcost.a librun.a libhwprofile.a libmodel.a libgguf.a libdtype.a \
  $(BASE_LIBS) $(PCRE2_LIBS) $(CMINPACK_LIBS)
TESTS += %D%/replay_rules

if FUZZERS
fuzz_targets += %D%/fuzz_rules
%C%_fuzz_rules_SOURCES = %D%/fuzz_rules.c %D%/fuzz.h
%C%_fuzz_rules_LDADD   = $(%C%_replay_rules_LDADD)
%C%_fuzz_rules_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

check_PROGRAMS += %D%/replay_slo
%C%_replay_slo_SOURCES  = %D%/fuzz_slo.c %D%/replay.c %D%/fuzz.h
%C%_replay_slo_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"slo"'
%C%_replay_slo_LDADD    = libserving.a $(BASE_LIBS)
TESTS += %D%/replay_slo

if FUZZERS
fuzz_targets += %D%/fuzz_slo
%C%_fuzz_slo_SOURCES = %D%/fuzz_slo.c %D%/fuzz.h
%C%_fuzz_slo_LDADD   = libserving.a $(BASE_LIBS)
%C%_fuzz_slo_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

EXTRA_PROGRAMS += $(fuzz_targets)
CLEANFILES += $(fuzz_targets) %D%/make_corpus
fuzzers: $(fuzz_targets)
.PHONY: fuzzers

check_PROGRAMS += %D%/replay_likwid
%C%_replay_likwid_SOURCES  = %D%/fuzz_likwid.c %D%/replay.c %D%/fuzz.h
%C%_replay_likwid_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"likwid"'
%C%_replay_likwid_LDADD    = libceilings.a $(BASE_LIBS)
TESTS += %D%/replay_likwid

if FUZZERS
fuzz_targets += %D%/fuzz_likwid
%C%_fuzz_likwid_SOURCES = %D%/fuzz_likwid.c %D%/fuzz.h
%C%_fuzz_likwid_LDADD   = libceilings.a $(BASE_LIBS)
%C%_fuzz_likwid_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

check_PROGRAMS += %D%/replay_trace
%C%_replay_trace_SOURCES  = %D%/fuzz_trace.c %D%/replay.c %D%/fuzz.h
%C%_replay_trace_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"trace"'
%C%_replay_trace_LDADD    = libserving.a libtiming.a libcost.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS)
TESTS += %D%/replay_trace

if FUZZERS
fuzz_targets += %D%/fuzz_trace
%C%_fuzz_trace_SOURCES = %D%/fuzz_trace.c %D%/fuzz.h
%C%_fuzz_trace_LDADD   = libserving.a libtiming.a libcost.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS)
%C%_fuzz_trace_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

check_PROGRAMS += %D%/replay_workload
%C%_replay_workload_SOURCES  = %D%/fuzz_workload.c %D%/replay.c %D%/fuzz.h
%C%_replay_workload_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"workload"'
%C%_replay_workload_LDADD    = libserving.a libtiming.a libcost.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS)
TESTS += %D%/replay_workload

if FUZZERS
fuzz_targets += %D%/fuzz_workload
%C%_fuzz_workload_SOURCES = %D%/fuzz_workload.c %D%/fuzz.h
%C%_fuzz_workload_LDADD   = libserving.a libtiming.a libcost.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS)
%C%_fuzz_workload_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

check_PROGRAMS += %D%/replay_saved
%C%_replay_saved_SOURCES  = %D%/fuzz_saved.c %D%/replay.c %D%/fuzz.h
%C%_replay_saved_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"saved"'
%C%_replay_saved_LDADD    = libreport.a libserving.a libtiming.a libcost.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS)
TESTS += %D%/replay_saved

if FUZZERS
fuzz_targets += %D%/fuzz_saved
%C%_fuzz_saved_SOURCES = %D%/fuzz_saved.c %D%/fuzz.h
%C%_fuzz_saved_LDADD   = libreport.a libserving.a libtiming.a libcost.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS)
%C%_fuzz_saved_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

check_PROGRAMS += %D%/replay_comparison
%C%_replay_comparison_SOURCES  = %D%/fuzz_comparison.c %D%/replay.c %D%/fuzz.h
%C%_replay_comparison_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"comparison"'
%C%_replay_comparison_LDADD    = libreport.a libdataset.a librun.a libcost.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS)
TESTS += %D%/replay_comparison

if FUZZERS
fuzz_targets += %D%/fuzz_comparison
%C%_fuzz_comparison_SOURCES = %D%/fuzz_comparison.c %D%/fuzz.h
%C%_fuzz_comparison_LDADD   = libreport.a libdataset.a librun.a libcost.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS)
%C%_fuzz_comparison_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

check_PROGRAMS += %D%/replay_page
%C%_replay_page_SOURCES  = %D%/fuzz_page.c %D%/replay.c %D%/fuzz.h
%C%_replay_page_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"page"'
%C%_replay_page_LDADD    = libreport.a libserving.a libtiming.a libcost.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS)
TESTS += %D%/replay_page

if FUZZERS
fuzz_targets += %D%/fuzz_page
%C%_fuzz_page_SOURCES = %D%/fuzz_page.c %D%/fuzz.h
%C%_fuzz_page_LDADD   = libreport.a libserving.a libtiming.a libcost.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS)
%C%_fuzz_page_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

check_PROGRAMS += %D%/replay_api
%C%_replay_api_SOURCES  = %D%/fuzz_api.c %D%/replay.c %D%/fuzz.h
%C%_replay_api_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"api"'
%C%_replay_api_LDADD    = libserver.a libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS)
TESTS += %D%/replay_api

if FUZZERS
fuzz_targets += %D%/fuzz_api
%C%_fuzz_api_SOURCES = %D%/fuzz_api.c %D%/fuzz.h
%C%_fuzz_api_LDADD   = libserver.a libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS)
%C%_fuzz_api_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

check_PROGRAMS += %D%/replay_quality
%C%_replay_quality_SOURCES  = %D%/fuzz_quality.c %D%/replay.c %D%/fuzz.h
%C%_replay_quality_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"quality"'
%C%_replay_quality_LDADD    = libdataset.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(BASE_LIBS) $(PCRE2_LIBS)
TESTS += %D%/replay_quality

if FUZZERS
fuzz_targets += %D%/fuzz_quality
%C%_fuzz_quality_SOURCES = %D%/fuzz_quality.c %D%/fuzz.h
%C%_fuzz_quality_LDADD   = $(%C%_replay_quality_LDADD)
%C%_fuzz_quality_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

check_PROGRAMS += %D%/replay_prices
%C%_replay_prices_SOURCES  = %D%/fuzz_prices.c %D%/replay.c %D%/fuzz.h
%C%_replay_prices_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"prices"'
%C%_replay_prices_LDADD    = libhwprofile.a $(BASE_LIBS)
TESTS += %D%/replay_prices

if FUZZERS
fuzz_targets += %D%/fuzz_prices
%C%_fuzz_prices_SOURCES = %D%/fuzz_prices.c %D%/fuzz.h
%C%_fuzz_prices_LDADD   = $(%C%_replay_prices_LDADD)
%C%_fuzz_prices_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif

check_PROGRAMS += %D%/replay_svg
%C%_replay_svg_SOURCES  = %D%/fuzz_svg.c %D%/replay.c %D%/fuzz.h
%C%_replay_svg_CPPFLAGS = $(AM_CPPFLAGS) -DCORPUS='"svg"'
%C%_replay_svg_LDADD    = libreport.a $(BASE_LIBS)
TESTS += %D%/replay_svg

if FUZZERS
fuzz_targets += %D%/fuzz_svg
%C%_fuzz_svg_SOURCES = %D%/fuzz_svg.c %D%/fuzz.h
%C%_fuzz_svg_LDADD   = libreport.a $(BASE_LIBS)
%C%_fuzz_svg_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif
