#!/bin/sh
# roofcast plot: every kind of document becomes a chart whose labels keep apart, and hostile names and files do no harm.
if ! command -v gnuplot >/dev/null; then
    echo "1..0 # SKIP gnuplot is not installed (Debian: apt-get install gnuplot-nox)"
    exit 0
fi
. "${top_srcdir:?}/tests/cli/lib.sh"
fixtures=$top_srcdir/tests/report
check_svg=$(dirname "$ROOFCAST")/tests/report/check_svg
# All five files are there, the pictures whole, the labels apart.
whole() { # BASE
    for e in tsv roofs.tsv gp svg png; do
        [ -s "$1.$e" ] || { echo "no $1.$e" >>"$tmp/err"; return 1; }
    done
    "$check_svg" "$1.svg" >>"$tmp/err"
}
chart() { # NAME BASE ARGS...
    name=$1 base=$2
    shift 2
    run plot "$@" -o "$base" && whole "$base"
    ok $? "$name"
}
cpu=$fixtures/cpu.json
chart "a run under its machine's roofs" "$tmp/run" "$fixtures/run.json" --hw "$cpu"
grep -q 'tg128, DRAM counters' "$tmp/run.svg" && grep -q 'tg128, all ops' "$tmp/run.svg" &&
    grep -q 'DRAM read 84.2 GB/s' "$tmp/run.svg" && grep -q 'INT8 avx512vnni 6.22 TOP/s' "$tmp/run.svg"
ok $? "it shows both byte counts of decode, and roofs with their numbers"
awk -F'\t' '$1 == "ridge" && $2 > 73.8 && $2 < 73.9 { found = 1 } END { exit !found }' "$tmp/run.roofs.tsv"
ok $? "the ridge of DRAM and INT8 stands at 6217.5 / 84.2 = 73.84 FLOP/byte"
run plot "$fixtures/run.json" --hw "$cpu" --phase decode -o "$tmp/dec" &&
    ! grep -q prefill "$tmp/dec.tsv" && whole "$tmp/dec"
ok $? "--phase decode leaves prefill out"
awk -F'\t' '$9 == "ffn_gate" && $8 == "decode" { ai = $1 } END { exit !(ai > 1.8 && ai < 1.89) }' "$tmp/dec.tsv"
ok $? "a Q8_0 product in decode has 2 FLOP / 1.0625 bytes, less its activations"
chart "a point an op" "$tmp/op" "$fixtures/run.json" --hw "$cpu" --by op
grep -q 'ffn_down\.2$' "$tmp/op.tsv"
ok $? "ops carry their layer"
chart "a run alone, under the roofs probed beside it" "$tmp/alone" "$fixtures/run.json"
chart "every roof" "$tmp/all" "$fixtures/run.json" --hw "$cpu" --all-roofs
grep -q 'DRAM read, 2 threads 31.5 GB/s' "$tmp/all.svg"
ok $? "with its number of threads"
chart "a profile alone" "$tmp/hw" "$cpu"
chart "a machine known by its datasheet" "$tmp/h100" "$top_srcdir/hwprofiles/h100-sxm.json"

run analyze llama-3-8b -o json
cp "$tmp/out" "$tmp/an.json"
refused 2 'with --hw' plot "$tmp/an.json" -o "$tmp/an"
chart "an analysis on an H100" "$tmp/an" "$tmp/an.json" --hw h100-sxm
awk -F'\t' '$8 == "decode" && $9 == "ffn_gate" { exit !($2 / $1 / 3.35e12 > 0.999 && $2 / $1 / 3.35e12 < 1.001 && $4 == 1) }' "$tmp/an.tsv"
ok $? "its decode lies on the memory roof, hollow"
run predict llama-3-8b --hw h100-sxm,rtx-4090 -o json
cp "$tmp/out" "$tmp/pr.json"
chart "a prediction" "$tmp/pr" "$tmp/pr.json"
has 'other machines too'
ok $? "says that the file has other machines"
chart "another machine of it" "$tmp/pr2" "$tmp/pr.json" --hw rtx-4090
grep -q 'RTX 4090' "$tmp/pr2.svg"
ok $? "is in the title"
run predict llama-3-8b --hw h100-sxm --by role -o json
cp "$tmp/out" "$tmp/roles.json"
chart "a prediction, a row a role" "$tmp/pr3" "$tmp/roles.json"
cmp -s "$tmp/pr3.tsv" "$tmp/pr.tsv"
ok $? "puts the same points"

