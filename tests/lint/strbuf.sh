#!/bin/sh
# A finished strbuf is read by strbuf_text(), which is where a missing piece shows: "b.s ? b.s : ..." would pass it off as a
# shorter text.
cd "${top_srcdir:-.}" || exit 99
grep -rnE '[.>]s \? [a-z_>.-]*[.>]s\b' src --include='*.[ch]' | awk '
    /^src\/base\/strbuf\.c:/ || /l->buf\.s \+ l->at/ { next } # strbuf_text() itself; a part of a text, looked at before
    { print "# " $0; bad++ }
    END { print (bad ? "not ok" : "ok") " 1 - finished strings are read by strbuf_text()"; print "1..1"; exit bad > 0 }'
