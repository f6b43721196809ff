#!/bin/sh
# doc/methods.md: numbers ascend without gaps, every formula has a source, at most 60 KiB. What the tree cites exists: numbers in
# doc/methods.md, files in doc/notes. METHODS_TREE: another tree than this one.
cd "${METHODS_TREE:-${top_srcdir:-.}}" || exit 99
most=61440
tab=$(printf '\t')

bytes=$(wc -c < doc/methods.md | tr -d ' ')
echo "1..5"
bad=0
say() { # number, text, ok
    if [ "$3" = 0 ]; then echo "ok $1 - $2"; else echo "not ok $1 - $2"; bad=1; fi
}

awk '/^\*\*\([0-9]+\)/ { split($0, p, /[()]/); n++; if (p[2] != n) { print "# line " NR ": (" p[2] ") stands where (" n ") is due"; bad = 1; n = p[2] } }
     END { if (n < 1) { print "# no formula"; bad = 1 } exit bad }' doc/methods.md
say 1 "numbers of doc/methods.md ascend without gaps" $?

awk 'function close_item() { if (item != "" && !source) { print "# " item " has no source"; bad = 1 } item = ""; source = 0 }
     /^\*\*\([0-9]+\)/ { close_item(); item = substr($0, 3, index($0, ")") - 2) }
     /^## / { close_item() }
     /^Source: [^ ]/ { source = 1 }
     END { close_item(); exit bad }' doc/methods.md
say 2 "every formula of doc/methods.md has a source" $?

[ "$bytes" -le "$most" ] || echo "# $bytes bytes"
[ "$bytes" -le "$most" ]
say 3 "doc/methods.md has at most $most bytes" $?

# Text files of the tree: path, a tab, all lines as one without the leading " * " or "# " of comments.
cited() {
    find src include tests doc hwprofiles models README.md examples -type f 2>/dev/null |
        grep -E '\.(c|h|S|sh|md|json|tsv|csv|am|mk|txt|patch|py)$' | grep -vE '^tests/(fuzz/corpus|golden)/|^tests/lint/methods\.sh$' |
        xargs awk '
            FNR == 1 { if (name != "") print name "\t" text; name = FILENAME; text = "" }
            FNR == 1 || /[Mm]ethods\.md/ || near > 0 || /doc\/notes/ {
                line = $0; sub(/^[ \t]*(\*|#|\/\/)[ \t]+/, "", line); gsub(/\t/, " ", line); text = text " " line
                near = /[Mm]ethods\.md/ ? 2 : near - 1
            }
            END { print name "\t" text }'
}

last=$(awk '/^\*\*\([0-9]+\)/ { split($0, p, /[()]/); n = p[2] } END { print n + 0 }' doc/methods.md)
{
    cited
    grep -rnE '(/\*|^ \*|^//).*[^A-Za-z0-9_)]\([0-9]{3}\)' src include tests --include='*.[chS]' 2>/dev/null |
        sed -n "s/^\([^:]*:[0-9]*\):.*[^A-Za-z0-9_)](\([0-9]\{3\}\)).*/comment$tab\2$tab\1/p"
} | awk -F "$tab" -v last="$last" '
    function check(name, t,   n) {
        while (match(t, /^[ `]*\([0-9]+\)/)) { # a list: (4), (10)-(12) and (13)
            n = substr(t, RSTART, RLENGTH); gsub(/[^0-9]/, "", n); n += 0; found++
            if (n < 1 || n > last) { print "# " name ": (" n ")"; bad = 1 }
            t = substr(t, RSTART + RLENGTH); sub(/^(,| and|-| to)/, "", t)
        }
    }
    $1 == "comment" { n = $2 + 0; if (n > last) { print "# " $3 ": (" n ")"; bad = 1 } next } # alone in a comment: "(13)" is enough there
    { t = $2; while (match(t, /[Mm]ethods\.md/)) { t = substr(t, RSTART + RLENGTH); check($1, t) } }
    END { if (!found) { print "# nothing is cited"; bad = 1 } exit bad }'
say 4 "numbers that the tree cites are in doc/methods.md" $?

# In doc/methods.md and the notes every number in parentheses, but years, is a formula.
{
    for f in doc/methods.md doc/notes/*.md; do
        [ -f "$f" ] || continue
        awk -v f="$f" '{ t = $0; gsub(/`[^`]*`/, "", t); while (match(t, /(^|[^A-Za-z0-9_)])\([0-9][0-9]?[0-9]?\)/)) { print f "\t" substr(t, RSTART, RLENGTH); t = substr(t, RSTART + RLENGTH) } }' "$f"
    done
    cited | awk -F "$tab" '{ t = $2; while (match(t, /doc\/notes\/[A-Za-z0-9_.-]*\.md/)) { print $1 "\t" substr(t, RSTART, RLENGTH); t = substr(t, RSTART + RLENGTH) } }'
} | awk -F "$tab" -v last="$last" '
    $2 ~ /^doc/ { if (!($2 in there)) there[$2] = (getline x < $2) > 0; if (!there[$2]) { print "# " $1 ": " $2; bad = 1 } next }
    { n = $2; gsub(/[^0-9]/, "", n); n += 0; if (n < 1 || n > last) { print "# " $1 ": (" n ")"; bad = 1 } }
    END { exit bad }'
say 5 "numbers that doc/methods.md and doc/notes cite, and notes that the tree cites, exist" $?
exit $bad
