#!/bin/sh
# roofcast report FILE... -o PAGE: one page of any results, as HTML and as Markdown. What a browser makes of it: tests/html/page.mjs.
. "${top_srcdir:?}/tests/cli/lib.sh"
fixtures=$top_srcdir/tests/report f=$top_srcdir/tests/fixtures/measure
page=$tmp/page.html
gnuplot=1
command -v gnuplot >/dev/null || gnuplot=
PATH_WITHOUT=$tmp/empty
mkdir -p "$PATH_WITHOUT"

# ---- a run
run report "$fixtures/run.json" -o "$page"
[ $status -eq 0 ] && has 'page.html$' && [ "$(wc -c <"$page")" -lt 3000000 ] && ! grep -q '{{' "$page"
ok $? "a run as a page of less than 3 MB"
text() { # the page's words, a line a block
    sed -n '/<main>/,/<\/main>/p' "$1" | sed 's/<script[^>]*>.*<\/script>//; s/<[^>]*>//g; s/&#39;/'"'"'/g; s/&lt;/</g; s/&gt;/>/g; s/&quot;/"/g; s/&amp;/\&/g'
}
text "$page" >"$tmp/out"
has "^Decode reads 68.6 GB/s, 81 % of the 84.2 GB/s measured memory bandwidth: memory-bound, 839 tokens/s.$" &&
    has '^Prefill reaches 1.25 TFLOP/s, 20 % of the 6.20 TFLOP/s measured INT8 peak: 20047 tokens/s. That is far below its nearest roof, compute: another limit holds.$'
ok $? "the verdict in words"
has '^Biggest loss of decode: lm_head runs 126 us slower than its roofline limit, 11 %' && has '^Biggest loss of prefill: attn_core runs 7.32 ms slower' &&
    has '^Above the roof: in decode (tg128) the hardware counters of memory read 89.8 GB/s, 107 % of the measured 84.2 GB/s: '
ok $? "where time is lost, and counters above the roof"
has '^Warning: the model that run.json measured is not smollm2-360m as roofcast has it: 3 layers instead of 32, 81.5 MB of weights a decode step instead of 385 MB' &&
    has '^For decode (tg128) .*; predictions of the model smollm2-360m with 32 layers, not of the measured file (3 layers instead of 32' && ! has '^a batch of 8.*, [0-9]* tokens/s\.'
ok $? "a file of another model with that name: predictions are marked and no rate is derived"
has '^Percentages of measured tests are of probes adjacent to them: 84.2 GB/s and 6.20 TFLOP/s'
ok $? "which roof is used where"
has '^a batch of 8 sequences instead of 1: [0-9.]* times the tokens/s (90 % interval [0-9.]* to [0-9.]*)' && has 'twice the memory bandwidth gives [0-9.]* times'
ok $? "changes with gain and interval, and what would double the speed"
[ "$(grep -n ' times the tokens/s (.*1\.[0-9]* to' "$tmp/out" | tail -n 1 | cut -d: -f1)" -lt "$(grep -n ' times the tokens/s (.*0\.[0-9]* to.*Not certain: the interval includes a loss' "$tmp/out" | head -n 1 | cut -d: -f1)" ]
ok $? "a change that may be a loss comes after the certain ones, and is called so"
has 'run.json: energy: not measured' && has 'run.json: memory traffic by hardware counters: not counted during prefill' && has 'no event was calibrated'
ok $? "what was not measured"
sed 's/"tok_s_sd": [0-9.]*/"tok_s_sd": 400/; s/"mbu": 0.8143/"mbu": 0.21/' "$fixtures/run.json" >"$tmp/far.json"
run report "$tmp/far.json" -o "$page" && text "$page" >"$tmp/out"
has '^Decode reads .* 21 % of .*: 839 tokens/s. That is far below its nearest roof, memory: another limit holds' && ! has 'Decode.*memory-bound, 839'
ok $? "a decode far from its roof is not called memory-bound"
# The ratio is predict's --what-if on the same machine.
run predict smollm2-360m -q Q8_0 --hw "$fixtures/curves.json" -t 8 -p 0 -n 128 --what-if type=Q4_K_M -o json
ratio=$(sed -n 's/.*"speedup": \([0-9.]*\).*/\1/p' "$tmp/out" | tail -n 1)
run report "$fixtures/run.json" --hw "$fixtures/curves.json" -o "$page"
shown=$(sed -n 's/.*>weights in Q4_K_M instead of Q8_0<.th><td class="n" data-v="\([0-9.]*\)".*/\1/p' "$page")
holds "${shown:-0} - ${ratio:-9} < 1e-6 && ${ratio:-9} - ${shown:-0} < 1e-6" "the ratio of a change is predict's: $(printf '%.3f' "$shown")"

