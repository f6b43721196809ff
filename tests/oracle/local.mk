# Instructions and bytes of single ops under valgrind.
if CALLGRIND
EXTRA_PROGRAMS += %D%/oracle
%C%_oracle_SOURCES = %D%/oracle.c %D%/price.c %D%/oracle.h
%C%_oracle_LDADD   = libengine.a libpredict.a libtiming.a libcost.a librun.a libcounters.a $(KERNEL_LIBS) libhwprofile.a libmodel.a libgguf.a \
  libdtype.a $(PCRE2_LIBS) $(PAPI_LIBS) $(BASE_LIBS)
endif
EXTRA_DIST += %D%/check.sh %D%/check.awk %D%/bands.tsv %D%/instructions.tsv

.PHONY: check-oracle clean-oracle
check-oracle: all
	@$(SHELL) $(top_srcdir)/tests/oracle/check.sh '$(abs_top_builddir)' || [ $$? = 77 ]
clean-oracle:
	rm -rf %D%/models
clean-local: clean-oracle
