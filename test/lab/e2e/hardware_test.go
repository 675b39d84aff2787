package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"vnfbench.io/test/lab/internal/config"
	"vnfbench.io/test/lab/internal/machine"
)

// TestHardware checks what the emulated machine offers to pods, and what its kernel says of it.
func TestHardware(t *testing.T) {
	if os.Getenv("VNFBENCH_E2E_HARDWARE") != "1" {
		t.Skip("NOT RUN: this lab may be without the emulated machine; make e2e-hardware brings up one with it")
	}
	name := config.Node{Number: config.MachineNumber}.Name()
	var object struct {
		Status struct {
			Allocatable map[string]string
			NodeInfo    struct{ KernelVersion, OSImage string }
			Conditions  []struct{ Type, Status string }
		}
	}
	if err := json.Unmarshal([]byte(kubectl(t, "get", "node", name, "--output=json")), &object); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s on %s", name, object.Status.NodeInfo.KernelVersion, object.Status.NodeInfo.OSImage)
	for _, pool := range machine.Pools() {
		if got := object.Status.Allocatable[pool.Resource]; got == "" || got == "0" {
			t.Errorf("%s offers %q of %s", name, got, pool.Resource)
		}
	}
	if got, want := object.Status.Allocatable["hugepages-2Mi"], fmt.Sprintf("%dMi", 2*machine.HugePages); got != want {
		t.Errorf("%s offers %q of huge pages, want %s", name, got, want)
	}
	on := func(script string) string {
		t.Helper()
		return strings.TrimSpace(lab(t, "shell", "--node", name, "--", "sh", "-c", script))
	}
	if got := on("cat /sys/devices/system/cpu/isolated"); got != machine.IsolatedCPUs {
		t.Errorf("the isolated CPUs are %q, want %q", got, machine.IsolatedCPUs)
	}
	for i, nic := range machine.NICs {
		if nic.Userspace {
			address := fmt.Sprintf("/sys/bus/pci/devices/0000:%02x:00.0", i+1)
			if got := on("basename $(readlink " + address + "/driver)"); got != "vfio-pci" {
				t.Errorf("the driver of %s, %s, is %q", nic.Name, address, got)
			}
			continue
		}
		if got := on("basename $(readlink /sys/class/net/" + nic.Name + "/device/driver)"); got != "igb" {
			t.Errorf("the driver of %s is %q", nic.Name, got)
		}
		functions := strings.Fields(on("for f in /sys/class/net/" + nic.Name + "/device/virtfn*; do basename $(readlink $f/iommu_group); done"))
		if len(functions) != nic.VFs {
			t.Errorf("%s has %d virtual functions with an IOMMU group, want %d", nic.Name, len(functions), nic.VFs)
		}
		slices.Sort(functions)
		if groups := slices.Compact(slices.Clone(functions)); len(groups) != len(functions) {
			t.Errorf("virtual functions of %s share IOMMU groups: %q", nic.Name, functions)
		}
		drivers := strings.Fields(on("for f in /sys/class/net/" + nic.Name + "/device/virtfn*; do basename $(readlink $f/driver); done"))
		userspace := 0
		for _, driver := range drivers {
			if driver == "vfio-pci" {
				userspace++
			} else if driver != "igbvf" {
				t.Errorf("a virtual function of %s has the driver %q", nic.Name, driver)
			}
		}
		if userspace != nic.UserspaceVFs {
			t.Errorf("%d virtual functions of %s are bound to vfio-pci, want %d", userspace, nic.Name, nic.UserspaceVFs)
		}
	}
	if got := on("dmesg | grep -c 'DMAR-IR: Enabled IRQ remapping'"); got == "0" {
		t.Error("the kernel does not say that it remaps interrupts")
	}
}
