#!/bin/sh
# roofcast profile: wrong command lines, a short profile of one thread, comparison and cross-check, Ctrl-C that keeps what is done.
. "${top_srcdir:?}/tests/cli/lib.sh"
export ROOFCAST_PROFILE="$tmp/sub/this.json"

refused 2 "expected 1 to" profile -t 0
refused 2 "expected" profile -t x
refused 2 "--seconds: expected" profile --seconds 0
refused 2 "100000 threads requested" profile -t 100000
refused 2 "CPU list" profile --cpus 0-
refused 2 "may not use CPU 4000" profile --cpus 4000
refused 2 "no argument is expected" profile extra
refused 2 "rofiel" profile --rofiel
[ ! -e "$ROOFCAST_PROFILE" ]
ok $? "a wrong command line writes nothing"

refused 2 "expected two profiles" profile --compare a.json
refused 2 "found a third" profile --compare a b c
refused 2 "--compare and --cross-check are mutually exclusive" profile --compare --cross-check a b
refused 1 "no.such" profile --compare "$tmp/no.such.json" "$tmp/no.such.json"

run profile --brief -t 1 && [ -s "$ROOFCAST_PROFILE" ]
ok $? "profile --brief -t 1 writes \$ROOFCAST_PROFILE"
grep -q '"schema": "roofcast.hwprofile"' "$ROOFCAST_PROFILE" && grep -q '"name": "read DRAM 1t"' "$ROOFCAST_PROFILE" &&
    grep -q '"dtype": "int8"' "$ROOFCAST_PROFILE" && ! grep -q '"n_threads": 2' "$ROOFCAST_PROFILE"
ok $? "it holds the ceilings of one thread"
jq -e '([.ceilings[] | select(.op == "matvec" and .level == "DRAM") | .loads_bytes_s > 0] | length == 1 and all) and
    ([.ceilings[] | select(.level != "DRAM") | has("loads_bytes_s")] | any | not) and
    ([.ceilings[] | select(.op == "kvstore" and .level == "DRAM") | .n_tok] == [1, 512])' "$ROOFCAST_PROFILE" >/dev/null
ok $? "a kernel that waits for memory stands beside plain loads, and stored rows also come from there"
jq -e '([.ceilings[].name] | length) == ([.ceilings[].name] | unique | length)' "$ROOFCAST_PROFILE" >/dev/null
ok $? "no two ceilings have one name"
has 'read DRAM 1t.*GB/s' && has 'fp32 .*FLOP/s'
ok $? "the table shows them"
grep -q '"name": "gather DRAM 1t"' "$ROOFCAST_PROFILE" && grep -q '"op": "gather"' "$ROOFCAST_PROFILE" && grep -q '"points"' "$ROOFCAST_PROFILE"
ok $? "curves are kept"
says '1 thread: read DRAM'
ok $? "progress goes to stderr"

# interrupts SIGNAL ARGS...: a profile, once its first ceilings are there and long before the memory's. (A shell without job control starts background programs
# with SIGINT ignored; the program installs its handler all the same.)
interrupts() {
    signal=$1
    shift
    : >"$tmp/err"
    "$ROOFCAST" profile --quick --seconds 6 -t 1 "$@" >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    until_ says 'fp32 products'
    kill "-$signal" $pid
    ended $pid
}
interrupts INT -o "$tmp/partial.json"
[ $status -eq 130 ] && says 'interrupted: .*partial.json holds the [0-9]* ceilings'
ok $? "Ctrl-C ends with status 130 and says what is kept (status $status)"
grep -q '"dtype": "fp32"' "$tmp/partial.json" && ! grep -q '"name": "read DRAM 1t"' "$tmp/partial.json"
ok $? "the partial profile holds what was measured until then"
[ "$(ls "$tmp" | grep -c tmp)" -eq 0 ]
ok $? "no temporary file is left"

# A profile that is there stays as it is, and so does an earlier partial one: the new one gets a name of its own.
cp "$ROOFCAST_PROFILE" "$tmp/whole.json"
echo earlier >"$tmp/sub/this.partial.json"
interrupts TERM
[ $status -eq 130 ] && cmp -s "$ROOFCAST_PROFILE" "$tmp/whole.json" && [ "$(cat "$tmp/sub/this.partial.json")" = earlier ]
ok $? "an interrupt leaves a stored profile as it was (status $status)"
says 'interrupted: .*this.partial-2.json holds the [0-9]* ceilings.*this.json is as it was' &&
    grep -q '"dtype": "fp32"' "$tmp/sub/this.partial-2.json" && ! grep -q '"name": "read DRAM 1t"' "$tmp/sub/this.partial-2.json"
