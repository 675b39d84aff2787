// Package kvm finds out whether this computer's processor runs virtual machines. The kernel's files go in; what is
// missing comes out.
package kvm

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Missing returns an error that says why QEMU has to emulate a processor, or nil where the processor itself runs
// virtual machines.
func Missing() error { return try("/proc/cpuinfo", "/dev/kvm") }

// virtualization are the processor's flags of hardware virtualization, Intel's
// and AMD's.
var virtualization = []string{"vmx", "svm"}

// try looks for what a stock guest needs. It is not enough that /dev/kvm opens, or even runs
// simple guests: a kernel that is a guest itself can offer a KVM without the processor's help,
// which boots only kernels made for it.
func try(cpuInfo, device string) error {
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
