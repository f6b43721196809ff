/* label.h: names in buffers of a fixed size. */
#ifndef BASE_LABEL_H
#define BASE_LABEL_H

#include <stddef.h>

/*
 * out[size] becomes the text; where it has `size` bytes or more, its start and a hash of all of it, so that texts that differ stay different.
 * size: above 9
 */
void label_fit(char *out, size_t size, const char *text);

#endif
