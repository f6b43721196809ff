/*
 * kernels/inline.h: inlining of the pieces of a kernel.
 */
#ifndef KERNELS_INLINE_H
#define KERNELS_INLINE_H

/* Inlining turns the arguments of a kernel's pieces into constants and registers. Without optimization it does not, and with sanitizers
 * (KERNELS_IN_PIECES, configure.ac) a file would take minutes to compile: there they stay functions. */
#if defined(__OPTIMIZE__) && !defined(KERNELS_IN_PIECES)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

#endif
