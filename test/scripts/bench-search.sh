#!/usr/bin/env bash
# Compares the project's search with the MLRsearch package. The package is kept
# in the cache, in a virtual environment under a name with its version.
# Arguments go to searchbench.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
version=1.2.1
venv=${XDG_CACHE_HOME:-$HOME/.cache}/vnfbench/mlrsearch-$version
if [ ! -e "$venv/complete" ]; then
  command -v python3 >/dev/null || { echo "missing: python3 with venv and pip" >&2; exit 1; }
  echo "installing MLRsearch $version (once)" >&2
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "MLRsearch==$version"
  touch "$venv/complete"
fi
cd "$top/operator"
go run ./hack/searchbench "$@" "$venv/bin/python" "$top/test/scripts/bench-search.py"
