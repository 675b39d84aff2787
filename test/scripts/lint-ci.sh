#!/usr/bin/env bash
# lint-ci.sh: checks the files of CI: workflows by actionlint and zizmor, and all by their JSON schemas. It reads no
# network but to install these, and says NOT RUN where that fails. ACTIONLINT is the path of actionlint.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${ACTIONLINT:?path of actionlint}"
failed=0
skip() { echo "lint-ci: $1: NOT RUN: $2"; }
if test/scripts/install-tool.sh "$ACTIONLINT" "github.com/rhysd/actionlint/cmd/actionlint@${ACTIONLINT##*-}"; then
  "$ACTIONLINT" || failed=1
else
  skip actionlint "it cannot be built"
fi
digest=$(sha256sum test/ci/requirements.txt | cut -c1-16)
venv=${XDG_CACHE_HOME:-$HOME/.cache}/vnfbench/lint-ci-$digest
if [ ! -e "$venv/complete" ]; then
  echo "installing zizmor and check-jsonschema (once)" >&2
  rm -rf "$venv"
  { python3 -m venv "$venv" && test/scripts/again.sh "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --requirement test/ci/requirements.txt && touch "$venv/complete"; } || rm -rf "$venv"
fi
if [ -e "$venv/complete" ]; then
  "$venv/bin/zizmor" --offline --quiet --no-progress .github || failed=1
  schema() { "$venv/bin/check-jsonschema" --quiet --builtin-schema "vendor.$1" "${@:2}" || failed=1; }
  schema github-workflows .github/workflows/*.yml
  schema github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
  schema github-issue-config .github/ISSUE_TEMPLATE/config.yml
  schema gitlab-ci .gitlab-ci.yml
  schema renovate renovate.json
else
  skip "zizmor and the schemas" "they cannot be installed"
fi
[ "$failed" = 0 ] || exit 1
echo "lint-ci: the files of CI have no known mistake"
