/* html_write_internal.h: between the files that write a page as HTML (html_write_table.c). */
#ifndef REPORT_HTML_WRITE_INTERNAL_H
#define REPORT_HTML_WRITE_INTERNAL_H

#include "report/html_write.h"

/* A text as svg_add_escaped() writes it; cleaned before, where it is a struct's or a file's. */
void html_add_text(struct strbuf *b, const char *s);
/* The same, cleaned by page_clean(). */
void html_add_unclean(struct strbuf *b, const char *s);
/* A block's text: its figures with their provenance. */
void html_add_figures(struct strbuf *b, const struct strbuf *text);
/* The table of a PAGE_TABLE block. */
void html_add_table(struct strbuf *b, const struct page_block *x);

#endif