ok $? "what was measured until then is in a file of its own"

# ---- comparison: with itself, with one that is faster, one that lacks some
run profile --compare "$ROOFCAST_PROFILE" "$ROOFCAST_PROFILE" && has 'the profiles agree' && ! has 'is faster'
ok $? "a profile agrees with itself"
run profile --compare this "$ROOFCAST_PROFILE" && has 'the profiles agree'
ok $? "this stands for the stored profile in --compare"
jq '.ceilings |= map(if .unit != "s" and .value then .value *= 1000 | .ci_lo *= 1000 | .ci_hi *= 1000 else . end) | .noise = { verdict: "quiet", between_rounds: 0.002, n_ceilings: 9, worst: "x", worst_between_rounds: 0.01 }' \
    "$ROOFCAST_PROFILE" >"$tmp/faster.json"
jq '.noise = { verdict: "quiet", between_rounds: 0.002, n_ceilings: 9, worst: "x", worst_between_rounds: 0.01 }' "$ROOFCAST_PROFILE" >"$tmp/quiet.json"
run profile --compare "$tmp/quiet.json" "$tmp/faster.json" && has 'the profiles differ' && has 'fp32 .* 1000 .*B is faster' && ! has 'A is faster'
ok $? "what is faster is said to be"
jq '.ceilings |= map(if .kind == "compute" then .unit = "OP/s" else . end)' "$tmp/quiet.json" >"$tmp/units.json"
run profile --compare "$tmp/quiet.json" "$tmp/units.json" && has 'fp32 .*units differ' && has 'read DRAM.*agree' && ! has 'two machines'
ok $? "figures of two units are not compared"
jq '.name = "Another CPU" | .ceilings |= map(.name |= "other " + .)' "$tmp/quiet.json" >"$tmp/other.json"
run profile --compare "$tmp/quiet.json" "$tmp/other.json" && has '^Nothing to compare: no ceiling has a name' && has 'two machines: A is .*, B is Another CPU'
ok $? "nor machines that have no ceiling in common, and that there are two is said"
jq '.noise = { verdict: "noisy", between_rounds: 0.002, n_ceilings: 9, worst: "x", worst_between_rounds: 0.01 }' "$tmp/faster.json" >"$tmp/noisy.json"
run profile --compare "$tmp/quiet.json" "$tmp/noisy.json" && has 'differ, but the machine was noisy'
ok $? "of a noisy machine that is said"
jq '.ceilings |= map(select(.kind == "bandwidth"))' "$tmp/quiet.json" >"$tmp/less.json"
run profile --compare "$tmp/less.json" "$tmp/quiet.json" -o json &&
    jq -e '.verdict == "agree" and .n_only_in_one > 0 and ([.rows[] | select(.verdict == "only in B")] | length) == .n_only_in_one' \
        "$tmp/out" >/dev/null
ok $? "what only one has is listed"

