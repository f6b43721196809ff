/* roofline/internal.h: what the files of this module share. */
#ifndef ROOFLINE_INTERNAL_H
#define ROOFLINE_INTERNAL_H

#include "roofline/roofline.h"

/* Numbers of tokens that make sense together, else ERROR_USAGE. */
int check_scenario(uint32_t n_prompt, uint32_t n_gen, uint32_t n_depth, uint32_t n_batch,
                   uint32_t n_ubatch, struct error *err);

/* Bytes of one position in the cache of this op's layer: keys and, where they are cached, values. (12) */
double cost_kv_row_bytes(const struct op *op, const struct cost_options *o);

/* Bytes a sequence of what a recurrent op remembers; 0 for other kinds. (42) */
double cost_state_bytes(const struct op *op);

/* Bytes of the workspace that MLA's expanded form needs for n_ctx positions; 0: no such form. (36) */
double cost_expanded_bytes(const struct op_list *l, uint64_t n_ctx);

/* A horizontal roof: peak FLOP/s for one operand type, before efficiency. */
struct peak {
    double flop_s;
    char source[192];
    bool derived; /* taken from another operand type: source says which */
};

/* The roofs of a machine as one prediction uses them. */
struct roofs {
    bool cpu; /* CPU rules for operand types; else GPU rules */
    struct peak peak[MATH_COUNT];
    double bytes_s; /* memory, before efficiency */
    char bytes_source[192];
    double e_compute, e_bandwidth, launch_s;
    double cache_bytes;   /* operands up to this size stay on the chip; 0: unknown */
    double cache_bytes_s; /* bandwidth there, before efficiency; INFINITY: not a limit, or
                             unknown */
    double act_elem_bytes;
};

/* Roofs from the measured ceilings and the datasheet. Fails with "cannot predict: ..." when
 * there is no bandwidth or no peak of any type. */
int roofs_init(struct roofs *r, const struct hwprofile *h, const struct predict_options *o,
               struct error *err);
/* Operand type the arithmetic of this op runs in on such a machine. */
enum math roofs_math(const struct roofs *r, const struct op *op);

/* Seconds one op takes under the two roofs and in the launch. methods.md (13) */
struct op_time {
    double seconds, memory_s, compute_s;
    enum bound bound;
};
struct op_time roofs_time(const struct roofs *r, const struct op *op, const struct cost *c);

/* Weights, KV cache and activations against the machine's memory. methods.md (17) */
void memory_fit(struct predict_result *res, const struct model *m, const struct op_list *l,
                const struct hwprofile *h, const struct roofs *r,
                const struct predict_options *o);

#endif
