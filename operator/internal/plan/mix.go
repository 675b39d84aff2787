package plan

import (
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

func mixesOf(traffic v1alpha1.Traffic) []measure.Mix {
	var mixes []measure.Mix
	for _, named := range traffic.IMIX {
		mix := measure.Mix{Name: named.Name}
		for _, frame := range named.Weighted() {
			mix.Frames = append(mix.Frames, measure.MixFrame{FrameBytes: int(frame.FrameBytes), Weight: int(frame.Weight)})
		}
		mixes = append(mixes, mix)
	}
	return mixes
}

// checkMixes wants every size of a mix to fit, and results to be told apart by
// their frameBytes alone.
func checkMixes(in Input) error {
	taken := map[int]string{}
	for _, size := range in.Run.Spec.Experiment.Traffic.Sizes() {
		taken[int(size)] = "a size of spec.experiment.traffic.frameBytes or frameRanges"
	}
	for _, mix := range mixesOf(in.Run.Spec.Experiment.Traffic) {
		for _, frame := range mix.Frames {
			if err := checkFrame(in, fmt.Sprintf("imix[%s]", mix.Name), frame.FrameBytes); err != nil {
				return err
			}
		}
		if err := mix.Check(); err != nil {
			return fail(v1alpha1.ReasonFramesAlike, "correct the run's spec.experiment.traffic.imix", "%w", err)
		}
		mean := mix.MeanFrameBytes()
		if other := taken[mean]; other != "" {
			return fail(v1alpha1.ReasonFramesAlike,
				fmt.Sprintf("change a weight or size of mix %q in the run's spec.experiment.traffic.imix, or leave one of them out", mix.Name),
				"mix %q has %d bytes in the mean, which is %s too: results go by that number", mix.Name, mean, other)
		}
		taken[mean] = fmt.Sprintf("the mean of mix %q", mix.Name)
	}
	return nil
}
