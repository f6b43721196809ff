if CMOCKA
check_PROGRAMS += %D%/test_score
%C%_test_score_SOURCES = %D%/test_score.c tests/test.h
%C%_test_score_LDADD   = libscore.a libmeasure.a libroofline.a librun.a libhwprofile.a libmodel.a libgguf.a libdtype.a \
  $(PCRE2_LIBS) $(TEST_LIBS)
TESTS += %D%/test_score
endif
