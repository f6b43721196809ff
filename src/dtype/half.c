/* half.c: exact conversions between f32 and the two 16-bit floats, in integer arithmetic. */
#include "dtype/dtype.h"
#include <string.h>

static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static float float_of(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* f16 is 1 sign, 5 exponent (bias 15), 10 fraction; f32 is 1, 8 (bias 127), 23. */
float f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t exp = (h >> 10) & 31, frac = h & 0x3ff;
    if (exp == 0) { /* zero or subnormal: frac * 2^-24, exact in f32 */
        float v = (float)frac * 0x1p-24f;
        return float_of(bits_of(v) | sign);
    }
    if (exp == 31) {
        uint32_t quiet = frac ? 0x400000 : 0;
        return float_of(sign | 0x7f800000 | quiet | frac << 13);
    }
    return float_of(sign | (exp + 112) << 23 | frac << 13);
}

uint16_t f32_to_f16(float f)
{
    uint32_t u = bits_of(f);
    uint32_t sign = (u >> 16) & 0x8000, a = u & 0x7fffffff;
    if (a > 0x7f800000) /* NaN: the top of its payload, quiet */
        return (uint16_t)(sign | 0x7e00 | ((a >> 13) & 0x3ff));
    if (a >= 0x477ff000) /* 65520 and up: half way to 2^16 rounds away from 65504 */
        return (uint16_t)(sign | 0x7c00);
    if (a >= 0x38800000) { /* 2^-14 and up: normal; a carry moves into the exponent */
        a += 0xfff + ((a >> 13) & 1);
        return (uint16_t)(sign | ((a >> 13) - (112u << 10)));
    }
    if (a <= 0x33000000) /* up to 2^-25: half the smallest subnormal ties to zero */
        return (uint16_t)sign;
    uint32_t shift = 126 - (a >> 23); /* to units of 2^-24: 14..24 */
    uint32_t m = (a & 0x7fffff) | 0x800000;
    uint32_t q = m >> shift, rest = m & ((1u << shift) - 1), half = 1u << (shift - 1);
    q += rest > half || (rest == half && (q & 1));
    return (uint16_t)(sign | q);
}

float bf16_to_f32(uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    if ((u & 0x7fffffff) > 0x7f800000)
        u |= 0x400000;
    return float_of(u);
}

uint16_t f32_to_bf16(float f)
{
    uint32_t u = bits_of(f);
    if ((u & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
