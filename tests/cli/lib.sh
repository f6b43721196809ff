# What the command-line tests share. Sourced: . "${top_srcdir:?}/tests/cli/lib.sh"
# $tmp is a folder of this test's own; run fills $tmp/out, $tmp/err and $status.
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
n=0 bad=0
: "${ROOFCAST:?}"
: >"$tmp/out" >"$tmp/err"
ok() { # STATUS NAME
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else
        echo "not ok $n - $2"
        sed 's/^/# /' "$tmp/out" "$tmp/err" | cut -c 1-200 | head -n 20
        bad=1
    fi
}
skip() { # NAME REASON
    n=$((n + 1))
    echo "ok $n - $1 # SKIP $2"
}
run() { # ARGS...
    "$ROOFCAST" "$@" >"$tmp/out" 2>"$tmp/err"
    status=$?
}
# refused STATUS TEXT ARGS...: that exit status, TEXT on standard error, nothing on standard output.
refused() {
    want=$1 text=$2
    shift 2
    run "$@"
    [ "$status" -eq "$want" ] && [ ! -s "$tmp/out" ] && grep -qF -- "$text" "$tmp/err"
    ok $? "refused with $want: $text"
}
# figure KEY [FILE]: the first number of a JSON field, without jq.
figure() {
    sed -n 's/.*"'"$1"'": *\([-+0-9.eE]*\).*/\1/p' "${2:-$tmp/out}" | head -n 1
}
holds() { # AWK-CONDITION NAME
    awk "BEGIN { exit !($1) }"
    ok $? "$2"
}
finish() {
    echo "1..$n"
    exit $bad
}
