/* Layers spread over devices: the kernels that the host launches for a prompt. methods.md (45) */
#include "stacks/units.h"
#include "timing/timing.h"

/* Passes that llama.cpp has buffers for: GGML_SCHED_MAX_COPIES. Source: ggml-backend.cpp. */
enum { COPIES = 4 };

/*
 * Products: quantized ones by a library widen weights, and convert what goes in and comes out; their own quantize what goes in. Attention in three: two
 * products of four (pointers of the heads' matrices, too), the softmax, the heads side by side again. Where the host waits for the choice of experts
 * it is at no other pass. Source: llama.cpp's ggml-cuda.cu, ggml_cuda_op_mul_mat_cublas, ggml_cuda_mul_mat_batched_cublas, mmq.cu.
 */
double unit_kernels(const struct facts *f, enum op_kind kind, enum math math, double bits, double n_tok, double rows)
{
    if (f->products != BACK_END_CUDA)
        return 0;
    if (kind == OP_MATMUL || kind == OP_HEAD_MATMUL)
        return bits > 12 ? 3 : f->old || unit_of_product(f, math, bits, n_tok).staged_bytes > 0 ? 4 : 2;
    if (kind == OP_EXPERT_MATMUL)
        return unit_expert_s(f, math, bits, n_tok, rows) > 0 ? TIME_LAUNCHED_AHEAD : 2;
    if (kind == OP_ATTENTION)
        return f->flash ? 2 : 10;
    return kind == OP_KV_STORE || (f->old && (kind == OP_RMS_NORM || kind == OP_GLU)) ? 2 : 1;
}

double unit_copies(const struct stack *s)
{
    return s->family == STACK_LLAMA_CPP ? COPIES : 0;
}

bool unit_borders(const struct stack *s)
{
    return s->family == STACK_LLAMA_CPP || s->family == STACK_IK;
}
