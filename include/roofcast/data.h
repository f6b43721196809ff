/*
 * roofcast/data.h: what others measured, as rows: outputs of llama-bench, llama-batched-bench, vLLM, SGLang, AIPerf and guidellm, saved
 * runs of roofcast, and CSV files (doc/formats.md). Files are only read: nothing is estimated or run.
 *
 * Threads  a file does not change after it was loaded: any number of threads may read it.
 */
#ifndef ROOFCAST_DATA_H
#define ROOFCAST_DATA_H

#include <roofcast/error.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct roofcast_data;

/*
 * path     of any of these formats; the header or the fields tell which
 * errors   ROOFCAST_ERROR_INPUT  neither of them, or a damaged file: the message has line and column
 */
ROOFCAST_API struct roofcast_data *roofcast_data_load(const char *path, struct roofcast_error *err);
ROOFCAST_API void roofcast_data_free(struct roofcast_data *d);

/* "throughput.csv", "llama-bench", "vllm", ... */
ROOFCAST_API const char *roofcast_data_format(const struct roofcast_data *d);

/* One number that was measured. "", NaN and 0: not stated. */
struct roofcast_data_row {
    const char *id, *source, *date;
    size_t line;           /* in the file, from 1 */
    const char *hardware, *engine, *version, *model, *type; /* as the file spells them */
    const char *stack;     /* the engine as roofcast_predict_options.stack names it; "other" */
    const char *phase;     /* "prefill" "decode" "serving" "-" */
    const char *metric;    /* "tok_s" "ttft" "tpot" "seconds" */
    double value;          /* tokens/s of all devices, or seconds */
    int32_t n_devices, n_threads;
    double n_prompt, n_context, n_batch, n_gen; /* tokens, tokens, sequences, tokens */
    double concurrency;    /* users of a server */
    int doubtful;          /* the row says itself that something was amiss */
    const char *notes;
};
ROOFCAST_API size_t roofcast_data_n_row(const struct roofcast_data *d);
ROOFCAST_API const struct roofcast_data_row *roofcast_data_row(const struct roofcast_data *d, size_t i); /* NULL past the end */

#ifdef __cplusplus
}
#endif
#endif
