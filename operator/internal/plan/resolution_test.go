package plan_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
	"vnfbench.io/operator/internal/vnf"
)

func addresses(texts ...string) (list []netip.Addr) {
	for _, text := range texts {
		list = append(list, netip.MustParseAddr(text))
	}
	return list
}

// resolutions returns what each function's ports do, "west/east".
func resolutions(p *plan.Plan) (all []string) {
	for _, f := range p.Functions {
		all = append(all, string(f.Config.Ports[0].Resolution)+"/"+string(f.Config.Ports[1].Resolution))
	}
	return all
}

// TestResolution checks who answers and who asks: machines next to a function with addressResolution Dynamic, also across a
// function that bridges.
func TestResolution(t *testing.T) {
	static, dynamic := v1alpha1.AddressResolutionStatic, v1alpha1.AddressResolutionDynamic
	bridge := v1alpha1.NetworkFunction{Name: "bridge", Function: v1alpha1.FunctionFirewall, Firewall: &v1alpha1.Firewall{Forwarding: v1alpha1.ForwardingBridged}}
	for name, c := range map[string]struct {
		chain      []v1alpha1.AddressResolution
		bridged    []int
		functions  []string
		west, east measure.Port
	}{
		"the default": {
			chain: []v1alpha1.AddressResolution{"", static}, functions: []string{"/", "/"},
		},
		"one function": {
			chain: []v1alpha1.AddressResolution{dynamic}, functions: []string{"Asks/Asks"},
			west: measure.Port{Addresses: addresses("198.18.0.1", "2001:2::1"), NextHop: netip.MustParseAddr("198.18.0.2")},
			east: measure.Port{Addresses: addresses("198.18.1.2", "2001:2:0:1::2"), NextHop: netip.MustParseAddr("198.18.1.1")},
		},
		"the first of two": {
			chain: []v1alpha1.AddressResolution{dynamic, static}, functions: []string{"Asks/Asks", "Answers/"},
			west: measure.Port{Addresses: addresses("198.18.0.1", "2001:2::1"), NextHop: netip.MustParseAddr("198.18.0.2")},
		},
		"in the middle": {
			chain: []v1alpha1.AddressResolution{static, dynamic, static}, functions: []string{"/Answers", "Asks/Asks", "Answers/"},
		},
		"across bridges": {
			chain: []v1alpha1.AddressResolution{"", dynamic, ""}, bridged: []int{0, 2}, functions: []string{"/", "Asks/Asks", "/"},
			west: measure.Port{Addresses: addresses("198.18.0.1", "2001:2::1"), NextHop: netip.MustParseAddr("198.18.0.2")},
			east: measure.Port{Addresses: addresses("198.18.2.2", "2001:2:0:2::2"), NextHop: netip.MustParseAddr("198.18.2.1")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := plantest.Input(len(c.chain))
			for i, resolution := range c.chain {
				f := &in.Run.Spec.Experiment.Chain[i]
				if slices.Contains(c.bridged, i) {
					f.Function, f.Firewall = bridge.Function, bridge.Firewall
				}
				f.AddressResolution = resolution
			}
			p := mustMake(t, in)
			if diff := cmp.Diff(c.functions, resolutions(p)); diff != "" {
				t.Error(diff)
			}
			c.west.Interface, c.east.Interface = "west", "east"
			if diff := cmp.Diff([2]measure.Port{c.west, c.east}, p.Instructions.Chain.Ports, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
				t.Error(diff)
			}
			for i, f := range p.Functions {
				if f.Config.Ports[0].Resolution == vnf.ResolutionAsks && len(f.Config.Neighbors) > 0 {
					t.Errorf("function %d asks and has static neighbors %v", i, f.Config.Neighbors)
				}
			}
		})
	}
}

func TestResolutionOverIPv6(t *testing.T) {
	in := plantest.IPv6()
	in.Run.Spec.Experiment.Chain[0].AddressResolution = v1alpha1.AddressResolutionDynamic
	if got := mustMake(t, in).Instructions.Chain.Ports[0].NextHop; got != netip.MustParseAddr("2001:2::2") {
		t.Errorf("the next hop is %s", got)
	}
}

