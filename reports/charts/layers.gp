# Bytes, FLOP and time of each layer.
# roofcast writes OUT.gp from it: variables (files, sizes, ranges, names), then this file with its parts and with the texts it has placed.
# Change colours, line types and markers there or here.
box_color(k) = word("#0072b2 #e69f00 #c4c4c4", k)
#INCLUDE parts/head.gp#
#INCLUDE parts/boxes.gp#
