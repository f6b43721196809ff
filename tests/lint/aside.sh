#!/bin/sh
# hwprofiles/stacks/aside.csv is for scores alone: its sources are not in measured.csv, ids are unique, no program reads it by itself.
cd "${top_srcdir:-.}" || exit 99
echo "1..4"
bad=0
say() { # number, text, ok
    if [ "$3" = 0 ]; then echo "ok $1 - $2"; else echo "not ok $1 - $2"; bad=1; fi
}
a=hwprofiles/stacks/aside.csv m=hwprofiles/stacks/measured.csv
[ "$(head -n 1 $a)" = "$(head -n 1 $m)" ]
say 1 "aside.csv has measured.csv's columns" $?
[ -z "$(tail -q -n +2 $a $m | cut -d, -f1 | sort | uniq -d)" ]
say 2 "ids of both are unique" $?
shared=$(tail -n +2 $a | cut -d, -f2 | tr -d '"' | sort -u | while read -r source; do grep -F ",$source," $m | cut -d, -f1,2; done)
[ -z "$shared" ] || echo "# $shared"
[ -z "$shared" ]
say 3 "no source of aside.csv is in measured.csv" $?
! grep -rq 'aside\.csv' src
say 4 "no program reads aside.csv by itself" $?
exit $bad
