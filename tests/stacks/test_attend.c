/* Attention of steps on servers' GPUs: which kernel, and what holds of its seconds. methods.md (46) */
#include "base/environment.h"
#include "../test.h"
#include "hwprofile/hwprofile.h"
#include "rows.h"
#include "stacks/attend.h"
#include "stacks/priors.h"
#include "timing/timing.h"

static const struct stack sglang = { "sglang", STACK_SERVER, 8192, true }, trtllm = { "tensorrt-llm", STACK_SERVER, 0, true };

/* An H200 (an L40S, a B200) and an engine there. */
static struct stack_traits gpu(struct fixture *f, const struct stack *s, const char *name)
{
    const bool h200 = strstr(name, "H200") != NULL, b200 = strstr(name, "B200") != NULL;
    struct workload *p = row(f, name, HW_GPU, s, "", "");
    struct roofs *r = &f->roofs;
    snprintf(f->machine.h.vendor, sizeof f->machine.h.vendor, "NVIDIA");
    snprintf(f->machine.class_name, sizeof f->machine.class_name, "datacenter GPU");
    r->bytes_s = h200 ? 4.8e12 : b200 ? 7.7e12 : 864e9;
    r->act_elem_bytes = 2;
    r->peak[MATH_FP32].flop_s = 67e12;
    r->peak[MATH_FP16].flop_s = h200 ? 989e12 : b200 ? 2250e12 : 362e12;
    f->machine.h.peak[MATH_FP4].value = b200 ? 9e15 : 0;
    r->units = (struct gpu_units){ .n = h200 ? 132 : b200 ? 148 : 142, .threads = 2048, .clock_hz = 2e9, .cache_bytes = 50e6 };
    return stack_traits_of(p);
}

/* A step of n sequences at so many positions, n_kv heads of keys that `group` heads share, bytes an element. */
static struct attend_call call_of(double n, double past, double n_kv, double group, double bytes)
{
    const double keys = past + 1, dim = 128;
    return (struct attend_call){ .n_seq = n, .n_head = n_kv * group, .n_kv = n_kv, .head_dim = dim, .keys = keys,
                                 .kv_bytes = 2 * n * n_kv * dim * keys * bytes, .act_bytes = 4 * n * n_kv * group * dim };
}

static double seconds(const struct stack_traits *f, struct attend_call c)
{
    struct time_attend form;
    return attend_time(f, attend_choose(f, &c), &c, &form).seconds;
}

static void keys_are_read_once_a_group(void **state)
{
    struct fixture x;
    const struct stack_traits f = gpu(&x, &vllm, "NVIDIA H200");
    (void)state;
    for (double group = 2; group <= 16; group *= 2) { /* the same bytes, more heads: as many blocks, tiles of 64 rows anyway */
        const double one = seconds(&f, call_of(64, 8191, 8, 1, 2)), more = seconds(&f, call_of(64, 8191, 8, group, 2));
        if (!(more < 1.1 * one))
            fail_msg("%g heads that share a key take %g times one's seconds", group, more / one);
    }
    /* as many heads, each with keys of its own */
    assert_true(seconds(&f, call_of(64, 8191, 64, 1, 2)) > 5 * seconds(&f, call_of(64, 8191, 8, 8, 2)));
}

static void deeper_and_more_never_take_less(void **state)
{
    static const char *const names[] = { "NVIDIA H200", "NVIDIA L40S", "NVIDIA B200" };
    const struct stack *const stacks[] = { &vllm, &sglang, &trtllm };
    struct fixture x;
    (void)state;
    for (size_t i = 0; i < 9; i++) {
        const struct stack_traits f = gpu(&x, stacks[i / 3], names[i % 3]);
        for (double group = 1; group <= 64; group *= 8)
            for (double n = 1; n <= 256; n *= 4) {
                for (double past = 127; past < 3e4; past = 2 * past + 1)
                    if (seconds(&f, call_of(n, 2 * past + 1, 8, group, 2)) < 0.98 * seconds(&f, call_of(n, past, 8, group, 2)))
                        fail_msg("%s, %s, %g sequences, %g heads a key: %g positions take longer than twice as many", stacks[i / 3]->id, names[i % 3], n,
                                 group, past);
                if (seconds(&f, call_of(4 * n, 4095, 8, group, 2)) < 0.98 * seconds(&f, call_of(n, 4095, 8, group, 2)))
                    fail_msg("%s, %s, %g sequences take longer than four times as many", stacks[i / 3]->id, names[i % 3], n);
            }
    }
}

static void memory_bounds_it(void **state)
{
    struct fixture x;
    const struct stack_traits f = gpu(&x, &vllm, "NVIDIA B200");
    const struct attend_call wide = call_of(64, 32767, 8, 8, 2), narrow = call_of(64, 32767, 8, 8, 1);
    struct time_attend form;
    const struct time_kernel t = attend_time(&f, attend_choose(&f, &wide), &wide, &form);
    (void)state;
    assert_true(t.memory_s > t.scan_s && t.memory_s > t.compute_s && t.memory_s > 10 * t.start_s);
    assert_true(t.seconds > wide.kv_bytes / f.p->roofs->bytes_s && t.seconds < 1.4 * wide.kv_bytes / f.p->roofs->bytes_s);
    /* a cache of 8 bits is half of that */
    const double half = seconds(&f, narrow) / t.seconds;
    assert_true(half > 0.48 && half < 0.6);
}

