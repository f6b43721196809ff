/* sha256.h: a hash that browsers know, and its text. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>

/* SHA-256. Source: FIPS 180-4, 6.2 */
void sha256(unsigned char out[static 32], const void *data, size_t n);
/* Base64 with padding (RFC 4648, 4), NUL-terminated; out has room for 4 * ceil(n / 3) + 1. */
void base64(char *out, const unsigned char *data, size_t n);

#endif
