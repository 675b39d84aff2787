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
if programs=$(test/scripts/python-tools.sh lint-ci test/ci/requirements.txt); then
  "$programs/zizmor" --offline --quiet --no-progress .github || failed=1
  schema() { "$programs/check-jsonschema" --quiet --builtin-schema "vendor.$1" "${@:2}" || failed=1; }
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
