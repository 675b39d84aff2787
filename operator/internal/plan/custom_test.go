package plan_test

import (
	"bytes"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/placeholder"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

func customInput(custom v1alpha1.CustomFunction) plan.Input {
	in := plantest.VMInput(2)
	in.Run.Spec.Experiment.Chain[1] = plantest.Custom("own", custom)
	return in
}

func TestCustomDefaults(t *testing.T) {
	f := mustMake(t, customInput(v1alpha1.CustomFunction{ContainerDisk: "example/vyos:1"})).Functions[1]
	want := &plan.Custom{
		ContainerDisk: "example/vyos:1", CloudInit: v1alpha1.CloudInitNoCloud, Firmware: v1alpha1.FirmwareBIOS, DiskBus: v1alpha1.DiskBusVirtio,
		ManagementNIC: v1alpha1.ManagementNICFirst, InterfaceOrder: v1alpha1.InterfaceOrderWestEast,
		Readiness: v1alpha1.CustomReadiness{Kind: v1alpha1.ReadinessProbe},
	}
	if diff := cmp.Diff(want, f.VM.Custom); diff != "" {
		t.Error(diff)
	}
	if !f.IsCustom() || f.VM.Custom.HasSeed() || f.Image != "example/vyos:1" || f.VM.Boot != v1alpha1.BootDisk {
		t.Errorf("%+v", f)
	}
}

// TestCustomReplacesTheRouter checks that addresses and next hops are those that a
// reference router would have there.
func TestCustomReplacesTheRouter(t *testing.T) {
	router := mustMake(t, plantest.VMInput(2))
	in := customInput(v1alpha1.CustomFunction{ContainerDisk: "x"})
	in.Run.Spec.Experiment.Chain[1].AddressResolution = v1alpha1.AddressResolutionStatic
	own := mustMake(t, in)
	want, got := router.Functions[1].Config, own.Functions[1].Config
	want.Function, want.Name = "Custom", "own"
	if diff := cmp.Diff(want.Digest(), got.Digest()); diff != "" {
		t.Errorf("%+v\n%+v", want, got)
	}
	if diff := cmp.Diff(router.Instructions.Chain, own.Instructions.Chain, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Error(diff)
	}
}

func TestSeed(t *testing.T) {
	spec := v1alpha1.CustomFunction{
		ContainerDisk: "x",
		UserData:      "set west {{ .West.AddressIPv4 }} via {{ .West.NextHopIPv4 }} for {{ .West.NetworkIPv4 }}",
		NetworkData:   "mac: {{ .East.MAC }}, next: {{ .East.NextHopMAC }}",
	}
	in := customInput(spec)
	p := mustMake(t, in)
	userData, networkData, err := p.Functions[1].Seed(&spec)
	if err != nil {
		t.Fatal(err)
	}
	if want := "set west 198.18.1.2/24 via 198.18.1.1 for 198.18.128.0/17"; userData != want {
		t.Errorf("got %q, want %q", userData, want)
	}
	last := p.Segments[2]
	if want := "mac: " + last.West.MAC + ", next: " + last.East.MAC; networkData != want {
		t.Errorf("got %q, want %q", networkData, want)
	}
}

// TestPlanKeepsNoUserData checks that the plan has no user data, neither as written nor filled
// in.
func TestPlanKeepsNoUserData(t *testing.T) {
	in := customInput(v1alpha1.CustomFunction{ContainerDisk: "x", UserData: "password: swordfish", NetworkData: "key: swordfish"})
	p := mustMake(t, in)
	if text := p.JSON(); bytes.Contains(text, []byte("swordfish")) {
		t.Errorf("the plan holds user data:\n%s", text)
	}
	if custom := p.Functions[1].VM.Custom; custom.UserDataDigest == "" || custom.NetworkDataDigest == "" {
		t.Errorf("no digests in %+v", custom)
	}
}

func TestWrongPlaceholders(t *testing.T) {
	for field, spec := range map[string]v1alpha1.CustomFunction{
		"custom.userData":    {ContainerDisk: "x", UserData: "a\nb {{ .West.Mac }}"},
		"custom.networkData": {ContainerDisk: "x", NetworkData: "\n{{ range .West }}{{ end }}"},
	} {
		expectFailure(t, failureOf(t, customInput(spec)), v1alpha1.ReasonInvalidPlaceholder,
			[]string{field + ` of function "own": line 2: `, ".West.MAC"}, "correct "+field)
	}
}

func TestCustomDigest(t *testing.T) {
	digest := func(change func(*v1alpha1.CustomFunction)) string {
		custom := v1alpha1.CustomFunction{ContainerDisk: "x", UserData: "{{ .West.MAC }}"}
		change(&custom)
		return mustMake(t, customInput(custom)).Digest
	}
	plain := digest(func(*v1alpha1.CustomFunction) {})
	for name, same := range map[string]func(*v1alpha1.CustomFunction){
		"how it is pulled": func(c *v1alpha1.CustomFunction) {
			c.ImagePullSecretRef, c.ImagePullPolicy = &v1alpha1.LocalReference{Name: "s"}, corev1.PullAlways
		},
		"a default": func(c *v1alpha1.CustomFunction) { c.DiskBus = v1alpha1.DiskBusVirtio },
		"how it is asked": func(c *v1alpha1.CustomFunction) {
			c.Readiness = &v1alpha1.CustomReadiness{Kind: v1alpha1.ReadinessTCP, Port: 22}
		},
	} {
		if digest(same) != plain {
			t.Errorf("%s changes the digest", name)
		}
	}
	for name, other := range map[string]func(*v1alpha1.CustomFunction){
		"the disk":      func(c *v1alpha1.CustomFunction) { c.ContainerDisk = "y" },
		"user data":     func(c *v1alpha1.CustomFunction) { c.UserData = "other" },
		"network data":  func(c *v1alpha1.CustomFunction) { c.NetworkData = "other" },
		"a secret":      func(c *v1alpha1.CustomFunction) { c.UserDataSecretRef = &v1alpha1.LocalReference{Name: "s"} },
		"firmware":      func(c *v1alpha1.CustomFunction) { c.Firmware = v1alpha1.FirmwareEFI },
		"disk bus":      func(c *v1alpha1.CustomFunction) { c.DiskBus = v1alpha1.DiskBusSATA },
		"order":         func(c *v1alpha1.CustomFunction) { c.InterfaceOrder = v1alpha1.InterfaceOrderEastWest },
		"no management": func(c *v1alpha1.CustomFunction) { c.ManagementNIC = v1alpha1.ManagementNICNone },
	} {
		if digest(other) == plain {
			t.Errorf("%s: the digest stays the same", name)
		}
	}
}

// TestBootSeconds checks that the measurer waits for as long as the VM may boot.
func TestBootSeconds(t *testing.T) {
	in := customInput(v1alpha1.CustomFunction{ContainerDisk: "x", Readiness: &v1alpha1.CustomReadiness{BootSeconds: 90}})
	if got := mustMake(t, in).Instructions.StartupSeconds; got != 390 {
		t.Errorf("%d seconds, want 300 and 90", got)
	}
}

// TestPlaceholdersAreDocumented checks that the page lists every placeholder, those of the
// eastern port by those of the western.
func TestPlaceholdersAreDocumented(t *testing.T) {
	config := mustMake(t, customInput(v1alpha1.CustomFunction{ContainerDisk: "x"})).Functions[1].Config
	page, err := os.ReadFile("../../../docs/concepts/virtual-machines.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range placeholder.Of(config).Names() {
		name = strings.Replace(name, ".East.", ".West.", 1)
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("the page does not name %s", name)
		}
	}
}

