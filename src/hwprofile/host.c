/* The live machine by hwloc. HWLOC_XMLFILE or HWLOC_SYNTHETIC replaces it, in tests too. */
#include "config.h"
#include "hwprofile/internal.h"
#include "base/topology.h"
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static const hwloc_obj_type_t cache_types[] = { HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE,
                                                HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE };

/* Caches of one level that differ (two kinds of cores) become separate rows. */
static int add_cache(struct hwprofile *h, int level, hwloc_obj_t obj, struct error *err)
{
    double size = (double)obj->attr->cache.size;
    int sharing = hwloc_bitmap_weight(obj->cpuset);
    if (size <= 0)
        return 0;
    for (size_t i = 0; i < h->n_cache; i++) {
        struct hw_cache *c = &h->cache[i];
        if (c->level == level && c->size_bytes == size && c->n_sharing == sharing) {
            c->n_instances++;
            return 0;
        }
    }
    struct hw_cache *p = realloc(h->cache, (h->n_cache + 1) * sizeof *p);
    if (!p)
        return error_oom(err, (h->n_cache + 1) * sizeof *p, "caches");
    h->cache = p;
    h->cache[h->n_cache++] = (struct hw_cache){
        .level = level,
        .size_bytes = size,
        .n_instances = 1,
        .line_bytes = (int)obj->attr->cache.linesize,
        .n_sharing = sharing,
    };
    return 0;
}

static int count(hwloc_topology_t topo, hwloc_obj_type_t type)
{
    int n = hwloc_get_nbobjs_by_type(topo, type);
    return n > 0 ? n : 0;
}

static void add_isa(struct hwprofile *h, unsigned flags)
{
    static const struct {
        unsigned flag;
        const char *name;
    } isa[] = {
        { CPU_AVX2, "avx2" },
        { CPU_AVX512, "avx512" },
        { CPU_AVX512VNNI, "avx512vnni" },
        { CPU_AVX512BF16, "avx512bf16" },
        { CPU_AVX512FP16, "avx512fp16" },
        { CPU_AMX_INT8, "amx_int8" },
        { CPU_AMX_BF16, "amx_bf16" },
        { CPU_NEON, "neon" },
        { CPU_DOTPROD, "dotprod" },
        { CPU_I8MM, "i8mm" },
    };
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(isa) && n < sizeof h->isa; i++)
        if (flags & isa[i].flag)
            n += (size_t)snprintf(h->isa + n, sizeof h->isa - n, "%s%s", n ? " " : "",
                                  isa[i].name);
}

/* The kernel's total on the live machine: a guest's firmware may describe less memory in its NUMA nodes. */
static void set_memory(struct hwprofile *h, double in_nodes, bool live)
{
    const double pages = (double)sysconf(_SC_PHYS_PAGES), page = (double)sysconf(_SC_PAGESIZE);
    if (live && pages > 0 && page > 0) {
        h->mem_bytes.value = pages * page;
        snprintf(h->mem_bytes.source, sizeof h->mem_bytes.source, "the kernel's total of this machine");
    } else if (in_nodes > 0) {
        h->mem_bytes.value = in_nodes;
        snprintf(h->mem_bytes.source, sizeof h->mem_bytes.source, "hwloc %s: memory of %d NUMA node%s",
                 live ? "on this machine" : "from a recorded or synthetic topology", h->n_numa,
                 h->n_numa == 1 ? "" : "s");
    }
}

static int from_topology(struct hwprofile *h, hwloc_topology_t topo, struct error *err)
{
    hwloc_obj_t root = hwloc_get_root_obj(topo);
    hwloc_obj_t package = hwloc_get_obj_by_type(topo, HWLOC_OBJ_PACKAGE, 0);
    const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    bool live = hwloc_topology_is_thissystem(topo) != 0;
    if (model && *model)
        snprintf(h->cpu_model, sizeof h->cpu_model, "%s", model);
    else if (live)
        cpu_model_name(h->cpu_model, sizeof h->cpu_model);
    else
        snprintf(h->cpu_model, sizeof h->cpu_model, "unknown CPU");
    if (live)
        add_isa(h, cpu_flags());
    h->n_pus = count(topo, HWLOC_OBJ_PU);
    h->n_cores = count(topo, HWLOC_OBJ_CORE);
    h->n_packages = count(topo, HWLOC_OBJ_PACKAGE);
    h->n_numa = count(topo, HWLOC_OBJ_NUMANODE);
    for (size_t t = 0; t < ARRAY_LEN(cache_types); t++)
        for (int i = 0; i < count(topo, cache_types[t]); i++) {
            hwloc_obj_t obj = hwloc_get_obj_by_type(topo, cache_types[t], (unsigned)i);
            if (add_cache(h, (int)t + 1, obj, err) != 0)
                return -1;
        }
    set_memory(h, (double)root->total_memory, live);
    return 0;
}

static const char *kernel_release(struct utsname *u)
{
    return uname(u) == 0 ? u->release : "";
}

int hwprofile_host(struct hwprofile *h, struct error *err)
{
    hwloc_topology_t topo;
    hwprofile_init(h);
    if (!(topo = topology_open(NULL, err)))
        return -1;
    int rc = from_topology(h, topo, err);
    topology_close(topo);
    h->kind = HW_CPU;
    snprintf(h->id, sizeof h->id, "this");
    snprintf(h->name, sizeof h->name, "%s", h->cpu_model);
    clock_date(h->date, sizeof h->date);
    snprintf(h->kernel, sizeof h->kernel, "%s", kernel_release(&(struct utsname){ 0 }));
    snprintf(h->roofcast, sizeof h->roofcast, "%s", PACKAGE_VERSION);
    if (rc == 0)
        rc = hw_fill_efficiency(h, err);
    if (rc != 0)
        hwprofile_free(h);
    return rc;
}

static void add_change(char *buf, size_t size, const char *what, const char *was, const char *is)
{
    const size_t n = strlen(buf);
    if (*was && *is && strcmp(was, is) != 0)
        snprintf(buf + n, size - n, "%s%s was %s, is %s", n ? "; " : "", what, was, is);
}

const char *hwprofile_changed(char *buf, size_t size, const struct hwprofile *h)
{
    char cpu[sizeof h->cpu_model];
    struct utsname u;
    buf[0] = 0;
    cpu_model_name(cpu, sizeof cpu);
    add_change(buf, size, "CPU", h->cpu_model, strcmp(cpu, "unknown CPU") == 0 ? "" : cpu);
    add_change(buf, size, "Linux", h->kernel, kernel_release(&u));
    add_change(buf, size, "roofcast", h->roofcast, PACKAGE_VERSION);
    return buf;
}
