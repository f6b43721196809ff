noinst_LIBRARIES += libbench.a
libbench_a_SOURCES = \
  %D%/batches.c \
  %D%/bench.c \
  %D%/bench.h \
  %D%/bench_print.c \
  %D%/bench_lines.c \
  %D%/compare.c \
  %D%/conditions.c \
  %D%/counts.c \
  %D%/cross_check.c \
  %D%/doctor.h \
  %D%/doctor_checks.c \
  %D%/doctor_system.c \
  %D%/generate.c \
  %D%/generate.h \
  %D%/grid.c \
  %D%/list_rows.c \
  %D%/ops.c \
  %D%/pages.c \
  %D%/ppl.h \
  %D%/ppl_evaluate.c \
  %D%/ppl_report.c \
  %D%/profiles.h \
  %D%/routing.c \
  %D%/routing.h \
  %D%/setup.c \
  %D%/setup.h \
  %D%/validate.h \
  %D%/validate_cases.c \
  %D%/validate_report.c \
  %D%/validate_run.c
