#!/bin/sh
# The program is hardened as configure says (HARDENED in the build's Makefile), and with everything unless it was told not to: read off the
# ELF file. _FORTIFY_SOURCE needs optimization.
set -u
if ! command -v readelf >/dev/null; then
    echo "1..0 # SKIP no readelf (package binutils)"
    exit 0
fi
program=${ROOFCAST:?run this by make check}
build=$(dirname "$program")
hardened=$(sed -n 's/^HARDENED *= *//p' "$build/Makefile")
if [ "$hardened" = no ]; then
    echo "1..0 # SKIP configured with --disable-hardening, or sanitizers"
    exit 0
fi
{ readelf -W -h -l -d "$program" && readelf -W --dyn-syms "$program"; } >"$build/hardening.tmp" 2>&1
n=0 bad=0
check() { # WORD PATTERN NAME
    n=$((n + 1))
    case " $hardened " in
    *" $1 "*) grep -q -- "$2" "$build/hardening.tmp" && echo "ok $n - $3" && return ;;
    esac
    echo "not ok $n - $3"
    echo "# configure chose \"$hardened\"; \"$2\" in readelf's output is wanted"
    bad=1
}
check pie 'Type: *DYN' "a position-independent executable"
check relro GNU_RELRO "relocations are read-only"
check relro 'BIND_NOW\|Flags: NOW' "from the start"
check stack-protector '__stack_chk_\(fail\|guard\)' "canaries on the stack"
case " $(sed -n 's/^CFLAGS *= *//p' "$build/Makefile") " in
*' -O '* | *' -O'[1-9sgz]*) check fortify '__[a-z]*printf_chk' "checked functions" ;;
*)
    n=$((n + 1))
    case " $hardened " in
    *' fortify '*) echo "not ok $n - checked functions need optimization, and configure says that there are some" && bad=1 ;;
    *) echo "ok $n - checked functions # SKIP CFLAGS without optimization" ;;
    esac
    ;;
esac
# Debian's packages are reproducible: what is installed does not tell where it was built. Symbols of debugging do, and are not installed.
n=$((n + 1))
here=$(cd "$build" && pwd -P)
if ! command -v strip >/dev/null; then
    echo "ok $n - no path of the build in the program # SKIP no strip (package binutils)"
elif strip -o "$build/stripped.tmp" "$program" && ! grep -aqF "$here" "$build/stripped.tmp"; then
    echo "ok $n - no path of the build in the program"
else
    echo "not ok $n - no path of the build in the program" && bad=1
fi
echo "1..$n"
rm -f "$build/hardening.tmp" "$build/stripped.tmp"
exit $bad
