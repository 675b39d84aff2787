package xdp

// The same command on Debian 12 and 13 with clang-19, libbpf-dev and linux-libc-dev makes
// the same bytes: "make verify" rebuilds and compares. The object has no path of the
// machine that built it. Only bpfel: the generator runs on little-endian machines.
//
//go:generate go run github.com/cilium/ebpf/cmd/bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -no-global-types -type state -type transmitter -type receiver -type schedule -type run -type spread -type slot -type flow_field -type frame_size -type packet -type resolver traffic ../../../bpf/traffic.bpf.c -- -O2 -Wall -Werror -mcpu=v3 -I../../../bpf -idirafter /usr/include/x86_64-linux-gnu -idirafter /usr/include/aarch64-linux-gnu
