#!/usr/bin/env bash
# terraform-addons.sh: brings up the lab with this tree's images, and lets Terraform apply the module addons and both
# roots there with the real providers of Helm and Kubernetes. Called by `make test-terraform-addons`, which sets LAB, BIN,
# IMAGES, KUBEVIRT, MAKE, MATCHBOX, MATCHBOX_PROVIDER and PROXMOX_PROVIDER. With KUBEVIRT=1 the module installs KubeVirt
# too, by images that are built from its Go modules.
#
# VNFBENCH_HELM_PROVIDER and VNFBENCH_KUBERNETES_PROVIDER name the providers' programs. Without them `terraform init` gets
# both from the registry, or from the mirror that the user's configuration of Terraform names.
#
# Exit code 3 says that nothing was run, and the last line why.
set -euo pipefail
cd "$(dirname "$0")/../.."
unfit=3
not_run() { echo "test-terraform-addons: NOT RUN: $*" >&2; exit $unfit; }

test/scripts/prerequisites.sh go debian || not_run "this machine lacks what is named above"
terraform=${VNFBENCH_TERRAFORM:-terraform}
command -v "$terraform" >/dev/null || not_run "$terraform is not installed"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "${VNFBENCH_HELM_PROVIDER:-}" ] || [ -z "${VNFBENCH_KUBERNETES_PROVIDER:-}" ]; then
  cp -R terraform/examples terraform/modules "$work"
  rm -rf "$work/examples/addons/.terraform"*
  "$terraform" -chdir="$work/examples/addons" init -backend=false -no-color >"$work/init.log" 2>&1 || {
    cat "$work/init.log" >&2
    not_run "$terraform init gets no providers, for the reason above, and VNFBENCH_HELM_PROVIDER and VNFBENCH_KUBERNETES_PROVIDER name none"
  }
  provider() { find -L "$work/examples/addons/.terraform/providers" -type f -name "terraform-provider-$1_v*"; }
  VNFBENCH_HELM_PROVIDER=$(provider helm)
  VNFBENCH_KUBERNETES_PROVIDER=$(provider kubernetes)
fi
VNFBENCH_HELM_PROVIDER=$(realpath "$VNFBENCH_HELM_PROVIDER")
VNFBENCH_KUBERNETES_PROVIDER=$(realpath "$VNFBENCH_KUBERNETES_PROVIDER")
# What the roots make machines with is built from its Go modules.
"$MAKE" -s --no-print-directory "$MATCHBOX" "$MATCHBOX_PROVIDER" "$PROXMOX_PROVIDER" || not_run "Matchbox, its provider or that of Proxmox cannot be built, for the reason above"
python=$(test/scripts/python-tools.sh fakepve test/proxmox/requirements.txt --only-binary :all: --require-hashes) || not_run "fakepve cannot be installed, for the reason above"

"$MAKE" --no-print-directory lab-up KUBEVIRT= images
archives=()
for name in $IMAGES; do archives+=("$BIN/images/$name.tar"); done
if [ "$KUBEVIRT" = 1 ]; then
  status=0
  kubevirt=$("$LAB" kubevirt) || status=$?
  [ $status -ne $unfit ] || not_run "KubeVirt cannot be built here, for the reason above"
  [ $status -eq 0 ] || exit $status
  archives+=("$kubevirt"/*.tar)
  export VNFBENCH_KUBEVIRT_MANIFEST=$kubevirt/operator.yaml
  # KubeVirt's controllers want a node of the control plane, which a cluster of Talos has.
  "$LAB" kubectl -- label node node1 node-role.kubernetes.io/control-plane= --overwrite >/dev/null
fi
"$LAB" load "${archives[@]}"

VNFBENCH_LAB=$LAB VNFBENCH_IMAGE_TAG=$(test/scripts/image-tag.sh)
export VNFBENCH_HELM_PROVIDER VNFBENCH_KUBERNETES_PROVIDER VNFBENCH_LAB VNFBENCH_IMAGE_TAG
export VNFBENCH_MATCHBOX=$MATCHBOX VNFBENCH_MATCHBOX_PROVIDER=$MATCHBOX_PROVIDER VNFBENCH_PROXMOX_PROVIDER=$PROXMOX_PROVIDER VNFBENCH_FAKEPVE=$python/python
cd test/terraform
go test -count=1 -timeout 90m -v -run '^TestAddonsInTheLab$' . | tee "$work/test.log"
# What is in the way of all tests of Terraform is in the line that they print.
grep -q '^--- PASS: TestAddonsInTheLab' "$work/test.log" || not_run "the reason is above"
