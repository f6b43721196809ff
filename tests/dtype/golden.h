/*
 * Blocks written out by hand from the layouts (methods.md (1)): bytes in, values out. A row says
 * `n` times the byte or the value; a list ends at n = 0. Nothing here was computed by the code
 * under test.
 */
#ifndef TESTS_DTYPE_GOLDEN_H
#define TESTS_DTYPE_GOLDEN_H
#include "dtype/dtype.h"

struct byte_run {
    int n;
    uint8_t byte;
};
struct value_run {
    int n;
    float value;
};
struct golden {
    const char *what;
    enum dtype type;
    const struct byte_run *bytes;
    const struct value_run *values;
};
#define BYTES  (const struct byte_run[])
#define VALUES (const struct value_run[])

/* Halves used below, low byte first: 00 3c = 1, 00 38 = 0.5, 00 34 = 0.25, 00 40 = 2, 00 c0 = -2,
 * 00 bc = -1, 00 b8 = -0.5, 00 c2 = -3, 01 00 = 2^-24, 01 80 = -2^-24. */
static const struct golden goldens[] = {
    { "F32: 1, -2, 2^-149, 2^-126", DTYPE_F32,
      BYTES{ { 2, 0 }, { 1, 0x80 }, { 1, 0x3f }, { 3, 0 }, { 1, 0xc0 }, { 1, 1 }, { 3, 0 },
             { 2, 0 }, { 1, 0x80 }, { 1, 0 }, { 0, 0 } },
      VALUES{ { 1, 1 }, { 1, -2 }, { 1, 0x1p-149f }, { 1, 0x1p-126f }, { 0, 0 } } },
    { "F16: 1, -2, largest, smallest normal, smallest", DTYPE_F16,
      BYTES{ { 1, 0 }, { 1, 0x3c }, { 1, 0 }, { 1, 0xc0 }, { 1, 0xff }, { 1, 0x7b }, { 1, 0 },
             { 1, 0x04 }, { 1, 1 }, { 1, 0x80 }, { 0, 0 } },
      VALUES{ { 1, 1 }, { 1, -2 }, { 1, 65504 }, { 1, 0x1p-14f }, { 1, -0x1p-24f }, { 0, 0 } } },
    { "BF16: 1, -3.140625, smallest normal, smallest", DTYPE_BF16,
      BYTES{ { 1, 0x80 }, { 1, 0x3f }, { 1, 0x49 }, { 1, 0xc0 }, { 1, 0x80 }, { 1, 0 }, { 1, 1 },
             { 1, 0 }, { 0, 0 } },
      VALUES{ { 1, 1 }, { 1, -3.140625f }, { 1, 0x1p-126f }, { 1, 0x1p-133f }, { 0, 0 } } },

    { "Q8_0: d 0.5, both signs and both ends", DTYPE_Q8_0,
      BYTES{ { 1, 0 }, { 1, 0x38 }, { 1, 0 }, { 1, 1 }, { 1, 0x7f }, { 1, 0x80 }, { 1, 0xff },
             { 26, 0 }, { 1, 0x40 }, { 0, 0 } },
      VALUES{ { 1, 0 }, { 1, 0.5f }, { 1, 63.5f }, { 1, -64 }, { 1, -0.5f }, { 26, 0 }, { 1, 32 },
              { 0, 0 } } },
    { "Q8_0: d -2, order of the elements", DTYPE_Q8_0,
      BYTES{ { 1, 0 }, { 1, 0xc0 }, { 1, 1 }, { 1, 2 }, { 1, 3 }, { 27, 0 }, { 1, 0xfe },
             { 1, 0x20 }, { 0, 0 } },
      VALUES{ { 1, -2 }, { 1, -4 }, { 1, -6 }, { 27, 0 }, { 1, 4 }, { 1, -64 }, { 0, 0 } } },

    { "Q4_0: d 1, every nibble low (up) and high (down)", DTYPE_Q4_0,
      BYTES{ { 1, 0 }, { 1, 0x3c }, { 1, 0xf0 }, { 1, 0xe1 }, { 1, 0xd2 }, { 1, 0xc3 },
             { 1, 0xb4 }, { 1, 0xa5 }, { 1, 0x96 }, { 1, 0x87 }, { 1, 0x78 }, { 1, 0x69 },
             { 1, 0x5a }, { 1, 0x4b }, { 1, 0x3c }, { 1, 0x2d }, { 1, 0x1e }, { 1, 0x0f },
             { 0, 0 } },
      VALUES{ { 1, -8 }, { 1, -7 }, { 1, -6 }, { 1, -5 }, { 1, -4 }, { 1, -3 }, { 1, -2 },
              { 1, -1 }, { 1, 0 }, { 1, 1 }, { 1, 2 }, { 1, 3 }, { 1, 4 }, { 1, 5 }, { 1, 6 },
              { 1, 7 }, { 1, 7 }, { 1, 6 }, { 1, 5 }, { 1, 4 }, { 1, 3 }, { 1, 2 }, { 1, 1 },
              { 1, 0 }, { 1, -1 }, { 1, -2 }, { 1, -3 }, { 1, -4 }, { 1, -5 }, { 1, -6 },
              { 1, -7 }, { 1, -8 }, { 0, 0 } } },
    { "Q4_0: d -0.5, low 0 and high 15", DTYPE_Q4_0,
      BYTES{ { 1, 0 }, { 1, 0xb8 }, { 16, 0xf0 }, { 0, 0 } },
      VALUES{ { 16, 4 }, { 16, -3.5f }, { 0, 0 } } },
    { "Q4_0: a subnormal d", DTYPE_Q4_0, BYTES{ { 1, 1 }, { 1, 0 }, { 16, 0x98 }, { 0, 0 } },
      VALUES{ { 16, 0 }, { 16, 0x1p-24f }, { 0, 0 } } },

    { "Q5_0: d 1, fifth bits of elements 0, 15, 17, 30", DTYPE_Q5_0,
      BYTES{ { 1, 0 }, { 1, 0x3c }, { 1, 0x01 }, { 1, 0x80 }, { 1, 0x02 }, { 1, 0x40 },
             { 16, 0x21 }, { 0, 0 } },
      VALUES{ { 1, 1 }, { 14, -15 }, { 1, 1 }, { 1, -14 }, { 1, 2 }, { 12, -14 }, { 1, 2 },
              { 1, -14 }, { 0, 0 } } },
    { "Q5_0: d -2, fifth bits of the first half", DTYPE_Q5_0,
      BYTES{ { 1, 0 }, { 1, 0xc0 }, { 2, 0xff }, { 2, 0 }, { 1, 0xf0 }, { 1, 0xf1 }, { 1, 0xf2 },
             { 12, 0xf3 }, { 1, 0xff }, { 0, 0 } },
      VALUES{ { 1, 0 }, { 1, -2 }, { 1, -4 }, { 12, -6 }, { 1, -30 }, { 16, 2 }, { 0, 0 } } },

    { "Q5_1: d 0.25, m -3, fifth bits of the second half", DTYPE_Q5_1,
      BYTES{ { 1, 0 }, { 1, 0x34 }, { 1, 0 }, { 1, 0xc2 }, { 2, 0 }, { 2, 0xff }, { 1, 0x0f },
             { 1, 0x1e }, { 13, 0x5a }, { 1, 0xf0 }, { 0, 0 } },
      VALUES{ { 1, 0.75f }, { 1, 0.5f }, { 13, -0.5f }, { 1, -3 }, { 1, 1 }, { 1, 1.25f },
              { 13, 2.25f }, { 1, 4.75f }, { 0, 0 } } },
    { "Q5_1: d 1, m 0.5, fifth bits of elements 0, 8, 23 and 31", DTYPE_Q5_1,
      BYTES{ { 1, 0 }, { 1, 0x3c }, { 1, 0 }, { 1, 0x38 }, { 2, 0x01 }, { 2, 0x80 }, { 16, 0 },
             { 0, 0 } },
      VALUES{ { 1, 16.5f }, { 7, 0.5f }, { 1, 16.5f }, { 14, 0.5f }, { 1, 16.5f }, { 7, 0.5f },
              { 1, 16.5f }, { 0, 0 } } },

    /* sc = 1 2 3 63 21 63 32 7, mn = 0 1 2 63 42 15 48 63:
     * bytes 0..3 = sc[0..3] | high two bits of sc[4..7] << 6, bytes 4..7 the same of mn,
     * bytes 8..11 = low nibbles of sc[4..7] | low nibbles of mn[4..7] << 4.
     * Sub-blocks: 0.5*1*1, 1*2-2, 1.5*3-4, 31.5*5-126, 10.5*15-84, 0-30, 16*8-96, 3.5*9-126. */
    { "Q4_K: d 0.5, dmin 2, scales and minima with all their bits", DTYPE_Q4_K,
      BYTES{ { 1, 0 },    { 1, 0x38 }, { 1, 0 },    { 1, 0x40 }, { 1, 0x41 },  { 1, 0xc2 },
             { 1, 0x83 }, { 1, 0x3f }, { 1, 0x80 }, { 1, 0x01 }, { 1, 0xc2 },  { 1, 0xff },
             { 1, 0xa5 }, { 1, 0xff }, { 1, 0x00 }, { 1, 0xf7 }, { 1, 0xf0 },  { 31, 0x21 },
             { 32, 0x53 }, { 32, 0x0f }, { 31, 0x98 }, { 1, 0x1e }, { 0, 0 } },
      VALUES{ { 1, 0 }, { 31, 0.5f }, { 1, 13 }, { 31, 0 }, { 32, 0.5f }, { 32, 31.5f },
              { 32, 73.5f }, { 32, -30 }, { 31, 32 }, { 1, 128 }, { 31, -94.5f }, { 1, -122.5f },
              { 0, 0 } } },
    { "Q4_K: d -1, dmin 0.25, minima of the last four alone", DTYPE_Q4_K,
      BYTES{ { 1, 0 }, { 1, 0xbc }, { 1, 0 }, { 1, 0x34 }, { 8, 0 }, { 1, 0x10 }, { 1, 0x20 },
             { 1, 0x40 }, { 1, 0x81 }, { 128, 0x5a }, { 0, 0 } },
      VALUES{ { 128, 0 }, { 32, -0.25f }, { 32, -0.5f }, { 32, -1 }, { 32, -7 }, { 0, 0 } } },

    /* The scales of the first Q4_K block. Fifth bits: element 0 of sub-block 0 (17: 8.5), 1 of 7
     * (25: 87.5 - 126), 31 of 2 (19: 28.5 - 4) and of 5 (16: 504 - 30). */
    { "Q5_K: d 0.5, dmin 2, single fifth bits", DTYPE_Q5_K,
      BYTES{ { 1, 0 },     { 1, 0x38 },  { 1, 0 },     { 1, 0x40 },  { 1, 0x41 }, { 1, 0xc2 },
             { 1, 0x83 },  { 1, 0x3f },  { 1, 0x80 },  { 1, 0x01 },  { 1, 0xc2 }, { 1, 0xff },
             { 1, 0xa5 },  { 1, 0xff },  { 1, 0x00 },  { 1, 0xf7 },  { 1, 0x01 }, { 1, 0x80 },
             { 29, 0 },    { 1, 0x24 },  { 32, 0x21 }, { 32, 0x53 }, { 32, 0x0f }, { 32, 0x98 },
             { 0, 0 } },
      VALUES{ { 1, 8.5f }, { 31, 0.5f }, { 32, 0 }, { 31, 0.5f }, { 1, 24.5f }, { 32, 31.5f },
              { 32, 73.5f }, { 31, -30 }, { 1, 474 }, { 32, 32 }, { 1, -94.5f }, { 1, -38.5f },
              { 30, -94.5f }, { 0, 0 } } },
    { "Q5_K: d -1, dmin 0.25, every fifth bit", DTYPE_Q5_K,
      BYTES{ { 1, 0 }, { 1, 0xbc }, { 1, 0 }, { 1, 0x34 }, { 8, 0 }, { 1, 0x10 }, { 1, 0x20 },
             { 1, 0x40 }, { 1, 0x81 }, { 32, 0xff }, { 128, 0x5a }, { 0, 0 } },
      VALUES{ { 128, 0 }, { 32, -0.25f }, { 32, -0.5f }, { 32, -1 }, { 32, -23 }, { 0, 0 } } },

    /* First half: low nibbles 1, 3, 2, 4 and upper bits 0, 1, 2, 3 make 1, 19, 34, 52 less 32;
     * at l = 0 upper bits 3, 2, 1, 0 make 49, 35, 18, 4. Second half: 0 0 15 15, and at l = 31
     * with all upper bits 48 48 63 63. Scales 1 -1 2 -2 3 -3 127 -128 | 4 5 6 7 8 9 10 11. */
    { "Q6_K: d 0.5, signed scales, all upper bits", DTYPE_Q6_K,
      BYTES{ { 32, 0x21 }, { 32, 0x43 }, { 64, 0xf0 }, { 1, 0x1b }, { 31, 0xe4 }, { 31, 0 },
             { 1, 0xff },  { 1, 1 },     { 1, 0xff },  { 1, 2 },    { 1, 0xfe },  { 1, 3 },
             { 1, 0xfd },  { 1, 0x7f },  { 1, 0x80 },  { 1, 4 },    { 1, 5 },     { 1, 6 },
             { 1, 7 },     { 1, 8 },     { 1, 9 },     { 1, 10 },   { 1, 11 },    { 1, 0 },
             { 1, 0x38 },  { 0, 0 } },
      VALUES{ { 1, 8.5f }, { 15, -15.5f }, { 16, 15.5f },
              { 1, 3 }, { 15, -13 }, { 16, 13 },
              { 1, -21 }, { 15, 3 }, { 16, -3 },
              { 1, -1778 }, { 15, 1270 }, { 16, -1280 },
              { 16, -64 }, { 15, -80 }, { 1, 40 },
              { 16, -96 }, { 15, -112 }, { 1, 56 },
              { 16, -68 }, { 15, -76.5f }, { 1, 139.5f },
              { 16, -85 }, { 15, -93.5f }, { 1, 170.5f }, { 0, 0 } } },
    { "Q6_K: smallest negative d, scales -128", DTYPE_Q6_K,
      BYTES{ { 128, 0 }, { 64, 0 }, { 16, 0x80 }, { 1, 1 }, { 1, 0x80 }, { 0, 0 } },
      VALUES{ { 256, -0x1p-12f }, { 0, 0 } } },
};
#endif
