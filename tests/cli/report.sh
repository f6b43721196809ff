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
has "^Decode reads 68.6 GB/s, 81 % of the 84.2 GB/s that this machine's memory gives: memory-bound, 839 tokens/s.$" &&
    has '^Prefill computes 1.25 TFLOP/s, 20 % of the 6.20 TFLOP/s that its arithmetic gives: compute-bound, 20047 tokens/s.$'
ok $? "the verdict in words"
has '^a batch of 8 sequences in place of 1: [0-9.]* times the tokens/s ([0-9.]* to [0-9.]*), [0-9]* tokens/s' && has 'twice the memory bandwidth gives [0-9.]* times'
ok $? "changes with gain and interval, and what would double the speed"
has 'run.json: energy: not measured' && has 'run.json: memory traffic by hardware counters: not counted during prefill' && has 'no event was calibrated'
ok $? "what was not measured"
# The ratio is predict's --what-if on the same machine.
run predict smollm2-360m -q Q8_0 --hw "$fixtures/curves.json" -t 8 -p 0 -n 128 --what-if type=Q4_K_M -o json
ratio=$(sed -n 's/.*"speedup": \([0-9.]*\).*/\1/p' "$tmp/out" | tail -n 1)
run report "$fixtures/run.json" --hw "$fixtures/curves.json" -o "$page"
shown=$(sed -n 's/.*>weights in Q4_K_M in place of Q8_0<.th><td class="n" data-v="\([0-9.]*\)".*/\1/p' "$page")
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
has 'p.json: Decode of llama-3.1-8b, Q4_K_M, on rtx-4090 is predicted at 158 tokens/s (90 % interval 140 to 172 tokens/s): memory-bound' &&
    has 'llama-bench.json: Decode reads' && has 'Files side by side' && has 'p.json: everything: a prediction: nothing in this file was measured' && has 'Step through one request'
ok $? "a prediction beside llama-bench's results"
run simulate llama-3.1-8b -q FP8 --hw l40s --rate 4 --requests 60 --save "$tmp/sim.json"
run report "$tmp/sim.json" -o "$page"
text "$page" >"$tmp/out"
has '^Simulated. ' && has 'a simulation: nothing in this file was measured' && has 'Figures of sim.json'
ok $? "a simulation"
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
    ok $? "its charts are beside it, with their data"
else
    skip "its charts are beside it" "no gnuplot"
fi

# ---- names are text
name='"><img src=x onerror=alert(1)><script>alert(2)</script>[a](javascript:alert(3))@user #1 |'
cp "$fixtures/run.json" "$tmp/$(printf '%s' "$name" | tr / _)"
jsonname=$(printf '%s' "$name" | sed 's/"/\\\\"/g; s/[&|]/\\&/g')
sed "s|\"smollm2-360m\"|\"$jsonname\"|; s|\"Test CPU, 8 cores\"|\"$jsonname\"|; s|\"not counted during prefill\"|\"</script><svg onload=x>$jsonname\"|" "$fixtures/run.json" >"$tmp/named.json"
run report "$tmp/named.json" "$tmp/$(printf '%s' "$name" | tr / _)" -o "$page"
[ $status -eq 0 ] && ! grep -q '<img\|<script>alert\|onload=x>\|<svg onload' "$page" && grep -q '&lt;img src=x onerror=alert(1)&gt;' "$page" && [ "$(grep -c '<script' "$page")" -le 3 ]
ok $? "names of files, models, machines and reasons are text in HTML"
run report "$tmp/named.json" -o "$tmp/named.md"
! grep -q '<img\|[^\\]](javascript\|[^&]@user\|<script' "$tmp/named.md"
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
[ $status -eq 0 ] && grep -q 'no picture: gnuplot was not found' "$page" && grep -q 'Decode reads' "$page"
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
