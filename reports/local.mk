chartsdir = $(pkgdatadir)/reports/charts
dist_charts_DATA = %D%/charts/roofline.gp
EXTRA_DIST += %D%/gallery/roofline.png %D%/gallery/roofline.svg
