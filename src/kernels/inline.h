/*
 * kernels/inline.h: how the pieces of a kernel become one function.
 */
#ifndef KERNELS_INLINE_H
#define KERNELS_INLINE_H

/* Inlined, what a kernel passes to its pieces is constants and registers. Without optimization neither comes of it, and a sanitizer would take a
 * minute for one file of copies: there they stay functions. */
#ifdef __OPTIMIZE__
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

#endif
