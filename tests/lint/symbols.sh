#!/bin/sh
# Dependencies between modules, from the symbols of the objects in the build folder: a symbol that one module needs and another
# defines is an edge. Edges must be allowed by layers.txt and form no cycle. The archives of a module's ISAs
# (libkernels_avx2.a, ...) are one module; the objects of roofcast itself are the module cli.
# Comment lines list mutable objects, at file scope or static in a function, by module.
set -u
: "${top_srcdir:?run this by make check}"
layers=$top_srcdir/tests/lint/layers.txt
nm=${NM:-nm}
if ! command -v "$nm" >/dev/null; then
    echo "1..0 # SKIP nm is not installed"
    exit 0
fi

# Archives of the modules in layers.txt and objects with a source: a build folder may hold older ones, too.
set --
for m in $(sed -n '/^public:/d; s/^\([a-z0-9]*\):.*/\1/p' "$layers"); do
    for a in "lib$m.a" "lib${m}"_*.a; do
        [ ! -f "$a" ] || set -- "$@" "$a"
    done
done
for o in src/cli/roofcast-*.o; do
    c=${o#src/cli/roofcast-}
    [ ! -f "$top_srcdir/src/cli/${c%.o}.c" ] || set -- "$@" "$o"
done
if [ ! -f libbase.a ] || [ ! -f "$o" ]; then
    echo "Bail out! no archives or objects in $PWD: run this by make check"
    exit 99
fi

# A line a symbol: OBJECT: NAME TYPE [VALUE SIZE]
"$nm" -A -P "$@" 2>/dev/null | awk '
function module_of(object,    m) {
    if (object !~ /^lib/) return "cli"
    m = substr(object, 4)
    sub(/[._].*/, "", m)
    return m
}
NR == FNR {
    if (/^#/ || /^public:/) next
    split($0, part, ":")
    n = split(part[2], below, " ")
    for (i = 1; i <= n; i++) allowed[part[1], below[i]] = 1
    next
}
{
    object = substr($1, 1, length($1) - 1)
    m = module_of(object)
    modules[m] = 1
    if ($3 ~ /^[Uwv]$/) {
        n_needed++
        needed[n_needed] = $2
        needs[n_needed] = object
    } else if ($3 ~ /^[A-Z]$/) {
        defined[m, $2] = 1
        if (!($2 in home)) home[$2] = object
    }
}
END {
    for (i = 1; i <= n_needed; i++) {
        s = needed[i]
        a = module_of(needs[i])
        if (!(s in home) || (a, s) in defined) continue
        b = module_of(home[s])
        edge = a " -> " b ": " s ", needed by " needs[i] ", defined in " home[s]
        if (!((a, b) in example)) n_edges++
        example[a, b] = edge
        if ((a, b) in allowed) continue
        print "# not allowed by layers.txt: " edge
        n_bad++
    }
    if (!n_edges) {
        print "# nm shows no symbols"
        n_bad++
    }
    print (n_bad ? "not ok" : "ok") " 1 - symbols follow tests/lint/layers.txt (" n_edges + 0 " dependencies between modules)"

    # What depends on nothing that is left, or is needed by nothing that is left, is in no cycle.
    do {
        removed = 0
        for (a in modules) {
            down = up = 0
            for (b in modules) {
                if ((a, b) in example) down = 1
                if ((b, a) in example) up = 1
            }
            if (down && up) continue
            delete modules[a]
            removed = 1
        }
    } while (removed)
    for (a in modules) for (b in modules) if ((a, b) in example) {
        print "# cycle: " example[a, b]
        n_cycle++
    }
    print (n_cycle ? "not ok" : "ok") " 2 - modules form no cycle"
    print "1..2"
    exit n_bad + n_cycle > 0
}' "$layers" -
rc=$?

# ARCHIVE:OBJECT:NAME|VALUE|CLASS|TYPE|SIZE|LINE|SECTION: only this form of nm has the section, which separates constants that
# hold addresses (.data.rel.ro) from variables.
"$nm" -A -f sysv "$@" 2>/dev/null | awk -F'|' '
{
    gsub(/ /, "")
    if ($7 !~ /^[.](data|bss|tdata|tbss|ldata|lbss)/ && $7 != "*COM*") next
    n = split($1, path, ":")
    if ($7 ~ /^[.]data[.]rel[.]ro/ || path[n] ~ /^[.]|^__(asan|odr_asan|gcov|llvm|sancov|start|stop)/) next
    m = path[1]
    if (!sub(/^lib/, "", m)) m = "cli"
    sub(/[._].*/, "", m)
    sub(/.*[/]/, "", path[n - 1])
    list[m] = list[m] " " path[n - 1] ":" path[n]
    count[m]++
    total++
}
END {
    print "# " total + 0 " mutable objects, file scope or static"
    for (m in list) print "# mutable in " m ": " count[m] ":" list[m]
}' | sort
exit $rc