chart "a name with quotes and spaces" "$tmp/it's a \"chart\"" "$cpu"
cp "$tmp/it's a \"chart\".svg" "$tmp/before.svg"
(cd "$tmp" && rm "it's a \"chart\".svg" && gnuplot "it's a \"chart\".gp") >"$tmp/out" 2>"$tmp/err" &&
    cmp -s "$tmp/before.svg" "$tmp/it's a \"chart\".svg"
ok $? "gnuplot NAME.gp in its directory draws the same bytes again"
mkdir "$tmp/~" && (cd "$tmp" && run plot "$cpu" -o '~/x') && whole "$tmp/~/x"
ok $? "a directory called ~"
(cd "$tmp" && run plot "$cpu" -o '|touch pwned') && [ ! -e "$tmp/pwned" ] && whole "$tmp/|touch pwned"
ok $? "a name that starts with | is no command"
(cd "$tmp" && run plot "$cpu" --output=-x) && whole "$tmp/-x"
ok $? "a name that starts with -"

refused 2 'which file' plot -o "$tmp/x"
refused 1 'No such file' plot "$tmp/absent.json" -o "$tmp/x"
echo '{"schema": "roofcast.list", "version": 1}' >"$tmp/list.json"
refused 1 'expected a run' plot "$tmp/list.json" -o "$tmp/x"
echo '{"schema": "roofcast.run", "version": 1, "rows": 3}' >"$tmp/bad.json"
refused 1 'field "rows"' plot "$tmp/bad.json" -o "$tmp/x"
echo '[1, 2' >"$tmp/cut.json"
refused 1 'cut.json' plot "$tmp/cut.json" -o "$tmp/x"
refused 2 '"nonsense"' plot "$fixtures/run.json" --by nonsense
refused 3 'roofcast profile' plot "$fixtures/run.json" --hw this -o "$tmp/x"
refused 1 'cannot write' plot "$cpu" -o "$tmp/no/such/dir/x"
mkdir "$tmp/bin"
PATH=$tmp/bin "$ROOFCAST" plot "$cpu" -o "$tmp/none" >"$tmp/out" 2>"$tmp/err"
[ $? -eq 3 ] && says 'gnuplot was not found' && [ -s "$tmp/none.gp" ] && [ -s "$tmp/none.tsv" ] && [ ! -e "$tmp/none.svg" ]
ok $? "without gnuplot the data and the script are written"

# The checker itself sees what it is for.
sed 's/translate([0-9.]*,[0-9.]*)\(.*font-size\)/translate(500,300)\1/' "$tmp/run.svg" >"$tmp/heap.svg"
"$check_svg" "$tmp/heap.svg" >"$tmp/out" 2>"$tmp/err"
[ $? -eq 1 ] && has 'texts overlap'
ok $? "check_svg sees texts on one another"
sed 's/translate([0-9.]*,[0-9.]*) scale/translate(560,98) scale/; s/translate([0-9.]*,[0-9.]*)\(.*font-size="18\)/translate(540,100)\1/' "$tmp/run.svg" >"$tmp/mark.svg"
"$check_svg" "$tmp/mark.svg" >"$tmp/out" 2>"$tmp/err"
[ $? -eq 1 ] && has 'text on a marker'
ok $? "check_svg sees a text on a marker"
sed 's/translate([0-9.]*,[0-9.]*)\(.*font-size="18\)/translate(1000,30)\1/' "$tmp/run.svg" >"$tmp/off.svg"
"$check_svg" "$tmp/off.svg" >"$tmp/out" 2>"$tmp/err"
[ $? -eq 1 ] && has 'leaves the canvas'
ok $? "check_svg sees a text that leaves the canvas"
finish
