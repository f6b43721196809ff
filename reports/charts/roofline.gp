# Style of the roofline chart. roofcast writes OUT.gp from it: first variables (files, sizes, ranges), then this file, with
# the texts it has placed where the line "#LABELS#" stands. Change colours, line types and markers here, or in
# an OUT.gp; the sizes of the texts and of the plot area are roofcast's, which kept the texts apart.

# Okabe and Ito's colours, which the colour-blind can tell apart.
decode_color  = "#0072b2"
prefill_color = "#d55e00"
other_color   = "#009e73"
decode_fill   = "#480072b2" # see-through: markers on one another stay countable
prefill_fill  = "#48d55e00"
ink           = "#222222"
faint         = "#666666"
roof_color    = "#222222"
inner_color   = "#7d7d7d"
grid_color    = "#ebebeb"
typeface      = "sans-serif"
level_color(l) = l eq "L1" ? "#cc79a7" : l eq "L2" ? "#009e73" : l eq "L3" ? "#e69f00" : "#0072b2"

set encoding utf8
set termoption noenhanced
set datafile separator tab
set datafile missing "nan"
set datafile commentschars ""

set lmargin at screen LEFT / WIDTH
set rmargin at screen RIGHT / WIDTH
set tmargin at screen 1 - TOP / HEIGHT
set bmargin at screen 1 - BOTTOM / HEIGHT
set logscale xy
hair = 1e-9 # ticks at the ends are drawn whatever rounding does
set xrange [X_LO*(1-hair):X_HI*(1+hair)] noextend
set yrange [Y_LO*(1-hair):Y_HI*(1+hair)] noextend
unset key
set border 3 lw 1 lc rgb "#9a9a9a"
set grid xtics ytics lt 1 lw 0.8 lc rgb grid_color
set tics nomirror out scale 0.6, 0.35 textcolor rgb faint font typeface . ",12"

#LABELS#

# Columns of the roofs: kind value ai_0 flop_s_0 ai_1 flop_s_1 strong spec label
roof(strong, spec) = (strcol(1) ne "ridge" && column(7) == strong && column(8) == spec) ? column(3) : NaN
ridge(n) = strcol(1) eq "ridge" ? column(n) : NaN
# Columns of the points: ai flop_s share predicted counted in_frame radius_px phase label
point(name, predicted) = (column(7) > 0 && column(6) == 1 && column(5) == 0 && column(4) == predicted && strcol(8) eq name) ? column(1) : NaN
counted(name) = (column(7) > 0 && column(6) == 1 && column(5) == 1 && strcol(8) eq name) ? column(1) : NaN
size(radius) = radius / 4.5 # a marker of size 1 has a radius of 4.5 px

if (strlen(svg)) {
  set terminal svg size WIDTH,HEIGHT dynamic font typeface . ",12" background rgb "white" noenhanced
  set output svg
} else {
  set terminal unknown
}
plot \
  roofs using (roof(0,0)):4:($5-$3):($6-$4) skip 1 with vectors nohead lw 1.3 dt 1 lc rgb inner_color, \
  roofs using (roof(0,1)):4:($5-$3):($6-$4) skip 1 with vectors nohead lw 1.3 dt (8,5) lc rgb inner_color, \
  roofs using (roof(1,0)):4:($5-$3):($6-$4) skip 1 with vectors nohead lw 2.4 dt 1 lc rgb roof_color, \
  roofs using (roof(1,1)):4:($5-$3):($6-$4) skip 1 with vectors nohead lw 2.4 dt (8,5) lc rgb roof_color, \
  roofs using (ridge(3)):4 skip 1 with points pt 7 ps 0.65 lc rgb roof_color, \
  points using (point("prefill",1)):2:(size($7)) skip 1 with points pt 9 ps variable lc rgb "white", \
  points using (point("prefill",1)):2:(size($7)) skip 1 with points pt 8 ps variable lw 1.5 lc rgb prefill_color, \
  points using (point("prefill",0)):2:(size($7)) skip 1 with points pt 9 ps variable lc rgb prefill_fill, \
  points using (point("prefill",0)):2:(size($7)) skip 1 with points pt 8 ps variable lw 0.8 lc rgb prefill_color, \
  points using (point("decode",1)):2:(size($7)) skip 1 with points pt 7 ps variable lc rgb "white", \
  points using (point("decode",1)):2:(size($7)) skip 1 with points pt 6 ps variable lw 1.5 lc rgb decode_color, \
  points using (point("decode",0)):2:(size($7)) skip 1 with points pt 7 ps variable lc rgb decode_fill, \
  points using (point("decode",0)):2:(size($7)) skip 1 with points pt 6 ps variable lw 0.8 lc rgb decode_color, \
  points using (point("other",1)):2:(size($7)) skip 1 with points pt 6 ps variable lw 1.5 lc rgb other_color, \
  points using (point("other",0)):2:(size($7)) skip 1 with points pt 7 ps variable lc rgb other_color, \
  for [l in "L1 L2 L3 DRAM"] points using (point(l,1)):2:(size($7)) skip 1 with points pt 6 ps variable lw 1.5 lc rgb level_color(l), \
  for [l in "L1 L2 L3 DRAM"] points using (counted(l)):2:(size($7)) skip 1 with points pt 13 ps variable lc rgb level_color(l), \
  points using (counted("prefill")):2:(size($7)) skip 1 with points pt 13 ps variable lc rgb prefill_color, \
  points using (counted("decode")):2:(size($7)) skip 1 with points pt 13 ps variable lc rgb decode_color, \
  points using (counted("other")):2:(size($7)) skip 1 with points pt 13 ps variable lc rgb other_color
set output

# The same at twice the resolution, as a page, and drawn with characters.
if (strlen(png)) {
  set terminal pngcairo size 2*WIDTH,2*HEIGHT fontscale 1.5 linewidth 2 pointscale 3 font typeface . ",12" background rgb "white" noenhanced
  set output png
  replot
  set output
}
if (strlen(pdf)) {
  set terminal pdfcairo size WIDTH/72.,HEIGHT/72. fontscale 1 font typeface . ",12" background rgb "white" noenhanced
  set output pdf
  replot
  set output
}
if (strlen(txt)) {
  unset label
  unset arrow
  unset grid
  unset lmargin; unset rmargin; unset tmargin; unset bmargin
  set xlabel "Arithmetic intensity [FLOP/byte]"
  set ylabel "FLOP/s"
  set key outside bottom center horizontal autotitle
  any(name) = (column(6) == 1 && strcol(8) eq name) ? column(1) : NaN
  set terminal dumb size 118,40 ascii noenhanced
  set output txt
  plot roofs using (strcol(1) ne "ridge" ? column(3) : NaN):4:($5-$3):($6-$4) skip 1 with vectors nohead title "roofs", \
       points using (any("prefill")):2 skip 1 with points pt 2 title "prefill", \
       points using (any("decode")):2 skip 1 with points pt 4 title "decode", \
       points using (any("other")):2 skip 1 with points pt 6 title "other"
  set output
}
