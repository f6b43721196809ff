if CMOCKA
score_test_libs = libscore.a libmeasure.a libroofline.a librun.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(PCRE2_LIBS) $(TEST_LIBS)
check_PROGRAMS += %D%/test_score %D%/test_reasons
%C%_test_score_SOURCES   = %D%/test_score.c %D%/rows.h tests/test.h
%C%_test_score_LDADD     = $(score_test_libs)
%C%_test_reasons_SOURCES = %D%/test_reasons.c %D%/rows.h tests/test.h
%C%_test_reasons_LDADD   = $(score_test_libs)
TESTS += %D%/test_reasons
endif
