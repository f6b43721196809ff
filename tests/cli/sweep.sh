#!/bin/sh
# roofcast sweep: the grid in order, figures that are predict's, rows for what cannot be, ranks of mpirun.
. "${top_srcdir:?}/tests/cli/lib.sh"

run sweep -m llama-3-8b,qwen3-30b-a3b -q F16,Q4_K_M --hw h100-sxm,rtx-4090 -b 1,8 -d 0,4096 -p 512 -n 64 --quiet
is 33 "$(awk 'END { print NR }' "$tmp/out")" "2 models x 2 types x 2 machines x 2 batches x 2 depths, and a header"
is "llama-3-8b,F16,F16,h100-sxm llama-3-8b,F16,F16,rtx-4090 llama-3-8b,Q4_K_M,F16,h100-sxm" \
    "$(awk -F, 'NR == 2 || NR == 6 || NR == 10 { printf "%s%s,%s,%s,%s", (NR > 2) ? " " : "", $1, $2, $3, $4 }' "$tmp/out")" \
    "the model is the outermost axis, the machine the innermost of a cell"
cp "$tmp/out" "$tmp/grid.csv"
# The same as predict says, to the six digits printed.
six() { awk -v v="$1" 'BEGIN { printf "%.6g", v }'; }
run predict qwen3-30b-a3b -q Q4_K_M --hw rtx-4090 -b 8 -d 4096 -p 512 -n 64 -o csv
p="$(six "$(cells seconds test=pp512x8@d4096)") $(six "$(cells tok_s test=tg64x8@d4096)") $(six "$(cells need_bytes test=tg64x8@d4096)")"
cp "$tmp/grid.csv" "$tmp/out"
is "$p" "$(cells ttft_s model=qwen3-30b-a3b type=Q4_K_M hw=rtx-4090 n_batch=8 n_depth=4096) $(
    cells decode_tok_s model=qwen3-30b-a3b type=Q4_K_M hw=rtx-4090 n_batch=8 n_depth=4096) $(
    cells need_bytes model=qwen3-30b-a3b type=Q4_K_M hw=rtx-4090 n_batch=8 n_depth=4096)" "a row says what predict says"

run sweep -m llama-3-8b --hw h100-sxm -b 1-8,16-64*2 -d 0-8192+4096 -p 0 --quiet
is 34 "$(awk 'END { print NR }' "$tmp/out")" "ranges: 1 to 8, doubling from 16 to 64; 0, 4096, 8192"
is "64" "$(awk -F, 'END { print $10 }' "$tmp/out")" "a range includes its end"
run sweep -m llama-3-8b --hw h100-sxm --tp 1,5 --quiet
is 3 "$(awk 'END { print NR }' "$tmp/out")" "what cannot be has a row"
has 'cannot predict: .*5'
ok $? "with the reason in it"
run sweep -m llama-3-8b --hw h100-sxm --tp 1,5 -b 1,2 -o jsonl --quiet
python=$(command -v python3 || true)
if [ -n "$python" ]; then
    is "4 512" "$("$python" -c 'import json, sys
rows = [json.loads(l) for l in open(sys.argv[1])]
print(len(rows), rows[0]["n_prompt"])' "$tmp/out")" "JSON lines are JSON"
else
    skip "JSON lines are JSON" "no python3"
fi
run sweep -m llama-3-8b --hw h100-sxm --save "$tmp/s.csv" --quiet && test ! -s "$tmp/out" && test "$(wc -l <"$tmp/s.csv")" = 2
ok $? "--save writes the rows to a file alone"
run sweep -m llama-3-8b --hw h100-sxm -b 1-100
grep -q '^roofcast: 100 configurations in .* microseconds each, on ' "$tmp/err"
ok $? "the last line says how long a configuration took"

refused 2 'no models: expected -m' sweep --hw h100-sxm
refused 1 'did you mean llama-3-8b' sweep -m llama-3-8c --hw h100-sxm
refused 2 'ends before it begins' sweep -m llama-3-8b --hw h100-sxm -b 8-1
refused 2 'expected a range such as 1-8, found "1-"' sweep -m llama-3-8b --hw h100-sxm -b 1-
refused 2 'expected a range such as 1-8, found "00000000000000000000000000000001..."' \
    sweep -m llama-3-8b --hw h100-sxm -b "$(printf '%032d%032d' 1 1)-8"
refused 2 'multiplies 0' sweep -m llama-3-8b --hw h100-sxm -d '0-8*2'
refused 2 'more than 1000000 values' sweep -m llama-3-8b --hw h100-sxm -d 0-2000000
refused 2 'csv or jsonl' sweep -m llama-3-8b --hw h100-sxm -o table
refused 2 'more than 65536 passes' sweep -m llama-3-8b --hw h100-sxm -p 1000000 -ub 1

# ---- ranks
mpi() { # N ARGS...
    ranks=$1
    shift
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none \
        mpirun -n "$ranks" "$ROOFCAST" "$@"
}
grid="-m llama-3-8b,qwen3-30b-a3b -q F16,Q8_0 --hw h100-sxm,rtx-4090 -b 1-64 -d 0-8192+1024 -t 1 --quiet"
if ! command -v mpirun >/dev/null; then
    skip "ranks of mpirun" "no mpirun"
elif ! "$ROOFCAST" --version | grep -q '^MPI: yes'; then
    skip "ranks of mpirun" "this build has no MPI"
else
    run sweep $grid
    cp "$tmp/out" "$tmp/one.csv"
    for many in 2 4; do
        mpi $many sweep $grid --save "$tmp/$many.csv" >"$tmp/out" 2>"$tmp/err"
        cmp -s "$tmp/one.csv" "$tmp/$many.csv"
        ok $? "$many ranks write what one process writes"
    done
    mpi 3 sweep -m llama-3-8b,llama-3-8c -q F16 --hw h100-sxm --save "$tmp/bad.csv" >"$tmp/out" 2>"$tmp/err"
    [ $? != 0 ] && grep -q 'llama-3-8c' "$tmp/err" && test ! -e "$tmp/bad.csv"
    ok $? "the error of a rank is the error of all"
    # Long enough to be found: the last rank is killed in the middle.
    mpi 2 sweep -m llama-3-8b -q F16,Q8_0 --hw h100-sxm -b 1-4096 -d 0-65536+64 -t 1 --quiet --save "$tmp/dead.csv" >"$tmp/out" 2>"$tmp/err" &
    job=$!
    sleep 3
    last=$(ps -eo pid,args 2>/dev/null | awk -v s="$tmp/dead.csv" 'index($0, s) && !/mpirun/ && !/awk/ { print $1 }' | tail -n 1)
    if [ -n "$last" ]; then
        kill -9 "$last"
        wait $job
        [ $? != 0 ] && grep -q 'missing, of rank 1: configurations [0-9]* to [0-9]* (llama-3-8b Q8_0 on h100-sxm' "$tmp/err" &&
            ! ls "$tmp"/dead.csv* >/dev/null 2>&1
        ok $? "a rank that dies: its part is named, and nothing half is left"
    else
        kill $job
        skip "a rank that dies" "its process was not found"
    fi
fi
finish
