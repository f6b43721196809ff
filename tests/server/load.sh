#!/bin/sh
# 200 streams at once, and clients that misbehave, against roofcast serve --http (load.py). ROOFCAST_LOAD_S: seconds (default 8; with
# sanitizers 6).
. "${top_srcdir:?}/tests/cli/lib.sh"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { echo "1..0 # SKIP no python3 of 3.10 or newer"; exit 0; }
# Sanitizers are slow, and keep freed memory for a while.
width=256 blocks=200 args="--seconds ${ROOFCAST_LOAD_S:-8}"
[ -z "${ROOFCAST_SANITIZED:-}" ] || width=128 blocks=120 args="--seconds ${ROOFCAST_LOAD_S:-6} --tokens 60 --no-memory"
m=$tmp/model.gguf
"$ROOFCAST" synth --n-layer 2 --n-embd $width --n-ff $width --n-head 4 --n-head-kv 2 --n-vocab 512 -q F16 -o "$m" --quiet || exit 99
# Batch-invariant: a token's bits depend neither on the other sequences of a step nor on what the prefix cache had.
# Blocks for half of the sequences that may run; a queue for fewer than there are streams.
serves -m "$m" --batch-invariant -t 1 --api-key secret --max-num-seqs 48 --max-num-batched-tokens 256 --num-gpu-blocks-override $blocks \
    --max-model-len 512 --max-num-queued-reqs 120
# shellcheck disable=SC2086
python3 "$top_srcdir/tests/server/load.py" --url "$url" --key secret --pid "$pid" $args >"$tmp/out" 2>"$tmp/err"
rc=$?
grep -v '^1\.\.' "$tmp/out"
n=$(grep -c '^ok\|^not ok' "$tmp/out")
[ $rc -eq 0 ] || bad=1
tail -n 5 "$tmp/err" | sed 's/^/# /'
[ $rc -eq 0 ] && grep -q '^1\.\.' "$tmp/out"
ok $? "the load came to its end"
[ $rc -eq 0 ] || kill -KILL $pid 2>/dev/null # it may be draining
ended $pid
pid=
cp "$tmp/serve.err" "$tmp/out"
ok "$status" "the server ended with status 0"
finish
