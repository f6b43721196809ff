#!/bin/sh
# roofcast quantize: the types, sizes and accuracy of llama.cpp's files; refusals; nothing left behind.
. "${top_srcdir:?}/tests/cli/lib.sh"
oracle=${ROOFCAST_SHARED:-none}/data/oracle
x=$tmp/x.gguf
# fails STATUS TEXT ARGS...: refused, and no x.gguf
fails() {
    refuses "$@" && [ ! -e "$x" ]
    ok $? "refused with $want: $text"
    rm -f "$x"
}

# ---- a model of our own: what synth draws in F32 and rounds to a type, quantize rounds to the same bytes
shape="--n-embd 256 --n-ff 512 --n-head 8 --n-head-kv 2 --n-vocab 300 --n-layer"
layers=8 # enough for mixtures to give some of them more bits
[ -z "${ROOFCAST_SANITIZED:-}" ] || layers=2
# shellcheck disable=SC2086
{
    run synth $shape 8 -q F32 -o "$tmp/f32.gguf" && run synth $shape $layers -q F32 -o "$tmp/few.gguf"
    ok $? "synth an F32 model"
    for type in F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 IQ4_NL IQ4_XS Q2_K Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M q5_k Q5_K_S Q6_K; do
        run synth $shape $layers -q $type -o "$tmp/want.gguf" && run quantize "$tmp/few.gguf" -q $type -o csv "$x"
        ok $? "$type"
        bytes=$(cells out_bytes role=total)
        tail -c "$bytes" "$tmp/want.gguf" >"$tmp/want" && tail -c "$bytes" "$x" | cmp - "$tmp/want" 2>"$tmp/err" &&
            [ "$bytes" -gt $((layers * 125000)) ]
        ok $? "$type: the weights that synth writes"
        rm -f "$x"
    done
    run synth --n-head-kv 2 --n-vocab 300 --n-layer 8 --n-embd 192 --n-head 4 --n-ff 96 -q F16 -o "$tmp/odd.gguf" && run quantize "$tmp/odd.gguf" -q Q4_K_M -o csv "$x"
    ok $? "rows of 192 and 96"
}
is "Q5_0 Q8_0 Q5_0 4 + Q8_0 4" "$(echo $(cells type role=attn_q) $(cells type role=output) $(cells type role=ffn_down))" "they fall back"
run quantize "$tmp/odd.gguf" -q Q4_K_M --force "$x" && has "^attn_q: Q5_0, its rows of 192 are no multiple of 256 (Q4_K)" &&
    [ "$(grep -c '^ffn_down: ' "$tmp/out")" -eq 2 ] && ! has "^attn_norm:"
ok $? "and are named"
run run -m "$x" -t 1 -n 2 -p a --ignore-eos
ok $? "the file runs"
rm -f "$x"

# ---- the table
run quantize "$tmp/f32.gguf" -q Q8_0 -t 1 -o csv "$x"
ok $? "-o csv"
is "$(cells out_bytes | sed '$d' | sum %.0f)" "$(cells out_bytes role=total)" "bytes add up"
is "$(cells n_weights | sed '$d' | sum %.0f)" "$(cells n_weights role=total)" "weights add up"
is 8.5 "$(cells bits_weight role=attn_q)" "bits a weight"
rmse=$(cells rmse role=total) snr=$(cells snr_db role=total)
holds "$rmse > 0.004 && $rmse < 0.006" "relative RMSE of Q8_0: $rmse"
holds "sqrt(($snr + 20 * log($rmse) / log(10)) ^ 2) < 1e-6" "SNR is -20 log10 of it: $snr"
is "0 0 " "$(cells rmse role=attn_norm) $(cells max_error role=attn_norm) $(cells snr_db role=attn_norm)" "what is copied has no error"
cp "$tmp/out" "$tmp/one.csv"
run quantize "$tmp/f32.gguf" -q Q8_0 -o csv "$tmp/y.gguf" && cmp -s "$x" "$tmp/y.gguf" && cmp -s "$tmp/out" "$tmp/one.csv"
ok $? "the same bytes and figures on all cores"
run quantize "$tmp/f32.gguf" -q q4_k --tensors "$tmp/z.gguf" && has "^blk.7.ffn_down.weight  *F32  *Q6_K" && has "^total  "
ok $? "--tensors: a row a tensor"
run quantize "$tmp/f32.gguf" -q Q4_0 --force --quiet "$tmp/z.gguf" && [ ! -s "$tmp/out" ] && [ ! -s "$tmp/err" ]
ok $? "--quiet"
run quantize "$tmp/f32.gguf" -q Q4_0 --force "$tmp/z.gguf" --output-tensor-type F16 --token-embedding-type q8_0 \
    --tensor-type 'blk\.[0-3]\.attn_v=Q6_K' -o csv
is "F16 Q8_0 Q4_0 4 + Q6_K 4" "$(echo $(cells type role=output) $(cells type role=token_embd) $(cells type role=attn_v))" "types by name"
"$ROOFCAST" quantize "$tmp/f32.gguf" -q Q8_0 - 2>/dev/null | cmp -s - "$x"
ok $? "- writes the same bytes to standard output"
run quantize --help && has "Examples:" && has "allow-requantize"
ok $? "--help teaches"

