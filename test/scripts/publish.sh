#!/usr/bin/env bash
# publish.sh VERSION REGISTRY: pushes the release in DIST: images to REGISTRY/vnfbench/NAME, the chart to
# REGISTRY/vnfbench/charts/vnfbench. It signs each by its digest and attests how it was built and, for images, what is
# in them. DIST/published gets the chart's values with the digests, the provenance, and a signature of SHA256SUMS.
# Called by `make publish`, which sets CRANE, HELM, COSIGN and DIST; log in first (`make login`).
#   COSIGN_KEY   the key that signs: a file or a key management service. No public log is informed. Empty: cosign asks
#                the CI system who it is, signs by a certificate of some minutes, and enters it in the public log.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${CRANE:?path of crane}" "${HELM:?path of helm}" "${COSIGN:?path of cosign}" "${DIST:?folder of the release}"
version=${1:-} registry=${2:-}
[ -n "$version" ] && [ -n "$registry" ] || { echo "usage: make publish VERSION=0.2.0 REGISTRY=registry.example.com/lab" >&2; exit 2; }
(cd "$DIST" && sha256sum --check --quiet SHA256SUMS)
chart=$DIST/vnfbench-chart-$version.tgz
[ -e "$chart" ] || { echo "$DIST is not release $version: run make release VERSION=$version first" >&2; exit 1; }
out=$DIST/published
rm -rf "$out"
mkdir "$out"
if [ -n "${COSIGN_KEY:-}" ]; then
  by=(--key "$COSIGN_KEY" --use-signing-config=false --tlog-upload=false)
else
  by=()
fi
sign() { # sign REFERENCE@DIGEST
  "$COSIGN" sign --yes "${by[@]}" "$1"
  # Sigstore's policy-controller knows the older format alone of signatures by a key (docs/security.md#images).
  [ -z "${COSIGN_KEY:-}" ] || "$COSIGN" sign --yes "${by[@]}" --new-bundle-format=false "$1"
  echo "signed $1" >&2
}
attest() { # attest TYPE PREDICATE REFERENCE@DIGEST
  "$COSIGN" attest --yes "${by[@]}" --type "$1" --predicate "$2" "$3"
  echo "attested $1 of $3" >&2
}

test/scripts/provenance.sh "$version" "$DIST" >"$out/provenance.json"
test/scripts/push.sh "$registry" "$DIST"/*.oci.tar >"$out/values.yaml"
for archive in "$DIST"/*.oci.tar; do
  base=$(basename "$archive" .oci.tar)
  name=${base#vnfbench-} architecture=${base##*-}
  name=${name%-"$version"-linux-*}
  image=$registry/vnfbench/$name
  one=$image@$("$CRANE" digest "$image:$version-$architecture")
  sign "$one"
  attest spdxjson "$DIST/$base.spdx.json" "$one"
  attest slsaprovenance1 "$out/provenance.json" "$one"
done
# The images of all architectures, whose digests the chart's values name.
sed -n "s/^    \([a-z-]*\): \(sha256:[0-9a-f]*\)$/\1 \2/p" "$out/values.yaml" | while read -r name digest; do
  all=$registry/vnfbench/$name@$digest
  # With one architecture both are one image.
  if [ "$("$CRANE" manifest "$all" | grep -c '"manifests"')" = 0 ]; then continue; fi
  sign "$all"
  attest slsaprovenance1 "$out/provenance.json" "$all"
done

plain=()
# As crane and cosign do it: a registry on this machine needs no TLS.
case $registry in localhost:*|127.0.0.1:*) plain=(--plain-http) ;; esac
"$HELM" push "${plain[@]}" "$chart" "oci://$registry/vnfbench/charts" >&2
reference=$registry/vnfbench/charts/vnfbench
reference=$reference@$("$CRANE" digest "$reference:$version")
sign "$reference"
attest slsaprovenance1 "$out/provenance.json" "$reference"
"$COSIGN" sign-blob --yes "${by[@]}" --bundle "$out/SHA256SUMS.bundle" "$DIST/SHA256SUMS" >/dev/null
echo "$out has the chart's values, the provenance and the signature of SHA256SUMS" >&2
