# Boxes of N_SERIES series NAME[k]: bars of a waterfall, parts of a layer's bar.

# Columns of the points: series x_lo x_hi y_lo y_hi value label
middle(k) = column(1) == k ? (column(2) + column(3)) / 2 : NaN

plot \
  for [k = 1:N_SERIES] points using (middle(k)):(($4+$5)/2):2:3:4:5 skip 1 with boxxyerrorbars fc rgb box_color(k) fs solid 1 noborder title NAME[k]
#INCLUDE parts/pictures.gp#
if (strlen(txt)) {
  eval ROWS
  plot for [k = 1:N_SERIES] points using (middle(k)):(($4+$5)/2):2:3:4:5 skip 1 with boxxyerrorbars title NAME[k]
  set output
}
