# What every chart has in common: colours, axes, the texts that roofcast has placed, and the SVG that the next plot command draws.

# Okabe and Ito's colours, which the colour-blind can tell apart. Series differ in their markers too, for print in grey.
colors     = "#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 #222222"
points_of  = "7 9 5 13 11 15 3"
ink        = "#222222"
faint      = "#666666"
roof_color = "#222222"
inner_color = "#7d7d7d"
mark_color = "#8a8a8a"
grid_color = "#ebebeb"
axis_color = "#9a9a9a"
paper      = "#ffffff"
typeface   = "sans-serif"
decode_color  = "#0072b2"
prefill_color = "#b85000"
other_color   = "#00785a"
color(k) = word(colors, (k - 1) % words(colors) + 1)
level_color(l) = l eq "L1" ? "#cc79a7" : l eq "L2" ? "#009e73" : l eq "L3" ? "#e69f00" : "#0072b2"
level_mark(l)  = l eq "L1" ? 5 : l eq "L2" ? 9 : l eq "L3" ? 11 : 7
mark(k)  = int(word(points_of, (k - 1) % words(colors) + 1))

set encoding utf8
set termoption noenhanced
set datafile separator tab
set datafile missing "nan"
set datafile commentschars ""

set lmargin at screen LEFT / WIDTH
set rmargin at screen RIGHT / WIDTH
set tmargin at screen 1 - TOP / HEIGHT
set bmargin at screen 1 - BOTTOM / HEIGHT
if (X_LOG) { set logscale x }
if (Y_LOG) { set logscale y }
hair = 1e-9 # ticks at the ends are drawn whatever rounding does
set xrange [X_LO*(1-hair):X_HI*(1+hair)] noextend
set yrange [Y_LO*(1-hair):Y_HI*(1+hair)] noextend
set key at screen 2, 2 samplen 0.1 noautotitle noenhanced # outside the picture: gnuplot names series in an SVG if there is a key and texts are enhanced
set border 3 lw 1 lc rgb axis_color
set grid xtics ytics lt 1 lw 0.8 lc rgb grid_color
set xtics noenhanced
set ytics noenhanced
set tics nomirror out scale 0.6, 0.35 textcolor rgb faint font typeface . ",12"

#LABELS#

if (strlen(svg)) {
  set terminal svg size WIDTH,HEIGHT dynamic font typeface . ",12" background rgb paper
  set output svg
} else {
  set terminal unknown
}
