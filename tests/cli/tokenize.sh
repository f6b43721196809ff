#!/bin/sh
# roofcast tokenize: ids, text again, case files, refusals. The vocabulary is the fuzz corpus's tiny one.
. "${top_srcdir:?}/tests/cli/lib.sh"
# $tmp/in is standard input.
# gives TEXT NAME ARGS...: exactly printf's TEXT
gives() {
    printf "$1" >"$tmp/want"
    name=$2
    shift 2
    run tokenize "$@" <"$tmp/in" && cmp -s "$tmp/out" "$tmp/want"
    ok $? "$name"
}

corpus=${ROOFCAST_DATA:?}/tests/fuzz/corpus/tokenizer
tail -c +2 "$corpus/vocab-spm" >"$tmp/spm.gguf"
tail -c +2 "$corpus/vocab-bpe" >"$tmp/bpe.gguf"

printf 'abc\n\na b\n' >"$tmp/in"
gives '1 267 262\n1\n1 265 259 261\n' "a line a line, each with BOS" -m "$tmp/spm.gguf"
gives '267 262\n\n265 259 261\n' "--no-bos" -m "$tmp/spm.gguf" --no-bos
gives '259\n\n97 32 98\n' "byte-level BPE; the file asks for no BOS" -m "$tmp/bpe.gguf"
printf 'a</s>a' >"$tmp/in"
gives '265 2 265\n' "--special, and no newline at the end" -m "$tmp/spm.gguf" --no-bos --special
gives '265 63 50 118 65 260\n' "without it </s> is text" -m "$tmp/spm.gguf" --no-bos
run tokenize -m "$tmp/spm.gguf" --no-bos -o "$tmp/ids" <"$tmp/in" && [ ! -s "$tmp/out" ] &&
    [ "$(cat "$tmp/ids")" = "265 63 50 118 65 260" ]
ok $? "-o"
printf '1 267 262\n\n265, 259 261\n1 265 2 265\n' >"$tmp/in"
gives 'abc\n\na b\naa\n' "--ids" -m "$tmp/spm.gguf" --ids
gives '<s>abc\n\na b\n<s>a</s>a\n' "--ids --special" -m "$tmp/spm.gguf" --ids --special
printf 'Gr\303\274\303\237e, 1 abc  \377 x\n' >"$tmp/in"
"$ROOFCAST" tokenize -m "$tmp/bpe.gguf" <"$tmp/in" | "$ROOFCAST" tokenize -m "$tmp/bpe.gguf" --ids | cmp -s - "$tmp/in" &&
    "$ROOFCAST" tokenize -m "$tmp/spm.gguf" <"$tmp/in" | "$ROOFCAST" tokenize -m "$tmp/spm.gguf" --ids | cmp -s - "$tmp/in"
ok $? "there and back, bad UTF-8 included"

e=__ggml_vocab_test__
printf "abc\n$e\n\n$e\na\nb\n$e\n" >"$tmp/c.inp"
gives '267 262\n\n265 13 261\n' "--cases without an .out prints ids" -m "$tmp/spm.gguf" --cases "$tmp/c.inp"
printf '1 267 262\n1\n1 265 13 261\n' >"$tmp/c.out"
gives '3 of 3 cases pass\n' "--cases --bos" -m "$tmp/spm.gguf" --cases "$tmp/c.inp" --bos
printf ' 267 262\n\n 265 13 261\n' >"$tmp/c.out"
gives '3 of 3 cases pass\n' "--cases" -m "$tmp/spm.gguf" --cases "$tmp/c.inp"
printf '267 262\n\n265 13 999\n' >"$tmp/c.out"
run tokenize -m "$tmp/spm.gguf" --cases "$tmp/c.inp"
[ "$status" -eq 1 ] && says "1 of 3 cases fail"
ok $? "1 of 3 cases fails"
has '^case 3: "a\\nb"$' && has 'expected: 265 13 999' && has 'found: *265 13 261' && has '^2 of 3 cases pass$'
ok $? "the failing case is shown"
printf '267 262\n\n' >"$tmp/c.out"
refused 1 "no line of ids for case 3" tokenize -m "$tmp/spm.gguf" --cases "$tmp/c.inp"
printf '267 262\n\n265 13 261\n5\n' >"$tmp/c.out"
refused 1 "more lines of ids than the 3 cases" tokenize -m "$tmp/spm.gguf" --cases "$tmp/c.inp"
printf '267 262\nx\n265 13 261\n' >"$tmp/c.out"
refused 1 "line 2 is not a list of ids" tokenize -m "$tmp/spm.gguf" --cases "$tmp/c.inp"

