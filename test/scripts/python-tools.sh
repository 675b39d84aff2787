#!/usr/bin/env bash
# python-tools.sh NAME REQUIREMENTS [OPTION...]: installs the packages of a file, which has all
# of them with their versions, once, and prints the folder of their programs. That is in a
# virtual environment in the cache, under a name with the file's digest. Options go to pip.
set -euo pipefail
cd "$(dirname "$0")/../.."
name=$1 requirements=$2
digest=$(sha256sum "$requirements" | cut -c1-16)
venv=${XDG_CACHE_HOME:-$HOME/.cache}/vnfbench/$name-$digest
if [ ! -e "$venv/complete" ]; then
  {
    test/scripts/prerequisites.sh python
    echo "installing the Python packages of $requirements (once)"
    rm -rf "$venv"
    python3 -m venv "$venv"
    test/scripts/again.sh "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "${@:3}" --requirement "$requirements"
    "$venv/bin/python" -m pip check --quiet --disable-pip-version-check
    touch "$venv/complete"
  } >&2
fi
echo "$venv/bin"
