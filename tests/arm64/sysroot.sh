#!/bin/sh
# The folder of arm64 libraries and headers that roofcast is cross-compiled against, made on a Debian of
# another architecture from the package sources it already has: nothing is installed and the system's own
# apt and dpkg keep their architecture. Prints the folder's path; what is going on goes to stderr.
#   tests/arm64/sysroot.sh          exit status 77, and a line that says why, where it cannot be had
# It stays in ${XDG_CACHE_HOME:-$HOME/.cache}/roofcast/arm64-sysroot; remove that folder to make it anew.
set -eu

packages="libc6-dev libjansson-dev libhwloc-dev libpcre2-dev libcminpack-dev libcmocka-dev"

skip() { printf '%s\n' "arm64 sysroot: $*" >&2; exit 77; }
say() { printf '%s\n' "$*" >&2; }

cache=${XDG_CACHE_HOME:-${HOME:?}/.cache}/roofcast
root=$cache/arm64-sysroot
# Complete only with its stamp, which names what it holds.
if [ "$(cat "$root/.packages" 2>/dev/null)" = "$packages" ]; then
    printf '%s\n' "$root"
    exit 0
fi
for tool in apt-get dpkg-deb; do
    command -v "$tool" >/dev/null 2>&1 || skip "no $tool here; it is made from Debian packages"
done

mkdir -p "$cache"
work=$(mktemp -d "$cache/arm64.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# apt with a state of its own: an empty arm64 system beside the sources, keys and proxies of this one.
mkdir -p "$work/lists/partial" "$work/archives/partial" "$work/tree"
: >"$work/status"
cat >"$work/apt.conf" <<CONF
#clear APT::Architectures;
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Install-Pkgs;
#clear DPkg::Post-Invoke;
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "2";
Dir::State "$work";
Dir::State::Lists "$work/lists";
Dir::State::status "$work/status";
Dir::State::extended_states "$work/extended_states";
Dir::Cache "$work";
Dir::Cache::archives "$work/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Log "$work";
CONF
log=$work/log
reason() { grep '^[EW]:' "$log" | head -n 1; }

say "arm64 sysroot: reading the package lists"
apt-get -c "$work/apt.conf" -q update >"$log" 2>&1 || skip "apt-get update failed: $(reason)"
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
