# tests of ceilings
EXTRA_DIST += %D%/big-little.xml %D%/island.xml
if CMOCKA
check_PROGRAMS += %D%/test_ceilings
%C%_test_ceilings_SOURCES = %D%/test_ceilings.c tests/test.h
%C%_test_ceilings_LDADD   = libceilings.a libhwprofile.a $(KERNEL_LIBS) libdtype.a $(TEST_LIBS)
check_PROGRAMS += %D%/test_kernel_roofs
%C%_test_kernel_roofs_SOURCES = %D%/test_kernel_roofs.c tests/test.h
%C%_test_kernel_roofs_LDADD   = libceilings.a libhwprofile.a $(KERNEL_LIBS) libdtype.a $(TEST_LIBS)
TESTS += %D%/test_kernel_roofs
check_PROGRAMS += %D%/test_cpu_topology %D%/test_memory
%C%_test_cpu_topology_SOURCES = %D%/test_cpu_topology.c tests/test.h
%C%_test_cpu_topology_LDADD   = libceilings.a libhwprofile.a $(KERNEL_LIBS) libdtype.a $(TEST_LIBS)
%C%_test_memory_SOURCES = %D%/test_memory.c tests/test.h
%C%_test_memory_LDADD   = libceilings.a libhwprofile.a $(KERNEL_LIBS) libdtype.a $(TEST_LIBS)
TESTS += %D%/test_cpu_topology %D%/test_memory
endif
