noinst_LIBRARIES += libreport.a
libreport_a_SOURCES = \
  %D%/report.h \
  %D%/layout.h \
  %D%/plan.h \
  %D%/draw.h \
  %D%/report.c \
  %D%/layout.c \
  %D%/plan.c \
  %D%/plan_roofs.c \
  %D%/plan_points.c \
  %D%/plan_key.c \
  %D%/plan_margins.c \
  %D%/draw.c \
  %D%/chart.c \
  %D%/curves.c \
  %D%/gnuplot.c
