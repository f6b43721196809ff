#include "cli/cli.h"

int cmd_synth(int argc, char **argv, struct error *err)
{
    (void)argc, (void)argv;
    return error_set(err, ERROR_UNAVAILABLE, "placeholder");
}
