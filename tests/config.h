/* A model of a config.json's text. */
#ifndef TESTS_ROOFLINE_CONFIG_H
#define TESTS_ROOFLINE_CONFIG_H
#include "tests/test.h"
#include "model/model.h"

static struct model from_config(const char *text, const char *type)
{
    struct model m;
    struct hparams hp;
    const char *arch;
    struct error err = { 0 };
    assert_ok(model_parse_config("test", text, strlen(text), &hp, &arch, &err), err);
    assert_ok(model_from_hparams(&m, "test", arch, &hp, type, &err), err);
    return m;
}
#endif
