# mutants: make check-mutants builds them (run.sh); make check sees that they still apply
EXTRA_DIST += %D%
TESTS += %D%/apply.sh
.PHONY: check-mutants
check-mutants:
	@top_srcdir='$(abs_top_srcdir)' $(SHELL) $(top_srcdir)/tests/mutants/run.sh $(MUTANTS)
