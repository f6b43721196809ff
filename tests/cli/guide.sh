#!/bin/sh
# The commands of doc/guide.md and doc/serving.md, run in one folder from top to bottom: each block prints what the text shows. A block "measured" has
# to run, and its first line is compared.
#   tests/cli/guide.sh --record     writes the output into the texts
. "${top_srcdir:?}/tests/cli/lib.sh"
if [ -n "${ROOFCAST_SANITIZED:-}" ]; then skip guide "a comparison of texts; other tests run these commands with sanitizers"; finish; fi
mkdir -p "$tmp/bin" "$tmp/work"
ln -s "$(cd "$(dirname "$ROOFCAST")" && pwd)/$(basename "$ROOFCAST")" "$tmp/bin/roofcast"
PATH=$tmp/bin:$PATH
# A text with what its commands print now.
now() { # FILE
    LC_ALL=C awk -v work="$tmp/work" '
        function finish_block() { if (command != "") { system("cd " work " && { " command "; } 2>&1 || echo \"(exit status $?)\"") ; command = "" } }
        /^```console/ { inside = 1; print; fflush(); next }
        /^```$/ && inside { inside = 0; print; fflush(); next }
        inside && /^\$ / { print; fflush(); command = substr($0, 3); finish_block(); next }
        inside { next }
        { print; fflush() }' "$1" | sed "s#$tmp/##g"
}
# A line a block: its first command, and its text; of a measured one the lines before the numbers.
blocks() { awk '/^```console/ { measured = /measured/; n++; lines = 0; next } /^```$/ { measured = -1; next } n && measured == 0 { print n ": " $0 } measured == 1 && (/^\$/ || /exit status/) { print n ": " $0 }' "$1"; }
for text in guide serving; do
    file=$top_srcdir/doc/$text.md
    now "$file" >"$tmp/now.md"
    if [ "${1-}" = --record ]; then
        cp "$tmp/now.md" "$file"
        continue
    fi
    blocks "$file" >"$tmp/want"
    blocks "$tmp/now.md" >"$tmp/have"
    n_block=$(grep -c '^```console' "$file")
    b=0
    while [ $b -lt "$n_block" ]; do
        b=$((b + 1))
        grep "^$b: " "$tmp/want" >"$tmp/out"
        grep "^$b: " "$tmp/have" >"$tmp/err"
        cmp -s "$tmp/out" "$tmp/err"
        ok $? "$text: $(sed -n 's/^[0-9]*: \$ //p' "$tmp/out" | head -n 1 | cut -c 1-60)"
    done
done
[ "${1-}" = --record ] || finish
