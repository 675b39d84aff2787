package plan

import (
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// packetsOf returns the traffic's packets with the MTU that every port of the path and the driver
// carry: no device on it has to make fragments.
func packetsOf(in Input) []measure.Packet {
	version := 4
	if in.Run.Spec.Experiment.Traffic.IPFamily == v1alpha1.FamilyIPv6 {
		version = 6
	}
	mtu := min(int(in.Testbed.Spec.Ports.MTUBytes), limitsOf(in.Testbed).MaxFrameBytes-headerBytes)
	for _, function := range in.Run.Spec.Experiment.Chain {
		mtu = min(mtu, mtuOf(function.West, in.Testbed), mtuOf(function.East, in.Testbed))
	}
	var packets []measure.Packet
	for _, packet := range in.Run.Spec.Experiment.Traffic.Packets {
		packets = append(packets, measure.Packet{PayloadBytes: int(packet.PayloadBytes), IPVersion: version, MTUBytes: mtu})
	}
	return packets
}

func checkPackets(in Input) error {
	for _, packet := range packetsOf(in) {
		if side := taggedPort(in); side != "" && !limitsOf(in.Testbed).TaggedFragments {
			return fail(v1alpha1.ReasonPacketNotFragmented,
				fmt.Sprintf("leave the run's spec.experiment.traffic.packets out, or the testbed's spec.ports.%s.vlan", side),
				"the %s driver sends no packets in fragments on a path with VLAN tags, and port %s of testbed %q has one", in.Testbed.Spec.Generator.Driver, side, in.Testbed.Name)
		}
		if err := packet.Check(); err != nil {
			return fail(v1alpha1.ReasonPacketNotFragmented,
				fmt.Sprintf("correct the run's spec.experiment.traffic.packets; what fits a frame belongs to spec.experiment.traffic.frameBytes, here as %d", packet.FrameBytes()),
				"%w", err)
		}
	}
	return nil
}
