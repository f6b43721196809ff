/*
 * Gather loops of every ISA's stream.c, with and without prefetch of the next row; stream.c defines the 64-byte load (LINE) and the end
 * (GATHER_END). Static in each archive, compiled for its ISA.
 */
static void gather(const void *table, const uint32_t *row, size_t n, size_t row_bytes)
{
    for (size_t i = 0; i < n; i++) {
        const char *p = (const char *)table + row[i] * row_bytes, *end = p + row_bytes;
        for (; p < end; p += 64)
            LINE(p);
    }
    GATHER_END;
}

static void gather_ahead(const void *table, const uint32_t *row, size_t n, size_t row_bytes)
{
    const size_t ahead = row_bytes >= 2048 ? 1 : 2048 / row_bytes;
    for (size_t i = 0; i < n; i++) {
        const char *p = (const char *)table + row[i] * row_bytes, *q = (const char *)table + row[i + ahead] * row_bytes;
        for (size_t k = 0; k < row_bytes; k += 64) {
            __builtin_prefetch(q + k);
            LINE(p + k);
        }
    }
    GATHER_END;
}
