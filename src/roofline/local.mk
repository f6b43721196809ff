noinst_LIBRARIES += libroofline.a
libroofline_a_SOURCES = \
  %D%/roofline.h \
  %D%/cost.c \
  %D%/predict.c
