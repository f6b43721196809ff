/* The rows of `roofcast list stacks`: software, its fitted constants, and the machines it is the default for. */
#include "dataset/stacks.h"
#include "learn/constants.h"
#include "learn/software.h"
#include "report/list.h"
#include <math.h>
#include <string.h>

/* Common constant times the stack's effect, and the uncertainty of the effect; NaN: not measured. */
struct slot_figure {
    double value, spread;
};

struct stack_row {
    const char *name, *default_for, *source;
    uint32_t n_ubatch;
    uint64_t n_rows;
    bool fused;
    struct slot_figure launch, step;
    json_t *constants;
};

#define AT(m) COLUMN_AT(struct stack_row, m)
static const struct column columns[] = {
    { "name", "stack", COL_TEXT, NULL, COL_MAJOR, AT(name), EMPTY_VALUE, NULL, "for `--stack`" },
    { "n_ubatch", "tokens per pass", COL_INT, "tokens", COL_MAJOR, AT(n_ubatch), EMPTY_VALUE, NULL, "prompt tokens per pass, if a measurement does not say; 0: the "
      "whole prompt" },
    { "fused", NULL, COL_BOOL, NULL, COL_JSON, AT(fused), EMPTY_VALUE, NULL, "graphs or a compiler fuse the launches of a decode step" },
    { "n_rows", "rows", COL_INT, NULL, COL_MAJOR, AT(n_rows), EMPTY_VALUE, NULL, "measurements of its constants; 0: constants common to all stacks, with a wider "
      "interval" },
    { "launch_s", "launch", COL_SECONDS, "s", COL_MAJOR, AT(launch.value), EMPTY_NULL, NULL, "per op of a decode step, in addition to its roofs, on an "
      "average machine; null, as the next ones: not measured" },
    { "launch_spread", "*/ (1 SD)", COL_FLOAT, NULL, COL_MAJOR, AT(launch.spread), EMPTY_NULL, NULL, "uncertainty factor of the stack's effect, one "
      "standard deviation" },
    { "step_s", "step", COL_SECONDS, "s", COL_MAJOR, AT(step.value), EMPTY_NULL, NULL, "per pass of whole requests" },
    { "step_spread", "*/ (1 SD)", COL_FLOAT, NULL, COL_MAJOR, AT(step.spread), EMPTY_NULL, NULL, NULL },
    { "default_for", "default for", COL_TEXT, NULL, COL_MAJOR, AT(default_for), EMPTY_NULL, NULL, "machines for which it is the default" },
    { "source", NULL, COL_TEXT, NULL, COL_DATA, AT(source), EMPTY_NULL, NULL, "files that its constants were fitted to" },
    { "constants", NULL, COL_TEXT, NULL, COL_JSON, AT(constants), EMPTY_VALUE, "array of `list.stack.constant`", "the stack's effects" },
};
#undef AT
static const char order[] =
    "name n_rows n_ubatch launch_s launch_spread step_s step_spread default_for source";

/* Whether a constant is the stack's: "launch stack=vllm", "compute format=vllm 4 bits", "kv era=vllm before 2024-08" are vllm's, those of
* vllm-x are not. */
static bool is_of(const char *name, const char *stack)
{
    static const char *const dims[] = { " stack=", " format=", " era=" };
    for (size_t i = 0; i < ARRAY_LEN(dims); i++) {
        const char *at = strstr(name, dims[i]);
        const size_t n = strlen(stack);
        if (at && strncmp(at + strlen(dims[i]), stack, n) == 0 && strchr(" ", at[strlen(dims[i]) + n]))
            return true;
    }
    return false;
}

static const struct constant *find(const struct constants *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->c[i].name, name) == 0)
            return &c->c[i];
    return NULL;
}

static struct slot_figure slot_figure(const struct constants *c, enum time_parameter s, const char *stack)
{
    char name[96];
    snprintf(name, sizeof name, "%s stack=%s", time_parameter_name(s), stack);
    const struct constant *own = find(c, name), *all = find(c, time_parameter_name(s));
    return (struct slot_figure){ time_parameter_value(s, own && all ? own->value + all->value : NAN), own ? exp(own->sd) : NAN };
}

/* Of rates: whole requests, decode steps, prompts. */
static json_t *constants_json(const struct constants_file *f, const char *stack)
{
    json_t *list = json_array();
    for (int k = FITTED_RATE; k <= FITTED_PROMPT; k++)
        for (size_t i = 0; i < f->kind[k].n; i++) {
            const struct constant *c = &f->kind[k].c[i];
            if (is_of(c->name, stack))
                json_array_append_new(list, json_pack("{s:s, s:s, s:f, s:f, s:I}", "fit", fitted_kind_names[k], "name", c->name, "value", exp(c->value),
                                                      "spread", exp(c->sd), "n_rows", (json_int_t)c->n_row));
        }
    return list;
}

static void stack_row(struct table_rows *rows, const struct stack *s, const struct constants_file *f)
{
    const struct constants *requests = &f->kind[FITTED_RATE];
    char text[256], name[96];
    snprintf(name, sizeof name, "%s stack=%s", time_parameter_name(TIME_STEP), s->id);
    const struct constant *own = find(requests, name); /* requests, steps and prompts teach it (50) */
    struct stack_row *w = table_add(rows);
    software_default_for(s->id, text, sizeof text);
    w->name = s->id;
    w->n_ubatch = s->n_ubatch;
    w->fused = s->fused;
    w->n_rows = own ? own->n_row : 0;
    w->launch = slot_figure(&f->kind[FITTED_DECODE], TIME_LAUNCH, s->id);
    w->step = slot_figure(requests, TIME_STEP, s->id);
    w->default_for = table_text(rows, text);
    w->source = table_text(rows, requests->source);
    w->constants = table_keep_json(rows, constants_json(f, s->id));
}

static int add_rows(struct table_rows *rows, struct error *err)
{
    struct constants_file f = { 0 };
    const struct stack *s;
    struct error e = { 0 };
    if (stacks_load(err) != 0)
        return -1;
    if (constants_find(&f, "constants", &e) != 0 && e.kind != ERROR_UNAVAILABLE) {
        *err = e;
        return -1;
    }
    for (size_t i = 0; (s = stack_at(i)) != NULL; i++)
        stack_row(rows, s, &f);
    constants_free(&f);
    return 0;
}

const struct list list_stacks = { columns, ARRAY_LEN(columns), order, sizeof(struct stack_row), add_rows };
