#!/bin/sh
# Every mutant (run.sh) still applies to the tree and names a test that exists: cheap enough for make check.
set -u
: "${top_srcdir:?run this by make check}"
if ! command -v patch >/dev/null; then
    echo "1..0 # SKIP patch is not installed"
    exit 0
fi

# Why a patch is no mutant; nothing when it is one.
fault() {
    tests=$(sed -n '1s/.*[^ ]. Killed by: *//p' "$1")
    [ -n "$tests" ] || { echo "its first line is not \"MISTAKE. Killed by: TEST...\""; return; }
    for t in $tests; do
        case $t in
        *.sh) [ -f "$top_srcdir/$t" ] ;;
        *:*) grep -q "[(]${t#*:}[,)]" "$top_srcdir/${t%:*}.c" ;;
        *) [ -f "$top_srcdir/$t.c" ] ;;
        esac || echo "there is no test $t"
    done
    patch -s -f -p1 --dry-run -d "$top_srcdir" <"$1" >/dev/null 2>&1 || echo "it does not apply to the tree"
}

n=0 faults=
for p in "$top_srcdir"/tests/mutants/*.patch; do
    n=$((n + 1))
    why=$(fault "$p")
    [ -z "$why" ] || faults="$faults$(basename "$p"): $why
"
done
echo "1..1"
if [ -z "$faults" ]; then
    echo "ok 1 - $n mutants apply and name tests that exist"
else
    echo "not ok 1 - $n mutants apply and name tests that exist"
    printf '%s' "$faults" | sed 's/^/# /'
    exit 1
fi
