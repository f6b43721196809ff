# From the roof to what is achieved, in milliseconds a token.
# roofcast writes OUT.gp from it: variables (files, sizes, ranges, names), then this file with its parts and with the texts it has placed.
# Change colours, line types and markers there or here.
box_color(k) = word("#222222 #e69f00 #0072b2 #009e73", k)
#INCLUDE parts/head.gp#
#INCLUDE parts/boxes.gp#
