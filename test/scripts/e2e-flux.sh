#!/usr/bin/env bash
# e2e-flux.sh: brings up the lab, deploys Flux's controllers there and lets them follow a repository with
# config/gitops, by the commands of the documentation. Called by `make e2e-flux`, which sets LAB, BIN, KUSTOMIZE,
# IMAGES and MAKE. Flux installs the operator, and at the end it is removed; Flux stays.
#
# Exit code 3 says that nothing was run, and the last line why: the machine lacks something, or the module proxy
# refuses what Flux is built from.
set -euo pipefail
cd "$(dirname "$0")/../.."
unfit=3
not_run() { echo "e2e-flux: NOT RUN: $*" >&2; exit $unfit; }

test/scripts/prerequisites.sh go debian || not_run "this machine lacks what is named above"
status=0
flux=$("$LAB" flux) || status=$?
[ $status -ne $unfit ] || not_run "Flux cannot be built here, for the reason above"
[ $status -eq 0 ] || exit $status
"$MAKE" --no-print-directory lab-up images plugin
archives=()
for name in $IMAGES; do archives+=("$BIN/images/$name.tar"); done
"$LAB" load "${archives[@]}" "$flux"/*.tar
export LAB
test/scripts/archive-volume.sh
kubectl() { "$LAB" kubectl -- "$@"; }
kubectl apply --server-side --force-conflicts -f "$flux/flux.yaml" >/dev/null
kubectl -n flux-system rollout status deployment --timeout=5m

# The commands of the documentation call kubectl, with the plugin, and kustomize.
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
assets=$("$LAB" assets)
ln -s "$assets/kubectl" "$tools/kubectl"
ln -s "$KUSTOMIZE" "$tools/kustomize"
KUBECONFIG=$("$LAB" kubeconfig)
VNFBENCH_IMAGE_TAG=$(test/scripts/image-tag.sh)
export KUBECONFIG VNFBENCH_IMAGE_TAG VNFBENCH_E2E_FLUX=1
cd test/e2e && PATH=$tools:$BIN:$PATH go test -count=1 -timeout 60m -v -run '^TestFlux$' .
