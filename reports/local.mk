chartsdir = $(pkgdatadir)/reports/charts
dist_charts_DATA =
