# Sourced by sysroot.sh and kernel.sh: Debian's arm64 packages from the package sources that apt has here, by an apt with a
# state of its own: nothing is installed, and the system's apt and dpkg keep their architecture. Sets work, a folder that goes
# when the script ends, with apt.conf, tree/ and archives/; $cache is where results stay.
skip() { printf '%s\n' "$what: $*" >&2; exit 77; }
say() { printf '%s\n' "$*" >&2; }

cache=${XDG_CACHE_HOME:-${HOME:?}/.cache}/roofcast

reason() { grep '^[EW]:' "$log" | head -n 1; }

begin_apt() {
    for tool in apt-get apt-cache dpkg-deb; do
        command -v "$tool" >/dev/null 2>&1 || skip "no $tool here; it is made from Debian packages"
    done
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/arm64.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM

    # apt with a state of its own: an empty arm64 system beside the sources, keys and proxies of this one.
    mkdir -p "$work/lists/partial" "$work/archives/partial" "$work/tree"
    : >"$work/status"
    cat >"$work/apt.conf" <<CONF
#clear APT::Architectures;
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Install-Pkgs;
#clear DPkg::Post-Invoke;
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "2";
Dir::State "$work";
Dir::State::Lists "$work/lists";
Dir::State::status "$work/status";
Dir::State::extended_states "$work/extended_states";
Dir::Cache "$work";
Dir::Cache::archives "$work/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Log "$work";
CONF
    log=$work/log
    say "$what: reading the package lists"
    apt-get -c "$work/apt.conf" -q update >"$log" 2>&1 || skip "apt-get update failed: $(reason)"
}
