package doctor

import (
	"errors"
	"runtime"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/test/lab/internal/kvm"
	"vnfbench.io/test/lab/internal/machine"
)

// What the emulated machine takes: its own memory and what QEMU adds; its tree, disk and what it writes to that.
const (
	machineMemoryBytes = (machine.MemoryMiB + 512) << 20
	machineDiskBytes   = 2560 << 20
)

// offer is what this computer has for the emulated machine.
type offer struct {
	architecture           string
	memoryBytes, diskBytes uint64
	// noKVM and noTaps say why it has none; nil where it has.
	noKVM, noTaps error
}

// offered finds out what this computer has for the emulated machine, whose files are below dir.
func offered(dir string) offer {
	disk, _ := freeBytes(dir) // checkDisk reports the error
	return offer{
		architecture: runtime.GOARCH, memoryBytes: availableMemory(), diskBytes: disk,
		noKVM: kvm.Missing(), noTaps: onThread(tryTap),
	}
}

// checkEmulation reports what the emulated machine runs on. Its cards are those of a PC.
func checkEmulation(o offer) []Finding {
	const subject = "emulated machine"
	if o.architecture != "amd64" {
		return []Finding{{subject, Missing, "this computer is " + o.architecture, "use an amd64 computer"}}
	}
	detail := "it runs on KVM"
	if o.noKVM != nil {
		detail = "QEMU emulates its processor: " + o.noKVM.Error()
	}
	findings := []Finding{ok(subject, detail)}
	if o.noTaps != nil {
		findings = append(findings, Finding{"network for it", Missing, "/dev/net/tun: " + o.noTaps.Error(),
			"load it, for example: modprobe tun; lab up --hardware=false brings the lab up without the machine"})
	}
	if o.diskBytes < machineDiskBytes {
		findings = append(findings, Finding{"disk for it", Warning, gibibytes(o.diskBytes) + " free", "it takes up to " + gibibytes(machineDiskBytes) + ": make room"})
	}
	if o.memoryBytes < machineMemoryBytes {
		findings = append(findings, Finding{"memory for it", Warning, gibibytes(o.memoryBytes) + " available", "it takes up to " + gibibytes(machineMemoryBytes) + ": free some"})
	}
	return findings
}

// tryTap creates a tap interface, by which QEMU connects the machine, in a new network namespace of this thread.
func tryTap() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	tap := &netlink.Tuntap{LinkAttrs: named("tap0"), Mode: netlink.TUNTAP_MODE_TAP, NonPersist: true}
	if err := tryLink(tap); err != nil {
		return err
	}
	var failed []error
	for _, file := range tap.Fds {
		failed = append(failed, file.Close())
	}
	return errors.Join(failed...)
}
