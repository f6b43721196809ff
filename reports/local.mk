chartsdir = $(pkgdatadir)/reports/charts
dist_charts_DATA = %D%/charts/roofline.gp
