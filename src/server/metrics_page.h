/* metrics_page.h: GET /metrics: counts of the loop in Prometheus's text format, under vLLM's names (vllm/v1/metrics/loggers.py). */
#ifndef SERVER_METRICS_PAGE_H
#define SERVER_METRICS_PAGE_H

#include "server/loop.h"

void metrics_page_write(struct strbuf *b, const struct loop_stats *s, const char *model, uint32_t block_size);

#endif
