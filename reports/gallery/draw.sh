#!/bin/sh
# draw.sh SOURCE_TREE [DIRECTORY [NAME...]]: draws the pictures of commands.txt into DIRECTORY (default: this gallery, with README.md).
# ROOFCAST names the program.
set -eu
src=$(cd "$1" && pwd)
into=${2:-$src/reports/gallery}
[ $# -le 2 ] || { shift 2; wanted=" $* "; }
case ${ROOFCAST:?} in /*) ;; *) ROOFCAST=$PWD/$ROOFCAST ;; esac
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/bin"
ln -s "$ROOFCAST" "$tmp/bin/roofcast"
export PATH="$tmp/bin:$PATH" ROOFCAST_DATA="$src" LC_ALL=C
unset COLUMNS ROOFCAST_CONSTANTS ROOFCAST_PROFILE || true
tab=$(printf '\t')
grep -v '^#' "$src/reports/gallery/commands.txt" >"$tmp/commands"
while IFS=$tab read -r name caption command; do
    case "${wanted- $name }" in *" $name "*) ;; *) continue ;; esac
    mkdir "$tmp/$name"
    ln -s "$src/tests" "$src/hwprofiles" "$tmp/$name"
    (cd "$tmp/$name" && sh -c "$command --format svg") </dev/null >"$tmp/out" 2>"$tmp/err" || {
        cat "$tmp/out" "$tmp/err" >&2
        echo "draw.sh: $name: $command" >&2
        exit 1
    }
    cp "$tmp/$name/$name.svg" "$into/$name.svg"
done <"$tmp/commands"
[ "$into" = "$src/reports/gallery" ] || exit 0
{
    printf '# Gallery\n\nEach picture with the command that draws it, in the top directory of the source tree. With each, `roofcast plot` writes the data (.tsv)\n'
    printf 'and a gnuplot script (.gp) that draws it again. `make gallery` draws all of them from commands.txt, and writes this page.\n'
    while IFS=$tab read -r name caption command; do
        printf '\n## %s\n\n![%s](%s.svg)\n\n    %s\n' "$caption" "$caption" "$name" "$command"
    done <"$tmp/commands"
} >"$into/README.md"
