if CMOCKA
check_PROGRAMS += %D%/test_doctor
%C%_test_doctor_SOURCES = %D%/test_doctor.c tests/test.h
%C%_test_doctor_LDADD   = libbench.a libcounters.a $(TEST_LIBS) $(PAPI_LIBS)
TESTS += %D%/test_doctor
endif
