/*
 * stacks: what software does on a machine, as rules (base/rules.h) of hwprofiles/stacks/rules.json: kernels by build, maker, generation, type of
 * weights and number of tokens, each with its source (doc/formats.md). Read once; it stays. Source: methods.md (36), (43), (44), (41), (46).
 */
#ifndef DATASET_STACKS_H
#define DATASET_STACKS_H

#include "base/rules.h"
#include "dataset/measure.h"

enum stack_key {
    /* late: of an op */
    KEY_BITS,     /* of a weight */
    KEY_TOKENS,   /* of a product, or a pass */
    KEY_ROWS,     /* of a matrix */
    KEY_HEAD_DIM,
    KEY_GROUP,    /* heads that share keys */
    KEY_BF16,     /* operands are BF16 */
    KEY_EXPERTS,  /* a product of experts */
    KEY_STAGED,   /* a kernel before the product writes the weights */
    KEY_OP,
    KEY_NARROW,   /* the KV cache has 8 bits or fewer */
    KEY_WINDOWED,
    KEY_SERVING,  /* a server's latency, not a rate */
    KEY_LIBRARY,  /* that attention is called from */
    KEY_LATE_COUNT,
    /* the machine */
    KEY_MAKER = KEY_LATE_COUNT,
    KEY_VENDOR,   /* as the profile has it */
    KEY_CLASS,
    KEY_KIND,
    KEY_NAME,     /* the machine's name, or its profile's, contains it */
    KEY_WORD,     /* a word of it */
    KEY_FP16_RATE,     /* FLOP/s of 16 bits over those of FP32, as the machine states them */
    KEY_ANY_FP16_RATE, /* the same, also of figures derived from another type's */
    KEY_BF16_PEAK,     /* it states one of BF16 */
    KEY_FP4_PEAK,
    KEY_FLOP_CYCLE,    /* FP32 FLOP a cycle and core */
    KEY_GENERATION,
    KEY_MATRIX,        /* matrix units */
    /* the engine */
    KEY_STACK,
    KEY_FAMILY,
    KEY_FUSED,
    KEY_BUILD,    /* infinity: nobody says */
    KEY_DATED,    /* somebody does */
    KEY_BACK_END,
    KEY_PRODUCTS,
    KEY_OLD,
    KEY_FLASH,
    KEY_CPU_KERNELS,
    /* the row */
    KEY_MONTH,    /* 202408 */
    KEY_MOE,
    KEY_BEHIND,   /* a prompt behind others */
    KEY_TYPE,     /* the weights' type begins with it */
    KEY_TYPE_HAS,
    KEY_PRICED,   /* the type that is priced contains it */
    KEY_QUANT,    /* what the row says contains it: type, */
    KEY_ENGINE,   /* engine, */
    KEY_VERSION,  /* its version begins with it, */
    KEY_NOTES,
    KEY_SCHEME,   /* engine or type, in letters of either case */
    KEY_KERNEL,
    KEY_ORIGIN,   /* whose rows these are begins with it */
    KEY_MODE,
    KEY_DP,
    KEY_USERS,
    /* a prediction without a row */
    KEY_WEIGHTS,
    KEY_PROFILED,
    KEY_COUNT,
};

/* In this order: answers of one are keys of later ones. */
enum stack_table {
    TABLE_BUILDS,
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
    TABLE_SMALL_TILES,
    TABLE_CPU_KERNELS,
    TABLE_CPU_BF16,
    TABLE_SERVER_ATTENTION,
    TABLE_NARROW_START,
    TABLE_NARROW_CACHE,
    /* of ops */
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

/* Values of TABLE_ENGINES. */
enum engine_trait { ENGINE_COPIES, ENGINE_BORDERS, ENGINE_ABSORBED, ENGINE_OWN_FILES, ENGINE_GGUF, ENGINE_BY_LAYER, ENGINE_QUANTIZES_HEAD, ENGINE_SEQUENCES };

/* Words of keys and values, in the order of the enumerations they are of; NULL behind the last. */
extern const char *const stack_makers[];   /* enum maker (stacks/stack_traits.h) */
extern const char *const stack_attends[];  /* kernels of attention, enum attend_id (stacks/attend.h) */

extern const char *const stack_defaults[]; /* ids of stacks; the first is that of a machine without a default */
extern const struct rules_form stacks_form;
/* Reads the file; priors_load() does. errors: it is nowhere, or cannot be read */
int stacks_load(struct error *err);
/* What was read; where nothing could be, no table has rows. */
const struct rules *stacks(void);
/* Value of the row that answers; `none` where no row does. fact, late: by key */
double stacks_value(enum stack_table t, unsigned value, const struct rule_fact *fact, double none);
double stack_trait(const struct stack *s, enum engine_trait t);

#endif
