# What the command-line tests share. Sourced: . "${top_srcdir:?}/tests/cli/lib.sh"
# $tmp is a folder of this test's own; run fills $tmp/out, $tmp/err and $status.
: "${ROOFCAST:?}"
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
ROOFCAST_PROFILE=$tmp/this.json XDG_DATA_HOME=$tmp/share # not the developer's
export ROOFCAST_PROFILE XDG_DATA_HOME
n=0 bad=0 status=0
touch "$tmp/out" "$tmp/err"
exec </dev/null
ok() { # STATUS NAME
    n=$((n + 1))
    set -- "$1" "$(printf '%s' "$2" | sed "s|$tmp/||g")" # the same name in every run
    if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else
        echo "not ok $n - $2"
        sed 's/^/# /' "$tmp/err" "$tmp/out" | cut -c 1-200 | head -n 20
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
    return $status
}
# catches PID: waits until what was just started is the program, and its handlers of signals stand (a minute at most): on a busy
# machine one with sanitizers needs more than a second for that.
catches() {
    i=0
    while [ $i -lt 600 ]; do
        [ "$(cat "/proc/$1/comm" 2>/dev/null)" = roofcast ] &&
            case $(sed -n 's/^SigCgt:.*\(....\)$/\1/p' "/proc/$1/status" 2>/dev/null) in [4-7c-f]*) return 0 ;; esac
        kill -0 "$1" 2>/dev/null || return 1
        sleep 0.1
        i=$((i + 1))
    done
    return 1
}
# until_ CONDITION...: a minute at most
until_() {
    i=0
    while [ $i -lt 600 ] && ! "$@"; do sleep 0.1; i=$((i + 1)); done
    "$@"
}
gone() { # PID: or a zombie
    case $(sed 's/.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null) in '' | Z | X) return 0 ;; esac
    return 1
}
# ended PID: $status of what was started; killed if it does not end within a minute.
ended() {
    until_ gone "$1" || kill -KILL "$1"
    wait "$1"
    status=$?
}
# served_model FILE: large enough that a long stream is under way while others look at it; with sanitizers a smaller one is.
served_model() {
    set -- "$1" 4 512
    [ -z "${ROOFCAST_SANITIZED:-}" ] || set -- "$1" 2 256
    "$ROOFCAST" synth --n-layer "$2" --n-embd "$3" --n-ff 2048 --n-head 4 --n-head-kv 2 --n-vocab 512 -q F16 -o "$1" --quiet || exit 99
}
# serves ARGS...: starts roofcast serve --http on a free port; $pid, which is killed at the end of the test unless it is empty, and $url. Without
# libmicrohttpd the test is skipped.
serves() {
    trap '[ -z "$pid" ] || kill -KILL $pid 2>/dev/null; rm -rf "$tmp"' EXIT
    rm -f "$tmp/listens" # of a server before
    "$ROOFCAST" serve --http 0 "$@" >"$tmp/listens" 2>"$tmp/serve.err" &
    pid=$!
    until_ listens
    url=$(sed -n 's/.* on \(http:[^,]*\),.*/\1/p' "$tmp/listens")
    [ -z "$url" ] || return 0
    ended $pid
    pid=
    [ "$status" -eq 3 ] && grep -q 'built without libmicrohttpd' "$tmp/serve.err" && { echo "1..0 # SKIP built without libmicrohttpd"; exit 0; }
    cat "$tmp/serve.err"
    exit 99
}
listens() {
    [ -s "$tmp/listens" ] || gone "$pid"
}
# What the last run wrote: a line that matches, on standard output, on standard error.
has() {
    grep -q -- "$1" "$tmp/out"
}
says() {
    grep -q -- "$1" "$tmp/err"
}
# refuses STATUS TEXT ARGS...: that exit status, TEXT on standard error, nothing on standard output.
refuses() {
    want=$1 text=$2
    shift 2
    run "$@"
    echo "(exit status $status)" >>"$tmp/err"
    [ "$status" -eq "$want" ] && [ ! -s "$tmp/out" ] && grep -qF -- "$text" "$tmp/err"
}
refused() {
    refuses "$@"
    ok $? "refused with $want: $text"
}
is() { # EXPECTED FOUND NAME
    echo "expected $1, found $2" >>"$tmp/err"
    [ "$1" = "$2" ]
    ok $? "$3"
}
# cells COLUMN [NAME=VALUE...]: COLUMN of the csv rows of the last run with these values, a line each.
cells() {
    sed 's/"[^"]*"/quoted/g' "$tmp/out" | awk -F, -v want="$*" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; n = split(want, w, " "); next }
        { for (i = 2; i <= n; i++) { split(w[i], c, "="); if ($at[c[1]] != c[2]) next } print $at[w[1]] }'
}
sum() { # FORMAT, of the numbers on standard input
    awk -v format="$1" '{ s += $1 } END { printf format, s }'
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
