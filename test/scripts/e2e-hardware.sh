#!/usr/bin/env bash
# e2e-hardware.sh: brings up the lab with its emulated machine, whose network
# cards have virtual functions, installs the chart and runs the tests of test/e2e
# that need them. Called by `make e2e-hardware`, which sets LAB, BIN, TESTS and
# MAKE.
#
# Exit code 3 says that nothing was run, and the last line why: this computer
# lacks something, or the module proxy refuses what the plugins are built from.
set -euo pipefail
cd "$(dirname "$0")/../.."
unfit=3
not_run() { echo "e2e-hardware: NOT RUN: $*" >&2; exit $unfit; }

test/scripts/prerequisites.sh go debian || not_run "this machine lacks what is named above"
status=0
"$LAB" up --hardware || status=$?
[ $status -ne $unfit ] || not_run "there can be no emulated machine in the lab here, for the reason above"
[ $status -eq 0 ] || exit $status

export VNFBENCH_E2E_HARDWARE=1
(cd test/lab && VNFBENCH_LAB=$LAB go test -count=1 -timeout 20m -run Hardware -v ./e2e)

# A pattern that no test has would pass. That is a mistake, and nothing that the
# machine lacks.
listed=$(cd test/e2e && KUBECONFIG=$("$LAB" kubeconfig) LAB=$LAB go test -list "$TESTS" ./...)
grep -q ^Test <<<"$listed" || { echo "e2e-hardware: test/e2e has no test '$TESTS': correct HARDWARE_TESTS" >&2; exit 1; }
"$MAKE" --no-print-directory install
cd test/e2e && KUBECONFIG=$("$LAB" kubeconfig) LAB=$LAB PATH=$BIN:$PATH go test -count=1 -timeout 150m -run "$TESTS" -v ./...
