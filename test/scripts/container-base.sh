#!/usr/bin/env bash
# container-base.sh IMAGE: makes a base for operator/images/Containerfile without a registry, as buildah's local image
# IMAGE: a Debian of this machine's release and sources, with this machine's Go.
set -euo pipefail
[ $# = 1 ] || { echo "usage: container-base.sh IMAGE" >&2; exit 2; }
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
# shellcheck source=/dev/null
. /etc/os-release
debootstrap --variant=minbase --include=binutils,ca-certificates "$VERSION_CODENAME" "$temp/root" >"$temp/log" || { tail -n 20 "$temp/log" >&2; exit 1; }
rm -rf "$temp/root/etc/apt/sources.list" "$temp"/root/var/cache/apt/archives/*.deb
cp -rT /etc/apt/sources.list.d "$temp/root/etc/apt/sources.list.d"
[ ! -e /etc/apt/sources.list ] || cp /etc/apt/sources.list "$temp/root/etc/apt/"
# Where this machine reaches registries through another's certificate, so does the image.
cp /etc/ssl/certs/ca-certificates.crt "$temp/root/etc/ssl/certs/"
cp -r "$(go env GOROOT)" "$temp/root/usr/local/go"
container=$(buildah from scratch)
buildah add --quiet "$container" "$temp/root" / >/dev/null
buildah config --env PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin --env GOTOOLCHAIN=local "$container"
buildah commit --quiet --rm "$container" "$1" >/dev/null
