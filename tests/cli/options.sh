#!/bin/sh
# Command lines: options given twice, contradictions, the options of every command; tables in the width of a terminal.
. "${top_srcdir:?}/tests/cli/lib.sh"

refused 2 '-d is given twice, "1" and "2": it takes one value' analyze llama-3-8b -d 1 -d 2
refused 2 '--save is given twice' predict llama-3-8b --hw h100-sxm --save "$tmp/a.json" --save "$tmp/b.json"
[ ! -e "$tmp/a.json" ] && [ ! -e "$tmp/b.json" ]
ok $? "nothing is written"
run predict llama-3-8b --hw h100-sxm -p 0 -n 16,32 -d 0,512 -o csv && cp "$tmp/out" "$tmp/once"
run predict llama-3-8b --hw h100-sxm -p 0 -n 16 -n 32 --n-depth 0 -d 512 -o csv && cmp -s "$tmp/out" "$tmp/once"
ok $? "a list goes on: -n 16 -n 32 is -n 16,32, by either name of the option"
run predict llama-3-8b --hw h100-sxm -p 0 -n 16 --what-if bandwidth=x2 --what-if bandwidth=x4 -o csv && is 3 "$(wc -l <"$tmp/out" | awk '{ print $1 - 1 }')" "repeatable options are seen each time"
run predict llama-3-8b --hw h100-sxm -p 0 -n 16 --explain --explain
ok $? "a flag given again says the same"
for pair in "predict llama-3-8b --hw h100-sxm --roof --stack vllm:--roof and --stack" "sweep llama-3-8b --hw h100-sxm --roof --stack vllm:--roof and --stack" \
    "memory llama-3-8b --hw h100-sxm --server --local:--server and --local" "profile --quick --full:--quick and --full" \
    "validate --quick --cases 3:--cases and --quick" "logits -m x.gguf --tokens 1 --tokens-from x -o y:--tokens and --tokens-from" \
    "tokenize -m x.gguf --bos --no-bos:--bos and --no-bos"; do
    # shellcheck disable=SC2086
    refused 2 "${pair#*:} are mutually exclusive" ${pair%%:*}
done
for command in analyze bench calibrate capacity choose compare doctor import list logits memory plot ppl predict profile quantize report run score serve simulate sweep synth tokenize validate; do
    run "$command" --help && has '^Usage: roofcast' && has '--wide' && run "$command" --usage && has '\[--usage\]' && ! run "$command" --HANG && says 'unrecognized option' &&
        ! run "$command" --program-name=x && says 'unrecognized option'
    ok $? "$command: --help and --usage, and no hidden options"
done

# terminal COLUMNS ARGS...: what a terminal of that width shows.
terminal() {
    columns=$1
    shift
    script -qec "stty cols $columns; '$ROOFCAST' $*" /dev/null </dev/null >"$tmp/tty" 2>"$tmp/err"
    tr -d '\r' <"$tmp/tty" >"$tmp/out"
}
table() { # the first table of the output
    awk '/^---/ { on = 1; print last } on { print } { last = $0 } on && /^$/ { exit }' "$tmp/out"
}
if command -v script >/dev/null 2>&1 && terminal 80 --version && [ -s "$tmp/out" ]; then
    for columns in 60 80 100; do
        terminal $columns predict llama-3-8b --hw h100-sxm
        is 0 "$(table | awk -v n=$columns 'length > n' | wc -l)" "no line of a table is wider than $columns columns"
        has 'tokens/s' && table | paste -s -d' ' - | tr -s ' ' | grep -q '(not shown: [^)]*; --wide shows all columns)'
        ok $? "what is left out of $columns columns is named, and tokens/s is not"
    done
    for args in "predict llama-3-8b --hw h100-sxm --what-if bandwidth=x2" "predict deepseek-v3 --hw h200 --tp 8 --explain" "memory llama-3-8b --hw rtx-4090" doctor; do
        # shellcheck disable=SC2086
        terminal 80 $args
        is 0 "$(awk 'length > 80' "$tmp/out" | wc -l)" "$args: text breaks at the terminal's width, too"
    done
    terminal 80 predict llama-3-8b --hw h100-sxm && table | grep -q 'fits'
    ok $? "in 80 columns it says whether the model fits"
    terminal 60 predict llama-3-8b --hw h100-sxm --wide && ! has 'not shown' && has 'J/token'
    ok $? "--wide shows all columns"
    terminal 400 predict llama-3-8b --hw h100-sxm && ! has 'not shown' && has 'J/token'
    ok $? "a wide terminal shows all columns"
