/* neon/tile_kinds.h: tile_any() of the includer for each kind of format: columns a scale, and whether it has mins. Static only. */
#ifndef KERNELS_NEON_TILE_KINDS_H
#define KERNELS_NEON_TILE_KINDS_H

static void tile_32(const struct neon_tile *a)
{
    tile_any(a, 32, false);
}
static void tile_32_min(const struct neon_tile *a)
{
    tile_any(a, 32, true);
}
static void tile_16(const struct neon_tile *a)
{
    tile_any(a, 16, false);
}
static void tile_16_min(const struct neon_tile *a)
{
    tile_any(a, 16, true);
}

static void tile_run(const struct neon_tile *a)
{
    const struct neon_format *f = a->f;
    (f->group == 32 ? f->has_min ? tile_32_min : tile_32 : f->has_min ? tile_16_min : tile_16)(a);
}

#endif
