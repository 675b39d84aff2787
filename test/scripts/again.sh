#!/usr/bin/env bash
# again.sh COMMAND...: runs a command that downloads, and up to twice more where it
# fails: a mirror or proxy that does not answer once may do so a little later.
set -euo pipefail
for pause in 5 30; do
  "$@" && exit 0
  echo "$1 failed: again in $pause s" >&2
  sleep $pause
done
exec "$@"
