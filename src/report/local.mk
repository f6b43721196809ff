noinst_LIBRARIES += libreport.a
libreport_a_SOURCES = \
  %D%/report.h \
  %D%/report.c \
  %D%/chart.c
