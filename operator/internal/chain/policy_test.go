package chain_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

// TestAddressesOfTheAPIServer checks that the measurer reaches the API server's ports at the addresses that the
// installation names, and at every address where it names none.
func TestAddressesOfTheAPIServer(t *testing.T) {
	in := plantest.Input(1)
	if to := policiesOf(mustMake(t, in))[0].Spec.Egress[0].To; to != nil {
		t.Errorf("without addresses it may reach %+v", to)
	}
	in.Defaults.APIServerAddresses = []string{"192.0.2.10/32", "2001:db8::/64"}
	rule := policiesOf(mustMake(t, in))[0].Spec.Egress[0]
	if len(rule.To) != 2 || rule.To[0].IPBlock.CIDR != "192.0.2.10/32" || rule.To[1].IPBlock.CIDR != "2001:db8::/64" || len(rule.Ports) != 2 {
		t.Errorf("it may reach %+v", rule)
	}
}

// TestDiscoveredAPIServer checks that the measurer reaches each server at its ports alone where the plan leaves it to the cluster, and none
// where nothing is known.
func TestDiscoveredAPIServer(t *testing.T) {
	in := plantest.Input(1)
	in.Defaults.APIServerDiscovered = true
	p := mustMake(t, in)
	one, two := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	for name, test := range map[string]struct {
		servers []chain.Server
		want    string
	}{
		"none":       {nil, ""},
		"no address": {[]chain.Server{{Ports: []int32{443}}}, ""},
		"no port":    {[]chain.Server{{Addresses: []netip.Addr{one}}}, ""},
		"two": {[]chain.Server{{[]netip.Addr{one, two}, []int32{6443}}, {[]netip.Addr{one}, []int32{443, 8443}}},
			"192.0.2.1/32 2001:db8::1/128 :6443; 192.0.2.1/32 :443 :8443; "},
	} {
		var got strings.Builder
		for _, object := range chain.Render(p, plantest.Issuer(), test.servers...)[0].Needs {
			policy, ok := object.(*networkingv1.NetworkPolicy)
			if !ok || policy.Name != p.Names().MeasurerPolicy {
				continue
			}
			for _, rule := range policy.Spec.Egress {
				if len(rule.To) == 1 && rule.To[0].PodSelector != nil {
					continue
				}
				for _, to := range rule.To {
					fmt.Fprintf(&got, "%s ", to.IPBlock.CIDR)
				}
				for _, port := range rule.Ports {
					fmt.Fprintf(&got, ":%d ", port.Port.IntValue())
				}
				got.WriteString("; ")
			}
		}
		if text := strings.ReplaceAll(got.String(), " ; ", "; "); text != test.want {
			t.Errorf("%s: it may reach %q, want %q", name, text, test.want)
		}
	}
}

// TestAddressesAreNoPartOfThePlan checks that the bytes of a plan do not follow from where the API server is.
func TestAddressesAreNoPartOfThePlan(t *testing.T) {
	in := plantest.Input(1)
	in.Defaults.APIServerDiscovered = true
	text := strings.ReplaceAll(chain.PlanConfigMap(mustMake(t, in)).Data[plan.KeyPlan], " ", "")
	if !strings.Contains(text, `"apiServerDiscovered":true`) || strings.Contains(text, "apiServerAddresses") {
		t.Errorf("the plan is %s", text)
	}
}
