#!/usr/bin/env bash
# The demo of virtual machines: a cluster with KubeVirt, the operator, the same
# router as a pod and in virtual machines on virtio and on e1000, and the three
# results side by side. Can be repeated; what is slow is cached. `make lab-down`
# removes the cluster.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=test/scripts/with-lab.sh
. test/scripts/with-lab.sh KUBEVIRT=1
# In the order in which runs that were applied at once are measured.
runs=(router-as-pod router-as-vm-e1000 router-as-vm-virtio)

step "Applying a Testbed and three BenchmarkRuns of one router: ${runs[*]}"
# A run's spec is immutable and its result is kept; a repeated demo measures again.
kubectl delete benchmarkrun "${runs[@]}" --ignore-not-found --wait --timeout=180s
kubectl apply -f config/samples/testbed-virtual-machines.yaml -f config/samples/router-runtimes.yaml

verdict=0
for run in "${runs[@]}"; do
  step "Measuring $run (the runs share a testbed, so one is measured at a time)"
  bin/kubectl-vnfbench watch "$run" --timeout 30m || verdict=$?
done

step "The three side by side"
bin/kubectl-vnfbench compare "${runs[@]}"

cat <<TXT

The demo took $((SECONDS - started)) s.

What to try next:
  export KUBECONFIG=$KUBECONFIG PATH=$PWD/bin:\$PATH
  bin/kubectl-vnfbench compare ${runs[*]} -o csv          or json, markdown
  bin/kubectl-vnfbench report router-as-vm-e1000          all that is known of one
  bin/lab kubectl -- get benchmarkrun router-as-vm-virtio -o jsonpath='{.status.chain}'
  make lab-down                                           remove the lab
TXT
exit $verdict
