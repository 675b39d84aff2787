package plan

import (
	"hash/fnv"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

const (
	// calibrationTrials shows how much the generator's highest rate varies, and delayCalibrationTrials its delay.
	calibrationTrials, delayCalibrationTrials = 3, 3
	// calibrationMilliseconds is the duration of each calibration trial. Profile Quick has shorter
	// ones, and none at the loads.
	calibrationMilliseconds      = 1000
	quickCalibrationMilliseconds = 300
	// rateAgainAfterSeconds keeps the trials that are made again, about a second for each of three sizes, within 1 % of the time. Nothing
	// that takes long has profile Quick.
	rateAgainAfterSeconds = 300
)

// instruct fills the measurer's instructions from the spec, except for driver and digest.
func instruct(in Input, p *Plan) measure.Instructions {
	spec, testbed := in.Run.Spec.Experiment, in.Testbed.Spec
	first, last := p.Segments[0], p.Segments[len(p.Segments)-1]
	instructions := measure.Instructions{
		Run:               in.Run.Namespace + "/" + in.Run.Name,
		LinkBitsPerSecond: uint64(testbed.Ports.LinkBitsPerSecond),
		// Each port's next hop is at the other end of its segment, or on the other side of
		// the functions that bridge.
		Chain: pathOf(spec.Traffic, first.West, nextEast(spec.Chain, p.Segments, 0).MAC,
			last.East, nextWest(spec.Chain, p.Segments, len(spec.Chain)).MAC),
		OrderSeed:       orderSeed(in),
		StartupSeconds:  int(spec.StartupSeconds) + bootSeconds(p.Functions),
		DeadlineSeconds: spec.DeadlineSeconds,
		Measurements:    measurementsOf(in),
		BaselineLoads:   in.BaselineLoads,
		TCPPath:         tcpPathOf(in),
		Stateful:        statefulOf(in, p.Segments),
	}
	resolveNextHops(in, &instructions.Chain)
	if spec.Measurements.HaveFrames() {
		instructions.Sizes = sizesOf(in)
	}
	for _, neighbor := range p.Neighbors {
		instructions.Neighbors = append(instructions.Neighbors, neighbor.Load)
	}
	if c := p.Calibration; c != nil {
		path := pathOf(spec.Traffic, c.West, c.East.MAC, c.East, c.West.MAC)
		instructions.Calibration, instructions.CalibrationTrials = &path, calibrationTrials
		instructions.DelayCalibrationTrials = delayCalibrationTrials
		instructions.CalibrationMilliseconds, instructions.CalibrateLoads, instructions.RateAgainAfterSeconds = calibrationMilliseconds, true, rateAgainAfterSeconds
		if spec.Measurements.Profile == v1alpha1.ProfileQuick {
			instructions.CalibrationMilliseconds, instructions.CalibrateLoads, instructions.RateAgainAfterSeconds = quickCalibrationMilliseconds, false, 0
		}
	}
	return instructions
}

// measurementsOf returns the run's measurements, which Make has filled, without what would make
// two digests of equal measurements differ: the profile's name, and the defaults of noisyNeighbors,
// repeatScope and order.
func measurementsOf(in Input) v1alpha1.Measurements {
	out := in.Run.Spec.Experiment.Measurements
	out.Profile = ""
	if out.NoisyNeighbors == v1alpha1.NeighborsWith {
		out.NoisyNeighbors = ""
	}
	if out.RepeatScope == v1alpha1.RepeatTrials {
		out.RepeatScope = ""
	}
	if out.Order == v1alpha1.OrderRandom {
		out.Order = ""
	}
	return out
}

// maxSeed keeps seeds exact in every reader of JSON.
const maxSeed = 1<<53 - 1

// orderSeed returns the run's own seed, or one that follows from its UID; 0 where the order is the
// declared one.
func orderSeed(in Input) int64 {
	m := in.Run.Spec.Experiment.Measurements
	switch {
	case m.Order == v1alpha1.OrderDeclared:
		return 0
	case m.Seed != nil:
		return *m.Seed
	}
	hash := fnv.New64a()
	// A hash never fails to write.
	_, _ = hash.Write([]byte(in.Run.UID))
	return int64(hash.Sum64()%maxSeed) + 1
}

// pathOf sends frames from the first host of one stub network to the first of the other, and on
// Ethernet to the next hop of the sending port.
func pathOf(traffic v1alpha1.Traffic, west End, nextWest string, east End, nextEast string) measure.Path {
	path := measure.Path{Ports: [2]measure.Port{{Interface: west.Interface, VLAN: west.Tag}, {Interface: east.Interface, VLAN: east.Tag}}}
	hostWest, hostEast := stubWest.host(traffic.IPFamily), stubEast.host(traffic.IPFamily)
	flows := flowsOf(traffic)
	sourcePort, destinationPort := portsOf(flows)
	if traffic.Directions != v1alpha1.DirectionsReverse {
		path.Streams = append(path.Streams, measure.Stream{
			Direction: measure.Forward,
			SourceMAC: west.MAC, DestinationMAC: nextWest,
			SourceAddress: hostWest, DestinationAddress: hostEast,
			SourcePort: sourcePort, DestinationPort: destinationPort, Flows: flows,
		})
	}
	if traffic.Directions != v1alpha1.DirectionsForward {
		path.Streams = append(path.Streams, measure.Stream{
			Direction: measure.Reverse,
			SourceMAC: east.MAC, DestinationMAC: nextEast,
			SourceAddress: hostEast, DestinationAddress: hostWest, LoadPercent: reversePercent(traffic),
			SourcePort: sourcePort, DestinationPort: destinationPort, Flows: flows,
		})
	}
	return path
}