// TestCustomResolves checks that a user's own machine is resolved by default, and keeps its placeholders.
func TestCustomResolves(t *testing.T) {
	p := mustMake(t, customInput(v1alpha1.CustomFunction{ContainerDisk: "x"}))
	if got := p.Instructions.Chain.Ports[1].NextHop; got != netip.MustParseAddr("198.18.2.1") {
		t.Errorf("the next hop is %s", got)
	}
	if got, want := resolutions(p), []string{"/Answers", "/"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if len(p.Functions[1].Config.Neighbors) != 4 {
		t.Errorf("the placeholders of next hops are gone: %v", p.Functions[1].Config.Neighbors)
	}
}

// TestGeneratorWithoutResolution checks that a driver which cannot resolve keeps the planned addresses by default, and
// refuses what it is asked for.
func TestGeneratorWithoutResolution(t *testing.T) {
	in := plantest.TRexAFPacket()
	in.Run.Spec.Experiment.Chain = []v1alpha1.NetworkFunction{plantest.Custom("own", v1alpha1.CustomFunction{ContainerDisk: "x"})}
	in.Testbed.Spec.SystemUnderTest.Attachments = append(in.Testbed.Spec.SystemUnderTest.Attachments, v1alpha1.AttachmentVirtio)
	in.KubeVirt = true
	for i := range in.Nodes {
		in.Nodes[i].Labels["kubevirt.io/schedulable"] = "true"
		plantest.Offer(&in.Nodes[i], "devices.kubevirt.io/kvm", 100)
	}
	if got := mustMake(t, in).Instructions.Chain.Ports; got[0].NextHop.IsValid() || got[1].Addresses != nil {
		t.Errorf("the generator resolves: %+v", got)
	}
	in = plantest.TRexAFPacket()
	in.Run.Spec.Experiment.Chain[0].AddressResolution = v1alpha1.AddressResolutionDynamic
	_, err := plan.Make(in)
	if got := measure.ReasonOf(err); got != v1alpha1.ReasonNotOfferedByDriver || !strings.Contains(err.Error(), "addressResolution Static") {
		t.Errorf("reason %q: %v", got, err)
	}
}

func withMACs(in plan.Input, fixed ...v1alpha1.FunctionMACAddresses) plan.Input {
	in.Testbed.Spec.SystemUnderTest.MACAddresses = fixed
	return in
}

func TestFixedMACAddresses(t *testing.T) {
	custom := v1alpha1.CustomFunction{ContainerDisk: "x", UserData: "{{ .West.MAC }}"}
	planned := mustMake(t, customInput(custom))
	p := mustMake(t, withMACs(customInput(custom),
		v1alpha1.FunctionMACAddresses{Function: "own", Management: "52:54:00:AA:00:01", West: "52:54:00:AA:00:02"},
		v1alpha1.FunctionMACAddresses{Function: planned.Functions[0].Name, West: "52:54:00:aa:00:04"},
		v1alpha1.FunctionMACAddresses{Function: "absent", East: "52:54:00:aa:00:05"}))
	if got := p.Segments[1].East.MAC; got != "52:54:00:aa:00:02" {
		t.Errorf("west is %s", got)
	}
	if got, want := p.Segments[2].West.MAC, planned.Segments[2].West.MAC; got != want {
		t.Errorf("east is %s, want the planned %s", got, want)
	}
	if got, want := p.Segments[0].East.MAC, planned.Segments[0].East.MAC; got != want {
		t.Errorf("the router has %s, want the planned %s: only functions Custom have fixed addresses", got, want)
	}
	if got := p.Functions[1].VM.Custom.ManagementMAC; got != "52:54:00:aa:00:01" {
		t.Errorf("the management NIC has %s", got)
	}
	if p.Digest != planned.Digest {
		t.Error("hardware addresses change the digest")
	}
	// The function next to it has a static entry of the same address.
	for _, neighbor := range p.Functions[0].Config.Neighbors {
		if neighbor.Port == "east" && neighbor.MAC != "52:54:00:aa:00:02" {
			t.Errorf("neighbor %+v", neighbor)
		}
	}
}

func TestFixedMACAddressesRefused(t *testing.T) {
	custom := v1alpha1.CustomFunction{ContainerDisk: "x"}
	planned := mustMake(t, customInput(custom)).Segments[0].West.MAC
	whole := plantest.VMHostDevices()
	whole.Run.Spec.Experiment.Chain = []v1alpha1.NetworkFunction{whole.Run.Spec.Experiment.Chain[0]}
	first := &whole.Run.Spec.Experiment.Chain[0]
	own := plantest.Custom("own", custom)
	first.Name, first.Function, first.Custom = own.Name, own.Function, own.Custom
	inPod := customInput(custom)
	inPod.Run.Spec.Experiment.Chain[1] = plantest.CustomPod("own", v1alpha1.CustomFunction{
		Container: &v1alpha1.CustomContainer{Image: "x", Capabilities: []v1alpha1.ContainerCapability{v1alpha1.CapabilityNetRaw}},
	})
	without := v1alpha1.CustomFunction{ContainerDisk: "x", ManagementNIC: v1alpha1.ManagementNICNone}
	management := v1alpha1.FunctionMACAddresses{Function: "own", Management: "52:54:00:aa:00:01"}
	for name, in := range map[string]plan.Input{
		"or use runtime VirtualMachine":                                   withMACs(inPod, management),
		"or set managementNIC First in spec.experiment.chain[own].custom": withMACs(customInput(without), management),
		"spec.systemUnderTest.macAddresses[0]":                            withMACs(customInput(custom), v1alpha1.FunctionMACAddresses{Function: "own", East: strings.ToUpper(planned)}),
		"keeps its own":                                                   withMACs(whole, v1alpha1.FunctionMACAddresses{Function: "own", West: "52:54:00:aa:00:02"}),
	} {
		_, err := plan.Make(in)
		if got := measure.ReasonOf(err); got != v1alpha1.ReasonInvalidConfiguration || !strings.Contains(err.Error(), name) {
			t.Errorf("reason %q: %v, want %q", got, err, name)
		}
	}
	// The addresses of the traffic ports are taken without a management NIC.
	ports := v1alpha1.FunctionMACAddresses{Function: "own", West: "52:54:00:aa:00:02"}
	for name, in := range map[string]plan.Input{"a container": withMACs(inPod, ports), "a machine": withMACs(customInput(without), ports)} {
		if got := mustMake(t, in).Segments[1].East.MAC; got != ports.West {
			t.Errorf("%s: west is %s", name, got)
		}
	}
}

// TestDiscoveryAcrossABridge checks which bridging firewalls neighbor discovery does not pass.
func TestDiscoveryAcrossABridge(t *testing.T) {
	dynamic, bridged := v1alpha1.AddressResolutionDynamic, v1alpha1.ForwardingBridged
	for name, c := range map[string]struct {
		firewall   v1alpha1.Firewall
		family     v1alpha1.IPFamily
		resolution v1alpha1.AddressResolution
		refused    bool
	}{
		"by default":              {firewall: v1alpha1.Firewall{}, family: v1alpha1.FamilyIPv6, resolution: dynamic, refused: true},
		"without state":           {firewall: v1alpha1.Firewall{Mode: v1alpha1.FirewallStateless}, family: v1alpha1.FamilyIPv6, resolution: dynamic, refused: true},
		"policy Accept":           {firewall: v1alpha1.Firewall{DefaultPolicy: v1alpha1.VerdictAccept}, family: v1alpha1.FamilyIPv6, resolution: dynamic},
		"no filter":               {firewall: v1alpha1.Firewall{Mode: v1alpha1.FirewallNone}, family: v1alpha1.FamilyIPv6, resolution: dynamic},
		"IPv4":                    {firewall: v1alpha1.Firewall{}, family: v1alpha1.FamilyIPv4, resolution: dynamic},
		"static":                  {firewall: v1alpha1.Firewall{}, family: v1alpha1.FamilyIPv6, resolution: v1alpha1.AddressResolutionStatic},
		"the default of a router": {firewall: v1alpha1.Firewall{}, family: v1alpha1.FamilyIPv6},
	} {
		t.Run(name, func(t *testing.T) {
			for _, bridge := range []int{0, 1} {
				in := plantest.Input(2)
				in.Run.Spec.Experiment.Traffic.IPFamily = c.family
				chain := in.Run.Spec.Experiment.Chain
				c.firewall.Forwarding = bridged
				chain[bridge].Name, chain[bridge].Function, chain[bridge].Firewall = "bridge", v1alpha1.FunctionFirewall, &c.firewall
				chain[1-bridge].Name, chain[1-bridge].AddressResolution = "asks", c.resolution
				_, err := plan.Make(in)
				if !c.refused {
					if err != nil {
						t.Errorf("refused: %v", err)
					}
					continue
				}
				if got := measure.ReasonOf(err); got != v1alpha1.ReasonIncompatibleAttachments || !strings.Contains(err.Error(), `"asks"`) || !strings.Contains(err.Error(), `"bridge"`) {
					t.Errorf("reason %q: %v", got, err)
				}
			}
		})
	}
}
