# Sourced, after build-aux/setup.sh: cross_build DIR SYSROOT TARGET...: roofcast and these, for 64-bit Arm.
cross_build() {
    dir=$1 libs=$2
    shift 2
    PKG_CONFIG=pkg-config PKG_CONFIG_LIBDIR=$libs/usr/lib/aarch64-linux-gnu/pkgconfig PKG_CONFIG_SYSROOT_DIR=$libs
    export PKG_CONFIG PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
    mkdir -p "$top/build" "$dir"
    (
        build_tree "$dir" --host=aarch64-linux-gnu --enable-werror --disable-hardening --with-papi=yes --without-likwid \
            CC="aarch64-linux-gnu-gcc --sysroot=$libs"
        make -s -C "$dir" -j"$(getconf _NPROCESSORS_ONLN)" "$@" >"$dir/tests.log" 2>&1 || {
            tail -n 40 "$dir/tests.log"
            exit 1
        }
    ) >&2
}
