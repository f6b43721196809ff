/*
 * attend.h: what attention takes in a step of decoding on the GPUs of servers: which kernel runs it, and its seconds from what it reads, how its
 * blocks of threads share out the cache, and what starting it takes. Constants: hwprofiles/stacks/priors.json. Source: methods.md (46)
 */
#ifndef STACKS_ATTEND_H
#define STACKS_ATTEND_H

#include "cost/cost.h"
#include "stacks/facts.h"
#include "timing/timing.h"

/* Words of rules, in their order: stack_attends[] (dataset/stacks.h). */
enum attend_id {
    ATTEND_FA2,           /* FlashAttention 2: the heads of a group in one tile, keys split among blocks */
    ATTEND_FA2_HEADS,     /* the same where no heads share keys, or with a window: a block a head, nothing split */
    ATTEND_FA3,           /* FlashAttention 3: wgmma */
    ATTEND_FA3_MMA,       /* the same before Hopper: mma.sync */
    ATTEND_FLASHINFER,
    ATTEND_FLASHINFER_SIMT, /* on vector units: groups of few heads */
    ATTEND_TRITON,
    ATTEND_XQA,           /* TensorRT-LLM's for groups: mma.sync */
    ATTEND_XQA_WGMMA,     /* on Hopper, with a cache of 8 bits */
    ATTEND_MMHA,          /* TensorRT-LLM's for one head a block */
    ATTEND_MMHA_CONVERT,  /* with a cache of 8 bits before Hopper */
    ATTEND_TRTLLM_GEN,    /* Blackwell's of data centers */
    ATTEND_COUNT,
};

/* Cycles are of the machine's clock, seconds are the same on all; keys of 128 elements. 0: no such part. */
struct attend_kernel {
    bool group;                    /* a block has all heads that share a key; false: one */
    bool splits;                   /* keys of a sequence are split among blocks */
    double n_split;                /* into so many; 0: as many as fill the machine */
    double blocks_unit;            /* blocks that a multiprocessor is filled with */
    double start_cycles;           /* of the kernels before the first load */
    double block_s, block_cycles;  /* a block, without its keys */
    double key_s, key_cycles;      /* a block's key */
    double narrow_key_cycles;      /* of 8 bits */
    double tile_cycles;            /* a key for each further 16 heads of the block */
    double head_cycles;            /* a block for each further head */
};

/* Work of one call on one device. */
struct attend_call {
    double n_seq, n_head, n_kv, head_dim;
    double keys;                /* that a sequence's tokens see */
    double kv_bytes, act_bytes; /* in all */
    bool windowed;
    bool resident;              /* called again and again on the same cache, which the L2 keeps as far as it fits */
};
/* A layer of a step as a pass has it. false: none of these kernels runs it (another engine or machine, latent attention). */
bool attend_call_of(const struct facts *f, const struct step_pass *at, const struct step *x, struct attend_call *c);
/* Of a row that says which kernel ran, that one. */
enum attend_id attend_choose(const struct facts *f, const struct attend_call *c);
struct time_kernel attend_time(const struct facts *f, enum attend_id id, const struct attend_call *c);

#endif
