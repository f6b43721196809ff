/* Tokens/s of a model on a machine: predict [MODEL [MACHINE [TYPE]]] */
#include <roofcast/roofcast.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const struct roofcast_error *err)
{
    fprintf(stderr, "predict: %s: %s\n", roofcast_error_name(err->kind), err->message);
    return 1;
}

static void print_phase(const char *name, const struct roofcast_phase *p)
{
    printf("%-8s %9.1f tokens/s (90 %%: %.1f to %.1f), %.3g ms, %.0f FLOP/byte, %s-bound\n", name, p->tok_s, p->tok_s_low, p->tok_s_high,
           1e3 * p->seconds, roofcast_cost_ai(&p->cost), roofcast_bound_name(p->bound));
}

int main(int argc, char **argv)
{
    struct roofcast_error err;
    const char *data = getenv("ROOFCAST_DATA"); /* the library itself reads no environment */
    if (data && roofcast_set_data_dirs(&data, 1, &err) != 0)
        return fail(&err);

    struct roofcast_model *m = roofcast_model_load(argc > 1 ? argv[1] : "llama-3.1-8b", argc > 3 ? argv[3] : "Q4_K_M", &err);
    if (!m)
        return fail(&err);
    struct roofcast_machine *h = roofcast_machine_load(argc > 2 ? argv[2] : "rtx-4090", &err);
    if (!h)
        return fail(&err);

    struct roofcast_predict_options o;
    roofcast_predict_options_init(&o, sizeof o);
    o.n_prompt = 1024;
    struct roofcast_prediction *p = roofcast_predict(m, h, &o, &err);
    if (!p)
        return fail(&err);
    printf("%s %s on %s with %s\n", roofcast_model_info(m)->name, roofcast_model_info(m)->type, roofcast_machine_info(h)->name, p->stack);
    print_phase("prefill", p->prefill);
    print_phase("decode", p->decode);
    printf("memory   %9.2f GB of %.2f GB: %s\n", 1e-9 * p->need_bytes, 1e-9 * p->usable_bytes, p->fits == 1 ? "fits" : p->fits ? "unknown" : "does not fit");

    roofcast_prediction_free(p);
    roofcast_machine_free(h);
    roofcast_model_free(m);
    return 0;
}
