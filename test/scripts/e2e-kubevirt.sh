#!/usr/bin/env bash
# e2e-kubevirt.sh: brings up the lab with KubeVirt, boots a virtual machine in
# it, installs the chart and runs the tests of test/e2e that need virtual
# machines. Called by `make e2e-kubevirt`, which sets LAB, BIN, TESTS and MAKE.
#
# Exit code 3 says that nothing was run, and the last line why: the machine
# lacks something, or the module proxy refuses what KubeVirt is built from.
set -euo pipefail
cd "$(dirname "$0")/../.."
unfit=3
not_run() { echo "e2e-kubevirt: NOT RUN: $*" >&2; exit $unfit; }

test/scripts/prerequisites.sh go debian || not_run "this machine lacks what is named above"
status=0
"$LAB" up --kubevirt || status=$?
[ $status -ne $unfit ] || not_run "there can be no KubeVirt in the lab here, for the reason above"
[ $status -eq 0 ] || exit $status

export VNFBENCH_E2E_KUBEVIRT=1
(cd test/lab && VNFBENCH_LAB=$LAB go test -count=1 -timeout 20m -run KubeVirt -v ./e2e)

# A pattern that no test has would pass. That is a mistake, and nothing that the
# machine lacks.
listed=$(cd test/e2e && KUBECONFIG=$("$LAB" kubeconfig) LAB=$LAB go test -list "$TESTS" ./...)
grep -q ^Test <<<"$listed" || { echo "e2e-kubevirt: test/e2e has no test '$TESTS': correct KUBEVIRT_TESTS" >&2; exit 1; }
"$MAKE" --no-print-directory install KUBEVIRT=1
cd test/e2e && KUBECONFIG=$("$LAB" kubeconfig) PATH=$BIN:$PATH go test -count=1 -timeout 60m -run "$TESTS" -v ./...