# ---- refusals
run quantize "$tmp/f32.gguf" -q Q4_0 "$x"
[ "$status" -eq 2 ] && says "exists" && cmp -s "$x" "$tmp/y.gguf"
ok $? "an existing file is kept"
run quantize "$tmp/f32.gguf" -q Q4_0 --force "$x" && ! cmp -s "$x" "$tmp/y.gguf"
ok $? "but for --force"
rm -f "$x"
fails 1 "--allow-requantize" quantize "$tmp/y.gguf" -q Q4_0 "$x"
run quantize "$tmp/y.gguf" -q Q4_0 --allow-requantize "$x" -o csv && [ "$(cells from role=attn_q)" = Q8_0 ]
ok $? "--allow-requantize"
rm -f "$x"
cp "$tmp/f32.gguf" "$tmp/same.gguf"
ln "$tmp/same.gguf" "$tmp/link.gguf"
for out in same link; do
    refuses 2 "the source itself" quantize "$tmp/same.gguf" -q F16 --force "$tmp/$out.gguf" && cmp -s "$tmp/f32.gguf" "$tmp/same.gguf"
    ok $? "never over its own source ($out.gguf)"
done
fails 2 "-q TYPE" quantize "$tmp/f32.gguf" "$x"
fails 2 "Q4_K_M" quantize "$tmp/f32.gguf" -q Q9_9 "$x"
fails 2 "OUT.gguf" quantize "$tmp/f32.gguf" -q Q8_0
fails 2 "too" quantize "$tmp/f32.gguf" "$x" third -q Q8_0
fails 2 "REGEX=TYPE" quantize "$tmp/f32.gguf" "$x" -q Q8_0 --tensor-type attn_v
fails 2 "no matrix" quantize "$tmp/f32.gguf" "$x" -q Q8_0 --tensor-type atn_v=Q4_0
fails 2 "expected one of" quantize "$tmp/f32.gguf" "$x" -q Q8_0 --output-tensor-type Q9
fails 1 "no.gguf" quantize no.gguf -q Q8_0 "$x"
head -c 100000 "$tmp/f32.gguf" >"$tmp/short.gguf"
fails 1 "truncated" quantize "$tmp/short.gguf" -q Q8_0 "$x"
if [ -w /dev/full ]; then
    run quantize "$tmp/f32.gguf" -q Q8_0 /dev/full
    [ "$status" -eq 1 ] && says "/dev/full" && [ ! -s "$tmp/out" ]
    ok $? "a full disk is an error that names the file"
fi

# ---- a file of zeros that takes no room: large beside what the program may use, and slow enough to interrupt
le() { # NUMBER BYTES
    v=$1 k=$2
    while [ "$k" -gt 0 ]; do
        # shellcheck disable=SC2059
        printf "\\$(printf %03o $((v & 255)))"
        v=$((v >> 8)) k=$((k - 1))
    done
}
zeros() { # ROWS: of 65536 floats, 256 kB each
    {
        printf GGUF && le 3 4 && le 1 8 && le 1 8
        le 20 8 && printf general.architecture && le 8 4 && le 1 8 && printf x
        le 8 8 && printf a.weight && le 2 4 && le 65536 8 && le "$1" 8 && le 0 4 && le 0 8
    } >"$tmp/zeros.gguf"
    dd if=/dev/zero of="$tmp/zeros.gguf" bs=1 count=0 seek=$((128 + $1 * 262144)) 2>/dev/null
}
zeros 2048
if (ulimit -v 800000 && "$ROOFCAST" --version) >/dev/null 2>&1; then
    (ulimit -v 800000 && "$ROOFCAST" quantize "$tmp/zeros.gguf" -q Q8_0 -t 1 /dev/null) >"$tmp/out" 2>&1
    ok $? "memory is a few chunks beside the mapping: 537 MB within 800"
else
    skip "memory is a few chunks" "the program does not start in 800 MB of address space"
fi
zeros 65536
"$ROOFCAST" quantize "$tmp/zeros.gguf" -q Q6_K -t 1 "$x" --quiet 2>"$tmp/err" &
pid=$!
i=0
while [ $i -lt 100 ] && ! ls "$x"* >/dev/null 2>&1; do sleep 0.05; i=$((i + 1)); done
kill -TERM $pid
wait $pid
status=$?
if [ $status -ne 130 ] || ls "$x"* >/dev/null 2>&1; then
    echo "status $status; left: $(ls "$tmp" | tr '\n' ' ')" >>"$tmp/err"
    false
fi
ok $? "interrupted: status 130 and nothing left"
rm -f "$tmp/zeros.gguf"

# ---- files that llama.cpp quantized from the same weights
if [ ! -d "$oracle" ]; then
    skip "llama.cpp's files" "$oracle is not here"
    finish