static void kernels_by_engine_and_machine(void **state)
{
    static const struct {
        const struct stack *stack;
        const char *gpu;
        double group, bytes;
        enum attend_id id;
    } want[] = {
        { &vllm, "NVIDIA H200", 8, 2, ATTEND_FA3 },           { &vllm, "NVIDIA H200", 8, 1, ATTEND_FA3 },
        { &vllm, "NVIDIA L40S", 8, 2, ATTEND_FA2 },           { &vllm, "NVIDIA L40S", 1, 2, ATTEND_FA2_HEADS },
        { &vllm, "NVIDIA L40S", 8, 1, ATTEND_FLASHINFER },    { &vllm, "NVIDIA B200", 8, 2, ATTEND_TRTLLM_GEN },
        { &sglang, "NVIDIA L40S", 8, 2, ATTEND_FLASHINFER },  { &sglang, "NVIDIA L40S", 2, 2, ATTEND_FLASHINFER_SIMT },
        { &sglang, "NVIDIA L40S", 2, 1, ATTEND_FLASHINFER },  { &sglang, "NVIDIA H200", 8, 2, ATTEND_FA3 },
        { &trtllm, "NVIDIA L40S", 8, 2, ATTEND_XQA },         { &trtllm, "NVIDIA H200", 8, 1, ATTEND_XQA_WGMMA },
        { &trtllm, "NVIDIA H200", 8, 2, ATTEND_XQA },         { &trtllm, "NVIDIA H200", 1, 2, ATTEND_MMHA },
        { &trtllm, "NVIDIA H200", 64, 1, ATTEND_MMHA },       { &trtllm, "NVIDIA L40S", 64, 1, ATTEND_MMHA_CONVERT },
        { &trtllm, "NVIDIA B200", 1, 2, ATTEND_TRTLLM_GEN },  { &trtllm, "NVIDIA B200", 64, 2, ATTEND_MMHA },
    };
    static const struct {
        const char *kernel;
        enum attend_id id;
    } named[] = { { "vllm_flash_attn_fa3", ATTEND_FA3 },          { "vllm_flash_attn_fa2", ATTEND_FA2 },      { "triton", ATTEND_TRITON },
                  { "vllm_flashinfer_trtllmdecode", ATTEND_TRTLLM_GEN }, { "trtllm_mha", ATTEND_TRTLLM_GEN }, { "flashinfer", ATTEND_FLASHINFER },
                  { "torch_flow", ATTEND_XQA },                   { "another", ATTEND_FA3 } };
    struct fixture x;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        const struct stack_traits f = gpu(&x, want[i].stack, want[i].gpu);
        const struct attend_call c = call_of(16, 1023, 2, want[i].group, want[i].bytes);
        if (attend_choose(&f, &c) != want[i].id)
            fail_msg("%s on %s, %g heads a key, %g bytes: %s, expected %s", want[i].stack->id, want[i].gpu, want[i].group, want[i].bytes,
                     stack_attends[attend_choose(&f, &c)], stack_attends[want[i].id]);
    }
    (void)gpu(&x, &vllm, "NVIDIA H200");
    const struct attend_call c = call_of(16, 1023, 2, 8, 2);
    for (size_t i = 0; i < ARRAY_LEN(named); i++) {
        x.m.kernel = named[i].kernel;
        const struct stack_traits f = stack_traits_of(&x.p);
        if (attend_choose(&f, &c) != named[i].id)
            fail_msg("%s: %s, expected %s", named[i].kernel, stack_attends[attend_choose(&f, &c)], stack_attends[named[i].id]);
    }
}

/* Layers as passes have them: devices that divide heads, copies of keys, windows; and what these kernels do not run. */
static void calls_of_passes(void **state)
{
    struct fixture x;
    struct stack_traits f = gpu(&x, &vllm, "NVIDIA H200");
    struct attend_call c;
    struct step_pass at = { PHASE_DECODE, 4, 1000, 4 };
    struct step layer = { .n_tok = 4, .n_head = 64, .head_dim = 128, .group = 8 };
    const double keys = 1001;
    (void)state;
    for (double tp = 1; tp <= 16; tp *= 2) {
        const double heads = 64 / tp, n_kv = fmax(1, 8 / tp);
        layer.cost = (struct cost){ .kv_bytes = 4 * keys * 2 * n_kv * 128 * 2, .act_bytes = 2 * heads * 256 * 4, .flop = 4 * heads * 128 * keys * 4 };
        assert_true(attend_call_of(&f, &at, &layer, &c));
        assert_true(near(c.n_head, heads) && near(c.n_kv, n_kv) && near(c.keys, keys) && !c.windowed);
    }
    layer.cost = (struct cost){ .kv_bytes = 4 * 128 * 2 * 8 * 128 * 2, .act_bytes = 2 * 64 * 256 * 4, .flop = 4.0 * 64 * 128 * 128 * 4 };
    assert_true(attend_call_of(&f, &at, &layer, &c) && c.windowed && near(c.keys, 128));
    at.phase = PHASE_PREFILL;
    assert_false(attend_call_of(&f, &at, &layer, &c));
    at.phase = PHASE_DECODE;
    layer.head_dim = 576; /* latents */
    assert_false(attend_call_of(&f, &at, &layer, &c));
    layer.head_dim = 128;
    f = gpu(&x, &cuda, "NVIDIA H200");
    assert_false(attend_call_of(&f, &at, &layer, &c));
    f = gpu(&x, &vllm, "NVIDIA Tesla V100");
    assert_false(attend_call_of(&f, &at, &layer, &c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_read_once_a_group), cmocka_unit_test(deeper_and_more_never_take_less), cmocka_unit_test(memory_bounds_it),
        cmocka_unit_test(kernels_by_engine_and_machine), cmocka_unit_test(calls_of_passes),
    };
    environment_set_dirs(data_dirs());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
