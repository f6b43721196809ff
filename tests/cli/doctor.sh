#!/bin/sh
# What doctor says of this machine, and of machines that are folders: files of /proc and /sys as the kernel has them there.
. "${top_srcdir:?}/tests/cli/lib.sh"
put() { # FILE TEXT
    mkdir -p "$tree/$(dirname "$1")"
    printf '%s\n' "$2" >"$tree/$1"
}
machine() { # NAME VENDOR FAMILY FLAGS KERNEL PARANOID CAPS
    tree=$tmp/$1
    put proc/cpuinfo "processor	: 0
vendor_id	: $2
cpu family	: $3
model name	: A $1
flags		: fpu $4"
    put proc/sys/kernel/osrelease "$5"
    put proc/sys/kernel/perf_event_paranoid "$6"
    put proc/self/status "Name:	roofcast
Uid:	1000	1000	1000	1000
CapEff:	$7"
    put sys/devices/system/clocksource/clocksource0/current_clocksource tsc
    put sys/kernel/mm/transparent_hugepage/enabled 'always [madvise] never'
}
pmu() {
    mkdir -p "$tree/sys/bus/event_source/devices/$1"
}
zone() { # ENERGY
    put sys/class/powercap/intel-rapl:0/name package-0
    put sys/class/powercap/intel-rapl:0/max_energy_range_uj 262143328850
    put sys/class/powercap/intel-rapl:0/energy_uj "$1"
}
look() { # NAMES...: the rows as csv, which has a line each
    run doctor --root "$tree" -o csv "$@"
}
row() { # PATTERN NAME: of the last look
    has "^$1"
    ok $? "$2"
}
none=0000000000000000 perfmon=0000004000000000 # CAP_PERFMON is bit 38
steady='constant_tsc nonstop_tsc'

# ---- this machine, whatever it is
run doctor
ok $? "doctor says what it finds and is no failure"
for what in null perf papi likwid events uncore energy tsc hugepages likwid-bench gnuplot mpirun; do
    has "^$what  *\(yes\|no\) "
    ok $? "a line of $what"
done
! grep -q '.\{101\}' "$tmp/out" && ! has ' $'
ok $? "lines of 100 columns at most, no blanks at their ends"
run doctor null
ok $? "doctor null: always usable"
refused 2 'doctor "vtune": expected one of: null, perf, papi' doctor vtune

# ---- a server without rights
machine locked GenuineIntel 6 "$steady" 6.1.0-18-amd64 3 $none
pmu cpu
pmu uncore_imc_0
zone 1000
look
row 'perf,false,"*kernel.perf_event_paranoid is 3: above 2 only CAP_PERFMON.*sysctl -w kernel.perf_event_paranoid=2.*setcap cap_perfmon+ep /' \
    "paranoid 3: the level, the sysctl and the capability"
row 'uncore,false,"*uncore_imc_0 is there, but kernel.perf_event_paranoid is 3.*paranoid=0' "uncore needs 0"
row 'energy,true,"*powercap intel-rapl: package-0' "energy"
row 'tsc,true' "a steady TSC"
look perf
is 3 "$status" "doctor perf: status 3"
says 'roofcast doctor: perf: kernel.perf_event_paranoid is 3'
ok $? "and the reason"
is 2 "$(wc -l <"$tmp/out")" "that one row alone"

# ---- the same with CAP_PERFMON, and with level 0
machine capable GenuineIntel 6 "$steady" 6.1.0-18-amd64 3 $perfmon
pmu cpu
pmu uncore_imc_0
look perf uncore
ok $? "CAP_PERFMON overrides the level"
row 'perf,true,"*events of the cores, PMU cpu' "cores"
machine open GenuineIntel 6 "$steady" 6.1.0-18-amd64 0 $none
pmu cpu_core
pmu cpu_atom
pmu uncore_imc_free_running_0
look perf uncore
ok $? "level 0 is enough without it"
row 'perf,true,"*events of the cores, PMU cpu_atom cpu_core' "both kinds of cores"
machine level1 GenuineIntel 6 "$steady" 6.1.0-18-amd64 1 $none
pmu cpu
pmu uncore_imc_0
look perf uncore
row 'perf,true' "level 1: cores"
row 'uncore,false' "but no uncore"

