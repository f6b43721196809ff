#!/bin/sh
# How commands end: what was done is kept after an interrupt, a failure, a closed or a full output; temporary files and the programs
# that were started go; links are what they say.
. "${top_srcdir:?}/tests/cli/lib.sh"
m=$top_srcdir/tests/fixtures/llama-2l.gguf
# As from a terminal: nohup, or a runner of tests, may have this shell ignore them.
default='env --default-signal=HUP,PIPE'
# closed: descriptor 4 is a pipe without a reader.
mkfifo "$tmp/pipe"
closed() {
    (exec 3<"$tmp/pipe") &
    exec 4>"$tmp/pipe"
    wait $!
}

# ---- bench
"$ROOFCAST" bench --brief -m "$m" -p 8 -n 200000 -r 1 --save "$tmp/int.json" -o csv >"$tmp/out" 2>"$tmp/err" &
pid=$!
until_ says 'tg200000'
kill -INT $pid
ended $pid
[ $status -eq 130 ] && says 'interrupted: 1 completed test is printed and saved to .*int.json' && [ "$(cells test)" = pp8 ]
ok $? "bench: an interrupt in the second test prints the first (status $status)"
grep -q '"test": "pp8"' "$tmp/int.json" && ! grep -q '"test": "tg200000"' "$tmp/int.json" && grep -q '"incomplete": "interrupted"' "$tmp/int.json"
ok $? "and saves it, whole, with the reason why the rest is missing"

# A matrix of 32-bit integers is found when the engine is made, after the first model's tests.
cp "$m" "$tmp/bad.gguf" && chmod u+w "$tmp/bad.gguf"
at=$(grep -abo 'blk.0.ffn_up.weight' "$tmp/bad.gguf" | head -n 1 | cut -d: -f1)
printf '\032' | dd of="$tmp/bad.gguf" bs=1 seek=$((at + 19 + 4 + 16)) conv=notrunc 2>/dev/null
run bench --brief -m "$m,$tmp/bad.gguf" -p 8 -n 2 -r 1 --save "$tmp/later.json" -o csv
[ $status -eq 1 ] && says 'I32 cannot be executed.*2 completed tests are printed and saved' && [ "$(cells test | tr '\n' ' ')" = "pp8 tg2 " ] &&
    grep -q '"incomplete": ".*I32 cannot be executed' "$tmp/later.json"
ok $? "bench: a later model that fails leaves the results of those before"
run bench --brief -m "$m,$tmp/none.gguf" -p 8 -n 2 -r 1 --save "$tmp/none.json"
[ $status -eq 1 ] && [ ! -s "$tmp/out" ] && says 'none.gguf' && ! says 'pp8' && [ ! -e "$tmp/none.json" ]
ok $? "bench: a model that is not there is found before the first is measured"
run bench --brief -m "$m" -t 1,100000 -p 8 -n 2 -r 1
[ $status -eq 2 ] && ! says 'pp8'
ok $? "and so is a number of threads that cannot be"

if [ -w /dev/full ]; then
    "$ROOFCAST" bench --brief -m "$m" -p 8 -n 2 -r 1 --quiet --save "$tmp/full.json" >/dev/full 2>"$tmp/err"
    [ $? -eq 1 ] && [ "$(grep -c 'No space left' "$tmp/err")" -eq 1 ] && grep -q '"test": "tg2"' "$tmp/full.json"
    ok $? "bench: saved before it is printed on a full disk"
else
    skip "a full disk" "no /dev/full"
fi
"$ROOFCAST" bench --brief -m "$m" -p 8 -n 2 -r 1 --quiet --save "$tmp/shut.json" >&- 2>"$tmp/err"
[ $? -eq 1 ] && grep -q '"test": "tg2"' "$tmp/shut.json"
ok $? "bench: saved where standard output is shut"
closed
$default "$ROOFCAST" bench --brief -m "$m" -p 8 -n 2 -r 1 --quiet --save "$tmp/pipe.json" >&4 2>"$tmp/err"
status=$?
[ $status -eq 141 ] && [ ! -s "$tmp/err" ] && grep -q '"test": "tg2"' "$tmp/pipe.json"
ok $? "bench: saved when standard output has no reader; the end is SIGPIPE's (status $status)"

