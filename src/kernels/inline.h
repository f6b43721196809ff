/*
 * kernels/inline.h: how the pieces of a kernel become one function.
 */
#ifndef KERNELS_INLINE_H
#define KERNELS_INLINE_H

/* Inlined, what a kernel passes to its pieces is constants and registers. Without optimization neither comes of it, and with a sanitizer's
 * checks (KERNELS_IN_PIECES, configure.ac) a file of copies would take minutes to compile: there they stay functions. */
#if defined(__OPTIMIZE__) && !defined(KERNELS_IN_PIECES)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

#endif
