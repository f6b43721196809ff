#!/bin/sh
# `make install` puts every data file where the program looks for it: the tree's directories, as they are.
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
MAKEFLAGS= make -s install-data DESTDIR="$tmp/root" >"$tmp/log" 2>&1 || { sed 's/^/# /' "$tmp/log"; }
at=$(dirname "$(find "$tmp/root" -path '*/roofcast/models' -type d)")
(cd "${top_srcdir:?}" && find hwprofiles models events -name '*.json' -o -name '*.csv' -o -name '*.tsv' | sort) >"$tmp/tree"
(cd "$at" && find hwprofiles models events -type f | sort) >"$tmp/installed"
cmp -s "$tmp/tree" "$tmp/installed"
ok=$?
diff "$tmp/tree" "$tmp/installed" | sed -n 's/^[<>]/# tree <, installed >: &/p' | head -n 20
[ $ok -eq 0 ] && echo "ok 1 - data files are installed as they lie in the tree" || echo "not ok 1 - data files are installed as they lie in the tree"
echo "1..1"
exit $ok
