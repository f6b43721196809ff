# Tests print TAP: cmocka programs (one a module), shell scripts for the program and the tree.
TEST_EXTENSIONS = .sh
LOG_DRIVER      = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/tests/timed.sh $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER   = $(LOG_DRIVER)
LOG_COMPILER    = $(SHELL) $(top_srcdir)/tests/tap.sh
if SANITIZERS
# What is freed is soon given out again: with 256 MiB kept back most memory is new, and pages are what costs where a hypervisor makes them
# (`roofcast list models`: 40,000 faults and 1.04 s, with 4 MiB 7,200 and 0.44 s).
SANITIZERS_ENVIRONMENT = ASAN_OPTIONS="quarantine_size_mb=4:$$ASAN_OPTIONS"; export ASAN_OPTIONS;
# Tests that compute little themselves are not optimized: they compile in a third of the time.
QUICK_TESTS = base bench cost counters dataset fuzz gguf hwprofile learn lib model predict report run server serving timing
$(QUICK_TESTS:%=%D%/%/%.$(OBJEXT)): AM_CFLAGS += -O0
endif
AM_TESTS_ENVIRONMENT = $(SANITIZERS_ENVIRONMENT) \
  CMOCKA_MESSAGE_OUTPUT=TAP; export CMOCKA_MESSAGE_OUTPUT; \
  ROOFCAST='$(abs_top_builddir)/roofcast$(EXEEXT)'; export ROOFCAST; \
  ROOFCAST_DATA='$(abs_top_srcdir)'; export ROOFCAST_DATA; \
  ROOFCAST_SHARED="$${ROOFCAST_SHARED:-$(abs_top_srcdir)/../shared}"; export ROOFCAST_SHARED; \
  top_srcdir='$(abs_top_srcdir)'; export top_srcdir;
TEST_LIBS = $(BASE_LIBS) $(CMOCKA_LIBS)

dist_check_SCRIPTS += %D%/lint/layers.sh %D%/lint/symbols.sh %D%/lint/strbuf.sh %D%/lint/install.sh %D%/lint/hardening.sh %D%/lint/methods.sh %D%/lint/aside.sh
EXTRA_DIST += %D%/tap.sh %D%/timed.sh %D%/long.sh %D%/tsan/run.sh %D%/lint/layers.txt %D%/lint/mutable.txt build-aux/tap-driver.sh
# The slowest begin first, so that none of them is left to run alone at the end (./check says which they are).
if CMOCKA
TESTS += %D%/kernels/checkkernel %D%/engine/test_generate %D%/ceilings/test_ceilings %D%/learn/test_score
endif
TESTS += %D%/faults/run.sh %D%/server/load.sh %D%/cli/constants.sh %D%/cli/quickstart.sh %D%/cli/validate.sh %D%/cli/profile.sh %D%/cli/roof.sh %D%/cli/score.sh
TESTS += %D%/cli/monotone.sh %D%/cli/quantize.sh
TESTS += %D%/lint/layers.sh %D%/lint/symbols.sh %D%/lint/strbuf.sh %D%/lint/install.sh %D%/lint/hardening.sh %D%/lint/methods.sh %D%/lint/aside.sh

include tests/base/local.mk
include tests/dtype/local.mk
include tests/gguf/local.mk
include tests/model/local.mk
include tests/hwprofile/local.mk
include tests/html/local.mk
include tests/counters/local.mk
include tests/kernels/local.mk
include tests/ceilings/local.mk
include tests/run/local.mk
include tests/cost/local.mk
include tests/timing/local.mk
include tests/predict/local.mk
include tests/serving/local.mk
include tests/server/local.mk
include tests/stacks/local.mk
include tests/fit/local.mk
include tests/learn/local.mk
include tests/engine/local.mk
include tests/dataset/local.mk
include tests/report/local.mk
include tests/lib/local.mk
include tests/cli/local.mk
include tests/bench/local.mk
include tests/golden/local.mk
include tests/fuzz/local.mk
include tests/mutants/local.mk
include tests/arm64/local.mk
include tests/oracle/local.mk
include tests/pmu/local.mk
include tests/faults/local.mk
