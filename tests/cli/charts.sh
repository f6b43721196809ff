#!/bin/sh
# roofcast plot --chart: what a profile measured against footprint, threads and load, and its kernels, become charts whose
# axes are the machine's; what was not measured is said.
if ! command -v gnuplot >/dev/null; then
    echo "1..0 # SKIP gnuplot is not installed (Debian: apt-get install gnuplot-nox)"
    exit 0
fi
. "${top_srcdir:?}/tests/cli/lib.sh"
hw=$top_srcdir/tests/report/curves.json
check_svg=$(dirname "$ROOFCAST")/tests/report/check_svg
chart() { # KIND [ARGS...]: drawn, files whole, labels apart
    kind=$1
    shift
    run plot --chart "$kind" "$hw" -o "$tmp/$kind" "$@" || return 1
    for e in tsv roofs.tsv gp svg png; do
        [ -s "$tmp/$kind.$e" ] || { echo "no $kind.$e" >>"$tmp/err"; return 1; }
    done
    "$check_svg" "$tmp/$kind.svg" >>"$tmp/err"
}
column() { # FILE NAME COLUMN: of the rows of that label
    awk -F'\t' -v want="$2" -v key="$3" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $at["label"] == want { print $at[key] }' "$1"
}
frame() { # KIND: the axes
    sed -n 's/^\([XY]_[LH][OI]\) = /\1=/p' "$tmp/$1.gp" | tr '\n' ' '
}

cp "$hw" "$tmp/own.txt"
refused 2 'own.txt is an input file' plot "$tmp/own.txt" --chart bandwidth --format txt -o "$tmp/own"
cmp -s "$hw" "$tmp/own.txt"
ok $? "no picture of characters is written over its profile"
chart bandwidth
ok $? "bandwidth against footprint"
is 'X_LO=1024 X_HI=1.07374e+09 Y_LO=1e+09 Y_HI=1e+13 ' "$(frame bandwidth)" \
    "from 1 KiB to 1 GiB and between the decades of the machine's roofs"
is 'read, 8 threads;read, 1 thread;write, 8 threads;copy, 8 threads;triad, 8 threads;' \
    "$(awk -F'\t' 'NR > 1 && $10 != last { printf "%s;", $10; last = $10 }' "$tmp/bandwidth.tsv")" \
    "reads at every number of threads, the rest at the largest"
is 33 "$(column "$tmp/bandwidth.tsv" 'read, 1 thread' value | wc -l)" "a point a footprint"
awk -F'\t' 'NR > 1 && !($4 > 0 && $4 <= $3 && $3 <= $5 && $6 == 9) { bad = 1 } END { exit bad || NR < 2 }' "$tmp/bandwidth.tsv"
ok $? "each with its interval and number of samples"
is 'L1 48 KiB:49152 L2 2 MiB:2097152 L3 / 8: 4 MiB:4194304 L3 32 MiB:33554432 ' \
    "$(awk -F'\t' '$1 == "mark" { printf "%s:%.0f ", $6, $2 }' "$tmp/bandwidth.roofs.tsv")" \
    "caches are marked, a shared one by what one of eight threads has of it"
grep -q 'memory, datasheet: 96.0 GB/s' "$tmp/bandwidth.svg"
ok $? "the datasheet's bandwidth is a line"
grep -q 'yerrorbars' "$tmp/bandwidth.gp"
ok $? "intervals are drawn"
cp "$tmp/bandwidth.png" "$tmp/before.png"
(cd "$tmp" && rm bandwidth.svg bandwidth.png && gnuplot bandwidth.gp) >"$tmp/out" 2>"$tmp/err" && cmp -s "$tmp/before.png" "$tmp/bandwidth.png" &&
    "$check_svg" "$tmp/bandwidth.svg" >>"$tmp/err"
ok $? "gnuplot NAME.gp draws the same picture again"

# The axes are the machine's, not the data's: ten times the values in one curve change no axis, and are named.
awk '/"name": "read footprint 1t"/ { on = 1 } /"name": "read footprint 8t"/ { on = 0 }
     on { while (match($0, /"(value|ci_lo|ci_hi)": [0-9.e+]+/)) {
            head = head substr($0, 1, RSTART - 1); m = substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH)
            split(m, kv, ": "); head = head kv[1] ": " sprintf("%.0f", kv[2] * 100) }
          $0 = head $0; head = "" } { print }' "$hw" >"$tmp/fast.json"
run plot --chart bandwidth "$tmp/fast.json" -o "$tmp/fast" && [ "$(frame fast)" = "$(frame bandwidth)" ]
ok $? "a curve that leaves the frame does not move it"
has 'Outside the frame: read, 1 thread (9 of 33 points)' && grep -q 'Outside the frame: read, 1 thread (9 of 33' "$tmp/fast.svg"
ok $? "and is named, in the picture too"

