# Messages and helps name these.
dist_doc_DATA = %D%/guide.md %D%/methods.md %D%/formats.md %D%/serving.md %D%/accuracy.md
EXTRA_DIST += %D%/HACKING.md %D%/github-actions.yml
EXTRA_DIST += %D%/notes/attention.md %D%/notes/charts.md %D%/notes/cpus.md %D%/notes/datasets.md %D%/notes/fits.md \
  %D%/notes/gpu-kernels.md %D%/notes/kernels.md %D%/notes/memory.md %D%/notes/models.md %D%/notes/offload.md %D%/notes/quantization.md \
  %D%/notes/servers.md %D%/notes/stacks.md %D%/notes/tensor-types.md %D%/notes/tokenizers.md
dist_man_MANS += %D%/roofcast.1

# A page a command: what --help says, with the text of man/NAME.mdoc where there is one. The program prints it, so not in a cross build.
command_texts = %D%/man/roofcast-analyze.mdoc %D%/man/roofcast-bench.mdoc %D%/man/roofcast-calibrate.mdoc %D%/man/roofcast-capacity.mdoc \
  %D%/man/roofcast-choose.mdoc %D%/man/roofcast-compare.mdoc \
  %D%/man/roofcast-doctor.mdoc %D%/man/roofcast-import.mdoc %D%/man/roofcast-list.mdoc %D%/man/roofcast-memory.mdoc %D%/man/roofcast-plot.mdoc \
  %D%/man/roofcast-ppl.mdoc %D%/man/roofcast-predict.mdoc %D%/man/roofcast-profile.mdoc %D%/man/roofcast-quantize.mdoc \
  %D%/man/roofcast-report.mdoc %D%/man/roofcast-run.mdoc %D%/man/roofcast-score.mdoc %D%/man/roofcast-serve.mdoc %D%/man/roofcast-simulate.mdoc \
  %D%/man/roofcast-sweep.mdoc %D%/man/roofcast-validate.mdoc
EXTRA_DIST += $(command_texts)
command_pages = $(command_texts:.mdoc=.1) %D%/man/roofcast-logits.1 %D%/man/roofcast-synth.1 %D%/man/roofcast-tokenize.1
if !CROSS_COMPILING
man_MANS = $(command_pages)
CLEANFILES += $(command_pages)
$(command_pages): roofcast$(EXEEXT) $(command_texts) %D%/roofcast.1
	$(AM_V_GEN)$(MKDIR_P) %D%/man && name=`basename $@ .1` && ./roofcast$(EXEEXT) __man $${name#roofcast-} >$@.tmp && \
	  { sed -n 1p $(srcdir)/%D%/roofcast.1; sed '/^\... text$$/r $(srcdir)/%D%/man/'$$name.mdoc $@.tmp; } >$@ && rm $@.tmp
endif
