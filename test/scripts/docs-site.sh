#!/usr/bin/env bash
# docs-site.sh: builds docs/ into bin/docs-site with MkDocs, strictly: a page in no
# navigation and a link that leads nowhere fail. MkDocs is kept in the cache, in a
# virtual environment under a name with the digest of its requirements.
set -euo pipefail
cd "$(dirname "$0")/../.."
digest=$(sha256sum docs/site/requirements.txt | cut -c1-16)
venv=${XDG_CACHE_HOME:-$HOME/.cache}/vnfbench/mkdocs-$digest
if [ ! -e "$venv/complete" ]; then
  command -v python3 >/dev/null || { echo "missing: python3 with venv and pip" >&2; exit 1; }
  echo "installing MkDocs (once)" >&2
  rm -rf "$venv"
  python3 -m venv "$venv"
  test/scripts/again.sh "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --requirement docs/site/requirements.txt
  "$venv/bin/python" -m pip check --quiet --disable-pip-version-check
  touch "$venv/complete"
fi
# The variable keeps back what the theme prints about its own future.
if ! out=$(NO_MKDOCS_2_WARNING=1 PYTHONDONTWRITEBYTECODE=1 "$venv/bin/mkdocs" build --strict 2>&1); then echo "$out" >&2; exit 1; fi
echo "bin/docs-site/index.html"
