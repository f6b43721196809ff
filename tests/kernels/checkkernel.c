/*
 * tests/kernels/checkkernel.c: every slot of every rung this host has, against exact sums.
 * checkkernel CASE: one of them. checkkernel --bench [TYPE ...] measures instead: GB/s of decode,
 * GOP/s of prefill.
 */
#include "check.h"

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--bench") == 0)
        return bench_main(argc - 2, argv + 2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_isa_names),
        cmocka_unit_test(test_isa_passed_over),
        cmocka_unit_test(test_matmul_slots),
        cmocka_unit_test(test_pack),
        cmocka_unit_test(test_pack_limits),
        cmocka_unit_test(test_unpack),
        cmocka_unit_test(test_acts_exact),
        cmocka_unit_test(test_acts_special),
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_matmul_parts),
        cmocka_unit_test(test_matmul_blocks),
        cmocka_unit_test(test_matmul_pairs),
        cmocka_unit_test(test_matmul_zero),
        cmocka_unit_test(test_matmul_streams),
        cmocka_unit_test(test_matmul_poison),
        cmocka_unit_test(test_matmul_poison_many),
        cmocka_unit_test(test_matmul_subnormal),
        cmocka_unit_test(test_rms_norm),
        cmocka_unit_test(test_gates),
        cmocka_unit_test(test_softcap),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_rope),
        cmocka_unit_test(test_add_f16),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_attention_limits), cmocka_unit_test(test_attention_parts), cmocka_unit_test(test_attention_paged), cmocka_unit_test(test_attention_asks),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
