#!/usr/bin/env bash
# e2e-gitops.sh flux|argocd: brings up the lab, deploys that tool there and lets it follow a repository with config/gitops,
# by the commands of the documentation. Called by `make e2e-flux` and `make e2e-argocd`, which set LAB, BIN, KUSTOMIZE, HELM,
# IMAGES and MAKE. The tool installs the operator, and at the end it is removed; the tool stays.
#
# Exit code 3 says that nothing was run, and the last line why: the machine lacks something, or the module proxy
# refuses what the tool is built from.
set -euo pipefail
cd "$(dirname "$0")/../.."
tool=$1
case $tool in
  flux) name=Flux namespace=flux-system test=TestFlux making=(flux) timeout=100m ;;
  argocd) name="Argo CD" namespace=argocd test=TestArgoCD making=(argocd --helm "$HELM" --kustomize "$KUSTOMIZE") timeout=60m ;;
  *) echo "e2e-gitops.sh: $tool is neither flux nor argocd" >&2; exit 2 ;;
esac
unfit=3
not_run() { echo "e2e-$tool: NOT RUN: $*" >&2; exit $unfit; }

test/scripts/prerequisites.sh go debian testpmd || not_run "this machine lacks what is named above"
# lab up installs what the Debian tree of an image is made with.
status=0
"$LAB" up --nodes 1 --hardware=false || status=$?
[ $status -ne $unfit ] || not_run "there can be no lab here, for the reason above"
[ $status -eq 0 ] || exit $status
"$MAKE" --no-print-directory images plugin
made=$("$LAB" "${making[@]}") || status=$?
[ $status -ne $unfit ] || not_run "$name cannot be built here, for the reason above"
[ $status -eq 0 ] || exit $status
archives=()
for image in $IMAGES; do archives+=("$BIN/images/$image.tar"); done
"$LAB" load "${archives[@]}" "$made"/*.tar
export LAB
test/scripts/archive-volume.sh
kubectl() { "$LAB" kubectl -- "$@"; }
# An object of a kind that the same file brings is refused until the kind is served.
test/scripts/again.sh "$LAB" kubectl -- apply --server-side --force-conflicts -f "$made/$tool.yaml" >/dev/null
kubectl -n "$namespace" rollout status deployment --timeout=5m

# The commands of the documentation call kubectl, with the plugin, and kustomize.
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
assets=$("$LAB" assets)
ln -s "$assets/kubectl" "$tools/kubectl"
ln -s "$KUSTOMIZE" "$tools/kustomize"
KUBECONFIG=$("$LAB" kubeconfig)
VNFBENCH_IMAGE_TAG=$(test/scripts/image-tag.sh)
export KUBECONFIG VNFBENCH_IMAGE_TAG "VNFBENCH_E2E_${tool^^}=1"
cd test/e2e && PATH=$tools:$BIN:$PATH go test -count=1 -timeout "$timeout" -v -run "^$test\$" .
