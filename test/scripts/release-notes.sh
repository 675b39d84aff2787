#!/usr/bin/env bash
# release-notes.sh VERSION: prints what CHANGELOG.md says of a version, without its heading.
set -euo pipefail
cd "$(dirname "$0")/../.."
notes=$(awk -v heading="## $1" '/^## /{inside = ($0 == heading || index($0, heading " ") == 1); next} /^\[.*\]: /{next} inside' CHANGELOG.md)
[ -n "${notes//[[:space:]]/}" ] || { echo "CHANGELOG.md has nothing under the heading '## $1'" >&2; exit 1; }
printf '%s\n' "$notes"
