# Run by ./check: cross-compiled and emulated, which takes packages of another architecture.
EXTRA_DIST += %D%/sysroot.sh %D%/run.sh
