/* html_svg.h: a picture that gnuplot wrote, for a page: a fixed set of elements and attributes, no scripts, links or styles. */
#ifndef REPORT_HTML_SVG_H
#define REPORT_HTML_SVG_H

#include "base/base.h"

/*
 * data     [n] SVG
 * prefix   of all ids and of references to them, so that several pictures stand in one page: letters, digits, dashes
 * attributes   of the root element, written as they are: ` role="img" aria-label="..."`
 * *out     elements of a fixed list with their texts; others, comments, handlers, references that leave the picture and style attributes are left out
 * errors   ERROR_INPUT  no <svg>, a tag that does not end, tags that do not match, or more than 64 levels; out of memory
 */
int html_svg_clean(struct strbuf *out, const char *data, size_t n, const char *prefix, const char *attributes, struct error *err);

#endif
