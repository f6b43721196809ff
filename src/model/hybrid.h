/*
 * hybrid.h: layers of recurrences beside layers of attention: Mamba-1 and 2, Gated DeltaNet. Private to this module.
 * What they compute and cost: methods.md (19).
 */
#ifndef MODEL_HYBRID_H
#define MODEL_HYBRID_H

#include "model/arch.h"

/* ---- config.json -------------------------------------------------------------------- */

/* The names of the recurrence's fields; NULL: the architecture has none of it, hp->hybrid has the number. */
struct hybrid_fields {
    const char *n_head, *head_dim, *n_group, *n_state, *n_conv;
};
/* hp->hybrid's dimensions, each in its range; windows and more than HYBRID_MAX_LAYER layers are refused. A field may be
 * absent where hp->hybrid has a number already. */
int hybrid_dimensions(const json_t *j, const char *what, const struct hybrid_fields *f, struct hparams *hp, struct error *err);
/* Width of the recurrence by its own field: the heads must come to it. */
int hybrid_width(const char *what, const struct hybrid_fields *f, const char *field, uint64_t width, const struct hparams *hp,
                 struct error *err);
/* A flag that may be absent; another value than this one is refused by name. */
int hybrid_flag(const json_t *j, const char *what, const char *field, bool only, struct error *err);

/* A word for a kind of layer, in a list; or a letter, in a pattern. */
struct layer_word {
    const char *word;
    uint8_t parts;
};
/* hp->hybrid.parts from a list of words, or a string of letters, one a layer: words ends with { NULL, 0 }. */
int hybrid_layers(const json_t *j, const char *what, const char *field, const struct layer_word *words, struct hparams *hp,
                  struct error *err);
/* Layer i has the part where i % period == offset. */
void hybrid_every(struct hparams *hp, uint32_t period, uint32_t offset, enum layer_part then, enum layer_part otherwise);
/* Layers that want experts or a feed-forward network find their widths. field: of the network; where there is none, n_ff becomes
 * the experts' width. */
int hybrid_check(const char *what, const char *field, struct hparams *hp, struct error *err);

/* ---- layers ----------------------------------------------------------------------------- */

uint8_t hybrid_parts(const struct builder *b); /* of the layer at hand */
/* From BUF_NORM to BUF_OUT. */
void build_mamba1(struct builder *b);
void build_mamba2(struct builder *b);
/* split: the projections of q, k, v, of the gate and of the two scalars a head are four matrices instead of two (Qwen3.5). */
void build_delta_net(struct builder *b, bool split);
void build_short_conv(struct builder *b);

#endif
