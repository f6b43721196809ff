set output

# The same at twice the resolution, and as a page.
if (strlen(png)) {
  set terminal pngcairo size 2*WIDTH,2*HEIGHT fontscale 1.5 linewidth 2 pointscale 3 font typeface . ",12" background rgb paper noenhanced
  set output png
  replot
  set output
}
if (strlen(pdf)) {
  set terminal pdfcairo size WIDTH/72.,HEIGHT/72. fontscale 1 font typeface . ",12" background rgb paper noenhanced
  set output pdf
  replot
  set output
}

# With characters: gnuplot places title, axes and key.
if (strlen(txt)) {
  unset label
  unset arrow
  unset grid
  unset lmargin; unset rmargin; unset tmargin; unset bmargin
  set title TITLE
  set xlabel X_TITLE
  set ylabel Y_TITLE offset 2
  set key outside bottom center vertical maxcols 2 autotitle
  set terminal dumb size COLUMNS,LINES ascii noenhanced
  set output txt
}
