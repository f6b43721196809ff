/* fuzz_events.c: any bytes as a file of events; what is accepted keeps what its header promises. */
#include "fuzz.h"
#include "counters/events.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct cpu_kind k = { .vendor = "GenuineIntel", .family = 6, .model = 85, .stepping = 4 };
    struct event_file f;
    struct error err = { 0 };
    if (event_file_parse(&f, "fuzz.json", data, size, &err) != 0) {
        if (err.kind == ERROR_NONE || !err.msg[0] || f.event)
            abort(); /* a failure that says nothing, or leaves something */
        return 0;
    }
    for (size_t i = 0; i < f.n_event; i++) {
        const struct event_def *e = &f.event[i];
        if (!e->name[0] || !e->source[0] || !(e->scale > 0) || !e->config[0] == !e->sysfs_event[0] ||
            (unsigned)e->field >= COUNTER_FIELD_COUNT)
            abort();
    }
    if (event_file_counters(&f, "core") < 1)
        abort();
    event_file_matches(&f, &k);
    event_file_free(&f);
    return 0;
}
