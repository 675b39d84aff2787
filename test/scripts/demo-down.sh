#!/usr/bin/env bash
# demo-down.sh: removes what the demo made: the lab, or with CLUSTER=current what
# has the demo's mark in the cluster of kubectl's current context.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "${CLUSTER:-lab}" != lab ] || exec make --no-print-directory lab-down
# shellcheck source=test/scripts/current-cluster.sh
. test/scripts/current-cluster.sh
owner_of namespace "$namespace"
[ "$owner" = demo ] || refuse "The cluster of context $context has nothing of the demo: there is no namespace $namespace that it made."
look namespace "$namespace" -o 'jsonpath={.metadata.annotations.vnfbench\.io/demo-multus}'
multus=$found
kinds=benchmarksuites,benchmarksuiteruns,benchmarkruns,benchmarkmeasurements

step "Removing the demo from the cluster of context $context"
make --no-print-directory "$HELM"
look crd benchmarkruns.vnfbench.io -o name
crds=$found
left=
if [ -n "$crds" ]; then
  # The operator takes down what runs and Testbeds have made, so it goes after them.
  stuck="The operator did not let it go in time: docs/how-to/remove.md says what to do where the operator is gone."
  kubectl delete "$kinds" --all --namespace "$namespace" --timeout=5m || refuse "$stuck"
  kubectl delete testbeds --selector "$mark" --timeout=5m || refuse "$stuck"
  look "testbeds,$kinds" --all-namespaces -o name
  left=$found
fi
[ -z "$left" ] || refuse "The operator stays, because there are objects of others, which it serves:" "$left" \
  "Remove them and run this command again, or remove the operator alone: $HELM uninstall vnfbench --namespace $system"
"$HELM" uninstall vnfbench --namespace "$system" --ignore-not-found --wait
kubectl delete crds {benchmarkmeasurements,benchmarkruns,benchmarksuiteruns,benchmarksuites,testbeds}.vnfbench.io --ignore-not-found
for name in "$system" "$namespace"; do
  owner_of namespace "$name"
  [ "$owner" != demo ] || kubectl delete namespace "$name" --timeout=5m
done
[ -z "$multus" ] || printf '%s\n' "Multus stays, because pods of others may use it. This removes it:" "  $KUBECTL delete -f $multus" \
  "Remove its file 00-multus.conf from /etc/cni/net.d of each node too: until then new pods of the node get no network."
