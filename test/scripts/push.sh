#!/usr/bin/env bash
# push.sh REGISTRY ARCHIVE...: pushes image archives of vnfbench to
# REGISTRY/vnfbench/NAME:TAG, with the names and tags that they carry. Archives of
# one image for several architectures become one image that has them all. What
# goes to the standard output are values of the chart, digests included.
#
# It needs crane (github.com/google/go-containerregistry) on the PATH, or named by
# CRANE; crane's own flags, such as --insecure for a registry without TLS that is
# not on this machine, may be in CRANE_FLAGS.
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: push.sh REGISTRY ARCHIVE..., such as: push.sh registry.example.com/lab *.oci.tar" >&2; exit 2; }
registry=$1; shift
read -ra crane <<<"${CRANE:-crane} ${CRANE_FLAGS:-}"
command -v "${crane[0]}" >/dev/null || { echo "missing: crane, from github.com/google/go-containerregistry; put it on the PATH, or let CRANE name it" >&2; exit 1; }
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

declare -A pushed=() # image:tag -> what was pushed of it, for each architecture
order=()
for archive in "$@"; do
  layout=$temp/layout
  rm -rf "$layout"; mkdir "$layout"
  tar -xf "$archive" -C "$layout"
  name=$(sed -n 's|.*"io.containerd.image.name":"[^"]*/\(vnfbench/[^"]*\)".*|\1|p' "$layout/index.json")
  [ -n "$name" ] || { echo "$archive is no image archive of vnfbench" >&2; exit 1; }
  manifest=$(sed -n 's|.*"digest":"sha256:\([0-9a-f]*\)".*|\1|p' "$layout/index.json")
  config=$(sed -n 's|.*"config":{[^}]*"digest":"sha256:\([0-9a-f]*\)".*|\1|p' "$layout/blobs/sha256/$manifest")
  architecture=$(sed -n 's|.*"architecture":"\([a-z0-9]*\)".*|\1|p' "$layout/blobs/sha256/$config")
  # As it is in the archive, so that its digest stays.
  "${crane[@]}" push "$layout" "$registry/$name-$architecture" >/dev/null
  [ -n "${pushed[$name]:-}" ] || order+=("$name")
  pushed[$name]="${pushed[$name]:-} $registry/$name-$architecture"
  echo "pushed $registry/$name-$architecture" >&2
done

digests=() tag=
for name in "${order[@]}"; do
  read -ra parts <<<"${pushed[$name]}"
  if [ ${#parts[@]} = 1 ]; then
    "${crane[@]}" copy "${parts[0]}" "$registry/$name" >/dev/null 2>&1
  else
    arguments=()
    for part in "${parts[@]}"; do arguments+=(--manifest "$part"); done
    "${crane[@]}" index append "${arguments[@]}" --tag "$registry/$name" >/dev/null 2>&1
  fi
  echo "pushed $registry/$name" >&2
  short=${name#vnfbench/}
  digests+=("    ${short%:*}: $("${crane[@]}" digest "$registry/$name")")
  tag=${name##*:}
done
printf 'image:\n  registry: %s\n  tag: "%s"\n  digests:\n' "$registry" "$tag"
printf '%s\n' "${digests[@]}"
