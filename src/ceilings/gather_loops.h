/*
 * Rows of a table, 64 bytes at a time, one row after another or with the next one asked for ahead: the loops of every ISA's
 * stream.c, which says how a line is loaded (LINE) and what follows the last one (GATHER_END). Nothing here is shared by two
 * archives: each has its own, compiled for its instructions.
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
