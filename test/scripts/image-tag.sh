#!/usr/bin/env bash
# Prints the tag of the images made from bin/: a digest of the binaries and of
# Debian's files with them, so that an upgrade rolls exactly when something
# changed.
set -euo pipefail
cd "$(dirname "$0")/../../bin"
sha256sum manager measurer vnf endpoint neighbor results $(cut -d: -f1 iperf3.files stress-ng.files) | sha256sum | cut -c1-12
