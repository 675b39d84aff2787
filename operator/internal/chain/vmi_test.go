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

// expectNetworks: a machine's NICs join networks that exist, west before east, after the
// management NIC.
func expectNetworks(t *testing.T, machine *kubevirtv1.VirtualMachineInstance, known map[string]bool) {
	t.Helper()
	var names []string
	for _, network := range machine.Spec.Networks {
		names = append(names, network.Name)
		if network.Multus != nil && !known[network.Multus.NetworkName] {
			t.Errorf("%s joins %q, which does not exist", machine.Name, network.Multus.NetworkName)
		}
	}
	ordered := slices.Equal(names, []string{"default", "west", "east"})
	if strings.HasSuffix(machine.Name, "-fn-silent") {
		// The user's own machine asks for no management NIC, and for another order.
		ordered = slices.Equal(names, []string{"east", "west"})
	}
	if len(machine.Spec.Domain.Devices.HostDevices) == 2 {
		// Whole NICs join no network.
		ordered = slices.Equal(names, []string{"default"})
	}
	if !ordered {
		t.Errorf("%s has networks %v", machine.Name, names)
	}
	for i, nic := range machine.Spec.Domain.Devices.Interfaces {
		if nic.Name != names[i] {
			t.Errorf("NIC %d of %s is %q, its network %q", i, machine.Name, nic.Name, names[i])
		}
	}
}

// TestMachineNICs checks that models follow the attachments, and the guest finds its ports by the MAC
// addresses that it receives.
func TestMachineNICs(t *testing.T) {
	p := mustMake(t, plantest.Machines())
	want := []string{"virtio", "e1000", "e1000e", "rtl8139"}
	for i, function := range functionsOf(p) {
		nics := function.Machine.Spec.Domain.Devices.Interfaces
		if nics[0].Masquerade == nil || nics[0].MacAddress != "" || nics[0].Model != "virtio" {
			t.Errorf("the management NIC of %s is %+v", function.Machine.Name, nics[0])
		}
		for j, nic := range nics[1:] {
			if nic.Bridge == nil || nic.Model != want[i] || nic.MacAddress != p.Functions[i].Config.Ports[j].MAC {
				t.Errorf("NIC %q of %s is %+v, want model %s and MAC %s", nic.Name, function.Machine.Name, nic, want[i], p.Functions[i].Config.Ports[j].MAC)
			}
		}
	}
}

// TestMachineQueues checks that KubeVirt's one switch is on exactly if a port has more than one queue.
func TestMachineQueues(t *testing.T) {
	for vcpus, queues := range map[int32]int32{1: 1, 2: 2, 4: 1} {
		in := plantest.MachineInput(1)
		f := &in.Run.Spec.Experiment.Chain[0]
		f.Platform = &v1alpha1.Platform{VCPUs: vcpus}
		f.West.Queues, f.East.Queues = &queues, &queues
		machine := functionsOf(mustMake(t, in))[0].Machine
		if got := *machine.Spec.Domain.Devices.NetworkInterfaceMultiQueue; got != (queues > 1) {
			t.Errorf("%d vCPUs, %d queues: multiqueue is %t", vcpus, queues, got)
		}
	}
}

// TestMachineKeepsSecrets checks that what the function reads is only in the secret.
func TestMachineKeepsSecrets(t *testing.T) {
	p := mustMake(t, plantest.MachineInput(1))
	function := functionsOf(p)[0]
	text := string(render(t, []chain.Object{function.Machine}))
	if address := p.Functions[0].Config.Ports[0].Addresses[0].String(); strings.Contains(text, address) {
		t.Errorf("the machine's own object holds the configuration:\n%s", text)
	}
	if function.Machine.Spec.Volumes[0].CloudInitNoCloud.UserDataSecretRef.Name != function.Secret.Name {
		t.Error("the machine reads another secret")
	}
}

// TestMachineStays checks that nothing moves, restarts or plugs into a machine in the middle of a trial.
func TestMachineStays(t *testing.T) {
	spec := functionsOf(mustMake(t, plantest.MachineInput(1)))[0].Machine.Spec
	if *spec.EvictionStrategy != kubevirtv1.EvictionStrategyNone || spec.LivenessProbe != nil || !spec.Domain.Devices.DisableHotplug {
		t.Errorf("eviction strategy %s, liveness probe %v, hotplug off: %t", *spec.EvictionStrategy, spec.LivenessProbe, spec.Domain.Devices.DisableHotplug)
	}
	if spec.Domain.CPU.MaxSockets != 1 || spec.Domain.Memory.MaxGuest.Cmp(*spec.Domain.Memory.Guest) != 0 {
		t.Errorf("the machine can grow: %+v, %+v", spec.Domain.CPU, spec.Domain.Memory)
	}
}

// TestMachineDevices checks that virtual functions come with their network, whole NICs with KubeVirt's
// resource; no model is set for either.
func TestMachineDevices(t *testing.T) {
	p := mustMake(t, plantest.MachineSRIOV(1))
	machine := functionsOf(p)[0].Machine
	for i, nic := range machine.Spec.Domain.Devices.Interfaces[1:] {
		if nic.SRIOV == nil || nic.Bridge != nil || nic.Model != "" || nic.MacAddress != p.Functions[0].Config.Ports[i].MAC {
			t.Errorf("%+v", nic)
		}
		if got := chain.ModelOf(machine, nic.Name); got != chain.NICModel(v1alpha1.AttachmentSRIOV) {
			t.Errorf("port %s is called %q", nic.Name, got)
		}
	}
	for _, network := range chain.Networks(p) {
		text, _, err := unstructured.NestedString(network.Object, "spec", "config")
		if err != nil {
			t.Fatal(err)
		}
		isMachines := network.GetLabels()[v1alpha1.LabelComponent] == chain.ComponentFunction
		if strings.Contains(text, "tuning") == isMachines {
			t.Errorf("%s: %s", network.GetName(), text)
		}
		if network.GetAnnotations()[chain.AnnotationResource] == "" {
			t.Errorf("%s names no resource for KubeVirt", network.GetName())
		}
	}
	machine = functionsOf(mustMake(t, plantest.MachineHostDevices()))[0].Machine
	want := []kubevirtv1.HostDevice{{Name: "west", DeviceName: "vnfbench.io/dut-nic"}, {Name: "east", DeviceName: "vnfbench.io/dut-nic"}}
	if diff := cmp.Diff(want, machine.Spec.Domain.Devices.HostDevices); diff != "" || len(machine.Spec.Networks) != 1 {
		t.Errorf("networks %+v; devices (-want +got):\n%s", machine.Spec.Networks, diff)
	}
	if chain.ModelOf(machine, "west") != chain.NICModel(v1alpha1.AttachmentHostDevice) || chain.ModelOf(machine, "north") != "" {
		t.Errorf("models %q and %q", chain.ModelOf(machine, "west"), chain.ModelOf(machine, "north"))
	}
}

// TestMachineNetworks checks that the launcher's pod forwards nothing itself, and its own
// pod network keeps its addresses.
func TestMachineNetworks(t *testing.T) {
	p := mustMake(t, plantest.MachineInput(1))
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
