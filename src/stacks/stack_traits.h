/*
 * stack_traits: traits of a row's engine and machine, from their names and dates, computed once a row. Queried per op by predictions of
 * many configurations. Source: methods.md (36), (43).
 */
#ifndef STACKS_STACK_TRAITS_H
#define STACKS_STACK_TRAITS_H

#include "dataset/stacks.h"
#include "dataset/workload.h"
#include "stacks/collective_price.h"

/* Words of rules, in their order (stacks.c). */
enum maker { MAKER_NVIDIA, MAKER_AMD, MAKER_INTEL, MAKER_APPLE, MAKER_OTHER };
/* Back ends of llama.cpp, whose kernels others use: ollama and ik_llama.cpp CUDA's, ollama ROCm's too. */
enum back_end { BACK_END_CUDA, BACK_END_ROCM, BACK_END_VULKAN, BACK_END_SYCL, BACK_END_OTHER };
enum cpu_kernels {
    CPU_ROWS,   /* llama.cpp: a row by a token */
    CPU_TILES,  /* ik_llama.cpp, roofcast: packed rows, unpacked once for several tokens */
    CPU_LOOKUP, /* T-MAC: table lookup, no products */
    CPU_OTHER,
};
enum generation {
    GENERATION_OTHER,
    GENERATION_BEFORE_VOLTA,
    GENERATION_VOLTA,
    GENERATION_TURING,
    GENERATION_SMALL_TURING,
    GENERATION_GA100,
    GENERATION_HOPPER,
    GENERATION_H20,
    GENERATION_BLACKWELL,
    GENERATION_BEFORE_MATRIX,
};

struct stack_traits {
    const struct workload *p; /* the row; as long-lived as this */

    /* the machine */
    enum maker maker;
    char vendor[32];        /* of the profile, else the first word of the name: "NVIDIA" */
    bool cpu;
    enum generation generation;
    bool has_matrix;        /* tensor cores, WMMA, MFMA, XMX */
    double issued;          /* instructions a lane per one of the FP32 figure: 2 with dual issue */
    double integers;        /* time of an unpacking instruction over that of an FP32 multiply-add; */
    double in_turns;        /* of other operations made of integers and conversions */
    double half_sums;       /* rate with FP16 accumulation over the FP16 figure, which is with FP32 accumulation */
    bool inline_ecc;        /* inline ECC: check bits in memory, one byte for fifteen, on its bus: GDDR6 of servers */
    double mma_rows;        /* least rows of a matrix instruction */
    bool x86;               /* CPU cores with registers of 32 bytes at least; else Neon's of 16 */
    double core_flop, core_instructions; /* FP32 operations, and instructions of any kind, per cycle and core */
    double cache_bytes;     /* a GPU's last cache, shared between kernels; 0: unknown */
    uint32_t ranks;         /* ranks of a device in collectives */

    /* the engine */
    enum back_end back_end; /* named by the stack */
    enum back_end products; /* of the product kernels */
    int build;              /* stack_traits_build() */
    bool old;               /* llama.cpp before August 2024 (build 3500): each op launched alone, no attention kernel, 16-bit weights
                               converted one by one */
    bool scans;             /* attention as product, softmax and product: one block of threads scans the scores of a head */
    bool flash;             /* fused attention kernel: stated by the row, its notes, or the engine's default */
    double launches;        /* launch cost of an op, relative to an engine that launches one kernel per op from compiled code, one token
                               a pass */
    bool one_step;          /* collectives on a board are one kernel that writes to all peers, not a ring (52) */
    double once_bytes;      /* n devices take one round for an all-reduce of fewer / n, else two (47); 0: what the roofs choose */
    struct collective_price collective; /* of servers */
    double copies;          /* passes of a prompt in flight in a pipeline; 0: unlimited */
    bool stage_boundaries;           /* stage boundaries by the host (45) */
    bool absorbed;          /* MLA's cache stays latent (17) */
    double products_factor, attention_factor; /* prior factors, relative to all engines on a unit */
    bool factor_on_matrix;   /* attention's factor: matrix units only */
    bool together;          /* arithmetic of joining prompts hides bytes of a server's steps (52) */
    double receive_steps;   /* decode steps between two polls for new requests; 0: each (52) */
    double own_part;        /* attainable fraction of the matrix units' peak for its own kernels (doc/notes/stacks.md) */
    enum cpu_kernels cpu_kernels;
    bool server_attention;  /* attention kernels of a step are modelled (attend.h) */
    double narrow_start_cycles; /* extra start with an 8-bit KV cache */

    uint64_t rows[TABLE_COUNT]; /* selected rows of the op tables (early conditions hold) */
};

void stack_traits_init(struct stack_traits *f, const struct workload *p);
/* llama.cpp's build number, as stated by its rows or from any row's date; 0: neither is stated. Other engines number builds differently. */
int stack_traits_build(const struct measurement *m);
/* Month of a row, 202408: its date's, its build's or its release's; 0: unknown. */
int stack_traits_month(const struct workload *p);
/* The design that a machine shares with others, "Blackwell"; its class where that is not known. */
const char *stack_traits_lineage(const struct workload *p);
/* Launch cost of an op in passes of so many tokens, as `launches`. */
double stack_traits_launches(const struct stack_traits *f, double pass_tok);
/* Value of an op table's first matching rule; `none` without a match. late: by key */
double stack_traits_value(const struct stack_traits *f, enum stack_table t, unsigned value, const double *late, double none);
const struct rule *stack_traits_rule(const struct stack_traits *f, enum stack_table t, const double *late); /* NULL: none */
/* Generation of a machine, from maker and name. */
enum generation stack_traits_generation(enum maker maker, const char *name);
/* The weights' type as stated by the row, else the one used for its cost. */
const char *stack_traits_type(const struct stack_traits *f);
/* Peak stated by the machine; 0: none, also where a roof is derived from another type's. */
double stack_traits_peak(const struct stack_traits *f, enum math m);

#endif
