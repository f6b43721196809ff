#!/bin/sh
# roofcast synth: files that load, the same bytes again, clear refusals, nothing left behind.
R=${ROOFCAST:?}
d=$(mktemp -d) || exit 99
trap 'rm -rf "$d"' EXIT
n=0 bad=0
ok() { # ok STATUS NAME
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; bad=1; fi
}
# refused STATUS TEXT ARGS...: exit status, text in the message, and no file
refused() {
    want=$1 text=$2
    shift 2
    "$R" synth "$@" >"$d/out" 2>"$d/err"
    got=$?
    if [ "$got" -eq "$want" ] && grep -q -- "$text" "$d/err" && [ ! -e "$d/x.gguf" ]; then
        ok 0 "refused: $text"
    else
        echo "# status $got (expected $want), looking for \"$text\" in: $(cat "$d/err")"
        ok 1 "refused: $text"
    fi
    rm -f "$d/x.gguf"
}
small="--n-layer 2 --n-embd 64 --n-ff 96 --n-head 4 --n-head-kv 2 --n-vocab 300"

"$R" synth $small -q Q8_0 -t 1 -o "$d/a.gguf" >"$d/out" 2>"$d/err"
ok $? "a shape by hand"
grep -q "Q8_0.*parameters.*21 tensors" "$d/out"
ok $? "says what was written"
"$R" synth $small -q Q8_0 -t 1 -o "$d/b.gguf" --quiet >"$d/out" && [ ! -s "$d/out" ] && cmp -s "$d/a.gguf" "$d/b.gguf"
ok $? "the same seed gives the same bytes, quietly"
"$R" synth $small -q Q8_0 -o "$d/c.gguf" --seed 2 >/dev/null && ! cmp -s "$d/a.gguf" "$d/c.gguf"
ok $? "another seed gives others"
"$R" synth "$d/a.gguf" -q F16 -o "$d/d.gguf" >/dev/null && [ "$(wc -c <"$d/d.gguf")" -gt "$(wc -c <"$d/a.gguf")" ]
ok $? "the shape of a GGUF in another type"
"$R" synth Stories15M --n-layer 1 --n-vocab 300 -q q4_k -o "$d/e.gguf" >"$d/out" && grep -q Q4_K_M "$d/out"
ok $? "a preset with fewer layers"
cat >"$d/config.json" <<'J'
{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4,
 "intermediate_size": 96, "vocab_size": 300, "_name_or_path": "mine"}
J
"$R" synth "$d/config.json" -o "$d/f.gguf" >"$d/out" && grep -q "mine, F16" "$d/out"
ok $? "a config.json, F16 by default"
"$R" synth $small -q F32 -o - | cmp -s - /dev/null
[ $? -eq 1 ] && "$R" synth $small -q Q8_0 -t 1 -o - 2>/dev/null | cmp -s - "$d/a.gguf"
ok $? "-o - writes the same bytes to standard output"
"$R" synth --help | grep -q "Examples:"
ok $? "--help teaches"

# Streamed: a file of 436 MB within 300 MB of address space, libraries and all. (A sanitizer's build
# reserves more than that before it starts.)
if (ulimit -v 300000 && "$R" --version) >/dev/null 2>&1; then
    (ulimit -v 300000 && "$R" synth llama-3-8b --n-layer 1 --n-vocab 300 -q F16 -t 1 -o /dev/null) >"$d/out" 2>&1
    ok $? "memory is a few chunks"
else
    ok 0 "memory is a few chunks # SKIP the program does not start in 300 MB of address space"
fi

x="-o $d/x.gguf"
refused 2 "-o FILE" $small
refused 2 "which model" -q F16 $x
refused 2 "needs --n-vocab" --n-layer 2 --n-embd 64 --n-ff 96 --n-head 4 $x
refused 2 "Q4_K_M" $small -q Q9_9 $x
refused 2 "-t" $small -t 0 $x
refused 2 "n-layer" $small --n-layer -1 $x
refused 2 "one MODEL" stories15m stories42m $x
refused 1 "did you mean stories15m" storys15m $x
refused 1 "at least 259" $small --n-vocab 100 $x
refused 1 "n_embd" $small --n-embd 2000000000 $x
refused 1 "multiple of" $small --n-head-kv 3 $x
refused 1 "cannot write" $small --n-embd 256 --head-dim 64 --n-ff 256 -q Q2_K $x
refused 1 "no such file" no.gguf $x
"$R" synth $small -t 10000 -o "$d/x.gguf" 2>"$d/err"
[ $? -ne 0 ] && [ -s "$d/err" ] && [ ! -e "$d/x.gguf" ]
ok $? "refused: -t 10000"
if [ -w /dev/full ]; then
    "$R" synth $small -o /dev/full 2>"$d/err"
    [ $? -eq 1 ] && grep -q "/dev/full" "$d/err"
    ok $? "a full disk is an error that names the file"
fi

# Ctrl-C: 130, and neither the file nor its temporary is left
"$R" synth tinyllama-1.1b -q Q6_K -t 1 -o "$d/x.gguf" --quiet 2>"$d/err" &
pid=$!
i=0
while [ $i -lt 100 ] && ! ls "$d"/x.gguf* >/dev/null 2>&1; do sleep 0.05; i=$((i + 1)); done
kill -TERM $pid
wait $pid
status=$?
if [ $status -ne 130 ] || ls "$d"/x.gguf* >/dev/null 2>&1; then
    echo "# status $status: $(cat "$d/err"); left: $(ls "$d" | tr '\n' ' ')"
    false
fi
ok $? "interrupted: status 130 and nothing left"
echo "1..$n"
exit $bad
