#!/bin/sh
# Every row of mutants.txt applies to the tree and names tests that exist.
: "${top_srcdir:?run this by make check}"
echo "1..1"
if out=$(awk -v mode=check -v root="$top_srcdir" -f "$top_srcdir/tests/mutants/table.awk" "$top_srcdir/tests/mutants/mutants.txt"); then
    echo "ok 1 - $out mutants apply and name tests that exist"
else
    printf '%s\n' "$out" | sed "s|^$top_srcdir/|# |"
    echo "not ok 1 - mutants apply and name tests that exist"
    exit 1
fi
