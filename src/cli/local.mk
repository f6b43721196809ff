bin_PROGRAMS += roofcast
roofcast_SOURCES = \
  %D%/cli.h \
  %D%/main.c \
  %D%/cli.c \
  %D%/cli_parse.c \
  %D%/cli_engine.c \
  %D%/cli_markers.c \
  %D%/bench.h \
  %D%/bench.c \
  %D%/bench_batch.c \
  %D%/bench_counts.c \
  %D%/bench_conditions.c \
  %D%/bench_ops.c \
  %D%/cmd_profile.c \
  %D%/profile.h \
  %D%/profile_compare.c \
  %D%/profile_check.c \
  %D%/profile_findings.c \
  %D%/cmd_synth.c \
  %D%/cmd_quantize.c \
  %D%/cmd_analyze.c \
  %D%/cmd_bench.c \
  %D%/cmd_logits.c \
  %D%/cmd_tokenize.c \
  %D%/cmd_run.c \
  %D%/cmd_ppl.c \
  %D%/ppl.h \
  %D%/ppl_evaluate.c \
  %D%/ppl_report.c \
  %D%/generate.h \
  %D%/generate.c \
  %D%/cmd_predict.c \
  %D%/predict.h \
  %D%/predict_rows.c \
  %D%/predict_draft.c \
  %D%/predict_print.c \
  %D%/predict_ask.c \
  %D%/predict_explain.c \
  %D%/predict_solve.c \
  %D%/pricing.h \
  %D%/routing.h \
  %D%/routing.c \
  %D%/cmd_sweep.c \
  %D%/sweep.h \
  %D%/sweep_rows.c \
  %D%/sweep_mpi.c \
  %D%/pricing.c \
  %D%/pricing_software.c \
  %D%/cmd_memory.c \
  %D%/memory.h \
  %D%/memory_report.c \
  %D%/cmd_import.c \
  %D%/cmd_plot.c \
  %D%/plot.h \
  %D%/plot_doc.c \
  %D%/plot_roofs.c \
  %D%/plot_curves.c \
  %D%/plot_levels.c \
  %D%/cmd_doctor.c \
  %D%/doctor.h \
  %D%/doctor_facts.c \
  %D%/doctor_checks.c \
  %D%/cmd_list.c \
  %D%/list.h \
  %D%/list_models.c \
  %D%/list_hw.c \
  %D%/list_rows.c \
  %D%/list_stacks.c \
  %D%/list_filter.c \
  %D%/cmd_score.c \
  %D%/cmd_calibrate.c \
  %D%/cmd_report.c
roofcast_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS) -DSRCDIR='"$(abs_top_srcdir)"' -DBUILDDIR='"$(abs_top_builddir)"'
roofcast_LDADD = libreport.a libcalibrate.a libscore.a libmeasure.a libengine.a libceilings.a libroofline.a librun.a $(KERNEL_LIBS) \
  libcounters.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(BASE_LIBS) \
  $(PCRE2_LIBS) $(CMINPACK_LIBS) $(PAPI_LIBS) $(LIKWID_LIBS) $(MPI_LIBS)
