# One JSON a micro-architecture: which events count what (doc/formats.md). Add a file, add its line.
eventsdir = $(pkgdatadir)/events
dist_events_DATA = \
  %D%/armv8-pmuv3.json \
  %D%/cascade-lake.json \
  %D%/emerald-rapids.json \
  %D%/grace.json \
  %D%/granite-rapids.json \
  %D%/ice-lake-sp.json \
  %D%/neoverse-n1.json \
  %D%/neoverse-v1.json \
  %D%/neoverse-v2.json \
  %D%/sapphire-rapids.json \
  %D%/skylake-sp.json \
  %D%/zen2.json \
  %D%/zen3.json \
  %D%/zen4.json \
  %D%/zen5.json
