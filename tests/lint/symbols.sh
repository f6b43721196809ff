#!/bin/sh
# Dependencies between modules, from the symbols of the objects in the build folder: a symbol that one module needs and another
# defines is an edge. Edges must be allowed by layers.txt and form no cycle. The archives of a module's ISAs
# (libkernels_avx2.a, ...) are one module; the objects of roofcast itself are the module cli.
# Mutable objects, at file scope or static in a function, must be in mutable.txt, with the reason.
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
    exit n_bad + n_cycle > 0
}' "$layers" -
rc=$?

# ARCHIVE:OBJECT:NAME|VALUE|CLASS|TYPE|SIZE|LINE|SECTION: only this form of nm has the section, which separates constants that
# hold addresses (.data.rel.ro) from variables. A line of mutable.txt is stale when its object was built and has no such variable.
"$nm" -A -f sysv "$@" 2>/dev/null | awk -F'|' '
function said(key) { return (key in reason) && reason[key] != "" }
NR == FNR {
    if (/^#/ || /^$/) next
    split($0, part, ": ")
    n = split(part[1], word, " ")
    key = word[1] " " word[2] " " word[3]
    reason[key] = part[2]
    listed[++n_listed] = key
    next
}
{
    gsub(/ /, "")
    n = split($1, path, ":")
    m = path[1]
    if (!sub(/^lib/, "", m)) m = "cli"
    sub(/[._].*/, "", m)
    object = n > 2 ? path[2] : path[1]
    sub(/^.*[/]/, "", object)
    sub(/^(lib[a-z0-9_]*_a|roofcast)-/, "", object)
    sub(/[.]o$/, "", object)
    built[m " " object] = 1
    if ($7 !~ /^[.](data|bss|tdata|tbss|ldata|lbss)/ && $7 != "*COM*") next
    if ($7 ~ /^[.]data[.]rel[.]ro/ || path[n] ~ /^[.]|^__(asan|odr_asan|unnamed|gcov|llvm|sancov|start|stop)/) next
    name = path[n] # of a static in a function gcc has NAME.1, clang FUNCTION.NAME
    sub(/[.][0-9]+$/, "", name)
    sub(/^.*[.]/, "", name)
    key = m " " object " " name
    found[key] = 1
    total++
    if (!said(key)) {
        print "# not in tests/lint/mutable.txt with a reason: " key
        bad++
    }
}
END {
    for (i = 1; i <= n_listed; i++) {
        split(listed[i], word, " ")
        if (!(listed[i] in found) && ((word[1] " " word[2]) in built)) {
            print "# tests/lint/mutable.txt lists what is not there: " listed[i]
            bad++
        }
    }
    print (bad || !total ? "not ok" : "ok") " 3 - mutable objects are those of tests/lint/mutable.txt (" total + 0 ")"
    exit (bad || !total) + 0
}' "$top_srcdir/tests/lint/mutable.txt" - || rc=1
echo 1..3
exit $rc
