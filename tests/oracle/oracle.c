/*
 * Single ops of the engine's plan, run under valgrind's callgrind, whose simulated caches and instruction counter look at
 * nothing but the op: what it really moves and executes, beside what cost.c and levels.c say of the same struct op.
 *   oracle D1_BYTES LL_BYTES packed|file|others|prompts MODEL.gguf...
 * A line of tab-separated figures an op on stdout (oracle.h); callgrind writes a dump of the same name for each, and one
 * more for what the op left dirty in the last cache. tests/oracle/check.sh puts them together.
 */
#include "config.h"
#include "engine/internal.h"
#include "oracle.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>

enum { SEVERAL = 4 }; /* models whose products are run with several tokens too: the first ones */

struct bench {
    const struct model *m;
    struct engine *e;
    double d1_bytes, ll_bytes;
    unsigned char *sweep; /* twice: before an op, so that nothing of it is cached, and after it, so that nothing stays */
    size_t sweep_bytes;
    int32_t *tokens;
};

static int fail(const struct error *err)
{
    fprintf(stderr, "oracle: %s\n", err->msg);
    exit(2);
}

/* Reads of memory that nobody wrote: they push all else out of the caches, dirty lines to memory. */
static void sweep(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i += 64)
        (void)*(const volatile unsigned char *)(p + i);
}

/* Numbers that no kernel takes a shortcut for. */
static void fill(float *x, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(int32_t)seed * 0x1p-31f;
    }
}

static void open_engine(struct bench *b, const struct model *m, uint32_t n_ctx, uint32_t n_ubatch, bool packed)
{
    struct error err = { 0 };
    const struct engine_options o = { .n_ctx = n_ctx, .n_ubatch = n_ubatch, .n_out_max = 1, .n_threads = 1,
                                      .cpu_flags = cpu_flags(), .no_repack = !packed, .type_k = DTYPE_F16,
                                      .type_v = DTYPE_F16 };
    b->m = m;
    if (!(b->e = engine_new(m, &o, &err)))
        fail(&err);
    engine_profile(b->e, true); /* nothing is fused */
    for (int i = 0; i < BUF_COUNT; i++)
        if (b->e->buf[i])
            fill(b->e->buf[i], (size_t)(i == BUF_LOGITS ? 1 : n_ubatch) * b->e->ops.width[i], (uint32_t)i);
    fill(b->e->thread[0].row, b->e->ops.width[BUF_NORM], 1); /* where a thread keeps a norm of its own */
    b->tokens = calloc(n_ubatch, sizeof *b->tokens);
    for (uint32_t t = 0; b->tokens && t < n_ubatch; t++)
        b->tokens[t] = (int32_t)(t * 7919u % m->hp.n_vocab);
}

static void close_engine(struct bench *b)
{
    engine_free(b->e);
    free(b->tokens);
    b->e = NULL;
}

/* The pass that an op is part of, as src/engine/pass.c sets it up: one sequence. */
static void set_pass(struct engine *e, const int32_t *tokens, struct pass p)
{
    e->run[0] = (struct engine_run){ 0, p.n_past, p.n_tok, .n_out = 1 };
    e->run_first[0] = 0;
    memset(e->run_of, 0, p.n_tok * sizeof *e->run_of);
    e->out_row[0] = p.n_tok - 1;
    e->n_run = 1;
    e->tokens = tokens;
    e->pass = p;
}

static size_t op_index(const struct engine *e, enum op_role role)
{
    for (size_t i = 0; i < e->ops.n; i++)
        if (e->ops.ops[i].role == role)
            return i;
    fprintf(stderr, "oracle: no op of role %s\n", op_role_name(role));
    exit(2);
}

static exec_fn *exec_of(enum op_kind k)
{
    static exec_fn *const execs[OP_KIND_COUNT] = {
        [OP_EMBED] = exec_embed,       [OP_RMS_NORM] = exec_norm, [OP_MATMUL] = exec_matmul,       [OP_ROPE] = exec_rope,
        [OP_KV_STORE] = exec_kv_store, [OP_GLU] = exec_glu,       [OP_ATTENTION] = exec_attention, [OP_ADD] = exec_add,
    };
    return execs[k];
}

