bin_PROGRAMS += roofcast
roofcast_SOURCES = \
  %D%/bench_against.c \
  %D%/bench_against.h \
  %D%/bench_foreign.c \
  %D%/browser.c \
  %D%/browser.h \
  %D%/bench_foreign.h \
  %D%/capacity.h \
  %D%/capacity_charts.c \
  %D%/capacity_grid.c \
  %D%/capacity_launch.c \
  %D%/cli.c \
  %D%/cli.h \
  %D%/cli_complete.c \
  %D%/cli_man.c \
  %D%/describe.h \
  %D%/here.c \
  %D%/here.h \
  %D%/cli_engine.c \
  %D%/cli_markers.c \
  %D%/cli_parse.c \
  %D%/cmd_analyze.c \
  %D%/cmd_bench.c \
  %D%/cmd_calibrate.c \
  %D%/cmd_capacity.c \
  %D%/cmd_choose.c \
  %D%/cmd_compare.c \
  %D%/compare.h \
  %D%/cmd_doctor.c \
  %D%/cmd_import.c \
  %D%/cmd_list.c \
  %D%/cmd_logits.c \
  %D%/cmd_memory.c \
  %D%/cmd_plot.c \
  %D%/cmd_ppl.c \
  %D%/cmd_predict.c \
  %D%/cmd_profile.c \
  %D%/cmd_quantize.c \
  %D%/cmd_report.c \
  %D%/cmd_run.c \
  %D%/cmd_score.c \
  %D%/cmd_serve.c \
  %D%/cmd_simulate.c \
  %D%/report_step.c \
  %D%/report_step.h \
  %D%/serve.c \
  %D%/serve_draft.c \
  %D%/serve.h \
  %D%/serve_http.c \
  %D%/serve_http.h \
  %D%/serving_output.c \
  %D%/serving_output.h \
  %D%/cmd_sweep.c \
  %D%/cmd_synth.c \
  %D%/cmd_tokenize.c \
  %D%/cmd_validate.c \
  %D%/fields.h \
  %D%/list_fields.c \
  %D%/main.c \
  %D%/measured.c \
  %D%/measured.h \
  %D%/offload.c \
  %D%/offload.h \
  %D%/predict_ask.c \
  %D%/predict_draft.c \
  %D%/predict_options.h \
  %D%/pricing.c \
  %D%/pricing.h \
  %D%/serving.c \
  %D%/serving.h \
  %D%/sweep_mpi.c
roofcast_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
roofcast_LDADD = libserver.a libbench.a libreport.a liblearn.a libserving.a libstacks.a libfit.a libdataset.a libengine.a libceilings.a libpredict.a libtiming.a libcost.a librun.a $(KERNEL_LIBS) \
  libcounters.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(BASE_LIBS) \
  $(MICROHTTPD_LIBS) $(PCRE2_LIBS) $(CMINPACK_LIBS) $(PAPI_LIBS) $(MPI_LIBS)
