/* Addresses to listen on. */
#include "server/http_server.h"
#include <string.h>

const struct http_options http_default = {
    .address = "127.0.0.1",
    .port = 8080,
    .max_header_bytes = 16 << 10,
    .max_connections = 512,
    .request_s = 30,
    .idle_s = 75,
    .ping_s = 15,
};

int http_address_parse(struct http_options *o, char *buf, size_t size, const char *text, struct error *err)
{
    const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text, *start = text;
    size_t n = colon ? (size_t)(colon - text) : 0;
    int64_t number;
    if (n >= 2 && start[0] == '[' && start[n - 1] == ']') {
        start++;
        n -= 2;
    } else if (colon && memchr(text, ':', n)) {
        return error_set(err, ERROR_USAGE, "--http: expected [ADDR:]PORT, with an IPv6 address as [ADDR]:PORT, found \"%s\"", text);
    }
    if (n + 1 > size || (colon && n == 0))
        return error_set(err, ERROR_USAGE, "--http: expected [ADDR:]PORT, found \"%s\"", text);
    if (parse_int(port, 0, UINT16_MAX, "--http: the port", &number, err) != 0)
        return -1;
    o->port = (uint16_t)number;
    if (!colon)
        return 0;
    memcpy(buf, start, n);
    buf[n] = 0;
    o->address = buf;
    return 0;
}