# ---- Zen 4 on a kernel from before its memory controllers
machine zen4 AuthenticAMD 25 "$steady" 6.1.0-18-amd64 0 $none
pmu cpu
look
row 'uncore,false,.*Linux 6.7 or newer' "Zen 4 on Linux 6.1: the kernel that helps"
machine zen4new AuthenticAMD 25 "$steady" 6.10.3 0 $none
pmu amd_umc_0
look
row 'uncore,true,"*bytes at the memory controllers, PMU amd_umc_0' "and on 6.10 it counts"
row 'perf,false,"*the kernel has no driver for this CPU' "no PMU without a virtual machine: a driver"

# ---- events: known, not known, and a file that cannot be read
machine turin AuthenticAMD 26 "$steady" 6.12.1 0 $none
put proc/cpuinfo "vendor_id	: AuthenticAMD
cpu family	: 26
model		: 2
stepping	: 1"
look events
row 'events,true,.*Zen 5 (events/zen5.json): [0-9]* events' "the file that has this CPU"
put proc/cpuinfo "vendor_id	: GenuineIntel
cpu family	: 6
model		: 42
stepping	: 7"
look events
row 'events,false,.*no file in events/ covers this CPU (GenuineIntel family 6 model 42).*write events/NAME.json' "none has: what there is, and what helps"
mkdir -p "$tmp/data/events" "$tmp/data/models"
echo '{"schema": "roofcast.events"' >"$tmp/data/events/broken.json"
ROOFCAST_DATA=$tmp/data look events
row 'events,false,.*broken.json.*repair or remove that file' "a file that cannot be read is named"

# ---- a virtual machine
machine guest AuthenticAMD 25 "hypervisor $steady" 6.12.1 2 $none
look
row 'perf,false,"*this virtual machine has no PMU.*KVM with -cpu host,pmu=on.*Google C4.*AWS' "no PMU in a guest: where there is one"
row 'energy,false,.*bare metal' "nor energy"
row 'likwid,false' "nor LIKWID's registers"

# ---- nothing to read: unknown is not absent
machine blind AuthenticAMD 25 "$steady" 6.12.1 2 $none
rm -r "$tree/sys"
look
row 'perf,false,"*/sys is not mounted here, or cannot be read: which PMUs' "without /sys nothing is said of PMUs"
! has 'virtual machine has no PMU' && ! has 'has no transparent huge pages'
ok $? "nor claimed"
row 'hugepages,false,"*/sys is not mounted.*mount -t sysfs none /sys' "nor of huge pages; what helps"
machine mute AuthenticAMD 25 "$steady" 6.12.1 2 $none
rm -r "$tree/proc"
look
row 'events,false,"*/proc is not mounted here.*which CPU this is is not known.*mount -t proc none /proc' "without /proc nothing is said of the CPU"
row 'tsc,false,"*/proc is not mounted' "nor of its clock"
! has 'family -1' && ! has 'has no driver for this CPU'
ok $? "nor made up"

# ---- what measuring rests on
machine poor GenuineIntel 6 tsc 5.4.0 2 $none
put sys/devices/system/clocksource/clocksource0/current_clocksource hpet
put sys/kernel/mm/transparent_hugepage/enabled 'always madvise [never]'
look
row 'tsc,false' "a TSC that changes its pace"
row 'hugepages,false,.*echo madvise' "no huge pages: the line that helps"
PATH=/nonexistent look gnuplot
row 'gnuplot,false,.*apt install gnuplot-nox' "no gnuplot: the package"
finish
