#!/usr/bin/env bash
# e2e-upgrade.sh: installs an older version of this repository in the lab, chart
# and images, and runs the tests of test/e2e that upgrade it, remove it and
# install it again. Called by `make e2e-upgrade`, which sets LAB, BIN, HELM, MAKE
# and, where the user names the older version, REV.
#
# Without REV it is the last tag, and where there is none the commit before the
# last one that touched the chart or the API.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${LAB:?path of lab}" "${BIN:?folder of binaries}" "${HELM:?path of helm}" "${MAKE:=make}"
test/scripts/prerequisites.sh go debian
started=$SECONDS
step() { printf '== %s  [%d s]\n' "$*" $((SECONDS - started)); }
fail() { echo "e2e-upgrade: $*" >&2; exit 1; }

rev=${REV:-}
if [ -z "$rev" ]; then
  # A tag of this very commit would upgrade to itself.
  rev=$(git describe --tags --abbrev=0 HEAD^ 2>/dev/null) ||
    rev=$(git log -1 --first-parent --format=%H -- charts operator/api)^
fi
commit=$(git rev-parse --verify --quiet "$rev^{commit}") ||
  fail "this clone has no commit '$rev': name one with REV=, or fetch the whole history (git fetch --unshallow)"

temp=$(mktemp -d)
old=$temp/vnfbench
cleanup() {
  git worktree remove --force "$old" 2>/dev/null || true
  rm -rf "$temp"
}
trap cleanup EXIT
git worktree add --quiet --detach "$old" "$commit"

step "Building the older version: $(git log -1 --format='%h, %cd, %s' --date=short "$commit")"
"$MAKE" --no-print-directory -C "$old" images
step "Building this tree"
"$MAKE" --no-print-directory images plugin
step "Starting the lab"
"$MAKE" --no-print-directory lab-up

# One folder on the PATH for the commands that the documentation uses.
mkdir "$temp/bin"
ln -s "$HELM" "$temp/bin/helm"
ln -s "$("$LAB" assets)/kubectl" "$temp/bin/kubectl"
# What the older tree's chart asks for and this one's manager needs, and back.
"$LAB" load "$old"/bin/images/*.tar
for name in manager measurer vnf endpoint neighbor results; do "$LAB" load "$BIN/images/$name.tar"; done

step "Testing"
# The older tree may keep the script in another folder.
export VNFBENCH_E2E_UPGRADE=1 OLD="$old" LAB
OLD_TAG=$("$(find "$old/test" -name image-tag.sh)") NEW_TAG=$(test/scripts/image-tag.sh) KUBECONFIG=$("$LAB" kubeconfig)
export OLD_TAG NEW_TAG KUBECONFIG
[ "$OLD_TAG" != "$NEW_TAG" ] || echo "e2e-upgrade: both versions have equal images, so that the upgrade changes the chart alone" >&2
cd test/e2e && PATH=$temp/bin:$BIN:$PATH go test -count=1 -timeout 30m -run '^TestUpgrade' -v .
