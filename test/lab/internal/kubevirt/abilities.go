package kubevirt

import (
	"runtime"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/test/lab/internal/kvm"
)

// Abilities are what this machine's kernel offers virtual machines.
type Abilities struct {
	// KVM says whether guests run on the processor itself; QEMU emulates one otherwise.
	KVM bool
	// WhyNot says why there is no KVM.
	WhyNot string
	// Dummy says whether there are links of the kind "dummy".
	Dummy bool
}

// Examine tests what the kernel can do, and leaves nothing on the machine.
func Examine() Abilities {
	a := Abilities{KVM: true, Dummy: hasDummyLinks()}
	if err := kvm.Missing(); err != nil {
		a.KVM, a.WhyNot = false, err.Error()
	}
	return a
}

// String describes the consequences to a person.
func (a Abilities) String() string {
	text := "guests run on KVM"
	if !a.KVM {
		text = "guests run on a processor that QEMU emulates: " + a.WhyNot
	}
	if !a.Dummy {
		text += "; this kernel has no dummy links, so KubeVirt is built with bridges in their place"
	}
	return text
}

// hasDummyLinks makes one in a temporary network namespace.
func hasDummyLinks() bool {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the namespace ends with the thread
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			result <- err
			return
		}
		attributes := netlink.NewLinkAttrs()
		attributes.Name = "dummy-probe"
		result <- netlink.LinkAdd(&netlink.Dummy{LinkAttrs: attributes})
	}()
	return <-result == nil
}
