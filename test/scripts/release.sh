#!/usr/bin/env bash
# release.sh VERSION: makes everything of a release in DIST: images as OCI archives
# with a bill of materials each, the chart, the manifests without Helm, the kubectl
# plugin, and checksums of all. Called by `make release`, which sets LAB, HELM,
# KUSTOMIZE, SYFT and DIST.
#
# A commit gives the same bytes wherever and whenever it is built with the same Go,
# tools and Debian packages: no path and no time but the commit's own goes in.
#   ARCHITECTURES      of the images; amd64 and arm64
#   PLUGIN_PLATFORMS   of the plugin; linux and darwin, each on amd64 and arm64
#   REGISTRY           that the manifests without Helm and the chart's annotations name
#   SOURCE_URL         of the repository, for the chart and krew's manifest
#   RELEASE_URL        where the files will lie, for krew's manifest
#   SOURCE_DATE_EPOCH  the time of the release; the commit's
#   DIRTY=1            take a tree with changes that no commit has
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${LAB:?path of lab}" "${HELM:?path of helm}" "${KUSTOMIZE:?path of kustomize}" "${SYFT:?path of syft}" "${DIST:?folder to fill}"
version=${1:-}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || { echo "VERSION is '$version': name one such as make release VERSION=0.2.0" >&2; exit 2; }
if [ "${DIRTY:-}" != 1 ] && [ -n "$(git status --porcelain)" ]; then
  echo "the tree has changes that no commit has, and a release is of a commit: commit them, or set DIRTY=1" >&2
  exit 1
fi
architectures=${ARCHITECTURES:-amd64 arm64}
platforms=${PLUGIN_PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}
registry=${REGISTRY:-registry.example.com/lab}
url=${RELEASE_URL:-https://example.com/vnfbench/v$version}
time=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
started=$SECONDS
step() { printf '== %s  [%d s]\n' "$*" $((SECONDS - started)); }

rm -rf "$DIST"
mkdir -p "$DIST"
dist=$(realpath "$DIST") temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
build() { # build OS ARCHITECTURE OUT COMMAND
  (cd operator && CGO_ENABLED=0 GOOS=$1 GOARCH=$2 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$version" -o "$3" "./cmd/$4")
}
pack() { # pack OUT FOLDER NAME...: an archive without owners and times
  local out=$1 folder=$2; shift 2
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$time" --mode=u+rw,go+r-w,a+X --format=gnu -C "$folder" -cf - "$@" | gzip --best --no-name >"$out"
}

for architecture in $architectures; do
  step "Images for $architecture"
  test/scripts/release-images.sh "$version" "$architecture" "$dist"
done
step "Bills of materials"
for archive in "$dist"/*.oci.tar; do
  name=$(basename "$archive" .oci.tar)
  # A scan has a time and a random name; here they follow from what was scanned.
  SYFT_CHECK_FOR_APP_UPDATE=false "$SYFT" scan --quiet "oci-archive:$archive" --source-name "$name" --source-version "$version" -o spdx-json |
    jq --arg created "$(date -u -d "@$time" +%Y-%m-%dT%H:%M:%SZ)" --arg namespace "https://vnfbench.io/spdx/$name/$(sha256sum "$archive" | cut -d' ' -f1)" \
      '.creationInfo.created = $created | .documentNamespace = $namespace' >"$dist/$name.spdx.json"
done

step "Chart and manifests"
cp -r charts/vnfbench "$temp/chart"
sed -i "s/^version: .*/version: $version/; s/^appVersion: .*/appVersion: $version/" "$temp/chart/Chart.yaml"
{ # below annotations, which are at the end
  echo '  artifacthub.io/images: |'
  for name in manager measurer vnf endpoint neighbor results; do echo "    - {name: $name, image: $registry/vnfbench/$name:$version}"; done
  [ -z "${SOURCE_URL:-}" ] || printf 'home: %s\nsources: [%s]\n' "$SOURCE_URL" "$SOURCE_URL"
} >>"$temp/chart/Chart.yaml"
"$HELM" lint --quiet --strict "$temp/chart" --set image.registry=r.example
"$HELM" package "$temp/chart" --destination "$temp" >/dev/null
# Helm packs with the time of day.
mkdir "$temp/packed" && tar -xmzf "$temp/vnfbench-$version.tgz" -C "$temp/packed"
pack "$dist/vnfbench-chart-$version.tgz" "$temp/packed" vnfbench
mkdir "$temp/kustomize"
cp -r config "$temp/kustomize/"
sed -i "s|^  registry: .*|  registry: $registry|; s|^  tag: .*|  tag: \"$version\"|" "$temp/kustomize/config/default/images.yaml"
"$KUSTOMIZE" build "$temp/kustomize/config/default" >"$dist/vnfbench-install-$version.yaml"
cp test/scripts/push.sh "$dist/push.sh"

step "kubectl plugin"
cat >"$dist/vnfbench.krew.yaml" <<YAML
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: vnfbench
spec:
  version: v$version${SOURCE_URL:+
  homepage: $SOURCE_URL}
  shortDescription: Make network function benchmarks and read their results
  description: |
    Checks a cluster and manifests, makes BenchmarkRuns and follows them to their end,
    writes reports, compares runs, and works out the figures of a report again.
  platforms:
YAML
for platform in $platforms; do
  os=${platform%/*} architecture=${platform#*/}
  folder=$temp/plugin-$os-$architecture archive=kubectl-vnfbench-$version-$os-$architecture.tar.gz
  mkdir "$folder"
  build "$os" "$architecture" "$folder/kubectl-vnfbench" kubectl-vnfbench
  install -m 0755 operator/cmd/kubectl-vnfbench/kubectl_complete-vnfbench "$folder/kubectl_complete-vnfbench"
  install -m 0644 LICENSE "$folder/LICENSE"
  pack "$dist/$archive" "$folder" LICENSE kubectl-vnfbench kubectl_complete-vnfbench
  cat >>"$dist/vnfbench.krew.yaml" <<YAML
  - uri: $url/$archive
    sha256: $(sha256sum "$dist/$archive" | cut -d' ' -f1)
    bin: kubectl-vnfbench
    selector: {matchLabels: {os: $os, arch: $architecture}}
YAML
done

(cd "$dist" && sha256sum -- * >"$temp/SHA256SUMS" && mv "$temp/SHA256SUMS" .)
step "$(find "$dist" -type f | wc -l) files, $(du -sh "$dist" | cut -f1), are in $DIST"
"$LAB" images "$dist"/*.oci.tar
