# tests of report
check_PROGRAMS += %D%/check_svg
%C%_check_svg_SOURCES = %D%/check_svg.c %D%/font.c %D%/font.h
%C%_check_svg_LDADD   = libreport.a $(BASE_LIBS)
EXTRA_DIST += %D%/run.json %D%/cpu.json %D%/curves.json
if CMOCKA
check_PROGRAMS += %D%/test_report %D%/test_chart %D%/test_curves
%C%_test_report_SOURCES = %D%/test_report.c tests/test.h
%C%_test_report_LDADD   = libreport.a $(TEST_LIBS)
%C%_test_chart_SOURCES = %D%/test_chart.c tests/test.h
%C%_test_chart_LDADD   = libreport.a $(TEST_LIBS)
%C%_test_curves_SOURCES = %D%/test_curves.c tests/test.h
%C%_test_curves_LDADD   = libreport.a $(TEST_LIBS)
check_PROGRAMS += %D%/test_serving
%C%_test_serving_SOURCES = %D%/test_serving.c tests/test.h tests/near.h
%C%_test_serving_LDADD   = libreport.a $(SERVING_TEST_LIBS)
check_PROGRAMS += %D%/test_comparison
%C%_test_comparison_SOURCES = %D%/test_comparison.c tests/test.h tests/near.h
%C%_test_comparison_LDADD   = libreport.a libdataset.a librun.a libcost.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(TEST_LIBS) $(PCRE2_LIBS) -lm
TESTS += %D%/test_comparison
check_PROGRAMS += %D%/test_html
%C%_test_html_SOURCES = %D%/test_html.c tests/test.h
%C%_test_html_LDADD   = libreport.a liblearn.a libserving.a libstacks.a libfit.a libdataset.a libpredict.a libtiming.a libcost.a librun.a libhwprofile.a libmodel.a libgguf.a libdtype.a \
  $(PCRE2_LIBS) $(CMINPACK_LIBS) $(TEST_LIBS)
TESTS += %D%/test_html
TESTS += %D%/test_report %D%/test_chart %D%/test_curves %D%/test_serving
check_PROGRAMS += %D%/test_choose
%C%_test_choose_SOURCES = %D%/test_choose.c tests/test.h tests/near.h
%C%_test_choose_LDADD   = libreport.a liblearn.a libstacks.a libfit.a libdataset.a librun.a $(PREDICT_TEST_LIBS) $(CMINPACK_LIBS)
TESTS += %D%/test_choose
endif
dist_check_SCRIPTS += %D%/fields.sh %D%/gallery.sh
TESTS += %D%/fields.sh %D%/gallery.sh
