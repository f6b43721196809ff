/* lists.h: lists of numbers and texts in option syntax. */
#ifndef BASE_LISTS_H
#define BASE_LISTS_H

#include "base/base.h"

/* "512,128", "1-128*2", "0-8192+1024" -> values; each in [lo, hi], else ERROR_USAGE naming `what`. */
struct int_list {
    int64_t *v;
    size_t n;
};
int int_list_parse(struct int_list *l, const char *s, int64_t lo, int64_t hi, const char *what,
                   struct error *err);
void int_list_free(struct int_list *l);
int64_t int_list_largest(const struct int_list *l); /* 0: none is above 0 */
/* "a, b,c" split at commas, without blanks around items (empty items are an error); free with str_list_free. */
struct str_list {
    char **v;
    size_t n;
};
int str_list_parse(struct str_list *l, const char *s, const char *what, struct error *err);
void str_list_free(struct str_list *l);

#endif