# ---- other commands that do one thing after the other
echo '5 17 290 44 3 8 9 10 250 61 77 12 30 31 32 33' >"$tmp/tokens"
run ppl -m "$m" -m "$tmp/bad.gguf" --ids "$tmp/tokens" -c 16 -o csv
[ $status -eq 1 ] && says 'I32 cannot be executed.*1 completed file is printed' && [ "$(wc -l <"$tmp/out")" -eq 2 ]
ok $? "ppl: a later file that fails leaves the results of those before (status $status)"
mkdir "$tmp/t" "$tmp/t/roofcast-validate-Abc123" && echo big >"$tmp/t/roofcast-validate-Abc123/model.gguf"
TMPDIR=$tmp/t run validate --hw this
[ $status -ne 0 ] && [ -z "$(ls -A "$tmp/t")" ]
ok $? "validate removes the folder of one that was killed, and its own"

# ---- sweep
$default "$ROOFCAST" sweep -m stories15m --hw h100-sxm -b 1-64 >&4 2>"$tmp/err"
status=$?
[ $status -eq 141 ] && [ ! -s "$tmp/err" ]
ok $? "sweep: the rows have no reader (status $status)"
(trap '' PIPE; "$ROOFCAST" sweep -m stories15m --hw h100-sxm -b 1-64 >&4 2>"$tmp/err")
status=$?
[ $status -eq 1 ] && says 'Broken pipe'
ok $? "where SIGPIPE is ignored that is an error (status $status)"
"$ROOFCAST" sweep -m stories15m --hw 'GeForce RTX 6090' -b 1-64 --save "$tmp/grid.csv" >&4 2>&4
status=$?
[ $status -eq 0 ] && [ "$(wc -l <"$tmp/grid.csv")" -eq 65 ]
ok $? "sweep --save keeps its file when its messages have no reader (status $status)"
exec 4>&-
begun() { [ -n "$(find "$tmp" -name 'long.csv.tmp*' -size +0)" ]; }
"$ROOFCAST" sweep -m all -q Q4_K_M --hw gpu -b 1-256 -d 0-32768+64 --save "$tmp/long.csv" >"$tmp/out" 2>"$tmp/err" &
pid=$!
until_ begun
kill -INT $pid
ended $pid
[ $status -eq 130 ] && says 'interrupted: completed rows are in .*long.partial.csv' && [ ! -e "$tmp/long.csv" ] &&
    [ "$(wc -l <"$tmp/long.partial.csv")" -gt 1 ] && [ -z "$(tail -c 1 "$tmp/long.partial.csv" | tr -d '\n')" ]
ok $? "sweep --save: an interrupt keeps the rows until then under another name (status $status)"

