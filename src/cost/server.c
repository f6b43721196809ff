/* Default use of a device's memory by a server: vLLM's defaults by release and device. Sources: doc/notes/servers.md. */
#include "cost/memory.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double GiB = 1073741824, MiB = 1048576;

/* Memory reserved by the driver: a constant and page tables; and by CUDA's context and kernels outside a program.
 * (doc/notes/servers.md) */
#define DRIVER_GIB 0.31
#define DRIVER_SHARE 0.0062
#define CONTEXT_GIB 0.13
#define COMM_GIB 0.2

/* ---- rules: hwprofiles/stacks/servers.json -------------------------------------------------------- */

enum { KEY_RELEASE, KEY_MEMORY_GIB, KEY_LARGE, KEY_KIND, KEY_VENDOR, KEY_NAME, KEY_FP4_PEAK, KEY_COUNT };
enum { TABLE_LARGE, TABLE_SHARES, TABLE_EXCHANGE, TABLE_PASSES, TABLE_CAPTURED, TABLE_GRAPHS, TABLE_COUNT };

static const char *const kinds[] = { [HW_CPU] = "CPU", [HW_GPU] = "GPU", [HW_APU] = "APU", [HW_NPU] = "NPU", NULL };
static const struct rule_key keys[KEY_COUNT] = {
    [KEY_RELEASE] = { .name = "release", .kind = RULE_NUMBER }, [KEY_MEMORY_GIB] = { .name = "memory_gib", .kind = RULE_NUMBER },
    [KEY_LARGE] = { .name = "large", .kind = RULE_FLAG },       [KEY_KIND] = { .name = "kind", .kind = RULE_ONE, .words = kinds },
    [KEY_VENDOR] = { .name = "vendor", .kind = RULE_TEXT },     [KEY_NAME] = { .name = "name", .kind = RULE_LIKE },
    [KEY_FP4_PEAK] = { .name = "fp4_peak", .kind = RULE_FLAG },
};
enum { ALL = (1 << KEY_COUNT) - 1, DEVICE = ALL & ~(1 << KEY_LARGE) };
static const struct rule_table_form tables[TABLE_COUNT] = {
    [TABLE_LARGE] = { .name = "large", .keys = DEVICE, .value = { "large" } },
    [TABLE_SHARES] = { .name = "shares", .keys = ALL, .value = { "utilization", "logit_bytes", "experts_stay", "context_gib" } },
    [TABLE_EXCHANGE] = { .name = "exchange", .keys = ALL, .value = { "gib" } },
    [TABLE_PASSES] = { .name = "passes", .keys = ALL, .value = { "tokens", "sequences", "block" } },
    [TABLE_CAPTURED] = { .name = "captured", .keys = ALL, .value = { "tokens" } },
    [TABLE_GRAPHS] = { .name = "graphs", .keys = ALL, .value = { "layer_mib" } },
};
const struct rules_form memory_rules_form = { "roofcast.rules", 1, keys, KEY_COUNT, tables, TABLE_COUNT };

static struct rules the;
static struct once reading = ONCE_INIT;

static int read_file(struct error *err)
{
    char path[4096];
    if (!hwprofile_data_file(path, sizeof path, "hwprofiles/stacks", "servers"))
        return error_set(err, ERROR_UNAVAILABLE, "hwprofiles/stacks/servers.json is in none of the data directories");
    return rules_take(&the, &memory_rules_form, json_load_path(path, err), path, err);
}

int memory_rules_load(struct error *err)
{
    return read_once(&reading, read_file, err);
}

static double value(unsigned table, unsigned v, const struct rule_fact *fact)
{
    const struct rule *row = rules_match(&the, table, fact);
    return row ? row->value[v] : 0;
}

/* ---- releases -------------------------------------------------------------------------------------- */

unsigned memory_release_find(const char *text)
{
    const char *at = text + strcspn(text, "0123456789");
    char *end;
    for (const char *p = text; p < at; p++)
        if (!isalpha((unsigned char)*p) && !strchr(" -_v.", *p))
            return 0;
    const unsigned long major = strtoul(at, &end, 10);
    if (end == at || *end != '.' || !isdigit((unsigned char)end[1]))
        return 0;
    const unsigned long minor = strtoul(end + 1, NULL, 10), n = major < 1000 && minor < 1000 ? 1000 * major + minor : 0;
    return (unsigned)n;
}

const char *memory_release_name(char *buf, size_t size, unsigned release)
{
    snprintf(buf, size, "vLLM %u.%u", release / 1000, release % 1000);
    return buf;
}

/* Of the whole memory. */
static double driver_share(const struct hwprofile *h)
{
    return h->mem_bytes.value > GiB ? DRIVER_SHARE + DRIVER_GIB * GiB / h->mem_bytes.value : DRIVER_SHARE;
}

static void serve(struct memory_options *o, const struct hwprofile *h, unsigned release)
{
    struct rule_fact fact[KEY_COUNT] = {
        [KEY_RELEASE] = { .number = release },   [KEY_MEMORY_GIB] = { .number = h->mem_bytes.value / GiB },
        [KEY_KIND] = { .number = h->kind },      [KEY_VENDOR] = { .text = h->vendor },
        [KEY_NAME] = { .text = h->name, .also = h->id }, [KEY_FP4_PEAK] = { .number = h->peak[MATH_FP4].value > 0 },
    };
    const bool own = h->kind == HW_GPU || h->kind == HW_NPU;
    struct error unused; /* reported by memory_model_init() */
    (void)memory_rules_load(&unused);
    fact[KEY_LARGE].number = value(TABLE_LARGE, 0, fact);
    o->release = release;
    o->block = (uint32_t)value(TABLE_PASSES, 2, fact);
    o->max_batched_tokens = (uint32_t)value(TABLE_PASSES, 0, fact);
    o->max_seqs = (uint32_t)value(TABLE_PASSES, 1, fact);
    o->utilization = value(TABLE_SHARES, 0, fact);
    o->logit_bytes = value(TABLE_SHARES, 1, fact);
    o->experts_stay = value(TABLE_SHARES, 2, fact) > 0;
    o->context_bytes = own ? value(TABLE_SHARES, 3, fact) * GiB : 0;
    o->comm_bytes = own ? value(TABLE_EXCHANGE, 0, fact) * GiB : 0;
    o->compiles = o->rotations = own;
    o->max_captured = (uint32_t)value(TABLE_CAPTURED, 0, fact);
    o->graph_layer_bytes = value(TABLE_GRAPHS, 0, fact) * MiB;
}

struct memory_options memory_defaults(const struct hwprofile *h, unsigned release)
{
    const bool own = h->kind == HW_GPU || h->kind == HW_NPU; /* memory that a driver manages */
    const double elem = h->kind == HW_CPU ? 4 : 2;
    struct memory_options o = {
        .type_k = DTYPE_F16,
        .type_v = DTYPE_F16,
        .act_elem_bytes = elem,
        .block = 1,
        .max_batched_tokens = 512,
        .utilization = 1,
        .reserved = own ? driver_share(h) : 0,
        .logit_bytes = elem,
        .context_bytes = own ? CONTEXT_GIB * GiB : 0,
        .comm_bytes = own ? COMM_GIB * GiB : 0,
    };
    if (release != MEMORY_ALONE)
        serve(&o, h, release);
    return o;
}
