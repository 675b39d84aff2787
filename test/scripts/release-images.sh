#!/usr/bin/env bash
# release-images.sh VERSION ARCHITECTURE DIST: packs the images of a release for one architecture into DIST, as OCI
# archives. LAB is the path of `lab`. operator/images/Containerfile makes images with the same files.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${LAB:?path of lab}"
[ $# = 3 ] || { echo "usage: release-images.sh VERSION ARCHITECTURE DIST" >&2; exit 2; }
version=$1 architecture=$2 dist=$3
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
image() { # image NAME USER
  local name=$1 user=$2 files
  mapfile -t files <"$temp/$name.files"
  "$LAB" image --architecture "$architecture" --compress --tag "localhost/vnfbench/$name:$version" --out "$dist/vnfbench-$name-$version-linux-$architecture.oci.tar" \
    --label "org.opencontainers.image.version=$version,org.opencontainers.image.title=vnfbench $name,org.opencontainers.image.licenses=Apache-2.0" \
    --entrypoint "[\"/usr/local/bin/$name\"]" --user "$user" "${files[@]}" >/dev/null
}
test/scripts/image-files.sh "$version" "$architecture" "$temp"
# Who each runs as, and why, is in docs/how-to/release.md.
image manager 65532:65532
image measurer 0:0
image vnf 0:0
image endpoint 0:0
image neighbor 65532:65532
image results 65532:65532
