/*
 * facts: what is known of a row's engine and machine by their names and dates, worked out once a row. Prices of many
 * configurations ask for it op by op. Source: methods.md (36), (43).
 */
#ifndef STACKS_FACTS_H
#define STACKS_FACTS_H

#include "dataset/stacks.h"
#include "dataset/workload.h"

/* Words of rules, in their order (stacks.c). */
enum maker { MAKER_NVIDIA, MAKER_AMD, MAKER_INTEL, MAKER_APPLE, MAKER_OTHER };
/* Of llama.cpp, and whose kernels others use: ollama and ik_llama.cpp have CUDA's, ollama has ROCm's too. */
enum back_end { BACK_END_CUDA, BACK_END_ROCM, BACK_END_VULKAN, BACK_END_SYCL, BACK_END_OTHER };
enum cpu_kernels {
    CPU_ROWS,   /* llama.cpp's: a row by a token */
    CPU_TILES,  /* ik_llama.cpp's and roofcast's: rows packed, several tokens by what was unpacked once */
    CPU_LOOKUP, /* T-MAC's: no products at all */
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

struct facts {
    const struct priced *p; /* the row; as long-lived as this */

    /* the machine */
    enum maker maker;
    char vendor[32];        /* as the profile has it, else the first word of the name: "NVIDIA" */
    bool cpu;
    enum generation generation;
    bool has_matrix;        /* tensor cores, WMMA, MFMA, XMX */
    double issued;          /* instructions a lane that the FP32 figure counts for one: 2 where two are issued together */
    double integers;        /* time of an instruction that unpacks weights, over an FP32 multiply-add's by that figure; */
    double in_turns;        /* of other operations that are made of integers and conversions */
    double half_sums;       /* how many times as fast 16-bit sums are as the FP16 figure, which is for 32-bit ones */
    bool inline_ecc;        /* check bits are kept in the memory itself, one byte for fifteen, and cross its bus: GDDR6 of servers */
    double mma_rows;        /* that an instruction of the matrix units takes at least */
    bool x86;               /* a CPU's cores: registers of 32 bytes at least; else Neon's of 16 */
    double core_flop, core_instructions; /* of FP32, and of any kind, that such a core ends in a cycle */
    double cache_bytes;     /* a GPU's last cache, that what one kernel writes another reads from; 0: not said */
    uint32_t ranks;         /* that a device is when devices exchange */

    /* the engine */
    enum back_end back_end; /* that the stack names */
    enum back_end products; /* whose kernels multiply */
    int build;              /* facts_build() */
    bool old;               /* llama.cpp of before August 2024 (build 3500): every op launched by itself, no attention kernel of its
                             * own, 16-bit weights widened one by one */
    bool walks;             /* attention as a product, a softmax and a product: one block of threads walks along a head's scores */
    bool flash;             /* one kernel of attention: said by the row, by its notes, or as the engine does by itself */
    double launches;        /* time that starting an op costs, over that of an engine that launches a kernel for each from compiled code, one token a
                             * pass */
    bool one_step;          /* devices of a board exchange by one kernel that writes to all peers, not along a ring (52) */
    double copies;          /* passes of a prompt that may be under way where devices have layers each; 0: any number */
    bool borders;           /* where devices have layers each, its host hands a pass from one to the next (45) */
    bool absorbed;          /* MLA's cache is latent and never expanded (17) */
    double products_reach, attention_reach; /* before looking, over what all engines reach of a unit */
    bool reach_on_matrix;   /* attention's, of matrix units alone */
    double receive_steps;   /* of decoding between two looks at what came; 0: each (52) */
    double own_part;        /* of the matrix units' peak that kernels of its own can have (doc/notes/stacks.md) */
    bool small_tiles;       /* few tokens are multiplied by the kernel of many where that is faster */
    enum cpu_kernels cpu_kernels;
    bool server_attention;  /* attention's kernels of a step are known (attend.h) */
    double narrow_start_cycles; /* what a cache of 8 bits takes before them */
    double bf16_of_fp32;    /* FLOP/s of a CPU's products of BF16 over those of FP32, at most */

    uint64_t rows[TABLE_COUNT]; /* of tables of ops: those whose early conditions hold */
};

void facts_init(struct facts *f, const struct priced *p);
/* llama.cpp's build number, as its own rows state it or as of any row's date; 0: neither is said. Other engines' builds are not counted alike. */
int facts_build(const struct measurement *m);
/* Time that starting an op costs in passes of so many tokens, as `launches`. */
double facts_launches(const struct facts *f, double pass_tok);
/* What the rules of a table of ops say; `none` where none does. late: by key, those that the table has */
double facts_value(const struct facts *f, enum stack_table t, unsigned value, const double *late, double none);
const struct rule *facts_rule(const struct facts *f, enum stack_table t, const double *late); /* NULL: none */
/* What a machine's maker and name say of its generation. */
enum generation facts_generation(enum maker maker, const char *name);
/* The weights' type as the row says, which may be priced as another of as many bits; else as it is priced. */
const char *facts_type(const struct facts *f);
/* FLOP/s that the machine itself states; 0: none, also where a roof borrows another type's. */
double facts_peak(const struct facts *f, enum math m);

#endif
