#!/usr/bin/env bash
# test-arm64.sh: builds and vets all code for arm64, compares the BPF objects with some that are made with arm64's kernel
# headers, and runs tests there: natively on arm64, elsewhere under QEMU's emulation of one program. Tests that need
# a kernel, a cluster, other programs or exact times are left out: emulation has none of them for arm64.
set -euo pipefail
cd "$(dirname "$0")/../../operator"
export GOARCH=arm64 CGO_ENABLED=0
started=$SECONDS
step() { printf '== %s  [%d s]\n' "$*" $((SECONDS - started)); }
# Bytes, arithmetic and texts: what differs between processors shows here, such as a fused multiply-add in a figure.
packages=(
  ./internal/acceptance ./internal/baseline ./internal/distribution ./internal/evidence ./internal/figure ./internal/measure
  ./internal/placement ./internal/plot ./internal/records ./internal/schedule ./internal/search ./internal/series
  ./internal/statistics ./internal/suite ./internal/traffic/frames ./internal/traffic/headers ./internal/traffic/simulated
  ./internal/traffic/trex/astf ./internal/vnf/filter
)
step "Build and vet for arm64"
go build ./...
go vet ./...
step "BPF objects by the headers of each architecture"
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
for object in traffic record; do
  for headers in x86_64 aarch64; do
    include=
    for folder in "/usr/$headers-linux-gnu/include" "/usr/include/$headers-linux-gnu"; do
      if [ -e "$folder/asm/types.h" ]; then include=$folder; fi
    done
    [ -n "$include" ] || { echo "missing: asm/types.h of $headers" >&2; exit 1; }
    clang-19 -target bpfel -O2 -g -Wall -Werror -mcpu=v3 -Ibpf -idirafter "$include" -c "bpf/$object.bpf.c" -o "$objects/$object.$headers.o"
    llvm-strip-19 -g "$objects/$object.$headers.o"
  done
  cmp "$objects/$object.x86_64.o" "$objects/$object.aarch64.o"
  echo "$object: equal"
done
emulator=()
[ "$(uname -m)" = aarch64 ] || emulator=(-exec qemu-aarch64-static)
step "Tests of ${#packages[@]} packages for arm64${emulator:+, under emulation}"
go test "${emulator[@]}" -count=1 -p 2 -timeout 20m "${packages[@]}"
step "Done"
