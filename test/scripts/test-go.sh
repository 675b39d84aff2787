#!/usr/bin/env bash
# test-go.sh: vets and tests the module in operator/. Called by `make test-go`,
# which sets KUBEBUILDER_ASSETS, the folder of a real API server.
set -euo pipefail
cd "$(dirname "$0")/../../operator"
# shellcheck source=test/scripts/parts.sh
. ../test/scripts/parts.sh

# Packages whose tests send packets or measure times run one at a time.
alone='/operator/(cmd/(measurer|vnf)|internal/(clock|endpoint|guest|measurer|neighbor|nodefacts|observer|serve|traffic|vnf))(/|$)'
# The tests of the controllers take longest. They run in two parts side by side,
# each with a separate API server: those of suites, and those of runs.
controllers=./internal/controller/envtest
suites='^Test(Suite|Measurements|Regression)'
# `go vet` has looked at everything before.
test=(go test -vet=off -count=1 -timeout 40m)

parts_begin "go vet" "controllers: runs" "Go packages" "controllers: suites" "Go packages that measure times"
part "go vet" go vet ./...
packages=$(go list ./... | grep -v '/controller/envtest$')
failed=0
part "controllers: runs" "${test[@]}" -skip "$suites" $controllers & runs=$!
trap 'kill $runs' INT TERM
part "Go packages" "${test[@]}" -p 2 $(grep -vE "$alone" <<<"$packages") || failed=1
part "controllers: suites" "${test[@]}" -run "$suites" $controllers || failed=1
wait $runs || failed=1
part "Go packages that measure times" "${test[@]}" -p 1 $(grep -E "$alone" <<<"$packages") || failed=1
exit $failed