# An endless line: interrupted while it is read.
mkfifo "$tmp/fifo"
"$ROOFCAST" tokenize -m "$tmp/spm.gguf" <"$tmp/fifo" >/dev/null 2>"$tmp/err" &
pid=$!
yes aaaaaaaa | tr -d '\n' >"$tmp/fifo" 2>/dev/null &
feeder=$!
catches $pid
sleep 0.2
kill -TERM $pid
wait $pid
is 130 $? "interrupted within a line that never ends: 130"
wait $feeder
# ... and while nothing comes.
"$ROOFCAST" tokenize -m "$tmp/spm.gguf" <"$tmp/fifo" >/dev/null 2>"$tmp/err" &
pid=$!
exec 9>"$tmp/fifo"
printf 'abc' >&9
catches $pid
sleep 0.2
kill -TERM $pid
wait $pid
is 130 $? "interrupted while it waits: 130"
exec 9>&-
i=0 # lines across the chunks they are read in
while [ $i -lt 3000 ]; do
    echo "a b abc aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa $i"
    i=$((i + 1))
done >"$tmp/in"
"$ROOFCAST" tokenize -m "$tmp/spm.gguf" <"$tmp/in" | "$ROOFCAST" tokenize -m "$tmp/spm.gguf" --ids | cmp -s - "$tmp/in"
ok $? "thousands of lines there and back"

run tokenize --help && has "Examples:"
ok $? "--help teaches"
refused 2 "-m FILE is required" tokenize
refused 2 "are mutually exclusive" tokenize -m "$tmp/spm.gguf" --bos --no-bos
printf 'a b abc\n' >"$tmp/in"
"$ROOFCAST" tokenize -m "$tmp/spm.gguf" <"$tmp/in" >"$tmp/want"
run tokenize -m "$tmp/spm.gguf" 'a b abc' && cmp -s "$tmp/out" "$tmp/want" && run tokenize -m "$tmp/spm.gguf" -p 'a b abc' && cmp -s "$tmp/out" "$tmp/want"
ok $? "a text of the command line, as an argument and by -p"
run tokenize -m "$tmp/spm.gguf" --ids "$(cat "$tmp/want")" && is 'a b abc' "$(cat "$tmp/out")" "ids of the command line"
refused 2 "one text at a time" tokenize -m "$tmp/spm.gguf" hello world
refused 2 "--cases takes its texts from a file" tokenize -m "$tmp/spm.gguf" --cases "$tmp/in" hello
refused 1 "no/such.gguf" tokenize -m no/such.gguf
refused 1 "no/such.inp" tokenize -m "$tmp/spm.gguf" --cases no/such.inp
refused 1 "names no such token" tokenize -m "$tmp/bpe.gguf" --bos
printf '5\n7 x9\n' >"$tmp/in"
run tokenize -m "$tmp/spm.gguf" --ids <"$tmp/in"
[ "$status" -eq 1 ] && says 'line 2: "x9" is not a token id'
ok $? "a line that is not ids is named"
printf '272\n' >"$tmp/in"
refused 1 "line 1: token 272 is not in the vocabulary" tokenize -m "$tmp/spm.gguf" --ids <"$tmp/in"
printf '%s\n' 99999999999999999999 >"$tmp/in"
refused 1 "is not a token id" tokenize -m "$tmp/spm.gguf" --ids <"$tmp/in"
head -c 300 "$tmp/spm.gguf" >"$tmp/cut.gguf"
refused 1 "cut.gguf" tokenize -m "$tmp/cut.gguf"

finish
