/* Time to first token against the rate of requests: simulate [MODEL [MACHINE [TYPE [WORKLOAD]]]] */
#include <roofcast/roofcast.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const struct roofcast_error *err)
{
    fprintf(stderr, "simulate: %s: %s\n", roofcast_error_name(err->kind), err->message);
    return 1;
}

int main(int argc, char **argv)
{
    struct roofcast_error err;
    const char *data = getenv("ROOFCAST_DATA"); /* the library itself reads no environment */
    if (data && roofcast_set_data_dirs(&data, 1, &err) != 0)
        return fail(&err);
    struct roofcast_model *m = roofcast_model_load(argc > 1 ? argv[1] : "llama-3.1-8b", argc > 3 ? argv[3] : "BF16", &err);
    struct roofcast_machine *h = m ? roofcast_machine_load(argc > 2 ? argv[2] : "h100-sxm", &err) : NULL;
    struct roofcast_software *software = h ? roofcast_software_load("vllm", 0, &err) : NULL;
    if (!software)
        return fail(&err);

    struct roofcast_workload_options wo;
    roofcast_workload_options_init(&wo, sizeof wo);
    wo.rate = 1;
    struct roofcast_workload *w = roofcast_workload_load(argc > 4 ? argv[4] : "random:in=1024,out=128", &wo, &err);
    if (!w)
        return fail(&err);
    struct roofcast_server_options server;
    roofcast_server_options_init(&server, sizeof server);
    server.software = software;
    struct roofcast_simulate_options o;
    roofcast_simulate_options_init(&o, sizeof o);
    o.slo = "p99:ttft=1s,itl=50ms";

    printf("%8s %10s %10s %10s %10s %7s  %s\n", "rate", "tokens/s", "TTFT p99", "5 %", "95 %", "P(SLO)", o.slo);
    for (o.rate = 1; o.rate <= 64; o.rate *= 2) {
        struct roofcast_simulation *s = roofcast_simulate(m, h, w, &server, &o, &err);
        if (!s)
            return fail(&err);
        const struct roofcast_simulation_info *i = roofcast_simulation_info(s);
        const struct roofcast_metric *ttft = roofcast_simulation_find(s, "ttft_p99"); /* its model interval: what is not known of the machine */
        printf("%8g %10.1f %8.4f s %8.4f s %8.4f s %7.2f  %s\n", o.rate, roofcast_simulation_find(s, "output_throughput")->value, ttft->value,
               ttft->model_low, ttft->model_high, i->p_slo, roofcast_verdict_name(i->verdict));
        roofcast_simulation_free(s);
    }
    struct roofcast_capacity *c = roofcast_capacity_find(m, h, w, o.slo, &server, NULL, &err);
    if (!c)
        return fail(&err);
    printf("highest rate within %s: %.2f requests/s; with probability 0.9 %.2f, 0.1 %.2f\n", o.slo, c->rate, c->rate_90, c->rate_10);
    roofcast_capacity_free(c);
    roofcast_workload_free(w);
    roofcast_software_free(software);
    roofcast_machine_free(h);
    roofcast_model_free(m);
    return 0;
}
