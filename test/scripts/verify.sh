#!/usr/bin/env bash
# Makes all generated files again in a copy of the tree and compares; checks
# formatting and words. The tree itself stays as it is.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
(cd "$top" && git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' f; do [ -e "$f" ] && printf '%s\0' "$f"; done | tar --null -T - -cf -) | tar -xf - -C "$copy"
mkdir -p "$copy/charts/vnfbench/files/crds" "$copy/charts/vnfbench/files/rbac"
make --no-print-directory -C "$copy" generate >"$copy.log" 2>&1 || { cat "$copy.log"; rm -f "$copy.log"; echo "verify: make generate failed" >&2; exit 1; }
rm -f "$copy.log"
failed=0
for path in operator config charts docs/reference terraform/modules; do
  diff -ru --exclude=bin --exclude=.terraform "$top/$path" "$copy/$path" || failed=1
done
[ "$failed" = 0 ] || { echo "verify: generated files differ; run 'make generate' and commit" >&2; exit 1; }
unformatted=$(cd "$top" && gofmt -l operator test)
[ -z "$unformatted" ] || { echo "verify: gofmt these files:" >&2; echo "$unformatted" >&2; exit 1; }
for module in operator test/lab test/lab/sriov test/e2e test/config test/monitoring test/argocd test/browser test/archive test/terraform test/terraform-docs test/helm-unittest test/matchbox test/proxmox; do
  (cd "$copy/$module" && "$top/test/scripts/again.sh" go mod tidy -diff >/dev/null) || { echo "verify: go.mod of $module is not tidy; run 'go mod tidy' there" >&2; exit 1; }
done
"$top/test/scripts/words.py" || { echo "verify: replace the words above" >&2; exit 1; }
echo "verify: generated files, formatting, words and go.mod files are up to date"
