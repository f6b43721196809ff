#!/bin/sh
# roofcast validate: the draw and its order, the document, what an interrupt leaves, what is refused. Never a time.
. "${top_srcdir:?}/tests/cli/lib.sh"
validate=${VALIDATE:-tests/run/validate}
doc=$top_srcdir/doc/formats.md
TMPDIR=$tmp/tmp
export TMPDIR
mkdir "$TMPDIR"
shapes="--tests pp8,tg4,tg2x2@d16 -m llama-3.2-1b:1 -q Q8_0,Q4_0 -t 1"

refused 3 'no profile yet' validate -m smollm2-360m:1
refused 2 'expected ppN or tgN, xB and @dD behind it (pp512, tg32x4@d8192), found "p512"' validate --tests p512
refused 2 'found "tg8@d4x2"' validate --tests pp8,tg8@d4x2
refused 2 '--tests tg8x0: expected' validate --tests tg8x0
refused 2 '-m NAME:LAYERS' validate -m llama-3.2-1b:none
refused 1 'nowhere.gguf: no such file' validate -m nowhere.gguf
refused 1 'did you mean llama-3.2-1b?' validate -m llama-3.2-1bb:4

# ---- which cases, and in which order -------------------------------------------------------------------
# shellcheck disable=SC2086 # words
{
    run validate $shapes --dry-run --full && cp "$tmp/out" "$tmp/all"
    is 6 "$(wc -l <"$tmp/all")" "--full: every file x test x number of threads"
    run validate $shapes --dry-run --full && cmp -s "$tmp/out" "$tmp/all"
    ok $? "the same seed, the same order"
    run validate $shapes --dry-run --full --seed 2 && ! cmp -s "$tmp/out" "$tmp/all"
    ok $? "another seed, another order"
    sort "$tmp/out" >"$tmp/sorted" && sort "$tmp/all" | cmp -s - "$tmp/sorted"
    ok $? "of the same cases"
}
run validate --dry-run --cases 48 -t 1,2
is 48 "$(cut -d' ' -f2,3 "$tmp/out" | sort -u | wc -l)" "48 of the default grid: each pair of a type and a test once"
is "8 8 8 8 8 8" "$(cut -d' ' -f2 "$tmp/out" | sort | uniq -c | awk '{ printf "%s%s", s, $1; s = " " }')" "each type as often"

# ---- two of them, really -----------------------------------------------------------------------------------
run profile --brief -t 1 -o "$tmp/this.json" --quiet
ok $status "a brief profile"
# Most of a pass is the head, and stays above the hundredth that makes a role one to judge when another program has the CPU meanwhile.
run synth --n-layer 1 --n-embd 256 --n-ff 512 --n-head 4 --n-vocab 8192 -q Q8_0 -o "$tmp/m.gguf" --quiet
run validate -m "$tmp/m.gguf" --tests pp8,tg4x2@d16 -t 1 -r 1 -o json --save "$tmp/saved.json" --quiet
ok $status "two cases of a file"
"$validate" "$doc" roofcast.validate "$tmp/out" >"$tmp/verr" 2>&1
ok $? "-o json is as documented"
cp "$tmp/out" "$tmp/kept"
if [ -z "${ROOFCAST_SANITIZED:-}" ]; then # measured twice more, in no other way
    # Probes beside the cases are small products; a case of INT8 products is bound by the INT8 peak of the profile.
    awk '/"dtype": "int8"/ { slow = 1 } /}/ { slow = 0 } slow && /"(value|ci_lo|ci_hi)":/ { sub(/: .*/, ": 1e7,") } { print }' \
        "$tmp/this.json" >"$tmp/slow.json"
    run validate -m "$tmp/m.gguf" --tests pp8,tg4x2@d16 -t 1 -r 1 -o json --quiet --hw "$tmp/slow.json"
    [ $status = 0 ] && ! cmp -s "$tmp/this.json" "$tmp/slow.json" && [ "$(grep -c '"bound": "compute"' "$tmp/out")" -eq 2 ]
    ok $? "bound by the peak of the arithmetic in use"
    # A profile of old has another loop beside its samples: nothing is known of cores, and nothing is made of it.
    sed 's/"product_flop_s"/"core_flop_s"/' "$tmp/slow.json" >"$tmp/old.json"
    run validate -m "$tmp/m.gguf" --tests pp8,tg4x2@d16 -t 1 -r 1 -o json --quiet --hw "$tmp/old.json"
    [ $status = 0 ] && ! cmp -s "$tmp/slow.json" "$tmp/old.json" && [ "$(grep -c '"compute_scale": null' "$tmp/out")" -eq 2 ] &&
        ! has '"error": null' && [ "$(grep -c '"bound": "compute"' "$tmp/out")" -eq 2 ] && ! grep -q '"compute_scale": null' "$tmp/kept"
    ok $? "a profile of old"
