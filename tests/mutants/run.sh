#!/bin/sh
# make check-mutants: the classic mistakes, made one at a time; each must fail the tests that its patch names.
#   tests/mutants/run.sh [NAME...]     with names only those mutants; works in a new directory where it is called
#
# A copy of the tree (the files of the tarball) is built once in a directory of its own; the tree itself is not
# touched. Then each patch is applied, what depends on it rebuilt, its tests run, and the patch taken back.
# Shared data are left out: what kills a mutant is in the tree.
set -u
tree=$(cd "${top_srcdir:-$(dirname "$0")/../..}" && pwd)
unset MAKEFLAGS MFLAGS MAKELEVEL
jobs=$(getconf _NPROCESSORS_ONLN)
bail() { echo "Bail out! $*"; exit 99; }
[ -f "$tree/configure" ] || bail "no configure in $tree: autoreconf -i makes it"
[ ! -f "$tree/config.status" ] || bail "$tree is built in itself: its objects would pass for the mutants'"
command -v patch >/dev/null || bail "patch is not installed"

[ $# -gt 0 ] || set -- "$tree"/tests/mutants/*.patch
for m in "$@"; do
    shift
    set -- "$@" "$(basename "$m" .patch)"
done
patches=$tree/tests/mutants # then those of the copy
patch_of() { echo "$patches/$1.patch"; }
tests_of() { sed -n '1s/.*Killed by: *//p' "$(patch_of "$1")" 2>/dev/null; }
for m in "$@"; do
    [ -n "$(tests_of "$m")" ] || bail "$m: no such mutant, or its first line names no test"
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

patch_copy() { patch -s -f -p1 --no-backup-if-mismatch -d "$src" "$@" >"$work/log" 2>&1; }

# Apply, build, test. Sets $why; 0 when every test it names noticed.
try() { # NAME
    patch_copy --dry-run <"$(patch_of "$1")" || { why="does not apply"; return 1; }
    patch_copy <"$(patch_of "$1")"
    applied=$1 why="killed by"
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

take_back() {
    [ -z "$applied" ] || patch_copy -R <"$(patch_of "$applied")" || bail "$applied cannot be taken back"
    applied=
}

echo "1..$(($# + 1))"
echo "# copying and building the tree"
since=$(now) applied=
mkdir "$src" "$work/build" || exit 99
(cd "$tree" && tar cf - *.ac *.am *.in *.m4 configure LICENSE README.md check quickstart \
    build-aux doc events hwprofiles models reports src tests) | tar xf - -C "$src" || bail "the tree could not be copied"
chmod -R u+w "$src"
patches=$src/tests/mutants
cd "$work/build" || exit 99
"$src/configure" -q --with-papi=no --with-likwid=no CFLAGS=-O1 >"$work/log" 2>&1 || { show "$work/log"; bail "configure failed"; }
top_srcdir=$src ROOFCAST=$work/build/roofcast ROOFCAST_DATA=$src ROOFCAST_SHARED=/nonexistent CMOCKA_MESSAGE_OUTPUT=TAP
export top_srcdir ROOFCAST ROOFCAST_DATA ROOFCAST_SHARED CMOCKA_MESSAGE_OUTPUT

# As it is, the tree passes.
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
    take_back
done
echo "# $(($# - failed)) of $# mutants killed in $(($(now) - begin)) s"
[ "$failed" = 0 ]
