/* check_isa.c: the rungs of kernels, what they are called, when they are passed over, and that they have all slots. */
#include "config.h"
#include "check.h"
#include "kernels/pack.h"

/* Every type that can be executed has slots on every rung, with act kinds that can be
 * prepared. */
void test_matmul_slots(void **state)
{
    (void)state;
    struct kernels k;
    for (size_t i = 0; rung_at(i, &k); i++)
        for (size_t d = 0; dtype_at(d); d++) {
            const struct dtype_info *t = dtype_at(d);
            const struct matmul_slot *s = &k.mm[t->id];
            if (dtype_executable(t->id) != (s->gemv && s->gemm))
                fail_msg("%s: %s: executable and slots disagree", k.isa, t->name);
            const struct matmul_slot *q = &k.packed[t->id];
            if (q->gemv && (!q->gemm || !q->gemv_max_tok || !q->row_align || q->row_align % PACK_ROWS ||
                            !k.act_prepare[q->act] || !pack_format(t->id)))
                fail_msg("%s: %s: packed slot is not complete", k.isa, t->name);
            if (s->gemv && (!s->gemv_max_tok || !s->row_align || !k.act_prepare[s->act]))
                fail_msg("%s: %s: slot is not complete", k.isa, t->name);
        }
}

void test_isa_names(void **state)
{
    (void)state;
    struct error err;
    unsigned flags = ~0u;
    struct kernels k;
    bool usable = false;
    assert_string_equal(kernels_isa_at(0, &usable), "ref");
    assert_true(usable);
    assert_ok(kernels_isa_flags("ref", &flags, &err), err);
    assert_int_equal(flags & ~(unsigned)CPU_TUNING, 0); /* no instructions */
    assert_ok(kernels_isa_flags("auto", &flags, &err), err);
    assert_int_equal(flags, cpu_flags());
    assert_fails(kernels_isa_flags("avx1024", &flags, &err), err, "avx1024");
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_non_null(strstr(err.msg, "ref"));
    assert_string_equal(kernels_isa_missing("avx1024"), "unknown");
#ifdef HAVE_ISA_AMX /* a rung that fails its trial is not used, and so not tried by any other test */
    const unsigned amx = CPU_AVX512VNNI | CPU_AVX512BF16 | CPU_AVX512VBMI | CPU_AMX_BF16;
    if ((cpu_flags() & amx) == amx && cpu_request_amx_tiles())
        assert_null(kernels_isa_missing("amx"));
#endif
    for (size_t i = 0; kernels_isa_at(i, &usable); i++) {
        const char *name = kernels_isa_at(i, NULL);
        assert_int_equal(usable, kernels_isa_missing(name) == NULL);
        if (!usable) {
            assert_fails(kernels_isa_flags(name, &flags, &err), err, kernels_isa_missing(name));
            assert_int_equal(err.kind, ERROR_UNAVAILABLE);
            continue;
        }
        assert_ok(kernels_isa_flags(name, &flags, &err), err);
        kernels_init(&k, flags);
        assert_string_equal(k.isa, name);
    }
}

/* A dot product that is slower than multiply-adds is not what "auto" picks, but for what tiles leave; by name it is to be had.
 * Nothing runs: any CPU will do. */
void test_isa_passed_over(void **state)
{
    (void)state;
    const char *why = kernels_isa_missing("avx512bf16");
    const unsigned bf16 = CPU_AVX2 | CPU_AVX512 | CPU_AVX512VNNI | CPU_AVX512BF16;
    struct error err;
    struct kernels k;
    unsigned flags;
    if (why && strcmp(why, "not built") == 0)
        skip();
    kernels_init(&k, bf16);
    assert_string_equal(k.isa, "avx512bf16");
    assert_int_equal(k.packed[DTYPE_BF16].act, ACT_BF16);
    kernels_init(&k, bf16 | CPU_SLOW_DOT_BF16);
    assert_string_equal(k.isa, "avx512vnni");
    assert_int_equal(k.packed[DTYPE_BF16].act, ACT_F32);
    if (!why) {
        assert_ok(kernels_isa_flags("avx512bf16", &flags, &err), err);
        assert_int_equal(flags & CPU_SLOW_DOT_BF16, 0);
    }
    if (kernels_isa_flags("amx", &flags, &err) == 0) {
        kernels_init(&k, flags | CPU_SLOW_DOT_BF16);
        assert_string_equal(k.isa, "amx");
        assert_int_equal(k.packed[DTYPE_BF16].act, ACT_BF16);
    }
}
