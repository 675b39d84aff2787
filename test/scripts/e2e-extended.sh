#!/usr/bin/env bash
# e2e-extended.sh kubevirt|hardware: brings up the lab with KubeVirt, or with its emulated machine whose network cards have
# virtual functions; runs the lab's own tests of it, installs the chart, and runs the tests of test/e2e that need it. Where
# a virtual machine with virtual functions is among them, the lab gets both. Called by `make e2e-kubevirt` and
# `make e2e-hardware`, which set LAB, BIN, TESTS and MAKE.
#
# Exit code 3 says that nothing was run, and the last line why: the machine lacks something, or the module proxy refuses
# what KubeVirt, or the plugins for virtual functions, are built from. If only some tests lack something, the others run:
# the exit code is theirs, and the last lines name what was not run.
set -euo pipefail
cd "$(dirname "$0")/../.."
extension=$1
unfit=3
not_run() { echo "e2e-$extension: NOT RUN: $*" >&2; exit $unfit; }

test/scripts/prerequisites.sh go || not_run "this machine lacks what is named above"
# A pattern that no test has would pass. That is a mistake, and nothing that the
# machine lacks.
listed=$(cd test/e2e && go test -list "$TESTS" ./...)
tests=$(grep ^Test <<<"$listed") || { echo "e2e-$extension: test/e2e has no test '$TESTS': correct ${extension^^}_TESTS" >&2; exit 1; }
wanted() { grep -qx "$1" <<<"$tests"; }
left_out=() skip=()
say_left_out() { for test in "${left_out[@]}"; do echo "e2e-$extension: NOT RUN: $test" >&2; done; }
# leave_out TEST WHY leaves a test out, if it is among them. It ends the script if there is no other.
leave_out() {
  wanted "$1" || return 0
  left_out+=("$1: $2")
  skip=(-skip "${skip[1]:+${skip[1]}|}^$1\$")
  tests=$(grep -vx "$1" <<<"$tests") || { say_left_out; exit $unfit; }
}
# up FLAG... brings up the lab. It is false if the machine lacks what that needs.
up() {
  local status=0
  "$LAB" up "$@" || status=$?
  [ $status -eq 0 ] || [ $status -eq $unfit ] || exit $status
  return $status
}

needs=(debian) install=(KUBEVIRT=)
case $extension in
  kubevirt) missing=KubeVirt lab_tests=KubeVirt timeout=60m needs+=(guest) install=(KUBEVIRT=1) ;;
  hardware)
    missing="emulated machine" lab_tests=Hardware timeout=120m
    [ -n "${TREX_TARBALL:-}" ] || leave_out TestHardwareTRex "set TREX_TARBALL and TREX_SHA256, of a TRex that you bring"
    ! wanted TestHardwareCustomContainer || needs+=(testpmd)
    ! wanted TestHardwareVirtualMachine || needs+=(guest) ;;
  *) echo "e2e-extended.sh: $extension is neither kubevirt nor hardware" >&2; exit 2 ;;
esac
test/scripts/prerequisites.sh "${needs[@]}" || not_run "this machine lacks what is named above"

is_up=
if [ "$extension" = hardware ] && wanted TestHardwareVirtualMachine; then
  if up --hardware --kubevirt; then
    is_up=1 install=(KUBEVIRT=1)
    export VNFBENCH_E2E_KUBEVIRT=1
  else
    leave_out TestHardwareVirtualMachine "there can be no KubeVirt in the lab here: see what 'lab up' says above"
    export VNFBENCH_LAB_KUBEVIRT=0
  fi
fi
[ -n "$is_up" ] || up "--$extension" || not_run "there can be no $missing in the lab here, for the reason above"

export "VNFBENCH_E2E_${extension^^}=1" LAB
(cd test/lab && VNFBENCH_LAB=$LAB go test -count=1 -timeout 20m -run "$lab_tests" -v ./e2e)

KUBECONFIG=$("$LAB" kubeconfig)
export KUBECONFIG
"$MAKE" --no-print-directory install "${install[@]}"
if [ "$extension" = hardware ] && wanted TestHardwareTRex; then
  "$MAKE" --no-print-directory trex-image
  "$LAB" load "$BIN/images/trex.tar"
  VNFBENCH_E2E_TREX_IMAGE=$(tar -xOf "$BIN/images/trex.tar" manifest.json | sed 's/.*"RepoTags":\["\([^"]*\)"\].*/\1/')
  export VNFBENCH_E2E_TREX_IMAGE
fi
status=0
(cd test/e2e && PATH=$BIN:$PATH go test -count=1 -timeout "$timeout" -run "$TESTS" "${skip[@]}" -v ./...) || status=$?
say_left_out
exit $status
