#!/usr/bin/env bash
# install-tool.sh TARGET MODULE@VERSION: builds a Go tool once and keeps it in
# the cache under a name with its version.
set -euo pipefail
target=$1 module=$2
[ -x "$target" ] && exit 0
echo "building $(basename "$target") (once)" >&2
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
mkdir -p "$(dirname "$target")"
GOBIN=$build "$(dirname "$0")/again.sh" go install "$module"
mv "$build"/* "$target"
