# with-lab.sh: brings up the lab and installs the operator for a script that measures there, which sources it with the make variables of
# both, such as KUBEVIRT=1. It defines started, step and kubectl.
# shellcheck shell=bash
started=$SECONDS
step() { printf '\n== %s  [%d s]\n' "$*" $((SECONDS - started)); }

test/scripts/prerequisites.sh go debian

step "Starting the one-node lab${1:+ with $1} (the first time it is built: several minutes${1:+, and more with $1})"
make --no-print-directory lab-up "$@"

step "Building the operator and installing its chart"
make --no-print-directory install plugin "$@"

export KUBECONFIG
KUBECONFIG=$(bin/lab kubeconfig)
kubectl() { bin/lab kubectl -- "$@"; }
