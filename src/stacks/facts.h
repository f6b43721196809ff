/*
 * facts: what is known of a row's engine and machine by their names and dates, worked out once a row. Prices of many
 * configurations ask for it op by op. Source: methods.md (36), (43).
 */
#ifndef STACKS_FACTS_H
#define STACKS_FACTS_H

#include "dataset/workload.h"

enum maker { MAKER_NVIDIA, MAKER_AMD, MAKER_INTEL, MAKER_APPLE, MAKER_OTHER };
/* Of llama.cpp, and whose kernels others use: ollama and ik_llama.cpp have CUDA's, ollama has ROCm's too. */
enum back_end { BACK_END_CUDA, BACK_END_ROCM, BACK_END_VULKAN, BACK_END_SYCL, BACK_END_OTHER };

struct facts {
    const struct priced *p; /* the row; as long-lived as this */

    /* the machine */
    enum maker maker;
    char vendor[32];        /* as the profile has it, else the first word of the name: "NVIDIA" */
    bool cpu;
    bool has_matrix;        /* tensor cores, WMMA, MFMA, XMX */
    bool before_volta;      /* NVIDIA's: integers and conversions in turn with floats */
    bool volta;             /* NVIDIA's first tensor cores: of 16 bits alone, and another shape */
    bool integers_apart;    /* NVIDIA's of Volta, Turing and GA100: as many lanes for integers as for FP32, beside them */
    bool two_issue;         /* AMD's since RDNA3: the FP32 figure counts two instructions a cycle, which few are. Source: RDNA3 ISA guide,
                             * 7.6 (VOPD) */
    bool inline_ecc;        /* check bits are kept in the memory itself, one byte for fifteen, and cross its bus: GDDR6 of servers */
    bool before_ampere;     /* NVIDIA's that llama.cpp captured no graphs of kernels on (36) */
    bool hopper;            /* whose mma.sync, which llama.cpp's kernels multiply by, does not fill its tensor cores (doc/notes/stacks.md) */
    bool warp_groups;       /* NVIDIA's since Hopper: an instruction of the matrix units takes 64 rows at least */
    double cache_bytes;     /* a GPU's last cache, that what one kernel writes another reads from; 0: not said */
    uint32_t ranks;         /* that a device is when devices exchange: chips of AWS are two NeuronCores, each a rank */
    bool half_sums;         /* GeForce: 16-bit sums are twice as fast as the FP16 figure, which is for 32-bit ones */

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
};

void facts_init(struct facts *f, const struct priced *p);
/* llama.cpp's build number, as its own rows state it or as of any row's date; 0: neither is said. Other engines' builds are not counted alike. */
int facts_build(const struct measurement *m);
/* Has the engine what came with that build? An engine of which nothing is said is of today. */
bool facts_since(const struct facts *f, int build);
/* CUDA (its tensor cores, but Volta's) and ROCm multiply few tokens by the kernel of many where that is faster: since llama.cpp's pull requests
 * 26079 (August 2026) and 23227 (May 2026). */
/* What a GPU's name says of its generation: before Volta, before RDNA3 and CDNA. */
bool facts_named_before_volta(const char *name);
bool facts_amd_before_matrix(const char *name);
bool facts_few_limits(const struct facts *f);
/* Time that starting an op costs in passes of so many tokens, as `launches`. */
double facts_launches(const struct facts *f, double pass_tok);
/* Do devices of a board exchange by one kernel that writes to all peers, not along a ring? (52) */
bool facts_one_step(const struct facts *f);
/* The weights' type as the row says, which may be priced as another of as many bits; else as it is priced. */
const char *facts_type(const struct facts *f);
/* FLOP/s that the machine itself states; 0: none, also where a roof borrows another type's. */
double facts_peak(const struct facts *f, enum math m);

#endif
