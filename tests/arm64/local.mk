# Run by ./check: cross-compiled and emulated, which takes packages of another architecture.
EXTRA_DIST += %D%/sysroot.sh %D%/kernel.sh %D%/apt.sh %D%/build.sh %D%/run.sh
