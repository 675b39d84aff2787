#!/usr/bin/env bash
# Looks for known vulnerabilities: in the Go modules by govulncheck, and in the images of bin/images by their
# bills of materials (syft, grype). Both need a database from the Internet. Where that or the program cannot be
# had, it says NOT RUN and why, and fails nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${GOVULNCHECK:?path of govulncheck}" "${SYFT:?path of syft}"
failed=0
skip() { echo "scan: $1: NOT RUN: $2"; }
database=${GOVULNDB:-https://vuln.go.dev}
if [[ $database == http* ]] && ! curl -fsS -m 20 -o /dev/null "$database/index/db.json" 2>/dev/null; then
  skip "govulncheck" "the database $database does not answer (GOVULNDB names another)"
elif ! test/scripts/install-tool.sh "$GOVULNCHECK" "golang.org/x/vuln/cmd/govulncheck@${GOVULNCHECK##*-}"; then
  skip "govulncheck" "it cannot be built"
else
  for module in operator test/lab test/e2e; do
    echo "scan: govulncheck in $module"
    (cd $module && "$GOVULNCHECK" -db "$database" ./...) || failed=1
  done
fi
images=(bin/images/*.tar)
if [ ! -e "${images[0]}" ]; then
  skip "images" "there are none in bin/images (make images)"
elif ! command -v grype >/dev/null; then
  skip "images" "grype is not installed (https://github.com/anchore/grype)"
elif ! grype db update >/dev/null 2>&1; then
  skip "images" "the database of grype cannot be had"
elif ! test/scripts/install-tool.sh "$SYFT" "github.com/anchore/syft/cmd/syft@${SYFT##*-}"; then
  skip "images" "syft cannot be built"
else
  bill=$(mktemp)
  trap 'rm -f "$bill"' EXIT
  for image in "${images[@]}"; do
    echo "scan: $image"
    "$SYFT" scan "oci-archive:$image" -q -o spdx-json >"$bill" && grype -q --fail-on high "sbom:$bill" || failed=1
  done
fi
exit $failed
