/*
 * fuzz.h: a fuzz target is one function; it gets any bytes and must come back.
 *
 * A target aborts only when a promise of the code under test is broken; wrong input has to end in
 * an error. libFuzzer calls it in the fuzzers, replay.c in `make check`.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#endif
