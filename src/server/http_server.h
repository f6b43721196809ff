/*
 * http_server.h: the OpenAI-compatible HTTP server over a loop: two threads, one of libmicrohttpd for connections, one that prepares requests
 * and watches for clients that hang up. Endpoints, fields and statuses: doc/formats.md, "HTTP API".
 */
#ifndef SERVER_HTTP_SERVER_H
#define SERVER_HTTP_SERVER_H

#include "server/prompt.h"

enum { HTTP_MAX_CONNECTIONS = 1 << 16 };

struct http_options {
    const char *address;      /* a numeric address, or localhost */
    uint16_t port;            /* 0: any free one, http_server_port() */
    const char *api_key;      /* NULL: none; else every endpoint but /health asks for "Authorization: Bearer KEY" */
    size_t max_body_bytes;    /* 413 beyond; 0: 1 MiB and 64 bytes a token of the context */
    size_t max_header_bytes;  /* 431 beyond; at most 48 KiB */
    uint32_t max_connections; /* 503 beyond */
    double request_s;         /* time for a request to arrive: 408 beyond */
    double idle_s;            /* time without a byte, between requests or of a client that does not read; then the connection closes */
    double ping_s;            /* silence after which a stream gets a comment */
};
/* 127.0.0.1:8080, 16 KiB of headers, 512 connections, 30 s, 75 s, 15 s. */
extern const struct http_options http_default;

/* "[ADDR:]PORT", "[ADDRESS OF IPv6]:PORT". The address is copied to buf. errors: ERROR_USAGE */
int http_address_parse(struct http_options *o, char *buf, size_t size, const char *text, struct error *err);

struct http_server;
/*
 * Listens and serves. The loop, what the model points to and the options' texts outlive the server; a request of it that still runs ends by itself.
 * errors   ERROR_UNAVAILABLE  built without libmicrohttpd; ERROR_SYSTEM  the address, names it
 */
struct http_server *http_server_new(const struct http_options *o, const struct served_model *m, struct loop *l, struct error *err);
uint16_t http_server_port(const struct http_server *s);
/* No more requests: 503 for new ones, /health too; the running ones go on. Calls loop_drain(). Any thread. */
void http_server_drain(struct http_server *s);
/* No request runs and every answer was sent. */
bool http_server_idle(struct http_server *s);
/* Closes every connection, aborts what runs. */
void http_server_free(struct http_server *s);

#endif
