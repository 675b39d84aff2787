package chain_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/testing/plantest"
)

// TestSeed checks that the secret has the filled texts, and none that the user's own secret has.
func TestSeed(t *testing.T) {
	in := plantest.CustomVMs()
	p := mustMake(t, in)
	want := []map[string]string{
		{"userdata": "#cloud-config\nvyos_config_commands:\n- set interfaces ethernet eth1 address 198.18.0.2/24\n"},
		{"networkdata": "version: 2 # " + p.Functions[1].Config.Ports[1].MAC + "\n"},
		nil,
	}
	for i := range p.Functions {
		secret, err := chain.Seed(p, &p.Functions[i], in.Run.Spec.Experiment.Chain[i].Custom)
		if err != nil {
			t.Fatal(err)
		}
		if want[i] == nil {
			if secret != nil {
				t.Errorf("a VM that reads nothing has the secret %+v", secret)
			}
			continue
		}
		got := map[string]string{}
		for key, value := range secret.Data {
			got[key] = string(value)
		}
		if diff := cmp.Diff(want[i], got); diff != "" || !*secret.Immutable {
			t.Errorf("%s (-want +got):\n%s", secret.Name, diff)
		}
		if secret.Name != p.Names().Function(p.Functions[i].Name) || secret.Labels[v1alpha1.LabelRun] != string(in.Run.UID) {
			t.Errorf("%+v", secret.ObjectMeta)
		}
	}
}

// TestUserDataIsInTheSecretAlone checks that no other object of the run has any of it.
func TestUserDataIsInTheSecretAlone(t *testing.T) {
	for _, secret := range []string{"vyos_config_commands", "198.18.0.2/24\n"} {
		if text := render(t, objectsOf(mustMake(t, plantest.CustomVMs()))); bytes.Contains(text, []byte(secret)) {
			t.Errorf("%q is in an object that is not a secret", secret)
		}
	}
}

// TestClaimStaysAsItIs checks that the user's claim is below a separate layer.
func TestClaimStaysAsItIs(t *testing.T) {
	spec := functionsOf(mustMake(t, plantest.CustomVMs()))[1].VM.Spec
	for _, volume := range spec.Volumes {
		if volume.PersistentVolumeClaim != nil || volume.DataVolume != nil {
			t.Errorf("volume %q can be written to", volume.Name)
		}
	}
	if spec.Volumes[0].Ephemeral.PersistentVolumeClaim.ClaimName != "firewall" {
		t.Errorf("%+v", spec.Volumes[0])
	}
}

// TestCustomProbes checks that KubeVirt probes what the user chose, and nothing if the generator's
// frames decide.
func TestCustomProbes(t *testing.T) {
	functions := functionsOf(mustMake(t, plantest.CustomVMs()))
	tcp, http := functions[0].VM.Spec, functions[1].VM.Spec
	if p := tcp.ReadinessProbe; p.TCPSocket == nil || p.TCPSocket.Port.IntValue() != 22 || p.HTTPGet != nil {
		t.Errorf("%+v", p)
	}
	if p := http.ReadinessProbe; p.HTTPGet == nil || p.HTTPGet.Port.IntValue() != 443 || p.HTTPGet.Path != "/login" || p.HTTPGet.Scheme != corev1.URISchemeHTTP {
		t.Errorf("%+v", p)
	}
	for port, spec := range map[int32]kubevirtv1.VirtualMachineInstanceSpec{22: tcp, 443: http} {
		if got := spec.Domain.Devices.Interfaces[0].Ports; len(got) != 1 || got[0].Port != port {
			t.Errorf("the management NIC lets in %+v, want port %d alone", got, port)
		}
	}
	if silent := functions[2].VM.Spec; silent.ReadinessProbe != nil || *silent.Domain.Devices.AutoattachPodInterface {
		t.Errorf("%+v", silent)
	}
}

// TestFixedManagementMAC checks that the first NIC has the hardware address that the testbed fixes, and no other has one
// where it fixes none.
func TestFixedManagementMAC(t *testing.T) {
	in := plantest.CustomVMs()
	in.Testbed.Spec.SystemUnderTest.MACAddresses = []v1alpha1.FunctionMACAddresses{{Function: in.Run.Spec.Experiment.Chain[0].Name, Management: "52:54:00:AA:00:01"}}
	for i, function := range functionsOf(mustMake(t, in))[:2] {
		if got, want := function.VM.Spec.Domain.Devices.Interfaces[0].MacAddress, []string{"52:54:00:aa:00:01", ""}[i]; got != want {
			t.Errorf("the management NIC of function %d has %q, want %q", i, got, want)
		}
	}
}

// TestCustomHasTheOtherVMSettings checks that what applies to every VM applies to the user's.
func TestCustomHasTheOtherVMSettings(t *testing.T) {
	for _, function := range functionsOf(mustMake(t, plantest.CustomVMs())) {
		spec := function.VM.Spec
		if *spec.EvictionStrategy != kubevirtv1.EvictionStrategyNone || !spec.Domain.Devices.DisableHotplug ||
			!*spec.Domain.Devices.LogSerialConsole || spec.Domain.Firmware.KernelBoot != nil || !strings.Contains(function.VM.Name, "-fn-") {
			t.Errorf("%+v", spec)
		}
		if disk := spec.Domain.Devices.Disks[0]; disk.Name != "disk" || *disk.BootOrder != 1 {
			t.Errorf("it starts from %+v", disk)
		}
	}
}

// TestSeedRefuses checks that what admission and plan would have found is not passed on.
func TestSeedRefuses(t *testing.T) {
	p := mustMake(t, plantest.VMInput(1))
	if secret, err := chain.Seed(p, &p.Functions[0], &v1alpha1.CustomFunction{UserData: "{{ .Nothing }}"}); err == nil {
		t.Errorf("made %+v", secret)
	}
}
