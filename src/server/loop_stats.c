/* What a loop counts. Bounds of histograms are vLLM's. source: vllm/v1/metrics/loggers.py (confidence: medium) */
#include "server/loop_internal.h"
#include <string.h>

static const double first_token_s[] = { .001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560 };
static const double token_s[] = { .01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80 };
static const double request_s[] = { .3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680 };
static const double step_tokens[] = { 1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384 };

void loop_stats_init(struct loop_stats *s)
{
    static const struct loop_histogram empty[LOOP_TIMES] = {
        [LOOP_TTFT] = { .bound = first_token_s, .n = ARRAY_LEN(first_token_s) },
        [LOOP_ITL] = { .bound = token_s, .n = ARRAY_LEN(token_s) },
        [LOOP_TPOT] = { .bound = token_s, .n = ARRAY_LEN(token_s) },
        [LOOP_E2E] = { .bound = request_s, .n = ARRAY_LEN(request_s) },
        [LOOP_QUEUE] = { .bound = request_s, .n = ARRAY_LEN(request_s) },
        [LOOP_PREFILL] = { .bound = request_s, .n = ARRAY_LEN(request_s) },
        [LOOP_DECODE] = { .bound = request_s, .n = ARRAY_LEN(request_s) },
        [LOOP_INFERENCE] = { .bound = request_s, .n = ARRAY_LEN(request_s) },
        [LOOP_STEP_TOKENS] = { .bound = step_tokens, .n = ARRAY_LEN(step_tokens) },
    };
    *s = (struct loop_stats){ 0 };
    memcpy(s->h, empty, sizeof empty);
}

void loop_stats_add(struct loop_histogram *h, double value)
{
    uint32_t i = 0;
    while (i < h->n && value > h->bound[i])
        i++;
    h->count[i]++;
    h->sum += value;
}

/* The lock is held. */
void loop_note_tokens(struct loop *l, struct job *j, uint32_t n, double now_s)
{
    if (n == 0)
        return;
    if (j->first_s == 0) {
        j->first_s = now_s;
        loop_stats_add(&l->stats.h[LOOP_TTFT], now_s - j->submit_s);
    } else {
        loop_stats_add(&l->stats.h[LOOP_ITL], now_s - j->last_s);
    }
    j->last_s = now_s;
    l->stats.n_output_tok += n;
}

void loop_note_end(struct loop *l, const struct job *j, enum loop_finish finish, double now_s)
{
    struct loop_histogram *h = l->stats.h;
    const uint32_t n_out = j->n_tok - j->n_in;
    l->stats.n_finished[finish]++;
    if (finish == LOOP_ABORTED || finish == LOOP_FAILED || j->first_s == 0)
        return;
    loop_stats_add(&h[LOOP_E2E], now_s - j->submit_s);
    loop_stats_add(&h[LOOP_QUEUE], j->start_s - j->submit_s);
    loop_stats_add(&h[LOOP_PREFILL], j->first_s - j->start_s);
    loop_stats_add(&h[LOOP_DECODE], j->last_s - j->first_s);
    loop_stats_add(&h[LOOP_INFERENCE], j->last_s - j->start_s);
    if (n_out > 1)
        loop_stats_add(&h[LOOP_TPOT], (j->last_s - j->first_s) / (n_out - 1));
}

void loop_stats(struct loop *l, struct loop_stats *s)
{
    pthread_mutex_lock(&l->lock);
    *s = l->stats;
    s->n_waiting += l->n_submitted;
    pthread_mutex_unlock(&l->lock);
}
