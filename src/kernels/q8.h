/*
 * kernels/q8.h: the one rule of 8-bit activations, shared by all ISAs so that they agree to
 * the bit. Static inline only: compiled with the flags of every ISA.
 */
#ifndef KERNELS_Q8_H
#define KERNELS_Q8_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct q8_scale {
    float d, inverse; /* q = round(x * inverse); inverse 0: all q are 0 */
};

/*
 * From the largest |x| of a block as bits: magnitudes order like their bits, infinities and
 * NaN on top, so integer maxima see a NaN where float maxima may drop it. A block with one
 * gets d = NaN, which the product then carries on; a block of almost nothing, whose inverse
 * scale would overflow, becomes zero. pow2: d is the power of two from there on, and NaN where a
 * kernel's 1.5 * 2^23 d would overflow. methods.md (89)
 */
#define Q8_POW2_MAX_BITS 0x73800000 /* 2^104 */
static inline struct q8_scale q8_scale(uint32_t amax_bits, bool pow2)
{
    struct q8_scale s = { 0, 0 };
    float amax;
    memcpy(&amax, &amax_bits, sizeof amax);
    if (amax_bits >= (pow2 ? Q8_POW2_MAX_BITS : 0x7f800000))
        s.d = NAN;
    else if (amax >= 0x1p-112f) {
        s.d = amax / 127.0f;
        s.inverse = 127.0f / amax;
        if (pow2) {
            uint32_t d;
            memcpy(&d, &s.d, sizeof d);
            d = (d + 0x007fffff) & 0x7f800000;
            memcpy(&s.d, &d, sizeof d);
            s.inverse = 1.0f / s.d;
        }
    }
    return s;
}

#endif