chart bandwidth --op read -t 4
is 'read, 1 thread' "$(awk -F'\t' 'NR == 2 { print $10 }' "$tmp/bandwidth.tsv")" "-t takes what was measured with no more threads"
chart saturation
ok $? "bandwidth against threads"
has_text() { grep -qF -- "$1" "$tmp/$2.svg"; }
has_text 'Threads that reach 95 % of the best: read DRAM 6, read L3 8, read L2 8, read L1 8.' saturation
ok $? "with the number of threads that saturates each level"
chart latency
ok $? "latency against footprint"
is 'X_LO=1024 X_HI=1.07374e+09 Y_LO=1e-10 Y_HI=1e-06 ' "$(frame latency)" "from 0.1 ns to 1 us"
has_text 'chase, 1 thread, 4K pages' latency && has_text 'chase, 1 thread, 2M pages' latency
ok $? "small and large pages"
chart loaded-latency
ok $? "latency under load"
is 'X_LO=0 X_HI=1e+11 Y_LO=1e-08 Y_HI=1e-06 ' "$(frame loaded-latency)" "up to the datasheet's bandwidth"
has_text 'DRAM without load: 92.0 ns' loaded-latency && has_text 'DRAM read 77.7 GB/s' loaded-latency
ok $? "next to the latency without load and the most that reads reach"
jq '(.curves[] | select(.x == "bytes_s").points[].x) *= 4' "$hw" >"$tmp/moved.json"
run plot --chart loaded-latency "$tmp/moved.json" --format svg -o "$tmp/moved" && ! has 'Outside the frame' &&
    has_text "more than this profile's roof of reads, 77.7 GB/s" moved && ! has_text 'roof of reads' loaded-latency
ok $? "a load above the roof of reads is in the frame and said"
chart kernels
ok $? "kernels by type"
is '12 12 F32 Q2_K' "$(column "$tmp/kernels.tsv" 'matvec DRAM' name | awk '!seen[$1]++ { n++ } NR == 1 { a = $1 } { b = $1 } END { print n, NR, a, b }')" \
    "a point a type and level, from the most bits a weight to the fewest"
has_text 'plain read DRAM 77.7 GB/s' kernels && has_text 'plain read L2' kernels
ok $? "under what plain loads reach at each level"
chart kernels --op matmat
has_text 'matmat DRAM, 512 tokens' kernels && has_text 'peak int8 ' kernels && has_text 'peak bf16 ' kernels && ! has_text 'peak int16' kernels && ! has_text 'peak fp64' kernels
ok $? "products of many tokens are under the arithmetic's peaks"
refused 2 '--op: expected one of matvec, matmat, found "softmax"' plot --chart kernels "$hw" --op softmax -o "$tmp/x"

chart kernels --format svg,pdf,txt
tail -c 16 "$tmp/kernels.pdf" | grep -q '%%EOF' && grep -q 'matvec DRAM' "$tmp/kernels.txt" && has 'kernels.txt'
ok $? "as a page, and drawn with characters"
run plot "$top_srcdir/tests/report/cpu.json" --format txt -o "$tmp/roofline" && [ ! -e "$tmp/roofline.svg" ] && grep -q 'roofs' "$tmp/roofline.txt"
ok $? "the roofline too"
refused 2 '--format: expected svg, png, pdf, txt, found "gif"' plot "$hw" --format svg,gif
refused 2 '--chart: expected roofline, hierarchical' plot "$hw" --chart pie
refused 3 'no Bandwidth against footprint in it; `roofcast profile`' plot --chart bandwidth "$top_srcdir/tests/report/cpu.json" -o "$tmp/x"
refused 3 'no roofs of kernels in it; `roofcast profile`' plot --chart kernels "$top_srcdir/tests/report/cpu.json" -o "$tmp/x"
refused 3 'no Bandwidth against footprint of gather in it' plot --chart bandwidth "$hw" --op gather -o "$tmp/x"
refused 1 'expected "roofcast.hwprofile"' plot --chart latency "$top_srcdir/tests/report/run.json" -o "$tmp/x"
run plot --chart latency "$top_srcdir/tests/report/run.json" --hw "$hw" -o "$tmp/x"
ok $? "--hw names the profile where the file is a run"

