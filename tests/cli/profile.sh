#!/bin/sh
# roofcast profile: wrong command lines, a quick profile of one thread, Ctrl-C that keeps what is done.
n=0 failed=0
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
export ROOFCAST_PROFILE="$dir/sub/this.json"

ok() { # ok STATUS NAME
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; failed=1; sed 's/^/# /' "$dir/err"; fi
}
usage() { # usage TEXT ARGS...: exit status 2 and TEXT on stderr, nothing on stdout
    text=$1; shift
    "$ROOFCAST" profile "$@" >"$dir/out" 2>"$dir/err"
    [ $? -eq 2 ] && [ ! -s "$dir/out" ] && grep -q -e "$text" "$dir/err"
    ok $? "profile $*: $text"
}

usage "expected 1 to" -t 0
usage "expected" -t x
usage "100000 threads asked for" -t 100000
usage "CPU list" --cpus 0-
usage "may not use CPU 4000" --cpus 4000
usage "no argument is expected" extra
usage "rofiel" --rofiel
[ ! -e "$ROOFCAST_PROFILE" ]; ok $? "a wrong command line writes nothing"

"$ROOFCAST" profile --quick -t 1 >"$dir/out" 2>"$dir/err"; status=$?
[ $status -eq 0 ] && [ -s "$ROOFCAST_PROFILE" ]; ok $? "profile --quick -t 1 writes \$ROOFCAST_PROFILE"
grep -q '"schema": "roofcast.hwprofile"' "$ROOFCAST_PROFILE" && grep -q '"name": "read DRAM 1t"' "$ROOFCAST_PROFILE" &&
    grep -q '"dtype": "int8"' "$ROOFCAST_PROFILE" && ! grep -q '"n_threads": 2' "$ROOFCAST_PROFILE"
ok $? "it holds the ceilings of one thread"
grep -q 'read DRAM 1t.*GB/s' "$dir/out" && grep -q 'fp32 .*FLOP/s' "$dir/out"; ok $? "the table shows them"
grep -q '1 thread: read DRAM' "$dir/err"; ok $? "progress goes to stderr"

# Ctrl-C once the first ceilings are there. (A shell without job control starts background programs
# with SIGINT ignored; the program installs its handler all the same.)
: >"$dir/err"
"$ROOFCAST" profile -t 1 -o "$dir/partial.json" >"$dir/out" 2>"$dir/err" &
pid=$!
i=0
while [ $i -lt 600 ] && ! grep -q 'read L1' "$dir/err"; do sleep 0.1; i=$((i + 1)); done
kill -INT $pid
wait $pid; status=$?
[ $status -eq 130 ] && grep -q 'interrupted: .*partial.json holds the [0-9]* ceilings' "$dir/err"
ok $? "Ctrl-C ends with status 130 and says what is kept (status $status)"
grep -q '"dtype": "fp32"' "$dir/partial.json" && ! grep -q '"name": "read DRAM 1t"' "$dir/partial.json"
ok $? "the partial profile holds what was measured until then"
[ "$(ls "$dir" | grep -c tmp)" -eq 0 ]; ok $? "no temporary file is left"

"$ROOFCAST" profile --quick -t 1 -o "$dir/no/such/dir.json" >"$dir/out" 2>"$dir/err"
[ $? -eq 1 ] && grep -q "no/such/dir.json" "$dir/err"; ok $? "a file that cannot be written is named"
echo "1..$n"
exit $failed
