#!/bin/sh
# What every command prints on fixed inputs, held against tests/golden/out: byte for byte, but for the last digits of numbers (the C library's
# exp() and log() differ in them between CPUs).
#   tests/golden/golden.sh --record [NAME...]    writes the expected output anew; the diff shows what changed
# Set: ROOFCAST (the program) and top_srcdir, as `make check` does.
set -u
[ -z "${ROOFCAST_SANITIZED:-}" ] || { echo "1..0 # SKIP a comparison of texts; other tests run these commands with sanitizers"; exit 0; }
: "${ROOFCAST:?}" "${top_srcdir:?run this by make check}"
case $ROOFCAST in /*) ;; *) ROOFCAST=$PWD/$ROOFCAST ;; esac
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
cd "$top_srcdir" || exit 99
export ROOFCAST ROOFCAST_DATA=. ROOFCAST_PROFILE="$tmp/this.json" XDG_DATA_HOME="$tmp/share" LC_ALL=C TERM=dumb
unset COLUMNS ROOFCAST_CONSTANTS
record=
[ "${1-}" = --record ] && { record=1; shift; mkdir -p tests/golden/out; }
wanted=" $* "
F=tests/fixtures/measure
echo '1 15 298 29 150 102 33 26 124 31 27 31 32 27 93 31 27 190 29 45 93 134 33 130 37 29 27 147 30 48 37 29 1 2' >"$tmp/ids"

# run NAME ARGS...: standard output, standard error where there is one, the status where it is not 0
print_case() {
    case $1 in
    @*) sh -c "${1#@ }" 2>&1 ;;
    *) eval "set -- $1"; "$ROOFCAST" "$@" 2>"$tmp/all" </dev/null ;;
    esac
    status=$?
    grep -vx 'deployments\|probabilities' "$tmp/all" >"$tmp/err" # progress: lines that depend on the time
    : >"$tmp/all"
    [ ! -s "$tmp/err" ] || { echo "--- standard error"; cat "$tmp/err"; }
    [ $status -eq 0 ] || echo "--- status $status"
    : >"$tmp/err"
}

# Two files whose lines are the same but for numbers that agree to 9 digits.
alike() {
    cmp -s "$1" "$2" && return 0
    awk -v other="$2" '
        function number(s) { return s ~ /^-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?$/ }
        function close_to(a, b) { return a - b <= 1e-9 * (a < 0 ? -a : a) && b - a <= 1e-9 * (a < 0 ? -a : a) }
        {
            if ((getline line < other) <= 0) { bad = 1; exit }
            if (line == $0) next
            n = split($0, a, /[ ,:\t|]+/)
            if (split(line, b, /[ ,:\t|]+/) != n) { bad = 1; exit }
            for (i = 1; i <= n; i++)
                if (a[i] != b[i] && !(number(a[i]) && number(b[i]) && close_to(a[i] + 0, b[i] + 0))) { bad = 1; exit }
        }
        END { if (!bad && (getline line < other) > 0) bad = 1; exit bad }' "$1"
}

n=0 bad=0
: >"$tmp/err"
: >"$tmp/all"
while read -r name args; do
    case $name in '' | '#'*) continue ;; esac
    args=$(printf '%s\n' "$args" | sed "s#\bF/#$F/#g; s#\bT/#$tmp/#g")
    print_case "$args" >"$tmp/raw"
    sed "s#$tmp/#T/#g" "$tmp/raw" >"$tmp/now"
    case "$wanted" in '  ' | *" $name "*) ;; *) continue ;; esac
    [ -z "$record" ] || cp "$tmp/now" "tests/golden/out/$name"
    n=$((n + 1))
    if alike "tests/golden/out/$name" "$tmp/now"; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name"
        diff "tests/golden/out/$name" "$tmp/now" 2>&1 | cut -c 1-200 | head -n 10 | sed 's/^/# /'
        bad=1
    fi
done <tests/golden/cases.txt
echo "1..$n"
exit $bad
