EXTRA_DIST += %D%/HACKING.md %D%/methods.md %D%/formats.md
dist_man_MANS += %D%/roofcast.1
