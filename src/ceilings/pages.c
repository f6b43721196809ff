/* Memory with a requested page size, and a check of what was granted. */
#include "ceilings/memory.h"
#include "base/topology.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20 };

int pages_map(struct pages *p, size_t bytes, enum page_kind kind, struct error *err)
{
    *p = (struct pages){ .kind = kind, .bytes = bytes };
#ifdef MAP_HUGETLB
    /* reserved huge pages, if enough */
    p->map_bytes = size_align_up(bytes, HUGE_PAGE);
    if (kind == PAGES_2M) {
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | 21 << 26; /* 21: pages of 2^21 bytes */
        p->map = mmap(NULL, p->map_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
        p->reserved = p->map != MAP_FAILED;
        p->mem = p->map;
        if (p->reserved)
            return 0;
    }
#endif
    p->map_bytes = size_align_up(bytes, HUGE_PAGE) + HUGE_PAGE;
    p->map = mmap(NULL, p->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p->map == MAP_FAILED) {
        p->map = NULL;
        return error_oom(err, bytes, "a memory test");
    }
    p->mem = (unsigned char *)size_align_up((uintptr_t)p->map, HUGE_PAGE);
#if defined(MADV_HUGEPAGE) && defined(MADV_NOHUGEPAGE)
    (void)madvise(p->map, p->map_bytes, kind == PAGES_4K ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
#endif
    return 0;
}

void pages_touch(struct pages *p, size_t at, size_t bytes)
{
    /* Nonzero: zero pages may be shared. In pieces, as touching can take seconds. */
    for (size_t i = 0; i < bytes && interrupt_check(NULL) == 0; i += HUGE_PAGE)
        memset(p->mem + at + i, 0x5a, bytes - i < HUGE_PAGE ? bytes - i : HUGE_PAGE);
}

double pages_huge_bytes(FILE *smaps, const void *mem, size_t bytes)
{
    char line[512];
    double sum = 0, kib;
    bool ours = false, said = false;
    const uintptr_t from = (uintptr_t)mem, to = from + bytes;
    while (fgets(line, sizeof line, smaps)) {
        uintptr_t a, b;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &a, &b) == 2) {
            ours = a < to && from < b;
        } else if (ours && sscanf(line, "AnonHugePages: %lf kB", &kib) == 1) {
            sum += kib * 1024;
            said = true;
        }
    }
    return said ? sum : NAN;
}

void pages_check(const struct pages *p, char *why, size_t size)
{
    FILE *f = fopen("/proc/self/smaps", "r");
    const double huge = f ? pages_huge_bytes(f, p->map, p->map_bytes) : NAN;
    if (f)
        fclose(f);
    why[0] = 0;
    if (p->kind == PAGES_DEFAULT || p->reserved)
        return;
    if (isnan(huge))
        snprintf(why, size, "the system does not say which pages it gave");
    else if (p->kind == PAGES_4K && huge > 0)
        snprintf(why, size, "4 KiB pages requested, %.0f MiB of large pages granted", huge / 1048576);
    else if (p->kind == PAGES_2M && huge < 0.9 * (double)(p->bytes / HUGE_PAGE) * HUGE_PAGE)
        snprintf(why, size, "large pages requested, %.0f of %.0f MiB granted", huge / 1048576, (double)p->bytes / 1048576);
}

int pages_bind(struct pages *p, int os_index, struct error *err)
{
    hwloc_topology_t topo = topology_open(NULL, err);
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    int rc = -1;
    if (topo && set) {
        hwloc_bitmap_set(set, (unsigned)os_index);
        rc = hwloc_set_area_membind(topo, p->mem, p->bytes, set, HWLOC_MEMBIND_BIND,
                                    HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_STRICT);
    }
    topology_close(topo);
    hwloc_bitmap_free(set);
    return rc == 0 ? 0 : error_set(err, ERROR_UNAVAILABLE, "memory cannot be bound to node %d", os_index);
}

void pages_unmap(struct pages *p)
{
    if (p->map)
        munmap(p->map, p->map_bytes);
    *p = (struct pages){ 0 };
}