# ---- temporary files: tokenize waits for its input with its output open
vocab=${ROOFCAST_DATA:?}/tests/fuzz/corpus/tokenizer/vocab-spm
tail -c +2 "$vocab" >"$tmp/spm.gguf"
mkfifo "$tmp/in"
temporary() { [ "$(ls -A "$tmp" | grep -c '^ids.*tmp')" -ge 1 ]; }
# waits: a tokenize that has begun to write ids
waits() {
    rm -f "$tmp/ids"
    $default "$ROOFCAST" tokenize -m "$tmp/spm.gguf" -o "$tmp/ids" <"$tmp/in" 2>"$tmp/err" &
    pid=$!
    exec 5>"$tmp/in"
    catches $pid && until_ temporary
}
for sig in INT:130 TERM:130 HUP:130 XCPU:130 BUS:1; do
    waits && kill -${sig%:*} $pid
    ended $pid
    exec 5>&-
    [ $status -eq ${sig#*:} ] && ! temporary && [ ! -e "$tmp/ids" ]
    ok $? "SIG${sig%:*} leaves no temporary file (status $status)"
done
waits && kill -PIPE $pid
printf 'abc\n' >&5
exec 5>&-
ended $pid
[ $status -eq 0 ] && ! temporary && [ -s "$tmp/ids" ]
ok $? "SIGPIPE of something else does not lose a file (status $status)"
waits && kill -KILL $pid
wait $pid 2>/dev/null
exec 5>&-
temporary
ok $? "a process that is killed leaves its temporary file"
printf 'abc\n' >"$tmp/abc"
"$ROOFCAST" tokenize -m "$tmp/spm.gguf" -o "$tmp/other" <"$tmp/abc" && temporary
ok $? "which another output has nothing to do with"
waits
first=$pid
"$ROOFCAST" tokenize -m "$tmp/spm.gguf" -o "$tmp/ids" <"$tmp/abc"
[ $? -eq 0 ] && [ "$(ls -A "$tmp" | grep -c '^ids.*tmp')" -eq 1 ]
ok $? "the next start removes it, and not that of one that lives"
exec 5>&-
ended $first
[ $status -eq 0 ] && ! temporary
ok $? "which ends as it should"

# ---- links
ln -s real/there.json "$tmp/dangling.json" && mkdir "$tmp/real"
run predict stories15m --hw h100-sxm --save "$tmp/dangling.json" && [ -h "$tmp/dangling.json" ] && [ -s "$tmp/real/there.json" ]
ok $? "a link to a file that is not there yet is followed"

# ---- pictures, drawn by a program that is called gnuplot
mkdir "$tmp/bin"
cat >"$tmp/bin/gnuplot" <<'END'
#!/bin/sh
for a; do
    case $a in
    "cd './'.'"*) dir=${a#"cd './'.'"} ;;
    "cd '"*) dir=${a#"cd '"} ;;
    "svg = '"*) svg=${a#"svg = '"} ;;
    esac
done
[ -z "$HANG" ] || { echo $$ >"$HANG"; exec sleep 1000; }
cd "${dir%?}" && printf '<svg>%100s</svg>\n' drawn >"${svg%?}"
END
chmod +x "$tmp/bin/gnuplot"
run analyze stories15m -o json && cp "$tmp/out" "$tmp/a.json"
echo precious >"$tmp/victim"
HANG='' PATH="$tmp/bin:$PATH" sh -c 'ln -s victim "$1/chart.tmp$$.svg" && exec "$2" plot "$1/a.json" --hw h100-sxm --format svg -o "$1/chart"' sh "$tmp" "$ROOFCAST" \
    >"$tmp/out" 2>"$tmp/err"
[ $? -eq 0 ] && [ "$(cat "$tmp/victim")" = precious ] && grep -q drawn "$tmp/chart.svg" && [ ! -h "$tmp/chart.svg" ]
ok $? "a picture is not written through a link under a guessed name"
HANG='' PATH="$tmp/bin:$PATH" env --ignore-signal=CHLD "$ROOFCAST" plot "$tmp/a.json" --hw h100-sxm --format svg -o "$tmp/child" >"$tmp/out" 2>"$tmp/err" &
ended $!
[ $status -eq 0 ] && grep -q drawn "$tmp/child.svg"
ok $? "a parent process that ignores SIGCHLD: the end of gnuplot is seen (status $status)"
HANG="$tmp/hangs" PATH="$tmp/bin:$PATH" "$ROOFCAST" plot "$tmp/a.json" --hw h100-sxm --format svg -o "$tmp/hung" >"$tmp/out" 2>"$tmp/err" &
pid=$!
until_ test -s "$tmp/hangs"
kill -INT $pid
ended $pid
[ $status -eq 130 ] && until_ gone "$(cat "$tmp/hangs")" && [ -z "$(ls -A "$tmp" | grep '^hung.*\(tmp\|svg\)')" ]
ok $? "an interrupt ends a gnuplot that hangs, and leaves nothing (status $status)"
finish
