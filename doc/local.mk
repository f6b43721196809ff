EXTRA_DIST += %D%/HACKING.md %D%/methods.md %D%/formats.md %D%/accuracy.md
dist_man_MANS += %D%/roofcast.1
