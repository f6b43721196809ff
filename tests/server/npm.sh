#!/bin/sh
# Clients that applications use, from npm, against roofcast serve --http: openai, ai with @ai-sdk/openai-compatible, @continuedev/openai-adapters.
# The packages (140 MB) are installed once into $ROOFCAST_NPM (default: npm-clients in the build tree; `make clean` removes it).
. "${top_srcdir:?}/tests/cli/lib.sh"
. "${top_srcdir:?}/tests/npm.sh"
clients=${ROOFCAST_NPM:-$PWD/npm-clients}
npm_install "$top_srcdir/tests/server/npm/package.json" "$clients" "the clients"

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
