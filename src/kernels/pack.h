/*
 * kernels/pack.h: packed weights. A panel is PACK_ROWS rows with the bytes and the place that they have in the file: panel p of a matrix
 * begins at p * PACK_ROWS * row_bytes, and element k of its rows, k a multiple of the elements of a group, at k / block_elems *
 * block_bytes * PACK_ROWS within. Rows are interleaved unit by unit, so that lanes of a vector are rows and memory is read sequentially.
 *
 * A block of the file is cut into fields, each `count` units of `unit` bytes. `group` blocks of each row
 * stand together (the last group of a row may have fewer): first the first field of each of them (their
 * scales, so that what follows begins on a cache line), then, block after block, the other fields. A unit
 * stands PACK_ROWS times, once a row:
 *     for each group: for b < blocks: field 0 of block b, for u < count: row 0's unit u, .. row 15's unit u
 *                     for b < blocks: for f >= 1: for u < count: row 0's unit u, ..., row 15's unit u
 *
 * Formats that store upper bits of quants apart from the lower ones have bits moved, so that most weights need one mask (enum pack_bits).
 */
#ifndef KERNELS_PACK_H
#define KERNELS_PACK_H

#include "base/base.h"
#include "dtype/dtype.h"

enum { PACK_ROWS = 16, PACK_FIELDS = 6 };

struct pack_field {
    uint8_t offset, unit, count; /* bytes into the block; bytes a unit; units (0: no field) */
};

enum pack_bits {
    PACK_AS_FILED,
    PACK_TOP_FLIPPED, /* the uppermost of every byte of fields after the first */
    /*
     * Q6_K: what follows the fields. Of each 128 columns three units for every four columns of 32, those of rows
     * together as above. Column 4 u + i of the first three 32 is bits 0 to 5 of byte i of unit 3 u, 3 u + 1, 3 u + 2;
     * of the last 32 bits 4-5, 2-3, 0-1 are bits 6-7 of these three bytes.
     */
    PACK_SIXES,
};

struct pack_format {
    uint16_t elems, bytes; /* of a block */
    uint8_t group;
    struct pack_field field[PACK_FIELDS];
    enum pack_bits bits;
};

/* The layout of a type; NULL: none. BF16's blocks are pairs of elements here. */
const struct pack_format *pack_format(enum dtype type);

/* Bytes of [rows, cols] packed: rows are filled up to whole panels with zeros. False: no layout for such
 * columns, or too large. */
bool pack_bytes(enum dtype type, size_t rows, size_t cols, size_t *bytes);

/* Panels [panel0, panel1) of src [rows, cols], in the file's layout, to dst, the packed matrix. */
void pack_panels(enum dtype type, unsigned char *dst, const unsigned char *src, size_t rows, size_t cols,
                 size_t panel0, size_t panel1);

/* One panel of n rows, n <= PACK_ROWS, row_bytes apart; of each the first `blocks` blocks. */
void pack_panel(const struct pack_format *f, unsigned char *dst, const unsigned char *src, size_t row_bytes,
                size_t blocks, size_t n);

#endif
