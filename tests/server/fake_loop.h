/*
 * fake_loop.h: the loop of server/loop.h without an engine: from loop_new() to loop_free() a thread of its own hands each request its own prompt again, token by token, at a set pace.
 * Token i of an answer is token i % n_in of the prompt; an end token ends it.
 */
#ifndef TESTS_FAKE_LOOP_H
#define TESTS_FAKE_LOOP_H
#include "server/loop.h"

/* Seconds of a step; tokens a step (as of accepted drafts). */
void fake_loop_pace(struct loop *l, double step_s, uint32_t n_tok);
/* No steps until released. */
void fake_loop_hold(struct loop *l, bool hold);
/* The next step of every request fails: while the loop is held, the first one after. */
void fake_loop_fail(struct loop *l);
/* The last request, without its pointers. */
struct loop_request fake_loop_last(struct loop *l);
/* Its prompt [n_in]. */
const int32_t *fake_loop_prompt(struct loop *l);
/* Hit of the prefix cache that is told of each request. */
void fake_loop_hit(struct loop *l, uint32_t n_hit);
#endif
