# Style of the charts of curves (bandwidth, saturation, latency, kernels). roofcast writes OUT.gp from it: first variables
# (files, sizes, ranges, names), then this file, with the texts it has placed where the line "#LABELS#" stands. Change
# colours, line types and markers here, or in an OUT.gp.

# Okabe and Ito's colours, which the colour-blind can tell apart; more series than colours have dashes.
colors     = "#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 #222222"
points_of  = "7 9 5 13 11 15 3"
ink        = "#222222"
faint      = "#666666"
roof_color = "#222222"
mark_color = "#8a8a8a"
grid_color = "#ebebeb"
typeface   = "sans-serif"
decode_color = ink; prefill_color = ink; other_color = ink

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
unset key
set border 3 lw 1 lc rgb "#9a9a9a"
set grid xtics ytics lt 1 lw 0.8 lc rgb grid_color
set tics nomirror out scale 0.6, 0.35 textcolor rgb faint font typeface . ",12"
set errorbars 0.6
color(k) = word(colors, (k - 1) % words(colors) + 1)
mark(k)  = int(word(points_of, (k - 1) % words(colors) + 1))
do for [k = 1:N_SERIES] {
  if (k <= words(colors)) { set style line k lc rgb color(k) lw 1.8 dt 1 pt mark(k) ps 0.75 }
  else { set style line k lc rgb color(k) lw 1.8 dt (6,4) pt mark(k) ps 0.75 }
}

#LABELS#

# Columns of the points: series x value ci_lo ci_hi n_samples in_frame line name label
# line: 0 points, 1 a line through points, 2 with a band in place of bars, 3 a line alone
line(k)  = (column(1) == k && column(8) >= 1) ? column(2) : NaN
point(k) = (column(1) == k && column(7) == 1 && column(8) < 3) ? column(2) : NaN
bar(k)   = (column(1) == k && column(7) == 1 && column(8) < 2) ? column(2) : NaN
band(k)  = (column(1) == k && column(8) == 2) ? column(2) : NaN
dense(k) = (column(1) == k && column(7) == 1) ? column(2) : NaN
# Columns of the lines: kind value in_frame series spec label
mark_at(dummy)   = (strcol(1) eq "mark" && column(3) == 1) ? column(2) : NaN
roof_at(k, spec) = (strcol(1) eq "roof" && column(3) == 1 && column(4) == k && column(5) == spec) ? column(2) : NaN

if (strlen(svg)) {
  set terminal svg size WIDTH,HEIGHT dynamic font typeface . ",12" background rgb "white" noenhanced
  set output svg
} else {
  set terminal unknown
}
plot \
  roofs using (mark_at(0)):(Y_LO):(0):(Y_HI-Y_LO) skip 1 with vectors nohead lw 1.1 dt (3,4) lc rgb mark_color, \
  roofs using (X_LO):(roof_at(0,0)):(X_HI-X_LO):(0) skip 1 with vectors nohead lw 1.1 dt 1 lc rgb roof_color, \
  roofs using (X_LO):(roof_at(0,1)):(X_HI-X_LO):(0) skip 1 with vectors nohead lw 1.1 dt (8,5) lc rgb roof_color, \
  for [k = 1:N_SERIES] roofs using (X_LO):(roof_at(k,0)):(X_HI-X_LO):(0) skip 1 with vectors nohead lw 1 dt (8,5) lc rgb color(k), \
  for [k = 1:N_SERIES] points using (band(k)):4:5 skip 1 with filledcurves ls k fs transparent solid 0.15 noborder, \
  for [k = 1:N_SERIES] points using (line(k)):3 skip 1 with lines ls k, \
  for [k = 1:N_SERIES] points using (bar(k)):3:4:5 skip 1 with yerrorbars ls k pt -1 lw 1.2 dt 1, \
  for [k = 1:N_SERIES] points using (point(k)):3 skip 1 with points ls k
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
  set title TITLE
  set xlabel X_TITLE
  set ylabel Y_TITLE offset 2
  set key outside bottom center vertical maxcols 2 autotitle
  set terminal dumb size 118,40 ascii noenhanced
  set output txt
  plot for [k = 1:N_SERIES] points using (dense(k)):3 skip 1 with points pt k title NAME[k], \
       roofs using (X_LO):(roof_at(0,0)):(X_HI-X_LO):(0) skip 1 with vectors nohead notitle
  set output
}
