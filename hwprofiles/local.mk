hwprofiledir = $(pkgdatadir)/hwprofiles
dist_hwprofile_DATA =
