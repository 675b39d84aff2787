#!/usr/bin/env bash
# install-tofu.sh TARGET VERSION: builds OpenTofu once and keeps it in the cache.
# Its module has its own replacements, with which `go install` builds nothing:
# so it is built in the folder where Go keeps the module's files.
set -euo pipefail
target=$1 version=$2
[ -x "$target" ] && exit 0
cd "$(dirname "$0")"
echo "building $(basename "$target") (once; some minutes, and 2 GB of Go's cache)" >&2
folder=$(./again.sh go mod download -json "github.com/opentofu/opentofu@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
mkdir -p "$(dirname "$target")"
cd "$folder"
CGO_ENABLED=0 go build -mod=readonly -trimpath -ldflags '-s -w -X github.com/opentofu/opentofu/version.dev=no' -o "$target.new" ./cmd/tofu
mv "$target.new" "$target"
