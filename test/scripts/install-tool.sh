#!/usr/bin/env bash
# install-tool.sh TARGET PACKAGE@VERSION [FOLDER]: builds a Go tool once and keeps it in
# the cache under a name with its version. With a FOLDER, it takes the modules in the
# versions of the folder's own module, so that the packages of both are compiled once.
set -euo pipefail
target=$1 package=$2 folder=${3:-}
[ -x "$target" ] && exit 0
again=$(realpath "$(dirname "$0")/again.sh")
echo "building $(basename "$target") (once)" >&2
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
mkdir -p "$(dirname "$target")"
if [ -n "$folder" ]; then
  cp "$folder/go.mod" "$folder/go.sum" "$build"
  cd "$folder"
  "$again" go get -modfile="$build/go.mod" "$package" 2>"$build/log" || { cat "$build/log" >&2; exit 1; }
  CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w' -modfile="$build/go.mod" -o "$build/bin/" "${package%@*}"
else
  GOBIN=$build/bin "$again" go install "$package"
fi
mv "$build"/bin/* "$target"
