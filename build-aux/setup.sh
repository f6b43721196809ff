# Set-up shared by ./quickstart and ./check: install what is missing, configure, build.
# Sourced with $top set to the source tree. Everything is found by command, pkg-config module or
# header, never by package name: a library built by hand counts as present.

say() { printf '%s\n' "$*"; }
die() { printf '%s\n' "roofcast set-up: $*" >&2; exit 1; }

missing=
want() { missing="$missing $1"; }
have_cmd() { command -v "$1" >/dev/null 2>&1; }
have_mod() { have_cmd pkg-config && pkg-config --exists "$1"; }
have_header() { printf '#include <%s>\n' "$1" | ${CC:-cc} -E - >/dev/null 2>&1; }

# need TEST ARGUMENT PACKAGE: without it nothing can be built.
need() { "$1" "$2" || want "$3"; }

find_missing() {
    missing=
    if [ -n "${CC:-}" ]; then
        have_cmd "${CC%% *}" || want "${CC%% *}"
    else
        have_cmd cc || want gcc
    fi
    if have_cmd "${CC:-cc}"; then have_header stdio.h || want libc6-dev; else want libc6-dev; fi
    need have_cmd make make
    need have_cmd autoreconf autoconf
    need have_cmd automake automake
    need have_cmd pkg-config pkg-config
    have_m4_archive || want autoconf-archive
    need have_mod jansson libjansson-dev
    need have_mod hwloc libhwloc-dev
    need have_mod libpcre2-8 libpcre2-dev
    need have_mod cminpack libcminpack-dev
    need have_cmd gnuplot gnuplot-nox
    need have_cmd jq jq
    for extra in ${want_commands:-}; do
        case $extra in
            cmocka) need have_mod cmocka libcmocka-dev ;;
            rsvg-convert) need have_cmd rsvg-convert librsvg2-bin ;;
            *) need have_cmd "$extra" "$extra" ;;
        esac
    done
    # Optional: without them roofcast is built without that counter backend or HTTP server, or a test is skipped.
    optional=
    have_mod libmicrohttpd || optional="$optional libmicrohttpd-dev"
    have_mod papi || optional="$optional libpapi-dev"
    have_header likwid-marker.h || optional="$optional likwid"
    for extra in ${want_optional:-}; do
        have_cmd "${extra%%:*}" || optional="$optional ${extra#*:}"
    done
    for extra in ${want_python:-}; do # modules of the system's Python
        /usr/bin/python3 -c "import ${extra%%:*}" 2>/dev/null || optional="$optional ${extra#*:}"
    done
}

have_m4_archive() {
    have_cmd aclocal || return 1
    for d in "$(aclocal --print-ac-dir 2>/dev/null)" /usr/share/aclocal /usr/local/share/aclocal; do
        [ -f "$d/ax_check_compile_flag.m4" ] && return 0
    done
    return 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif have_cmd sudo; then sudo "$@"
    else die "these packages are missing and you are not root (and there is no sudo):$missing"
    fi
}

apt_install() { DEBIAN_FRONTEND=noninteractive as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends --no-remove "$@"; }

install_missing() {
    find_missing
    state=$top/build/.setup-optional
    # An optional package that could not be had is not tried again at every call.
    untried=
    for p in $optional; do
        grep -qx "$p" "$state" 2>/dev/null || untried="$untried $p"
    done
    optional=$untried
    [ -z "$missing$optional" ] && return 0
    if [ -z "$missing" ] && [ "$(id -u)" != 0 ] && ! have_cmd sudo; then
        say "Optional, and only root may install it:$optional"
        return 0
    fi
    if ! have_cmd apt-get; then
        [ -z "$missing" ] && return 0
        die "missing, and this is no Debian (no apt-get):$missing"
    fi
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    [ -n "$missing" ] && say "Missing here:$missing"
    [ -n "$optional" ] && say "Optional:$optional"
    as_root apt-get update -q >"$log" 2>&1 || { [ -z "$missing" ] || say "apt-get update failed; trying with the lists that are there"; }
    if [ -n "$missing" ]; then
        say "Installing:$missing"
        # shellcheck disable=SC2086
        apt_install $missing >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "apt-get could not install:$missing"; }
    fi
    for p in $optional; do
        if apt_install "$p" >"$log" 2>&1; then say "Installed: $p"
        else say "Not to be had here: $p (roofcast is built and tested without it)"
        fi
    done
    find_missing
    [ -z "$missing" ] || die "still missing after the installation:$missing"
    mkdir -p "$top/build"
    for p in $optional; do
        grep -qx "$p" "$state" 2>/dev/null || printf '%s\n' "$p" >>"$state"
    done
    return 0
}

# build_tree DIR [configure arguments]: configured again only when the arguments or configure changed. $build_targets: what is built, all by default.
build_tree() {
    dir=$1; shift
    if [ ! -x "$top/configure" ] || [ -n "$(find "$top/configure.ac" "$top/Makefile.am" "$top"/src/*/local.mk \
        "$top"/tests/local.mk "$top"/tests/*/local.mk -newer "$top/configure" 2>/dev/null | head -n 1)" ]; then
        say "Generating configure"
        (cd "$top" && autoreconf -fi) >"$top/build/autoreconf.log" 2>&1 || { cat "$top/build/autoreconf.log" >&2; die "autoreconf failed"; }
    fi
    mkdir -p "$dir"
    if [ ! -f "$dir/Makefile" ] || [ "$(cat "$dir/.arguments" 2>/dev/null)" != "$*" ] || [ "$top/configure" -nt "$dir/config.status" ]; then
        say "Configuring $(basename "$dir")${*:+ ($*)}"
        (cd "$dir" && "$top/configure" -q "$@") >"$dir/configure.out" 2>&1 || { tail -n 30 "$dir/configure.out" >&2; die "configure failed in $dir"; }
        printf '%s' "$*" >"$dir/.arguments"
    fi
    say "Building $(basename "$dir")"
    # shellcheck disable=SC2086
    make -s -C "$dir" -j"$(getconf _NPROCESSORS_ONLN)" ${build_targets:-all} >"$dir/build.log" 2>&1 || { tail -n 40 "$dir/build.log" >&2; die "the build failed in $dir"; }
}
