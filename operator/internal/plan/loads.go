package plan

import (
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// checkLoads compares every load that the spec gives as a rate with the line
// rate of every size and mix, in any unit.
func checkLoads(in Input) error {
	traffic := in.Run.Spec.Experiment.Traffic
	instructions := measure.Instructions{
		Chain:             measure.Path{Ports: taggedPorts(in)},
		LinkBitsPerSecond: uint64(in.Testbed.Spec.Ports.LinkBitsPerSecond),
		Sizes:             sizesOf(in),
		Measurements:      in.Run.Spec.Experiment.Measurements,
	}
	for _, size := range instructions.Sizes {
		loads := append(loadsOf(instructions, size), statedLoads(instructions, size)...)
		for _, load := range loads {
			if err := checkLoad(instructions, size, load); err != nil {
				return err
			}
			if share := reversePercent(traffic); share > 0 && load.framesPerSecond*uint64(share) < 100 {
				return fail(v1alpha1.ReasonInvalidLoadRange, fmt.Sprintf("raise the run's spec.experiment.%s or spec.experiment.traffic.reversePercent", load.field),
					"%d %% of %s, %d frames/s of %s, is less than one frame/s", share, load.field, load.framesPerSecond, named(size))
			}
		}
		if t := instructions.Throughput; t != nil {
			least, most := instructions.Minimum(size), instructions.Maximum(size)
			if most > 0 && least >= most {
				return fail(v1alpha1.ReasonInvalidLoadRange, "lower the run's minimum load in spec.experiment.measurements.throughput, or raise its maximum",
					"the minimum load is %d frames/s of %s and the maximum load %d", least, named(size), most)
			}
		}
	}
	return nil
}

// rate is a load of the spec in frames per second.
type rate struct {
	field           string
	framesPerSecond uint64
}

func loadsOf(instructions measure.Instructions, size measure.Size) []rate {
	var rates []rate
	if t := instructions.Throughput; t != nil {
		least, most := "minimumFramesPerSecond", "maximumFramesPerSecond"
		if t.MinimumLoad != nil {
			least = "minimumLoad"
		}
		if t.MaximumLoad != nil {
			most = "maximumLoad"
		}
		rates = append(rates, rate{"measurements.throughput." + least, instructions.Minimum(size)})
		if t.MaximumLoad != nil || t.MaximumFramesPerSecond != nil {
			rates = append(rates, rate{"measurements.throughput." + most, instructions.Maximum(size)})
		}
	}
	if latency := instructions.Latency; latency != nil {
		for _, load := range latency.Loads {
			field := fmt.Sprintf("measurements.latency.loads[%s].", load.Name)
			switch {
			case load.Rate != nil:
				rates = append(rates, rate{field + "rate", instructions.Rate(load, size)})
			case load.Goal == "":
				rates = append(rates, rate{field + "framesPerSecond", instructions.Rate(load, size)})
			}
		}
	}
	return rates
}

// statedLoads returns the rates that the measurements other than throughput and latency give for
// a size.
func statedLoads(instructions measure.Instructions, size measure.Size) []rate {
	var rates []rate
	if fixed := instructions.FixedLoad; fixed != nil {
		for _, profile := range fixed.Profiles {
			if profile.Size == size.Name {
				rates = append(rates, rate{fmt.Sprintf("measurements.fixedLoad.profiles[%s]", profile.Name), instructions.ProfileRate(profile, size)})
			}
		}
	}
	if curve := instructions.FrameLossRate; curve != nil && curve.MaximumFramesPerSecond != nil {
		rates = append(rates, rate{"measurements.frameLossRate.maximumFramesPerSecond", uint64(*curve.MaximumFramesPerSecond)})
	}
	if soak := instructions.Soak; soak != nil && soak.FramesPerSecond != nil && soak.Size == size.Name {
		rates = append(rates, rate{"measurements.soak.framesPerSecond", uint64(*soak.FramesPerSecond)})
	}
	return rates
}

// reversePercent returns 0 where the reverse direction has the whole load.
func reversePercent(traffic v1alpha1.Traffic) int {
	if traffic.Directions == v1alpha1.DirectionsForward || traffic.Directions == v1alpha1.DirectionsReverse || traffic.ReversePercent == 100 {
		return 0
	}
	return int(traffic.ReversePercent)
}

func checkLoad(instructions measure.Instructions, size measure.Size, load rate) error {
	field, entry := "frameBytes", size.Name
	switch {
	case size.Mix != nil:
		field = "imix"
	case size.Packet != nil:
		field, entry = "packets", fmt.Sprint(size.Packet.PayloadBytes)
	}
	lineRate := instructions.LineRateFramesPerSecond(size)
	if load.framesPerSecond > lineRate {
		return fail(v1alpha1.ReasonLoadAboveLineRate,
			fmt.Sprintf("lower the run's spec.experiment.%s, leave %s out of spec.experiment.traffic.%s, or correct the testbed's spec.ports.linkBitsPerSecond", load.field, entry, field),
			"%s is %d, but a link of %d bit/s carries at most %d frames/s of %s",
			load.field, load.framesPerSecond, instructions.LinkBitsPerSecond, lineRate, named(size))
	}
	if load.framesPerSecond == 0 {
		return fail(v1alpha1.ReasonInvalidLoadRange, fmt.Sprintf("raise the run's spec.experiment.%s", load.field),
			"%s is less than one frame/s of %s", load.field, named(size))
	}
	return nil
}

func named(size measure.Size) string {
	if size.Packet != nil {
		return fmt.Sprintf("%s in %d fragments", size, size.Packet.FragmentCount())
	}
	return size.String()
}
