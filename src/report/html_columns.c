/* What columns of a page's tables are, in words for its readers: descriptions of columns in doc/formats.md are of files. */
#include "report/html_internal.h"
#include <string.h>

static const struct plain_column {
    const char *key, *header, *help; /* header NULL: the column's own */
} plain_columns[] = {
    { "model", NULL, "name of the model in the file" },
    { "type", NULL, "data type of the weights, or mixture of types" },
    { "n_threads", NULL, "threads that compute" },
    { "test", NULL, "pp512: prefill of a prompt of 512 tokens; tg128: decode of 128 tokens; @d4096: with 4096 tokens in the KV cache" },
    { "n_reps", "repetitions", "how often the test was repeated" },
    { "tok_s_mean", "tokens/s", "of all sequences, mean over the repetitions" },
    { "tok_s_sd", NULL, "sample standard deviation over the repetitions" },
    { "ttft_s", NULL, "time to first token: the whole prompt" },
    { "itl_p50_s", NULL, "time between tokens, median" },
    { "itl_p99_s", NULL, "time between tokens: 99 % of them are shorter" },
    { "bytes_s", NULL, "bytes over seconds" },
    { "ceiling_bytes_s", "memory roof", "memory read bandwidth, of probes adjacent to the test" },
    { "mbu", NULL, "memory bandwidth used: bytes/s over the memory roof" },
    { "flop_s", NULL, "FLOP over seconds" },
    { "ceiling_flop_s", "compute roof", "peak of the arithmetic that the kernels use, of probes adjacent to the test" },
    { "mfu", NULL, "peak used: FLOP/s over the compute roof" },
    { "bound", NULL, "which of the two roofs binds: that under which the work takes longer" },
    { "dram_bytes_s", "memory counters", "memory traffic by hardware counters; above the memory roof it is flagged in the verdict" },
    { "j_tok", NULL, "energy a token" },
    { "roof_moved", NULL, "how far the memory roof moved during the test: largest probe less smallest, over the median" },
    { "mbu_profile", NULL, "bytes/s over the bandwidth in the machine's stored profile" },
    { "layer", NULL, "number of the block; -1: outside of the blocks" },
    { "role", NULL, "what the op does in the model: ffn_down, attn_q, lm_head" },
    { "op", NULL, "kind of operation: matrix product, attention, norm" },
    { "rows", NULL, "rows of the weight" },
    { "cols", NULL, "columns of the weight" },
    { "n_tok", "tokens", "tokens that a pass computes" },
    { "seconds", NULL, "measured, of a pass" },
    { "share", NULL, "of the time of all ops of the pass" },
    { "roof_fraction", NULL, "least time over time taken. The least time is the longer of bytes over the memory roof and FLOP over the compute roof" },
    { "weight_bytes", NULL, "bytes of weights that a pass reads" },
    { "act_bytes", NULL, "bytes of activations that a pass reads and writes" },
    { "kv_bytes", NULL, "bytes of the KV cache that a pass reads and writes" },
    { "flop", NULL, "floating-point operations of a pass" },
    { "ai", NULL, "arithmetic intensity: FLOP over bytes" },
    /* behind charts */
    { "series", NULL, "the line or bar that the row belongs to" },
    { "x", NULL, "position on the horizontal axis, in the axis's unit without prefix" },
    { "value", NULL, "height in the chart, in the axis's unit without prefix" },
    { "ci_lo", "low", "lower end of the band" },
    { "ci_hi", "high", "upper end of the band" },
    { "n_samples", "samples", "measurements behind the value" },
    { "predicted", NULL, "1: predicted, 0: measured" },
    { "counted", NULL, "1: bytes by hardware counters, 0: by the op list" },
    { "phase", NULL, "prefill or decode" },
    { "label", NULL, "name next to the mark" },
    { "x_lo", "from", "left end of the bar" },
    { "x_hi", "to", "right end of the bar" },
    { "y_lo", "bottom", "lower end of the bar" },
    { "y_hi", "top", "upper end of the bar" },
};

void html_plain_columns(struct page_table *t)
{
    for (size_t k = 0; k < t->n_col; k++)
        for (size_t i = 0; i < ARRAY_LEN(plain_columns); i++)
            if (strcmp(t->col[k].key, plain_columns[i].key) == 0) {
                t->col[k].help = plain_columns[i].help;
                t->col[k].header = plain_columns[i].header ? plain_columns[i].header : t->col[k].header;
                break;
            }
}
