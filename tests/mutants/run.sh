#!/bin/sh
# make check-mutants: the mistakes of mutants.txt, made one at a time; each must fail the tests that its row names.
#   tests/mutants/run.sh [NAME...]     with names only those mutants; works in a new directory below the current one
#
# A copy of the tree (the files of the tarball) is built once in that directory; the tree itself is not changed.
# For each mutant the mistake is made in the copy, what depends on it is rebuilt, its tests run, and the files are restored.
# Shared data are not used: the tests that kill mutants need files of the tree only.
set -u
tree=$(cd "${top_srcdir:-$(dirname "$0")/../..}" && pwd)
unset MAKEFLAGS MFLAGS MAKELEVEL
jobs=$(getconf _NPROCESSORS_ONLN)
bail() { echo "Bail out! $*"; exit 99; }
[ -f "$tree/configure" ] || bail "no configure in $tree: autoreconf -i makes it"
[ ! -f "$tree/config.status" ] || bail "$tree is built in itself: its objects would pass for the mutants'"

dir=$tree/tests/mutants # then that of the copy
table() { awk -v mode="$1" -v name="${2-}" -v root="${3-}" -f "$dir/table.awk" "$dir/mutants.txt"; }
tests_of() { table tests "$1"; }
# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $(table names)
for m in "$@"; do
    [ -n "$(tests_of "$m")" ] || bail "mutants.txt has no mutant $m, or no test that kills it"
done

work=$(mktemp -d "$PWD/mutants.XXXXXX") || exit 99
trap 'cd / && rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
src=$work/src begin=$(date +%s) n=0 failed=0

now() { date +%s; }
show() { tail -n 15 "$1" | sed 's/^/# /'; }
say() { # ok|not TEXT
    n=$((n + 1))
    case $1 in
    ok) echo "ok $n - $2 ($(($(now) - since)) s)" ;;
    *) failed=$((failed + 1)); echo "not ok $n - $2 ($(($(now) - since)) s)"; show "$work/log" ;;
    esac
}

build() { # TEST...: a program itself, or for a script roofcast and what checks documents
    for t in "$@"; do
        shift
        case $t in *.sh) set -- "$@" roofcast tests/run/validate ;; *) set -- "$@" "${t%:*}" ;; esac
    done
    make -s -j"$jobs" "$@" >"$work/log" 2>&1
}

# TEST: a script, a program, or program:case. 0: it passed. 1: an assertion failed, $killer is the case. 2: anything
# else. The output is in $work/log.
run_test() {
    case $1 in
    *.sh) set -- sh "$src/$1" ;;
    *:*) set -- "./${1%:*}" "${1#*:}" ;;
    *) set -- "./$1" ;;
    esac
    timeout 120 "$@" >"$work/log" 2>&1 && return 0
    killer=$(sed -n '/# SKIP/d; s/^not ok [0-9]* - //p' "$work/log" | head -n 1)
    [ -n "$killer" ] && ! grep -q 'failed with exception' "$work/log" && return 1
    return 2
}

# Make the mistake, build, test. Sets $why; 0 when every test it names failed.
try() { # NAME
    changed=$(table files "$1") why="killed by"
    for f in $changed; do
        mkdir -p "$work/original/$(dirname "$f")" && cp "$src/$f" "$work/original/$f" || bail "$f cannot be copied"
    done
    table apply "$1" "$src" >"$work/log" 2>&1 || { why="does not apply"; return 1; }
    # shellcheck disable=SC2046
    build $(tests_of "$1") || { why="does not compile"; return 1; }
    for t in $(tests_of "$1"); do
        run_test "$t"
        case $? in
        0) why="survived $t"; return 1 ;;
        1) why="$why $t: $killer" ;;
        *) why="broke $t without a failed assertion"; return 1 ;;
        esac
    done
}

restore() {
    for f in $changed; do
        cp "$work/original/$f" "$src/$f" || bail "$f cannot be restored"
    done
}

echo "1..$(($# + 1))"
echo "# copying and building the tree"
since=$(now)
mkdir "$src" "$work/build" || exit 99
(cd "$tree" && tar cf - *.ac *.am *.in *.m4 configure LICENSE README.md check quickstart \
    build-aux completions debian doc events examples hwprofiles include models reports src tests) | tar xf - -C "$src" || bail "the tree could not be copied"
chmod -R u+w "$src"
dir=$src/tests/mutants
cd "$work/build" || exit 99
"$src/configure" -q --with-papi=no --with-likwid=no CFLAGS=-O1 >"$work/log" 2>&1 || { show "$work/log"; bail "configure failed"; }
top_srcdir=$src ROOFCAST=$work/build/roofcast ROOFCAST_DATA=$src ROOFCAST_SHARED=/nonexistent CMOCKA_MESSAGE_OUTPUT=TAP
export top_srcdir ROOFCAST ROOFCAST_DATA ROOFCAST_SHARED CMOCKA_MESSAGE_OUTPUT

# Without a mistake the tests pass.
all=$(for m in "$@"; do tests_of "$m" | tr ' ' '\n'; done | sort -u)
# shellcheck disable=SC2086
build $all || { show "$work/log"; bail "the tree does not build"; }
echo "# built ($(($(now) - begin)) s)"
for t in $all; do
    run_test "$t" || { show "$work/log"; bail "the tree as it is fails $t"; }
done
say ok "the tree as it is passes $(echo "$all" | wc -l) tests"

for m in "$@"; do
    since=$(now)
    if try "$m"; then say ok "mutant $m $why"; else say not "mutant $m $why"; fi
    restore
done
echo "# $(($# - failed)) of $# mutants killed in $(($(now) - begin)) s"
[ "$failed" = 0 ]
