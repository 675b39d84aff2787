package kubevirt

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
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
	if err := tryKVM("/proc/cpuinfo", "/dev/kvm"); err != nil {
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

// virtualization are the processor's flags of hardware virtualization, Intel's
// and AMD's.
var virtualization = []string{"vmx", "svm"}

// tryKVM looks for what a stock guest needs. It is not enough that /dev/kvm opens, or even runs
// simple guests: a kernel that is a guest itself can offer a KVM without the processor's help,
// which boots only kernels made for it.
func tryKVM(cpuInfo, device string) error {
	data, err := os.ReadFile(cpuInfo)
	if err != nil {
		return fmt.Errorf("reading the processor's flags: %w", err)
	}
	if !slices.ContainsFunc(strings.Fields(string(data)), func(word string) bool {
		return slices.Contains(virtualization, word)
	}) {
		return errors.New("the processor offers neither vmx nor svm")
	}
	file, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("opening KVM: %w", err)
	}
	return file.Close()
}
