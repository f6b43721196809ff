/*
 * Macros for loops over independent accumulators in ISA files. The file defines F(r, y), multiply-add to accumulator r with operand y,
 * and A(r, y), add y to r; F8 is eight multiply-adds, F8A4 eight with four interleaved additions. Each accumulator occurs once per
 * pattern (except F8A8 with 13 registers: eight additions to five sums). Methods.md (74).
 */
#ifndef CEILINGS_MIX_H
#define CEILINGS_MIX_H

#define MIX_F4(y) F(0, y) F(1, y) F(2, y) F(3, y)
#define MIX_F5(y) MIX_F4(y) F(4, y)
#define MIX_F6(y) MIX_F5(y) F(5, y)
#define MIX_F8(y) MIX_F6(y) F(6, y) F(7, y)
#define MIX_F10(y) MIX_F8(y) F(8, y) F(9, y)
#define MIX_F12(y) MIX_F10(y) F(10, y) F(11, y)
#define MIX_F16(y) MIX_F12(y) F(12, y) F(13, y) F(14, y) F(15, y)
#define MIX_F24(y) MIX_F16(y) F(16, y) F(17, y) F(18, y) F(19, y) F(20, y) F(21, y) F(22, y) F(23, y)
#define MIX_F6A6(y)                                                                                                    \
    F(0, y) A(6, y) F(1, y) A(7, y) F(2, y) A(8, y) F(3, y) A(9, y) F(4, y) A(10, y) F(5, y) A(11, y)
#define MIX_F8A2(y) F(0, y) F(1, y) F(2, y) F(3, y) A(8, y) F(4, y) F(5, y) F(6, y) F(7, y) A(9, y)
#define MIX_F8A4(y)                                                                                                    \
    F(0, y) F(1, y) A(8, y) F(2, y) F(3, y) A(9, y) F(4, y) F(5, y) A(10, y) F(6, y) F(7, y) A(11, y)
/* 15 registers: covers latencies 4 and 3 on two pipes each. */
#define MIX_F8A7(y)                                                                                                    \
    F(0, y) A(8, y) F(1, y) A(9, y) F(2, y) A(10, y) F(3, y) A(11, y) F(4, y) A(12, y) F(5, y) A(13, y) F(6, y)        \
        A(14, y) F(7, y)
#define MIX_F9A6(y)                                                                                                    \
    F(0, y) A(9, y) F(1, y) F(2, y) A(10, y) F(3, y) A(11, y) F(4, y) F(5, y) A(12, y) F(6, y) A(13, y) F(7, y)        \
        F(8, y) A(14, y)
#define MIX_F10A5(y)                                                                                                   \
    F(0, y) F(1, y) A(10, y) F(2, y) F(3, y) A(11, y) F(4, y) F(5, y) A(12, y) F(6, y) F(7, y) A(13, y) F(8, y)        \
        F(9, y) A(14, y)
#define MIX_F12A6(y)                                                                                                   \
    F(0, y) F(1, y) A(12, y) F(2, y) F(3, y) A(13, y) F(4, y) F(5, y) A(14, y) F(6, y) F(7, y) A(15, y) F(8, y)        \
        F(9, y) A(16, y) F(10, y) F(11, y) A(17, y)
#define MIX_F12A12(y)                                                                                                  \
    F(0, y) A(12, y) F(1, y) A(13, y) F(2, y) A(14, y) F(3, y) A(15, y) F(4, y) A(16, y) F(5, y) A(17, y) F(6, y)      \
        A(18, y) F(7, y) A(19, y) F(8, y) A(20, y) F(9, y) A(21, y) F(10, y) A(22, y) F(11, y) A(23, y)

/* 64 bytes as 2, 4, 8 or 16 equal groups. */
#define TWICE(...) __VA_ARGS__, __VA_ARGS__
#define TIMES4(...) TWICE(__VA_ARGS__), TWICE(__VA_ARGS__)
#define TIMES8(...) TIMES4(__VA_ARGS__), TIMES4(__VA_ARGS__)
#define TIMES16(...) TIMES8(__VA_ARGS__), TIMES8(__VA_ARGS__)

/*
 * Operands, 64 bytes each: x, y, -y and accumulator start values. Elements differ, no product is a power of two, and y alternates in
 * sign: sums stay between 0.4 and 6 and the multipliers toggle.
 */
#define PEAK_OPERANDS(type, name, times)                                                                               \
    static const _Alignas(64) type name[4][64 / sizeof(type)] = {                                                      \
        { times(1.3125, 0.8125) }, { times(1.1875, 0.9375) }, { times(-1.1875, -0.9375) }, { times(1.6875, 2.3125) },  \
    }

#endif
