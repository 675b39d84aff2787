#!/usr/bin/env bash
# test-go.sh: vets and tests the module in operator/. Called by `make test-go`,
# which sets KUBEBUILDER_ASSETS, the folder of a real API server.
set -euo pipefail
cd "$(dirname "$0")/../../operator"
# shellcheck source=test/scripts/parts.sh
. ../test/scripts/parts.sh

# Packages whose tests send packets or measure times run one at a time. The few of
# their tests that run in parallel wait for a simulated server.
alone='/operator/(cmd/(measurer|vnf)|internal/(clock|endpoint|guest|measurer|neighbor|nodefacts|observer|serve|traffic|vnf))(/|$)'
# The tests of the controllers take longest, next to the other packages. They wait
# more than they compute, so more of them run at the same time than there are cores.
controllers=./internal/controller/envtest
# `go vet` has looked at everything before.
test=(go test -vet=off -count=1 -timeout 40m)

parts_begin "go vet" "controllers" "Go packages" "Go packages that measure times"
part "go vet" go vet ./...
packages=$(go list ./... | grep -v '/controller/envtest$')
failed=0
set -m # with a process group, which has the API server too
part "controllers" "${test[@]}" -parallel 6 $controllers & running=$!
set +m
trap 'kill -- -$running; exit 130' INT TERM
part "Go packages" "${test[@]}" -p 2 $(grep -vE "$alone" <<<"$packages") || failed=1
wait $running || failed=1
part "Go packages that measure times" "${test[@]}" -p 1 -parallel 8 $(grep -E "$alone" <<<"$packages") || failed=1
exit $failed
