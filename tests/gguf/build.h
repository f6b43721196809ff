/*
 * GGUF bytes put together by hand, right or wrong: for the tests and for the fuzz corpus. It
 * shares nothing with the writer in src/gguf, so that a mistake there cannot hide.
 */
#ifndef TESTS_GGUF_BUILD_H
#define TESTS_GGUF_BUILD_H
#include "gguf/gguf.h"
#include <string.h>

static inline void put(struct strbuf *b, uint64_t v, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++) {
        char c = (char)(v >> 8 * i & 255);
        strbuf_add(b, &c, 1);
    }
}

static inline void put_text(struct strbuf *b, const char *s)
{
    put(b, strlen(s), 8);
    strbuf_adds(b, s);
}

static inline void put_head(struct strbuf *b, uint32_t version, uint64_t n_tensors, uint64_t n_kv)
{
    strbuf_add(b, "GGUF", 4);
    put(b, version, 4);
    put(b, n_tensors, 8);
    put(b, n_kv, 8);
}

/* A key with a scalar of n_bytes; strings have their own. */
static inline void put_kv(struct strbuf *b, const char *key, uint32_t type, uint64_t v, int n_bytes)
{
    put_text(b, key);
    put(b, type, 4);
    put(b, v, n_bytes);
}

static inline void put_kv_text(struct strbuf *b, const char *key, const char *v)
{
    put_text(b, key);
    put(b, GGUF_STRING, 4);
    put_text(b, v);
}

/* Key, type array, element type, count: the elements are the caller's. */
static inline void put_kv_array(struct strbuf *b, const char *key, uint32_t elem, uint64_t n)
{
    put_text(b, key);
    put(b, GGUF_ARRAY, 4);
    put(b, elem, 4);
    put(b, n, 8);
}

/* A two-dimensional tensor. */
static inline void put_info(struct strbuf *b, const char *name, uint64_t ne0, uint64_t ne1,
                            uint32_t type, uint64_t offset)
{
    put_text(b, name);
    put(b, 2, 4);
    put(b, ne0, 8);
    put(b, ne1, 8);
    put(b, type, 4);
    put(b, offset, 8);
}

/* Zeros up to a multiple of align. */
static inline void put_pad(struct strbuf *b, size_t align)
{
    while (b->len % align)
        put(b, 0, 1);
}

static inline void put_zeros(struct strbuf *b, size_t n)
{
    while (n--)
        put(b, 0, 1);
}
#endif
