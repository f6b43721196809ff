modelsdir = $(pkgdatadir)/models
dist_models_DATA =
