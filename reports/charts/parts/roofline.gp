# Roofs, ridge points, and the points of phases or memory levels under them.

decode_fill   = "#480072b2" # see-through: markers on one another stay countable
prefill_fill  = "#48b85000"

# Columns of the roofs: kind value ai_0 flop_s_0 ai_1 flop_s_1 strong spec label
roof(strong, spec) = (strcol(1) ne "ridge" && column(7) == strong && column(8) == spec) ? column(3) : NaN
ridge(n) = strcol(1) eq "ridge" ? column(n) : NaN
# Columns of the points: ai flop_s share predicted counted in_frame radius_px phase label
point(name, predicted) = (column(7) > 0 && column(6) == 1 && column(5) == 0 && column(4) == predicted && strcol(8) eq name) ? column(1) : NaN
counted(name) = (column(7) > 0 && column(6) == 1 && column(5) == 1 && strcol(8) eq name) ? column(1) : NaN
size(radius) = radius / 4.5 # a marker of size 1 has a radius of 4.5 px

plot \
  roofs using (roof(0,0)):4:($5-$3):($6-$4) skip 1 with vectors nohead lw 1.3 dt 1 lc rgb inner_color title "roofs", \
  roofs using (roof(0,1)):4:($5-$3):($6-$4) skip 1 with vectors nohead lw 1.3 dt (8,5) lc rgb inner_color title "roofs", \
  roofs using (roof(1,0)):4:($5-$3):($6-$4) skip 1 with vectors nohead lw 2.4 dt 1 lc rgb roof_color title "roofs", \
  roofs using (roof(1,1)):4:($5-$3):($6-$4) skip 1 with vectors nohead lw 2.4 dt (8,5) lc rgb roof_color title "roofs", \
  roofs using (ridge(3)):4 skip 1 with points pt 7 ps 0.65 lc rgb roof_color title "ridge points", \
  points using (point("prefill",1)):2:(size($7)) skip 1 with points pt 9 ps variable lc rgb paper title "prefill, predicted", \
  points using (point("prefill",1)):2:(size($7)) skip 1 with points pt 8 ps variable lw 1.5 lc rgb prefill_color title "prefill, predicted", \
  points using (point("prefill",0)):2:(size($7)) skip 1 with points pt 9 ps variable lc rgb prefill_fill title "prefill", \
  points using (point("prefill",0)):2:(size($7)) skip 1 with points pt 8 ps variable lw 0.8 lc rgb prefill_color title "prefill", \
  points using (point("decode",1)):2:(size($7)) skip 1 with points pt 7 ps variable lc rgb paper title "decode, predicted", \
  points using (point("decode",1)):2:(size($7)) skip 1 with points pt 6 ps variable lw 1.5 lc rgb decode_color title "decode, predicted", \
  points using (point("decode",0)):2:(size($7)) skip 1 with points pt 7 ps variable lc rgb decode_fill title "decode", \
  points using (point("decode",0)):2:(size($7)) skip 1 with points pt 6 ps variable lw 0.8 lc rgb decode_color title "decode", \
  points using (point("other",1)):2:(size($7)) skip 1 with points pt 6 ps variable lw 1.5 lc rgb other_color title "other, predicted", \
  points using (point("other",0)):2:(size($7)) skip 1 with points pt 7 ps variable lc rgb other_color title "other", \
  for [l in "L1 L2 L3 DRAM"] points using (point(l,1)):2:(size($7)) skip 1 with points pt level_mark(l) ps variable lc rgb paper title l, \
  for [l in "L1 L2 L3 DRAM"] points using (point(l,1)):2:(size($7)) skip 1 with points pt level_mark(l)-1 ps variable lw 1.5 lc rgb level_color(l) title l, \
  for [l in "L1 L2 L3 DRAM"] points using (counted(l)):2:(size($7)) skip 1 with points pt level_mark(l) ps variable lc rgb level_color(l) title l, \
  points using (counted("prefill")):2:(size($7)) skip 1 with points pt 13 ps variable lc rgb prefill_color title "prefill, counted", \
  points using (counted("decode")):2:(size($7)) skip 1 with points pt 13 ps variable lc rgb decode_color title "decode, counted", \
  points using (counted("other")):2:(size($7)) skip 1 with points pt 13 ps variable lc rgb other_color title "other, counted"
#INCLUDE parts/pictures.gp#
if (strlen(txt)) {
  any(name) = (column(6) == 1 && strcol(8) eq name) ? column(1) : NaN
  plot roofs using (strcol(1) ne "ridge" ? column(3) : NaN):4:($5-$3):($6-$4) skip 1 with vectors nohead title "roofs", \
       points using (any("prefill")):2 skip 1 with points pt 2 title "prefill", \
       points using (any("decode")):2 skip 1 with points pt 4 title "decode", \
       points using (any("other")):2 skip 1 with points pt 6 title "other", \
       for [l in "L1 L2 L3 DRAM"] points using (any(l)):2 skip 1 with points title l
  set output
}
