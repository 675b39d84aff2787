#!/usr/bin/env bash
# diagrams.sh: draws docs/diagrams/*.mmd as SVG with Mermaid's own command line, which
# needs npm and Chromium (CHROMIUM names its program). Each SVG ends with the digest of
# its source; a test of internal/docs compares them, so that no diagram is out of date.
set -euo pipefail
cd "$(dirname "$0")/../../docs/diagrams"
chromium=${CHROMIUM:-$(command -v chromium || true)}
[ -n "$chromium" ] && command -v npx >/dev/null || { echo "diagrams need npx (npm) and chromium: install both, or set CHROMIUM" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '{"executablePath":"%s","args":["--no-sandbox"]}\n' "$chromium" >"$work/browser.json"
for source in *.mmd; do
  target=${source%.mmd}.svg
  PUPPETEER_SKIP_DOWNLOAD=1 npx --yes @mermaid-js/mermaid-cli -q -p "$work/browser.json" -b white -i "$source" -o "$work/$target"
  { cat "$work/$target"; printf '\n<!-- source sha256:%s -->\n' "$(sha256sum <"$source" | cut -d' ' -f1)"; } >"$target"
  echo "docs/diagrams/$target"
done
