package plan

import (
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// sizesOf returns what the run's traffic sends, by the names and in the order of
// Traffic.SizeNames.
func sizesOf(in Input) []measure.Size {
	traffic := in.Run.Spec.Experiment.Traffic
	var sizes []measure.Size
	for _, frameBytes := range traffic.Sizes() {
		sizes = append(sizes, measure.FrameSize(int(frameBytes)))
	}
	for _, mix := range traffic.IMIX {
		sizes = append(sizes, measure.MixSize(mix.Name, mixOf(mix)))
	}
	for _, packet := range packetsOf(in) {
		sizes = append(sizes, measure.PacketSize(packet))
	}
	return sizes
}

func mixOf(spec v1alpha1.FrameMix) measure.Mix {
	var mix measure.Mix
	for _, frame := range spec.Weighted() {
		mix.Frames = append(mix.Frames, measure.MixFrame{FrameBytes: int(frame.FrameBytes), Weight: int(frame.Weight)})
	}
	return mix
}

// checkMixes checks that every size of a mix fits, and that a mix has a name that no other size
// has.
func checkMixes(in Input) error {
	traffic := in.Run.Spec.Experiment.Traffic
	for _, mix := range traffic.IMIX {
		for _, frame := range mixOf(mix).Frames {
			if err := checkFrame(in, fmt.Sprintf("imix[%s]", mix.Name), frame.FrameBytes); err != nil {
				return err
			}
		}
		if err := mixOf(mix).Check(); err != nil {
			return fail(v1alpha1.ReasonDuplicateFrameSize, "correct the run's spec.experiment.traffic.imix", "mix %q: %w", mix.Name, err)
		}
	}
	taken := map[string]bool{}
	for _, name := range traffic.SizeNames() {
		if taken[name] {
			return fail(v1alpha1.ReasonDuplicateFrameSize,
				fmt.Sprintf("give what is named %q in the run's spec.experiment.traffic another name", name),
				"two of the run's sizes are named %q, and results go by their names", name)
		}
		taken[name] = true
	}
	return nil
}
