#!/bin/sh
# roofcast bench --against, --against-llama-bench: another program in turn, and the comparison.
. "${top_srcdir:?}/tests/cli/lib.sh"
m=$top_srcdir/tests/fixtures/llama-2l.gguf
bench="bench -m $m -t 1 -p 0 -n 4 --brief --counters null"
program() { # NAME: a script from standard input
    cat >"$tmp/$1" && chmod +x "$tmp/$1"
}
# The same roofcast; says how it was called.
program other <<END
#!/bin/sh
echo "\$*" >>"$tmp/calls"
exec "$ROOFCAST" "\$@"
END
# shellcheck disable=SC2086
against() { # ARGS...
    run $bench "$@"
}

# ---- another roofcast
against -r 2 --rounds 2 --no-warmup --against "$tmp/other" --save "$tmp/c.json" && [ -s "$tmp/c.json" ]
ok $? "two rounds"
has '^B is faster in 0 and slower in 0 of 1 test; 1 cannot be told' && has '^A: .*: roofcast ' && has '^B: .*other, 2 executions: roofcast ' && has 'pairs by probe' && says 'round 1 of 2: A, '
ok $? "what was compared, and how far it was"
is 2 "$(grep -c 'bench .*--model=.*llama-2l.gguf .*--no-warmup .*--repetitions=2 --quiet --save=' "$tmp/calls")" "the other has the same options"
is "B A" "$(sed -n 's/^round 2 of 2: \([AB]\).*/\1/p' "$tmp/err" | tr '\n' ' ' | sed 's/ $//')" "the second round begins with the other"
is 2 "$(figure n_a "$tmp/c.json")" "--save writes the comparison"
[ -z "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'roofcast-against-*' -newer "$tmp/other" 2>/dev/null)" ]
ok $? "nothing is left behind"

# ---- llama-bench
program llama-bench <<END
#!/bin/sh
echo "\$*" >>"$tmp/llama"
echo 'load_backend: loaded CPU backend' >&2
n=\$((\$(wc -l <"$tmp/llama") % 2 * 8 + 1)) # far apart in turn: no autocorrelation
printf '[{"model_filename": "m.gguf", "model_type": "llama 1B F32", "n_threads": 1, "n_prompt": 0, "n_gen": 4, "n_depth": 0, "type_k": "f16", "type_v": "f16",
    "avg_ts": 0.0%s, "stddev_ts": 0, "samples_ts": [0.0%s]}]\n' "\$n" "\$n"
END
against -r 1 --rounds 6 --cpus 0 -o csv --fail-over 5% --against-llama-bench "$tmp/llama-bench"
is "4 slower true 6 6" "$status $(cells verdict) $(cells regressed) $(cells n_a) $(cells n_b)" "six rounds tell a slow one; --fail-over: status 4"
says 'B is slower by more than 5 % in 1 test: tg4 0.0'
ok $? "which test"
holds "$(cells ratio) < 0.01" "its ratio"
grep -q -- '-m .*llama-2l.gguf -p 0 -n 4 -t 1 -r 1 -ub 512 -ctk f16 -ctv f16 -ngl 0 -fa 1 -o json -C 0x1 --cpu-strict 1$' "$tmp/llama"
ok $? "its options"

# ---- what goes wrong
program broken <<'END'
#!/bin/sh
echo "first line" >&2
echo "no such model" >&2
exit 3
END
against --against "$tmp/broken"
[ "$status" -eq 1 ] && says 'broken: exit status 3: no such model$' && [ ! -s "$tmp/out" ]
ok $? "a program that fails is named, with what it said"
program later <<END
#!/bin/sh
[ ! -e "$tmp/second" ] || exit 1
touch "$tmp/second"
exec "$ROOFCAST" "\$@"
END
against -r 1 --against "$tmp/later"
[ "$status" -eq 1 ] && has '^B is ' && says 'later: exit status 1: .*: 1 complete round is compared'
ok $? "complete rounds are compared before the error"
refused 3 'cannot be started: No such file' bench -m "$m" --against "$tmp/none"
refused 2 '--rounds needs --against' bench -m "$m" --rounds 3
refused 2 '--fail-over needs --against' bench -m "$m" --fail-over 3%
refused 2 'expected a percentage' bench -m "$m" --against x --fail-over 3
refused 2 'mutually exclusive' bench -m "$m" --against x --against-llama-bench y
refused 2 '--keep: not with --against' bench -m "$m" --against x --keep
for o in "-pg 4,4" "-b 2" "--paged" "--ops"; do
    # shellcheck disable=SC2086
    refused 2 'llama-bench does not measure' bench -m "$m" -p 4 $o --against-llama-bench x
done

# ---- an interrupt
rm -f "$tmp/second"
program slow <<END
#!/bin/sh
[ ! -e "$tmp/second" ] || exec sleep 60
touch "$tmp/second"
exec "$ROOFCAST" "\$@"
END
# shellcheck disable=SC2086
"$ROOFCAST" $bench -r 1 --against "$tmp/slow" >"$tmp/out" 2>"$tmp/err" &
pid=$!
waits() { says 'round 2 of 10: B'; }
until_ waits
kill -INT $pid
ended $pid
[ "$status" -eq 130 ] && has '^B is ' && says 'interrupted.*: 1 complete round is compared'
ok $? "an interrupt keeps the complete rounds (status $status)"
finish
