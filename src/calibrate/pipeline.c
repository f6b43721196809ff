/* Layers spread over devices: how far the passes of a prompt overlap there. methods.md (148) */
#include "calibrate/units.h"
#include <math.h>

/* Of kernels of a stream that have not begun: then the host waits. Source: forums.developer.nvidia.com, t/68937 ("the buffer size is about 1000
 * kernels"; three streams have one each). */
enum { QUEUE = 1000 };
/* Passes that llama.cpp has buffers for: GGML_SCHED_MAX_COPIES. Source: ggml-backend.cpp. */
enum { COPIES = 4 };

/* Kernels that an op is launched as. Products: quantized ones by a library widen weights, and convert what goes in and comes out; their own quantize
 * what goes in. Attention in three: two products of four (pointers of the heads' matrices, too), the softmax, the heads side by side again. Source:
 * llama.cpp's ggml-cuda.cu, ggml_cuda_op_mul_mat_cublas, ggml_cuda_mul_mat_batched_cublas, mmq.cu. */
static double kernels(const struct facts *f, const struct work_class *c)
{
    const enum op_kind k = c->kind;
    if (k == OP_MATMUL || k == OP_HEAD_MATMUL)
        return c->bits > 12 ? 3 : f->old || unit_of_product(f, c->math, c->bits, c->n_tok).staged_bytes > 0 ? 4 : 2;
    if (k == OP_EXPERT_MATMUL) /* where the host waits for the choice of experts it is at no other pass */
        return unit_expert_s(f, c->math, c->bits, c->n_tok, c->rows) > 0 ? QUEUE : 2;
    if (k == OP_ATTENTION)
        return f->flash ? 2 : 10;
    return k == OP_KV_STORE || (f->old && (k == OP_RMS_NORM || k == OP_GLU)) ? 2 : 1;
}

/* Of d devices each has 1 / d of the kernels of a pass. A queue that a pass fills keeps the host from the next device, and so from the next pass. */
static double passes_at_once(const struct facts *f, double n_kernel)
{
    if (f->products != BACK_END_CUDA)
        return COPIES;
    return fmin(COPIES, 1 + floor((QUEUE - 1) / fmax(n_kernel, 1)));
}

double pipeline_part(const struct facts *f)
{
    const struct priced *p = f->p;
    const double d = p->n_devices;
    double m = 0, n_kernel = 0;
    for (size_t i = 0; i < p->n_pass; i++)
        m += p->pass[i].times;
    for (size_t i = 0; i < p->pass[0].n; i++)
        n_kernel += p->pass[0].c[i].count * kernels(f, &p->pass[0].c[i]) / d;
    const double c = passes_at_once(f, n_kernel);
    return (c < d ? d * ceil(m / c) + fmin(c, m) - 1 : m + d - 1) / (m * d);
}
