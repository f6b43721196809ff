/*
 * workload.h: requests with their arrivals, lengths and the identity of their tokens. A workload does not change while it is simulated:
 * any number of simulations may read it at once.
 */
#ifndef SERVING_WORKLOAD_H
#define SERVING_WORKLOAD_H

#include "base/base.h"

#define PS_PER_S 1000000000000.0
enum { SERVE_NO_PARENT = UINT32_MAX }; /* a request that waits for no other */
/* Limits of what a request may state: a larger value is a mistake in the file. */
enum { SERVE_MAX_TOKENS = 1 << 26 };
#define SERVE_MAX_PS (UINT64_C(1) << 62) /* 53 days */

/* Tokens of n consecutive identities first, first + 1, ...: each names workload.run_tokens tokens. */
struct token_run {
    uint64_t first;
    uint32_t n;
};

/* Identities that no file gives: those of the tokens of a session, or of what a request shares with no other, by position. */
static inline uint64_t serve_workload_own_identity(uint32_t session)
{
    return (UINT64_C(1) << 63) | (uint64_t)session << 27;
}

enum serve_end {
    SERVE_END_LENGTH, /* n_out is the request's max_tokens, which the scheduler knows */
    SERVE_END_STOP,   /* the model ends it (EOS, stop string): the scheduler learns of it from the last token */
};

struct serve_request {
    uint64_t after_ps; /* arrival: since the start, or since the end of its parent */
    uint32_t parent;   /* index of an earlier request, the turn before it; SERVE_NO_PARENT */
    uint32_t n_in, n_out; /* tokens of the prompt; generated. At least 1 each */
    uint32_t run0, n_run; /* identity of its tokens from the first on, prompt and, as far as known, output: workload.run[run0 ...]; n_run
                             0: shared with no request */
    int32_t priority;     /* lower: earlier, where the policy has priorities */
    uint8_t end;          /* enum serve_end */
};

struct serve_workload {
    struct serve_request *r; /* by arrival: roots ascending by after_ps; a child stands after its parent */
    size_t n;
    struct token_run *run;
    size_t n_run;
    uint32_t run_tokens; /* tokens of an identity: 16, 64, 512; 0: no request has runs */
    char name[128];      /* for output: "azure-conv", "random:in=1024,out=128" */
};

/*
 * Makes a workload usable: checks every request. Roots stand in the order of their arrival, a child after its parent.
 *
 * line     where the requests come from: line[i] of file `from`; NULL: numbered from 1
 * errors   ERROR_INPUT  no request; n_in, n_out or after_ps out of range; a root due before the one above it; a parent that is
 *          no earlier request; runs that are not there
 */
int serve_workload_finish(struct serve_workload *w, const char *from, const uint32_t *line, struct error *err);
void serve_workload_free(struct serve_workload *w);
/* Appends a request; false: out of memory. *cap is the room of w->r, 0 at first. */
bool serve_workload_add(struct serve_workload *w, size_t *cap, const struct serve_request *r);
/* Likewise a run, of which a request's stand one after the other. */
bool serve_workload_add_run(struct serve_workload *w, size_t *cap, const struct token_run *run);

struct serve_workload_sum {
    uint64_t n_in, n_out;
    uint64_t first_arrival_ps, last_arrival_ps; /* of the roots */
    uint32_t most_in, most_out, most_tokens; /* n_in + n_out */
    size_t n_root;
    bool shared;              /* some requests have identities */
};
struct serve_workload_sum serve_workload_sum(const struct serve_workload *w);

#endif
