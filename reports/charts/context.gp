# Tokens/s against the context, with the 90 % interval and the limits of memory and arithmetic.
# roofcast writes OUT.gp from it: variables (files, sizes, ranges, names), then this file with its parts and with the texts it has placed.
# Change colours, line types and markers there or here.
#INCLUDE parts/head.gp#
#INCLUDE parts/curves.gp#
