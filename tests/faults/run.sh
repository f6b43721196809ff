#!/bin/sh
# A sample of what faults.c tries; make check-faults tries all. With sanitizers no library can be preloaded: files are damaged there.
here=$(dirname "${ROOFCAST:?}")/tests/faults
if [ -f "$here/inject.so" ]; then
    FAULTS_LIBRARY=$here/inject.so exec "$here/faults"
fi
exec "$here/faults" --damage=1
