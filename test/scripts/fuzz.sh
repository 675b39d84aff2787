#!/usr/bin/env bash
# Runs every fuzz target of the operator, one after the other, FUZZTIME each, and prints a line for each:
# its package, its name, and how many inputs it tried. Fails when one fails, with the input that did it, or
# tries none.
set -euo pipefail
cd "$(dirname "$0")/../../operator"
time=${FUZZTIME:-1m} only=${FUZZ:-.} failed=0 ran=0
log=$(mktemp) binary=$(mktemp)
trap 'rm -f "$log" "$binary"' EXIT
for file in $(git ls-files -co --exclude-standard '*_test.go' | xargs grep -l '^func Fuzz' | sort); do
  folder=$(dirname "$file")
  targets=$(sed -n 's/^func \(Fuzz[A-Za-z0-9]*\)(f \*testing\.F).*/\1/p' "$file" | grep -E "$only" || true)
  [ -n "$targets" ] || continue
  go test -c -o "$binary" -fuzz=. "./$folder"
  for target in $targets; do
    ran=$((ran + 1))
    # Go makes each input that reaches new code smaller first: ten tries, since its minute leaves no time for
    # others with large inputs. Two workers: more would only share the cores of a small machine. Inputs that reach more code are kept
    # in Go's cache, for the next time. A machine under load may not end a worker in time, which Go reports
    # as a failure without an input.
    if { (cd "$folder" && "$binary" -test.run='^$' -test.fuzz="^$target\$" -test.fuzztime="$time" -test.parallel=2 -test.fuzzminimizetime=10x \
      -test.fuzzcachedir="$(go env GOCACHE)/fuzz/vnfbench/$folder") >"$log" 2>&1 || { grep -q '^    context deadline exceeded$' "$log" && ! grep -q 'Failing input' "$log"; }; } && tried=$(grep -o 'execs: [1-9][0-9]*' "$log" | tail -1) && [ -n "$tried" ]; then
      printf 'ok    %-40s %-20s %s\n' "$folder" "$target" "$tried"
    else
      failed=1
      printf 'FAIL  %-40s %s\n' "$folder" "$target"
      tail -60 "$log"
    fi
  done
done
[ "$ran" -gt 0 ] || { echo "fuzz: no target matches $only" >&2; exit 1; }
echo "fuzz: $ran targets, $time each"
exit $failed
