/* Reasons of the largest errors. doc/notes/datasets.md */
#include "base/environment.h"
#include "rows.h"

static const char *reason_of(const struct score_reasons *r, const struct rows *x, const char *id)
{
    static char buf[1024];
    for (size_t i = 0; i < x->l.n; i++)
        if (strcmp(x->l.row[i].id, id) == 0)
            return score_reason(r, &x->scored[i], buf, sizeof buf);
    fail_msg("no row %s", id);
    return "";
}

/* Errors above 50 % have a position: under the roofs, against the same test elsewhere, among similar rows (doc/notes/datasets.md). 100 tokens/s of
 * decode and 25600 of a prompt are predicted. */
static void test_reasons(void **state)
{
    (void)state;
    static const char text[] = "id,hardware,engine,model,params_b,quant,weight_gib,phase,prompt_len,context_len,batch,tokens_per_s,notes\n"
                               "a,NVIDIA RTX 4090,llama.cpp (CUDA),Llama-3-8B,8.03,Q4_K_M,,decode,0,64,1,20,\n"
                               "b,NVIDIA RTX 4090,llama.cpp (CUDA),Llama-3-8B,8.03,Q4_K_M,,decode,0,80,1,40,\n"
                               "c,NVIDIA RTX 4090,llama.cpp (CUDA),Llama-3-8B,8.03,Q4_K_M,,decode,0,96,1,41,\n"
                               "d,NVIDIA RTX 4090,llama.cpp (CUDA),Llama-3-8B,8.03,Q4_K_M,,decode,0,112,1,200,\n"
                               "e,NVIDIA RTX 4090,llama.cpp (CUDA),Llama-3-8B,8.03,Q4_K_M,,decode,0,128,1,42,\n"
                               "f,NVIDIA RTX 4090,llama.cpp (CUDA),Llama-3-8B,8.03,Q4_K_M,,decode,0,144,1,43,\n"
                               "g,NVIDIA RTX 4090,llama.cpp (CUDA),Llama-3-8B,8.03,Q4_K_M,,decode,0,160,1,44,\n"
                               "v,NVIDIA RTX 4090,llama.cpp (Vulkan),Llama-3-8B,8.03,Q4_K_M,,decode,0,64,1,60,\n"
                               "p,NVIDIA RTX 4090,llama.cpp (CUDA),Llama-3-8B,8.03,Q4_K_M,,prefill,256,0,1,25600,\n"
                               "q,NVIDIA RTX 4090,llama.cpp (CUDA),Llama-3-8B,8.03,Q4_K_M,,prefill,256,0,1,25000,\n"
                               "r,NVIDIA RTX 4090,llama.cpp (CUDA),Llama-3-8B,8.03,Q4_K_M,,prefill,256,0,1,25500,\n"
                               "s,NVIDIA RTX 4090,llama.cpp (CUDA),Llama-3-8B,8.03,Q4_K_M,,prefill,256,0,1,2560,tags=anomaly\n";
    struct rows x;
    struct error err = { 0 };
    const struct score_options o = { .model = &watcher };
    load_text(&x, text);
    assert_ok(score_rows(x.scored, x.row, x.l.n, &o, &err), err);
    struct score_reasons *r = score_reasons_new(x.scored, x.l.n, &err);
    assert_non_null(r);
    /* 4.62e9 bytes, 20 times a second, of 1008e9; 42.5 times */
    assert_string_equal(reason_of(r, &x, "a"), "measured at 9.2 % of the bandwidth, similar rows of this machine and engine at 20 %; "
                        "v (llama.cpp-vulkan) has 3.00 times its speed in the same test; "
                        "5 of the 6 other decode rows with the same model, type, number of devices, machine and engine are also slower than predicted, "
                        "by a median factor of 2.4");
    assert_string_equal(reason_of(r, &x, "d"), ""); /* 50 % and no more */
    assert_string_equal(reason_of(r, &x, "p"), "");
    const char *alone = reason_of(r, &x, "s");
    assert_true(strncmp(alone, "inconsistent with its table; measured at ", 41) == 0);
    assert_non_null(strstr(alone, "; p has 10 times its speed in the same test; the 3 other prefill rows with the same model, machine and engine have a "
                                  "median error of 0.39 %"));
    score_reasons_free(r);
    unload(&x);
}

int main(void)
{
    environment_set_dirs(data_dirs());
    environment_set_dirs(data_dirs());
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_reasons) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
