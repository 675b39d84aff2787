package plan_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/plantest"
)

// TestEveryFlowArrives follows the last address of each direction's flows.
func TestEveryFlowArrives(t *testing.T) {
	for _, family := range []v1alpha1.IPFamily{v1alpha1.FamilyIPv4, v1alpha1.FamilyIPv6} {
		t.Run(string(family), func(t *testing.T) {
			in := plantest.Input(3)
			in.Run.Spec.Experiment.Traffic.IPFamily, in.Run.Spec.Experiment.Traffic.FrameBytes = family, []int32{128}
			in.Run.Spec.Experiment.Traffic.Flows = measure.MaximumFlows
			in.Run.Spec.Experiment.Traffic.FlowVariation = []v1alpha1.FlowField{
				v1alpha1.FlowSourceAddress, v1alpha1.FlowDestinationAddress, v1alpha1.FlowSourcePort, v1alpha1.FlowDestinationPort,
			}
			p := mustMake(t, in)
			for _, stream := range p.Instructions.Chain.Streams {
				if err := stream.Flows.Check(); err != nil {
					t.Fatal(err)
				}
				if int(stream.SourcePort)+stream.Flows.Values(measure.FlowSourcePort) != 1<<16 || stream.SourcePort != 1024 {
					t.Errorf("%s: source ports from %d are not 1024 to 65535", stream.Direction, stream.SourcePort)
				}
				if last := int(stream.DestinationPort) + stream.Flows.Values(measure.FlowDestinationPort) - 1; last != 49_151 || stream.DestinationPort != 1 {
					t.Errorf("%s: destination ports %d to %d, want 1 to 49151", stream.Direction, stream.DestinationPort, last)
				}
				stream.SourceAddress = countUp(t, stream.SourceAddress, stream.Flows.Values(measure.FlowSourceAddress)-1)
				stream.DestinationAddress = countUp(t, stream.DestinationAddress, stream.Flows.Values(measure.FlowDestinationAddress)-1)
				checkStream(t, p, stream, family)
			}
		})
	}
}

// countUp adds to an address's last 16 bits, which must not run over.
func countUp(t *testing.T, address netip.Addr, n int) netip.Addr {
	t.Helper()
	octets := address.AsSlice()
	word := octets[len(octets)-2:]
	if last := int(binary.BigEndian.Uint16(word)) + n; last > 0xffff {
		t.Fatalf("%s counts up to %#x", address, last)
	}
	binary.BigEndian.PutUint16(word, binary.BigEndian.Uint16(word)+uint16(n))
	counted, _ := netip.AddrFromSlice(octets)
	return counted
}

func TestOneFlowHasNoFlows(t *testing.T) {
	in := plantest.Input(1)
	in.Run.Spec.Experiment.Traffic.FlowVariation = []v1alpha1.FlowField{v1alpha1.FlowSourceAddress}
	in.Run.Spec.Experiment.Traffic.FlowOrder, in.Run.Spec.Experiment.Traffic.FlowSeed = v1alpha1.FlowsRandom, 9
	for _, stream := range mustMake(t, in).Instructions.Chain.Streams {
		got := fmt.Sprint(stream.Flows, stream.SourcePort, stream.DestinationPort)
		if want := "<nil> 49184 7"; got != want {
			t.Errorf("%s: flows and ports %q, want %q", stream.Direction, got, want)
		}
	}
}