# ---- cross-check: with a likwid-bench that is made up
mkdir -p "$tmp/bin"
# Where its threads run, as the real one: over the CPUs that it was given, one after the other.
cat >"$tmp/places" <<'END'
n=${4##*:} i=0
while [ "$i" -lt "$n" ]; do
    echo "Group: 0 Thread $i Global Thread $i running on hwthread $((i % $(nproc))) - Vector length 1 Offset 0"
    i=$((i + 1))
done
END
fake() {
    cat - "$tmp/places" >"$tmp/bin/likwid-bench"
    chmod +x "$tmp/bin/likwid-bench"
}
check_with_fake() {
    PATH=$tmp/bin:$PATH "$ROOFCAST" profile --cross-check --brief -t 1 -o json >"$tmp/out" 2>"$tmp/err"
}
fake <<'END'
#!/bin/sh
echo "$@" >>"$0.log"
printf 'Time:\t\t\t2.5e-01 sec\nIterations:\t\t1000\nSize (Byte):\t\t7936\nMFlops/s:\t\t10.00\nMByte/s:\t\t10.00\n'
END
check_with_fake && jq -e '.n_compared >= 4 and .n_pass == .n_compared and .n_no_answer == 0 and
    ([.rows[] | select(.name | startswith("read")) | .test | startswith("load")] | all) and
    ([.rows[] | select(.note | test("does not reach the peak") | not)] | length) == 0' "$tmp/out" >/dev/null
ok $? "a slower likwid-bench: every ceiling passes, and its kernels are not the peak"
cp "$tmp/out" "$tmp/all"
grep -q -- '-t peakflops.* -w N:16kB:1 -i ' "$tmp/bin/likwid-bench.log" && grep -q -- '-t load.* -w N:' "$tmp/bin/likwid-bench.log"
ok $? "it was asked for what is compared"
PATH=$tmp/bin:$PATH "$ROOFCAST" profile --cross-check='read L1 1t' --brief -t 1 -o json >"$tmp/out" 2>"$tmp/err" &&
    jq -e '[.rows[].name] == ["read L1 1t"]' "$tmp/out" >/dev/null
ok $? "one ceiling by its name"
if [ "$(nproc)" -ge 2 ]; then
    PATH=$tmp/bin:$PATH "$ROOFCAST" profile --cross-check='read L1 2t' --brief -t 2 -o json >"$tmp/out" 2>"$tmp/err" &&
        jq -e '[.rows[] | .name, .verdict] == ["read L1 2t", "PASS"]' "$tmp/out" >/dev/null
    ok $? "its two threads have two CPUs, as ours"
else
    skip "its two threads have two CPUs, as ours" "one CPU"
fi
isa=$(jq -r '[.rows[].name | select(startswith("fp32"))][0]' "$tmp/all")
PATH=$tmp/bin:$PATH "$ROOFCAST" profile --cross-check="$isa" --brief -t 1 -o json >"$tmp/out" 2>"$tmp/err" &&
    jq -e --arg isa "$isa" '[.rows[].name] | index($isa) != null and all(contains($isa))' "$tmp/out" >/dev/null
ok $? "any name that the table has, with its instruction set"
PATH=$tmp/bin:$PATH refused 2 'likwid-bench has no kernel for a ceiling with "no such"' profile --cross-check='no such' --brief -t 1
fake <<'END'
#!/bin/sh
printf 'Time:\t\t\t2.5e-01 sec\nIterations:\t\t1000\nSize (Byte):\t\t7936\nMFlops/s:\t\t9e9\nMByte/s:\t\t9e9\n'
END
check_with_fake && jq -e '.n_pass == 0 and ([.rows[] | select(.verdict == "FAIL" and (.note | test("below likwid")))] | length) == .n_compared' "$tmp/out" >/dev/null
ok $? "a faster one: none does"
fake <<'END'
#!/bin/sh
case $* in *peakflops*) echo 'ERROR - no such thing'; exit 1 ;; esac
printf 'Time:\t\t\t2.5e-01 sec\nIterations:\t\t1000\nSize (Byte):\t\t7936\nMFlops/s:\t\t0.00\nMByte/s:\t\t10.00\n'
END
check_with_fake && jq -e '.n_no_answer > 0 and .n_compared > 0 and ([.rows[] | select(.verdict == "no answer") | .note] | all(test("ERROR - no such thing")))' "$tmp/out" >/dev/null
ok $? "its faults are reasons"
fake <<'END'
#!/bin/sh
kill -SEGV $$
END
real=$ROOFCAST
printf '#!/bin/sh\nPATH=%s exec "%s" "$@"\n' "$tmp/bin" "$real" >"$tmp/elsewhere"
chmod +x "$tmp/elsewhere"
ROOFCAST=$tmp/elsewhere
refused 1 "killed by signal 11" profile --cross-check --brief -t 1
rm "$tmp/bin/likwid-bench"
refused 3 "apt install likwid" profile --cross-check --brief -t 1
ROOFCAST=$real

if [ -z "${ROOFCAST_SANITIZED:-}" ]; then # a whole profile once more
    HWLOC_COMPONENTS=-linux,-x86 run profile --brief -t 1 -o "$tmp/flat.json" && says 'no cache sizes here' &&
        jq -e '[.ceilings[] | select(.level != "DRAM" and .level != "" and .value != null)] == []' "$tmp/flat.json" >/dev/null
    ok $? "without a topology of caches no level is made up, and that is said"
fi
refused 1 "no/such/dir.json" profile --brief -t 1 -o "$tmp/no/such/dir.json"
echo old >"$tmp/kept.json"
(
    trap '' XFSZ # else the kernel ends the program
    ulimit -f 200 # of 512 bytes: the end of the disk
    exec "$ROOFCAST" profile --brief -t 1 -o "$tmp/kept.json"
) >"$tmp/out" 2>"$tmp/err"
[ $? -eq 1 ] && says 'kept.json: cannot write: .* (a profile may take 4096 KiB)' && ! says 'read L1' && [ "$(cat "$tmp/kept.json")" = old ]
ok $? "a full disk is said before anything is measured, and what stood there stays"
finish
