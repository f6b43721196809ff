#!/bin/sh
# The counter backends on a machine that has a PMU: a 64-bit Arm guest, emulated by qemu, which counts every instruction
# exactly. Boots Debian's kernel, which forbids counters at first, with roofcast and a small model in an initramfs.
#   tests/pmu/run.sh [BUILD_DIR]      (default: build-check-arm64 in the source tree, which tests/arm64/run.sh builds too)
# One line a test on stdout, PASS, FAIL or SKIP; exit status 77 where what it needs cannot be had.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$top/build-check-arm64}
. "$top/build-aux/setup.sh"

skip() { printf 'SKIP: pmu: %s\n' "$*"; exit 77; }
have_cmd qemu-system-aarch64 || skip "no qemu-system-aarch64 (package qemu-system-arm)"
have_cmd aarch64-linux-gnu-gcc || skip "no cross compiler (package gcc-aarch64-linux-gnu)"
sysroot=$("$top/tests/arm64/sysroot.sh") || skip "no libraries to link with: the line above says why"
kernel=$("$top/tests/arm64/kernel.sh") || skip "no kernel to boot: the line above says why"
cc="aarch64-linux-gnu-gcc --sysroot=$sysroot"
. "$top/tests/arm64/build.sh"
guest=$build/tests/pmu
mkdir -p "$guest/image"
if ! (cross_build "$build" "$sysroot" roofcast tests/pmu/guest &&
    $cc -O1 -static -o "$guest/init" "$top/tests/pmu/init.c" && ${CC:-cc} -O1 -o "$guest/cpio" "$top/tests/pmu/cpio.c") >&2; then
    echo "FAIL: pmu: the build"
    exit 1
fi

# The programs without debug information, and the libraries that they and these need.
needed() { aarch64-linux-gnu-readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
image=$guest/image
rm -rf "$image"
mkdir -p "$image"
for p in roofcast tests/pmu/guest; do
    aarch64-linux-gnu-strip -o "$image/$(basename "$p")" "$build/$p"
done
todo="$image/roofcast $image/guest"
libraries=
while [ -n "$todo" ]; do
    # shellcheck disable=SC2086
    set -- $todo
    todo=
    for f in "$@"; do
        for l in $(needed "$f"); do
            case " $libraries " in *" $l "*) continue ;; esac
            libraries="$libraries $l"
            for d in lib/aarch64-linux-gnu usr/lib/aarch64-linux-gnu lib; do
                if [ -e "$sysroot/$d/$l" ]; then
                    todo="$todo $sysroot/$d/$l"
                    break
                fi
            done
        done
    done
done
set -- bin/ lib/ dev/ proc/ sys/ tmp/ data/ data/models/ data/hwprofiles/ data/events/ wrong/ wrong/events/ \
    dev/console:c:5:1 dev/null:c:1:3 "init=$guest/init" "bin/roofcast=$image/roofcast" \
    "bin/guest=$image/guest" "model.gguf=$top/tests/fixtures/llama-2l.gguf" "wrong/events/wrong.json=$top/tests/pmu/wrong.json" \
    "data/hwprofiles/classes.json=$top/hwprofiles/classes.json"
for f in "$top"/events/*.json; do
    set -- "$@" "data/events/$(basename "$f")=$f"
done
for l in $libraries; do
    for d in lib/aarch64-linux-gnu usr/lib/aarch64-linux-gnu lib; do
        if [ -e "$sysroot/$d/$l" ]; then
            set -- "$@" "lib/$l=$sysroot/$d/$l"
            break
        fi
    done
done

bench="/bin/roofcast bench --brief -m /model.gguf -p 0 -n 2 -r 1 -t 1 --quiet"
cat >"$image/commands" <<END
1000 $bench --counters perf
1000 /bin/roofcast doctor perf
0 /bin/roofcast doctor papi
write /proc/sys/kernel/perf_event_paranoid -1
1000 /bin/guest perf /data /model.gguf
1000 /bin/guest papi /data /model.gguf
1000 /bin/guest wrong /wrong
1000 /bin/roofcast doctor perf papi
1000 $bench --counters perf -o json
END
cat >"$image/commands-2" <<END
write /proc/sys/kernel/perf_event_paranoid -1
1000 /bin/guest cpus /data
END
if ! { "$guest/cpio" "$@" "commands=$image/commands" >"$image/initramfs-1" &&
    "$guest/cpio" "$@" "commands=$image/commands-2" >"$image/initramfs-2"; }; then
    echo "FAIL: pmu: the initramfs"
    exit 1
fi
say "Testing counters on an emulated machine with a PMU" >&2
# boot CPUS: one CPU counts exactly; the counts of several are of all of them. What it writes goes to console-CPUS.log.
boot() {
    timeout 120 qemu-system-aarch64 -M virt -cpu cortex-a57 -smp "$1" -m 512 -nographic -nic none -icount shift=0,sleep=off \
        -kernel "$kernel" -initrd "$image/initramfs-$1" -no-reboot -append "console=ttyAMA0 quiet loglevel=3 panic=-1" \
        </dev/null 2>&1 | tr -d '\r' >"$guest/console-$1.log"
}
boot 2 &
boot 1
wait
console=$guest/console-1.log

results=$guest/results.txt
: >"$results"
# What command N wrote, and how it ended.
output() { sed -n "/^@@ begin $1 /,/^@@ end $1 /p" "$console" | grep -v '^@@'; }
status() { sed -n "s/^@@ end $1 //p" "$console"; }
is() { # NAME COMMAND STATUS PATTERN...
    name=$1 n=$2 want=$3
    shift 3
    verdict=PASS
    [ "$(status "$n")" = "$want" ] || verdict=FAIL
    for p in "$@"; do
        output "$n" | tr '\n' ' ' | tr -s ' ' | grep -q -- "$p" || verdict=FAIL
    done
    echo "$verdict: pmu: $name" >>"$results"
    [ $verdict = PASS ] || output "$n" | head -n 20 | cut -c 1-300 | sed "s/^/# (status $(status "$n")) /" >>"$results"
}
is "forbidden counters are an error that says what to do" 1 3 'perf_event_paranoid is 3, and this needs 2 or less'
is "doctor says which line allows them" 2 3 'sysctl -w kernel.perf_event_paranoid=2'
is "doctor says that PAPI 7.0.0 is refused even as root" 3 3 'paranoid'
for n in 5 6 7; do
    output "$n" | grep -E '^(PASS|FAIL): ' >>"$results"
    [ "$(output "$n" | grep -c '^PASS')" -ge 2 ] || echo "FAIL: pmu: command $n of the guest: $(output "$n" | tail -n 1)" >>"$results"
done
console=$guest/console-2.log
output 2 | grep -E '^(PASS|FAIL): ' >>"$results" || echo "FAIL: pmu: two CPUs: $console" >>"$results"
console=$guest/console-1.log
is "doctor has nothing to say once they are allowed" 8 0
is "bench counts instructions with perf" 9 0 '"field": "instructions", "value": [0-9]\{5\}' '"field": "instructions".*"class": "exact"'
cat "$results"
[ -n "$(status 9)" ] || { echo "FAIL: pmu: the guest did not come to its end: $console"; tail -n 5 "$console" | sed 's/^/# /'; }
! grep -q '^FAIL' "$results" && [ -n "$(status 9)" ]
