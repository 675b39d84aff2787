package plan_test

import (
	"net/netip"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
	"vnfbench.io/operator/internal/vnf"
)

// withGateways makes a pair of the function at an index and the one after it.
func withGateways(in plan.Input, index int, settings *v1alpha1.EncryptionGateway) plan.Input {
	for i := range 2 {
		function := &in.Run.Spec.Experiment.Chain[index+i]
		function.Function, function.EncryptionGateway = v1alpha1.FunctionEncryptionGateway, settings
	}
	return in
}

func TestGatewayPair(t *testing.T) {
	for protocol, overhead := range map[v1alpha1.EncryptionProtocol]int{v1alpha1.ProtocolWireGuard: 60, v1alpha1.ProtocolIPsec: 57} {
		t.Run(string(protocol), func(t *testing.T) {
			p := mustMake(t, withGateways(plantest.Input(4), 1, &v1alpha1.EncryptionGateway{Protocol: protocol}))
			west, east := p.Functions[1].Config.Gateway, p.Functions[2].Config.Gateway
			if p.Functions[0].Config.Gateway != nil || p.Functions[3].Config.Gateway != nil {
				t.Error("a router has a tunnel")
			}
			if west.Port != "east" || east.Port != "west" || west.Local != netip.MustParseAddr("198.18.2.1") || west.Peer != netip.MustParseAddr("198.18.2.2") {
				t.Errorf("tunnel from %s on port %s to %s", west.Local, west.Port, west.Peer)
			}
			if west.Local != east.Peer || west.Peer != east.Local || west.SPIOut != east.SPIIn || west.SPIIn != east.SPIOut {
				t.Errorf("the ends do not meet: %+v and %+v", west, east)
			}
			if west.RemoteNetworks[0] != east.LocalNetworks[0] || west.LocalNetworks[1] != east.RemoteNetworks[1] {
				t.Errorf("the networks do not mirror: %+v and %+v", west, east)
			}
			// Frames of 1518 bytes pass in one piece.
			if west.TunnelMTUBytes != 1500 || p.Segments[2].West.MTUBytes != 1500+overhead || p.Segments[2].East.MTUBytes != 1500+overhead || p.Segments[1].East.MTUBytes != 1500 {
				t.Errorf("tunnel MTU %d on a segment of %d", west.TunnelMTUBytes, p.Segments[2].West.MTUBytes)
			}
			inTunnel := 0
			for _, route := range p.Functions[1].Config.Routes {
				if route.Port == "east" {
					inTunnel++
				}
			}
			if want := map[v1alpha1.EncryptionProtocol]int{v1alpha1.ProtocolWireGuard: 0, v1alpha1.ProtocolIPsec: 2}[protocol]; inTunnel != want {
				t.Errorf("%d routes on the tunnel's port, want %d", inTunnel, want)
			}
			if len(p.Pairs()) != 1 || p.Pairs()[0][0].Name != "router-2" {
				t.Errorf("pairs %v", p.Pairs())
			}
		})
	}
}

func TestTwoPairs(t *testing.T) {
	in := withGateways(withGateways(plantest.Input(4), 0, nil), 2, &v1alpha1.EncryptionGateway{Protocol: v1alpha1.ProtocolIPsec})
	p := mustMake(t, in)
	if pairs := p.Pairs(); len(pairs) != 2 || pairs[0][1].Name != "router-2" || pairs[1][0].Name != "router-3" {
		t.Errorf("pairs %v", pairs)
	}
	// The segments between the pairs are plain and have the testbed's MTU.
	if got := p.Segments[2].West.MTUBytes; got != 1500 {
		t.Errorf("the plain segment has an MTU of %d", got)
	}
}

func TestTunnelTooNarrow(t *testing.T) {
	for name, tc := range map[string]struct {
		mtu    int32
		frames []int32
		want   []string
	}{
		"frame":   {1500, []int32{64, 1518}, []string{"frames of at most 1458 bytes pass", "raise them to at least 1560", "east.mtuBytes of function \"router-1\""}},
		"IPv6":    {1300, []int32{64}, []string{"IPv6 asks every link", "raise them to at least 1340"}},
		"it fits": {1500, []int32{64, 1458}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := withGateways(plantest.Input(2), 0, nil)
			in.Run.Spec.Experiment.Traffic.FrameBytes = tc.frames
			in.Run.Spec.Experiment.Chain[0].East.MTUBytes = &tc.mtu
			if tc.want == nil {
				mustMake(t, in)
				return
			}
			failure := failureOf(t, in)
			if failure.Reason != v1alpha1.ReasonFrameTooLarge {
				t.Errorf("reason %s", failure.Reason)
			}
			text := failure.Error() + "; " + failure.Remedy
			for _, want := range tc.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in %q", want, text)
				}
			}
		})
	}
}

func TestUserspaceNeedsMemory(t *testing.T) {
	memory := func(implementation v1alpha1.EncryptionImplementation) int64 {
		p := mustMake(t, withGateways(plantest.Input(2), 0, &v1alpha1.EncryptionGateway{Implementation: implementation}))
		if got := p.Functions[0].Config.Gateway.Implementation; got != string(implementation) {
			t.Errorf("implementation %s, want %s", got, implementation)
		}
		return p.Functions[0].Resources.MemoryBytes
	}
	if auto, kernel := memory(v1alpha1.EncryptionAuto), memory(v1alpha1.EncryptionKernel); auto != 512<<20 || kernel != 64<<20 {
		t.Errorf("%d bytes with Auto and %d with Kernel", auto, kernel)
	}
	if vnf.ImplementationAuto != string(v1alpha1.EncryptionAuto) {
		t.Error("the names differ")
	}
}
