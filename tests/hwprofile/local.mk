# tests of hwprofile
EXTRA_DIST += %D%/hybrid.xml %D%/import
if CMOCKA
check_PROGRAMS += %D%/test_hwprofile
%C%_test_hwprofile_SOURCES = %D%/test_hwprofile.c tests/test.h
%C%_test_hwprofile_LDADD   = libhwprofile.a $(TEST_LIBS)
TESTS += %D%/test_hwprofile
endif
