#!/bin/sh
# Every #include "module/file.h" under src/ must be allowed by layers.txt; a header called internal.h or ..._internal.h is its module's own.
cd "${top_srcdir:-.}" || exit 99
grep -rn '#include "[a-z0-9_]*/' src --include='*.[ch]' | awk -F: '
NR == FNR {
    if ($0 ~ /^#/) next
    n = split($2, d, " ")
    for (i = 1; i <= n; i++) allow[$1, d[i]] = 1
    allow[$1, $1] = 1; next
}
{
    split($1, p, "/"); me = p[2]; split($3, q, "\""); split(q[2], r, "/")
    if (!((me, r[1]) in allow)) bad("layer")
    else if (me != r[1] && r[2] ~ /internal\.h$/) bad("private header")
}
function bad(why) { print "# " $1 ":" $2 ": " why ": " q[2]; n_bad++ }
END { print (n_bad ? "not ok" : "ok") " 1 - includes follow tests/lint/layers.txt"; print "1..1"; exit n_bad > 0 }
' tests/lint/layers.txt -