# A point an op and level: the cache model's bytes of the same ops, or what counters counted of a role.
run_json=$top_srcdir/tests/report/run.json
hier() { # BASE FILE ARGS...
    base=$1
    shift
    run plot --chart hierarchical "$@" -o "$tmp/$base" && "$check_svg" "$tmp/$base.svg" >>"$tmp/err"
}
hier h "$run_json" --hw "$hw"
ok $? "hierarchical roofline of a run"
level() { # BASE LABEL LEVEL: intensity
    awk -F'\t' -v l="$2" -v p="$3" '$9 == l && $8 == p { print $1 }' "$tmp/$1.tsv"
}
holds "$(level h ffn_gate DRAM) > 1.8 && $(level h ffn_gate DRAM) < 1.89" "from memory a Q8_0 product has 2 FLOP / 1.0625 bytes, less its activations"
awk -F'\t' '{ ai[$9, $8] = $1; name[$9] } END { for (n in name) if (ai[n, "DRAM"] > 0) { n_op++; if (!(ai[n, "L1"] <= ai[n, "DRAM"] * 1.0001)) bad = 1 } exit bad || n_op < 5 }' "$tmp/h.tsv"
ok $? "cores load at least what comes from memory"
awk -F'\t' 'NR > 1 && ($4 != 1 || $5 != 0) { bad = 1 } END { exit bad }' "$tmp/h.tsv" && has_text 'hollow: bytes from the cache model' h &&
    has_text 'traffic per level from the cache model, no counters' h && has_text 'L2 read' h
ok $? "data, legend and subtitle say that these are the cache model's; roofs of every level"
awk '{ print } /^ "schema"/ { print " \"counts\": [{\"test\": \"tg128\", \"phase\": \"decode\", \"role\": \"ffn_gate\", \"field\": \"l1_fill_bytes\", \"value\": 1e10, \"per_s\": 1e10, \"source\": \"core counters\", \"reason\": null}],"}' "$run_json" >"$tmp/counted.json"
hier c "$tmp/counted.json" --hw "$hw" && has_text 'full markers counted' c && has_text 'bytes from hardware counters' c
ok $? "counters are used where the run has them"
awk -F'\t' '$9 == "ffn_gate" { print $8, $4, $5 }' "$tmp/c.tsv" | sort | paste -sd, >"$tmp/tags"
is 'DRAM 1 0,L1 1 0,L2 0 1,L2 1 0,L3 1 0' "$(cat "$tmp/tags")" "lines that came into the L1 are what the L2 served, next to the model's; the rest stays the model's"
hier p "$run_json" --hw "$hw" --phase prefill && awk -F'\t' '$9 == "ffn_gate" && $8 == "DRAM" && $1 > 50 { found = 1 } END { exit !found }' "$tmp/p.tsv"
ok $? "--phase prefill"
refused 2 "no cache sizes: name the machine with --hw this" plot --chart hierarchical "$run_json" -o "$tmp/x"
refused 2 "--chart hierarchical is for runs" plot --chart hierarchical "$hw" -o "$tmp/x"
sed 's/"model": "smollm2-360m"/"model": "some fine-tune"/' "$run_json" >"$tmp/other.json"
refused 1 "the run's model (use -m)" plot --chart hierarchical "$tmp/other.json" --hw "$hw" -o "$tmp/x"

# ---- other kinds
run plot --chart waterfall "$run_json" -o "$tmp/w" && has_text 'achieved' w && has_text '+0.126 ms' w && has_text '0.979 ms' w
ok $? "waterfall of a run"
awk -F'\t' 'NR > 1 && $1 == 1 { roof = $6 } $1 == 2 { loss += $6 } $1 == 3 { all = $6 } END { d = roof + loss - all; exit !(roof > 0 && d * d < 1e-6 * all * all && all > 1.19 && all < 1.193) }' "$tmp/w.tsv"
ok $? "roof and losses add up to 152.609 ms / 128"
run plot --chart waterfall "$run_json" --phase prefill -o "$tmp/w"
is "$(jq '[.ops[] | select(.phase == "prefill") | .seconds * ([.roof_fraction, 1] | min)] | add * 1000 / 512' "$run_json" | awk '{ printf "%.5g", $1 }')" \
    "$(awk -F'\t' '$1 == 1 { printf "%.5g", $6 }' "$tmp/w.tsv")" "an op above its roof has the time of its roof at most"
