/* The table of families of kernels: names that tell apart, priors that are numbers, dimensions that effects may have. methods.md (107) */
#include "../test.h"
#include "../near.h"
#include "fit/fit.h"
#include "family.h"
#include <math.h>

static void names_tell_apart(void **state)
{
    (void)state;
    for (size_t i = 0; family_at(i); i++) {
        const struct family *f = family_at(i);
        assert_int_equal(family_index(f), i);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(family_at(k)->name, f->name);
        for (const char *const *op = f->ops; *op; op++)
            assert_ptr_equal(family_of(*op), f);
    }
    assert_null(family_of("no such op"));
    assert_true(family_at(0) != NULL);
}

static void parameters_have_priors(void **state)
{
    (void)state;
    for (size_t i = 0; family_at(i); i++) {
        const struct family *f = family_at(i);
        assert_in_range(f->n_parameter, 1, FAMILY_PARAMETERS);
        assert_true(f->feature_bytes > 0 && f->sigma > 0 && f->dimension[0]);
        for (int p = 0; p < f->n_parameter; p++) {
            assert_int_equal(family_parameter_find(f, f->parameter[p].name), p);
            assert_true(f->parameter[p].value > 0 && f->parameter[p].sd > 0 && isfinite(f->parameter[p].value));
            for (int d = 0; d < FAMILY_DIMENSIONS; d++)
                assert_true(f->dimension[d] ? f->parameter[p].of[d] >= 0 : f->parameter[p].of[d] == 0);
        }
    }
}

static void types_and_libraries(void **state)
{
    (void)state;
    assert_int_equal(family_type_find("bfloat16")->math, MATH_BF16);
    assert_int_equal(family_type_find("nvfp4")->math, MATH_FP4);
    assert_near(family_type_find("nvfp4")->weight_bytes, 0.5625, 0);
    assert_null(family_type_find("fp3"));
    assert_string_equal(family_library("DeepGemmFp8BlockScaledMMKernel"), "deepgemm");
    assert_string_equal(family_library("sglang_fused_moe_triton"), "triton");
    assert_string_equal(family_library("torch.nn.functional.linear"), "default");
    assert_near(family_overlap(3, 0), 3, 1e-12);
    assert_near(family_overlap(1, 1), pow(2, 0.25), 1e-12);
}

/* Each fact that is needed, and missing or no number, is named with the machine; others are not. */
static void missing_facts_are_named(void **state)
{
    static const struct {
        const char *text;
        size_t at;
    } facts[] = { { "A100: its number of multiprocessors", offsetof(struct family_machine, n_unit) },
                  { "A100: its clock", offsetof(struct family_machine, clock_hz) },
                  { "A100: its memory bandwidth", offsetof(struct family_machine, memory_bytes_s) },
                  { "A100: its peak", offsetof(struct family_machine, peak) + MATH_FP8 * sizeof(double) } };
    static const double values[] = { 0, NAN, INFINITY };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(facts) * ARRAY_LEN(values); i++) {
        struct family_machine on = family_gpu("A100");
        struct error err = { 0 };
        assert_int_equal(family_machine_check(&on, FAMILY_NEEDS_KERNEL, MATH_FP8, &err), 0);
        *(double *)(void *)((char *)&on + facts[i / ARRAY_LEN(values)].at) = values[i % ARRAY_LEN(values)];
        assert_int_equal(family_machine_check(&on, FAMILY_NEEDS_KERNEL, MATH_FP8, &err), -1);
        assert_int_equal(err.kind, ERROR_UNAVAILABLE);
        assert_non_null(strstr(err.msg, facts[i / ARRAY_LEN(values)].text));
        assert_int_equal(family_machine_check(&on, 0, MATH_COUNT, &err), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_facts_are_named),
        cmocka_unit_test(names_tell_apart),
        cmocka_unit_test(parameters_have_priors),
        cmocka_unit_test(types_and_libraries),
    };
    return cmocka_run_group_tests_name("families of kernels", tests, NULL, NULL);
}
