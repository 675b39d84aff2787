#!/usr/bin/env bash
# docs-site.sh: builds docs/ into bin/docs-site with ProperDocs, strictly: a page in no
# navigation and a link that leads nowhere fail.
set -euo pipefail
cd "$(dirname "$0")/../.."
programs=$(test/scripts/python-tools.sh docs-site docs/site/requirements.txt)
# The variable keeps back what the theme prints about its own future.
if ! out=$(NO_MKDOCS_2_WARNING=1 PYTHONDONTWRITEBYTECODE=1 "$programs/properdocs" build --strict 2>&1); then echo "$out" >&2; exit 1; fi
echo "bin/docs-site/index.html; to search in it, serve it: python3 -m http.server -d bin/docs-site"
