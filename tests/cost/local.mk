PREDICT_TEST_LIBS = libpredict.a libtiming.a libcost.a libhwprofile.a libmodel.a libgguf.a libdtype.a $(TEST_LIBS) $(PCRE2_LIBS)
if CMOCKA
check_PROGRAMS += %D%/test_cost
%C%_test_cost_SOURCES = %D%/test_cost.c tests/test.h tests/near.h
%C%_test_cost_LDADD   = $(PREDICT_TEST_LIBS)
check_PROGRAMS += %D%/test_kinds
%C%_test_kinds_SOURCES = %D%/test_kinds.c tests/test.h tests/near.h
%C%_test_kinds_LDADD   = $(PREDICT_TEST_LIBS)
check_PROGRAMS += %D%/test_account
%C%_test_account_SOURCES = %D%/test_account.c tests/test.h tests/config.h tests/near.h
%C%_test_account_LDADD   = $(PREDICT_TEST_LIBS)
check_PROGRAMS += %D%/test_layout
%C%_test_layout_SOURCES = %D%/test_layout.c tests/test.h tests/near.h
%C%_test_layout_LDADD   = $(PREDICT_TEST_LIBS)
check_PROGRAMS += %D%/test_memory
%C%_test_memory_SOURCES = %D%/test_memory.c tests/test.h tests/config.h tests/near.h
%C%_test_memory_LDADD   = $(PREDICT_TEST_LIBS)
TESTS += %D%/test_cost %D%/test_kinds %D%/test_account %D%/test_layout %D%/test_memory
endif
