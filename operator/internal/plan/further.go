package plan

import (
	"fmt"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
)

// instructFurther fills the measurements beside throughput and latency.
func instructFurther(spec v1alpha1.Measurements, instructions *measure.Instructions) {
	instructions.FixedLoad = instructFixedLoad(spec.FixedLoad, *instructions)
	instructions.FrameLossRate = instructFrameLossRate(spec.FrameLossRate)
	instructions.BackToBack = instructBackToBack(spec.BackToBack)
	instructions.Soak = instructSoak(spec.Soak)
	if r := spec.ReceiveRate; r != nil {
		instructions.ReceiveRate = &measure.ReceiveRateInstructions{
			TrialNanoseconds: nanoseconds(r.TrialMilliseconds), Trials: int(r.Trials),
		}
	}
}

func instructFixedLoad(spec *v1alpha1.FixedLoad, instructions measure.Instructions) *measure.FixedLoadInstructions {
	if spec == nil {
		return nil
	}
	fixed := &measure.FixedLoadInstructions{
		DurationNanoseconds: wholeSeconds(spec.DurationSeconds),
		Repeats:             int(spec.Repeats),
	}
	if spec.DiscardSeconds != nil {
		fixed.DiscardNanoseconds = wholeSeconds(*spec.DiscardSeconds)
	}
	for _, profile := range spec.Profiles {
		fixed.Profiles = append(fixed.Profiles, measure.ProfileInstruction{
			Name: profile.Name, Size: profile.Size, FramesPerSecond: profileRate(profile, instructions),
		})
	}
	return fixed
}

// profileRate returns a profile's rate in frames of its size.
func profileRate(profile v1alpha1.LoadProfile, instructions measure.Instructions) uint64 {
	load := v1alpha1.Load{FramesPerSecond: profile.FramesPerSecond, Layer2BitsPerSecond: profile.Layer2BitsPerSecond}
	for _, size := range instructions.Sizes {
		if size.Name == profile.Size {
			return instructions.FramesPerSecond(*loadOf(&load), size)
		}
	}
	return 0
}

func instructFrameLossRate(spec *v1alpha1.FrameLossRate) *measure.FrameLossRateInstructions {
	if spec == nil {
		return nil
	}
	curve := &measure.FrameLossRateInstructions{
		StepPercent: int(spec.StepPercent), TrialNanoseconds: nanoseconds(spec.TrialMilliseconds),
	}
	if spec.MaximumFramesPerSecond != nil {
		curve.MaximumFramesPerSecond = uint64(*spec.MaximumFramesPerSecond)
	}
	return curve
}

func instructBackToBack(spec *v1alpha1.BackToBack) *measure.BackToBackInstructions {
	if spec == nil {
		return nil
	}
	bursts := &measure.BackToBackInstructions{
		Repeats: int(spec.Repeats), StepFrames: uint64(spec.StepFrames), Attempts: int(spec.Attempts),
		MaximumBurstNanoseconds: nanoseconds(spec.MaximumBurstMilliseconds),
	}
	if spec.MaximumLostFrames != nil {
		lost := uint64(*spec.MaximumLostFrames)
		bursts.MaximumLostFrames = &lost
	}
	return bursts
}

func instructSoak(spec *v1alpha1.Soak) *measure.SoakInstructions {
	if spec == nil {
		return nil
	}
	soak := &measure.SoakInstructions{
		Size:                spec.Size,
		Load:                measure.LoadInstruction{Name: measure.SoakLoad, Goal: spec.Goal},
		DurationNanoseconds: wholeSeconds(spec.DurationSeconds),
		IntervalNanoseconds: wholeSeconds(spec.IntervalSeconds),
	}
	if spec.FramesPerSecond != nil {
		soak.Load.FramesPerSecond = uint64(*spec.FramesPerSecond)
	}
	if spec.Percent != nil {
		soak.Load.Percent = int64(*spec.Percent)
	}
	if spec.StopAboveLossPartsPerMillion != nil {
		loss := int64(*spec.StopAboveLossPartsPerMillion)
		soak.StopAboveLossPartsPerMillion = &loss
	}
	return soak
}

// checkSize refuses what would fill the results before it ends, hours later.
func checkSize(instructions measure.Instructions) error {
	expected := procedure.ExpectedBytes(instructions)
	if expected <= measure.MaximumResultsBytes {
		return nil
	}
	return fail(v1alpha1.ReasonResultsTooLarge,
		"lower the run's spec.experiment.traffic.frameBytes, or what spec.experiment.measurements asks for of each, and make more runs",
		"the trials of all %d frame sizes take about %d KiB, and the results hold %d KiB",
		len(instructions.Sizes), expected>>10, measure.MaximumResultsBytes>>10)
}

func wholeSeconds(n int32) int64 { return int64(n) * int64(time.Second) }

// statedLoad is a load that the spec gives as a rate.
type statedLoad struct {
	field           string
	framesPerSecond uint64
	// size is the name of the one that it is for; empty is every one.
	size string
}

// furtherLoads are those of the measurements beside throughput and latency.
func furtherLoads(spec v1alpha1.Measurements, instructions measure.Instructions) []statedLoad {
	var loads []statedLoad
	if fixed := spec.FixedLoad; fixed != nil {
		for _, profile := range fixed.Profiles {
			loads = append(loads, statedLoad{
				field:           fmt.Sprintf("measurements.fixedLoad.profiles[%s]", profile.Name),
				framesPerSecond: profileRate(profile, instructions), size: profile.Size,
			})
		}
	}
	if curve := spec.FrameLossRate; curve != nil && curve.MaximumFramesPerSecond != nil {
		loads = append(loads, statedLoad{
			field: "measurements.frameLossRate.maximumFramesPerSecond", framesPerSecond: uint64(*curve.MaximumFramesPerSecond),
		})
	}
	if soak := spec.Soak; soak != nil && soak.FramesPerSecond != nil {
		loads = append(loads, statedLoad{
			field: "measurements.soak.framesPerSecond", framesPerSecond: uint64(*soak.FramesPerSecond), size: soak.Size,
		})
	}
	return loads
}
