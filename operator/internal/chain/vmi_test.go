package chain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/testing/plantest"
)

// expectNetworks: a VM's NICs join networks that exist, west before east, after the
// management NIC.
func expectNetworks(t *testing.T, vm *kubevirtv1.VirtualMachineInstance, known map[string]bool) {
	t.Helper()
	var names []string
	for _, network := range vm.Spec.Networks {
		names = append(names, network.Name)
		if network.Multus != nil && !known[network.Multus.NetworkName] {
			t.Errorf("%s joins %q, which does not exist", vm.Name, network.Multus.NetworkName)
		}
	}
	ordered := slices.Equal(names, []string{"default", "west", "east"})
	if strings.HasSuffix(vm.Name, "-fn-silent") {
		// The user's own VM asks for no management NIC, and for another order.
		ordered = slices.Equal(names, []string{"east", "west"})
	}
	if len(vm.Spec.Domain.Devices.HostDevices) == 2 {
		// Whole NICs join no network.
		ordered = slices.Equal(names, []string{"default"})
	}
	if !ordered {
		t.Errorf("%s has networks %v", vm.Name, names)
	}
	for i, nic := range vm.Spec.Domain.Devices.Interfaces {
		if nic.Name != names[i] {
			t.Errorf("NIC %d of %s is %q, its network %q", i, vm.Name, nic.Name, names[i])
		}
	}
}

// TestVMNICs checks that models follow the attachments, and the guest finds its ports by the MAC
// addresses that it receives.
func TestVMNICs(t *testing.T) {
	p := mustMake(t, plantest.VMs())
	want := []string{"virtio", "e1000", "e1000e", "rtl8139"}
	for i, function := range functionsOf(p) {
		nics := function.VM.Spec.Domain.Devices.Interfaces
		if nics[0].Masquerade == nil || nics[0].MacAddress != "" || nics[0].Model != "virtio" {
			t.Errorf("the management NIC of %s is %+v", function.VM.Name, nics[0])
		}
		for j, nic := range nics[1:] {
			if nic.Bridge == nil || nic.Model != want[i] || nic.MacAddress != p.Functions[i].Config.Ports[j].MAC {
				t.Errorf("NIC %q of %s is %+v, want model %s and MAC %s", nic.Name, function.VM.Name, nic, want[i], p.Functions[i].Config.Ports[j].MAC)
			}
		}
	}
}

// TestVMQueues checks that KubeVirt's one switch is on exactly if a port has more than one queue.
func TestVMQueues(t *testing.T) {
	for vcpus, queues := range map[int32]int32{1: 1, 2: 2, 4: 1} {
		in := plantest.VMInput(1)
		f := &in.Run.Spec.Experiment.Chain[0]
		f.Platform = &v1alpha1.Platform{VCPUs: vcpus}
		f.West.Queues, f.East.Queues = &queues, &queues
		vm := functionsOf(mustMake(t, in))[0].VM
		if got := *vm.Spec.Domain.Devices.NetworkInterfaceMultiQueue; got != (queues > 1) {
			t.Errorf("%d vCPUs, %d queues: multiqueue is %t", vcpus, queues, got)
		}
	}
}

// TestVMKeepsSecrets checks that what the function reads is only in the secret.
func TestVMKeepsSecrets(t *testing.T) {
	p := mustMake(t, plantest.VMInput(1))
	function := functionsOf(p)[0]
	text := string(render(t, []chain.Object{function.VM}))
	if address := p.Functions[0].Config.Ports[0].Addresses[0].String(); strings.Contains(text, address) {
		t.Errorf("the machine's own object holds the configuration:\n%s", text)
	}
	if function.VM.Spec.Volumes[0].CloudInitNoCloud.UserDataSecretRef.Name != function.Secret.Name {
		t.Error("the VM reads another secret")
	}
}

// TestVMStays checks that nothing moves, restarts or plugs into a VM in the middle of a trial.
func TestVMStays(t *testing.T) {
	spec := functionsOf(mustMake(t, plantest.VMInput(1)))[0].VM.Spec
	if *spec.EvictionStrategy != kubevirtv1.EvictionStrategyNone || spec.LivenessProbe != nil || !spec.Domain.Devices.DisableHotplug {
		t.Errorf("eviction strategy %s, liveness probe %v, hotplug off: %t", *spec.EvictionStrategy, spec.LivenessProbe, spec.Domain.Devices.DisableHotplug)
	}
	if spec.Domain.CPU.MaxSockets != 1 || spec.Domain.Memory.MaxGuest.Cmp(*spec.Domain.Memory.Guest) != 0 {
		t.Errorf("the VM can grow: %+v, %+v", spec.Domain.CPU, spec.Domain.Memory)
	}
}

// TestVMDevices checks that virtual functions come with their network, whole NICs with KubeVirt's
// resource; no model is set for either.
func TestVMDevices(t *testing.T) {
	p := mustMake(t, plantest.VMSRIOV(1))
	vm := functionsOf(p)[0].VM
	for i, nic := range vm.Spec.Domain.Devices.Interfaces[1:] {
		if nic.SRIOV == nil || nic.Bridge != nil || nic.Model != "" || nic.MacAddress != p.Functions[0].Config.Ports[i].MAC {
			t.Errorf("%+v", nic)
		}
		if got := chain.ModelOf(vm, nic.Name); got != chain.NICModel(v1alpha1.AttachmentSRIOV) {
			t.Errorf("port %s is called %q", nic.Name, got)
		}
	}
	for _, network := range chain.Networks(p) {
		text, _, err := unstructured.NestedString(network.Object, "spec", "config")
		if err != nil {
			t.Fatal(err)
		}
		isVMs := network.GetLabels()[v1alpha1.LabelComponent] == chain.ComponentFunction
		if strings.Contains(text, "tuning") == isVMs {
			t.Errorf("%s: %s", network.GetName(), text)
		}
		if network.GetAnnotations()[chain.AnnotationResource] == "" {
			t.Errorf("%s names no resource for KubeVirt", network.GetName())
		}
	}
	vm = functionsOf(mustMake(t, plantest.VMHostDevices()))[0].VM
	want := []kubevirtv1.HostDevice{{Name: "west", DeviceName: "vnfbench.io/dut-nic"}, {Name: "east", DeviceName: "vnfbench.io/dut-nic"}}
	if diff := cmp.Diff(want, vm.Spec.Domain.Devices.HostDevices); diff != "" || len(vm.Spec.Networks) != 1 {
		t.Errorf("networks %+v; devices (-want +got):\n%s", vm.Spec.Networks, diff)
	}
	if chain.ModelOf(vm, "west") != chain.NICModel(v1alpha1.AttachmentHostDevice) || chain.ModelOf(vm, "north") != "" {
		t.Errorf("models %q and %q", chain.ModelOf(vm, "west"), chain.ModelOf(vm, "north"))
	}
}

// TestVMNetworks checks that the launcher's pod forwards nothing itself, and its own
// pod network keeps its addresses.
func TestVMNetworks(t *testing.T) {
	p := mustMake(t, plantest.VMInput(1))
	for _, network := range chain.Networks(p) {
		if network.GetLabels()[v1alpha1.LabelComponent] != chain.ComponentFunction {
			continue
		}
		config, _, err := unstructured.NestedString(network.Object, "spec", "config")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(config, `"sysctl":{"net.ipv6.conf.IFNAME.disable_ipv6":"1"}`) {
			t.Errorf("network %q sets %s", network.GetName(), config)
		}
	}
}
