#!/bin/sh
# roofcast tokenize: ids, text again, case files, refusals. The vocabulary is the fuzz corpus's tiny one.
R=${ROOFCAST:?}
d=$(mktemp -d) || exit 99
trap 'rm -rf "$d"' EXIT
n=0 bad=0
ok() { # ok STATUS NAME
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; bad=1; fi
}
# gives TEXT NAME ARGS...: printf'd standard input in $d/in, exactly TEXT out
gives() {
    want=$1 name=$2
    shift 2
    got=$("$R" tokenize "$@" <"$d/in" 2>"$d/err" && echo .)
    if [ "$got" = "$(printf "$want" && echo .)" ]; then ok 0 "$name"; else
        echo "# found \"$got\", expected \"$want\"; $(cat "$d/err")"
        ok 1 "$name"
    fi
}
# refused STATUS TEXT ARGS...
refused() {
    want=$1 text=$2
    shift 2
    "$R" tokenize "$@" <"$d/in" >"$d/out" 2>"$d/err"
    got=$?
    if [ "$got" -eq "$want" ] && grep -q -- "$text" "$d/err"; then ok 0 "refused: $text"; else
        echo "# status $got (expected $want), looking for \"$text\" in: $(cat "$d/err")"
        ok 1 "refused: $text"
    fi
}
corpus=${ROOFCAST_DATA:?}/tests/fuzz/corpus/tokenizer
tail -c +2 "$corpus/vocab-spm" >"$d/spm.gguf"
tail -c +2 "$corpus/vocab-bpe" >"$d/bpe.gguf"

printf 'abc\n\na b\n' >"$d/in"
gives '1 267 262\n1\n1 265 259 261\n' "a line a line, each with BOS" -m "$d/spm.gguf"
gives '267 262\n\n265 259 261\n' "--no-bos" -m "$d/spm.gguf" --no-bos
gives '259\n\n97 32 98\n' "byte-level BPE; the file asks for no BOS" -m "$d/bpe.gguf"
printf 'a</s>a' >"$d/in"
gives '265 2 265\n' "--special, and no newline at the end" -m "$d/spm.gguf" --no-bos --special
gives '265 63 50 118 65 260\n' "without it </s> is text" -m "$d/spm.gguf" --no-bos
"$R" tokenize -m "$d/spm.gguf" --no-bos -o "$d/ids" <"$d/in" >"$d/out" && [ ! -s "$d/out" ] &&
    [ "$(cat "$d/ids")" = "265 63 50 118 65 260" ]
ok $? "-o"
printf '1 267 262\n\n265, 259 261\n1 265 2 265\n' >"$d/in"
gives 'abc\n\na b\naa\n' "--ids" -m "$d/spm.gguf" --ids
gives '<s>abc\n\na b\n<s>a</s>a\n' "--ids --special" -m "$d/spm.gguf" --ids --special
printf 'Gr\303\274\303\237e, 1 abc  \377 x\n' >"$d/in"
"$R" tokenize -m "$d/bpe.gguf" <"$d/in" | "$R" tokenize -m "$d/bpe.gguf" --ids | cmp -s - "$d/in" &&
    "$R" tokenize -m "$d/spm.gguf" <"$d/in" | "$R" tokenize -m "$d/spm.gguf" --ids | cmp -s - "$d/in"
ok $? "there and back, bad UTF-8 included"

e=__ggml_vocab_test__
printf "abc\n$e\n\n$e\na\nb\n$e\n" >"$d/c.inp"
gives '267 262\n\n265 13 261\n' "--cases without an .out prints ids" -m "$d/spm.gguf" --cases "$d/c.inp"
printf '1 267 262\n1\n1 265 13 261\n' >"$d/c.out"
gives '3 of 3 cases pass\n' "--cases --bos" -m "$d/spm.gguf" --cases "$d/c.inp" --bos
printf ' 267 262\n\n 265 13 261\n' >"$d/c.out"
gives '3 of 3 cases pass\n' "--cases" -m "$d/spm.gguf" --cases "$d/c.inp"
printf '267 262\n\n265 13 999\n' >"$d/c.out"
refused 1 "1 of 3 cases fail" -m "$d/spm.gguf" --cases "$d/c.inp"
grep -q '^case 3: "a\\nb"$' "$d/out" && grep -q 'expected: 265 13 999' "$d/out" &&
    grep -q 'found: *265 13 261' "$d/out" && grep -q '^2 of 3 cases pass$' "$d/out"
ok $? "the failing case is shown"
printf '267 262\n\n' >"$d/c.out"
refused 1 "no line of ids for case 3" -m "$d/spm.gguf" --cases "$d/c.inp"
printf '267 262\n\n265 13 261\n5\n' >"$d/c.out"
refused 1 "more lines of ids than the 3 cases" -m "$d/spm.gguf" --cases "$d/c.inp"
printf '267 262\nx\n265 13 261\n' >"$d/c.out"
refused 1 "line 2 is not a list of ids" -m "$d/spm.gguf" --cases "$d/c.inp"

"$R" tokenize --help | grep -q "Examples:"
ok $? "--help teaches"
: >"$d/in"
refused 2 "-m FILE is required"
refused 2 "exclude each other" -m "$d/spm.gguf" --bos --no-bos
refused 2 "unexpected argument" -m "$d/spm.gguf" hello
refused 1 "no/such.gguf" -m no/such.gguf
refused 1 "no/such.inp" -m "$d/spm.gguf" --cases no/such.inp
refused 1 "names no such token" -m "$d/bpe.gguf" --bos
printf '5\n7 x9\n' >"$d/in"
refused 1 'line 2: "x9" is not a token id' -m "$d/spm.gguf" --ids
printf '272\n' >"$d/in"
refused 1 "line 1: token 272 is not in the vocabulary" -m "$d/spm.gguf" --ids
printf '%s\n' 99999999999999999999 >"$d/in"
refused 1 "is not a token id" -m "$d/spm.gguf" --ids
head -c 300 "$d/spm.gguf" >"$d/cut.gguf"
refused 1 "cut.gguf" -m "$d/cut.gguf"

echo "1..$n"
exit $bad
