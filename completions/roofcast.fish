# fish completion of roofcast. The program has the candidates: `roofcast __complete WORD...` (src/cli/cli_complete.c).
function __roofcast_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    $words[1] __complete $words[2..] "$current" 2>/dev/null
    and __fish_complete_path "$current" # status 0: the name of a file fits too
end
complete -c roofcast -f -a '(__roofcast_complete)'
