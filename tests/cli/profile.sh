#!/bin/sh
# roofcast profile: wrong command lines, a quick profile of one thread, Ctrl-C that keeps what is done.
. "${top_srcdir:?}/tests/cli/lib.sh"
export ROOFCAST_PROFILE="$tmp/sub/this.json"

refused 2 "expected 1 to" profile -t 0
refused 2 "expected" profile -t x
refused 2 "100000 threads asked for" profile -t 100000
refused 2 "CPU list" profile --cpus 0-
refused 2 "may not use CPU 4000" profile --cpus 4000
refused 2 "no argument is expected" profile extra
refused 2 "rofiel" profile --rofiel
[ ! -e "$ROOFCAST_PROFILE" ]
ok $? "a wrong command line writes nothing"

run profile --quick -t 1 && [ -s "$ROOFCAST_PROFILE" ]
ok $? "profile --quick -t 1 writes \$ROOFCAST_PROFILE"
grep -q '"schema": "roofcast.hwprofile"' "$ROOFCAST_PROFILE" && grep -q '"name": "read DRAM 1t"' "$ROOFCAST_PROFILE" &&
    grep -q '"dtype": "int8"' "$ROOFCAST_PROFILE" && ! grep -q '"n_threads": 2' "$ROOFCAST_PROFILE"
ok $? "it holds the ceilings of one thread"
has 'read DRAM 1t.*GB/s' && has 'fp32 .*FLOP/s'
ok $? "the table shows them"
says '1 thread: read DRAM'
ok $? "progress goes to stderr"

# Ctrl-C once the first ceilings are there. (A shell without job control starts background programs
# with SIGINT ignored; the program installs its handler all the same.)
: >"$tmp/err"
"$ROOFCAST" profile -t 1 -o "$tmp/partial.json" >"$tmp/out" 2>"$tmp/err" &
pid=$!
i=0
while [ $i -lt 600 ] && ! says 'read L1'; do sleep 0.1; i=$((i + 1)); done
kill -INT $pid
wait $pid
status=$?
[ $status -eq 130 ] && says 'interrupted: .*partial.json holds the [0-9]* ceilings'
ok $? "Ctrl-C ends with status 130 and says what is kept (status $status)"
grep -q '"dtype": "fp32"' "$tmp/partial.json" && ! grep -q '"name": "read DRAM 1t"' "$tmp/partial.json"
ok $? "the partial profile holds what was measured until then"
[ "$(ls "$tmp" | grep -c tmp)" -eq 0 ]
ok $? "no temporary file is left"

refused 1 "no/such/dir.json" profile --quick -t 1 -o "$tmp/no/such/dir.json"
finish