# ---- structure, as stored: elements, ids and what they are labelled by, without texts, pictures and numbers
outline() {
    sed -n '/<body>/,/<\/main>/p' "$1" | grep -o '<\(section\|h1\|h2\|nav\|main\|header\|table\|caption\|figure\|figcaption\|svg\|details\|th scope="col"\)[^>]*>' |
        sed 's/ title="[^"]*"//; s/<svg.*role="img"/<svg role="img"/; s/ viewBox.*>/>/'
}
if [ -n "$gnuplot" ]; then
    outline "$page" >"$tmp/outline"
    [ "${1-}" != --record ] || cp "$tmp/outline" "$top_srcdir/tests/cli/report.outline"
    diff "$top_srcdir/tests/cli/report.outline" "$tmp/outline" >"$tmp/out"
    ok $? "sections, tables and charts of a run"
else
    skip "sections, tables and charts of a run" "no gnuplot"
fi
policy=$(sed -n 's/.*Content-Security-Policy" content="\([^"]*\)".*/\1/p' "$page")
case $policy in *unsafe* | '') false ;; *"default-src 'none'"*sha256-*) true ;; *) false ;; esac
ok $? "the content security policy allows nothing but hashes: $policy"
! grep -Eqi '(src|href|action|srcset)="?(https?:|//|file:|data:)|@import|url\([^#]' "$page"
ok $? "nothing is loaded from elsewhere"
[ -z "$(grep -o ' id="[^"]*"' "$page" | sort | uniq -d)" ]
ok $? "every id stands once"
if command -v openssl >/dev/null; then
    sed -n '/^<style>/,/<\/style>/p' "$page" | sed '1s/^<style>//' | awk '/<\/style>/ { sub(/<\/style>.*/, ""); printf "%s", $0; exit } { print }' | openssl dgst -sha256 -binary | openssl base64 >"$tmp/hash"
    case $policy in *"sha256-$(cat "$tmp/hash")"*) true ;; *) false ;; esac
    ok $? "the hash is that of the style, by openssl"
else
    skip "the hash is that of the style" "no openssl"
fi

# ---- other files, several side by side
run predict llama-3.1-8b -q Q4_K_M --hw rtx-4090 -o json
cp "$tmp/out" "$tmp/p.json"
run report "$tmp/p.json" "$f/llama-bench.json" --hw rtx-4090 -o "$page"
text "$page" >"$tmp/out"
has 'p.json: Decode of llama-3.1-8b, Q4_K_M, on rtx-4090 is predicted at [0-9]* tokens/s (90 % interval [0-9]* to [0-9]* tokens/s): memory-bound' &&
    has 'llama-bench.json: Decode reads' && has 'Files side by side' && has 'p.json: everything: a prediction: nothing in this file was measured' && has 'Step through one request'
