#!/bin/sh
# Run a cmocka program: it prints a skipped test as "not ok N # SKIP", TAP's word for that is "ok N # SKIP".
exec 4>&1
rc=$({ { "$@" 3>&-; echo $? >&3; } | sed 's/^not ok \([0-9]* # SKIP\)/ok \1/' >&4; } 3>&1)
exit "$rc"
