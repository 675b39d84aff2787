#!/usr/bin/env bash
# image-files.sh VERSION ARCHITECTURE FOLDER: builds into FOLDER what the images of a release hold. FOLDER/NAME.files
# lists the files of each image as SOURCE:DESTINATION. `make release` packs them with `lab image`, and
# operator/images/Containerfile copies them.
set -euo pipefail
[ $# = 3 ] || { echo "usage: image-files.sh VERSION ARCHITECTURE FOLDER" >&2; exit 2; }
version=$1 architecture=$2 folder=$(realpath -m "$3")
cd "$(dirname "$0")/../.."
mkdir -p "$folder"
for name in manager measurer vnf endpoint neighbor results; do
  (cd operator && CGO_ENABLED=0 GOOS=linux GOARCH=$architecture go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$version" -o "$folder/$name" "./cmd/$name")
  printf '%s\n' "$folder/$name:/usr/local/bin/$name" "$PWD/LICENSE:/usr/share/doc/vnfbench/LICENSE" >"$folder/$name.files"
done
test/scripts/debian-files.sh "$architecture" "$folder/debian" iperf3 stress-ng
cat "$folder/debian/iperf3.files" >>"$folder/endpoint.files"
cat "$folder/debian/stress-ng.files" >>"$folder/neighbor.files"
