/*
 * answer.h: the answer to one request, between the loop's thread, which adds tokens, and a thread that sends the bytes. Both hold it (answer_free
 * by each); the loop's part frees itself after the last token.
 */
#ifndef SERVER_ANSWER_H
#define SERVER_ANSWER_H

#include "server/api_reply.h"
#include "server/prompt.h"

/* A client that reads slower than tokens come is dropped when as much is unread. */
enum { ANSWER_MAX_UNREAD = 4 << 20 };

struct answer;
/* Called with the answer locked, on any thread, when there is something new: it may not call functions of the answer. */
typedef void answer_wake_fn(void *ctx);

/* Where a reader stands. */
enum answer_state {
    ANSWER_WAITING, /* nothing to read now; wake will be called */
    ANSWER_BYTES,
    ANSWER_END,     /* all was read */
    ANSWER_GONE,    /* aborted: close the connection */
};

/*
 * Takes over *r (also on error), encodes its prompt and submits it to the loop. m, l outlive the answer. seed: of the sampler, where r has none.
 *
 * errors   NULL and *e: 400 prompt or parameters, 503 the queue is full or the server drains, 500
 */
struct answer *answer_new(struct api_request *r, const struct served_model *m, struct loop *l, uint64_t seed, struct api_error *e);
/* The reader's part: aborts what still runs. */
void answer_free(struct answer *a);
void answer_set_wake(struct answer *a, answer_wake_fn *wake, void *ctx);
bool answer_streams(const struct answer *a);

/* Takes up to max bytes; *n of ANSWER_BYTES. parked (with ANSWER_WAITING, may be NULL) is called locked, before wake can be. */
enum answer_state answer_read(struct answer *a, char *buf, size_t max, size_t *n, answer_wake_fn *parked, void *ctx);
/* Of an answer that does not stream: complete (ANSWER_BYTES, then read it whole; *status: HTTP), ANSWER_WAITING or ANSWER_GONE. */
enum answer_state answer_complete(struct answer *a, int *status, size_t *n_bytes, answer_wake_fn *parked, void *ctx);
/* The client hung up. */
void answer_abort(struct answer *a);
/* A stream that has been silent since before now_s - silence_s gets a comment, which keeps proxies from closing it. */
void answer_ping(struct answer *a, double now_s, double silence_s);

#endif
