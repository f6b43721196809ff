#!/bin/sh
# Debian's arm64 kernel for virtual machines, for tests/pmu: prints the path of its vmlinuz; what is going on goes to stderr.
#   tests/arm64/kernel.sh          exit status 77, and a line that says why, where it cannot be had
# It stays in ${XDG_CACHE_HOME:-$HOME/.cache}/roofcast/arm64-kernel; remove that folder to fetch the newest anew.
set -eu
what="arm64 kernel"
package=linux-image-cloud-arm64
. "$(dirname "$0")/apt.sh"

kernel=$cache/arm64-kernel/vmlinuz
if [ -s "$kernel" ]; then
    printf '%s\n' "$kernel"
    exit 0
fi
begin_apt
# The package is empty and depends on the kernel of today.
image=$(apt-cache -c "$work/apt.conf" depends "$package" 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
[ -n "$image" ] || skip "these sources have no $package"
say "arm64 kernel: downloading $image"
(cd "$work/archives" && apt-get -c "$work/apt.conf" -q download "$image") >"$log" 2>&1 || skip "$image cannot be downloaded: $(reason)"
dpkg-deb -x "$work"/archives/linux-image-*.deb "$work/tree" || skip "$image cannot be unpacked"
mkdir -p "$(dirname "$kernel")"
cp "$work"/tree/boot/vmlinuz-* "$kernel.new"
mv "$kernel.new" "$kernel"
printf '%s\n' "$kernel"
