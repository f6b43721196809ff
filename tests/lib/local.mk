# tests of lib: the public boundary, and the installed library
if CMOCKA
check_PROGRAMS += %D%/test_lib
%C%_test_lib_SOURCES  = %D%/test_lib.c %D%/handles.h tests/test.h
%C%_test_lib_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/include
%C%_test_lib_LDADD    = liblib.a $(LIB_ARCHIVES) $(LIB_LIBS) $(CMOCKA_LIBS)
TESTS += %D%/test_lib
check_PROGRAMS += %D%/test_serving_lib
%C%_test_serving_lib_SOURCES  = %D%/test_serving_lib.c %D%/handles.h tests/test.h
%C%_test_serving_lib_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/include
%C%_test_serving_lib_LDADD    = liblib.a $(LIB_ARCHIVES) $(LIB_LIBS) $(CMOCKA_LIBS)
TESTS += %D%/test_serving_lib
endif
dist_check_SCRIPTS += %D%/install.sh
TESTS += %D%/install.sh
EXTRA_DIST += examples/decode.c examples/ops.c examples/predict.c examples/simulate.c examples/simulate.py \
  examples/sweep.py