static void run_op(struct bench *b, const char *name, enum op_role role, struct pass p)
{
    struct engine *e = b->e;
    const size_t i = op_index(e, role);
    const struct op *op = &e->ops.ops[i];
    exec_fn *const exec = exec_of(op->kind);
    char drain[128];
    struct error err = { 0 };
    set_pass(e, b->tokens, p);
    memset(e->thread[0].work, 0, e->ops.n * sizeof *e->thread[0].work);
    atomic_store(&e->thread[0].next[i], 0);
    snprintf(drain, sizeof drain, "%s: left", name);
    CALLGRIND_START_INSTRUMENTATION;
    sweep(b->sweep, b->sweep_bytes);
    CALLGRIND_TOGGLE_COLLECT;
    exec(e, i, &e->thread[0].work[i], 0, 1);
    CALLGRIND_DUMP_STATS_AT(name);
    sweep(b->sweep + b->sweep_bytes, b->sweep_bytes);
    CALLGRIND_DUMP_STATS_AT(drain);
    CALLGRIND_TOGGLE_COLLECT;
    CALLGRIND_STOP_INSTRUMENTATION;
    if (oracle_price(name, op, &p, b->d1_bytes, b->ll_bytes, &err) != 0)
        fail(&err);
}

/* Of one token and, of some types, of eight. */
static void products(struct bench *b, const struct model *m, bool packed, bool several)
{
    char name[96];
    open_engine(b, m, 64, 8, packed);
    const char *type = dtype_name(b->e->ops.ops[op_index(b->e, ROLE_FFN_GATE)].w->type);
    snprintf(name, sizeof name, "matvec %s %s", type, packed ? "packed" : "file");
    run_op(b, name, ROLE_FFN_GATE, (struct pass){ 1, 0, 1, 1 });
    snprintf(name, sizeof name, "matmat %s %s", type, packed ? "packed" : "file");
    if (several)
        run_op(b, name, ROLE_FFN_GATE, (struct pass){ 8, 0, 1, 1 });
    close_engine(b);
}

/* What is not a product of the block: with as many tokens, or keys, as fill a cache. */
static void others(struct bench *b, const struct model *m)
{
    enum { N_TOK = 512, N_PAST = 6000 };
    const struct pass many = { N_TOK, 0, 1, 1 };
    open_engine(b, m, N_PAST + 1, N_TOK, true);
    engine_fill_kv(b->e, N_PAST);
    run_op(b, "embedding", ROLE_EMBED, many);
    run_op(b, "rms norm", ROLE_ATTN_NORM, many);
    run_op(b, "rope", ROLE_ATTN_ROPE, many);
    run_op(b, "kv store", ROLE_KV_STORE, many);
    run_op(b, "attention decode", ROLE_ATTN_CORE, (struct pass){ 1, N_PAST, 1, 1 });
    run_op(b, "gated activation", ROLE_FFN_ACT, many);
    run_op(b, "residual", ROLE_FFN_RESIDUAL, many);
    run_op(b, "logits", ROLE_LM_HEAD, (struct pass){ 1, 0, 1, 1 });
    close_engine(b);
}

/* Prompts, where the order of the walk decides what comes back from which cache: a head's keys and what else its tokens touch take
 * 1.25 times the smaller caches of check.sh. */
static void prompts(struct bench *b, const struct model *m)
{
    enum { N_PAST = 320 };
    open_engine(b, m, 1024, 64, true);
    run_op(b, "prompt product", ROLE_ATTN_OUTPUT, (struct pass){ 64, 0, 1, 1 });
    engine_fill_kv(b->e, N_PAST);
    run_op(b, "prompt attention", ROLE_ATTN_CORE, (struct pass){ 64, N_PAST, 1, 1 });
    close_engine(b);
}

/* Who compiled the kernels, and the flags that change instructions. */
static void print_build(void)
{
    static const char flags[] = ROOFCAST_CFLAGS;
    struct kernels k;
    kernels_init(&k, cpu_flags());
    printf("# isa\t%s\n# compiler\t%s", k.isa, ROOFCAST_CC);
    for (const char *p = flags; (p = strchr(p, '-')); p++)
        if ((p == flags || p[-1] == ' ') && strchr("Ofm", p[1]))
            printf(" %.*s", (int)strcspn(p, " "), p);
    printf("\n");
}

int main(int argc, char **argv)
{
    struct bench b = { 0 };
    struct error err = { 0 };
    if (argc < 5)
        return 2;
    b.d1_bytes = atof(argv[1]);
    b.ll_bytes = atof(argv[2]);
    b.sweep_bytes = 2 * (size_t)b.ll_bytes;
    b.sweep = calloc(2, b.sweep_bytes);
    print_build();
    for (int i = 4; b.sweep && i < argc; i++) {
        struct model m = { 0 };
        if (model_load(&m, argv[i], NULL, &err) != 0)
            fail(&err);
        if (strcmp(argv[3], "others") == 0)
            others(&b, &m);
        else if (strcmp(argv[3], "prompts") == 0)
            prompts(&b, &m);
        else
            products(&b, &m, strcmp(argv[3], "packed") == 0, i < 4 + SEVERAL);
        model_free(&m);
    }
    free(b.sweep);
    return 0;
}
