chartsdir = $(pkgdatadir)/reports/charts
pagesdir = $(pkgdatadir)/reports/html
dist_pages_DATA = %D%/html/step.js %D%/html/step.css %D%/html/page.html %D%/html/page.css %D%/html/page.js
chartpartsdir = $(chartsdir)/parts
dist_charts_DATA = %D%/charts/accuracy.gp %D%/charts/bandwidth.gp %D%/charts/batch.gp %D%/charts/context.gp %D%/charts/curves.gp %D%/charts/dark.css \
  %D%/charts/hierarchical.gp %D%/charts/kernels.gp %D%/charts/latencies.gp %D%/charts/latency.gp %D%/charts/layers.gp %D%/charts/loaded-latency.gp \
  %D%/charts/pareto.gp %D%/charts/policies.gp %D%/charts/rates.gp %D%/charts/roofline.gp %D%/charts/saturation.gp %D%/charts/steps.gp \
  %D%/charts/timeline.gp %D%/charts/trajectory.gp %D%/charts/waterfall.gp
dist_chartparts_DATA = %D%/charts/parts/boxes.gp %D%/charts/parts/curves.gp %D%/charts/parts/head.gp %D%/charts/parts/pictures.gp %D%/charts/parts/roofline.gp
EXTRA_DIST += %D%/gallery/commands.txt %D%/gallery/draw.sh %D%/gallery/README.md %D%/gallery/accuracy.svg %D%/gallery/bandwidth.svg \
  %D%/gallery/batch.svg %D%/gallery/context.svg %D%/gallery/hierarchical.svg %D%/gallery/kernels.svg %D%/gallery/latencies.svg \
  %D%/gallery/latency.svg %D%/gallery/layers-measured.svg %D%/gallery/layers.svg %D%/gallery/loaded-latency.svg %D%/gallery/machines.svg \
  %D%/gallery/pareto.svg %D%/gallery/policies.svg %D%/gallery/rates.svg %D%/gallery/roofline.svg %D%/gallery/saturation.svg \
  %D%/gallery/steps.svg %D%/gallery/timeline.svg %D%/gallery/trajectory.svg %D%/gallery/waterfall-measured.svg %D%/gallery/waterfall.svg
# Draws every picture of the gallery again, into the source tree, and writes its README.md.
gallery: roofcast
	ROOFCAST=$(abs_builddir)/roofcast $(SHELL) $(top_srcdir)/reports/gallery/draw.sh $(top_srcdir)
.PHONY: gallery
