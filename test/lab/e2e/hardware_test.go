package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vnfbench.io/test/lab/internal/config"
	"vnfbench.io/test/lab/internal/machine"
)

// needMachine skips a test that has no meaning without the emulated machine.
func needMachine(t *testing.T) {
	t.Helper()
	if os.Getenv("VNFBENCH_E2E_HARDWARE") != "1" {
		t.Skip("NOT RUN: this lab may be without the emulated machine; make e2e-hardware brings up one with it")
	}
}

// TestHardware checks what the emulated machine offers to pods, and what its kernel says of it.
func TestHardware(t *testing.T) {
	needMachine(t)
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

const (
	hardwareNamespace = "lab-hardware"
	// userspaceMAC is the address that the pod of testdata/hardware.yaml asks for.
	userspaceMAC = "02:00:00:00:03:01"
)

// TestHardwareUserspace checks what a pod gets that takes a virtual function of vfio-pci: the files of VFIO, its MAC
// address by the physical function, and the function's PCI address in Multus' report, where KubeVirt reads it.
func TestHardwareUserspace(t *testing.T) {
	needMachine(t)
	name := config.Node{Number: config.MachineNumber}.Name()
	on := func(script string) string {
		t.Helper()
		return strings.TrimSpace(lab(t, "shell", "--node", name, "--", "sh", "-c", script))
	}
	inNamespace := func(args ...string) string {
		t.Helper()
		return lab(t, append([]string{"kubectl", "--", "--namespace", hardwareNamespace}, args...)...)
	}
	const addresses = "/sbin/ip link show dut0"
	inNamespace("apply", "--filename", filepath.Join("testdata", "hardware.yaml"))
	t.Cleanup(func() {
		inNamespace("delete", "namespace", hardwareNamespace, "--timeout=180s")
		// The kubelet takes a pod down after it is gone from the API.
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
			got := on(addresses)
			if !strings.Contains(got, userspaceMAC) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("a virtual function keeps the pod's MAC address:\n%s", got)
			}
		}
	})
	inNamespace("wait", "--for=condition=Ready", "pod/userspace", "--timeout=180s")
	var networks []struct {
		Name   string
		Device struct {
			PCI struct {
				Address string `json:"pci-address"`
			}
		} `json:"device-info"`
	}
	report := inNamespace("get", "pod", "userspace", `--output=jsonpath={.metadata.annotations.k8s\.v1\.cni\.cncf\.io/network-status}`)
	if err := json.Unmarshal([]byte(report), &networks); err != nil {
		t.Fatal(err)
	}
	var address string
	for _, network := range networks {
		if network.Name == hardwareNamespace+"/west" {
			address = network.Device.PCI.Address
		}
	}
	if address == "" {
		t.Fatalf("Multus reports no PCI address:\n%s", report)
	}
	group := on("basename $(readlink /sys/bus/pci/devices/" + address + "/iommu_group)")
	if got := strings.Fields(inNamespace("exec", "userspace", "--", "ls", "/dev/vfio")); !slices.Equal(got, []string{group, "vfio"}) {
		t.Errorf("the pod has %q of VFIO, want the group %s of %s", got, group, address)
	}
	if got := on(addresses); strings.Count(got, userspaceMAC) != 1 {
		t.Errorf("not one virtual function has the MAC address %s:\n%s", userspaceMAC, got)
	}
}
