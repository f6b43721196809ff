/* roofcast serve --draft: where drafts come from. */
#include "cli/cli.h"
#include "cli/serve.h"
#include "model/nextn.h"
#include <string.h>

/* The model's own layer, whose keys and values lie in the blocks of the model's. */
static int init_nextn(struct serve_setup *s, double *position_bytes, struct error *err)
{
    struct nextn x;
    if (nextn_check(&s->m, err) != 0 || nextn_init(&x, &s->m, err) != 0)
        return error_prefix(err, "--draft mtp");
    s->nextn = true;
    *position_bytes += serve_position_bytes(s, &x.ops);
    nextn_free(&x);
    return 0;
}

int serve_drafter_init(struct serve_setup *s, const struct serve_setup_options *o, double *position_bytes, struct error *err)
{
    enum { LONGEST = 5, SHORTEST = 2 };
    if (s->policy.num_speculative_tokens == 0)
        return o->draft || o->n_rate > 0 ? error_set(err, ERROR_USAGE, "--draft and --spec-synth-rates: expected --num-speculative-tokens, without which nothing "
                                                                       "is drafted")
                                         : 0;
    if (!o->draft && o->n_rate == 0)
        return error_set(err, ERROR_USAGE, "--num-speculative-tokens: expected --draft, the source of the drafts: ngram, mtp, or a GGUF file");
    s->ngram = (struct draft_ngram){ LONGEST, SHORTEST };
    if (!o->draft) {
        s->drafter = (struct drafter){ .propose = draft_repeat_propose };
        return 0;
    }
    if (strcmp(o->draft, "mtp") == 0)
        return init_nextn(s, position_bytes, err);
    if (strcmp(o->draft, "ngram") == 0) {
        s->drafter = (struct drafter){ .ctx = &s->ngram, .propose = draft_ngram_propose };
        s->policy.look_ahead = 0; /* as vLLM: slots of look-ahead are of models that draft */
        return 0;
    }
    if (setup_model_open(&s->draft, o->draft, err) != 0)
        return error_prefix(err, "--draft");
    return draft_model_check(&s->draft, &s->m, err);
}

/* As many positions as the target's pool has, or as all sequences take; each may leave a block begun, and drafts. */
static uint64_t draft_blocks(const struct serve_setup *s, uint32_t n_ctx)
{
    const struct policy *p = &s->policy;
    const uint64_t whole = u64_ceil_div(n_ctx, s->block_size) * p->max_num_seqs;
    return u64_min(whole, s->n_block / p->n_group + (uint64_t)p->max_num_seqs * (1 + u64_ceil_div(p->num_speculative_tokens, s->block_size)));
}

static int start_nextn(struct serve_setup *s, struct error *err)
{
    char bytes[32], packed[32];
    struct draft_mtp *d = draft_mtp_new(s->e, &s->m, err);
    if (!d)
        return error_prefix(err, "--draft mtp");
    s->drafter = draft_mtp_drafter(d);
    units_si(bytes, sizeof bytes, (double)engine_kv_bytes(draft_mtp_engine(d)), "B");
    units_si(packed, sizeof packed, (double)engine_packed_bytes(draft_mtp_engine(d), NULL), "B");
    notify_note("multi-token prediction: a KV cache of %s of its own, packed weights of %s", bytes, packed);
    return 0;
}

int serve_draft_engine_init(struct serve_setup *s, struct error *err)
{
    const struct policy *p = &s->policy;
    char bytes[32], packed[32];
    if (s->nextn)
        return start_nextn(s, err);
    if (!s->draft.name[0])
        return 0;
    const uint32_t n_ctx = p->max_model_len + p->num_speculative_tokens;
    const struct draft_model_options o = { .engine = setup_engine_options(&s->machine, &s->engine), .n_ctx = n_ctx, .n_seq = engine_options(s->e)->n_seq,
                                           .n_tok = engine_options(s->e)->n_ubatch, .n_block = (uint32_t)draft_blocks(s, n_ctx), .block_size = s->block_size };
    struct draft_model_options shared = o;
    shared.engine.team_of = s->e;
    if (s->draft.hp.n_ctx_train < p->max_model_len)
        notify_note("the draft model %s was trained on %u positions, max-model-len is %u", s->draft.name, s->draft.hp.n_ctx_train, p->max_model_len);
    struct draft_model *d = draft_model_new(&s->draft, &shared, err);
    if (!d)
        return error_prefix(err, "--draft");
    s->drafter = draft_model_drafter(d);
    units_si(bytes, sizeof bytes, (double)engine_kv_bytes(draft_model_engine(d)), "B");
    units_si(packed, sizeof packed, (double)engine_packed_bytes(draft_model_engine(d), NULL), "B");
    notify_note("draft model %s: a KV cache of %s of its own, packed weights of %s", s->draft.name, bytes, packed);
    return 0;
}
