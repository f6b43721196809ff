# Lines, points, intervals and bands of N_SERIES series NAME[k], vertical marks, horizontal roofs.

set errorbars 0.6

# Columns of the points: series x value ci_lo ci_hi n_samples in_frame line name label
# line: 0 points, 1 a line through points, 2 with a band in place of bars, 3 a line with a marker here and there, 4 a roof, 5 a band alone
line(k)  = (column(1) == k && column(8) >= 1 && column(8) < 3) ? column(2) : NaN
point(k) = (column(1) == k && column(7) == 1 && column(8) < 3) ? column(2) : NaN
bar(k)   = (column(1) == k && column(7) == 1 && column(8) < 2) ? column(2) : NaN
band(k)  = (column(1) == k && (column(8) == 2 || column(8) == 5)) ? column(2) : NaN
curve(k) = (column(1) == k && column(8) == 3) ? column(2) : NaN
limit(k) = (column(1) == k && column(8) == 4) ? column(2) : NaN
stroke(k) = (column(1) == k && column(7) == 1 && column(8) >= 1 && column(8) < 5) ? column(2) : NaN
spot(k)  = (column(1) == k && column(7) == 1 && column(8) == 0) ? column(2) : NaN
# Columns of the lines: kind value in_frame series spec label
mark_at(dummy)   = (strcol(1) eq "mark" && column(3) == 1) ? column(2) : NaN
roof_at(k, spec) = (strcol(1) eq "roof" && column(3) == 1 && column(4) == k && column(5) == spec) ? column(2) : NaN

plot \
  roofs using (mark_at(0)):(Y_LO):(0):(Y_HI-Y_LO) skip 1 with vectors nohead lw 1.1 dt (3,4) lc rgb mark_color title "marks", \
  roofs using (X_LO):(roof_at(0,0)):(X_HI-X_LO):(0) skip 1 with vectors nohead lw 1.1 dt 1 lc rgb roof_color title "roofs", \
  roofs using (X_LO):(roof_at(0,1)):(X_HI-X_LO):(0) skip 1 with vectors nohead lw 1.1 dt (8,5) lc rgb roof_color title "roofs", \
  for [k = 1:N_SERIES] roofs using (X_LO):(roof_at(k,0)):(X_HI-X_LO):(0) skip 1 with vectors nohead lw 1 dt (8,5) lc rgb color(k) title NAME[k], \
  for [k = 1:N_SERIES] points using (band(k)):4:5 skip 1 with filledcurves ls k fs transparent solid 0.15 noborder title NAME[k], \
  for [k = 1:N_SERIES] points using (limit(k)):3 skip 1 with lines ls k lw 1.5 title NAME[k], \
  for [k = 1:N_SERIES] points using (line(k)):3 skip 1 with lines ls k title NAME[k], \
  for [k = 1:N_SERIES] points using (curve(k)):3 skip 1 with linespoints ls k title NAME[k], \
  for [k = 1:N_SERIES] points using (bar(k)):3:4:5 skip 1 with yerrorbars ls k pt -1 lw 1.2 dt 1 title NAME[k], \
  for [k = 1:N_SERIES] points using (point(k)):3 skip 1 with points ls k title NAME[k]
#INCLUDE parts/pictures.gp#
if (strlen(txt)) {
  plot for [k = 1:N_SERIES] points using (stroke(k)):3 skip 1 with lines lt k+1 title IS_LINE[k] ? NAME[k] : "", \
       for [k = 1:N_SERIES] points using (spot(k)):3 skip 1 with points pt k title IS_LINE[k] ? "" : NAME[k], \
       roofs using (X_LO):(roof_at(0,0)):(X_HI-X_LO):(0) skip 1 with vectors nohead notitle
  set output
}
