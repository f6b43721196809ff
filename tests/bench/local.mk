if CMOCKA
check_PROGRAMS += %D%/test_text_stream
%C%_test_text_stream_SOURCES = %D%/test_text_stream.c tests/test.h
%C%_test_text_stream_LDADD   = libbench.a libengine.a libcounters.a $(KERNEL_LIBS) libmodel.a libgguf.a libdtype.a $(PCRE2_LIBS) \
  $(PAPI_LIBS) $(TEST_LIBS)
TESTS += %D%/test_text_stream
check_PROGRAMS += %D%/test_doctor
%C%_test_doctor_SOURCES = %D%/test_doctor.c tests/test.h
%C%_test_doctor_LDADD   = libbench.a libcounters.a $(TEST_LIBS) $(PAPI_LIBS)
TESTS += %D%/test_doctor
endif
