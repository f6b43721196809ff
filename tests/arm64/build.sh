# Sourced, after build-aux/setup.sh: cross_build DIR SYSROOT TARGET...: roofcast and these, for 64-bit Arm; nothing here needs debug information.
cross_build() {
    dir=$1 libs=$2
    shift 2
    PKG_CONFIG=pkg-config PKG_CONFIG_LIBDIR=$libs/usr/lib/aarch64-linux-gnu/pkgconfig PKG_CONFIG_SYSROOT_DIR=$libs
    export PKG_CONFIG PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
    mkdir -p "$top/build" "$dir"
    (
        build_targets="roofcast $*"
        build_tree "$dir" --host=aarch64-linux-gnu --enable-werror --disable-hardening --with-papi=yes --without-likwid \
            CC="aarch64-linux-gnu-gcc --sysroot=$libs" CFLAGS=-O2
    ) >&2
}
