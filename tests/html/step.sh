#!/bin/sh
# "Step through one request" without a browser: the coefficients of the page give predict's figures; options of report --step; names are text.
. "${top_srcdir:?}/tests/cli/lib.sh"
page=$tmp/page.html
if [ -n "$ROOFCAST_SANITIZED" ]; then models=gpt-oss-20b machines=epyc-9654; else models=llama-3-8b,gpt-oss-20b machines=rtx-4090,h100-sxm,epyc-9654; fi
run report --step $models --hw $machines -o "$page"
ok $status "a page of $models on $machines"
[ "$(wc -c <"$page")" -lt 3000000 ]
ok $? "less than 3 MB"
measured=$top_srcdir/tests/report/curves.json
[ -n "$ROOFCAST_SANITIZED" ] || run report --step llama-3.2-1b --type Q4_0 --hw "$measured" -o "$tmp/cpu.html"
ok $status "a machine with measured kernels"

if ! command -v node >/dev/null; then
    skip "figures of the page" "node is not installed (apt-get install nodejs)"
elif [ -n "$ROOFCAST_SANITIZED" ]; then
    skip "figures of the page" "compared in the optimized build"
else
    export ROOFCAST
    node "$top_srcdir/tests/html/coefficients.mjs" "$top_srcdir/reports/html/step.js" 208 "$page" "$tmp/cpu.html=$measured" "$page" >"$tmp/out" 2>&1
    ok $? "predict's figures at 200 random settings, within 0.1 %: $(grep -o '[0-9]* settings.*' "$tmp/out")"
fi

# A model of a file: its name may be anything.
sed 's/"name": *"[^"]*"/"name": "<img src=x onerror=alert(1)>"/' "$top_srcdir/hwprofiles/epyc-9654.json" >"$tmp/named.json"
run report --step llama-3.2-1b --hw "$tmp/named.json" -o "$page" && ! grep -q '<img' "$page" && grep -q 'u003cimg' "$page"
ok $? "a machine's name is text"
run report --step no-such-model --hw rtx-4090 -o "$tmp/no.html"
[ $status -ne 0 ] && [ ! -e "$tmp/no.html" ] && grep -q "no-such-model" "$tmp/err"
ok $? "an unknown model: an error, and no file"
run report --step llama-3-8b --hw rtx-4090
[ $status -eq 2 ] && grep -q -- "--step needs -o FILE.html" "$tmp/err"
ok $? "--step without a page"
run report --step llama-3-8b --hw rtx-4090 --stack no-such -o "$page"
[ $status -eq 2 ] && grep -q "no-such" "$tmp/err"
ok $? "an unknown stack"
finish
