#!/usr/bin/env bash
# Runs every fuzz target of the operator, one after the other, FUZZTIME each, and prints a line for each:
# its package, its name, and how many inputs it tried. Fails when one fails, with the input that did it, or
# tries none. An input that took too long is tried alone, ten times: where that takes less than ten seconds of the
# processor, other work kept the target off the cores, and its line says so. A worker that Go lost without an input, as
# it does when the worker takes more than a second to end, says nothing: its target runs again, and its line says
# so. A process that takes more than 8 GiB of memory fails with the input that did it, and other work of the machine
# continues.
set -euo pipefail
cd "$(dirname "$0")/../../operator"
time=${FUZZTIME:-1m} only=${FUZZ:-.} failed=0 ran=0
log=$(mktemp) alone=$(mktemp) binary=$(mktemp)
trap 'rm -f "$log" "$alone" "$binary"' EXIT
# Address space in KiB of each fuzz process.
memory=8388608
# ended says whether a run of a target found nothing: it ended well, or a machine under load did not end a worker in
# time, which Go reports as a failure without an input.
ended() {
  [ "$1" = 0 ] || { grep -q '^    context deadline exceeded$' "$log" && ! grep -q 'Failing input' "$log"; }
}
# starved says whether an input took too long for Go, which ends the worker, or for its target, and passes alone, ten
# times, in less than ten seconds of the processor. Then it removes the input.
starved() {
  local folder=$1 target=$2 input
  grep -qE 'fuzzing process hung or terminated unexpectedly|: it took [0-9]' "$log" || return 1
  input=$(sed -n 's|^ *Failing input written to \(testdata/fuzz/[A-Za-z0-9_/]*\)$|\1|p' "$log")
  [ -f "$folder/$input" ] || return 1
  (cd "$folder" && ulimit -v $memory && TIMEFORMAT='processor %U' && time "$binary" -test.run="^$target\$/^${input##*/}\$" -test.count=10 -test.v -test.timeout=2m) >"$alone" 2>&1 || return 1
  [ "$(grep -c "^ *--- PASS: $target/" "$alone")" = 10 ] || return 1
  awk '/^processor / { found = $2 < 10 } END { exit !found }' "$alone" || return 1
  rm "$folder/$input"
}
# lost says whether Go lost a worker and has no input for it.
lost() { grep -q '^    communicating with fuzzing process: ' "$log" && ! grep -q 'Failing input' "$log"; }
for file in $(git ls-files -co --exclude-standard '*_test.go' | xargs grep -l '^func Fuzz' | sort); do
  folder=$(dirname "$file")
  targets=$(sed -n 's/^func \(Fuzz[A-Za-z0-9]*\)(f \*testing\.F).*/\1/p' "$file" | grep -E "$only" || true)
  [ -n "$targets" ] || continue
  go test -c -o "$binary" -fuzz=. "./$folder"
  for target in $targets; do
    ran=$((ran + 1))
    # Go makes each input that reaches new code smaller first: ten tries, since its minute leaves no time for
    # others with large inputs. Two workers: more would only share the cores of a small machine. Inputs that reach more code are kept
    # in Go's cache, for the next time.
    again=
    while :; do
      code=0
      (cd "$folder" && cache=$(go env GOCACHE) && ulimit -v $memory && "$binary" -test.run='^$' -test.fuzz="^$target\$" -test.fuzztime="$time" -test.parallel=2 -test.fuzzminimizetime=10x \
        -test.fuzzcachedir="$cache/fuzz/vnfbench/$folder") >"$log" 2>&1 || code=$?
      [ -z "$again" ] && lost || break
      again=', in a second run: Go lost a worker of the first one'
    done
    tried=$(grep -o 'execs: [1-9][0-9]*' "$log" | tail -1 || true)
    # The inputs of earlier times come first, and can take all of a short or busy one.
    [ -n "$tried" ] || tried=$(sed -n 's|.*gathering baseline coverage: \([1-9][0-9]*/[0-9]*\) completed.*|\1 known inputs, and no new ones|p' "$log" | tail -1)
    if [ -n "$tried" ] && ended $code; then
      printf 'ok    %-40s %-20s %s\n' "$folder" "$target" "$tried$again"
    elif [ -n "$tried" ] && starved "$folder" "$target"; then
      printf 'ok    %-40s %-20s %s, and no more: other work kept a worker off the cores for ten seconds\n' "$folder" "$target" "$tried"
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
