#include "base/exchange.h"

static const struct {
    const char *op;
    int n_tok;
} kinds[EXCHANGE_COUNT] = {
    [EXCHANGE_READ_FEW] = { "exchange-read", EXCHANGE_FEW },     [EXCHANGE_READ_MANY] = { "exchange-read", EXCHANGE_MANY },
    [EXCHANGE_WRITE_FEW] = { "exchange-write", EXCHANGE_FEW },   [EXCHANGE_WRITE_MANY] = { "exchange-write", EXCHANGE_MANY },
    [EXCHANGE_MEET] = { "barrier", 0 },
};

const char *exchange_op(enum exchange_kind k)
{
    return kinds[k].op;
}

int exchange_tokens(enum exchange_kind k)
{
    return kinds[k].n_tok;
}