// TestSampleIsFilled checks that the sample's user data has placeholders, and no wrong ones.
func TestSampleIsFilled(t *testing.T) {
	text, err := os.ReadFile("../../../config/samples/custom-vyos.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var sample v1alpha1.BenchmarkRun
	if err := yaml.UnmarshalStrict(text, &sample); err != nil {
		t.Fatal(err)
	}
	custom := sample.Spec.Experiment.Chain[0].Custom
	userData, _, err := mustMake(t, customInput(*custom)).Functions[1].Seed(custom)
	if err != nil || strings.Contains(userData, "{{") || !strings.Contains(userData, "eth1 address '198.18.1.2/24'") {
		t.Errorf("%v:\n%s", err, userData)
	}
}

// TestOnlyAgentsNeedTokens checks that a run without any agent does not depend on the cluster's issuer.
func TestOnlyAgentsNeedTokens(t *testing.T) {
	alone := plantest.VMInput(1)
	alone.Run.Spec.Experiment.Chain[0] = plantest.Custom("own", v1alpha1.CustomFunction{ContainerDisk: "x"})
	alone.Testbed.Spec.SystemUnderTest.Observer = v1alpha1.ObserverDisabled
	if p := mustMake(t, alone); p.AgentAudience != "" {
		t.Errorf("agents ask for a token for %q", p.AgentAudience)
	}
	observed := customInput(v1alpha1.CustomFunction{ContainerDisk: "x"})
	functionsOnly := plantest.Input(1)
	functionsOnly.Testbed.Spec.SystemUnderTest.Observer = v1alpha1.ObserverDisabled
	for name, in := range map[string]plan.Input{"observer": observed, "function": functionsOnly} {
		if p := mustMake(t, in); p.AgentAudience != "vnfbench.io/run/"+string(in.Run.UID) {
			t.Errorf("%s: %q", name, p.AgentAudience)
		}
	}
}
