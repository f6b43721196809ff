#!/bin/sh
# Completion of command lines: the program's candidates, and what bash, zsh and fish make of them.
. "${top_srcdir:?}/tests/cli/lib.sh"
PATH=$(dirname "$ROOFCAST"):$PATH
words() { # ARGS...: the candidates, in one line
    run __complete "$@"
    cut -f 1 "$tmp/out" | paste -s -d' ' -
}
is "predict" "$(words pred)" "a command"
is 25 "$(words '' | wc -w)" "every command"
is "$(run --help && sed -n 's/^  \([a-z]*\)  *\([a-zA-Z].*\)/\1	\2/p' "$tmp/out" | grep -v '^roofcast')" "$(run __complete ''; cat "$tmp/out")" "with the text of --help"
is "--what-if" "$(words predict --what)" "an option"
is "--cache-type-k --cache-type-v" "$(words run --cache)" "the other name of an option"
is "--wide" "$(words list --wid)" "an option of every command"
for command in $(words ''); do
    run "$command" --help && grep -o '^ *\(-., \)\?--[a-z0-9-]*' "$tmp/out" | sed 's/.*--/--/' | sort -u >"$tmp/help"
    run __complete "$command" --
    cut -f 1 "$tmp/out" | sort -u >"$tmp/words"
    comm -23 "$tmp/help" "$tmp/words" >"$tmp/out"
    [ -s "$tmp/help" ] && [ ! -s "$tmp/out" ]
    ok $? "$command: every option that --help has"
done
is "h100-nvl h100-pcie h100-sxm" "$(words predict m --hw h100)" "a machine"
is "h200-sxm,h100-nvl h200-sxm,h100-pcie h200-sxm,h100-sxm" "$(words predict m --hw h200-sxm,h100)" "one more of a list"
is "--hw=h20 --hw=h200-nvl --hw=h200-sxm" "$(words predict --hw=h20)" "behind ="
is "h20 h200-nvl h200-sxm" "$(words predict --hw = h20)" "behind =, as bash takes it apart"
is "llama-3.1-405b llama-3.1-70b llama-3.1-8b" "$(words predict llama-3.1)" "a model"
is "llama-3.1-405b llama-3.1-70b llama-3.1-8b" "$(words predict -m llama-3.1)" "by the short option"
is "Q4_K Q4_K_S Q4_K_M" "$(words predict m -q q4_k)" "a type, a mixture"
is "latencies latency layers loaded-latency" "$(words plot --chart l | tr ' ' '\n' | LC_ALL=C sort | paste -s -d' ' -)" "a kind of chart"
is "Q8_0 Q8_1 Q8_K" "$(words run --cache-type-k q8)" "behind the other name of an option"
is "table csv json jsonl md sql" "$(words predict m -o '')" "a format"
is "csv jsonl" "$(words sweep -o '')" "of those that there are"
is "distribute isolate" "$(words bench --numa '')" "a choice"
is "stacks" "$(words list sta)" "a list"
case " $(words predict m --stack '') " in *" vllm "*) true ;; *) false ;; esac
ok $? "a stack"
case " $(words bench --isa '') " in *" avx2 "*) true ;; *) false ;; esac
ok $? "an instruction set"
# Whether files fit: status 0
files() { run __complete "$@"; echo "$status"; }
is 0000 "$(files bench -m '')$(files predict '')$(files predict --anchor '')$(files report '')" "where a file is asked for"
is 1111 "$(files predict -p '')$(files predict m -o '')$(files pre)$(files predict --)" "and where none is"

if command -v bash >/dev/null 2>&1; then
    bash -n "$top_srcdir/completions/roofcast.bash" 2>"$tmp/err"
    ok $? "bash reads its script"
    in_bash() { bash --norc -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _roofcast roofcast; echo "${COMPREPLY[*]}"' "$top_srcdir/completions/roofcast.bash" "$@" 2>"$tmp/err"; }
    is "predict" "$(in_bash roofcast pred)" "bash: a command"
    is "h100-nvl h100-pcie h100-sxm" "$(in_bash roofcast predict m --hw = h100)" "bash: a machine"
    is "--weights-gb --weights-only" "$(in_bash roofcast predict --weig)" "bash: options"
    is "" "$(in_bash roofcast bench -m '')" "bash: files are left to bash"
fi
if command -v zsh >/dev/null 2>&1; then
    zsh -n "$top_srcdir/completions/_roofcast" 2>"$tmp/err"
    ok $? "zsh reads its script"
    in_zsh() { zsh -fc 'compdef() { :; }; _describe() { print -l -- ${(P)${@[-1]}}; }; _files() { print files; }; . $0; words=("$@"); CURRENT=$#; _roofcast' "$top_srcdir/completions/_roofcast" "$@" 2>"$tmp/err" | paste -s -d' ' -; }
    is "--hw=h100-nvl --hw=h100-pcie --hw=h100-sxm files" "$(in_zsh roofcast predict --hw=h100)" "zsh: a machine"
    is "stacks" "$(in_zsh roofcast list sta)" "zsh: a word without a text"
    is "tokenize:convert text to token ids and back" "$(in_zsh roofcast tok)" "zsh: with its text"
else
    skip "completion in zsh" "zsh is not here"
fi
if command -v fish >/dev/null 2>&1; then
    in_fish() { HOME=$tmp fish -N -c 'source $argv[1]; complete -C $argv[2]' "$top_srcdir/completions/roofcast.fish" "$1" 2>"$tmp/err" | cut -f 1 | sort | paste -s -d' ' -; }
    is "h100-nvl h100-pcie h100-sxm" "$(in_fish 'roofcast predict m --hw h100')" "fish: a machine"
    is "--weights-gb --weights-only" "$(in_fish 'roofcast predict --weig')" "fish: options"
    is "$top_srcdir/completions/roofcast.fish" "$(in_fish "roofcast bench -m $top_srcdir/completions/roofcast.f")" "fish: files"
else
    skip "completion in fish" "fish is not here"
fi
finish
