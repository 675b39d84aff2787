package plan

import (
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

const (
	defaultMaximumRepeats = 1
	// calibrationTrials shows how much the generator's highest rate varies.
	calibrationTrials = 3
)

// instruct fills the measurer's instructions from the spec, except for driver and digest.
func instruct(in Input, p *Plan) measure.Instructions {
	spec, testbed := in.Run.Spec.Experiment, in.Testbed.Spec
	first, last := p.Segments[0], p.Segments[len(p.Segments)-1]
	instructions := measure.Instructions{
		Run:               in.Run.Namespace + "/" + in.Run.Name,
		LinkBitsPerSecond: uint64(testbed.Ports.LinkBitsPerSecond),
		// Each port's next machine is at the other end of its segment, or on the other side of
		// the functions that bridge.
		Chain: pathOf(spec.Traffic, first.West, nextEast(spec.Chain, p.Segments, 0).MAC,
			last.East, nextWest(spec.Chain, p.Segments, len(spec.Chain)).MAC),
		StartupSeconds:    int(spec.StartupSeconds) + bootSeconds(p.Functions),
		SettleNanoseconds: nanoseconds(spec.Measurements.SettleMilliseconds),
		Throughput:        instructThroughput(spec.Measurements.Throughput),
		Latency:           instructLatency(spec.Measurements.Latency),
		FixedLoad:         spec.Measurements.FixedLoad,
		FrameLossRate:     spec.Measurements.FrameLossRate,
		BackToBack:        spec.Measurements.BackToBack,
		ReceiveRate:       spec.Measurements.ReceiveRate,
		Soak:              spec.Measurements.Soak,
	}
	if spec.Measurements.HaveFrames() {
		instructions.Sizes = sizesOf(in)
	}
	instructNeighbors(in, p, &instructions)
	if c := p.Calibration; c != nil {
		path := pathOf(spec.Traffic, c.West, c.East.MAC, c.East, c.West.MAC)
		instructions.Calibration, instructions.CalibrationTrials = &path, calibrationTrials
	}
	if warmUp := spec.Measurements.WarmUpMilliseconds; warmUp != nil {
		instructions.WarmUpNanoseconds = nanoseconds(*warmUp)
	}
	// A single measurement leaves no trace in the instructions, nor in their digest.
	if spec.Measurements.Repeats > 1 {
		instructions.Repeats = int(spec.Measurements.Repeats)
	}
	instructions.TCP, instructions.Stateful = instructTCP(in), statefulOf(in, p.Segments)
	instructions.Connections = spec.Measurements.Connections
	return instructions
}

// pathOf sends frames from the first host of one stub network to the first of the other, and on
// Ethernet to the machine next to the sending port.
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

func instructThroughput(spec *v1alpha1.Throughput) *measure.ThroughputInstructions {
	if spec == nil {
		return nil
	}
	throughput := &measure.ThroughputInstructions{
		Method:                   string(spec.Method),
		LossVerification:         instructLossVerification(spec),
		MinimumFramesPerSecond:   uint64(spec.MinimumFramesPerSecond),
		MaximumSearchNanoseconds: int64(spec.MaximumSearchSeconds) * int64(time.Second),
	}
	if spec.MaximumFramesPerSecond != nil {
		throughput.MaximumFramesPerSecond = uint64(*spec.MaximumFramesPerSecond)
	}
	throughput.MinimumLoad, throughput.MaximumLoad = loadOf(spec.MinimumLoad), loadOf(spec.MaximumLoad)
	if throughput.MinimumLoad != nil {
		// The default of the field that it replaces.
		throughput.MinimumFramesPerSecond = 0
	}
	for _, goal := range spec.Goals {
		throughput.Goals = append(throughput.Goals, measure.GoalInstructions{
			Name:                   goal.Name,
			LossPartsPerMillion:    int64(goal.LossPartsPerMillion),
			ExceedPercent:          int64(goal.ExceedPercent),
			TrialNanoseconds:       nanoseconds(goal.TrialMilliseconds),
			DurationSumNanoseconds: nanoseconds(goal.DurationSumMilliseconds),
			WidthPartsPerMillion:   int64(goal.WidthPartsPerMillion),
		})
	}
	return throughput
}

func instructLossVerification(spec *v1alpha1.Throughput) *measure.LossVerificationInstructions {
	if spec.Method != v1alpha1.MethodTST009WithLossVerification {
		return nil
	}
	verification := &measure.LossVerificationInstructions{MaximumRepeats: defaultMaximumRepeats}
	if spec.LossVerification == nil {
		return verification
	}
	if repeats := spec.LossVerification.MaximumRepeats; repeats > 0 {
		verification.MaximumRepeats = int64(repeats)
	}
	if threshold := spec.LossVerification.LossThresholdFrames; threshold != nil {
		verification.LossThresholdFrames = new(uint64(*threshold))
	}
	return verification
}

func instructLatency(spec *v1alpha1.Latency) *measure.LatencyInstructions {
	if spec == nil {
		return nil
	}
	latency := &measure.LatencyInstructions{TrialNanoseconds: nanoseconds(spec.TrialMilliseconds)}
	if tagged := spec.TaggedFrame; tagged != nil {
		latency.Streams, latency.TrialNanoseconds = int(tagged.Streams), nanoseconds(tagged.StreamMilliseconds)
		latency.TaggedFrameNanoseconds = nanoseconds(tagged.AfterMilliseconds)
	}
	for _, load := range spec.MeasuredLoads() {
		instruction := measure.LoadInstruction{Name: load.Name, Goal: load.Goal, Rate: loadOf(load.Rate)}
		if load.FramesPerSecond != nil {
			instruction.FramesPerSecond = uint64(*load.FramesPerSecond)
		}
		if load.Percent != nil {
			instruction.Percent = int64(*load.Percent)
		}
		latency.Loads = append(latency.Loads, instruction)
	}
	return latency
}

func nanoseconds(milliseconds int32) int64 { return int64(milliseconds) * int64(time.Millisecond) }

func wholeSeconds(n int32) int64 { return int64(n) * int64(time.Second) }
