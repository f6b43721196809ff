#!/bin/sh
# HTML pages in a real browser: step.mjs and page.mjs, by Playwright in headless Chromium. RECORD=1: writes the stored layouts anew (boxes.json).
# playwright-core and axe-core (15 MB) are installed once, next to $ROOFCAST_NPM; chromium is Debian's package, which ./check does not ask for (300 MB).
. "${top_srcdir:?}/tests/cli/lib.sh"
. "$top_srcdir/tests/npm.sh"
CHROMIUM=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip_all "no Chromium (apt-get install chromium: about 300 MB)"
[ -z "$ROOFCAST_SANITIZED" ] || skip_all "pages are the same in the optimized build"
HTML_CLIENTS=${ROOFCAST_NPM:-$PWD/npm-clients}-html; export CHROMIUM HTML_CLIENTS
npm_install "$top_srcdir/tests/html/npm/package.json" "$HTML_CLIENTS" "playwright-core and axe-core"
timeout 60 "$CHROMIUM" --headless=new --no-sandbox --disable-gpu --dump-dom about:blank >"$tmp/out" 2>"$tmp/err" || skip_all "$CHROMIUM does not start: $(tail -n 1 "$tmp/err")"

# figure SLIDERS PHASE ARGS...: what predict says of a setting, one JSON object a line.
figure() {
    sliders=$1 phase=$2
    shift 2
    "$ROOFCAST" predict llama-3-8b --hw rtx-4090 "$@" -o json 2>/dev/null >"$tmp/predicted.json" || exit 99
    node -e '
        const rows = JSON.parse(require("fs").readFileSync(process.argv[1])), row = (rows.rows || rows).filter(r => r.phase === process.argv[3]).pop();
        console.log(JSON.stringify({ sliders: JSON.parse(process.argv[2]), phase: row.phase, seconds: row.seconds, tok_s: row.tok_s }));' "$tmp/predicted.json" "$sliders" "$phase"
}
{
    figure '{"step-prompt":"512","step-type":"F16"}' prefill -q F16 -p 512 -n 0
    figure '{"step-prompt":"1,024","step-batch":"8","step-type":"Q4_K_M"}' decode -q Q4_K_M -p 0 -n 1 -d 1024 -b 8
    figure '{"step-prompt":"64","step-batch":"1 ","step-cache":"Q8_0","step-bandwidth":"× 2"}' decode -q Q4_K_M -p 0 -n 1 -d 64 --kv-type Q8_0 --what-if bandwidth=x2
    figure '{"step-prompt":"256","step-batch":"4","step-cache":"F16","step-bandwidth":"× 1:"}' prefill -q Q4_K_M -p 256 -n 0 -b 4
} | paste -sd, | sed 's/.*/[&]/' >"$tmp/figures.json"
run report --step llama-3-8b,qwen3-30b-a3b --hw rtx-4090,h100-sxm -o "$tmp/step.html"
ok $status "a page of two models and two machines"
boxes=$top_srcdir/tests/html/boxes.json
# Each script ends with its plan: its lines become lines of this test.
script() { # NAME ARGS...
    script=$1
    shift
    timeout 240 node "$top_srcdir/tests/html/$script" "$@" >"$tmp/lines" 2>&1
    grep -q '^1\.\.' "$tmp/lines" || { cp "$tmp/lines" "$tmp/out"; ok 1 "$script came to its end"; }
    while IFS= read -r line; do
        case $line in
        "ok "*) n=$((n + 1)) && echo "ok $n - $script: ${line#*- }" ;;
        "not ok "*) n=$((n + 1)) bad=1 && echo "not ok $n - $script: ${line#*- }" ;;
        "#"*) echo "$line" ;;
        esac
    done <"$tmp/lines"
}
script step.mjs "$tmp/step.html" "$tmp/figures.json" "$boxes"
# The script of the report's page makes its own.
[ ! -f "$top_srcdir/tests/html/page.mjs" ] || script page.mjs "$tmp" "$boxes"
finish
