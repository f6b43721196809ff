/*
 * Every allocation of a loop refused in turn: an error, every request that was taken ends once, nothing leaks, nothing is freed twice. Linked
 * with --wrap.
 */
#include "../test.h"
#include "served.h"
#include "server/draft_model.h"
#include "server/draft_mtp.h"

static long left = -1, n_live; /* allocations until one is refused, -1: none is; allocated and not freed */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
void __wrap_free(void *p);

static bool refuse(void)
{
    return left >= 0 && left-- == 0;
}

void *__wrap_malloc(size_t n)
{
    void *p = refuse() ? NULL : __real_malloc(n);
    n_live += p != NULL;
    return p;
}

void *__wrap_calloc(size_t n, size_t size)
{
    void *p = refuse() ? NULL : __real_calloc(n, size);
    n_live += p != NULL;
    return p;
}

void *__wrap_realloc(void *p, size_t n)
{
    void *q = refuse() ? NULL : __real_realloc(p, n);
    n_live += q != NULL && p == NULL;
    return q;
}

void *__wrap_aligned_alloc(size_t align, size_t n)
{
    void *p = refuse() ? NULL : __real_aligned_alloc(align, n);
    n_live += p != NULL;
    return p;
}

void __wrap_free(void *p)
{
    n_live -= p != NULL;
    __real_free(p);
}

enum { N_REQUEST = 8 };

struct request {
    uint32_t n_got, n_last;
    enum loop_finish finish;
};

static bool take(void *ctx, const struct loop_tokens *t)
{
    struct request *r = ctx;
    r->n_got += t->n;
    r->n_last += t->finish != LOOP_RUNNING;
    r->finish = t->finish;
    return false;
}

static int submit_all(struct loop *l, const int32_t *tok, struct request *r, uint32_t *n_sent, struct error *err)
{
    static const struct loop_logprob bias = { 1, 1 };
    for (*n_sent = 0; *n_sent < N_REQUEST; ++*n_sent) {
        struct loop_request x = { .prompt = tok, .n_in = 20 + *n_sent, .n_max = 12, .sampler = sampler_default, .presence_penalty = 1, .bias = &bias, .n_bias = 1,
                                  .logprobs = true, .n_top = 2, .sink = take, .sink_ctx = &r[*n_sent] };
        uint64_t id;
        x.sampler.repeat_penalty = 1.1;
        if (loop_submit(l, &x, &id, err) != 0)
            return -1;
    }
    return 0;
}

enum source { NGRAM, DRAFT_MODEL, MTP };

/* m: of e; drafts are those of o, of m as a draft model, or of its layer. */
static int serve_once(struct engine *e, const struct loop_options *of, const struct model *m, enum source source, const int32_t *tok, struct request *r, uint32_t *n_sent,
                      struct error *err)
{
    const struct draft_model_options x = { .engine = { .n_threads = 1, .type_k = DTYPE_F32, .type_v = DTYPE_F32, .team_of = e }, .n_seq = 4, .n_ctx = SERVED_CTX,
                                           .n_tok = 40, .n_block = 8, .block_size = SERVED_BLOCK };
    struct loop_options o = *of;
    *n_sent = 0;
    if (source == DRAFT_MODEL) {
        struct draft_model *d = draft_model_new(m, &x, err);
        if (!d)
            return -1;
        o.drafter = draft_model_drafter(d);
    }
    if (source == MTP) {
        struct draft_mtp *d = draft_mtp_new(e, m, err);
        if (!d)
            return -1;
        o.drafter = draft_mtp_drafter(d);
    }
    struct loop *l = loop_new(e, &o, err);
    int rc = l ? submit_all(l, tok, r, n_sent, err) : -1;
    if (!l)
        goto out;
    loop_drain(l);
    if (rc == 0)
        rc = loop_run(l, err);
    loop_free(l);
out:
    if (o.drafter.free)
        o.drafter.free(o.drafter.ctx);
    return rc;
}

static void with_layer(struct random_spec *s)
{
    s->n_nextn = 1;
}

static void refuse_each(const char *policy, bool async, uint32_t n_draft, enum source source)
{
    struct served s;
    struct error err = { 0 };
    int32_t tok[SERVED_CTX];
    served_open(&s, "test_refused", source == MTP ? "deepseek2" : "llama", source == MTP ? 4 : 0, source == MTP ? with_layer : NULL);
    struct policy p = served_policy(&s, policy, 4, 40);
    p.async_scheduling = async;
    p.num_speculative_tokens = n_draft;
    const uint32_t n_block = p.kind == POLICY_VLLM ? 10 : 4 + 20;
    struct engine_options eo = served_engine_options(&s, &p, n_block, 1, 0);
    eo.hidden = source == MTP;
    struct engine *e = engine_new(&s.m, &eo, &err);
    assert_non_null(e);
    struct draft_ngram ngram = { 3, 1 };
    const struct loop_options o = { .policy = p, .n_block = n_block, .drafter = { .ctx = &ngram, .propose = draft_ngram_propose } };
    random_tokens(&s.spec, tok, SERVED_CTX);
    long n = 0;
    for (int rc = -1; rc != 0; n++) {
        struct request r[N_REQUEST] = { 0 };
        uint32_t n_sent;
        const long before = n_live;
        left = n;
        rc = serve_once(e, &o, &s.m, source, tok, r, &n_sent, &err);
        const bool refused = left < 0;
        left = -1;
        if (n_live != before)
            fail_msg("%s, allocation %ld: %ld left over", policy, n, n_live - before);
        for (uint32_t i = 0; i < N_REQUEST; i++)
            assert_int_equal(r[i].n_last, i < n_sent);
        for (uint32_t i = 0; i < N_REQUEST && rc == 0; i++)
            assert_true(r[i].n_got == 12 && r[i].finish == LOOP_LENGTH);
        if (rc != 0 && !(refused && err.kind == ERROR_SYSTEM && strncmp(err.msg, "out of memory", 13) == 0))
            fail_msg("%s, allocation %ld: %s", policy, n, err.msg);
    }
    assert_true(n > 50);
    engine_free(e);
    served_close(&s);
}

static void test_each_allocation(void **state)
{
    (void)state;
    refuse_each("vllm-0.27", false, 0, NGRAM);
    refuse_each("vllm-0.27", true, 0, NGRAM);
    refuse_each("vllm-0.27", false, 2, NGRAM);
    refuse_each("vllm-0.27", false, 2, DRAFT_MODEL);
    refuse_each("vllm-0.27", false, 2, MTP);
    refuse_each("llama-server", false, 0, NGRAM);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_each_allocation) };
    return cmocka_run_group_tests_name("refused", tests, NULL, NULL);
}
