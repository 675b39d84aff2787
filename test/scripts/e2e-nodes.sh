#!/usr/bin/env bash
# e2e-nodes.sh: brings up the lab with two nodes, installs the chart with an operator on each, and runs the tests that need
# both: those of test/lab/e2e, and of test/e2e those whose names match TESTS. One operator is left. Called by
# `make e2e-nodes`, which sets LAB, BIN, HELM, NAMESPACE, TESTS and MAKE.
#
# Exit code 3 says that nothing was run, and the last line why: the machine lacks something.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${LAB:?path of lab}" "${BIN:?folder of binaries}" "${HELM:?path of helm}" "${NAMESPACE:?of the operator}" "${TESTS:?pattern}" "${MAKE:=make}"
unfit=3
not_run() { echo "e2e-nodes: NOT RUN: $*" >&2; exit $unfit; }

test/scripts/prerequisites.sh go debian || not_run "this machine lacks what is named above"
status=0
"$LAB" up --nodes 2 --hardware=false || status=$?
[ $status -ne $unfit ] || not_run "there can be no lab here, for the reason above"
[ $status -eq 0 ] || exit $status
export VNFBENCH_E2E_NODES=2 KUBECONFIG
KUBECONFIG=$("$LAB" kubeconfig)
(cd test/lab && VNFBENCH_LAB=$LAB go test -count=1 -timeout 20m -run 'Node|Worker' -v ./e2e)

# A pattern that no test has would pass.
listed=$(cd test/e2e && go test -list "$TESTS" .)
grep -q ^Test <<<"$listed" || { echo "e2e-nodes: test/e2e has no test '$TESTS': correct NODES_TESTS" >&2; exit 1; }

"$MAKE" --no-print-directory install
# operators N CONSTRAINTS runs N operators, which the scheduler places by topology spread constraints.
operators() {
  "$HELM" upgrade vnfbench charts/vnfbench --namespace "$NAMESPACE" --reuse-values --wait --timeout 3m --set replicas="$1" --set-json topologySpreadConstraints="$2" >/dev/null
}
trap 'operators 1 "[]"' EXIT
# Those of the version before do not count, or the new ones could end up on one node.
operators 2 '[{"maxSkew":1,"topologyKey":"kubernetes.io/hostname","whenUnsatisfiable":"DoNotSchedule","matchLabelKeys":["pod-template-hash"]}]'
(cd test/e2e && PATH=$BIN:$PATH go test -count=1 -timeout 60m -run "$TESTS" -v .)
