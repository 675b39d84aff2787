#!/usr/bin/env bash
# The demo: a cluster, the operator, a run, its result. Can be repeated; what
# is slow is cached. CLUSTER=current: in the cluster of kubectl's current context,
# without root. `make demo-down` removes what it made.
set -euo pipefail
cd "$(dirname "$0")/../.."
cluster=${CLUSTER:-lab}
case $cluster in
  lab)
    # shellcheck source=test/scripts/with-lab.sh
    . test/scripts/with-lab.sh
    namespace=default
    marked() { cat; }
    ;;
  *)
    # shellcheck source=test/scripts/with-cluster.sh
    . test/scripts/with-cluster.sh
    marked() { kubectl label --local -f - "$mark" -o json; }
    ;;
esac
vnfbench() { bin/kubectl-vnfbench "$@" --namespace "$namespace"; }

step "Applying config/samples: a Testbed, and a BenchmarkRun of a router"
# A run's spec is immutable and its result is kept; a repeated demo measures again.
kubectl delete benchmarkrun router --namespace "$namespace" --ignore-not-found --wait --timeout=60s
kubectl kustomize config/samples | marked | kubectl apply --namespace "$namespace" -f -

step "Measuring"
measuring=$SECONDS
verdict=0
vnfbench watch router --timeout 15m || verdict=$?
measured=$((SECONDS - measuring))

step "The report"
vnfbench report router
vnfbench report router -o html --output-file bin/router.html
kubectl get testbeds,benchmarkruns --namespace "$namespace"

if [ "$cluster" = current ]; then
  cat <<TXT

The demo took $((SECONDS - started)) s, the run itself $measured s of them.

The report with pictures is in $PWD/bin/router.html: open it in a browser. It needs no network.

What to try next:
  $KUBECTL get benchmarkrun router -n $namespace -o yaml      the whole status
  $KUBECTL apply -n $namespace -f config/samples/chain-of-four.yaml
  bin/kubectl-vnfbench watch chain-of-four -n $namespace --context $context
What removes it, results included:
  $removal
TXT
  exit $verdict
fi

step "The results page"
# The lab's user has a client certificate, which says nothing to the results service: this account sees the runs of its namespace there.
kubectl create serviceaccount results-reader --dry-run=client -o yaml | kubectl apply -f - >/dev/null
kubectl create rolebinding results-reader --clusterrole=vnfbench-viewer --serviceaccount=default:results-reader --dry-run=client -o yaml | kubectl apply -f - >/dev/null
kubectl wait benchmarkrun/router --for=condition=Archived --timeout=60s

cat <<TXT

The demo took $((SECONDS - started)) s, the run itself $measured s of them.

The report with pictures is in $PWD/bin/router.html: open it in a browser. It needs no network.
The results page shows this run and all others that are archived:
  KUBECONFIG=$KUBECONFIG $PWD/bin/kubectl-vnfbench ui --service-account results-reader

What to try next:
  export KUBECONFIG=$KUBECONFIG PATH=$PWD/bin:\$PATH
  bin/lab kubectl -- get benchmarkrun router -o yaml      the whole status
  bin/lab kubectl -- apply -f config/samples/chain-of-four.yaml
  bin/kubectl-vnfbench watch chain-of-four
  bin/kubectl-vnfbench report router -o markdown          or json, csv, junit
  bin/lab kubectl -- apply -f config/samples/router-accepted.yaml
  make lab-down                                           remove the lab
TXT
exit $verdict
