#!/bin/sh
# timed.sh DRIVER... --trs-file FILE ...: runs a test by its driver and adds the seconds of CPU that it took to its .trs file.
"$@"
rc=$?
trs=
while [ $# -gt 1 ]; do
    [ "$1" = --trs-file ] && trs=$2
    shift
done
[ -n "$trs" ] || exit $rc
times >"$trs.times" # not of a pipe, whose shell is another
awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, "m"); s += 60 * t[1] + t[2] } printf ":seconds: %.1f\n", s }' "$trs.times" >>"$trs"
rm -f "$trs.times"
exit $rc
