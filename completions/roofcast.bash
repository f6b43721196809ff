# bash completion of roofcast. The program has the candidates: `roofcast __complete WORD...` (src/cli/cli_complete.c).
_roofcast() {
    local lines
    # Status 0: the name of a file fits too. "compopt" fails where completion is not what runs this.
    lines=$("$1" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || compopt +o default 2>/dev/null
    COMPREPLY=()
    [ -z "$lines" ] || mapfile -t COMPREPLY < <(cut -f 1 <<<"$lines")
}
complete -o default -F _roofcast roofcast
