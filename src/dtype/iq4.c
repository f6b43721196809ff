/* iq4.c: IQ4_NL and IQ4_XS: the table of values, and the choice of a scale for 32 elements. */
#include "dtype/internal.h"

enum { ELEMS = 32, LANES = 4 };

const int8_t dtype_iq4[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
                               1,    13,   25,  38,  53,  69,  89,  113 };

/* The index of the entry nearest to an element is the number of midpoints below it. */
void iq4_nearest(const float *x, float inv, int32_t q[ELEMS])
{
    float v[ELEMS];
    for (int i = 0; i < ELEMS; i++) {
        v[i] = x[i] * inv;
        q[i] = 0;
    }
    for (int k = 0; k < 15; k++) {
        float mid = 0.5f * (float)(dtype_iq4[k] + dtype_iq4[k + 1]);
        for (int i = 0; i < ELEMS; i++)
            q[i] += v[i] > mid;
    }
}

/*
 * As span_fit, with entries for quants: the element of largest magnitude may go to either end of
 * the table, clipped a little or not.
 */
float iq4_fit(const float *x, float max)
{
    static const float spans[] = { -127, -119, -135, -111, 113, 121, 105 };
    float best = 0, scale = 0;
    if (!(max > 0x1p-100f || max < -0x1p-100f)) /* nothing here, or too small for any half */
        return 0;
    for (size_t k = 0; k < ARRAY_LEN(spans); k++) {
        int32_t q[ELEMS], tt = 0;
        float lanes[LANES] = { 0 };
        iq4_nearest(x, spans[k] / max, q);
        for (int i = 0; i < ELEMS; i++) {
            q[i] = dtype_iq4[q[i]];
            tt += q[i] * q[i];
        }
        for (int i = 0; i < ELEMS; i += LANES)
            for (int l = 0; l < LANES; l++)
                lanes[l] += x[i + l] * (float)q[i + l];
        float xt = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
        float gain = xt * xt / (float)tt; /* no entry is 0: tt is at least 32 */
        if (gain > best) {
            best = gain;
            scale = xt / (float)tt;
        }
    }
    return scale;
}
