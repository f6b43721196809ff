/* What cores pass to each other, as it is measured, kept and priced. methods.md (33) */
#ifndef BASE_EXCHANGE_H
#define BASE_EXCHANGE_H

/* Rows of few and of many tokens that others wrote, read row by row; lines that others have, written by columns (bytes a second of all
 * threads); and a barrier (seconds). */
enum exchange_kind {
    EXCHANGE_READ_FEW, EXCHANGE_READ_MANY, EXCHANGE_WRITE_FEW, EXCHANGE_WRITE_MANY, EXCHANGE_MEET,
    EXCHANGE_COUNT
};
enum { EXCHANGE_FEW = 32, EXCHANGE_MANY = 512 }; /* tokens */
const char *exchange_op(enum exchange_kind k); /* "exchange-read" "exchange-write" "barrier" */
int exchange_tokens(enum exchange_kind k);     /* 0: a barrier */

#endif
