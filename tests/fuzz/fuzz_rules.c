/* Files of rules as arbitrary bytes: refused with a reason, or every table can be asked. */
#include "cost/memory.h"
#include "dataset/stacks.h"
#include "fuzz.h"
#include <math.h>
#include <stdlib.h>

static void ask(const struct rules *r, double x, const char *text)
{
    struct rule_fact fact[RULES_MAX_KEYS];
    double late[RULES_MAX_KEYS];
    for (size_t k = 0; k < r->form->n_key; k++) {
        fact[k] = (struct rule_fact){ .number = x, .text = text };
        late[k] = x;
    }
    for (size_t t = 0; t < r->form->n_table; t++) {
        const struct rule *row = rules_first(r, t, rules_select(r, t, fact), late);
        if (row && !row->source[0])
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct rules_form *const forms[] = { &stacks_form, &memory_rules_form };
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        struct rules r;
        struct error err = { 0 };
        if (rules_parse(&r, forms[i], "input", data, size, &err) == 0) {
            ask(&r, NAN, NULL);
            ask(&r, 0, "");
            ask(&r, 1e6, "NVIDIA RTX-4090 - x ");
            rules_free(&r);
        } else if (err.kind == ERROR_NONE || !err.msg[0]) {
            abort(); /* a failure must say why */
        }
    }
    return 0;
}