fi
cp "$tmp/kept" "$tmp/out"
sed '/"date"/d' "$tmp/out" >"$tmp/a" && sed '/"date"/d' "$tmp/saved.json" | cmp -s - "$tmp/a"
ok $? "--save writes the same document"
is true "$(jq '[.rows[] | .lo < .predicted_tok_s and .predicted_tok_s < .hi] | all' "$tmp/out")" "every prediction has an interval"
is true "$(jq '([.rows[] | select(.lo <= .tok_s and .tok_s <= .hi)] | length) / (.rows | length) == .coverage90 and .coverage90 == .groups[0].coverage90' "$tmp/out")" "and so many are measured within it"
is true "$(jq '([.rows[] | (.hi - .lo) / 2 / .predicted_tok_s] | add / length - 1e-9) as $h | .half90 > $h and .half90 < $h + 2e-9' "$tmp/out")" "half of it, of two the mean"
is "2 2 2" "$(figure n_grid) $(figure n_planned) $(figure n_case)" "counts of cases"
has '"test": "tg4x2@d16"' && has '"test": "pp8"' && has '"group": "threads=1"' && has '"group": "op=lm_head"' && has '"model": "m.gguf"'
ok $? "cases, groups and roles"
run validate -m "$tmp/m.gguf" --tests pp8 -t 1 -r 1 -o csv --quiet && has '^case,model,type,phase,test,n_threads,'
ok $? "-o csv"
e=$(cells error) p=$(cells predicted_tok_s) v=$(cells tok_s)
holds "$p / $v - 1 - ($e) < 1e-9 && $p / $v - 1 - ($e) > -1e-9" "error is predicted over measured less 1"
run validate -m "$tmp/m.gguf" --tests tg8 -t 1 -r 4 -o csv --quiet
reps=$(cells n_reps) still=$(cells n_still) moved=$(cells moved)
holds "$reps % 4 == 0 && $reps <= 12 && $still <= $reps && ($still >= 2 || $reps == 12)" "rounds of 4 repetitions until 2 stood still"
case $moved in
true) holds "$still < 2" "too few stood still in three rounds" ;;
*) holds "$still >= 2" "enough stood still" ;;
esac
run validate -m stories15m:1 -q Q4_0 --tests tg2 -t 1 -r 1 && has '^stories15m:1  *Q4_0  *tg2 ' && has '^1 of 1 cases (of a grid of 1), seed 1: median' && has '^Worst 1: '
ok $? "the table, its groups, the case furthest off"
says 'case 1 of 1: stories15m:1 Q4_0 tg2, 1 thread'
ok $? "progress"
is 0 "$(find "$TMPDIR" -mindepth 1 | wc -l)" "what was synthesized is gone"

# ---- an interrupt keeps what is done -------------------------------------------------------------------------
tests=tg1
for i in 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do tests=$tests,tg$i; done
"$ROOFCAST" validate -m "$tmp/m.gguf" --tests "$tests" --full -t 1 -r 1 -o json --save "$tmp/part.json" >"$tmp/out" 2>"$tmp/err" &
pid=$!
i=0
while ! grep -q '^case 3 of' "$tmp/err" && [ $i -lt 600 ]; do
    i=$((i + 1))
    sleep 0.1
done
kill -INT $pid
wait $pid
is 130 $? "exit status of an interrupt"
says 'interrupted: what is printed are the'
ok $? "which is said"
holds "$(figure n_case) >= 2 && $(figure n_case) < 20 && $(figure n_planned) == 20" "the cases until then are printed"
[ -s "$tmp/part.json" ] && [ "$(ls "$tmp" | grep -c 'part.json.')" -eq 0 ]
ok $? "and saved, with nothing beside them"

# ---- a profile of another machine ------------------------------------------------------------------------------
sed 's/"cpu": "[^"]*"/"cpu": "Example CPU"/' "$tmp/this.json" >"$tmp/other.json"
refused 1 'is of another CPU (Example CPU)' validate -m "$tmp/m.gguf" --hw "$tmp/other.json" --tests tg1 -t 1
finish
