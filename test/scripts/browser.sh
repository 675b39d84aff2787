#!/usr/bin/env bash
# browser.sh: writes example pages and opens them in headless Chromium. With SCREENSHOTS, a folder, it writes the
# pictures of the documentation there instead; with DOCUMENT too, those of a run's document, by the plugin PLUGIN.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
(cd "$top/operator" && PAGES=$pages go test -count=1 -tags browser -run '^TestWritePages$' ./internal/page)
tests=()
export SITE=$pages/site
(cd "$top/operator" && exec go test -count=1 -timeout 15m -tags browser -run '^TestServeSite$' ./internal/results/web) &
serving=$!
# Without the file the site ends.
trap 'rm -f "$SITE"; wait "$serving" || true; rm -rf "$pages"' EXIT
if [ -n "${SCREENSHOTS:-}" ]; then
  tests=(-tags screenshots -run '^TestScreenshots$')
  mkdir -p "$SCREENSHOTS"
  [ -z "${DOCUMENT:-}" ] || "$PLUGIN" report "$(realpath "$DOCUMENT")" -o html --output-file "$pages/run.html"
  # What a terminal shows of the document: the plugin's own text in the colors of one.
  [ -z "${DOCUMENT:-}" ] || {
    echo '<!DOCTYPE html><meta charset="utf-8"><title>terminal</title><body style="margin:0;background:#1b1f24;color:#d7dce2"><pre style="margin:16px;font:13px/1.35 monospace">'
    echo '<b>$ kubectl vnfbench report router</b>'
    "$PLUGIN" report "$(realpath "$DOCUMENT")" | sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'
    echo '</pre></body>'
  } >"$pages/terminal.html"
fi
until [ -e "$SITE" ]; do kill -0 "$serving" 2>/dev/null || { wait "$serving"; echo "the site was not served" >&2; exit 1; }; sleep 0.2; done
cd "$top/test/browser" && go vet -tags screenshots ./... && PAGES=$pages go test -count=1 -timeout 10m "${tests[@]}" ./...
