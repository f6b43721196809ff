/*
 * draw.h: counter-based random numbers. A number is a hash of (seed, stream, index): the same in any order, on any thread and in any
 * configuration, so that configurations are compared on common random numbers. The mixing function is splitmix64's finalizer
 * (Steele, Lea and Flood, OOPSLA 2014), applied twice.
 */
#ifndef SERVING_DRAW_H
#define SERVING_DRAW_H

#include <math.h>
#include <stdint.h>

/* What a number decides. A stream's numbers do not depend on how many another one takes. */
enum draw_stream {
    DRAW_GAP,        /* between arrivals */
    DRAW_IN,         /* prompt lengths */
    DRAW_OUT,        /* output lengths */
    DRAW_TURNS,      /* of a session */
    DRAW_THINK,      /* time between the turns of a session */
    DRAW_ACCEPT,     /* of drafted tokens */
    DRAW_ACCEPT_RATE, /* spread of a request's acceptance rate */
    DRAW_ROUTE,      /* of requests to replicas */
    DRAW_CONSTANTS,  /* of the step's price */
    DRAW_SAMPLE,     /* rows of an empirical distribution */
    DRAW_STREAMS,
};

static inline uint64_t draw_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint64_t draw_u64(uint64_t seed, enum draw_stream stream, uint64_t i)
{
    const uint64_t key = draw_mix(seed + UINT64_C(0x9e3779b97f4a7c15) * ((uint64_t)stream + 1));
    return draw_mix(key + UINT64_C(0x9e3779b97f4a7c15) * (i + 1));
}

/* In (0, 1), never an end. */
static inline double draw_uniform(uint64_t seed, enum draw_stream stream, uint64_t i)
{
    return ((double)(draw_u64(seed, stream, i) >> 11) + 0.5) * 0x1p-53;
}

/* Mean 1. */
static inline double draw_exponential(uint64_t seed, enum draw_stream stream, uint64_t i)
{
    return -log(draw_uniform(seed, stream, i));
}

/* Mean 0, standard deviation 1: Box and Muller, from the numbers 2i and 2i + 1 of the stream. */
static inline double draw_normal(uint64_t seed, enum draw_stream stream, uint64_t i)
{
    const double r = sqrt(-2 * log(draw_uniform(seed, stream, 2 * i)));
    return r * cos(6.283185307179586 * draw_uniform(seed, stream, 2 * i + 1));
}

/* Gamma distribution of that shape and mean 1: Marsaglia and Tsang (ACM TOMS 26, 2000). Takes the numbers 64i ... 64i + 63. */
double draw_gamma(uint64_t seed, enum draw_stream stream, uint64_t i, double shape);

#endif
