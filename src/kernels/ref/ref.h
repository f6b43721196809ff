/* kernels/ref/ref.h: the plain C kernels, complete: every slot and every type. */
#ifndef KERNELS_REF_REF_H
#define KERNELS_REF_REF_H

#include "kernels/internal.h"

matmul_fn ref_matmul;
void ref_act_prepare_f32(struct acts *a, const float *x, size_t ld, size_t tok0, size_t tok1);
void ref_act_prepare_bf16(struct acts *a, const float *x, size_t ld, size_t tok0, size_t tok1);
void ref_act_prepare_q8(struct acts *a, const float *x, size_t ld, size_t tok0, size_t tok1);
void ref_rms_norm(float *dst, const float *src, const float *w, size_t n, float eps);
void ref_silu_mul(float *dst, const float *a, const float *b, size_t n);
void ref_gelu_mul(float *dst, const float *a, const float *b, size_t n);
void ref_swiglu_oai(float *dst, const float *a, const float *b, size_t n);
void ref_add(float *dst, const float *src, size_t n);
void ref_softmax_row(float *x, size_t n);
void ref_softcap(float *x, size_t n, float cap);
void ref_rope(float *x, size_t n_head, size_t head_stride, size_t n_rot, const float *cs);
void ref_rope_neox(float *x, size_t n_head, size_t head_stride, size_t n_rot, const float *cs);
void ref_f32_to_f16(uint16_t *dst, const float *src, size_t n);
void ref_attention(const struct attention_args *a, uint32_t head0, uint32_t head1, uint32_t tok0, uint32_t tok1, bool count_kv,
                   struct work *w);

#endif
