#include "cli/cli.h"

int cmd_tokenize(int argc, char **argv, struct error *err)
{
    (void)argc, (void)argv;
    return error_set(err, ERROR_UNAVAILABLE, "placeholder");
}