ok $? "a prediction next to llama-bench's results"
run predict llama-3.1-8b -q Q4_K_M --hw rtx-4090 -p 0 -n 1 -d "$(seq -s , 1 60)" -o json
sed 's/"reason": null, *//; s/"test": "\(tg1@d[^"]*\)",/&\n"reason": "none of \1",/' "$tmp/out" >"$tmp/many.json"
run report "$tmp/many.json" -o "$page" && text "$page" >"$tmp/out" && has '^many.json: tg1@d59: none of tg1@d59' && ! has '^many.json: tg1@d60: ' && has '^many.json: more than these 60: '
ok $? "a long list of what was not measured says that it is cut"
run simulate llama-3.1-8b -q FP8 --hw l40s --rate 4 --requests 60 --save "$tmp/sim.json"
run report "$tmp/sim.json" -o "$page"
text "$page" >"$tmp/out"
has '^Simulated: llama-3.1-8b on l40s generates [0-9.]* tokens/s, median TTFT [0-9.]* m*s (p99 [0-9.]* m*s), median ITL .*ms). ' && has 'goodput: no SLO was given' && grep -q '<title>llama-3.1-8b on l40s, simulated' "$page" && has 'a simulation: nothing in this file was measured' && has 'Figures of sim.json'
ok $? "a simulation"
has 'run .roofcast capacity llama-3.1-8b --hw l40s --workload random:in=1024,out=128 --slo ' && ! has ttft_mean &&
    grep -q '<tr><th scope="row">TTFT</th><td class="n" data-v="[0-9.]*">[0-9.]* ms</td>' "$page" && grep -q '<th scope="row">tokens out</th><td>[0-9]* tokens/s</td>' "$page"
ok $? "its next step, its figures with names and units"
run simulate llama-3.1-8b -q FP8 --hw l40s --rate 4 --requests 40 --compare-policies -o json
cp "$tmp/out" "$tmp/policies.json"
run report "$tmp/policies.json" -o "$page"
text "$page" >"$tmp/out"
has '^Simulated: of [0-9]* policies' && has 'a simulation: nothing in this file was measured'
ok $? "policies: the one that generates most"
run report "$f/vllm-serve.json" --hw h100-sxm --model llama-3.1-8b -o "$page" && text "$page" >"$tmp/out" && has '^Decode reads '
ok $? "a server's TPOT is a step of decode"
run list hw -o json
cp "$tmp/out" "$tmp/hw.json"
run report "$tmp/hw.json" -o "$page" && text "$page" >"$tmp/out" && has 'rtx-4090' && has 'of hw.json'
ok $? "any other table"

# ---- Markdown
(cd "$tmp" && mkdir -p md && cd md && "$ROOFCAST" report "$fixtures/run.json" -o r.md >"$tmp/out" 2>"$tmp/err")
grep -q '^\*\*Decode reads 68.6 GB/s, 81 %' "$tmp/md/r.md" && grep -q '^| test | role | ' "$tmp/md/r.md" && ! grep -q '<' "$tmp/md/r.md"
ok $? "Markdown, without HTML"
if [ -n "$gnuplot" ]; then
    for svg in $(sed -n 's/^!\[.*](\(.*\))$/\1/p' "$tmp/md/r.md"); do
        [ -s "$tmp/md/$svg" ] && [ -s "$tmp/md/${svg%.svg}.gp" ] || echo "$svg is missing" >>"$tmp/err"
    done
    [ ! -s "$tmp/err" ] && grep -q '](r-roofline-1.svg)' "$tmp/md/r.md"
    ok $? "its charts are next to it, with their data"
else
    skip "its charts are next to it" "no gnuplot"
fi

# ---- names are text
name='"><img src=x onerror=alert(1)><script>alert(2)</script>[a](javascript:alert(3))@user #1 |'
cp "$fixtures/run.json" "$tmp/$(printf '%s' "$name" | tr / _)"
jsonname=$(printf '%s' "$name" | sed 's/"/\\\\"/g; s/[&|]/\\&/g')
sed "s|\"smollm2-360m\"|\"$jsonname\"|; s|\"Test CPU, 8 cores\"|\"$jsonname\"|; s|\"not counted during prefill\"|\"</script><svg onload=x>$jsonname\"|" "$fixtures/run.json" >"$tmp/named.json"
run report "$tmp/named.json" "$tmp/$(printf '%s' "$name" | tr / _)" -o "$page"
[ $status -eq 0 ] && ! grep -q '<img\|<script>alert\|onload=x>\|<svg onload' "$page" && grep -q '&lt;img src=x onerror=alert(1)&gt;' "$page" && [ "$(grep -c '<script' "$page")" -le 3 ]
ok $? "names of files, models, machines and reasons are text in HTML"
if [ -n "$gnuplot" ]; then
    for name in "it's" "'x" "a''b" "x' 0); system('touch $tmp/broken'); set ytics ('"; do
        sed "s|\"lm_head\"|\"$(printf '%.19s' "$name")\"|; s|\"smollm2-360m\"|\"$name\"|" "$fixtures/run.json" >"$tmp/quoted.json"
        run report "$tmp/quoted.json" -o "$page" && ! grep -q 'gnuplot failed' "$page" || echo "$name" >>"$tmp/wrong"
    done
    [ ! -e "$tmp/wrong" ] && [ ! -e "$tmp/broken" ]
    ok $? "quotes in names do not end a string of gnuplot"
