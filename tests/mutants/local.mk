# mutants.txt: make check-mutants builds and tests them (run.sh), make check tries every row on the tree (apply.sh)
EXTRA_DIST += %D%/mutants.txt %D%/table.awk %D%/run.sh %D%/apply.sh
TESTS += %D%/apply.sh
.PHONY: check-mutants
check-mutants:
	@top_srcdir='$(abs_top_srcdir)' $(SHELL) $(top_srcdir)/tests/mutants/run.sh $(MUTANTS)
