#!/bin/sh
# Clients that applications use, from npm, against roofcast serve --http: openai, ai with @ai-sdk/openai-compatible, @continuedev/openai-adapters.
# The packages (140 MB) are installed once into $ROOFCAST_NPM (default: npm-clients in the build tree; `make clean` removes it).
. "${top_srcdir:?}/tests/cli/lib.sh"
skip_all() { echo "1..0 # SKIP $1"; exit 0; }
{ command -v node && command -v npm; } >/dev/null || skip_all "node or npm is not installed (apt-get install nodejs npm: about 250 MB)"
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 18 ] || skip_all "the clients need node 18, this is $(node --version)"

# What is there is used if it is of this package.json; installed next to it, then moved, for two trees may share it.
clients=${ROOFCAST_NPM:-$PWD/npm-clients}
want=$top_srcdir/tests/server/npm/package.json
if ! cmp -s "$want" "$clients/package.json" || [ ! -d "$clients/node_modules" ]; then
    new=$clients.$$
    trap 'rm -rf "$tmp" "$new"' EXIT
    mkdir -p "$new" && cp "$want" "$new/package.json" || exit 99
    [ -z "$(find "$clients.none" -mmin -10 2>/dev/null)" ] || skip_all "npm could not install the clients minutes ago ($clients.none)"
    (cd "$new" && timeout 120 npm install --no-audit --no-fund --no-update-notifier --ignore-scripts --no-package-lock --fetch-retries=1 \
        --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 --loglevel=error) >"$tmp/npm.log" 2>&1 || {
        cp "$tmp/npm.log" "$clients.none"
        skip_all "npm cannot install the clients: $(grep -m 1 'npm error code\|ERR! code' "$tmp/npm.log" || echo "not done within 120 s")"
    }
    rm -rf "$clients" && mv "$new" "$clients" || exit 99
fi

m=$tmp/model.gguf
served_model "$m"
serves -m "$m" -t 1 --chat-template chatml --api-key secret --max-num-seqs 4 --max-num-queued-reqs 2
# Modules are looked up from the script's folder.
cp "$top_srcdir/tests/server/npm/clients.mjs" "$clients/clients.$$.mjs" || exit 99
trap 'rm -f "$clients/clients.$$.mjs"; [ -z "$pid" ] || kill -KILL $pid 2>/dev/null; rm -rf "$tmp"' EXIT
timeout 120 node "$clients/clients.$$.mjs" "$url" secret 2>"$tmp/err" | tee "$tmp/out"
n=$(grep -c '^ok\|^not ok' "$tmp/out")
grep -q '^not ok' "$tmp/out" && bad=1
grep -q '^# done' "$tmp/out"
ok $? "the script came to its end"
kill -TERM $pid
ended $pid
pid=
ok "$status" "SIGTERM: the server ends with status 0"
finish