fi
source=$oracle/llama-gqa-F32.gguf
# Mean KL divergence of the next-token distributions of two files of logits: KL(A || B).
kl() {
    od -An -v -tf4 -w4 -j136 "$1" >"$tmp/a" # after two counts and 32 tokens
    od -An -v -tf4 -w4 -j136 "$2" | paste "$tmp/a" - | awk -v v=1024 '
        { a[NR % v] = $1; b[NR % v] = $2 }
        NR % v == 0 {
            za = zb = d = 0
            for (i = 0; i < v; i++) { za += exp(a[i]); zb += exp(b[i]) }
            for (i = 0; i < v; i++) d += exp(a[i]) / za * (a[i] - b[i])
            sum += d - log(za) + log(zb); n++
        }
        END { if (n != 32) exit 1; printf "%.6e", sum / n }'
}
# Its Q4_0, Q4_K_S and Q5_K_S files were written with --pure.
for row in BF16 Q8_0 Q6_K Q4_K_M Q5_K_S:--pure Q4_K_S:--pure Q4_0:--pure; do
    type=${row%%:*} pure=
    [ "$type" = "$row" ] || pure=--pure
    theirs=$oracle/llama-gqa-$type.gguf
    # shellcheck disable=SC2086
    run quantize "$source" -q $type $pure --tensors -o csv "$x"
    ok $? "$type of llama.cpp's F32 file"
    head=$(($(wc -c <"$x") - $(cells out_bytes name=total))) # metadata and infos; these tensors need no padding
    head -c "$head" "$theirs" >"$tmp/head" && head -c "$head" "$x" | cmp - "$tmp/head" 2>"$tmp/err" && [ "$head" -gt 20000 ]
    ok $? "$type: llama.cpp's metadata and tensor infos, byte for byte"
    { cells name && cells type; } | grep -v '^total$' | sed '$d' >"$tmp/ours.types"
    run quantize "$theirs" -q F32 --allow-requantize --tensors -o csv "$tmp/y.gguf" --force
    { cells name && cells from; } | grep -v '^total$' | sed '$d' >"$tmp/theirs.types"
    cmp "$tmp/ours.types" "$tmp/theirs.types" >"$tmp/err" 2>&1 && [ "$(wc -l <"$tmp/ours.types")" -eq 42 ]
    ok $? "$type: every tensor has llama.cpp's type"
    is "$(wc -c <"$theirs" | tr -d ' ')" "$(wc -c <"$x" | tr -d ' ')" "$type: as large as llama.cpp's"
    if run logits -m "$x" --tokens-from "${theirs%.gguf}.logits" -t 1 -o "$tmp/ours.logits"; then
        ours=$(kl "$oracle/llama-gqa-F32.logits" "$tmp/ours.logits")
        their=$(kl "$oracle/llama-gqa-F32.logits" "${theirs%.gguf}.logits")
        holds "$ours >= 0 && $ours < 1.1 * $their && $their > 1e-5" "$type: as near to F32 as llama.cpp's: KL $ours, $their"
    else
        ok 1 "$type: logits"
    fi
    rm -f "$x"
done
run quantize "$source" -q BF16 --quiet "$x" && cmp "$x" "$oracle/llama-gqa-BF16.gguf" 2>"$tmp/err"
ok $? "BF16: llama.cpp's file, byte for byte"
rm -f "$x"
run quantize "$oracle/mixtral-f16.gguf" -q Q4_K_M -o csv "$x"
is "F32 Q4_K 1 + Q6_K 1" "$(echo $(cells type role=ffn_gate_inp) $(cells type role=ffn_down_exps))" "experts are matrices of their own; the router stays"
# ---- notes and warnings
run synth --n-layer 1 --n-embd 64 --n-ff 96 --n-head 2 --n-vocab 300 -q F32 -o "$tmp/dense.gguf" --quiet &&
    run quantize "$tmp/dense.gguf" -q MXFP4 "$tmp/note.gguf" && has 'no matrix is MXFP4'
ok $? "MXFP4 without experts is said to be Q8_0"
run quantize "$tmp/dense.gguf" -q MXFP4 --pure "$tmp/note.gguf" --force && ! has 'no matrix is MXFP4'
ok $? "and is MXFP4 with --pure"
run quantize "$tmp/dense.gguf" -q Q4_K_M -o csv "$tmp/note.gguf" --force && says 'warning: .*rows of 96 are no multiple of 256'
ok $? "fallbacks are warnings where the table is for programs"
# the last weight of the LM head, 4 bytes before the end, becomes 1e30 (0x7149f2ca)
cp "$tmp/dense.gguf" "$tmp/large.gguf"
printf '\312\362\111\161' | dd of="$tmp/large.gguf" bs=1 seek=$(($(wc -c <"$tmp/dense.gguf") - 32)) conv=notrunc 2>/dev/null
run quantize "$tmp/large.gguf" -q Q8_0 "$tmp/note.gguf" --force --quiet && says "the weights are too large or too small for its scales"
ok $? "weights beyond the range of the scales are warned of, also with --quiet"
finish
