#!/bin/sh
# The folder of arm64 libraries and headers that roofcast is cross-compiled against, made on a Debian of
# another architecture from the package sources it already has: nothing is installed and the system's own
# apt and dpkg keep their architecture. Prints the folder's path; what is going on goes to stderr.
#   tests/arm64/sysroot.sh          exit status 77, and a line that says why, where it cannot be had
# It stays in ${XDG_CACHE_HOME:-$HOME/.cache}/roofcast/arm64-sysroot; remove that folder to make it anew.
set -eu

what="arm64 sysroot"
packages="libc6-dev libjansson-dev libhwloc-dev libpcre2-dev libcminpack-dev libcmocka-dev libpapi-dev"
. "$(dirname "$0")/apt.sh"

root=$cache/arm64-sysroot
# Complete only with its stamp, which names what it holds.
if [ "$(cat "$root/.packages" 2>/dev/null)" = "$packages" ]; then
    printf '%s\n' "$root"
    exit 0
fi
begin_apt
say "arm64 sysroot: downloading $packages and what they need"
# shellcheck disable=SC2086
apt-get -c "$work/apt.conf" -q -y --download-only install $packages >"$log" 2>&1 ||
    skip "these sources have no arm64 packages for it: $(reason)"
say "arm64 sysroot: unpacking $(find "$work/archives" -name '*.deb' | wc -l) packages"
for deb in "$work"/archives/*.deb; do
    dpkg-deb -x "$deb" "$work/tree" || skip "$(basename "$deb") cannot be unpacked"
done
# Only what a compiler, a linker and a program read; links stay inside the folder.
for d in bin sbin etc var usr/bin usr/sbin usr/share usr/lib/aarch64-linux-gnu/perl usr/lib/aarch64-linux-gnu/perl-base; do
    rm -rf "${work:?}/tree/$d"
done
[ -e "$work/tree/lib" ] || ln -s usr/lib "$work/tree/lib"
find "$work/tree" -type l | while read -r link; do
    case $(readlink "$link") in
    /*) ln -sfnr "$work/tree$(readlink "$link")" "$link" ;;
    esac
    [ -e "$link" ] || rm -f "$link"
done
printf '%s\n' "$packages" >"$work/tree/.packages"
rm -rf "$root"
mv "$work/tree" "$root"
printf '%s\n' "$root"
