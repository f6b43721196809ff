/* The page of metrics. */
#include "server/metrics_page.h"
#include <math.h>
#include <string.h>

struct page {
    struct strbuf *b;
    char label[300]; /* model_name="..." */
};

/* A label's value: quotes, backslashes and newlines are escaped; a name that is too long is cut. */
static void write_label(struct page *p, const char *model)
{
    size_t n = (size_t)snprintf(p->label, sizeof p->label, "model_name=\"");
    for (; *model && n + 4 < sizeof p->label; model++) {
        if (*model == '"' || *model == '\\' || *model == '\n')
            p->label[n++] = '\\';
        p->label[n++] = *model == '\n' ? 'n' : *model;
    }
    while (n > 0 && (p->label[n - 1] & 0x80) && *model) /* no half character at a cut */
        n--;
    p->label[n++] = '"';
    p->label[n] = 0;
}

static void head(struct page *p, const char *name, const char *type, const char *help)
{
    strbuf_addf(p->b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void value(struct page *p, const char *name, double v)
{
    strbuf_addf(p->b, "%s{%s} %.17g\n", name, p->label, v);
}

static void one(struct page *p, const char *name, const char *type, const char *help, double v)
{
    head(p, name, type, help);
    value(p, name, v);
}

static void histogram(struct page *p, const char *name, const char *help, const struct loop_histogram *h)
{
    uint64_t n = 0;
    head(p, name, "histogram", help);
    for (uint32_t i = 0; i < h->n && i < LOOP_BUCKETS; i++) {
        n += h->count[i];
        strbuf_addf(p->b, "%s_bucket{%s,le=\"%.10g\"} %llu\n", name, p->label, h->bound[i], (unsigned long long)n);
    }
    n += h->count[h->n < LOOP_BUCKETS ? h->n : LOOP_BUCKETS];
    strbuf_addf(p->b, "%s_bucket{%s,le=\"+Inf\"} %llu\n%s_sum{%s} %.17g\n%s_count{%s} %llu\n", name, p->label, (unsigned long long)n, name, p->label,
                h->sum, name, p->label, (unsigned long long)n);
}

static void times(struct page *p, const struct loop_stats *s)
{
    static const struct {
        const char *name, *help;
    } metric[LOOP_TIMES] = {
        [LOOP_TTFT] = { "vllm:time_to_first_token_seconds", "Time from arrival to the first token." },
        [LOOP_ITL] = { "vllm:inter_token_latency_seconds", "Time between the tokens of steps that follow each other." },
        [LOOP_TPOT] = { "vllm:request_time_per_output_token_seconds", "Mean time per output token of a request, without the first." },
        [LOOP_E2E] = { "vllm:e2e_request_latency_seconds", "Time from arrival to the last token." },
        [LOOP_QUEUE] = { "vllm:request_queue_time_seconds", "Time a request waited to be scheduled." },
        [LOOP_PREFILL] = { "vllm:request_prefill_time_seconds", "Time from being scheduled to the first token." },
        [LOOP_DECODE] = { "vllm:request_decode_time_seconds", "Time from the first to the last token." },
        [LOOP_INFERENCE] = { "vllm:request_inference_time_seconds", "Time from being scheduled to the last token." },
        [LOOP_STEP_TOKENS] = { "vllm:iteration_tokens_total", "Tokens of a step." },
    };
    for (size_t i = 0; i < ARRAY_LEN(metric); i++)
        histogram(p, metric[i].name, metric[i].help, &s->h[i]);
}

static void finished(struct page *p, const struct loop_stats *s)
{
    const char *name = "vllm:request_success_total";
    const struct {
        const char *reason;
        uint64_t n;
    } row[] = {
        { "stop", s->n_finished[LOOP_EOS] + s->n_finished[LOOP_STOPPED] },
        { "length", s->n_finished[LOOP_LENGTH] },
        { "abort", s->n_finished[LOOP_ABORTED] },
        { "error", s->n_finished[LOOP_FAILED] },
    };
    head(p, name, "counter", "Requests that ended, by reason.");
    for (size_t i = 0; i < ARRAY_LEN(row); i++)
        strbuf_addf(p->b, "%s{%s,finished_reason=\"%s\"} %llu\n", name, p->label, row[i].reason, (unsigned long long)row[i].n);
}

static void speculation(struct page *p, const struct loop_stats *s)
{
    const char *name = "vllm:spec_decode_num_accepted_tokens_per_pos_total";
    one(p, "vllm:spec_decode_num_drafts_total", "counter", "Drafts verified.", (double)s->n_draft);
    one(p, "vllm:spec_decode_num_draft_tokens_total", "counter", "Tokens drafted.", (double)s->n_draft_tok);
    one(p, "vllm:spec_decode_num_accepted_tokens_total", "counter", "Tokens of drafts that were accepted.", (double)s->n_accepted_tok);
    head(p, name, "counter", "Tokens of drafts that were accepted, by position.");
    for (size_t i = 0; i < POLICY_MAX_DRAFT && (i == 0 || s->n_accepted_at[i] > 0); i++)
        strbuf_addf(p->b, "%s{%s,position=\"%zu\"} %llu\n", name, p->label, i, (unsigned long long)s->n_accepted_at[i]);
}

void metrics_page_write(struct strbuf *b, const struct loop_stats *s, const char *model, uint32_t block_size)
{
    struct page p = { .b = b };
    write_label(&p, model);
    one(&p, "vllm:num_requests_running", "gauge", "Requests in the batch.", s->n_running);
    one(&p, "vllm:num_requests_waiting", "gauge", "Requests that wait to be scheduled.", s->n_waiting);
    one(&p, "vllm:kv_cache_usage_perc", "gauge", "Share of the KV blocks in use; 1: all.", s->n_block > 0 ? (double)s->n_block_used / s->n_block : 0);
    head(&p, "vllm:cache_config_info", "gauge", "Blocks of the KV cache.");
    strbuf_addf(b, "vllm:cache_config_info{%s,block_size=\"%u\",num_gpu_blocks=\"%u\"} 1\n", p.label, block_size, s->n_block);
    one(&p, "vllm:prefix_cache_queries_total", "counter", "Prompt tokens looked up in the prefix cache.", (double)s->n_query_tok);
    one(&p, "vllm:prefix_cache_hits_total", "counter", "Prompt tokens found in the prefix cache.", (double)s->n_hit_tok);
    one(&p, "vllm:num_preemptions_total", "counter", "Preemptions.", (double)s->n_preempt);
    one(&p, "vllm:prompt_tokens_total", "counter", "Prompt tokens computed.", (double)s->n_prompt_tok);
    one(&p, "vllm:generation_tokens_total", "counter", "Tokens generated.", (double)s->n_output_tok);
    finished(&p, s);
    times(&p, s);
    speculation(&p, s);
    one(&p, "roofcast_steps_total", "counter", "Steps of the batch.", (double)s->n_step);
    one(&p, "roofcast_busy_seconds_total", "counter", "Time that steps took.", s->busy_s);
    one(&p, "roofcast_read_bytes_total", "counter", "Bytes of weights and KV cache that steps read and wrote.", s->bytes);
}
