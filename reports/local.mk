chartsdir = $(pkgdatadir)/reports/charts
dist_charts_DATA = %D%/charts/roofline.gp %D%/charts/curves.gp
stepdir = $(pkgdatadir)/reports/html
dist_step_DATA = %D%/html/step.js %D%/html/step.css %D%/html/page.html %D%/html/page.css %D%/html/page.js
gallery_charts = bandwidth saturation latency loaded-latency kernels
EXTRA_DIST += %D%/gallery/roofline.png %D%/gallery/roofline.svg %D%/gallery/bandwidth.svg %D%/gallery/saturation.svg %D%/gallery/latency.svg \
  %D%/gallery/loaded-latency.svg %D%/gallery/kernels.svg %D%/gallery/hierarchical.svg %D%/gallery/machines.svg
# Draws the pictures of the charts of a profile again, into the source tree.
gallery: roofcast
	./roofcast plot --chart hierarchical $(top_srcdir)/tests/report/run.json --hw $(top_srcdir)/tests/report/curves.json --phase prefill \
	  --format svg -o $(top_srcdir)/reports/gallery/hierarchical
	rm -f $(top_srcdir)/reports/gallery/hierarchical.gp $(top_srcdir)/reports/gallery/hierarchical.tsv $(top_srcdir)/reports/gallery/hierarchical.roofs.tsv
	./roofcast plot llama-3-8b -q Q4_K_M --hw h100-sxm,rtx-4090,apple-m4-max-40 --format svg -o $(top_srcdir)/reports/gallery/machines
	rm -f $(top_srcdir)/reports/gallery/machines.gp $(top_srcdir)/reports/gallery/machines.tsv $(top_srcdir)/reports/gallery/machines.roofs.tsv
	for k in $(gallery_charts); do \
	  ./roofcast plot --chart $$k $(top_srcdir)/tests/report/curves.json --format svg -o $(top_srcdir)/reports/gallery/$$k && \
	  (cd $(top_srcdir)/reports/gallery && rm -f $$k.gp $$k.tsv $$k.roofs.tsv) || exit 1; done
.PHONY: gallery
