/* request.h: a request from its first byte to its last token, its energy and its cost. methods.md (49) */
#ifndef PREDICT_REQUEST_H
#define PREDICT_REQUEST_H

#include "predict/predict.h"

struct request {
    uint32_t n_in, n_out; /* tokens of the prompt, and generated; each at least 1 */
};

struct request_result {
    struct predict_result r; /* the prompt, and the mean of the n_out - 1 decode steps after it; .decode.seconds NaN when there are none */
    struct prediction total; /* first byte to last token; tok_s: generated tokens over it, of all sequences */
};

/* o: as for predict(), whose n_prompt and n_gen are not used. */
int predict_request(struct request_result *q, const struct model *m, const struct hwprofile *h,
                    const struct predict_options *o, const struct request *request, struct error *err);

/* Power and price of a device in use; NaN and "": unknown. */
struct running {
    double power_w, price_usd_h;
    char power_source[400], price_source[192];
};

/* power_w, price_usd_h: in place of the profile's, NaN: the profile's. */
struct running running_of(const struct hwprofile *h, double power_w, double price_usd_h);
/* With a part of the model on a host: its TDP too, unless power_w (as above) is given; without one power_source says that it is missing. */
void running_add_host(struct running *w, double power_w, const struct hwprofile *gpu, const struct hwprofile *host);
double running_j(const struct running *w, uint32_t n_devices, double seconds);
double running_usd(const struct running *w, uint32_t n_devices, double seconds);

#endif
