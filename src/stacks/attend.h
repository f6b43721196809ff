/*
 * attend.h: attention of a decode step on server GPUs: the kernel that runs it, and its seconds from bytes read, the partition of the KV
 * cache among thread blocks, and launch. Constants: hwprofiles/stacks/priors.json. Source: methods.md (46)
 */
#ifndef STACKS_ATTEND_H
#define STACKS_ATTEND_H

#include "cost/cost.h"
#include "stacks/stack_traits.h"
#include "timing/timing.h"

/* Words of rules, in their order: stack_attends[] (dataset/stacks.h). */
enum attend_id {
    ATTEND_FA2,           /* FlashAttention 2: the heads of a group in one tile, keys split among blocks */
    ATTEND_FA2_HEADS,     /* the same without shared keys, or with a window: a block per head, no split */
    ATTEND_FA3,           /* FlashAttention 3: wgmma */
    ATTEND_FA3_MMA,       /* the same before Hopper: mma.sync */
    ATTEND_FLASHINFER,
    ATTEND_FLASHINFER_SIMT, /* on vector units: groups of few heads */
    ATTEND_TRITON,
    ATTEND_XQA,           /* TensorRT-LLM, for groups: mma.sync */
    ATTEND_XQA_WGMMA,     /* on Hopper, with a cache of 8 bits */
    ATTEND_MMHA,          /* TensorRT-LLM, one head per block */
    ATTEND_MMHA_CONVERT,  /* with a cache of 8 bits before Hopper */
    ATTEND_TRTLLM_GEN,    /* data center Blackwell */
    ATTEND_COUNT,
};

/* Cycles at the machine's clock, seconds are the same on all machines; keys of 128 elements. 0: no such part. */
struct attend_kernel {
    bool group;                    /* a block has all heads that share a key; false: one head */
    bool splits;                   /* split-K: keys of a sequence are divided among blocks */
    double n_split;                /* number of splits; 0: as many as fill the machine */
    double blocks_unit;            /* blocks per multiprocessor */
    double start_cycles;           /* launch until the first load */
    double block_s, block_cycles;  /* per block, without its keys */
    double key_s, key_cycles;      /* per key of a block */
    double narrow_key_cycles;      /* per 8-bit key */
    double tile_cycles;            /* per key and further 16 heads of the block */
    double head_cycles;            /* per block and further head */
};

/* Work of one call on one device. */
struct attend_call {
    double n_seq, n_head, n_kv, head_dim;
    double keys;                /* per sequence, that its tokens see */
    double kv_bytes, act_bytes; /* total */
    bool windowed;
};
/* The attention call of a layer in a pass. false: none of these kernels (another engine or machine, latent attention). */
bool attend_call_of(const struct stack_traits *f, const struct step_pass *at, const struct step *x, struct attend_call *c);
/* The kernel stated by the row, else the one that the engine selects. */
enum attend_id attend_choose(const struct stack_traits *f, const struct attend_call *c);
/* form: of calls with other keys and bytes. */
struct time_kernel attend_time(const struct stack_traits *f, enum attend_id id, const struct attend_call *c, struct time_attend *form);

#endif
