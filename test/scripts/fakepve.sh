#!/usr/bin/env bash
# fakepve.sh PYTHON: installs fakepve, a fake of Proxmox' API, for the Python program PYTHON,
# which is bin/python of a virtual environment in the cache, once for each digest of the requirements.
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=${1%/bin/python}
[ -e "$venv/complete" ] && exit 0
test/scripts/prerequisites.sh python
echo "installing fakepve (once)" >&2
rm -rf "$venv"
python3 -m venv "$venv"
test/scripts/again.sh "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes --requirement test/proxmox/requirements.txt
"$venv/bin/python" -m pip check --quiet --disable-pip-version-check
touch "$venv/complete"
