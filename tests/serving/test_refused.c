/*
 * Every allocation of a simulation refused in turn: an error, nothing written after it is freed, or freed twice, no hang. Prompts apart from
 * decoding: a request is then handed over while a batch is in flight. Linked with --wrap.
 */
#include "../test.h"
#include "serving/scheduler.h"
#include "serving/simulate.h"
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static long left = -1; /* allocations until one is refused; -1: none is */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static bool refuse(void)
{
    return left >= 0 && left-- == 0;
}

void *__wrap_malloc(size_t n)
{
    return refuse() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return refuse() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return refuse() ? NULL : __real_realloc(p, n);
}

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

/* What is freed in a run is kept to its end, filled: a byte that differs was written later. The address sanitizer sees that by itself. */
enum { KEPT = 1 << 14, FILL = 0xdd };
static void *kept[KEPT];
static size_t n_kept;
static bool keeps;

void __real_free(void *p);
void __wrap_free(void *p);

void __wrap_free(void *p)
{
#ifndef SANITIZED
    if (keeps && p && n_kept < KEPT) {
        for (size_t i = 0; i < n_kept; i++)
            if (kept[i] == p)
                abort();
        memset(p, FILL, malloc_usable_size(p));
        kept[n_kept++] = p;
        return;
    }
#endif
    __real_free(p);
}

static bool written_after_free(void)
{
    bool any = false;
    keeps = false;
    for (size_t k = 0; k < n_kept; k++) {
        const unsigned char *b = kept[k];
        for (size_t i = 0; i < malloc_usable_size(kept[k]); i++)
            any |= b[i] != FILL;
        __real_free(kept[k]);
    }
    n_kept = 0;
    return any;
}

struct fleet {
    struct policy p;
    struct step_price price;
    struct serve_workload w;
    struct serve_options o;
};

/* Requests that share a prefix, on two replicas of prompts and one that decodes. */
static void begin(struct fleet *f, uint32_t n_prefill)
{
    enum { REQUESTS = 12, TOKENS = 200 };
    struct error err;
    size_t cap = 0, run_cap = 0;
    *f = (struct fleet){ .w = { .run_tokens = 16 } };
    assert_ok(policy_init(&f->p, "vllm-0.27", &(struct policy_device){ .memory_bytes = 80e9, .is_gpu = true }, &err), err);
    f->p.max_model_len = 1000;
    f->p.max_num_batched_tokens = 512;
    f->p.max_num_seqs = 64;
    assert_ok(step_price_alloc(&f->price, &f->p, &err), err);
    for (uint32_t i = 0; i <= f->price.max_decode; i++)
        f->price.decode_ps[i] = 1000;
    for (uint32_t i = 0; i <= f->price.max_tok; i++)
        f->price.mixed_ps[i] = 1000 + 10 * i;
    for (uint32_t i = 0; i < REQUESTS; i++) {
        const struct token_run shared = { 1, 4 }, own = { (i + 2) * UINT64_C(1000), TOKENS / 16 - 4 };
        const struct serve_request r = { .after_ps = i * UINT64_C(2000), .parent = SERVE_NO_PARENT, .n_in = TOKENS, .n_out = 5,
                                         .run0 = (uint32_t)f->w.n_run, .n_run = 2 };
        assert_true(serve_workload_add_run(&f->w, &run_cap, &shared) && serve_workload_add_run(&f->w, &run_cap, &own) &&
                    serve_workload_add(&f->w, &cap, &r));
    }
    assert_ok(serve_workload_finish(&f->w, "fleet", NULL, &err), err);
    f->o = (struct serve_options){ .policy = &f->p, .price = &f->price, .n_block = 60, .n_replica = 3, .n_prefill = n_prefill, .routing = ROUTE_PREFIX,
                                   .kv_token_bytes = 1, .load_bytes_s = 1e12 };
}

static void finish(struct fleet *f)
{
    serve_workload_free(&f->w);
    step_price_free(&f->price);
}

/* Fails at every allocation but the last, after which it has a result. */
static void refuse_each(struct fleet *f)
{
    struct error err = { 0 };
    struct serve_result r;
    long n = 0;
    for (int rc = -1; rc != 0; n++) {
        left = n;
        keeps = true;
        rc = serve_simulate(&r, &f->w, &f->o, &err);
        const bool refused = left < 0;
        left = -1;
        assert_false(written_after_free());
        if (rc != 0)
            assert_true(refused && err.kind == ERROR_SYSTEM && strncmp(err.msg, "out of memory", 13) == 0);
    }
    assert_true(n > 50);
    for (size_t i = 0; i < r.n; i++)
        assert_true(r.out[i].end_ps > r.out[i].first_ps && !r.out[i].failed);
    serve_result_free(&r);
}

static void test_handed_over(void **state)
{
    (void)state;
    struct fleet f;
    begin(&f, 2);
    refuse_each(&f);
    f.p.async_scheduling = false;
    refuse_each(&f);
    finish(&f);
}

static void test_replicas(void **state)
{
    (void)state;
    struct fleet f;
    begin(&f, 0);
    f.p.n_host_block = 30;
    refuse_each(&f);
    finish(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_handed_over), cmocka_unit_test(test_replicas) };
    return cmocka_run_group_tests_name("refused", tests, NULL, NULL);
}
