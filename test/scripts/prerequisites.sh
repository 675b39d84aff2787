#!/usr/bin/env bash
# prerequisites.sh WHAT...: checks what a target needs, installs Debian packages
# that are missing, and says what it cannot install. WHAT is any of
#   go      a Go toolchain
#   debian  packages and rights that the tests need
#   bpf     the compiler that makes the BPF objects
#   guest   what the guests of virtual machines are made with
#   qemu    what boots them, by BIOS and by UEFI
#   iperf   iperf3, which goes into the image of the ends of TCP connections
#   python  Python, which builds the documentation's site and unpacks schemas
#   stress  stress-ng, which goes into the image of noisy neighbors
#   release what unpacks Debian packages of another architecture and writes a release
#   containers what builds images by a Containerfile, and a base for them
#   emulation what runs programs for arm64
#   testpmd DPDK's testpmd, which a test measures as a user's own container
#   browser Chromium, which opens pages of results
#   bench   what benchmarks compare with
set -euo pipefail
fail() { echo "missing: $*" >&2; exit 1; }

install() { # install COMMAND-OR-FILE:PACKAGE...
  local want=() pair
  for pair in "$@"; do
    command -v "${pair%%:*}" >/dev/null 2>&1 || [ -e "${pair%%:*}" ] || want+=("${pair#*:}")
  done
  [ ${#want[@]} -gt 0 ] || return 0
  [ "$(id -u)" = 0 ] || fail "Debian packages ${want[*]}; run as root, or: apt-get install ${want[*]}"
  command -v apt-get >/dev/null || fail "${want[*]} (no apt-get here; install them by your distribution's means)"
  echo "installing Debian packages: ${want[*]}" >&2
  # A mirror may fail once, and a new machine may be installing something by itself.
  local patient=(-qq -o Acquire::Retries=3 -o DPkg::Lock::Timeout=600)
  apt-get "${patient[@]}" update >&2
  DEBIAN_FRONTEND=noninteractive apt-get "${patient[@]}" -y install --no-install-recommends "${want[@]}" >/dev/null
}

for what in "$@"; do
  case $what in
    go)
      command -v go >/dev/null || fail "Go 1.26 or newer; install it from go.dev and put it on the PATH"
      version=$(go env GOVERSION); version=${version#go}; minor=${version#1.}; minor=${minor%%[.r-]*}
      [ "$minor" -ge 26 ] 2>/dev/null || [ "$(go env GOTOOLCHAIN)" != local ] || fail "Go 1.26 or newer (this is $version, and GOTOOLCHAIN=local forbids it to fetch one)"
      ;;
    debian)
      [ "$(id -u)" = 0 ] || fail "root: the tests make network namespaces and load BPF programs; run with sudo"
      install ip:iproute2 tc:iproute2 ethtool:ethtool tcpdump:tcpdump taskset:util-linux nft:nftables iptables-legacy-save:iptables iperf3:iperf3 stress-ng:stress-ng
      ;;
    bpf) install clang-19:clang-19 llvm-strip-19:llvm-19 /usr/include/bpf/bpf_helpers.h:libbpf-dev /usr/include/linux/bpf.h:linux-libc-dev ;;
    guest) install depmod:kmod mformat:mtools syslinux:syslinux /usr/sbin/mke2fs:e2fsprogs ;;
    qemu) install qemu-system-x86_64:qemu-system-x86 xorrisofs:xorriso /usr/share/ovmf/OVMF.fd:ovmf ;;
    iperf) install iperf3:iperf3 ;;
    python) python3 -c 'import ensurepip, venv' 2>/dev/null || install ensurepip:python3-venv ;;
    stress) install stress-ng:stress-ng ;;
    testpmd) install dpdk-testpmd:dpdk-dev ;;
    browser) [ -n "${CHROMIUM:-}" ] || install chromium:chromium ;;
    release) install jq:jq readelf:binutils dpkg-deb:dpkg ;;
    containers) install buildah:buildah debootstrap:debootstrap ;;
    emulation) [ "$(uname -m)" = aarch64 ] || install qemu-aarch64-static:qemu-user-static /usr/aarch64-linux-gnu/include/asm/types.h:linux-libc-dev-arm64-cross ;;
    bench)
      install taskset:util-linux ethtool:ethtool
      for peer in trafgen:netsniff-ng iperf3:iperf3 dpdk-testpmd:dpdk-dev; do
        (install "$peer") || echo "not installed: ${peer%%:*}; the benchmark says so and continues" >&2
      done
      ;;
    *) fail "prerequisites.sh does not know '$what'" ;;
  esac
done
