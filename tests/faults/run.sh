#!/bin/sh
# A sample of what faults.c tries; make check-faults tries all.
here=$(dirname "${ROOFCAST:?}")/tests/faults
if [ ! -f "$here/inject.so" ]; then
    echo "1..0 # SKIP no library to preload beside sanitizers"
    exit 0
fi
FAULTS_LIBRARY=$here/inject.so exec "$here/faults"
