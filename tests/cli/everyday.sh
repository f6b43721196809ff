#!/bin/sh
# roofcast without arguments, near misses, the user's folder, profiles that are stale.
. "${top_srcdir:?}/tests/cli/lib.sh"
version=$("$ROOFCAST" --version | sed -n '1s/^roofcast //p')
cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
profile() { # CPU KERNEL VERSION: this machine's, as if it had been measured with these
    sed 's|"cpu": "[^"]*"|"cpu": "'"${1:-unknown CPU}"'"|; s|"version": 1,|&"kernel": "'"$2"'", "roofcast": "'"$3"'",|; s|"date": "[^"]*"|"date": "2001-02-03T04:05:06Z"|' \
        "$top_srcdir/tests/report/cpu.json" >"$ROOFCAST_PROFILE"
}

run && [ ! -s "$tmp/err" ] && has 'No profile yet' && has 'profile --quick'
ok $? "roofcast alone: not measured yet"
is 3 "$(grep -c '^  roofcast ' "$tmp/out")" "three commands to try"
grep '^  roofcast ' "$tmp/out" | sed 's/^  roofcast //; s/   .*//' | grep -v '^profile' >"$tmp/try"
while read -r args; do
    # shellcheck disable=SC2086
    run $args
    ok $? "which works: $args"
done <"$tmp/try"
profile "$cpu" "$(uname -r)" "$version"
run && has '^Profile of 2001-02-03: memory bandwidth .*B/s' && has "($ROOFCAST_PROFILE)" && ! has stale && has 'predict .* --hw this,'
ok $? "a profile: its date, figures and file"

predict="predict stories15m --hw this -p 0 -n 8"
# shellcheck disable=SC2086
run $predict && ! says stale
ok $? "a profile of the same CPU, kernel and version is not stale"
for change in "CPU:Pentium II:$(uname -r):$version" "Linux:$cpu:2.4.1-other:$version" "roofcast:$cpu:$(uname -r):0.0.1"; do
    IFS=: read -r what is_cpu is_kernel is_version <<EOF
$change
EOF
    [ -n "$cpu" ] || [ "$what" != CPU ] || { skip "$what" "this CPU has no name"; continue; }
    profile "$is_cpu" "$is_kernel" "$is_version"
    # shellcheck disable=SC2086
    run $predict && says "$ROOFCAST_PROFILE of 2001-02-03.* is stale: $what was .*, is " && is 1 "$(grep -c stale "$tmp/err")" "$what: said once"
    ok $? "$what has changed: the profile is stale"
    run && has "^The profile is stale: $what was" && has 'profile --quick'
    ok $? "$what: and roofcast alone says so"
done
run memory stories15m --hw this && says stale && run report "$top_srcdir/tests/fixtures/measure/llama-bench.json" --hw this && says stale && run plot --chart bandwidth this -o "$tmp/p" --format txt
says stale
ok $? "also memory, report and plot"
sed 's|"kernel": "[^"]*", "roofcast": "[^"]*",||' "$ROOFCAST_PROFILE" >"$tmp/old.json" && sed 's|"cpu": "[^"]*"|"cpu": "'"${cpu:-unknown CPU}"'"|' "$tmp/old.json" >"$ROOFCAST_PROFILE"
# shellcheck disable=SC2086
run $predict && ! says stale
ok $? "a profile that does not say with what it was measured: no claim"
printf '{' >"$ROOFCAST_PROFILE"
run && has 'profile cannot be read' && ! has '^Measured'
ok $? "a profile that cannot be read"
rm "$ROOFCAST_PROFILE"

# The user's folder
mkdir -p "$XDG_DATA_HOME/roofcast/hwprofiles" "$XDG_DATA_HOME/roofcast/models"
cat >"$XDG_DATA_HOME/roofcast/hwprofiles/mine.json" <<'EOF'
{ "schema": "roofcast.hwprofile", "version": 1, "name": "Mine", "kind": "gpu",
  "spec": { "memory_bandwidth": "1792 GB/s", "peaks": { "fp16": "100 TFLOP/s" } } }
EOF
cp "$top_srcdir/models/stories15m.json" "$XDG_DATA_HOME/roofcast/models/tales.json"
run predict tales --hw mine -o csv && [ "$(cells hw phase=decode)" = mine ]
ok $? "machines and models of the user's folder have names"
XDG_DATA_HOME=relative run predict tales --hw mine
[ "$status" -ne 0 ]
ok $? "XDG_DATA_HOME that is no absolute path is ignored"
m=$top_srcdir/tests/fixtures/llama-2l.gguf
run bench -m "$m" -p 4 -n 2 -r 1 --brief --keep && says "run saved: $XDG_DATA_HOME/roofcast/runs/" && run plot "$XDG_DATA_HOME"/roofcast/runs/*-llama-2l.json -o "$tmp/kept" --format txt
ok $? "bench --keep saves a run there"
! ls "$XDG_DATA_HOME/roofcast/runs" | grep -q :
ok $? "under a name without colons, which shells complete"
run && has "^1 saved run, latest: $XDG_DATA_HOME/roofcast/runs/.*-llama-2l.json"
ok $? "which roofcast alone names"
# What cannot be read does not keep it from what it can say.
mv "$XDG_DATA_HOME/roofcast/runs" "$tmp/runs" && : >"$XDG_DATA_HOME/roofcast/runs"
run && has '^Its runs cannot be read: ' && has 'roofcast --help'
ok $? "a file in place of the folder of runs"
rm "$XDG_DATA_HOME/roofcast/runs" && mv "$tmp/runs" "$XDG_DATA_HOME/roofcast/runs"
mkdir "$tmp/profile.json"
ROOFCAST_PROFILE=$tmp/profile.json run && has '^Its profile cannot be read: ' && has '1 saved run'
ok $? "a folder in place of the profile"
refused 2 '--save and --keep are mutually exclusive' bench -m "$m" --keep --save x.json
(unset HOME XDG_DATA_HOME && refuses 2 '--keep: HOME is not set' bench -m "$m" --keep)
ok $? "--keep without a home"

# Near misses
refused 2 'unknown command "pedict"; did you mean predict?' pedict
refused 2 'unknown command "quantise"; did you mean quantize?' quantise
refuses 2 'unknown command "zzz"' zzz && ! says 'did you mean'
ok $? "nothing is near zzz"
refused 2 'roofcast predict: did you mean --what-if?' predict m --whatif x
refused 2 'roofcast bench: did you mean --cache-type-k?' bench --cach-type-k=F16
for args in "predict --zzzzzz" "predict --n 3" "predict --hw" "predict a b" "list models --"; do
    # shellcheck disable=SC2086
    run $args
    ! says 'did you mean --'
    ok $? "no suggestion: $args"
done
# Colors are escape sequences that end in m. On a terminal progress is one line, rewritten by an escape sequence that ends in K.
if command -v script >/dev/null; then
    seen=0
    for args in "bench -m $m -p 4 -n 2 -r 1 --brief" "predict tales --hw mine" "--help" "pedict"; do
        script -qec "'$ROOFCAST' $args" /dev/null </dev/null >"$tmp/tty" 2>&1
        grep -q "$(printf '\033')\[K" "$tmp/tty" && seen=1
        ! grep -q "$(printf '\033')\[[0-9;:]*m" "$tmp/tty"
        ok $? "no colors on a terminal, so NO_COLOR asks for nothing: ${args%% *}"
    done
    is "$seen" 1 "and that was a terminal"
else
    skip "no colors" "no script(1)"
fi
finish
