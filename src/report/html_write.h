/* html_write.h: a page as one HTML file, or as Markdown with its pictures next to it. */
#ifndef REPORT_HTML_WRITE_H
#define REPORT_HTML_WRITE_H

#include "report/html_page.h"
#include "report/html_step.h"

/* Most bytes of a page, and of all pictures in it. */
enum { PAGE_BYTES = 3000000, PAGE_SVG_BYTES = 1400000 };

/*
 * page.html of reports/html with the page's blocks, page.css and page.js, and where `step` is not NULL step.css and step.js. The content security policy
 * allows these scripts and styles by their SHA-256 and nothing else.
 *
 * errors   ERROR_INPUT  no data directory has a template, or one lacks a mark; a file that is larger than PAGE_BYTES; a write error
 */
int html_write(FILE *f, const struct page *p, const struct html_step *step, struct error *err);
/* Tables as pipes, figures without their provenance, pictures as links to page_chart.file. */
int markdown_write(FILE *f, const struct page *p, struct error *err);

#endif
