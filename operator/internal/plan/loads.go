package plan

import (
	"cmp"
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
			if err := checkTrial(load, size, cmp.Or(reversePercent(traffic), 100)); err != nil {
				return err
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
	// percent of the load is that of the lowest trial at it, which takes the milliseconds of the field that lasts names. 0
	// milliseconds: the trial takes a second or longer.
	percent, milliseconds uint64
	lasts                 string
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
		for _, goal := range t.Goals {
			rates = append(rates, rate{
				field: "measurements.throughput." + least, framesPerSecond: instructions.Minimum(size),
				percent: 100, milliseconds: uint64(goal.TrialMilliseconds), lasts: fmt.Sprintf("measurements.throughput.goals[%s].trialMilliseconds", goal.Name),
			})
		}
		if t.MaximumLoad != nil || t.MaximumFramesPerSecond != nil {
			rates = append(rates, rate{field: "measurements.throughput." + most, framesPerSecond: instructions.Maximum(size)})
		}
	}
	if latency := instructions.Latency; latency != nil {
		for _, load := range latency.Loads {
			stated := rate{
				field: fmt.Sprintf("measurements.latency.loads[%s].", load.Name), framesPerSecond: instructions.Rate(load, size),
				percent: 100, milliseconds: uint64(latency.TrialMilliseconds), lasts: "measurements.latency.trialMilliseconds",
			}
			switch {
			case load.Rate != nil:
				stated.field += "rate"
				rates = append(rates, stated)
			case load.Goal == "":
				stated.field += "framesPerSecond"
				rates = append(rates, stated)
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
				rates = append(rates, rate{field: fmt.Sprintf("measurements.fixedLoad.profiles[%s]", profile.Name), framesPerSecond: instructions.ProfileRate(profile, size)})
			}
		}
	}
	if curve := instructions.FrameLossRate; curve != nil && curve.MaximumFramesPerSecond != nil {
		rates = append(rates, rate{
			field: "measurements.frameLossRate.maximumFramesPerSecond", framesPerSecond: uint64(*curve.MaximumFramesPerSecond),
			percent: uint64(lowestPercent(max(1, curve.StepPercent))), milliseconds: uint64(curve.TrialMilliseconds), lasts: "measurements.frameLossRate.trialMilliseconds",
		})
	}
	if soak := instructions.Soak; soak != nil && soak.FramesPerSecond != nil && soak.Size == size.Name {
		rates = append(rates, rate{field: "measurements.soak.framesPerSecond", framesPerSecond: uint64(*soak.FramesPerSecond)})
	}
	return rates
}

// lowestPercent returns the load of a loss curve's last point.
func lowestPercent(step int32) int32 { return cmp.Or(100%step, step) }

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

// checkTrial refuses a trial without a frame in the direction that has this share of the load.
func checkTrial(load rate, size measure.Size, sharePercent int) error {
	// A trial at a part of a load has at least 1 frame/s.
	lowest := max(1, load.framesPerSecond*load.percent/100)
	if load.milliseconds == 0 || lowest*load.milliseconds*uint64(sharePercent) >= 100*1000 {
		return nil
	}
	return fail(v1alpha1.ReasonInvalidLoadRange, fmt.Sprintf("raise the run's spec.experiment.%s or spec.experiment.%s", load.field, load.lasts),
		"with %s of %d, a trial of %d ms at %d frames/s of %s has less than one frame in a direction", load.field, load.framesPerSecond, load.milliseconds, lowest, named(size))
}

func named(size measure.Size) string {
	if size.Packet != nil {
		return fmt.Sprintf("%s in %d fragments", size, size.Packet.FragmentCount())
	}
	return size.String()
}