else
    skip "tables on a terminal" "script (bsdutils) is not here"
fi
# What a terminal would obey is shown: in options, commands, names of files and what they hold.
escape=$(printf '\033')
obeyed() { grep -q "$escape" "$tmp/err" "$tmp/out"; }
for args in "pre${escape}[2Jdict x" "predict --hw${escape}[2J=x m" "predict --nothing=${escape}[2J" "predict m${escape}[2J --hw h100-sxm" \
    "predict llama-3-8b --hw ${escape}]0;x" "predict llama-3-8b --hw h100-sxm -q ${escape}[31mQ4" "report $tmp/${escape}[2J.json" "memory llama-3-8b --hw h100-sxm -d ${escape}[2J"; do
    # shellcheck disable=SC2086
    ! run $args && [ -s "$tmp/err" ] && ! obeyed
    ok $? "an escape is shown: $(echo "$args" | tr "$escape" '?')"
done
mkdir -p "$tmp/data/hwprofiles" && cp -r "$top_srcdir/models" "$tmp/data" && sed "s/\"name\"/\"name${escape}[2J/" "$top_srcdir/hwprofiles/h100-sxm.json" >"$tmp/data/hwprofiles/odd.json"
ROOFCAST_DATA=$tmp/data run list hw && says 'odd.json' && ! obeyed
ok $? "and in a warning about a file"
sed "s/\"name\": *\"/&\\\\u001b[2J/; s/\"source\": *\"/&\\\\u001b[2J/g" "$top_srcdir/hwprofiles/h100-sxm.json" >"$tmp/odd.json"
for args in predict "predict --explain" "predict --roof" "predict --solve batch=fits" memory; do
    # shellcheck disable=SC2086
    run $args llama-3-8b --hw "$tmp/odd.json" && ! obeyed
    ok $? "and in a machine's name and sources: $args"
done
run report "$top_srcdir/tests/fixtures/measure/llama-bench.json" --hw "$tmp/odd.json" && ! obeyed
ok $? "and in those of report"
m=$top_srcdir/tests/fixtures/llama-2l.gguf
if command -v script >/dev/null 2>&1 && terminal 80 --version && [ -s "$tmp/out" ]; then
    terminal 80 run -m "$m" -p one -n 3 --ignore-eos
    tr -d '\t\n' <"$tmp/out" | tr '\001-\037' '!' | grep -q '?' && ! tr -d '\t\n' <"$tmp/out" | tr '\001-\037' '!' | grep -q '!'
    ok $? "and in what a model says to a terminal"
fi
"$ROOFCAST" run -m "$m" -p one -n 3 --ignore-eos 2>/dev/null | tr -d '\t\n' | tr '\001-\037' '!' | grep -q '!'
ok $? "a pipe gets it as it is"

# A name that is not UTF-8, which JSON is
odd=$tmp/$(printf 'a\377\376b')
cp "$top_srcdir/tests/report/cpu.json" "$odd.json" && cp "$m" "$odd.gguf"
for args in "list hw -o json" "profile --compare $odd.json $odd.json -o json" "predict $odd.gguf --hw $odd.json -o json" "memory $odd.gguf --hw $odd.json -o json" \
    "report $top_srcdir/tests/fixtures/measure/llama-bench.json --hw $odd.json -o json" "analyze $odd.gguf -o json"; do
    # shellcheck disable=SC2086
    ROOFCAST_PROFILE=$odd.json run $args
    ok $? "a name that is not UTF-8: $(echo "${args%% *}")"
done

run predict llama-3-8b --hw h100-sxm && ! has 'not shown' && has 'J/token'
ok $? "a pipe gets all columns"

run predict "llama-3-8b" --hw h100-sxm -o sql && has '^CREATE TABLE IF NOT EXISTS roofcast_predict (' && is 2 "$(grep -c '^INSERT INTO roofcast_predict' "$tmp/out")" "sql: a table and its rows"
if command -v sqlite3 >/dev/null 2>&1; then
    is 2 "$(sqlite3 :memory: ".read $tmp/out" "SELECT count(*) FROM roofcast_predict WHERE tok_s > 0")" "SQLite reads it"
fi
finish
