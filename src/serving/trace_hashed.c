/*
 * Mooncake's form, which vLLM's timed_trace and others share: timestamp, lengths, and an identity for every chunk of the prompt. The
 * identity of a last, partial chunk is that of its tokens so far: it equals no full chunk's and is dropped.
 */
#include "serving/trace_internal.h"
#include <math.h>
#include <stdlib.h>

enum { TIMED_TIME, TIMED_IN, TIMED_OUT, TIMED_IDS };
/* Mooncake: chunks of 512 tokens and milliseconds; vLLM's timed_trace: chunks of 16 and seconds by default. */
enum { MOONCAKE_TOKENS = 512, TIMED_TOKENS = 16 };

/* Tokens of an identity, by the first records: 512 where so many chunks are as long as the prompt, and so on. */
static uint32_t guess_tokens(const struct trace_reader *t)
{
    static const uint32_t size[] = { 512, 16, 64, 32, 128, 256, 1024 };
    struct trace_reader ahead = *t;
    struct trace_notes notes = { 0 };
    struct trace_options all = { 0 };
    unsigned fits = (1u << ARRAY_LEN(size)) - 1;
    ahead.notes = &notes;
    ahead.o = &all;
    ahead.id = NULL;
    ahead.id_cap = 0;
    for (int i = 0; i < 64 && trace_next(&ahead, NULL) > 0; i++) {
        uint32_t n_in;
        if (trace_tokens(&ahead, TIMED_IN, 1, &n_in, NULL) != 0 || trace_ids(&ahead, TIMED_IDS, NULL) != 0)
            break;
        for (unsigned k = 0; ahead.n_id > 0 && k < ARRAY_LEN(size); k++)
            if (ahead.n_id != (n_in + size[k] - 1) / size[k] && ahead.n_id != n_in / size[k])
                fits &= ~(1u << k);
    }
    free(ahead.id);
    /* Without any identities JSON is taken for Mooncake's, CSV for vLLM's. */
    if (fits == (1u << ARRAY_LEN(size)) - 1 && t->format->kind == TRACE_CSV)
        return TIMED_TOKENS;
    for (unsigned k = 0; k < ARRAY_LEN(size); k++)
        if (fits & 1u << k)
            return size[k];
    return TIMED_TOKENS;
}

int trace_hash_runs(struct trace_reader *t, struct serve_request *r, int column, uint32_t chunk, struct error *err)
{
    const uint64_t n_tok = (uint64_t)r->n_in + r->n_out, most = u64_ceil_div(n_tok, chunk);
    if (trace_ids(t, column, err) != 0)
        return -1;
    if (t->n_id > most)
        return trace_refuse(t, err, "%s has %zu identities: expected at most %llu, of %u tokens each", t->format->column[column], t->n_id,
                            (unsigned long long)most, chunk);
    /* Beyond the prompt: the file knows the output, too. */
    const uint64_t full = t->n_id > u64_ceil_div(r->n_in, chunk) ? n_tok / chunk : r->n_in / chunk;
    for (size_t i = 0; i < t->n_id && i < full; i++)
        if (trace_add_run(t, r, t->id[i], 1, err) != 0)
            return -1;
    return 0;
}

int trace_read_timed(struct trace_reader *t, struct error *err)
{
    const struct trace_format *f = t->format;
    const uint32_t chunk = t->o->hash_tokens > 0 ? t->o->hash_tokens : f->hash_tokens > 0 ? f->hash_tokens : guess_tokens(t);
    const double unit_s = t->o->unit_s > 0 ? t->o->unit_s : f->unit_s > 0 ? f->unit_s : chunk == MOONCAKE_TOKENS ? 1e-3 : 1;
    int rc;
    t->w->run_tokens = chunk;
    while ((rc = trace_next(t, err)) > 0) {
        struct serve_request r = trace_request(t);
        if (trace_time(t, TIMED_TIME, unit_s, &r.after_ps, err) != 0 || trace_tokens(t, TIMED_IN, 1, &r.n_in, err) != 0 ||
            trace_tokens(t, TIMED_OUT, 1, &r.n_out, err) != 0 || trace_hash_runs(t, &r, TIMED_IDS, chunk, err) != 0 ||
            trace_add(t, &r, err) != 0)
            return -1;
    }
    return rc == 0 && !(t->o->flags & TRACE_NO_OUTPUTS) ? trace_continue(t->w, false, err) : rc;
}
