/*
 * stacks.h: rules of what software does on a machine (base/rules.h), from hwprofiles/stacks/rules.json: kernels by build, vendor,
 * generation, weight type and number of tokens, each with its source (doc/formats.md). Loaded once, immutable. Source: methods.md (36),
 * (41), (43), (44), (46).
 */
#ifndef DATASET_STACKS_H
#define DATASET_STACKS_H

#include "base/rules.h"
#include "dataset/measure.h"

enum stack_key {
    /* late keys: of an op */
    KEY_BITS,     /* bits of a weight */
    KEY_TOKENS,   /* tokens of a product, or of a pass */
    KEY_HEAD_DIM,
    KEY_GROUP,    /* query heads per KV head */
    KEY_BF16,     /* operands are BF16 */
    KEY_EXPERTS,  /* product of experts */
    KEY_OP,
    KEY_NARROW,   /* KV cache of at most 8 bits */
    KEY_WINDOWED,
    KEY_SERVING,  /* row is a server's latency, not a rate */
    KEY_LIBRARY,  /* library of the attention kernel */
    KEY_LATE_COUNT,
    /* the machine */
    KEY_MAKER = KEY_LATE_COUNT,
    KEY_VENDOR,   /* the profile's */
    KEY_CLASS,
    KEY_KIND,
    KEY_NAME,     /* substring of the machine's name or its profile's */
    KEY_WORD,     /* word of that name */
    KEY_FP16_RATE,     /* 16-bit over FP32 FLOP/s, stated peaks only */
    KEY_ANY_FP16_RATE, /* the same, derived peaks included */
    KEY_FP4_PEAK,
    KEY_FLOP_CYCLE,    /* FP32 FLOP per cycle and core */
    KEY_GENERATION,
    KEY_MATRIX,        /* has matrix units */
    /* the engine */
    KEY_STACK,
    KEY_FAMILY,
    KEY_FUSED,
    KEY_BUILD,    /* infinity: unknown */
    KEY_DATED,    /* build or date is stated */
    KEY_BACK_END,
    KEY_PRODUCTS,
    KEY_OLD,
    KEY_FLASH,
    KEY_CPU_KERNELS,
    /* the row */
    KEY_MONTH,    /* 202408 */
    KEY_MOE,
    KEY_BEHIND,   /* prompt after cached tokens */
    KEY_TYPE,     /* prefix of the weight type */
    KEY_TYPE_HAS,
    KEY_PRICED,   /* substring of the weight type used */
    KEY_QUANT,    /* substring of the stated type, */
    KEY_ENGINE,   /* engine, */
    KEY_VERSION,  /* prefix of its version, */
    KEY_NOTES,
    KEY_SCHEME,   /* substring of engine or type, case-insensitive */
    KEY_KERNEL,
    KEY_ORIGIN,   /* prefix of the row's source */
    KEY_RELEASE,  /* substring of its date or version */
    KEY_MODE,
    KEY_DP,
    KEY_USERS,
    /* predictions without a row */
    KEY_WEIGHTS,
    KEY_PROFILED,
    KEY_COUNT,
};

/* In evaluation order: values of a table are keys of later ones. */
enum stack_table {
    TABLE_BUILDS,
    TABLE_RELEASES,
    TABLE_LINEAGES,
    TABLE_GENERATIONS,
    TABLE_MATRIX_UNITS,
    TABLE_LANES,
    TABLE_ISSUE,
    TABLE_HALF_SUMS,
    TABLE_CHECK_BYTES,
    TABLE_RANKS,
    TABLE_MMA_ROWS,
    TABLE_CORES,
    TABLE_BACK_ENDS,
    TABLE_PRODUCTS,
    TABLE_OLD,
    TABLE_FLASH,
    TABLE_LAUNCHES,
    TABLE_EXCHANGES,
    TABLE_MACHINE_BUILDS,
    TABLE_SCRIPTS,
    TABLE_ENGINES,
    TABLE_SERVERS,
    TABLE_DEFAULTS,
    TABLE_LIBRARY_REACH,
    TABLE_RECEIVE,
    TABLE_OWN_KERNELS,
    TABLE_CPU_KERNELS,
    TABLE_SERVER_ATTENTION,
    TABLE_NARROW_START,
    TABLE_NARROW_CACHE,
    /* tables of ops */
    TABLE_BATCH_LAUNCHES,
    TABLE_FIRST_LATE = TABLE_BATCH_LAUNCHES,
    TABLE_UNITS,
    TABLE_ATTENTION,
    TABLE_EXPERTS,
    TABLE_KERNELS,
    TABLE_CPU_ROWS,
    TABLE_CPU_REPACKED,
    TABLE_CPU_TILES,
    TABLE_GPU_WEIGHTS,
    TABLE_GPU_ROWS,
    TABLE_TILES,
    TABLE_STAGED,
    TABLE_HOST,
    TABLE_LIBRARIES,
    TABLE_ATTEND,
    TABLE_COUNT,
};

/* Value columns of TABLE_ENGINES. */
enum engine_trait { ENGINE_COPIES, ENGINE_STAGE_BOUNDARIES, ENGINE_ABSORBED, ENGINE_OWN_FILES, ENGINE_GGUF, ENGINE_BY_LAYER, ENGINE_QUANTIZES_HEAD, ENGINE_SEQUENCES };

/* Enumerated values, in the order of their C enumerations; NULL-terminated. */
extern const char *const stack_makers[];   /* enum maker (stacks/stack_traits.h) */
extern const char *const machine_lineages[]; /* designs of machines; the first: none of them */
extern const char *const stack_attends[];  /* kernels of attention, enum attend_id (stacks/attend.h) */

extern const char *const stack_defaults[]; /* stack ids; the first: no default */
extern const struct rules_form stacks_form;
/* Loads the rules, once; called by priors_load(). errors: no such file, or invalid */
int stacks_load(struct error *err);
/* The loaded rules; empty tables after an error. */
const struct rules *stacks(void);
/* Value of the first matching row; `none` without a match. fact: [KEY_COUNT] */
double stacks_value(enum stack_table t, unsigned value, const struct rule_fact *fact, double none);
double stack_trait(const struct stack *s, enum engine_trait t);

#endif
