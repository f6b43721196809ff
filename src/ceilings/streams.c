/* Memory ops: kernel tables, and division of a footprint into streams. Source: methods.md (75). */
#include "config.h"
#include "ceilings/memory.h"
#include <string.h>

enum { STREAM_GAP = 1280 }; /* 20 lines */

static const struct stream_kernel *const stream_tables[] = {
    ceilings_ref_stream,
#ifdef HAVE_ISA_AVX2
    ceilings_avx2_stream,
#endif
#ifdef HAVE_ISA_AVX512
    ceilings_avx512_stream,
#endif
#ifdef HAVE_ISA_NEON
    ceilings_neon_stream,
#endif
};

static const struct gather_kernel *const gather_tables[] = {
    ceilings_ref_gather,
#ifdef HAVE_ISA_AVX2
    ceilings_avx2_gather,
#endif
#ifdef HAVE_ISA_AVX512
    ceilings_avx512_gather,
#endif
#ifdef HAVE_ISA_NEON
    ceilings_neon_gather,
#endif
};

const struct stream_kernel *stream_kernel_at(size_t i)
{
    for (size_t t = 0; t < ARRAY_LEN(stream_tables); t++)
        for (const struct stream_kernel *k = stream_tables[t]; k->run; k++)
            if (i-- == 0)
                return k;
    return NULL;
}

const struct gather_kernel *gather_kernel_at(size_t i)
{
    for (size_t t = 0; t < ARRAY_LEN(gather_tables); t++)
        for (const struct gather_kernel *k = gather_tables[t]; k->run; k++)
            if (i-- == 0)
                return k;
    return NULL;
}

static const struct {
    const char *name;
    int streams;
} ops[MEM_OPS] = {
    [MEM_READ] = { "read", 1 },  [MEM_WRITE] = { "write", 1 }, [MEM_WRITE_NT] = { "write-nt", 1 },
    [MEM_COPY] = { "copy", 2 },  [MEM_TRIAD] = { "triad", 3 },
};

const char *mem_op_name(enum mem_op op)
{
    return ops[op].name;
}

int mem_op_streams(enum mem_op op)
{
    return ops[op].streams;
}

const char *mem_kernel_text(const struct mem_kernel *k)
{
    return k->read ? k->read->text : k->stream->text;
}

const char *mem_kernel_isa(const struct mem_kernel *k)
{
    return k->read ? k->read->isa : k->stream->isa;
}

/* Runs on this CPU; portable rows only if no other row does. */
static bool stream_wanted(const struct stream_kernel *k, unsigned cpu_flags)
{
    const struct stream_kernel *o;
    if (k->need)
        return (k->need & cpu_flags) == k->need;
    for (size_t i = 0; (o = stream_kernel_at(i)) != NULL; i++)
        if (o->op == k->op && o->need && (o->need & cpu_flags) == o->need)
            return false;
    return true;
}

bool mem_kernel_find(struct mem_kernel *out, enum mem_op op, enum level level, unsigned cpu_flags, size_t k)
{
    const bool far = level >= LEVEL_L3;
    const struct read_kernel *r;
    const struct stream_kernel *s;
    *out = (struct mem_kernel){ 0 };
    for (size_t i = 0; op == MEM_READ && (r = read_kernel_at(i)) != NULL; i++)
        if (read_kernel_wanted(r, cpu_flags) && (far ? r->far : r->near) && k-- == 0) {
            out->read = r;
            return true;
        }
    for (size_t i = 0; op != MEM_READ && (s = stream_kernel_at(i)) != NULL; i++)
        if (s->op == op && stream_wanted(s, cpu_flags) && (far ? s->far : s->near) && k-- == 0) {
            out->stream = s;
            return true;
        }
    return false;
}

size_t mem_stream_bytes(enum mem_op op, size_t bytes)
{
    const size_t each = bytes / (size_t)ops[op].streams / 1024 * 1024;
    return each ? each : 1024;
}

/* Offset between streams. */
static size_t pitch(enum mem_op op, size_t bytes)
{
    return size_align_up(mem_stream_bytes(op, bytes), 4096) + STREAM_GAP;
}

size_t mem_room_bytes(enum mem_op op, size_t bytes)
{
    return op == MEM_READ ? bytes : (size_t)(ops[op].streams - 1) * pitch(op, bytes) + mem_stream_bytes(op, bytes);
}

void mem_run(const struct mem_kernel *k, enum mem_op op, void *p, size_t bytes, uint64_t sweeps)
{
    unsigned char *dst = p, *a = dst, *b = dst;
    if (k->read) {
        k->read->run(p, bytes, sweeps);
        return;
    }
    if (ops[op].streams > 1)
        a += pitch(op, bytes);
    if (ops[op].streams > 2)
        b = a + pitch(op, bytes);
    k->stream->run(dst, a, b, mem_stream_bytes(op, bytes), sweeps);
}
