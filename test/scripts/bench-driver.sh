#!/usr/bin/env bash
# bench-driver.sh COMMIT [ARGUMENT...]: builds the driverbench of an older commit in
# a worktree that it removes again, and compares what both XDP drivers bring as fast
# as possible, by turns. Arguments go to driverbench.
set -euo pipefail
cd "$(dirname "$0")/../.."
commit=$(git rev-parse --verify --quiet "$1^{commit}") || { echo "OLD: there is no commit '$1' here" >&2; exit 1; }
folder=$(mktemp -d)
trap 'git worktree remove --force "$folder/tree" 2>/dev/null; rm -rf "$folder"' EXIT
git worktree add --quiet --detach "$folder/tree" "$commit"
[ -d "$folder/tree/operator/hack/driverbench" ] || { echo "OLD: commit $1 has no operator/hack/driverbench" >&2; exit 1; }
(cd "$folder/tree/operator" && go build -o "$folder/old" ./hack/driverbench)
(cd operator && go build -o "$folder/new" ./hack/driverbench)
"$folder/new" -baseline "$folder/old" "${@:2}"
