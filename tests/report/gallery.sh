#!/bin/sh
# The gallery: every picture has its command, every kind of chart has a picture, no text of a picture overlaps another with the metrics of a real
# font, and each command draws again what the gallery shows: the same series, numbers of markers, lines, polygons and tooltips, and texts.
. "${top_srcdir:?}/tests/cli/lib.sh"
gallery=$top_srcdir/reports/gallery
check_svg=$(dirname "$ROOFCAST")/tests/report/check_svg
names() { sed -n 's/^\([a-z][^	]*\)	.*/\1/p' "$gallery/commands.txt"; }
is "$(names | sort)" "$(cd "$gallery" && ls ./*.svg | sed 's,^\./,,; s,\.svg$,,' | sort)" "a command a picture"
sed -n 's/^    //p' "$gallery/README.md" >"$tmp/indented"
sed '/^#/d' "$gallery/commands.txt" | cut -f 3 >"$tmp/commands"
cmp -s "$tmp/commands" "$tmp/indented"
ok $? "README.md of the gallery has each command, in order"
is 3 "$(grep -c '](reports/gallery/[a-z-]*\.svg)' "$top_srcdir/README.md")" "three of the pictures are in README"
sed -n 's/^!\[.*(reports\/gallery\/\(.*\)\.svg)$/\1/p' "$top_srcdir/README.md" | while read -r name; do
    names | grep -qx "$name" || echo "$name"
done >"$tmp/unknown"
[ ! -s "$tmp/unknown" ]
ok $? "and in the gallery"

run plot --chart nonsense x
kinds=$(sed -n 's/.*expected \(.*\), found.*/\1/p' "$tmp/err" | sed 's/ or /, /; s/,//g')
for kind in $kinds; do
    [ -s "$top_srcdir/reports/charts/$kind.gp" ] || echo "no template of $kind"
    [ "$kind" = roofline ] || grep -q -- "--chart $kind " "$gallery/commands.txt" || echo "no picture of $kind"
done >"$tmp/err"
[ -n "$kinds" ] && [ ! -s "$tmp/err" ]
ok $? "every kind of chart has a template and a picture"

font=$(fc-match -f '%{file}' sans-serif 2>/dev/null || true)
case $font in *.ttf) ;; *) font= ;; esac
"$check_svg" ${font:+--font "$font"} "$gallery"/*.svg >"$tmp/out" 2>"$tmp/err" || cat "$tmp/out" >>"$tmp/err"
[ "$(grep -c ' 0 problems$' "$tmp/out")" = "$(names | wc -l)" ]
ok $? "no text overlaps another or a marker in any picture, with ${font:-the widths of DejaVu Sans}; series have names; no page refuses them"
grep -L '<title>[^<]*</title></use>\|<title>[^<]*</title></polygon>' "$gallery"/*.svg >"$tmp/err"
[ ! -s "$tmp/err" ]
ok $? "every picture has tooltips"
grep -o '"#[0-9a-f]*"' "$top_srcdir/reports/charts/dark.css" | sort -u >"$tmp/dark"
sed 's/<style>.*//' "$gallery"/*.svg | grep -o '"#[0-9a-f]*"' | sort -u | grep -vxFf "$tmp/dark" >"$tmp/err"
[ ! -s "$tmp/err" ]
ok $? "dark mode has a colour for each colour"

# A text may not stand on another, which this picture has, and the check sees it.
sed 's/<g transform="translate([0-9.]*,[0-9.]*)" stroke="none" fill="#666666"/<g transform="translate(300.00,300.00)" stroke="none" fill="#666666"/' "$gallery/batch.svg" >"$tmp/bad.svg"
! "$check_svg" ${font:+--font "$font"} "$tmp/bad.svg" >"$tmp/out" && grep -q 'texts overlap' "$tmp/out"
ok $? "the check finds texts that overlap"
sed 's/<g id="gnuplot_canvas">/<g id="gnuplot_canvas" style="fill:none">/' "$gallery/batch.svg" >"$tmp/bad.svg"
! "$check_svg" "$tmp/bad.svg" >"$tmp/out" && grep -q 'security policy refuses' "$tmp/out"
ok $? "and attributes that a page refuses"

if ! command -v gnuplot >/dev/null; then
    skip "drawing the gallery: gnuplot is not installed (Debian: apt-get install gnuplot-nox)"
else
    mkdir "$tmp/drawn"
    wanted=
    [ -z "${ROOFCAST_SANITIZED:-}" ] || wanted='waterfall layers-measured batch latencies timeline policies pareto'
    # shellcheck disable=SC2086 # names
    sh "$gallery/draw.sh" "$top_srcdir" "$tmp/drawn" $wanted >"$tmp/out" 2>"$tmp/err"
    ok $? "every command draws"
    for f in "$tmp"/drawn/*.svg; do
        name=$(basename "$f")
        "$check_svg" --structure "$f" >"$tmp/now"
        "$check_svg" --structure "$gallery/$name" | diff - "$tmp/now" >"$tmp/diff" || { echo "$name:" && head -5 "$tmp/diff"; }
    done >"$tmp/err"
    [ ! -s "$tmp/err" ]
    ok $? "what the gallery shows: \`make gallery\` draws it anew"
fi
finish
