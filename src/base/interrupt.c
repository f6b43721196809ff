/* SIGINT and SIGTERM set a flag that long loops look at; a second one ends the process. */
#include "base/base.h"
#include <signal.h>
#include <string.h>

static volatile sig_atomic_t pending;

static void on_signal(int sig)
{
    pending = 1;
    signal(sig, SIG_DFL);
}

void interrupt_install(void)
{
    struct sigaction sa;
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = on_signal;
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
}

int interrupt_check(struct error *err)
{
    return pending ? error_set(err, ERROR_INTERRUPTED, "interrupted") : 0;
}
