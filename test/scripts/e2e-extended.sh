#!/usr/bin/env bash
# e2e-extended.sh kubevirt|hardware: brings up the lab with KubeVirt, or with its emulated machine whose network cards have
# virtual functions; runs the lab's own tests of it, installs the chart, and runs the tests of test/e2e that need it. Where
# a virtual machine with virtual functions is among them, the lab gets both. Called by `make e2e-kubevirt` and
# `make e2e-hardware`, which set LAB, BIN, TESTS and MAKE.
#
# Exit code 3 says that nothing was run, and the last line why: the machine lacks something, or the module proxy refuses
# what KubeVirt, or the plugins for virtual functions, are built from.
set -euo pipefail
cd "$(dirname "$0")/../.."
extension=$1
up=("--$extension") install=()
case $extension in
  kubevirt) missing=KubeVirt lab_tests=KubeVirt timeout=60m install=(KUBEVIRT=1) ;;
  hardware)
    missing="emulated machine" lab_tests=Hardware timeout=180m
    if grep -qE -- "$TESTS" <<<TestHardwareVirtualMachine; then
      missing+=" with KubeVirt" up+=(--kubevirt) install=(KUBEVIRT=1)
      export VNFBENCH_E2E_KUBEVIRT=1
    fi ;;
  *) echo "e2e-extended.sh: $extension is neither kubevirt nor hardware" >&2; exit 2 ;;
esac
unfit=3
not_run() { echo "e2e-$extension: NOT RUN: $*" >&2; exit $unfit; }

test/scripts/prerequisites.sh go debian || not_run "this machine lacks what is named above"
status=0
"$LAB" up "${up[@]}" || status=$?
[ $status -ne $unfit ] || not_run "there can be no $missing in the lab here, for the reason above"
[ $status -eq 0 ] || exit $status

export "VNFBENCH_E2E_${extension^^}=1" LAB
(cd test/lab && VNFBENCH_LAB=$LAB go test -count=1 -timeout 20m -run "$lab_tests" -v ./e2e)

# A pattern that no test has would pass. That is a mistake, and nothing that the
# machine lacks.
KUBECONFIG=$("$LAB" kubeconfig)
export KUBECONFIG
listed=$(cd test/e2e && go test -list "$TESTS" ./...)
grep -q ^Test <<<"$listed" || { echo "e2e-$extension: test/e2e has no test '$TESTS': correct ${extension^^}_TESTS" >&2; exit 1; }
"$MAKE" --no-print-directory install "${install[@]}"
if [ "$extension" = hardware ] && [ -n "${TREX_TARBALL:-}" ]; then
  "$MAKE" --no-print-directory trex-image
  "$LAB" load "$BIN/images/trex.tar"
  VNFBENCH_E2E_TREX_IMAGE=$(tar -xOf "$BIN/images/trex.tar" manifest.json | sed 's/.*"RepoTags":\["\([^"]*\)"\].*/\1/')
  export VNFBENCH_E2E_TREX_IMAGE
fi
cd test/e2e && PATH=$BIN:$PATH go test -count=1 -timeout "$timeout" -run "$TESTS" -v ./...
