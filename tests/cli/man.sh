#!/bin/sh
# Manual pages: one a command, of the program's own tables; the overview names each.
. "${top_srcdir:?}/tests/cli/lib.sh"
overview=$top_srcdir/doc/roofcast.1
run __complete ''
cp "$tmp/out" "$tmp/commands"
is 25 "$(wc -l <"$tmp/commands")" "commands"
format() { # FILE: as a terminal shows it; what groff has to say in $tmp/err
    groff -man -mdoc -ww -Tutf8 -P-cbou "$1" 2>"$tmp/err"
}
printf '.Dd January 1, 2000\n.Dt A 1\n.Os\n.Sh NAME\n.Nm a\n.Nd b\n' >"$tmp/a.1"
format=
format "$tmp/a.1" | grep -q NAME || format="no groff with its mdoc macros is here"
while IFS='	' read -r command summary; do
    grep -qF -A 1 ".It Xr roofcast-$command 1" "$overview" && grep -qxF "$summary" "$overview"
    ok $? "roofcast(1) names $command, as --help does"
    run __man "$command" && { sed -n 1p "$overview"; cat "$tmp/out"; } >"$tmp/$command.1"
    run "$command" --help && grep -o '^ *\(-., \)\?--[a-z0-9-]*' "$tmp/out" | sed 's/.*--//' | sort -u >"$tmp/options"
    grep -o 'Fl -[a-z0-9-]*' "$tmp/$command.1" | sed 's/Fl -//' | sort -u | comm -23 "$tmp/options" - >"$tmp/out"
    [ -s "$tmp/options" ] && [ ! -s "$tmp/out" ]
    ok $? "roofcast-$command(1) has every option that --help has"
    page=doc/man/roofcast-$command.1
    [ -f "$page" ] || page=$tmp/$command.1 # a cross build has none
    if [ -n "$format" ]; then
        skip "$command: formats" "$format"
    else
        format "$page" >"$tmp/out" && [ ! -s "$tmp/err" ] && has "roofcast-$command" && has '^OPTIONS' && has '^EXAMPLES' && has "^ *roofcast $command"
        ok $? "roofcast-$command(1) formats without warnings"
    fi
done <"$tmp/commands"
[ -n "$format" ] || { format "$overview" >"$tmp/out" && [ ! -s "$tmp/err" ]; }
ok $? "and so does roofcast(1)"
grep -qF '\-\-solve \(aqbandwidth=tok_s>=60\(aq' "$tmp/predict.1" && grep -qF '\(gathis\(ga' "$tmp/predict.1"
ok $? "quotes and dashes of a command line are those that a shell reads"
if [ -f doc/man/roofcast-predict.1 ]; then
    grep -q 'speculative decoding' doc/man/roofcast-predict.1 && grep -q '^\.Dd' doc/man/roofcast-predict.1
    ok $? "the text of doc/man is in the page"
fi
finish
