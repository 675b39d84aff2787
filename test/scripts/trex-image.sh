#!/usr/bin/env bash
# trex-image.sh: builds the archive of the image with TRex, of a release's tarball,
# this project's measurer and this machine's libraries, without a daemon.
# Environment: TREX_TARBALL, TREX_SHA256; LAB and BIN are the Makefile's.
set -euo pipefail
scripts=$(dirname "$(readlink -f "$0")")
: "${LAB:?path of bin/lab}" "${BIN:?folder of the binaries}"
if [ -z "${TREX_TARBALL:-}" ] || [ -z "${TREX_SHA256:-}" ]; then
  cat >&2 <<'NEEDS'
make trex-image needs a release of TRex, which this project does not ship:
  make trex-image TREX_TARBALL=v3.08.tar.gz TREX_SHA256=the 64 digits of its SHA-256
Get the tarball from the project's own site, and the number from where you trust it;
sha256sum v3.08.tar.gz prints what you have.
NEEDS
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh "$scripts/../../operator/images/trex/install.sh" "$TREX_TARBALL" "$TREX_SHA256" "$work/trex"
cd "$work/trex"
export LD_LIBRARY_PATH=$PWD:$PWD/so:$PWD/so/$(uname -m)
if missing=$(ldd ./_t-rex-64 | grep "not found"); then
  echo "TRex needs libraries that this machine does not have; install their Debian packages, or use operator/images/trex/Containerfile:" >&2
  echo "$missing" >&2
  exit 1
fi
"$scripts/program-files.sh" "$work/trex/_t-rex-64" | grep -v "^$work" >"$work/files"
version=$(cut -d' ' -f1 release)
tag=localhost/vnfbench/trex:$version-$({ sha256sum <"$BIN/measurer"; cat release; cut -d: -f1 "$work/files" | xargs sha256sum; } | sha256sum | cut -c1-12)
mkdir -p "$BIN/images"
xargs "$LAB" image --tag "$tag" --out "$BIN/images/trex.tar" --entrypoint '["/usr/local/bin/measurer"]' --user 0:0 \
  "$BIN/measurer:/usr/local/bin/measurer" "$work/trex:/opt/trex" <"$work/files"
echo "$tag is in bin/images/trex.tar, $(($(stat -c %s "$BIN/images/trex.tar") / 1000000)) MB"
