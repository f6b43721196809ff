#!/bin/sh
# `make install` puts every data file where the program looks for it: the tree's directories, as they are; and what shells and man read.
. "${top_srcdir:?}/tests/cli/lib.sh"
MAKEFLAGS= make -s install-data DESTDIR="$tmp/root" >"$tmp/out" 2>"$tmp/err"
ok $? "make install-data"
models=$(find "$tmp/root" -path '*/roofcast/models' -type d)
[ -n "$models" ]
ok $? "there is a directory of models"
(cd "$top_srcdir" && find hwprofiles models events -name '*.json' -o -name '*.csv' -o -name '*.tsv') | sort >"$tmp/tree"
(cd "${models:-/nonexistent}/.." && find hwprofiles models events -type f) | sort >"$tmp/installed"
diff "$tmp/tree" "$tmp/installed" >"$tmp/out" 2>"$tmp/err" # "<": not installed there; ">": not in the tree
ok $? "data files are installed as they lie in the tree"
for file in bash-completion/completions/roofcast.bash zsh/site-functions/_roofcast fish/vendor_completions.d/roofcast.fish man/man1/roofcast.1; do
    find "$tmp/root" -path "*/share/$file" | grep -q .
    ok $? "$file is installed"
done
for file in formats.md methods.md guide.md serving.md accuracy.md; do
    find "$tmp/root" -path "*/doc/roofcast/$file" | grep -q .
    ok $? "$file is installed: messages name it"
done
run __complete ''
[ ! -d doc/man ] || is "$(wc -l <"$tmp/out")" "$(find "$tmp/root" -name 'roofcast-*.1' | wc -l)" "a manual page a command is installed"
finish
