# Packages from npm, for tests. Sourced after tests/cli/lib.sh.
skip_all() { echo "1..0 # SKIP $1"; exit 0; }
# npm_install PACKAGE.json FOLDER WHAT: installs once into FOLDER, whose package.json it compares; the test is skipped where that cannot be. Installed
# next to it, then moved, for two trees may share it.
npm_install() {
    { command -v node && command -v npm; } >/dev/null || skip_all "node or npm is not installed (apt-get install nodejs npm: about 250 MB)"
    [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 18 ] || skip_all "$3 need node 18, this is $(node --version)"
    if cmp -s "$1" "$2/package.json" && [ -d "$2/node_modules" ]; then
        return
    fi
    new=$2.$$
    trap 'rm -rf "$tmp" "$new"' EXIT
    mkdir -p "$new" && cp "$1" "$new/package.json" || exit 99
    [ -z "$(find "$2.none" -mmin -10 2>/dev/null)" ] || skip_all "npm could not install $3 minutes ago ($2.none)"
    (cd "$new" && timeout 120 npm install --no-audit --no-fund --no-update-notifier --ignore-scripts --no-package-lock --fetch-retries=1 \
        --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 --loglevel=error) >"$tmp/npm.log" 2>&1 || {
        cp "$tmp/npm.log" "$2.none"
        skip_all "npm cannot install $3: $(grep -m 1 'npm error code\|ERR! code' "$tmp/npm.log" || echo "not done within 120 s")"
    }
    rm -rf "$2" && mv "$new" "$2" || exit 99
    trap 'rm -rf "$tmp"' EXIT
}
