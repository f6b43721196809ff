/* How rows are grouped. */
#include "score/internal.h"
#include <string.h>

bool is_clean(const struct measurement *m)
{
    return !(m->tags & (TAG_E2E | TAG_COMMUNITY));
}

/* "XiongjieDai/GPU-Benchmarks-on-LLM-Inference README.md" -> before the blank; "QwenLM/Qwen2.5(Qwen3 repo) docs/..." too. */
const char *source_text(const struct measurement *m, char *buf, size_t size)
{
    const char *s = m->source;
    const size_t n = strchr(s, '/') && strchr(s, ' ') ? (size_t)(strchr(s, ' ') - s) : strlen(s);
    snprintf(buf, size, "%.*s", (int)n, s);
    return buf;
}