run plot --chart layers "$run_json" -o "$tmp/l" --phase decode && has_text 'Time of a pass' l
is "$(jq '[.ops[] | select(.phase == "decode" and .layer == 1) | .flop] | add' "$run_json")" "$(awk -F'\t' '$2 == 0.6 && $7 ~ /FLOP/ { sum += $6 } END { printf "%d", sum }' "$tmp/l.tsv")" "FLOP of a layer"
run predict llama-3-8b --hw rtx-4090 -q Q4_K_M -b 1,4,16 -n 16 -p 0 -o json && cp "$tmp/out" "$tmp/b.json"
run plot --chart batch "$tmp/b.json" -o "$tmp/batch"
is "$(jq -r '.rows[] | "\(.n_batch) \(.tok_s)"' "$tmp/b.json" | awk '{ printf "%d %.6g;", $1, $2 }')" "$(awk -F'\t' '$1 == 1 { printf "%d %.6g;", $2, $3 }' "$tmp/batch.tsv")" "a point a batch, the prediction's rates"
awk -F'\t' '$8 == 4 { roof[$2] = roof[$2] == "" || $3 < roof[$2] ? $3 : roof[$2] } $1 == 1 { v[$2] = $3 } END { for (b in v) if (!(v[b] < roof[b])) bad = 1; exit bad }' "$tmp/batch.tsv"
ok $? "below the lower roof"
mkdir "$tmp/term"
(export TMPDIR="$tmp/term" && run plot --chart batch "$tmp/b.json" --term) && has 'Batch \[sequences\]' && ! has 'batch.svg'
ok $? "--term draws on standard output"
[ -z "$(ls -A "$tmp/term")" ]
ok $? "and leaves nothing behind"
run predict smollm2-360m -q Q8_0 --hw "$top_srcdir/tests/report/cpu.json" -o json && cp "$tmp/out" "$tmp/p.json"
run plot "$run_json" "$tmp/p.json" --hw "$top_srcdir/tests/report/cpu.json" -o "$tmp/pair" && has_text 'hollow: predicted' pair
is "$(awk -F'\t' '$4 == 1 && $6 == 1' "$tmp/pair.tsv" | wc -l)" "$(grep -c ' nohead back lw 1.4 ' "$tmp/pair.gp")" "each predicted point is joined to its measured one"
refused 2 'expected one file, or a run and a prediction of it; found 2' plot "$tmp/b.json" "$tmp/p.json" -o "$tmp/x"
refused 1 'expected "roofcast.predict", found "roofcast.run"; --chart batch reads' plot --chart batch "$run_json" -o "$tmp/x"
refused 1 'expected "roofcast.score", found "roofcast.run"' plot --chart accuracy "$run_json" -o "$tmp/x"
refused 1 'expected "roofcast.analyze", found "roofcast.predict"' plot --chart layers "$tmp/p.json" -o "$tmp/x"
refused 1 'No such file' plot --chart timeline "$tmp/absent.json" -o "$tmp/x"
jq '.rows = 3' "$tmp/b.json" >"$tmp/bad.json"
refused 1 'no decode in it' plot --chart context "$tmp/bad.json" -o "$tmp/x"
jq '.ops = []' "$run_json" >"$tmp/bad.json"
refused 1 'no ops of decode in it' plot --chart waterfall "$tmp/bad.json" -o "$tmp/x"
echo '{"schema": "roofcast.score", "version": 1, "rows": [{"measured": 1}, 4, {"measured": 3, "predicted": "x"}]}' >"$tmp/bad.json"
refused 1 'no row with a prediction and a measurement' plot --chart accuracy "$tmp/bad.json" -o "$tmp/x"
echo '{"schema": "roofcast.policies", "version": 1, "rows": [{"name": 3}, null]}' >"$tmp/bad.json"
refused 1 'no times of policies' plot --chart policies "$tmp/bad.json" -o "$tmp/x"
echo '{"schema": "roofcast.capacity", "version": 1, "rows": {"a": 1}}' >"$tmp/bad.json"
refused 1 'no deployment to draw' plot --chart pareto "$tmp/bad.json" -o "$tmp/x"

for requests in 40 50; do
    run simulate llama-3-8b --hw h100-sxm --rate 8 --num-prompts $requests --save "$tmp/all.json" && jq 'del(.settings.rate)' "$tmp/all.json" >"$tmp/no-rate-$requests.json"
done
run plot --chart latencies "$tmp/no-rate-40.json" "$tmp/no-rate-50.json" -o "$tmp/runs"
is 'TTFT, run 1,TTFT, run 2' "$(cut -f 10 "$tmp/runs.tsv" | grep TTFT | uniq | paste -sd,)" "runs without a rate are told apart by their numbers"

# The roofs of a roofline are reads, however much faster other ops are.
sed 's/"name": "copy DRAM 8t", "kind": "bandwidth", "op": "copy"\(.*\)"value": [0-9]*\(.*\)"ci_lo": [0-9]*, "ci_hi": [0-9]*/"name": "copy DRAM 8t", "kind": "bandwidth", "op": "copy"\1"value": 900000000000\2"ci_lo": null, "ci_hi": null/' "$hw" >"$tmp/copy.json"
run plot "$tmp/copy.json" -o "$tmp/copy"
is 'DRAM read 77.7 GB/s' "$(awk -F'\t' '$1 == "bandwidth" && $9 ~ /^DRAM/ { print $9 }' "$tmp/copy.roofs.tsv")" "a copy is no roof of reads"
run plot "$tmp/copy.json" --all-roofs -o "$tmp/copy"
awk -F'\t' '$9 == "DRAM copy, 8 threads 900 GB/s" { found = 1 } END { exit !found }' "$tmp/copy.roofs.tsv"
ok $? "--all-roofs shows it under its name"
finish
