/*
 * family_attention.h: features of one call of fused attention on a server's GPU: of a decode step (a new token a sequence) and of a prompt;
 * with keys of their own, or MLA's, which all heads share. methods.md (46), (110)
 */
#ifndef STACKS_FAMILY_ATTENTION_H
#define STACKS_FAMILY_ATTENTION_H

#include "stacks/family.h"

/* MLA: elements of a latent, of which the value is the first part; of a head's key and value when expanded. DeepSeek-V2 (arXiv 2405.04434). */
enum { LATENT_KEY = 576, LATENT_VALUE = 512, EXPANDED_KEY = 192, EXPANDED_VALUE = 128, EXPANDED_PLAIN = 128 };

/* Seconds in proportion to cycle^(3/4), 1 at 1.9 GHz: latencies are partly of cycles, partly of memory. */
double attention_cycle(const struct family_machine *on);
/* FLOP/s of products of 16 bits; compiled (Triton) kernels do not exceed 2,048 a cycle and multiprocessor. */
double attention_peak(const struct family_machine *on, bool compiled);
/* Fraction of so many bytes found in the last cache when a call repeats: 1 up to its size, 0 from (1 + margin) of it. */
double attention_hit(const struct family_machine *on, double bytes, double margin);
/* Bytes of an element of the KV cache of the row. errors: unknown type, column missing; as family_machine_check() */
int attention_check(const struct family_machine *on, const struct measurement *m, double *elem_bytes, struct error *err);

/* ---- decode ----------------------------------------------------------------------------------------------- */

struct decode_kernel {
    const char *name, *library;
    bool group;              /* a block has the heads that share a key, rows at most; false: one */
    double parts;            /* a sequence's keys are divided among so many blocks, always; 0: as fill the machine; 1: not */
    double blocks_unit;      /* per multiprocessor, to fill it */
    double rows;             /* heads of a block */
};

struct decode_call {
    double n_seq, n_head, n_kv, keys;
    double key_elems, value_elems; /* a head */
    double cache_bytes;            /* KV cache that a call reads; */
    double convert_bytes;          /* and what a kernel widens first; 0: none */
    double weight_bytes;           /* of products that the measurement includes */
    double flop_s;                 /* of the math that the kernel uses */
    bool latent;
};

struct decode_features {
    double memory_bytes_s, cache_cycle_bytes_s, cycle; /* machine; a byte a cycle and multiprocessor in B/s; attention_cycle() */
    double waves, keys, width, more_tiles, parts;      /* blocks in turn; keys of a block, of 256 elements; further 16 heads; parts */
    double bytes, hit, convert_bytes;
    double compute_s, compute_key_s; /* at the peak: all blocks together; a key of a block, where the block itself is bound by it */
    bool host;                       /* the measurement includes the engine's calls */
};
void decode_features_init(struct decode_features *f, const struct family_machine *on, const struct decode_kernel *k, const struct decode_call *c);

/* ---- prompts ---------------------------------------------------------------------------------------------- */

struct prompt_call {
    double n_seq, n_tok, past, window;      /* tokens a sequence, and before them; 0: no window */
    double n_head, n_kv, packed;            /* packed: heads that share a tile's rows */
    double key_elems, value_elems;
    double bytes, append_bytes;             /* read and written by attention; by the kernels before it that fill the cache */
    double flop_s, project_flop;            /* peak; FLOP of products that the measurement includes */
    bool host;
};

struct prompt_features {
    double memory_bytes_s, cache_cycle_bytes_s, cycle;
    double tiles, blocks;               /* of the fullest multiprocessor */
    double tile_compute_s, tile_exp_s;  /* of a tile of queries by keys: products at the peak; exponentials */
    double bytes, append_bytes, hit, project_s;
    bool async, host;
};
void prompt_features_init(struct prompt_features *f, const struct family_machine *on, const struct prompt_call *c);

/* ln seconds; parameter: logarithms, in the order of family_attention, family_mla, family_prompt. */
double attention_decode_ln_seconds(const void *features, const double *parameter);
double mla_decode_ln_seconds(const void *features, const double *parameter);
double prompt_ln_seconds(const void *features, const double *parameter);

#endif
