#!/usr/bin/env bash
# browser.sh: writes example pages and opens them in headless Chromium. With SCREENSHOTS, a folder, it writes the
# pictures of the documentation there instead; with DOCUMENT too, those of a run's document, by the plugin PLUGIN.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
(cd "$top/operator" && PAGES=$pages go test -count=1 -run '^TestWritePages$' ./internal/page)
tests=(-skip '^TestScreenshots$')
if [ -n "${SCREENSHOTS:-}" ]; then
  tests=(-run '^TestScreenshots$')
  mkdir -p "$SCREENSHOTS"
  [ -z "${DOCUMENT:-}" ] || "$PLUGIN" report "$(realpath "$DOCUMENT")" -o html --output-file "$pages/run.html"
fi
cd "$top/test/browser" && go vet ./... && PAGES=$pages go test -count=1 -timeout 10m "${tests[@]}" ./...
