/* coherence.h: benchmarks of cache-to-cache coherence traffic between cores, in ceilings, profiles and runs. methods.md (33) */
#ifndef BASE_COHERENCE_H
#define BASE_COHERENCE_H

/* Reads of rows that other cores wrote, and writes by columns to lines that other cores hold, for small and large batches (B/s of
 * all threads); and a barrier (s). */
enum coherence_kind {
    COHERENCE_READ_SMALL, COHERENCE_READ_LARGE, COHERENCE_WRITE_SMALL, COHERENCE_WRITE_LARGE, COHERENCE_BARRIER,
    COHERENCE_COUNT
};
enum { COHERENCE_SMALL_BATCH = 32, COHERENCE_LARGE_BATCH = 512 }; /* tokens */
const char *coherence_op(enum coherence_kind k);                  /* "exchange-read" "exchange-write" "barrier" */
int coherence_tokens(enum coherence_kind k);                      /* 0: barrier */

#endif