else
    skip "quotes in names do not end a string of gnuplot" "no gnuplot"
fi
run report "$tmp/named.json" -o "$tmp/named.md"
[ $status -eq 0 ] && [ -s "$tmp/named.md" ] && ! grep -q '<img\|[^\\]](javascript\|[^&]@user\|<script' "$tmp/named.md"
ok $? "and in Markdown"
echo '{"schema":"roofcast.odd","version":1,"rows":[{"\u001b[31mx":"\u001b]0;y\u0007","a":"\u202e\u0001\u2066b"}]}' >"$tmp/odd.json"
run report "$tmp/odd.json" -o "$page"
[ $status -eq 0 ] && grep -q '?\[31mx' "$page" && ! LC_ALL=C grep -q "$(printf '\033\|\001\|\002\|\342\200\256\|\342\201\246')" "$page"
ok $? "control characters, also those that reorder text, are not in it"

# ---- without gnuplot, damaged files, places
run_with() { # PATH ARGS...
    with=$1
    shift
    PATH=$with "$ROOFCAST" "$@" >"$tmp/out" 2>"$tmp/err"
    status=$?
    return $status
}
run_with "$PATH_WITHOUT" report "$fixtures/run.json" -o "$page"
[ $status -eq 0 ] && grep -q 'no picture: gnuplot was not found.*write the page again' "$page" && ! grep -q 'roofcast-report-' "$page" && grep -q 'Decode reads' "$page"
ok $? "without gnuplot the page says that it has no pictures"
refused 2 'expected table, csv, json, jsonl, md or sql, or the name of a page' report "$f/llama-bench.json" -o report.pdf
refused 2 'several files' report "$fixtures/run.json" "$tmp/p.json"
refused 2 '--chart: the page' report "$fixtures/run.json" -o "$page" --chart x
refused 1 "a machine's profile" report "$fixtures/cpu.json" -o "$tmp/none.html"
head -c 3000 "$fixtures/run.json" >"$tmp/cut.json"
run report "$tmp/cut.json" -o "$tmp/none.html"
[ $status -eq 1 ] && [ ! -e "$tmp/none.html" ] && says 'cut.json'
ok $? "a damaged file: an error that names it, and no page"
sed 's/"mbu": 0.8143/"mbu": "high"/' "$fixtures/run.json" >"$tmp/bad.json"
refused 1 'rows[1]: field "mbu"' report "$tmp/bad.json" -o "$tmp/none.html"
refused 1 'none/x.html' report "$fixtures/run.json" -o "$tmp/none/x.html"
run report "$fixtures/run.json" -o "$page" --hw no-such-machine-9
[ $status -eq 0 ] && text "$page" >"$tmp/out" && has '^Unavailable: .*no-such-machine-9'
ok $? "an unknown machine: the page says why it has no changes"

# ---- a browser
mkdir -p "$tmp/bin"
printf '#!/bin/sh\nprintf "%%s\\n" "$1" >"%s/opened"\n' "$tmp" >"$tmp/bin/xdg-open"
chmod +x "$tmp/bin/xdg-open"
run_with "$tmp/bin:$PATH" report "$tmp/odd.json" -o "$page" --open && until_ [ -s "$tmp/opened" ] && grep -q '^/.*page.html$' "$tmp/opened"
ok $? "--open starts a browser with the page's path"
run_with "$PATH_WITHOUT" report "$tmp/odd.json" -o "$page" --open && says 'no browser'
ok $? "and says so where there is none"
finish
